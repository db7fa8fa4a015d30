/* The document's insides, for the files that it is split into. */
#pragma once

#include "ui/document/studio-document-add.h"
#include "ui/document/studio-document.h"
#include "ui/document/studio-file-lock.h"
#include "ui/document/studio-journal.h"
#include "ui/scene/studio-routes.h"

G_BEGIN_DECLS

/* One undoable step: what takes it back, in the order in which it was made. */
typedef struct
{
  guint64 id;
  char *name, *key;
  gboolean is_visit;   /* it goes on however long nothing is changed */
  gint64 made;         /* the same in microseconds since 1970 */
  GPtrArray *inverses; /* LoomEdit; NULL entries were consumed */
} StudioStep;

typedef struct
{
  guint64 module, instance; /* serials */
  char *path;
} StudioScopeEntry;

/* A gap that a deleted node left between two that still stand. */
typedef struct
{
  guint64 from, to;
  const char *output, *input; /* interned */
} StudioBridge;

/* A file's state by its metadata, without reading it. */
typedef struct
{
  guint64 device, inode;
  gint64 size, seconds, nanoseconds;
  gint64 is_file;
} StudioDiskStamp;

#define STUDIO_DISK_MAX (64 * 1024 * 1024) /* the reader takes no larger graph */

struct _StudioDocument
{
  GObject parent_instance;

  LoomGraph *graph;
  char *path;
  GBytes *base; /* the text that the serials are counted in */
  LoomFaults *grammar;
  guint n_dropped; /* parts of the file that the reader left out */

  GPtrArray *undo, *redo;
  StudioStep *open;
  guint depth;
  guint64 last_step_id;
  char *merge_key;    /* of the step that ended last; NULL: the next step is not merged with it */
  guint pause;        /* timeout that ends merging; 0: none */
  char *begun_with;   /* what the first entry of the history is called */
  gint64 begun;       /* when, in microseconds since 1970 */
  guint64 saved_step; /* after which the file was written last; 0: none yet, G_MAXUINT64: it is not of this history */

  GArray *scope; /* StudioScopeEntry, outermost first */
  GArray *selection;
  GHashTable *selected; /* the same as a set */

  LoomNet *net;
  LoomFaults *faults;
  guint64 net_version;
  gboolean net_valid;
  gint64 trials_until; /* no remedy is tried out after that; of studio_trials_clock () */
  gboolean trials_unlimited;
  guint idle;
  StudioScene *scene;
  StudioRoutes *routes; /* of the last scene, until the next is made */
  GArray *bridges;

  char *disk_digest; /* of what was last read from path or written there; NULL: there is no path */
  StudioDiskStamp disk_stamp;
  StudioDiskState disk;
  char *watched; /* the path that monitor and lock are for */
  GFileMonitor *monitor;
  guint disk_timer;
  StudioFileLock *lock;
  char *holder; /* another Studio that has the file open */

  char *saved_text;
  GTask *saving; /* what is being written now; nothing is said of it once this is another document */
  gboolean edited, edited_valid;

  LoomGraph *run_graph;
  char *run_hash;
  GArray *run_steps; /* ids of the undo list when the run began */
  LoomErrorCode run_fault_code;
  char *run_fault_node, *run_fault_port, *run_fault_message; /* NULL: the run has no fault */
  GHashTable *run_meaning;                                   /* id → whether that step changed the meaning */
  char *hash;                                                /* of the present graph; NULL: not computed */

  gboolean wants_journal;
  char *journal_folder;
  StudioJournal *journal;
};

void studio_step_free (StudioStep *step);
/* The id of the last step that was done; 0: there is none. */
guint64 studio_document_last_step (StudioDocument *self);
/* After the graph changed: what was derived from it is made anew when it is asked for. */
void studio_document_forget_derived (StudioDocument *self);
/* The same, and tells. */
void studio_document_changed (StudioDocument *self);
void studio_scope_entry_clear (StudioScopeEntry *entry);
/* The bridge over an unwired input, or NULL. */
const StudioBridge *studio_document_find_bridge (StudioDocument *self, guint64 serial, const char *port);
/* The label of the button for a fault: what the fault itself says, or a remedy that was tried out (studio-mend.h). */
char *studio_document_fix_for_fault (const LoomFault *fault, guint64 serial, gpointer self);
char *studio_document_own_fix (const LoomFault *fault, guint64 serial, gpointer self);
/* Before a scene is made: remedies are tried out for some milliseconds. */
void studio_document_begin_trials (StudioDocument *self);
/* Adds a node with these attributes, "NAME=VALUE …". */
guint64
studio_document_add_with (StudioDocument *self, const char *op, const char *attributes, const StudioAddPlace *place);
LoomElement *studio_document_node (StudioDocument *self, guint64 serial); /* a node of the present scope */
/* Whether a frame, open or collapsed, is among what is selected. */
gboolean studio_document_selects_frame (StudioDocument *self);
/* The nodes (LoomElement) that are selected, with those that selected collapsed frames stand for. */
GPtrArray *studio_document_selected_nodes (StudioDocument *self);
/* Inside a transaction: collapsed frames that are selected are opened where they are, and what they stand for is
 * selected with them; for commands about nodes. Returns the frames (LoomElement). */
