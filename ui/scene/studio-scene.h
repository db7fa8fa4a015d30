/* One scope of a graph for the canvas, as plain arrays: cards, ports and wires.
 *
 * The graph is a tree of attributes and the net is flat. A scene joins them once per change, so that drawing, hit
 * testing and the keyboard are array accesses. It has no pointers into the graph, so it can outlive a change. */
#pragma once

#include "engine/loom.h"
#include "ui/scene/studio-figure.h"

#define STUDIO_NO_ITEM G_MAXUINT

typedef struct
{
  const char *name; /* interned */
  const char *doc;  /* static; may be NULL */
  gboolean required;
  gboolean variadic; /* the unused end of a variadic input */
  gboolean weight;   /* an input that replaces a weight by another tensor */
  guint n_links;     /* wires that end here */
  guint link;        /* the first of them; next_out or next_in continue the list; STUDIO_NO_ITEM: none */
  gboolean typed;
  LoomType type; /* of an output; inputs have that of their wire */
  LoomNetAxes axes;
  LoomNetSource source; /* if typed: the output in the net */
} StudioPort;

/* The direction of a graph, which sets where ports are: inputs left and outputs right, or inputs at the top and outputs
 * at the bottom. */
typedef enum
{
  STUDIO_FLOW_RIGHT,
  STUDIO_FLOW_DOWN
} StudioFlow;

/* The position of a fault's bubble, where no wires are connected. */
typedef enum
{
  STUDIO_FAULT_BELOW,
  STUDIO_FAULT_ABOVE,
  STUDIO_FAULT_AT_RIGHT, /* at its right */
  STUDIO_FAULT_AT_LEFT,  /* at its left */
  STUDIO_FAULT_AS_SIGN   /* no space: an icon on the card, and the sentence in its tooltip */
} StudioFaultPlace;

typedef enum
{
  STUDIO_TONE_CALM,
  STUDIO_TONE_TODO,
  STUDIO_TONE_ADVICE,
  STUDIO_TONE_ERROR
} StudioTone;

/* Norms over all trained weights of the card's nodes, units and outputs of its activations; NaN: none. See
 * LoomHealthNode and studio-health.h. */
typedef struct
{
  gboolean is_known;
  double weight, gradient, update;
  gint64 units, dead;
  double saturated;
  LoomHealthVerdict verdict; /* the gravest of its nodes */
} StudioCardHealth;

typedef struct
{
  double x, y;
} StudioPoint;

typedef struct
{
  guint64 serial;
  guint since; /* see studio_item_is_as_in() */
  guint slot;  /* by which its scene finds it */
  char *id;
  char *path;       /* in the shown instance: "block.0.conv" */
  const LoomOp *op; /* NULL: a module, or unknown */
  char *kind;       /* operator's or module's name */
  gboolean is_module;
  gboolean is_frame;          /* a collapsed frame; serial is the frame's */
  StudioFlow flow;            /* the scene's */
  double x, y, width, height; /* in canvas units */
  double figure_height;       /* of the card's height, at its lower edge; 0: no figure */
  StudioFigure *figure;       /* NULL: none, or not loaded yet */
  char *sample_key;           /* of a data set's node: the key of its sample */
  guint64 place;              /* serial of the <place> that was read last; 0: none */
  StudioPoint filed;          /* its corner there, if it is placed */
  gboolean is_placed;         /* has a position in the file; else x and y come from studio_layout_fill() */
  double hanging;             /* height of its pins: below it, or at its side if it runs down */
  double hanging_width;       /* of the widest pin; 0: none */
  char *summary;
  LoomCost costs; /* of all nodes of the card */
  double seconds; /* measured time; 0: unknown */
  StudioCardHealth health;
  double cost;                /* fraction of the whole net's operations, 0 … 1 */
  char *title;                /* the displayed name: the node's title, else its id */
  gboolean folded;            /* shows only its title */
  gboolean frozen;            /* its weights are not trained */
  gboolean muted;             /* not computed */
  char *badge;                /* the device, if it is not the run's; else NULL */
  gboolean is_device_missing; /* the device is not on this machine */
  guint tint;                 /* 1 + the number of its stage or, without stages, device, for its colour; 0: none */
  char *mark;                 /* that number, or "0–1" for several stages; NULL */
  gboolean in_stage;          /* in stages first_stage to last_stage */
  int first_stage, last_stage;
  char *split;  /* how ranks shard its weights: "column"; NULL: not sharded */
  char *repeat; /* "×4" or NULL */
  guint order;  /* index in topological order; G_MAXUINT: unknown */
  guint n_inputs, n_outputs;
  guint n_offered;          /* inputs, then weights that a wire can replace; shown while a wire is drawn */
  gboolean has_table_ports; /* its ports are those of its operator's table, and none is a wire's or a file's */
  StudioPort *input, *output;
  char *fault; /* one sentence; NULL: none */
  gboolean fault_is_warning;
  gboolean fault_is_todo; /* not an error: something is missing */
  StudioFaultPlace fault_place;
  double fault_width; /* of the bubble; 0: the card's width */
  char *waits_for;    /* GRefString: the card whose fault leaves this one untyped; NULL */
  char *fault_port;
  char *fix; /* the label of the quick-fix button, or NULL */
} StudioItem;

