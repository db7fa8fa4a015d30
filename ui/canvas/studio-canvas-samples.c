/* Samples of data sets on their cards: read on a thread once a graph shows one, because a data set may be large, on a
 * slow disk, or not there. */
#include "ui/canvas/studio-canvas-private.h"

/* The window comes first, and a name that is being typed is no data set yet. */
#define WAIT_MS 400

typedef struct
{
  LoomGraph *alone;
  char *key;
} Job;

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

/* The task has no canvas: a thread that let go of the last reference would take a widget apart. */
static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  GWeakRef *canvas = data;
  g_autoptr (StudioCanvas) self = g_weak_ref_get (canvas);
  const Job *job = g_task_get_task_data (G_TASK (result));
  StudioFigure *figure = g_task_propagate_pointer (G_TASK (result), NULL);

  g_weak_ref_clear (canvas);
  g_free (canvas);
  if (self != NULL)
    g_hash_table_remove (self->reading, job->key);
  if (figure != NULL && self != NULL && self->document != NULL)
    {
      StudioScene *scene = studio_canvas_scene (self);

      for (guint i = 0; i < scene->n_items; i++)
        {
          StudioItem *item = &scene->item[i];

          if (item->figure != NULL || g_strcmp0 (item->sample_key, job->key) != 0)
            continue;
          item->figure = studio_figure_ref (figure);
          studio_node_update (studio_canvas_node (self, item->serial), scene, i,
                              studio_document_is_selected (self->document, item->serial));
        }
    }
  g_clear_pointer (&figure, studio_figure_unref);
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
studio_canvas_read_samples (StudioCanvas *self, const StudioScene *scene)
{
  LoomGraph *graph = studio_document_get_graph (self->document);

  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      g_autoptr (StudioFigure) known = NULL;
      const LoomElement *node;
      GWeakRef *canvas;
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
      canvas = g_new0 (GWeakRef, 1);
      g_weak_ref_init (canvas, self);
      task = g_task_new (NULL, NULL, read_cb, canvas);
      g_task_set_task_data (task, job, job_free);
      g_timeout_add (WAIT_MS, start_cb, task);
    }
}
