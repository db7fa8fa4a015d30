/* One scope of a graph as the canvas shows it, as plain arrays: cards, ports and wires.
 *
 * The graph is a tree of attributes and the net is flat; drawing, hit testing and the keyboard
 * want neither. A scene joins the two once per change, so that everything behind it is array
 * access. It holds no pointers into the graph and so can outlive a change. */
#pragma once

#include "engine/loom.h"
#include "ui/scene/studio-figure.h"

G_BEGIN_DECLS

#define STUDIO_NO_ITEM G_MAXUINT

typedef struct
{
  const char *name; /* interned */
  const char *doc;  /* static; may be NULL */
  gboolean required;
  gboolean variadic; /* the free end of a variadic input */
  gboolean weight;   /* an input that ties a weight to another tensor */
  guint n_links;     /* wires that end here */
  guint link;        /* the first of them, whose next_out or next_in leads on; STUDIO_NO_ITEM */
  gboolean typed;
  LoomType type; /* of an output; an input has its wire's */
  LoomNetAxes axes;
  LoomNetSource source; /* where typed: the output of the net that the scene was made of */
} StudioPort;

/* Which way a graph runs, and so where a card's ports are: inputs at its left and outputs at its right, or inputs at
 * its upper edge and outputs at its lower one. */
typedef enum
{
  STUDIO_FLOW_RIGHT,
  STUDIO_FLOW_DOWN
} StudioFlow;

/* Where the sentence about a card stands: where no wire leaves it. */
typedef enum
{
  STUDIO_FAULT_BELOW,
  STUDIO_FAULT_ABOVE,
  STUDIO_FAULT_BESIDE, /* at its right */
  STUDIO_FAULT_BEFORE, /* at its left */
  STUDIO_FAULT_AS_SIGN /* there is no room: a sign on the card, the sentence in its tooltip */
} StudioFaultPlace;

typedef enum
{
  STUDIO_TONE_CALM,
  STUDIO_TONE_TODO,
  STUDIO_TONE_ADVICE,
  STUDIO_TONE_ERROR
} StudioTone;

typedef struct
{
  guint64 serial;
  char *id;
  char *path;       /* in the shown instance: "block.0.conv" */
  const LoomOp *op; /* NULL: a module, or unknown */
  char *kind;       /* operator's or module's name */
  gboolean is_module;
  gboolean is_frame;          /* a collapsed frame, which stands for the cards within; serial is the frame's */
  StudioFlow flow;            /* the scene's */
  double x, y, width, height; /* the card, in canvas units */
  double figure_height;       /* of the card's height, at its lower edge; 0: it shows no figure */
  StudioFigure *figure;       /* NULL where there is none, or none yet */
  char *sample_key;           /* of a data set's node: what its sample is read by */
  gboolean is_placed;         /* by the file; else x and y wait for a layout (studio_layout_fill) */
  double hanging; /* height of what hangs on the card, its pins: below it, or beside it where it runs down */
  char *summary;
  LoomCost costs;   /* of all nodes behind the card */
  double seconds;   /* that they take, where it was measured */
  double cost;      /* share of the whole net's operations, 0 … 1 */
  char *title;      /* what the card shows as its name: the node's title, else its id */
  gboolean folded;  /* to its title alone */
  gboolean frozen;  /* its weights are not trained */
  gboolean muted;   /* left out of what is computed */
  char *badge;      /* device, where it is not the run's; else NULL */
  gboolean is_away; /* that device is not on this machine */
  guint tint;       /* 1 + the number of its stage or, without stages, of that device: its colour; 0: none */
  char *mark;       /* that number, "0–1" of what reaches over several stages; NULL */
  gboolean in_stage; /* it is a stage's, first_stage to last_stage */
  int first_stage, last_stage;
  char *split;      /* how ranks have parts of its weights: "column"; NULL: each has them whole */
  char *repeat;     /* "×4" or NULL */
  guint order;      /* place in topological order; G_MAXUINT unknown */
  guint n_inputs, n_outputs;
  guint n_offered; /* inputs and, behind them, weights that a wire could tie: shown while one is drawn */
  StudioPort *input, *output;
  char *fault; /* one sentence, NULL when all is well */
  gboolean fault_is_warning;
  gboolean fault_is_todo; /* nothing is wrong, something is not there yet */
  StudioFaultPlace fault_place;
  double fault_width; /* of the bubble; 0: the card's */
  char *waits_for;    /* the card whose fault leaves this one without a type; NULL */
  char *fault_port;
  char *fix; /* the button's label, or NULL */
} StudioItem;

/* How shapes are written on wires. */
typedef enum
{
  STUDIO_SHAPES_SIZES,   /* "B × 1 × 28 × 28" */
  STUDIO_SHAPES_NAMES,   /* "B × C=1 × H=28 × W=28" */
  STUDIO_SHAPES_NUMBERS, /* "64 × 1 × 28 × 28", of a batch as <train> has it */
  STUDIO_N_SHAPES
} StudioShapes;

