/* Samples of a data set for a picture of its task, as plain numbers. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

/* Which samples: of which ports and split. */
typedef struct
{
  LoomTaskViewKind kind;
  guint x, y;       /* ports; y is G_MAXUINT where there is none */
  gboolean classes; /* y is classes */
  LoomSplit split;  /* LOOM_N_SPLITS: the first that has samples */
  guint n;          /* at most */
  gboolean spread;  /* over the whole split; else those from first on */
  gint64 first;
} StudioTaskQuery;

typedef struct
{
  LoomTaskViewKind kind;
  gboolean classes;
  LoomSplit split;
  gint64 n_all[LOOM_N_SPLITS]; /* samples that there are */
  gint64 first;
  guint n;              /* samples that were read */
  guint x_size, y_size; /* numbers a sample; y_size is 0 where there is no target */
  int rank;             /* of a sample of x */
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  gboolean symbols;     /* x is whole numbers that mean something else */
  float *x, *y;         /* n × x_size, n × y_size */
  char **class_names;   /* NULL where they have none */
  char **token_names;   /* of the whole numbers in x, likewise */
  char *separator;      /* between names in a row */
  char **feature_names; /* of the columns of x; NULL where they have none */
  guint n_classes;      /* 0: y is no class */
} StudioTaskData;

/* Opens the data set of a graph that studio_figure_sample_graph() made and reads from it: slow, to be called on a
 * thread of its own. Errors: those of loom_dataset_open(); DATA where there are no samples or too many to be opened for
 * a picture. */
StudioTaskData *studio_task_data_read (const LoomGraph *alone, const StudioTaskQuery *query, GError **error);
void studio_task_data_free (StudioTaskData *data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioTaskData, studio_task_data_free)

G_END_DECLS
