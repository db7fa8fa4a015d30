/* The graph as the user wrote it: a small tree of typed elements with attributes.
 *
 * It is a tree and not a struct per kind of element, because the file, the editor's undo stack and the canvas all need
 * the same four invertible changes (insert, remove, set attribute, set text), and comments and foreign elements must
 * survive a round trip. So nodes, wires, <train>, <place>, … are all LoomElement, distinguished by tag; typed accessors
 * are built on top. A graph contains no values of a run. The meaning of attributes (operators, ports, shapes) is
 * defined by engine/ops.
 *
 * A LoomGraph is mutable and belongs to one thread. loom_graph_freeze() returns an immutable deep copy that other
 * threads may use. */
#pragma once

#include "engine/core/loom-fault.h"
#include "engine/core/loom-folder.h"
#include "engine/core/loom-guard.h"

#define LOOM_GRAPH_NAMESPACE "urn:gradloom:graph"
#define LOOM_GRAPH_VERSION   1

typedef enum
{
  LOOM_TAG_GRAPH,
  LOOM_TAG_DOC,
  LOOM_TAG_MODULE,
  LOOM_TAG_ARG,
  LOOM_TAG_NODE,
  LOOM_TAG_WIRE,
  LOOM_TAG_TRAIN,
  LOOM_TAG_GROUP,
  LOOM_TAG_SCHEDULE,
  LOOM_TAG_CLIP,
  LOOM_TAG_METRIC,
  LOOM_TAG_PARALLEL,
  LOOM_TAG_LESSON,
  LOOM_TAG_PAGE,
  LOOM_TAG_LAYOUT,
  LOOM_TAG_PLACE,
  LOOM_TAG_FRAME,
  LOOM_TAG_NOTE,
  LOOM_TAG_ROUTE,
  LOOM_TAG_VIEW,
  LOOM_TAG_PIN,
  LOOM_TAG_CHART,
  LOOM_TAG_SLIDE,
  LOOM_TAG_COMMENT, /* text is the comment */
  LOOM_TAG_FOREIGN, /* text is the element's canonical XML */
  LOOM_N_TAGS
} LoomTag;

typedef struct _LoomElement LoomElement;
typedef struct _LoomGraph LoomGraph;

/* The type of a module's argument, <arg type="…">. */
typedef enum
{
  LOOM_ARGUMENT_ANY, /* no type is written */
  LOOM_ARGUMENT_INT,
  LOOM_ARGUMENT_FLOAT,
  LOOM_ARGUMENT_BOOL,
  LOOM_ARGUMENT_STRING,
  LOOM_ARGUMENT_MODULE, /* the name of a module */
  LOOM_ARGUMENT_UNKNOWN,
  LOOM_N_ARGUMENT_TYPES
} LoomArgumentType;

LoomArgumentType loom_argument_type (const LoomElement *arg);

/* ---- graphs ----------------------------------------------------------- */

LoomGraph *loom_graph_new (const char *name);
LoomGraph *loom_graph_ref (LoomGraph *graph);
void loom_graph_unref (LoomGraph *graph);
/* A deep copy. loom_graph_copy() is mutable; loom_graph_freeze() is not, and may be used by other threads. */
LoomGraph *loom_graph_copy (const LoomGraph *graph);
LoomGraph *loom_graph_freeze (const LoomGraph *graph);
gboolean loom_graph_is_frozen (const LoomGraph *graph);

/* Reads a file. NULL with an error if it is no graph at all (not found, not XML: IO or PARSE); otherwise a graph, and
 * every grammar fault is appended to faults (invalid elements are skipped). Relative data paths are resolved against
 * the file's folder, loom_graph_get_folder(). Limits: 64 MB, depth 64, 1,000,000 elements, 1 MB per attribute. */
LoomGraph *loom_graph_read_file (const char *path, LoomFaults *faults, GError **error);
/* The same by a name in a folder. */
LoomGraph *loom_graph_read_in (LoomFolder *folder, const char *name, LoomFaults *faults, GError **error);
LoomGraph *
loom_graph_read_data (const char *data, gsize length, const char *name_for_errors, LoomFaults *faults, GError **error);
/* Checks ids, names and the ends of wires, in every scope, without the operator table. loom_net_new() calls it first.
 */
