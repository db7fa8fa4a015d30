/* The struct of StudioInspector, and functions and rows shared by its files. */
#pragma once

#include "engine/loom.h"
#include "ui/inspector/studio-inspector.h"

struct _StudioInspector
{
  GtkWidget parent_instance;

  StudioDocument *document;
  GtkWidget *stack, *empty; /* pages: for a selection, and for none */
  GtkWidget *page, *box;    /* of the selection: the scrolled window and its content */
  guint64 serial;           /* of the shown node */
  GArray *several;          /* serials of all nodes that a value is written to, the shown one first; empty: one node */
  GtkWidget *preview;       /* the preview; NULL: none */
  GCancellable *looking;    /* of the preview in progress; NULL: none */
  char *shown;              /* operator or module that the rows were built for */
  char *layout;             /* of its rows: nodes with the same one can use them in turn; NULL: it is no node */
  GPtrArray *rows;          /* InspectorRow */
  GtkWidget *options;       /* of a data set: the group of its source's options; NULL: another node */
  char *source;             /* the source that the options were built for */
  GPtrArray *ways;          /* allowed values of split; NULL-terminated if there are any */
  char **devices;           /* choices for a node's device; NULL: unknown */
  GtkWidget *name, *name_row, *name_message, *fault, *output_group, *cost_group;
  GtkWidget *more, *documentation;    /* expanders; NULL: the node has none */
  GPtrArray *output_rows, *cost_rows; /* InspectorFact */
  gboolean updating;
  gboolean is_stale;    /* the selection or the net changed while the inspector was not shown */
  gint64 changed;       /* monotonic time of the last change of the selection */
  guint tick, building; /* the rows are of an earlier selection and are rebuilt after the next frame */
};

typedef struct
{
  StudioInspector *inspector;
  LoomParamSpec spec; /* strings are interned or static */
  GtkWidget *row, *editor;
  GtkWidget *message, *message_row; /* the fault below the entry, and its row; NULL if it is in the same row */
  char *wrong;                      /* the fault of the typed value; NULL: none */
  char *doc;
  const char *const *choices;
  gboolean pending;          /* the typed value is not set yet */
  guint late;                /* timeout until the preview */
  GtkEventController *focus; /* emits a signal when the entry loses the focus; NULL: no entry */
  gboolean is_option;        /* of a data set's source: removed when another source is chosen */
} InspectorRow;

LoomElement *inspector_element (StudioInspector *self); /* the shown node */
/* Shows each fault under its parameter, and below the group those that name no parameter. */
void inspector_show_fault (StudioInspector *self);
GtkWidget *inspector_add_message (GtkWidget *group, GtkWidget **message_row);
/* Shows text under the row, marks it, and sets it as the accessible description of the editor instead of doc. text
 * NULL: no fault. */
void inspector_set_message (GtkWidget *row, GtkWidget *editor, GtkWidget *message, const char *text, gboolean is_error,
                            const char *doc);

/* Returns the focus to the canvas. */
void inspector_return_focus (StudioInspector *self);

/* Shows a value in the row that has this index, or in a new one; rows: InspectorFact (-facts.c). */
void
inspector_put_fact (GtkWidget *group, GPtrArray *rows, guint at, const char *title, const char *value, const char *doc);
void inspector_clear_facts (GtkWidget *group, GPtrArray *rows, guint from); /* removes the rows from this index on */
void inspector_fact_free (gpointer fact);

/* Removes the page's rows (this and the following: -node.c). */
void inspector_clear (StudioInspector *self);
/* Leaves the rows, which show no node any more, for the next node with the same layout. FALSE if they cannot stay. */
gboolean inspector_release_node (StudioInspector *self);
/* Shows another node in the existing rows, as new rows would. FALSE if it needs others. */
gboolean inspector_rebind_node (StudioInspector *self, const StudioItem *item);
/* Fills an empty page. */
void inspector_build_node (StudioInspector *self, const StudioItem *item);
void inspector_build_annotation (StudioInspector *self, const StudioAnnotation *annotation);
void inspector_build_link (StudioInspector *self, const StudioScene *scene, const StudioLink *link);
/* Updates the rows to the current values. */
void inspector_refresh_node (StudioInspector *self);
/* Appends a label to the page. css: a class, or NULL. */
GtkWidget *inspector_add_label (StudioInspector *self, const char *text, const char *css);
/* Appends a group of rows. title may be "". */
GtkWidget *inspector_add_group (StudioInspector *self, const char *title);

/* Builds rows for the parameters that all selected nodes share; FALSE if something selected is not a node. */
gboolean inspector_build_several (StudioInspector *self);
void inspector_refresh_several (StudioInspector *self);
gboolean
inspector_shows_several (const StudioInspector *self); /* TRUE if the rows are for exactly the selected nodes */
/* TRUE if the selected nodes have different values. */
gboolean inspector_is_mixed (const StudioInspector *self, const char *attribute);
/* Writes a row's value to all selected nodes. */
void inspector_commit (InspectorRow *row, const char *value);
/* Sets the fault of the typed value; NULL: none. */
void inspector_set_wrong (InspectorRow *row, const char *wrong);
/* Adds typing, checking and previewing to the row's entry (-value.c). */
void inspector_add_typing (InspectorRow *row);
/* Sets a typed value that is not set yet, if it is valid. */
void inspector_commit_typed (StudioInspector *self);
/* Discards it, because the row is removed. */
void inspector_drop_typing (InspectorRow *row);
/* Shows the result of a formula; text: as in the file. */
void inspector_show_result (InspectorRow *row, const char *text);
/* Lets a drag across the row's entry change its number. */
void inspector_add_number_drag (InspectorRow *row);
/* Schedules the preview of setting this value (NULL: none), after the result of a formula (shown; NULL: no formula). */
void inspector_preview (InspectorRow *row, const char *value, const char *shown);
void inspector_end_preview (StudioInspector *self);

/* Adds a row with an editor for the parameter's type. spec's strings must be static or interned. */
InspectorRow *inspector_add_param (StudioInspector *self, GtkWidget *group, const LoomParamSpec *spec);
/* Adds a formula's entry, which is below its name and has the full width. */
void inspector_add_formula (StudioInspector *self, GtkWidget *group, const LoomParamSpec *spec);
/* Shows the value in the graph, unless the user is typing the same value or an incomplete one. */
void inspector_refresh_row (InspectorRow *row);
/* The same for a row that showed another node: forgets what was typed. */
void inspector_rebind_row (InspectorRow *row);
void inspector_row_free (InspectorRow *row);
/* The button of a path's entry; chooses a file. */
GtkWidget *inspector_file_button_new (InspectorRow *row);

/* Gives all editors the same width, aligned to the right. */
void inspector_shape_field (GtkWidget *editor);
/* Sets the tooltip of a row, but not over a focused entry. doc may be NULL. */
void inspector_explain (GtkWidget *row, const char *doc);
