/* The document: a mutable graph with named transactions, selection and inference, and no view.
 *
 * Every change of the graph in Studio is made here, as a transaction of a few invertible primitives, so that menu, key,
 * test and canvas run the same code, undo has no limit, and the journal records everything. Elements are identified by
 * serial: a serial, unlike a pointer, survives undo and redo. The document belongs to the main thread. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"
#include "ui/document/studio-file-watch.h"
#include "ui/scene/studio-scene.h"

#define STUDIO_TYPE_DOCUMENT (studio_document_get_type ())
G_DECLARE_FINAL_TYPE (StudioDocument, studio_document, STUDIO, DOCUMENT, GObject)

/* Signals without arguments:
 *   "changed"            the graph, or the steps to undo, changed
 *   "scope-changed"      another scope is shown (a module was entered or left, or the graph replaced)
 *   "selection-changed"
 *   "net-changed"        inference finished: net, scene types and faults belong to the current graph
 *   "faults-changed"     after net-changed, only if the list of faults differs
 *   "file-changed"       path, title or is_edited changed
 * and one with the three arguments of GListModel's "items-changed":
 *   "history-changed"    entries of the history were added, removed or merged (studio-document-history.h)
 * and one with a sentence:
 *   "journal-failed"     a crash would lose changes; once for a journal */

/* Makes an empty graph that was never saved. */
StudioDocument *studio_document_new (void);

/* ---- file ------------------------------------------------------------- */

/* Replaces the graph by the file's. Grammar faults are no error: they are listed with the others. */
gboolean studio_document_open (StudioDocument *self, const char *path, GError **error);
/* Replaces the graph by a text, as an untitled document (an example from the resources); folder is for relative data
 * paths and may be NULL. */
gboolean
studio_document_open_text (StudioDocument *self, const char *text, gssize length, const char *folder, GError **error);
/* Replaces the graph by an empty, untitled one. */
void studio_document_reset (StudioDocument *self);
/* Writes to path, or if path is NULL, to the file that was opened. The file is replaced completely or not at all. */
gboolean studio_document_save (StudioDocument *self, const char *path, GError **error);
/* The same asynchronously: later changes are not saved by it. Only one at a time. */
void studio_document_save_async (StudioDocument *self, const char *path, GAsyncReadyCallback callback, gpointer data);
gboolean studio_document_save_finish (StudioDocument *self, GAsyncResult *result, GError **error);
/* TRUE if this save is in progress, and no other graph has been opened since it began. */
gboolean studio_document_is_saving_by (StudioDocument *self, GAsyncResult *result);
gboolean studio_document_is_saving (StudioDocument *self);
/* The number of parts of the file at the document's path that the reader skipped, and that would be lost by saving over
 * it. 0 after it was saved. */
guint studio_document_dropped_parts (StudioDocument *self);
const char *studio_document_get_path (StudioDocument *self); /* NULL: never saved */
char *studio_document_dup_title (StudioDocument *self);      /* the graph's name, else the file's, else "Untitled" */
/* TRUE if the content differs from what was opened or saved; undoing back to it makes it FALSE. Also TRUE if the file
 * no longer exists. */
gboolean studio_document_is_edited (StudioDocument *self);
gboolean studio_document_is_empty (StudioDocument *self); /* no nodes at all */

/* ---- changes of the file by other programs ---------------------------- */

/* The last known state of the file; "file-changed" reports changes. */
StudioDiskState studio_document_get_disk (StudioDocument *self);
/* Checks the file now; to be called before overwriting it. */
StudioDiskState studio_document_check_disk (StudioDocument *self);
/* Loads the file's content as one step that can be undone. */
gboolean studio_document_reload (StudioDocument *self, GError **error);
/* Replaces the content by a graph's canonical text, as one step of this name. */
gboolean studio_document_replace (StudioDocument *self, const char *text, const char *step, GError **error);
/* The other process that has the file open ("process 1234"); NULL: none known. */
const char *studio_document_get_holder (StudioDocument *self);

/* ---- graph and inference ---------------------------------------------- */

