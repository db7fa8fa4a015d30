/* Shared by the files of the training settings: changes of the document, and rows that show an attribute. */
#pragma once

#include "engine/loom.h"
#include "ui/training/studio-training-settings.h"

G_BEGIN_DECLS

struct _StudioTrainingSettings
{
  GtkWidget parent_instance;
  StudioDocument *document;
  GtkWidget *pane;  /* holds the two below */
  GtkWidget *fault; /* a sentence of what is wrong in <train>; hidden where nothing is */
  GtkWidget *box;
  GtkWidget *rate_note; /* below the learning rate; NULL: the method has none */
  char *shown;          /* what the rows were made for */
  GPtrArray *rows;      /* TrainingRow */
  gboolean filling;
  gboolean more_open; /* the fold of what is seldom set */
  /* The row that has the focus while rows are made anew; name NULL: none has. */
  LoomTag focus_tag;
  guint64 focus_serial;
  const char *focus_name;
};

/* ---- studio-training.c ---- */

LoomElement *studio_training_element (StudioDocument *document); /* NULL: none yet */
/* These take attributes away that the new method or course does not know, and add what it cannot do without. */
void studio_training_set_optimizer (StudioDocument *document, const char *name);
void studio_training_set_schedule (StudioDocument *document, const char *type);
/* An attribute of the only child of this kind, which is made when needed. */
void studio_training_set_in (StudioDocument *document, LoomTag tag, const char *attribute, const char *value);
/* An attribute of one of several: a group or a metric. */
void studio_training_set_at (StudioDocument *document, guint64 serial, const char *attribute, const char *value);
void studio_training_remove (StudioDocument *document, guint64 serial);
/* TRUE for what is wrong in <train> and keeps it from training. */
gboolean studio_training_is_fault (const LoomFault *fault);
/* FALSE where there is nothing that could be added. */
gboolean studio_training_add_metric (StudioDocument *document);
gboolean studio_training_add_group (StudioDocument *document);

/* Suggestions, some dozens at most; free them with g_strfreev(). */
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

/* The choices of a field; the list is made when it is opened. */
typedef char **(*TrainingSuggest) (StudioDocument *document);

/* A heading and the grid below it. */
GtkWidget *training_add_group (StudioTrainingSettings *self, const char *title);
/* A row of the grid: what the parameter's type wants. spec's strings must be static or interned. placeholder says what
 * holds where nothing is written. */
void training_add_row (StudioTrainingSettings *self, GtkWidget *grid, TrainingPlace place, const LoomParamSpec *spec,
                       const char *placeholder, TrainingSuggest suggest);
/* The row of an attribute in the engine's table of the place's element. */
void training_add_attribute (StudioTrainingSettings *self, GtkWidget *grid, TrainingPlace place, const char *name,
                             const char *placeholder, TrainingSuggest suggest);
/* An attribute that is one of another table's names, as a choice of them. */
LoomParamSpec training_choice (LoomTag tag, const char *name);
void training_fill_rows (StudioTrainingSettings *self);
/* Around making rows anew: the same row has the focus afterwards. */
void training_keep_focus (StudioTrainingSettings *self);
void training_give_focus (StudioTrainingSettings *self);
/* Puts a sign at the fields that a fault of the document is about. */
void training_mark_rows (StudioTrainingSettings *self, const LoomFaults *faults);
/* Before rows are taken away: what they still tell is not heard. */
void training_forget_rows (StudioTrainingSettings *self);

/* ---- studio-training-lists.c ---- */

void training_add_groups (StudioTrainingSettings *self, const LoomOptimizer *optimizer);
void training_add_metrics (StudioTrainingSettings *self);

G_END_DECLS
