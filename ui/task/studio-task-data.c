#include "ui/task/studio-task-data.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/scene/studio-figure.h"

void
studio_task_data_free (StudioTaskData *data)
{
  if (data == NULL)
    return;
  g_free (data->x);
  g_free (data->y);
  for (guint i = 0; i < data->n_others; i++)
    {
      g_free (data->other[i].name);
      g_free (data->other[i].value);
    }
  g_strfreev (data->class_names);
  g_strfreev (data->token_names);
  g_free (data->separator);
  g_strfreev (data->feature_names);
  g_free (data->shift);
  g_free (data->scale);
  g_free (data);
}

static LoomSplit
pick_split (const LoomDatasetInfo *info, LoomSplit wanted)
{
  if (wanted < LOOM_N_SPLITS && info->n[wanted] > 0)
    return wanted;
  for (guint s = 0; s < LOOM_N_SPLITS; s++)
    if (info->n[s] > 0)
      return (LoomSplit)s;
  return LOOM_N_SPLITS;
}

static float *
numbers_of (const LoomTensor *t)
{
  float *value = g_new (float, MAX (t->count, 1));

  for (gint64 i = 0; i < t->count; i++)
    value[i] = (float)loom_tensor_get (t, i);
  return value;
}

static void
read_others (StudioTaskData *data, const StudioTaskQuery *query, const GPtrArray *read, const LoomDatasetInfo *info)
{
  for (guint i = 0; i < query->n_others && query->other[i] < read->len; i++)
    {
      const LoomTensor *t = read->pdata[query->other[i]];
      StudioTaskPort *port = &data->other[data->n_others++];

      port->name = g_strdup (info->port[query->other[i]].name);
      port->rank = t->rank - 1;
      memcpy (port->dim, t->dim + 1, (gsize)port->rank * sizeof *port->dim);
      port->size = (guint)(t->count / data->n);
      port->value = numbers_of (t);
    }
}

static guint
count_classes (const StudioTaskData *data, const LoomDatasetInfo *info)
{
  double most = -1;

  if (!data->classes || data->y_size == 0)
    return 0;
  for (gsize i = 0; i < (gsize)data->n * data->y_size; i++)
    most = MAX (most, data->y[i]);
  return (guint)MAX (MAX (info->n_classes, (gint64)CLAMP (most, -1, 1e6) + 1), 1);
}

/* The normalisation: one number for each channel, or for each column. */
static void
read_normalisation (const LoomDataset *dataset, StudioTaskData *data)
{
  g_auto (LoomPreparation) how = { 0 };

  loom_dataset_preparation (dataset, &how);
  const LoomTensor *any = how.shift != NULL ? how.shift : how.scale;
  if (any == NULL || any->count == 0 || data->x_size % any->count != 0)
    return;
  data->n_parts = (guint)any->count;
  data->shift = g_new0 (float, data->n_parts);
  data->scale = g_new0 (float, data->n_parts);
  for (guint k = 0; k < data->n_parts; k++)
    {
      data->shift[k] = how.shift != NULL ? (float)loom_tensor_get (how.shift, k) : 0;
      data->scale[k] = how.scale != NULL ? (float)loom_tensor_get (how.scale, k) : 1;
    }
}

void
studio_task_data_normalise (const StudioTaskData *data, float *x, gboolean undo)
{
  const guint each = data->n_parts > 0 ? data->x_size / data->n_parts : 0;

  for (guint i = 0; each > 0 && i < data->x_size; i++)
    {
      const float shift = data->shift[i / each], scale = data->scale[i / each];

      x[i] = undo ? x[i] / scale + shift : (x[i] - shift) * scale;
    }
}

static gint64
index_of (const StudioTaskQuery *query, gint64 all, guint n, gint64 first, guint i)
{
  if (query->indices != NULL)
    return CLAMP (query->indices[i], 0, all - 1);
  return query->spread ? (gint64)((double)i * (double)all / n) : first + i;
}

