/* The struct of the training settings, changes of the document, and rows that show an attribute. */
#pragma once

#include "engine/loom.h"
#include "ui/training/studio-training-settings.h"

struct _StudioTrainingSettings
{
  GtkWidget parent_instance;
  StudioDocument *document;
  GtkWidget *pane;  /* contains fault and the rows */
  GtkWidget *fault; /* a sentence about a fault in <train>; hidden if there is none */
  GtkWidget *box;
  GtkWidget *ranks;     /* the field of studio_training_settings_set_ranks(); NULL: none */
  GtkWidget *rate_note; /* below the learning rate; NULL: the optimiser has none */
  char *shown;          /* what the rows were built for */
  gboolean is_waiting;  /* an idle callback shows the document again */
  GPtrArray *rows;      /* TrainingRow */
  gboolean filling;
  gboolean more_open; /* the expander with rare settings */
  /* The focused row while rows are rebuilt; name NULL: none. */
  LoomTag focus_tag;
  guint64 focus_serial;
  const char *focus_name;
};

/* ---- studio-training.c ---- */

LoomElement *studio_training_element (StudioDocument *document); /* NULL: none yet */
/* Removes attributes that the new optimiser or schedule does not have, and adds those it requires. */
void studio_training_set_optimizer (StudioDocument *document, const char *name);
void studio_training_set_schedule (StudioDocument *document, const char *type);
/* Sets an attribute of the only child of this kind, which is created if needed. */
void studio_training_set_in (StudioDocument *document, LoomTag tag, const char *attribute, const char *value);
/* Sets an attribute of one of several groups or metrics. */
void studio_training_set_at (StudioDocument *document, guint64 serial, const char *attribute, const char *value);
void studio_training_remove (StudioDocument *document, guint64 serial);
/* TRUE for a fault in <train> that prevents training. */
gboolean studio_training_is_fault (const LoomFault *fault);
/* FALSE: no metric to add. */
gboolean studio_training_add_metric (StudioDocument *document);
gboolean studio_training_add_group (StudioDocument *document);

/* Suggestions, a few dozen at most; free with g_strfreev(). */
typedef enum
{
  STUDIO_PORTS_LOSS,
  STUDIO_PORTS_INPUT,
  STUDIO_PORTS_TARGET
} StudioTrainingPorts;
char **studio_training_weight_paths (StudioDocument *document);
char **studio_training_ports (StudioDocument *document, StudioTrainingPorts which);

/* ---- studio-training-rows.c ---- */

typedef struct
{
  LoomTag tag;    /* GRAPH, TRAIN, or its child SCHEDULE, CLIP or PARALLEL */
  guint64 serial; /* not 0: this element instead */
} TrainingPlace;

/* The choices of an entry, computed when it opens. */
typedef char **(*TrainingSuggest) (StudioDocument *document);

/* Adds a heading and a grid. */
GtkWidget *training_add_group (StudioTrainingSettings *self, const char *title);
/* Adds a row with an editor for the parameter's type. spec's strings must be static or interned. placeholder: the value
 * that applies if the attribute is not set. */
void training_add_row (StudioTrainingSettings *self, GtkWidget *grid, TrainingPlace place, const LoomParamSpec *spec,
                       const char *placeholder, TrainingSuggest suggest);
/* Adds the row of an attribute from the engine's table of the place's element. */
void training_add_attribute (StudioTrainingSettings *self, GtkWidget *grid, TrainingPlace place, const char *name,
                             const char *placeholder, TrainingSuggest suggest);
/* An attribute that is a choice of another table's names. */
LoomParamSpec training_choice (LoomTag tag, const char *name);
void training_fill_rows (StudioTrainingSettings *self);
/* Call before rebuilding rows: the same row is focused again afterwards. */
void training_keep_focus (StudioTrainingSettings *self);
void training_give_focus (StudioTrainingSettings *self);
/* Puts an icon on the entries that a fault of the document is about. */
void training_mark_rows (StudioTrainingSettings *self, const LoomFaults *faults);
/* Emits "sweep". */
void training_emit_sweep (StudioTrainingSettings *self, const char *attribute, const char *const *values);
/* Call before removing rows: their late signals are ignored. */
void training_forget_rows (StudioTrainingSettings *self);

/* ---- studio-training-lists.c ---- */

void training_add_groups (StudioTrainingSettings *self, const LoomOptimizer *optimizer);
void training_add_metrics (StudioTrainingSettings *self);