LoomGraph *studio_document_get_graph (StudioDocument *self); /* (transfer none), read-only */
/* The net of the current graph: inferred now if the idle callback has not run yet. Valid until the next change. */
LoomNet *studio_document_get_net (StudioDocument *self);
/* All faults: of grammar, operators and inference. Valid as long as the net. */
LoomFaults *studio_document_get_faults (StudioDocument *self);
/* The net of the last finished inference; node->element may be stale. May be NULL. */
LoomNet *studio_document_peek_net (StudioDocument *self);
/* The scene of the shown scope. Valid until the next "changed", "scope-changed" or "net-changed". */
StudioScene *studio_document_get_scene (StudioDocument *self);
/* Makes the next scene from the current cards and wires inside a transaction, without the marks of the last one. */
void studio_document_refresh_scene (StudioDocument *self);
/* The hash of the current graph; changes with every edit. (transfer none) */
const char *studio_document_hash (StudioDocument *self);

/* ---- a run's view of the document --------------------------------------- */

/* Call when a run starts from the current graph. */
void studio_document_mark_run (StudioDocument *self);
/* Call when there is no run any more. */
void studio_document_unmark_run (StudioDocument *self);
/* Adds a failure of the run that belongs to a node (code such as "NAN") to the faults while the node is the same as in
 * the run. node NULL: removes it. */
/* The files outside the folder of the graph's file that the graph names and the user has not allowed to be read; none
 * if the graph has no file. (transfer full) */
char **studio_document_outside (StudioDocument *self);
/* The text of the graph for another process, which has no guard and would read such files: NULL with OUTSIDE until the
 * user has allowed them. (transfer full) */
char *studio_document_dup_text_for_process (StudioDocument *self, GError **error);
/* Allows reading them: the graph is inferred again, with the data sets described. */
void studio_document_agree (StudioDocument *self);
void studio_document_set_run_fault (StudioDocument *self, const char *code, const char *node, const char *port,
                                    const char *message);
/* The number of transactions between the run's graph and the current one; 0 while they have the same meaning (layout
 * and view have none). */
guint studio_document_run_changes (StudioDocument *self);
/* TRUE while the node with this path in the run is unchanged in the document, so that its live values may be shown. */
gboolean studio_document_run_has (StudioDocument *self, const char *path);

/* ---- scope -------------------------------------------------------------- */

LoomElement *studio_document_get_scope (StudioDocument *self);         /* the root, or a module */
const char *studio_document_get_scope_path (StudioDocument *self);     /* "" or "block.0": the shown instance */
gboolean studio_document_enter (StudioDocument *self, guint64 serial); /* FALSE if it is no module instance */
void studio_document_leave (StudioDocument *self);                     /* one level up; no effect at the root */
void studio_document_leave_to (StudioDocument *self, guint depth);     /* 0: the root */
guint studio_document_scope_depth (StudioDocument *self);
char *studio_document_dup_scope_name (StudioDocument *self, guint depth); /* module name; the title for depth 0 */
guint studio_document_module_uses (StudioDocument *self, const char *module);
/* Copies the definition for the shown instance. FALSE at the root or if it is the only instance. */
gboolean studio_document_make_unique (StudioDocument *self);
/* TRUE if the shown module has an argument of this name; *value is its value in the shown instance, a number if it can
 * be evaluated, or NULL (transfer full). */
gboolean studio_document_find_argument (StudioDocument *self, const char *name, char **value);
/* Shows the scope that contains the node with this path and selects it. */
gboolean studio_document_reveal (StudioDocument *self, const char *path);
/* "block.0.conv" for a node in the shown scope. */
char *studio_document_dup_node_path (StudioDocument *self, guint64 serial);

/* ---- transactions ------------------------------------------------------- */

/* Transactions nest: the outermost one names the step. */
void studio_document_begin (StudioDocument *self, const char *name);
/* Applies edit (transfer full), and keeps its inverse. Only between begin and end. */
void studio_document_edit (StudioDocument *self, LoomEdit *edit);
/* A transaction without edits becomes no step. */
void studio_document_end (StudioDocument *self);
/* Reverts all edits since the outermost begin, and ends it. */
void studio_document_cancel (StudioDocument *self);
/* Merges the ending transaction with the last one if both have this key and no other came between: typing in one entry
 * is one step. Call between begin and end. */
