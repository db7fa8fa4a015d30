/* Helpers shared by the files that edit a document, for use inside a transaction. They do not access the document's
 * fields. */
#pragma once

#include "engine/fix/loom-fix.h"
#include "ui/document/studio-document-add.h"
#include "ui/document/studio-document-net.h"
#include "ui/document/studio-document.h"

/* TRUE if a transaction is open; and if it is the outermost one. */
gboolean studio_document_is_editing (StudioDocument *self);
gboolean studio_document_is_outermost (StudioDocument *self);
/* TRUE if trials have no time limit (studio-trials.h). */
gboolean studio_document_has_unlimited_trials (StudioDocument *self);
/* The fix in a fault, or across deleted nodes (transfer full); NULL: it has none. */
LoomFix *studio_document_own_fix (StudioDocument *self, const LoomFault *fault, guint64 serial);
/* Makes the edits of a fix as one step of this name. */
gboolean studio_document_edit_fix (StudioDocument *self, const LoomFix *fix, const char *step);
/* Records that a deleted node left a gap between this output and this input (interned names), which a quick fix may
 * close. */
void
studio_document_note_bridge (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input);
/* Adds a node with these attributes, "NAME=VALUE …". */
guint64
studio_document_add_with (StudioDocument *self, const char *op, const char *attributes, const StudioAddPlace *place);
LoomElement *studio_document_node (StudioDocument *self, guint64 serial); /* a node of the shown scope */
/* TRUE if the selection contains a frame, open or collapsed. */
gboolean studio_document_selects_frame (StudioDocument *self);
/* The selected nodes (LoomElement), including those in selected collapsed frames. */
GPtrArray *studio_document_selected_nodes (StudioDocument *self);
/* Inside a transaction: expands the selected collapsed frames where they are and adds their nodes to the selection, for
 * commands on nodes. Returns the frames (LoomElement). */
GPtrArray *studio_document_open_selected (StudioDocument *self);
/* Inside a transaction: moves the card of a collapsed frame of this scope, by the id of its item, with its nodes.
 * FALSE: no frame has that id. */
gboolean
studio_document_place_frame (StudioDocument *self, const LoomElement *scope, const char *id, double x, double y);
/* Expands the collapsed frame that contains this node of the shown scope, if there is one: one step. */
void studio_document_show_node (StudioDocument *self, const char *id);
/* Sets a card's position inside the open transaction: in the shown scope, or in any. */
void studio_document_place (StudioDocument *self, const char *id, double x, double y);
void studio_document_place_in (StudioDocument *self, LoomElement *scope, const char *id, double x, double y);
char *studio_document_coordinate (double v); /* in the form of files */
void studio_document_remove_element (StudioDocument *self, LoomElement *element);
/* Sets an attribute inside the open transaction, if it differs. */
void studio_document_put (StudioDocument *self, LoomElement *e, const char *attribute, const char *value);
/* The text of a wire's end at an output: only the id if that is unambiguous. */
char *studio_document_output_text (const StudioItem *item, guint port);
/* Called when a path reaches a node of the changed scope: may append a replacement for it to s and return how many
 * parts of the path it replaces; FALSE: unchanged. */
typedef gboolean (*StudioPathStep) (const LoomElement *node, const char *const *parts, GString *s, guint *used,
                                    gpointer data);

/* The scope that a path leads to. */
typedef struct
{
  const LoomElement *scope;    /* the graph's root or a module; NULL: the path leads nowhere */
  const LoomElement *instance; /* the instance whose inside it is; NULL: the root */
  guint copy;                  /* of a repeat */
  gsize n_around;              /* length in bytes of the path to the enclosing scope */
} StudioPathScope;
void studio_document_find_scope (StudioDocument *self, const char *path, StudioPathScope *found);

/* Describes how the nodes of one scope change. */
typedef struct
{
  const LoomElement *scope;
  StudioPathStep step;
  /* The new ids, separated by blanks, for this node of the scope in a list of ids; NULL: unchanged. (transfer full) */
  char *(*names) (const LoomElement *node, gpointer data);
  /* Updates a slide whose scope or spotlight may change; TRUE: changed here. May be NULL. */
  gboolean (*slide) (LoomElement *slide, const StudioPathScope *shown, gpointer data);
} StudioPathChange;

/* Applies the change to all paths in <train>, <view> and <lesson>, inside the open transaction and before the nodes
 * themselves are changed. */
void studio_document_map_paths (StudioDocument *self, const StudioPathChange *change, gpointer data);
/* The SHAPE or DTYPE fault of the node with this path, or NULL. */
const LoomFault *studio_document_find_refusal (const LoomFaults *faults, const char *path);
/* Removes a wire and its route, and closes the gap in a variadic input. */
void studio_document_remove_wire (StudioDocument *self, LoomElement *wire);
/* Removes a wire's route, which names the wire by its ends, before the ends change. */
void studio_document_forget_route (StudioDocument *self, const LoomElement *wire);
/* Inside a transaction: sets a wire's waypoints; 0 removes its route. */
void studio_document_put_points (StudioDocument *self, LoomElement *wire, const StudioPoint *point, guint n);
/* Inside a transaction: moves the waypoints of wires of which both cards move by the same distance; by item of the
 * scene. */
void studio_document_shift_points (StudioDocument *self, const double *dx, const double *dy);
/* The wires of a variadic input are numbered without gaps: after one is removed, later ones move up. */
void studio_document_close_gaps (StudioDocument *self, LoomElement *scope, const char *id);
/* The text of a wire's end: only the id if that is unambiguous. */
char *studio_document_end_text (const StudioItem *item, gboolean is_output, guint port);
/* Adds a note for each card of the root that no node reads, if its graph is trained. */
void studio_document_note_unread (StudioDocument *self, const LoomTrainSpec *spec, LoomFaults *faults);
/* TRUE if the fault is such a note, and the card can be inserted between its source and that source's only other
 * reader. */
gboolean studio_document_can_insert_unread (StudioDocument *self, const LoomFault *fault);
gboolean studio_document_insert_unread (StudioDocument *self, const LoomFault *fault);
LoomElement *studio_document_insert (StudioDocument *self, LoomElement *parent, LoomElement *child);
/* The types of the first inputs of a card, by port of its operator, of at most MOST_INPUTS; NULL: not known. Returns
 * their number. */
#define MOST_INPUTS 16
guint studio_item_input_types (const StudioItem *item, const LoomType **type, guint most);