/* How shapes are written on wires. */
typedef enum
{
  STUDIO_SHAPES_SIZES,   /* "B × 1 × 28 × 28" */
  STUDIO_SHAPES_NAMES,   /* "B × C=1 × H=28 × W=28" */
  STUDIO_SHAPES_NUMBERS, /* "64 × 1 × 28 × 28", with the batch size of <train> */
  STUDIO_N_SHAPES
} StudioShapes;

typedef struct
{
  guint64 serial;
  guint from, output, to, input; /* indices of items and of their ports */
  guint next_out, next_in;       /* the next wire of the same output, of the same input; STUDIO_NO_ITEM: last */
  gboolean typed;
  gboolean fault;   /* the card at its end has a fault about this port */
  guint n_dark;     /* number of its two cards that are outside the spotlight */
  double thickness; /* relative to the usual width, by the norm of its gradient; 0: unknown */
  LoomType type;
  LoomNetAxes axes;
  char *label;    /* GRefString: shape label, "B × 10" */
  char *copy;     /* "cpu → cuda:0 · 3.1 MB" if its tensor is copied to another device; else NULL */
  char *copy_doc; /* the same in sentences */
  guint n_points;
  StudioPoint *point; /* waypoints set by the user */
} StudioLink;

/* A frame or a note of the layout. */
typedef struct
{
  guint64 serial;
  gboolean is_note;
  double x, y, width, height;
  char *text;  /* of a note; the title of a frame */
  char *color; /* of a frame; or NULL */
} StudioAnnotation;

typedef struct _StudioRoutes StudioRoutes; /* studio-routes.h */

typedef struct
{
  guint id;               /* no other scene of this process has it */
  guint64 scope, version; /* serial of the shown scope, and version of the graph */
  guint64 number;         /* of the net (loom-net-since.h); 0: it was made without one */
  gboolean is_of_net;     /* that net was of this version of the graph */
  StudioFlow flow;
  gboolean flow_stated; /* set in the file */
  StudioShapes shapes;
  gint64 batch; /* batch size in <train>; 0: not set */
  char *device; /* device in <train> */
  guint n_items, n_links, n_annotations;
  guint n_hidden; /* nodes of collapsed frames: item[n_items] and on, with positions, without wires */
  StudioItem *item;
  StudioLink *link;
  StudioAnnotation *annotation; /* frames before notes, the order of drawing */
  LoomCost costs;               /* of the whole net */
  double seconds;               /* of the whole net, if measured */
  gboolean has_health;          /* cards and wires have their measured health */
  GHashTable *by_serial;        /* item.serial → slot + 1 */
  GHashTable *by_id;            /* id of a node → slot + 1 of its card, or of its collapsed frame's */
  GArray *slots;                /* guint: index of an item, by its slot, which it keeps when others come and go */
  char *path;                   /* of the scope from the root, "block.0"; "" */
  StudioRoutes *routes;         /* of the wires, cached */
} StudioScene;

