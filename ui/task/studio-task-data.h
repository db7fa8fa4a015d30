/* Reads samples of a data set as plain numbers, for the task view. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"

/* How far samples are prepared. */
typedef enum
{
  STUDIO_TASK_FORM_TRAINED,  /* as a run reads them: normalised, training samples with augmentation */
  STUDIO_TASK_FORM_PREPARED, /* normalised only, as they are evaluated */
  STUDIO_TASK_FORM_STORED    /* before normalisation, but gaps are filled */
} StudioTaskForm;

/* Selects ports, split and samples. */
typedef struct
{
  LoomTaskViewKind kind;
  guint x, y;                                   /* ports; y is G_MAXUINT: none */
  gboolean classes;                             /* y is a class index */
  gboolean boxes;                               /* y is boxes of objects, see LoomTaskView */
  guint n_others, other[LOOM_TASK_VIEW_OTHERS]; /* further ports */
  LoomSplit split;                              /* LOOM_N_SPLITS: the first split with samples */
  guint n;                                      /* maximum number of samples */
  gboolean spread;                              /* spread over the whole split; else consecutive from first on */
  gint64 first;
  const gint64 *indices; /* n samples, in place of spread and first; NULL: none */
  StudioTaskForm form;
  guint64 seed, epoch; /* of the augmentation; epoch from 0 */
} StudioTaskQuery;

/* A further port of the data. */
typedef struct
{
  char *name; /* "length" */
  guint size; /* numbers per sample */
  int rank;   /* of a sample */
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  float *value; /* [n, size] */
} StudioTaskPort;

typedef struct
{
  LoomTaskViewKind kind;
  gboolean classes, boxes;
  LoomSplit split;
  gint64 n_all[LOOM_N_SPLITS]; /* samples in each split */
  gint64 first;
  guint n;              /* samples read */
  guint x_size, y_size; /* numbers per sample; y_size 0: no target */
  int rank;             /* of a sample of x */
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  gboolean symbols; /* x is token indices */
  float *x, *y;     /* [n, x_size], [n, y_size] */
  guint n_others;
  StudioTaskPort other[LOOM_TASK_VIEW_OTHERS];
  char **class_names;   /* NULL: none */
  char **token_names;   /* names of the tokens in x; NULL: none */
  char *separator;      /* between tokens of a text */
  char **feature_names; /* of the columns of x; NULL: none */
  guint n_classes;      /* 0: y is no class */
  /* The normalisation (v − shift) · scale of each of n_parts equal parts of x, such as channels; 0: there is none. */
  guint n_parts;
  float *shift, *scale;
} StudioTaskData;

/* Opens the data set of a graph made by studio_figure_sample_graph() and reads from it, in a thread: the StudioTaskData
 * is the result of the task. Errors: those of loom_dataset_open(); DATA if there are no samples, or too many to open
 * for a view. */
void studio_task_data_return (GTask *task, const LoomGraph *alone, const StudioTaskQuery *query);
/* One sample of the same kind, of the user's own: it has no target. */
StudioTaskData *studio_task_data_alone (const StudioTaskData *like, const float *x);
void studio_task_data_free (StudioTaskData *data);
/* Normalises the numbers of one sample, x_size of them, or undoes it. */
void studio_task_data_normalise (const StudioTaskData *data, float *x, gboolean undo);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioTaskData, studio_task_data_free)
