/* What the files that edit a document share: helpers inside of a transaction. They see no field of the document. */
#pragma once

#include "ui/document/studio-document-add.h"
#include "ui/document/studio-document.h"

G_BEGIN_DECLS

/* Whether a transaction is open, and whether it is the outermost one. */
gboolean studio_document_is_editing (StudioDocument *self);
gboolean studio_document_is_outermost (StudioDocument *self);
/* Whether the last net is one of the graph as it is. */
gboolean studio_document_has_net (StudioDocument *self);
/* Whether trials take as long as they need (studio-trials.h). */
gboolean studio_document_has_unlimited_trials (StudioDocument *self);
/* The label of the button for the fix that a fault itself names (transfer full); NULL: it names none. */
char *studio_document_own_fix (const LoomFault *fault, guint64 serial, gpointer self);
/* A deleted node left a gap between this output and this input (interned names), which a quick fix may close. */
void
studio_document_note_bridge (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input);
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
LoomElement *studio_document_insert (StudioDocument *self, LoomElement *parent, LoomElement *child);

G_END_DECLS