/* The label of the quick-fix button for a fault of the node with this serial (transfer full); NULL: no fix. */
typedef char *(*StudioSceneFix) (const LoomFault *fault, guint64 serial, gpointer data);
/* net may be NULL, or of an earlier version of the graph: nodes that it lacks stay untyped. fix: NULL for no buttons.
 */
StudioScene *studio_scene_new (const LoomGraph *graph, const LoomElement *scope, const char *scope_path,
                               const LoomNet *net, const LoomFaults *faults, StudioSceneFix fix, gpointer data);
/* The same from the scene of an earlier version of the same graph (transfer full), which may show another scope. If it
 * shows the same one, it is that scene with another id, in which cards, wires and labels that did not change stay. */
StudioScene *
studio_scene_renew (StudioScene *before, const LoomGraph *graph, const LoomElement *scope, const char *scope_path,
                    const LoomNet *net, const LoomFaults *faults, StudioSceneFix fix, gpointer data);
/* The scene of another graph: only the settings and routes of its wires can be taken from it. */
void studio_scene_disown (StudioScene *scene);
/* Cards, ports and wires only: no types and no figures. */
StudioScene *studio_scene_new_plain (const LoomGraph *graph, const LoomElement *scope);
/* Reads the positions of cards, frames, notes and reroute points again, after an edit that changed nothing else. Cards
 * without a position have none until studio_layout_fill(). */
void studio_scene_reread_positions (StudioScene *scene, const LoomGraph *graph, const LoomElement *scope);
void studio_scene_free (StudioScene *scene);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioScene, studio_scene_free)

guint studio_scene_n_frames (const StudioScene *scene); /* cards of collapsed frames: the last of the items */
guint studio_scene_find (const StudioScene *scene, guint64 serial);            /* item; STUDIO_NO_ITEM */
guint studio_scene_find_link (const StudioScene *scene, guint64 serial);       /* link; STUDIO_NO_ITEM */
guint studio_scene_find_annotation (const StudioScene *scene, guint64 serial); /* STUDIO_NO_ITEM */
guint studio_scene_find_id (const StudioScene *scene, const char *id);
guint studio_scene_find_card (const StudioScene *scene, const char *id); /* or that of its collapsed frame */
guint studio_item_find_port (const StudioItem *item, gboolean is_output, const char *name);
/* TRUE if a wire may join them: no cycle, and compatible dtype and rank. */
gboolean studio_scene_can_link (const StudioScene *scene, guint from, guint output, guint to, guint input);
/* Parses waypoints as in files, "12,40 96,40"; skips what is no point. n_points may be 0. (transfer full) */
StudioPoint *studio_points_parse (const char *text, guint *n_points);
char *studio_points_format (const StudioPoint *point, guint n_points);
/* Marks the items that are reachable from this one along (or against) the wires, including itself. */
void studio_scene_reach (const StudioScene *scene, guint item, gboolean against, gboolean *seen);
/* TRUE if what the card of an item shows, and says, is what it did in the scene with this id. FALSE for cards with
 * faults, devices or measured values, which are not followed. */
gboolean studio_item_is_as_in (const StudioItem *item, guint scene);
/* The display name of the kind: the operator's title, or the module's name. */
const char *studio_item_title (const StudioItem *item);
/* The severity of a card's fault; only a fault of its own is an error. */
StudioTone studio_item_tone (const StudioItem *item);
/* The card of a node path from the root: the node itself, the module instance or repeat that contains it, or its
 * collapsed frame; STUDIO_NO_ITEM: in another scope. Hashed. */
guint studio_scene_card_of (const StudioScene *scene, const char *path);
/* The serial of the node in this scope that the path leads to or through, also in a collapsed frame; 0: in another
 * scope. */
guint64 studio_scene_node_of (const StudioScene *scene, const char *path);
