#include "ui/canvas/canvas-samples.h"

#include <gio/gio.h>

/* The window appears first, and a name that is being typed is no data set yet. */
#define WAIT_MS 400

struct _CanvasSamples
{
  CanvasSampleRead read; /* NULL: freed, while jobs still hold a reference */
  gpointer data;
  GHashTable *reading; /* keys */
};

typedef struct
{
  LoomGraph *alone;
  char *key;
} Job;

CanvasSamples *
canvas_samples_new (CanvasSampleRead read, gpointer data)
{
  CanvasSamples *self = g_rc_box_new0 (CanvasSamples);

  self->read = read;
  self->data = data;
  self->reading = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

static void
clear (gpointer data)
{
  CanvasSamples *self = data;

  g_hash_table_unref (self->reading);
}

static void
unref (CanvasSamples *self)
{
  g_rc_box_release_full (self, clear);
}

void
canvas_samples_free (CanvasSamples *self)
{
  self->read = NULL;
  unref (self);
}

guint
canvas_samples_n_reading (const CanvasSamples *self)
{
  return g_hash_table_size (self->reading);
}

static void
job_free (gpointer data)
{
  Job *job = data;

  loom_graph_unref (job->alone);
  g_free (job->key);
  g_free (job);
}

static void
read_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Job *job = data;

  g_task_return_pointer (task, studio_figure_sample_read (job->alone, job->key), (GDestroyNotify)studio_figure_unref);
}

static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  CanvasSamples *self = data;
  const Job *job = g_task_get_task_data (G_TASK (result));
  StudioFigure *figure = g_task_propagate_pointer (G_TASK (result), NULL);

  g_hash_table_remove (self->reading, job->key);
  if (figure != NULL && self->read != NULL)
    self->read (job->key, figure, self->data);
  g_clear_pointer (&figure, studio_figure_unref);
  unref (self);
}

static gboolean
start_cb (gpointer data)
{
  GTask *task = data;

  g_task_run_in_thread (task, read_thread);
  g_object_unref (task);
  return G_SOURCE_REMOVE;
}

void
canvas_samples_read (CanvasSamples *self, const StudioScene *scene, LoomGraph *graph)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      g_autoptr (StudioFigure) known = NULL;
      const LoomElement *node;
      GTask *task;
      Job *job;

      if (item->sample_key == NULL || item->figure != NULL || g_hash_table_contains (self->reading, item->sample_key)
          || studio_figure_sample_peek (item->sample_key, &known))
        continue;
      node = loom_graph_by_serial (graph, item->serial);
      if (node == NULL)
        continue;
      g_hash_table_add (self->reading, g_strdup (item->sample_key));
      job = g_new0 (Job, 1);
      job->alone = studio_figure_sample_graph (node, graph);
      job->key = g_strdup (item->sample_key);
      task = g_task_new (NULL, NULL, read_cb, g_rc_box_acquire (self));
      g_task_set_task_data (task, job, job_free);
      g_timeout_add (WAIT_MS, start_cb, task);
    }
}