void loom_graph_check (const LoomGraph *graph, LoomFaults *faults);
/* The fix for an unknown attribute: rename it to the similar name (NULL: none) if the element does not have that one
 * already, else remove it. */
void loom_fault_suggest_name (LoomFault *fault, const LoomElement *element, const char *name, const char *near);
/* Canonical text: two spaces per indent, one element per line, attributes in canonical order (id, op or module first,
 * then as written), numbers as written. write(read(write(g))) == write(g). */
char *loom_graph_write (const LoomGraph *graph, gsize *length);
/* Writes the file completely or not at all. */
gboolean loom_graph_write_file (const LoomGraph *graph, const char *path, GError **error);

/* The number of parts of the file that the reader refused, and that would be lost if the graph replaced the file. 0 for
 * a graph that was not read, and for copies. */
guint loom_graph_n_dropped (const LoomGraph *graph);

/* The path of the file, as the caller wrote it; NULL if it was not read from a file. */
const char *loom_graph_get_file (const LoomGraph *graph);
const char *loom_graph_get_folder (const LoomGraph *graph); /* NULL if it has none */
void loom_graph_set_folder (LoomGraph *graph, const char *folder);
/* Sets the guard: nets of the graph and of its copies read data outside own only if may_read (NULL: no guard, the
 * default) permits it. */
void loom_graph_set_guard (LoomGraph *graph, const char *own, LoomMayRead may_read);
const LoomGuard *loom_graph_get_guard (const LoomGraph *graph);
/* SHA-256 of the meaning: everything but doc, comments, foreign elements, layout, view and lesson. */
char *loom_graph_hash (const LoomGraph *graph);

LoomElement *loom_graph_root (const LoomGraph *graph); /* tag GRAPH */
LoomElement *loom_graph_find_module (const LoomGraph *graph, const char *name);
/* strict_devices="true": a wire across devices is an error, not a copy. */
gboolean loom_graph_strict_devices (const LoomGraph *graph);
/* Increases by one at each change. */
guint64 loom_graph_version (const LoomGraph *graph);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomGraph, loom_graph_unref)

/* ---- elements --------------------------------------------------------- */

LoomTag loom_element_tag (const LoomElement *e);
const char *loom_tag_name (LoomTag tag); /* "node" */
int loom_element_line (const LoomElement *e);
LoomElement *loom_element_parent (const LoomElement *e);
guint loom_element_n_children (const LoomElement *e);
LoomElement *loom_element_child (const LoomElement *e, guint i);
guint loom_element_index (const LoomElement *e); /* among its parent's children */
/* First child with this tag, or NULL. */
LoomElement *loom_element_find (const LoomElement *e, LoomTag tag);
const char *loom_element_get (const LoomElement *e, const char *attribute); /* NULL when absent */
guint loom_element_n_attributes (const LoomElement *e);
void loom_element_attribute (const LoomElement *e, guint i, const char **name, const char **value);
const char *loom_element_text (const LoomElement *e); /* of doc, page, slide, comment, foreign; else NULL */
/* The version of the graph (loom_graph_version()) at which the element was inserted, or its attributes or text changed
 * last; 0 since the graph was read. The second is the version of the last change of it or of anything inside it, so
 * what was derived from an element at a version is current unless one of them is greater. */
guint64 loom_element_changed (const LoomElement *e);
guint64 loom_element_changed_inside (const LoomElement *e);
/* A number that identifies this element for its life within one graph and its copies: views and undo store it instead
 * of pointers. */
guint64 loom_element_serial (const LoomElement *e);
LoomElement *loom_graph_by_serial (const LoomGraph *graph, guint64 serial);

