/* The document: a mutable graph with named transactions, selection and inference, and no view.
 *
 * Every change of the graph that Studio makes goes through here, as a transaction of a few
 * invertible primitives, so that menu, key, test and canvas run the same code, undo has no
 * limit, and the journal sees everything. Elements are named by serial: a serial outlives
 * undo and redo, a pointer does not. The document lives on the main thread. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"
#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_DOCUMENT (studio_document_get_type ())
G_DECLARE_FINAL_TYPE (StudioDocument, studio_document, STUDIO, DOCUMENT, GObject)

/* Signals, all without arguments:
 *   "changed"            the graph, or what may be undone, changed
 *   "scope-changed"      another scope is shown (a module was entered or left, or the graph replaced)
 *   "selection-changed"
 *   "net-changed"        inference finished: net, scene types and faults are those of the present graph
 *   "faults-changed"     after net-changed, only when the list of faults differs
 *   "file-changed"       path, title or the state of being edited changed
 * and one with three, as GListModel's "items-changed" has them:
 *   "history-changed"    entries of the history came, went or were joined (studio-document-history.h) */

/* An empty graph, never saved. */
StudioDocument *studio_document_new (void);

/* ---- file ------------------------------------------------------------- */

/* Replaces the graph by the file's. Faults of grammar do not fail: they are listed with the others. */
gboolean studio_document_open (StudioDocument *self, const char *path, GError **error);
/* Replaces the graph by a text, as an untitled document (an example from the resources); folder resolves relative
 * data paths and may be NULL. */
gboolean
studio_document_open_text (StudioDocument *self, const char *text, gssize length, const char *folder, GError **error);
/* Replaces the graph by an empty, untitled one. */
void studio_document_reset (StudioDocument *self);
/* Writes to path, or where it was opened from when path is NULL. The file is whole or untouched. */
gboolean studio_document_save (StudioDocument *self, const char *path, GError **error);
/* The same while one goes on working: what is changed after the call is not saved by it. One at a time. */
void studio_document_save_async (StudioDocument *self, const char *path, GAsyncReadyCallback callback, gpointer data);
gboolean studio_document_save_finish (StudioDocument *self, GAsyncResult *result, GError **error);
/* Whether this is what is being saved, and no other graph has been opened since. */
gboolean studio_document_is_saving_by (StudioDocument *self, GAsyncResult *result);
gboolean studio_document_is_saving (StudioDocument *self);
/* How many parts of the file at the document's path were not understood when it was read, and would be lost by saving
 * over it. 0 once it was saved. */
guint studio_document_dropped_parts (StudioDocument *self);
const char *studio_document_get_path (StudioDocument *self); /* NULL: never saved */
char *studio_document_dup_title (StudioDocument *self);      /* the graph's name, else the file's, else "Untitled" */
/* TRUE when the content differs from what was opened or saved; undoing back to it makes it FALSE. Also TRUE when the
 * file is gone: then the content is nowhere else. */
gboolean studio_document_is_edited (StudioDocument *self);
gboolean studio_document_is_empty (StudioDocument *self); /* no nodes at all */

/* ---- the file as others change it ------------------------------------- */

typedef enum
{
  STUDIO_DISK_SAME,    /* as it was read or written last; also without a path */
  STUDIO_DISK_CHANGED, /* another content, or it cannot be read any more */
  STUDIO_DISK_GONE     /* deleted or moved away */
} StudioDiskState;

/* The file's state as far as it is known; "file-changed" tells when it changes. */
StudioDiskState studio_document_get_disk (StudioDocument *self);
/* Looks now: before the file is written over. */
StudioDiskState studio_document_check_disk (StudioDocument *self);
/* Takes the file's content as one step that can be undone. */
gboolean studio_document_reload (StudioDocument *self, GError **error);
/* Takes a graph's canonical text as content, as one step of this name. */
gboolean studio_document_replace (StudioDocument *self, const char *text, const char *step, GError **error);
/* Who else has the file open ("process 1234"); NULL: nobody that is known of. */
const char *studio_document_get_holder (StudioDocument *self);

/* ---- graph and inference ---------------------------------------------- */