static StudioTaskData *
read_from (const LoomDataset *dataset, const StudioTaskQuery *query, GError **error)
{
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  const LoomSplit split = pick_split (info, query->split);

  if (split == LOOM_N_SPLITS || query->x >= info->n_ports)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA, _ ("The data set has no samples."));
      return NULL;
    }
  const guint n = (guint)(query->indices != NULL ? (gint64)query->n : MIN ((gint64)query->n, info->n[split]));
  const gint64 first = query->spread ? 0 : CLAMP (query->first, 0, info->n[split] - n);
  g_autofree gint64 *index = g_new (gint64, n);
  for (guint i = 0; i < n; i++)
    index[i] = index_of (query, info->n[split], n, first, i);
  g_autoptr (GPtrArray) read
      = query->form == STUDIO_TASK_FORM_TRAINED
            ? loom_dataset_read_new_augmented (dataset, split, query->seed, query->epoch, index, n, error)
            : loom_dataset_read_new (dataset, split, index, n, error);
  if (read == NULL)
    return NULL;
  const LoomTensor *x = read->pdata[query->x], *y = query->y < read->len ? read->pdata[query->y] : NULL;
  StudioTaskData *data = g_new0 (StudioTaskData, 1);
  data->kind = query->kind;
  data->classes = query->classes;
  data->boxes = query->boxes && y != NULL;
  data->split = split;
  memcpy (data->n_all, info->n, sizeof data->n_all);
  data->first = first;
  data->n = n;
  data->rank = x->rank - 1;
  memcpy (data->dim, x->dim + 1, (gsize)data->rank * sizeof *data->dim);
  data->symbols = !loom_dtype_is_float (x->dtype);
  data->x = numbers_of (x);
  data->x_size = (guint)(x->count / n);
  data->y = y != NULL ? numbers_of (y) : NULL;
  data->y_size = y != NULL ? (guint)(y->count / n) : 0;
  read_others (data, query, read, info);
  data->class_names = g_strdupv ((char **)loom_dataset_class_names (dataset));
  data->token_names = g_strdupv ((char **)loom_dataset_token_names (dataset));
  data->separator = g_strdup (loom_dataset_separator (dataset));
  data->feature_names = g_strdupv ((char **)loom_dataset_feature_names (dataset));
  data->n_classes = data->boxes ? (guint)info->n_classes : count_classes (data, info);
  if (query->x == 0 && !data->symbols)
    read_normalisation (dataset, data);
  for (guint i = 0; query->form == STUDIO_TASK_FORM_STORED && i < n; i++)
    studio_task_data_normalise (data, data->x + (gsize)i * data->x_size, TRUE);
  return data;
}

/* Losses and metrics ignore a target of −100, and a box of class −1 is none. */
#define NO_TARGET -100.f
#define NO_BOX    -1.f

StudioTaskData *
studio_task_data_alone (const StudioTaskData *like, const float *x)
{
  StudioTaskData *data = g_new0 (StudioTaskData, 1);

  data->kind = like->kind;
  data->classes = like->classes;
  data->boxes = like->boxes;
  data->split = like->split;
  memcpy (data->n_all, like->n_all, sizeof data->n_all);
  data->n = 1;
  data->x_size = like->x_size;
  data->y_size = like->y_size;
  data->rank = like->rank;
  memcpy (data->dim, like->dim, sizeof data->dim);
  data->x = g_memdup2 (x, like->x_size * sizeof *x);
  data->y = g_new (float, MAX (like->y_size, 1));
  for (guint i = 0; i < like->y_size; i++)
    data->y[i] = like->boxes ? NO_BOX : NO_TARGET;
  data->class_names = g_strdupv (like->class_names);
  data->n_classes = like->n_classes;
  return data;
}

static StudioTaskData *
read_samples (const LoomGraph *alone, const StudioTaskQuery *query, GError **error)
{
  const char *refusal = studio_figure_sample_refusal (alone);

  if (refusal != NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA, refusal);
      return NULL;
    }
  g_autoptr (LoomNet) net = loom_net_new (alone, NULL, NULL);
  g_autoptr (LoomDataset) dataset = loom_net_open_dataset (net, 0, loom_graph_get_folder (alone), error);
  return dataset ? read_from (dataset, query, error) : NULL;
}

void
studio_task_data_return (GTask *task, const LoomGraph *alone, const StudioTaskQuery *query)
{
  GError *error = NULL;
  StudioTaskData *samples = read_samples (alone, query, &error);

  if (samples != NULL)
    g_task_return_pointer (task, samples, (GDestroyNotify)studio_task_data_free);
  else
    g_task_return_error (task, error);
}