/* A scope is the root or a module. Finds a node by id: hashed, O(1). */
LoomElement *loom_scope_find_node (const LoomElement *scope, const char *id);
/* The name of the module that a node instantiates, or runs as a loop's body; NULL if there is none. */
const char *loom_node_module (const LoomElement *node);
/* The attribute that contains this name; NULL likewise. */
const char *loom_node_module_attribute (const LoomElement *node);
/* The path of a node in the scope at this path ("" is the root), "block.0" (transfer full). For a node with repeat, the
 * path of its first copy, which represents all: "block.0.layer.0". */
char *loom_node_path (const char *scope_path, const LoomElement *node);
/* TRUE if the part of a path after a node is the number of one of its copies, such as "0" in "block.0.conv" if block
 * has repeat. All copies are one element. */
gboolean loom_node_is_copy (const LoomElement *node, const char *part);
/* The node at a path from the root, "block.0.conv"; numbers of copies may be omitted. NULL: none. *inside (may be NULL)
 * receives the module that the node instantiates, or NULL; for the path "", which names no node, the root. */
LoomElement *loom_graph_find_path (const LoomGraph *graph, const char *path, LoomElement **inside);
/* The <place> of a node in the scope's layout, or NULL. */
LoomElement *loom_scope_find_place (const LoomElement *scope, const char *id);
/* "linear" if it is free, else "linear_2", "linear_3", … */
char *loom_scope_free_id (const LoomElement *scope, const char *wanted);
/* Letters, digits and underscores; after the first character also hyphens. */
gboolean loom_id_is_valid (const char *id);
/* The same for the name of a module or an argument, which has no hyphens. */
gboolean loom_name_is_valid (const char *name);
/* Splits a wire's end "block.0.y" at its first component: node id and port (NULL if omitted). Within a scope an end is
 * ID or ID.PORT. */
gboolean loom_end_split (const char *end, char **node_id, char **port);

/* ---- changes ---------------------------------------------------------- */

/* Makes a detached element tree to insert. Attributes as name, value, …, NULL. */
LoomElement *loom_element_new (LoomTag tag, ...) G_GNUC_NULL_TERMINATED;
LoomElement *loom_element_copy (const LoomElement *e); /* deep, detached, same attributes, new serials */
void loom_element_free (LoomElement *e);               /* detached elements only */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomElement, loom_element_free)
/* Sets an attribute of a detached element; in a graph, use an edit. */
void loom_element_set_detached (LoomElement *e, const char *attribute, const char *value);
void loom_element_append_detached (LoomElement *parent, LoomElement *child /* transfer full */);

/* An invertible change. Applying it to a graph returns its inverse, ready to be applied; both share the element, so
 * undo and redo keep serials. */
typedef struct _LoomEdit LoomEdit;

LoomEdit *loom_edit_insert (const LoomElement *parent, guint index, LoomElement *element /* transfer full */);
LoomEdit *loom_edit_remove (const LoomElement *element);
LoomEdit *loom_edit_set (const LoomElement *element, const char *attribute, const char *value /* NULL removes */);
LoomEdit *loom_edit_set_text (const LoomElement *element, const char *text);
/* The same change for a copy of its graph, with the same serials of inserted elements. */
LoomEdit *loom_edit_copy (const LoomEdit *edit);
void loom_edit_free (LoomEdit *edit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomEdit, loom_edit_free)

/* Applies edit (consumed) and returns its inverse (transfer full). The position of an insertion is given by serials, so
 * recorded edits can be undone in reverse order. Never fails on the graph that the edit was made for. */
LoomEdit *loom_graph_apply (LoomGraph *graph, LoomEdit *edit);

/* The position in `parent` of a new element with this tag by the file's order (doc, modules, nodes, wires, train,
 * lessons, layout, view): after the last sibling of its kind. */
guint loom_element_place_for (const LoomElement *parent, LoomTag tag);

/* Converts an edit to a line of text for Studio's journal, and back. Elements are identified by positions in the tree,
 * so a line must be written just before its edit is applied; the lines apply in order to the file as it was before the
 * first. */
char *loom_edit_to_line (const LoomGraph *graph, const LoomEdit *edit);
LoomEdit *loom_edit_from_line (const LoomGraph *graph, const char *line, GError **error);
