#include "ui/start/studio-data-job.h"

#include <glib/gi18n.h>

#include "ui/scene/studio-format.h"

typedef struct
{
  char *source, **options, *kind, *name, *path;
  double scale, shift;
  char delimiter;
  int has_header;
} Job;

static void
job_free (gpointer data)
{
  Job *job = data;

  g_free (job->source);
  g_strfreev (job->options);
  g_free (job->kind);
  g_free (job->name);
  g_free (job->path);
  g_free (job);
}

static void
run (Job *job, GTaskThreadFunc function, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, data);

  g_task_set_task_data (task, job, job_free);
  g_task_set_return_on_cancel (task, FALSE);
  g_task_run_in_thread (task, function);
}

/* ---- description of a data set ----------------------------------------------- */

void
studio_data_info_free (StudioDataInfo *look)
{
  if (look == NULL)
    return;
  g_free (look->sentence);
  g_clear_pointer (&look->figure, studio_figure_unref);
  g_free (look);
}

static const LoomOp *
find_operator (void)
{
  const LoomOp *const *op = loom_ops ();

  while ((*op)->role != LOOM_ROLE_DATASET)
    op++;
  return *op;
}

static StudioFigure *
read_sample (const Job *job)
{
  g_autoptr (LoomGraph) graph = loom_graph_new (NULL), alone = NULL;
  LoomElement *node
      = loom_element_new (LOOM_TAG_NODE, "id", "data", "op", find_operator ()->name, "source", job->source, NULL);
  LoomElement *root = loom_graph_root (graph);
  g_autofree char *key = NULL;

  for (char **o = job->options; o != NULL && o[0] != NULL; o += 2)
    loom_element_set_detached (node, o[0], o[1]);
  loom_edit_free (loom_graph_apply (graph, loom_edit_insert (root, 0, node)));
  key = studio_figure_sample_key (node, NULL);
  if (key == NULL)
    return NULL;
  alone = studio_figure_sample_graph (node, NULL);
  return studio_figure_sample_read (alone, key);
}

static void
inspect_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Job *job = data;
  const LoomDatasetOptions options
      = { .get = job->options != NULL ? loom_dataset_options_from_strv : NULL, .data = job->options };
  StudioDataInfo *look = g_new0 (StudioDataInfo, 1);
  g_autoptr (GError) error = NULL;

  look->is_here = loom_dataset_describe (job->source, &options, &look->info, &error);
  if (error != NULL)
    look->sentence = g_strdup (error->message);
  if (look->is_here && !g_cancellable_is_cancelled (cancellable))
    look->figure = read_sample (job);
  g_task_return_pointer (task, look, (GDestroyNotify)studio_data_info_free);
}

void
studio_data_inspect_async (const char *source, const char *const *options, GCancellable *cancellable,
                           GAsyncReadyCallback callback, gpointer data)
{
  Job *job = g_new0 (Job, 1);

  job->source = g_strdup (source);
  job->options = g_strdupv ((char **)options);
  run (job, inspect_thread, cancellable, callback, data);
}

StudioDataInfo *
studio_data_inspect_finish (GAsyncResult *result)
{
  return g_task_propagate_pointer (G_TASK (result), NULL);
}

static void
append_count (GString *s, const char *format, gint64 n)
{
  g_autofree char *count = studio_format_count ((double)n);

  if (n > 0)
    g_string_append_printf (s, format, count);
}

char *
studio_data_info_text (const StudioDataInfo *look)
{
  GString *s = g_string_new (NULL);
  const LoomTask task = loom_template_task (&look->info);

  if (look->info.n_ports == 0)
    return g_string_free (s, FALSE);
  g_autofree char *shape = loom_shape_to_string (&look->info.port[0].type.shape);
  g_string_append (s, shape);
  if (task == LOOM_TASK_NUMBERS)
    {
      g_autofree char *target = loom_shape_to_string (&look->info.port[look->info.n_ports - 1].type.shape);

      g_string_append_printf (s, _ (" → numbers %s"), target);
    }
  else if (task == LOOM_TASK_CLASSES && look->info.n_classes > 0)
    append_count (s, _ (" → one of %s classes"), look->info.n_classes);
  else if (task == LOOM_TASK_CLASSES)
    g_string_append (s, _ (" → a class"));
  else if (task == LOOM_TASK_POSITIONS)
    g_string_append (s, _ (" → a class for each position"));
  append_count (s, _ (" · %s to train on"), look->info.n[LOOM_SPLIT_TRAIN]);
  append_count (s, _ (" · %s to test on"), look->info.n[LOOM_SPLIT_TEST]);
  return g_string_free (s, FALSE);
}

/* ---- making a graph ---------------------------------------------------------------- */

static void
make_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Job *job = data;
  g_autoptr (LoomGraph) graph = NULL;
  GError *error = NULL;

  graph = loom_template_from_data (&(LoomTemplateData){ .source = job->source,
                                                        .options = (const char *const *)job->options,
                                                        .kind = job->kind,
                                                        .name = job->name,
                                                        .scale = job->scale,
                                                        .shift = job->shift },
                                   &error);
  if (graph == NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, loom_graph_write (graph, NULL), g_free);
}

void
studio_data_make_async (const LoomTemplateData *data, GCancellable *cancellable, GAsyncReadyCallback callback,
                        gpointer user_data)
{
  Job *job = g_new0 (Job, 1);

  job->source = g_strdup (data->source);
  job->options = g_strdupv ((char **)data->options);
  job->kind = g_strdup (data->kind);
  job->name = g_strdup (data->name);
  job->scale = data->scale;
  job->shift = data->shift;
  run (job, make_thread, cancellable, callback, user_data);
}

char *
studio_data_make_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* ---- a table ------------------------------------------------------------------------- */

static void
guess_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Job *job = data;
  GError *error = NULL;
  LoomCsvGuess *guess = loom_csv_guess_file (job->path, job->delimiter, job->has_header, &error);

  if (guess == NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, guess, (GDestroyNotify)loom_csv_guess_free);
}

void
studio_csv_guess_async (const char *path, char delimiter, int has_header, GCancellable *cancellable,
                        GAsyncReadyCallback callback, gpointer data)
{
  Job *job = g_new0 (Job, 1);

  job->path = g_strdup (path);
  job->delimiter = delimiter;
  job->has_header = has_header;
  run (job, guess_thread, cancellable, callback, data);
}

LoomCsvGuess *
studio_csv_guess_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