void studio_document_merge (StudioDocument *self, const char *key);
/* The same, however long the pause between two steps with this key: the key ends when the field loses the focus. */
void studio_document_merge_visit (StudioDocument *self, const char *key);
/* The next transaction is a step of its own, even if it has the key of the last one. */
void studio_document_end_merge (StudioDocument *self);

gboolean studio_document_undo (StudioDocument *self);
gboolean studio_document_redo (StudioDocument *self);
const char *studio_document_undo_name (StudioDocument *self); /* NULL: nothing to undo */
const char *studio_document_redo_name (StudioDocument *self);
guint studio_document_n_steps (StudioDocument *self); /* that can be undone */
/* Merges all steps after the first n into one with the name of the first of them: for a command whose second half
 * depends on the inference after the first. */
void studio_document_fold (StudioDocument *self, guint n);

/* ---- selection ---------------------------------------------------------- */

/* Serials of nodes and wires of the shown scope. */
gboolean studio_document_is_selected (StudioDocument *self, guint64 serial);
guint studio_document_n_selected (StudioDocument *self);
guint64 studio_document_get_selected (StudioDocument *self, guint i);    /* in order of selection */
void studio_document_select_only (StudioDocument *self, guint64 serial); /* 0: nothing */
void studio_document_set_selected (StudioDocument *self, guint64 serial, gboolean selected);
void studio_document_select (StudioDocument *self, const guint64 *serials, guint n);
void studio_document_select_all (StudioDocument *self);

/* ---- commands: each is one transaction ---------------------------------- */

/* Adds a node of this operator with its card's centre at x, y, selects it, and returns its serial (0 if there is no
 * such operator). */
guint64 studio_document_add_node (StudioDocument *self, const char *op, double x, double y);
/* Wires an output to an input of the shown scope, replacing the wire at the input. Ports by name. Returns the wire's
 * serial, or 0 with a PORT or CYCLE error. */
guint64 studio_document_connect (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input,
                                 GError **error);
/* Finds the ports for the other end of a wire at this port: sets lit[first[item] + port], for inputs if from_output,
 * else for outputs. Cycles are always excluded; shapes and types that an operator would refuse, as far as trials take
 * no longer than a frame or two. */
void studio_document_compatible_ports (StudioDocument *self, guint64 serial, gboolean from_output, guint port,
                                       gboolean *lit, const guint *first);
/* The reason why a wire between these ports is refused, a sentence (transfer full); NULL if it is accepted. */
char *
studio_document_dup_refusal (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input);
void studio_document_disconnect (StudioDocument *self, guint64 wire);
/* Removes these wires in one step. */
void studio_document_cut_wires (StudioDocument *self, const guint64 *wires, guint n);
/* The outputs to which all wires of this one could be moved, like studio_document_compatible_ports(), and the reason
 * why one cannot be used. */
void
studio_document_movable_ports (StudioDocument *self, guint64 from, guint output, gboolean *lit, const guint *first);
char *studio_document_dup_moving_refusal (StudioDocument *self, guint64 from, const char *output, guint64 to,
                                          const char *to_output);
/* Moves all wires of one output to another in one step. FALSE with CYCLE if one of them would close a cycle: then none
 * is moved. */
gboolean studio_document_move_wires (StudioDocument *self, guint64 from, const char *output, guint64 to,
                                     const char *to_output, GError **error);
/* Moves a wire's input end in one step. */
guint64 studio_document_reconnect (StudioDocument *self, guint64 wire, guint64 to, const char *input, GError **error);
/* Waypoints of a wire, stored as a <route>. A new one is inserted between the two nearest ones; returns its index, or
 * STUDIO_NO_ITEM if there is no such wire. */
guint studio_document_add_point (StudioDocument *self, guint64 wire, double x, double y);
void studio_document_move_point (StudioDocument *self, guint64 wire, guint index, double x, double y);
void studio_document_remove_point (StudioDocument *self, guint64 wire, guint index);
void studio_document_remove_points (StudioDocument *self, guint64 wire);
void studio_document_delete_selection (StudioDocument *self);
/* Deletes the selection; readers of deleted nodes then read those nodes' sources, if the readers' operators accept
 * them. */