LoomGraph *studio_document_get_graph (StudioDocument *self); /* (transfer none), to be read only */
/* The net of the present graph: inferred now if the idle has not come yet. Valid until the next change. */
LoomNet *studio_document_get_net (StudioDocument *self);
/* All faults: of grammar, operators and inference. Same life as the net. */
LoomFaults *studio_document_get_faults (StudioDocument *self);
/* The net of the last inference that finished, without forcing one; node->element may be stale. May be NULL. */
LoomNet *studio_document_peek_net (StudioDocument *self);
/* The scene of the present scope. Valid until the next "changed", "scope-changed" or "net-changed". */
StudioScene *studio_document_get_scene (StudioDocument *self);
/* The next scene is made anew: of the cards and wires as they are now inside of a transaction, and without what was
 * marked on the one before. */
void studio_document_refresh_scene (StudioDocument *self);
/* Of the graph as it is; changes with every edit. (transfer none) */
const char *studio_document_hash (StudioDocument *self);

/* ---- a run's view of the document --------------------------------------- */

/* Call with what a run was started from: the present graph. */
void studio_document_mark_run (StudioDocument *self);
/* Call when there is no run any more. */
void studio_document_unmark_run (StudioDocument *self);
/* A failure of the run that belongs to a node (code as in "NAN") stands among the faults while the node is as the run
 * has it. node NULL: none any more. */
/* Files outside the folder of the graph's file that the graph names and that the user has not agreed to be read: all
 * wait for it but those of a graph without a file. (transfer full) */
char **studio_document_outside (StudioDocument *self);
/* The user agrees to reading them: the graph is inferred again, with the data sets described. */
void studio_document_agree (StudioDocument *self);
void studio_document_set_run_fault (StudioDocument *self, const char *code, const char *node, const char *port,
                                    const char *message);
/* How many transactions lie between the run's graph and the present one; 0 while they mean the same (layout and
 * view are no meaning). */
guint studio_document_run_changes (StudioDocument *self);
/* TRUE while the node with this path in the run is unchanged in the document: its live values may be shown. */
gboolean studio_document_run_has (StudioDocument *self, const char *path);

/* ---- scope -------------------------------------------------------------- */

LoomElement *studio_document_get_scope (StudioDocument *self);         /* the root, or a module */
const char *studio_document_get_scope_path (StudioDocument *self);     /* "" or "block.0": the instance that is shown */
gboolean studio_document_enter (StudioDocument *self, guint64 serial); /* FALSE when it is no module instance */
void studio_document_leave (StudioDocument *self);                     /* one level up; nothing at the root */
void studio_document_leave_to (StudioDocument *self, guint depth);     /* 0: the root */
guint studio_document_scope_depth (StudioDocument *self);
char *studio_document_dup_scope_name (StudioDocument *self, guint depth); /* module name; the title for depth 0 */
guint studio_document_module_uses (StudioDocument *self, const char *module);
/* Gives the shown instance a definition of its own. FALSE at the root or when it is the only use. */
gboolean studio_document_make_unique (StudioDocument *self);
/* Whether the module that is shown has an argument of this name; *value is what it is in the shown instance, a number
 * where that can be worked out, or NULL (transfer full). */
gboolean studio_document_find_argument (StudioDocument *self, const char *name, char **value);
/* Shows the scope that holds the node with this path and selects it. */
gboolean studio_document_reveal (StudioDocument *self, const char *path);
/* "block.0.conv" of a node in the present scope. */
char *studio_document_dup_node_path (StudioDocument *self, guint64 serial);

/* ---- transactions ------------------------------------------------------- */

/* Transactions nest: the outermost one names the step. */
void studio_document_begin (StudioDocument *self, const char *name);
/* Applies edit (transfer full) now, and keeps its inverse. Only between begin and end. */
void studio_document_edit (StudioDocument *self, LoomEdit *edit);
/* A transaction without edits leaves no trace. */
void studio_document_end (StudioDocument *self);
/* Takes back all edits since the outermost begin, and ends it. */
void studio_document_cancel (StudioDocument *self);
/* Joins the transaction that ends next to the last one when both have this key and no other came between: typing in
 * one entry is one step. Call between begin and end. */
void studio_document_merge (StudioDocument *self, const char *key);
/* The same however long one pauses between two steps of this key: the key ends with the visit to a field. */
void studio_document_merge_visit (StudioDocument *self, const char *key);
/* The next transaction is a step of its own, even if it has the key of the last one. */
void studio_document_end_merge (StudioDocument *self);