GPtrArray *studio_document_open_selected (StudioDocument *self);
/* Inside a transaction: moves the card of a collapsed frame, by the id of its item, with all that it stands for. FALSE:
 * that is no id of one. */
gboolean studio_document_place_frame (StudioDocument *self, const char *id, double x, double y);
/* Opens the frame that hides this node of the shown scope, if one does: one step. */
void studio_document_show_node (StudioDocument *self, const char *id);
/* Writes a card's place inside the open transaction. */
void studio_document_place (StudioDocument *self, const char *id, double x, double y);
char *studio_document_coordinate (double v); /* as a file writes it */
void studio_document_remove_element (StudioDocument *self, LoomElement *element);
/* Sets an attribute inside the open transaction, if it differs. */
void studio_document_put (StudioDocument *self, LoomElement *e, const char *attribute, const char *value);
/* The text of a wire's end at an output: the id alone where that names the port. */
char *studio_document_output_text (const StudioItem *item, guint port);
/* Where a path comes to a node of the scope that changes: may append something else for it to s and say how many parts
 * that stands for; FALSE: it stays. */
typedef gboolean (*StudioPathStep) (const LoomElement *node, const char *const *parts, GString *s, guint *used,
                                    gpointer data);

/* The place that the path of a scope leads to. */
typedef struct
{
  const LoomElement *scope;    /* the graph's root or a module; NULL: there is no such scope */
  const LoomElement *instance; /* whose inside it is; NULL: of the root */
  guint copy;                  /* of a repeat */
  gsize n_around;              /* bytes of the path that name the scope around it */
} StudioPathScope;

/* How nodes of one scope change. */
typedef struct
{
  const LoomElement *scope;
  StudioPathStep step;
  /* Ids, parted by blanks, that stand for this node of the scope in a list of ids from now on; NULL: it stays.
   * (transfer full) */
  char *(*names) (const LoomElement *node, gpointer data);
  /* A slide that shows another scope from now on: TRUE where its scope or light was changed here. May be NULL. */
  gboolean (*slide) (LoomElement *slide, const StudioPathScope *shown, gpointer data);
} StudioPathChange;

/* Puts all paths that <train>, <view> and <lesson> keep through the change, inside the open transaction and before the
 * nodes themselves are changed. */
void studio_document_map_paths (StudioDocument *self, const StudioPathChange *change, gpointer data);
/* The SHAPE or DTYPE fault that the node with this path has, or NULL. */
const LoomFault *studio_document_find_refusal (const LoomFaults *faults, const char *path);
/* Takes a wire away with its route, and closes the gap in a variadic input. */
void studio_document_remove_wire (StudioDocument *self, LoomElement *wire);
/* A wire's route by its ends leads elsewhere once the wire does: it goes. */
void studio_document_forget_route (StudioDocument *self, const LoomElement *wire);
/* Inside a transaction: gives a wire these points; 0 takes its route away. */
void studio_document_put_points (StudioDocument *self, LoomElement *wire, const StudioPoint *point, guint n);
/* Inside a transaction: points go with the two cards of their wire where both move by the same; by item of the scene.
 */
void studio_document_shift_points (StudioDocument *self, const double *dx, const double *dy);
/* Numbers of a variadic input's wires have no gaps: after one is gone the later ones move up. */
void studio_document_close_gaps (StudioDocument *self, LoomElement *scope, const char *id);
/* The text of a wire's end: the id alone where that names the port. */
char *studio_document_end_text (const StudioItem *item, gboolean is_output, guint port);
/* Advice for each card of the root that nothing reads, where its graph is trained. */
void studio_document_note_unread (StudioDocument *self, const LoomTrainSpec *spec, LoomFaults *faults);
/* Whether that is what the fault says, and the card can go between what it reads and the only other reader of that. */
gboolean studio_document_can_insert_unread (StudioDocument *self, const LoomFault *fault);
gboolean studio_document_insert_unread (StudioDocument *self, const LoomFault *fault);
void studio_document_infer (StudioDocument *self); /* now, if the idle has not come yet */
void studio_document_rebuild_selected (StudioDocument *self);
/* The graph of a file and the very text that it was read from. */
/* Sets the graph's guard: of one that has a file, which may be from elsewhere, data outside its folder wait for the
 * user's agreement. */
void studio_document_guard (StudioDocument *self);
LoomGraph *studio_document_read (const char *path, char **text, gsize *length, LoomFaults **faults, GError **error);
/* digest (transfer full) is that of what the file at the document's path holds: watches it from here on. NULL, where
 * there is no path, ends that. */
void studio_document_note_disk (StudioDocument *self, char *digest);
char *studio_document_digest (const char *text, gsize length);
void studio_document_unwatch (StudioDocument *self);
/* The file holds what the document does: nothing is edited, and the journal says so. */
void studio_document_note_saved (StudioDocument *self);
LoomElement *studio_document_insert (StudioDocument *self, LoomElement *parent, LoomElement *child);

G_END_DECLS
