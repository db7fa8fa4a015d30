/* Shared by the files of the inspector: its fields, and rows that show a parameter. */
#pragma once

#include "engine/loom.h"
#include "ui/inspector/studio-inspector.h"

G_BEGIN_DECLS

struct _StudioInspector
{
  GtkWidget parent_instance;

  StudioDocument *document;
  GtkWidget *stack, *empty; /* pages: of the selection, and for none */
  GtkWidget *page, *box;    /* of the selection: its scroller and what scrolls in it */
  guint64 serial;           /* of the node that is shown */
  GArray *several;          /* serials of all that a value is written to, the first that one; empty: it alone */
  GtkWidget *preview;       /* what would change; NULL: nothing says it */
  GCancellable *looking;    /* for what it will say; NULL: nothing is being worked out */
  char *shown;              /* its operator or module: what the rows were built for */
  GPtrArray *rows;          /* InspectorRow */
  GtkWidget *options;       /* of a dataset: the group of its source's options; NULL for other nodes */
  char *source;             /* that they were built for */
  GPtrArray *ways;          /* in which ranks can have parts of its weights; NULL-terminated */
  char **devices;           /* what a node's device can be chosen from; NULL: not known */
  GtkWidget *name, *name_row, *name_message, *fault, *output_group, *cost_group;
  GPtrArray *output_rows, *cost_rows;
  gboolean updating;
  gint64 changed;       /* when the selection last did, of the monotonic clock */
  guint tick, building; /* the rows are of an earlier selection: those of this one are made behind the next frame */
};

typedef struct
{
  StudioInspector *inspector;
  LoomParamSpec spec; /* strings are interned or static */
  GtkWidget *row, *editor;
  GtkWidget *message, *message_row; /* what is wrong, below it; the row of that, NULL where it is in the same */
  char *wrong;                      /* with the value that is being typed; NULL: nothing */
  char *doc;
  const char *const *choices;
  gboolean pending;          /* what is typed is not set yet */
  guint late;                /* soon what it would change is said */
  GtkEventController *focus; /* that says when its entry is left; NULL: it has none */
  gboolean is_option;        /* of a dataset's source: goes when another is chosen */
} InspectorRow;

LoomElement *inspector_element (StudioInspector *self); /* of the node that is shown */
/* Under each field what is wrong with it, below the group what the engine says of the node and names no field. */
void inspector_show_fault (StudioInspector *self);
GtkWidget *inspector_add_message (GtkWidget *group, GtkWidget **message_row);
/* Says it under the row, marks that, and lets a screen reader read it with the editor, of which doc is said otherwise.
 * text NULL: nothing is wrong. */
void inspector_set_message (GtkWidget *row, GtkWidget *editor, GtkWidget *message, const char *text, gboolean is_error,
                            const char *doc);

/* The keyboard goes back to the canvas. */
void inspector_leave (StudioInspector *self);

/* Lets go of the page's rows (-node.c, as what follows). */
void inspector_clear (StudioInspector *self);
/* Fills an empty page. */
void inspector_build_node (StudioInspector *self, const StudioItem *item);
void inspector_build_annotation (StudioInspector *self, const StudioAnnotation *annotation);
void inspector_build_link (StudioInspector *self, const StudioScene *scene, const StudioLink *link);
/* Shows what the graph says of the node now, in the rows that are there. */
void inspector_refresh_node (StudioInspector *self);
/* Appends a line of text to the page. css: a class, or NULL. */
GtkWidget *inspector_add_label (StudioInspector *self, const char *text, const char *css);
/* Appends a group of rows. title may be "". */
GtkWidget *inspector_add_group (StudioInspector *self, const char *title);

/* Several nodes are selected: rows for what they have in common; FALSE where some are no nodes. */
gboolean inspector_build_several (StudioInspector *self);
void inspector_refresh_several (StudioInspector *self);
gboolean inspector_shows_several (const StudioInspector *self); /* and just those that are selected */
/* Whether they have different values. */
gboolean inspector_is_mixed (const StudioInspector *self, const char *attribute);
/* Writes a row's value, to all that are selected. */
void inspector_commit (InspectorRow *row, const char *value);
/* Sets the fault of the value that is typed into the row; NULL: none. */
void inspector_say_wrong (InspectorRow *row, const char *wrong);
/* Lets one type a value into the row's entry (-value.c). */
void inspector_add_typing (InspectorRow *row);
/* Sets what is typed and not set yet, if it is a value. */
void inspector_settle (StudioInspector *self);
/* Forgets it: the row goes. */
void inspector_drop_typing (InspectorRow *row);
/* Shows beside a formula what it comes to; text: what the file keeps. */
void inspector_show_result (InspectorRow *row, const char *text);
/* A drag across the row's field changes its number. */
void inspector_add_number_drag (InspectorRow *row);
/* Says below the fields, soon, what would change if the row had this value (NULL: none), after what a formula comes to
 * (shown; NULL: it is none). */
void inspector_preview (InspectorRow *row, const char *value, const char *shown);
void inspector_end_preview (StudioInspector *self);

/* A row of the group, with the field that the parameter's type wants. spec's strings must be static or interned. */
InspectorRow *inspector_add_param (StudioInspector *self, GtkWidget *group, const LoomParamSpec *spec);
/* A formula has the whole width below its name. */
void inspector_add_formula (StudioInspector *self, GtkWidget *group, const LoomParamSpec *spec);
/* Shows what the graph says, unless one is typing something that means the same or is no value yet. */
void inspector_refresh_row (InspectorRow *row);
void inspector_row_free (InspectorRow *row);
/* Beside the entry of a path: chooses a file. */
GtkWidget *inspector_file_button_new (InspectorRow *row);

/* All fields are of one width and aligned to the right, as the numbers in them are. */
void inspector_shape_field (GtkWidget *editor);
/* Says what a row is for, but not over the field that one is typing in. doc may be NULL. */
void inspector_explain (GtkWidget *row, const char *doc);

G_END_DECLS