void studio_document_dissolve_selection (StudioDocument *self);
/* Groups the selected nodes into a module in place, and selects its instance; name NULL: "block". Inputs and outputs
 * follow from the wires that cross the border, arguments from the names in members' formulas. FALSE with an error if
 * the selection cannot be grouped, or omits a layer in between (CYCLE). */
gboolean studio_document_group_selection (StudioDocument *self, const char *name, GError **error);
/* Replaces the selected module instances by their contents; a definition without instances is removed. */
gboolean studio_document_ungroup_selection (StudioDocument *self, GError **error);
/* Mutes the selected nodes, which are then not computed, or unmutes them if all are muted. FALSE: none is selected. */
gboolean studio_document_mute_selection (StudioDocument *self);
/* Changes a node's operator: it keeps the wires and parameters that the new one supports, and its name unless that was
 * the operator's. FALSE if there is no such operator, or the node is a module. */
gboolean studio_document_swap (StudioDocument *self, guint64 serial, const char *op);
/* TRUE if the operator has enough ports for the node's wires. */
gboolean studio_document_can_swap (StudioDocument *self, guint64 serial, const LoomOp *op);
/* Adds a frame around the selected cards, or around x, y if none is selected; or a note with its corner there. Selects
 * it and returns its serial. */
guint64 studio_document_add_frame (StudioDocument *self, const char *title, double x, double y);
guint64 studio_document_add_note (StudioDocument *self, const char *text, double x, double y);
/* Marks the items and annotations of the scene that move with these serials: a frame moves its contents. */
void
studio_document_moving (StudioDocument *self, const guint64 *serials, guint n, gboolean *items, gboolean *annotations);
void studio_document_move (StudioDocument *self, const guint64 *serials, guint n, double dx, double dy);
/* value NULL removes the attribute; no effect if it has that value. Consecutive changes of one attribute of one node
 * within a second are one step. If the attribute determines which others exist (a data set's source), those that the
 * new value does not have are removed in the same step. */
void studio_document_set_attribute (StudioDocument *self, guint64 serial, const char *attribute, const char *value);
/* The same for several nodes in one step. */
void studio_document_set_attributes (StudioDocument *self, const guint64 *serials, guint n, const char *attribute,
                                     const char *value);
/* Describes the effect of another value of an attribute: parameters, shapes, a fault. NULL: no changes (transfer full).
 */
char *studio_document_dup_preview (StudioDocument *self, guint64 serial, const char *attribute, const char *value);
/* As above for any element, such as <train> from studio_document_ensure(). */
void studio_document_set_element_attribute (StudioDocument *self, LoomElement *element, const char *attribute,
                                            const char *value);
/* The first child of the root with this tag; inserted (inside the open transaction) if absent. */
LoomElement *studio_document_ensure (StudioDocument *self, LoomTag tag);
/* Renames a node and updates all wires, positions, routes and training attributes that name it. */
gboolean studio_document_rename (StudioDocument *self, guint64 serial, const char *id, GError **error);
void studio_document_duplicate (StudioDocument *self);
/* Within an open transaction: moves cards that a pin of this size at a node would cover. before: its height so far; 0:
 * it is new. */
void studio_document_make_space_for_pin (StudioDocument *self, const char *node_path, double width, double before,
                                         double height);
/* The label of the button for the fix of the first fault on this node that has one: an attribute's value, or a wire
 * across a deleted node. NULL: none. */
char *studio_document_dup_fix_label (StudioDocument *self, guint64 serial);
gboolean studio_document_apply_fix (StudioDocument *self, guint64 serial);
/* Applies the fix of one fault of the list. */
gboolean studio_document_apply_fault_fix (StudioDocument *self, const LoomFault *fault);

/* ---- journal ------------------------------------------------------------ */

/* Starts a journal in the folder, NULL for the user's state directory. Every transaction is appended, and on disk
 * within a second. The user's file is never changed by it. */
gboolean studio_document_keep_journal (StudioDocument *self, const char *folder, GError **error);
/* Replays a journal that a crash has left as one transaction, which can be undone, and continues that journal. */
gboolean studio_document_recover (StudioDocument *self, const char *journal, GError **error);
/* Removes the journal, after saving or discarding. Disposing of the document without this call, as a crash does, leaves
 * the journal. */
void studio_document_close (StudioDocument *self);