typedef struct
{
  double x, y;
} StudioPoint;

typedef struct
{
  guint64 serial;
  guint from, output, to, input; /* indices of items and of their ports */
  guint next_out, next_in;       /* the next wire at the same output, at the same input; STUDIO_NO_ITEM */
  gboolean typed;
  gboolean fault; /* the card it leads to blames this port */
  guint n_dark;   /* of its two cards, left dark by a spotlight */
  LoomType type;
  LoomNetAxes axes;
  char *label;    /* shape, "B × 10", in the scene's form */
  char *copy;     /* "cpu → cuda:0 · 3.1 MB", where its tensor is copied to another device; else NULL */
  char *copy_doc; /* the same in sentences */
  guint n_points;
  StudioPoint *point; /* that the user led it through */
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
  StudioFlow flow;
  gboolean flow_stated; /* the file says so, and does not leave it at what is usual */
  StudioShapes shapes;
  gint64 batch; /* samples of a batch, as <train> has it; 0: it does not say */
  char *device; /* of the run, as <train> has it */
  guint n_items, n_links, n_annotations;
  guint n_hidden; /* nodes behind collapsed frames: item[n_items] and on, with places, without wires */
  StudioItem *item;
  StudioLink *link;
  StudioAnnotation *annotation; /* frames before notes: the order of drawing */
  LoomCost costs;               /* of the whole net */
  double seconds;               /* of the whole net, where it was measured */
  GHashTable *by_serial;        /* &item.serial → index + 1 */
  GHashTable *by_id;    /* id of a node → index + 1 of its card, which is its frame's where that is collapsed */
  char *path;           /* of the scope from the root, "block.0"; "" */
  StudioRoutes *routes; /* of the wires, as they were last asked for */
} StudioScene;

/* The label of the button that mends a fault of the node with this serial (transfer full); NULL where nothing does. */
typedef char *(*StudioSceneFix) (const LoomFault *fault, guint64 serial, gpointer data);
/* net may be NULL, and may be of an earlier version of the graph: a node that it does not have stays untyped. fix: NULL
 * where no fault gets a button. */
StudioScene *studio_scene_new (const LoomGraph *graph, const LoomElement *scope, const char *scope_path,
                               const LoomNet *net, const LoomFaults *faults, StudioSceneFix fix, gpointer data);
/* Cards, ports and wires alone: nothing is known of types, and no card shows a figure. */
StudioScene *studio_scene_new_plain (const LoomGraph *graph, const LoomElement *scope);
void studio_scene_free (StudioScene *scene);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioScene, studio_scene_free)

guint studio_scene_n_frames (const StudioScene *scene); /* cards of collapsed frames: the last of the items */
guint studio_scene_find (const StudioScene *scene, guint64 serial);            /* item; STUDIO_NO_ITEM */
guint studio_scene_find_link (const StudioScene *scene, guint64 serial);       /* link; STUDIO_NO_ITEM */
guint studio_scene_find_annotation (const StudioScene *scene, guint64 serial); /* STUDIO_NO_ITEM */
guint studio_scene_find_id (const StudioScene *scene, const char *id);
guint studio_item_find_port (const StudioItem *item, gboolean is_output, const char *name);
/* Whether a wire may join them: no cycle, dtype and rank not surely refused. */
gboolean studio_scene_can_link (const StudioScene *scene, guint from, guint output, guint to, guint input);
/* The points of a route as the file has them, "12,40 96,40"; what is no point is left out. n_points may be 0. (transfer
 * full) */
StudioPoint *studio_points_parse (const char *text, guint *n_points);
char *studio_points_format (const StudioPoint *point, guint n_points);
/* Marks the items that are reached from this one along (or against) the wires, itself among them. */
void studio_scene_reach (const StudioScene *scene, guint item, gboolean against, gboolean *seen);
/* "Matrix product, softmax …" – name for people: the operator's title, or the module's name. */
const char *studio_item_title (const StudioItem *item);
/* How loud a card speaks: only what is wrong by itself is an error. */
StudioTone studio_item_tone (const StudioItem *item);
/* The card that stands for what a path from the root names: the node itself, the module's instance or the repeat that
 * it is in, or the collapsed frame before it; STUDIO_NO_ITEM when the path leads elsewhere. Hashed. */
guint studio_scene_card_of (const StudioScene *scene, const char *path);
/* The serial of the scope's node that the path leads to or into: that of the card, or of a node behind a collapsed
 * frame; 0 when the path leads elsewhere. */
guint64 studio_scene_node_of (const StudioScene *scene, const char *path);

G_END_DECLS