gboolean studio_document_undo (StudioDocument *self);
gboolean studio_document_redo (StudioDocument *self);
const char *studio_document_undo_name (StudioDocument *self); /* NULL: nothing to undo */
const char *studio_document_redo_name (StudioDocument *self);
guint studio_document_n_steps (StudioDocument *self); /* that can be undone */
/* Makes one step, under the name of the first, of all that were done since there were n: for a command whose second
 * half has to see what inference says of the first. */
void studio_document_fold (StudioDocument *self, guint n);

/* ---- selection ---------------------------------------------------------- */

/* Serials of nodes and wires of the present scope. */
gboolean studio_document_is_selected (StudioDocument *self, guint64 serial);
guint studio_document_n_selected (StudioDocument *self);
guint64 studio_document_get_selected (StudioDocument *self, guint i);    /* in order of selection */
void studio_document_select_only (StudioDocument *self, guint64 serial); /* 0: nothing */
void studio_document_set_selected (StudioDocument *self, guint64 serial, gboolean selected);
void studio_document_select (StudioDocument *self, const guint64 *serials, guint n);
void studio_document_select_all (StudioDocument *self);

/* ---- commands: each is one transaction ---------------------------------- */

/* Adds a node of this operator with its card's middle at x, y, selects it, and gives its serial (0 when there is no
 * such operator). */
guint64 studio_document_add_node (StudioDocument *self, const char *op, double x, double y);
/* Joins an output to an input of the present scope, replacing the wire that was there. Ports by name. Gives the
 * wire's serial, or 0 with a PORT or CYCLE error. */
guint64 studio_document_connect (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input,
                                 GError **error);
/* Which ports may take the other end of a wire at this port: lit[first[item] + port] is set, over inputs when
 * from_output, else over outputs. Circles are excluded always; shapes and types that the operator would refuse as far
 * as trying them out takes no longer than a frame or two. */
void studio_document_compatible_ports (StudioDocument *self, guint64 serial, gboolean from_output, guint port,
                                       gboolean *lit, const guint *first);
/* Why a wire between these ports is refused, in a sentence (transfer full); NULL where it is not. */
char *
studio_document_dup_refusal (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input);
void studio_document_disconnect (StudioDocument *self, guint64 wire);
/* Takes these wires away in one step. */
void studio_document_cut_wires (StudioDocument *self, const guint64 *wires, guint n);
/* Which outputs all wires of this one could begin at instead, as studio_document_compatible_ports() says it, and why
 * one is not among them. */
void
studio_document_movable_ports (StudioDocument *self, guint64 from, guint output, gboolean *lit, const guint *first);
char *studio_document_dup_moving_refusal (StudioDocument *self, guint64 from, const char *output, guint64 to,
                                          const char *to_output);
/* Lets all wires of one output begin at another in one step. FALSE with a CYCLE error where one of them would close a
 * circle: then none moves. */
gboolean studio_document_move_wires (StudioDocument *self, guint64 from, const char *output, guint64 to,
                                     const char *to_output, GError **error);
/* Moves a wire's input end elsewhere in one step. */
guint64 studio_document_reconnect (StudioDocument *self, guint64 wire, guint64 to, const char *input, GError **error);
/* Points that a wire is led through, kept as a <route>. A new one comes to stand between the two that it is nearest to;
 * gives its index, or STUDIO_NO_ITEM where there is no such wire. */
guint studio_document_add_point (StudioDocument *self, guint64 wire, double x, double y);
void studio_document_move_point (StudioDocument *self, guint64 wire, guint index, double x, double y);
void studio_document_remove_point (StudioDocument *self, guint64 wire, guint index);
void studio_document_remove_points (StudioDocument *self, guint64 wire);
void studio_document_delete_selection (StudioDocument *self);
/* Deletes the selection; what it fed is fed by what fed it, wherever the operator there takes that. */
void studio_document_dissolve_selection (StudioDocument *self);
/* Makes a module of the selected nodes, in place, and selects its instance; name NULL: "block". Its inputs and outputs
 * come from the wires that cross the border, its arguments from the names in members' formulas. FALSE with a sentence
 * where nothing that can be grouped is selected, or a layer between is left out (CYCLE). */
gboolean studio_document_group_selection (StudioDocument *self, const char *name, GError **error);
/* Puts what the selected module instances hold in their place; a definition that nothing uses any more goes. */
gboolean studio_document_ungroup_selection (StudioDocument *self, GError **error);
/* Mutes the selected nodes, which are then left out of what is computed, or unmutes them where all are muted. FALSE:
 * there is none. */
gboolean studio_document_mute_selection (StudioDocument *self);
/* The selected modules become bodies of loops, which run them once for each step of a sequence; where all of them are,
 * modules again. FALSE where none is selected. */
gboolean studio_document_loop_selection (StudioDocument *self);
/* Gives a node another operator: it keeps those wires and parameters that the new one has a place for, and its name
 * unless that was the operator's. FALSE where there is no such operator, or the node is a module. */
gboolean studio_document_swap (StudioDocument *self, guint64 serial, const char *op);
/* Whether the operator has as many ports as the node has wires. */
gboolean studio_document_can_swap (StudioDocument *self, guint64 serial, const LoomOp *op);
/* A frame around the selected cards, or around x, y where none is; a note with its corner there. Selected; gives the
 * serial. */
guint64 studio_document_add_frame (StudioDocument *self, const char *title, double x, double y);
guint64 studio_document_add_note (StudioDocument *self, const char *text, double x, double y);
/* Sets those items and annotations of the scene that move when these serials do: a frame takes along what it holds. */
void
studio_document_moving (StudioDocument *self, const guint64 *serials, guint n, gboolean *items, gboolean *annotations);
void studio_document_move (StudioDocument *self, const guint64 *serials, guint n, double dx, double dy);
/* value NULL removes the attribute; nothing happens when it has that value. Consecutive changes of one attribute of
 * one node within a second are one step. Where the attribute decides which others there are (a data set's source),
 * those that its new value does not have go in the same step. */
void studio_document_set_attribute (StudioDocument *self, guint64 serial, const char *attribute, const char *value);
/* The same for several nodes in one step. */
void studio_document_set_attributes (StudioDocument *self, const guint64 *serials, guint n, const char *attribute,
                                     const char *value);
/* Says what would change if a node had this value: parameters, shapes, a fault. NULL: nothing (transfer full). */
char *studio_document_dup_preview (StudioDocument *self, guint64 serial, const char *attribute, const char *value);
/* As above for any element (the <train> element; studio_document_ensure gives it one). */
void studio_document_set_element_attribute (StudioDocument *self, LoomElement *element, const char *attribute,
                                            const char *value);
/* The first child of the root with this tag; inserted (inside the open transaction) when absent. */
LoomElement *studio_document_ensure (StudioDocument *self, LoomTag tag);
/* Renames a node with all wires, places, routes and training attributes that mention it. */
gboolean studio_document_rename (StudioDocument *self, guint64 serial, const char *id, GError **error);
void studio_document_duplicate (StudioDocument *self);
/* Within an open transaction: moves aside what a pin of this height would cover that comes to hang on a node of the
 * graph. */
void studio_document_make_room_for_pin (StudioDocument *self, const char *node_path, double height);
/* The fix of the first fault on this node that has one: an attribute's value, or a wire across a deleted node.
 * NULL when there is none; else the button's label. */
char *studio_document_dup_fix_label (StudioDocument *self, guint64 serial);
gboolean studio_document_apply_fix (StudioDocument *self, guint64 serial);
/* Applies the fix of one fault of the list. */
gboolean studio_document_apply_fault_fix (StudioDocument *self, const LoomFault *fault);

/* ---- journal ------------------------------------------------------------ */

/* Begins to keep a journal under the folder, NULL for the user's state directory. Every transaction is appended, and
 * on the disk within a second. The user's file is never written by it. */
gboolean studio_document_keep_journal (StudioDocument *self, const char *folder, GError **error);
/* Replays a journal that a crash left behind as one transaction, which can be undone, and takes it over. */
gboolean studio_document_recover (StudioDocument *self, const char *journal, GError **error);
/* Removes the journal: the user saved, or chose to discard. Disposing of the document without it, as a crash does,
 * leaves the journal. */
void studio_document_close (StudioDocument *self);

G_END_DECLS
