/* Implements sample-source.h. */
#include "ui/evaluate/sample-source.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/scene/studio-figure.h"

static gboolean
init (SampleSource *self, LoomGraph *graph, LoomNet *net, char **why)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomTaskView) task = loom_task_view_new (net, spec);
  LoomElement *node
      = task->data_path != NULL ? loom_graph_by_serial (graph, loom_net_node (net, task->data)->serial) : NULL;

  *self = (SampleSource){ 0 };
  *why = NULL;
  if (task->kind == LOOM_TASK_VIEW_NONE || node == NULL)
    {
      *why = g_strdup (task->why != NULL ? task->why : _ ("The data set cannot be opened on its own."));
      return FALSE;
    }
  self->alone = studio_figure_sample_graph (node, graph);
  self->query.kind = task->kind;
  self->query.x = task->x;
  self->query.y = task->y;
  self->query.classes = task->classes;
  self->query.boxes = task->boxes;
  self->query.n = studio_task_kind_samples (task->kind, &self->query.spread);
  self->x = loom_net_node (net, task->data)->output[task->x];
  self->query.n_others = task->n_others;
  memcpy (self->query.other, task->other, sizeof task->other);
  self->writes = task->writes;
  self->data_path = g_strdup (task->data_path);
  self->seed = spec != NULL ? spec->seed : 0;
  return TRUE;
}

gboolean
sample_source_init (SampleSource *self, StudioDocument *document, char **why)
{
  return init (self, studio_document_get_graph (document), studio_document_get_net (document), why);
}

gboolean
sample_source_init_run (SampleSource *self, StudioDocument *document, StudioRun *run, char **why)
{
  const char *xml = studio_run_get_graph (run);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = xml != NULL && studio_document_run_changes (document) > 0
                                    ? loom_graph_read_data (xml, strlen (xml), "run", faults, NULL)
                                    : NULL;

  if (graph == NULL)
    return sample_source_init (self, document, why);
  loom_graph_set_folder (graph, loom_graph_get_folder (studio_document_get_graph (document)));
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  return init (self, graph, net, why);
}

void
sample_source_clear (SampleSource *self)
{
  g_clear_pointer (&self->alone, loom_graph_unref);
  g_clear_pointer (&self->data_path, g_free);
}

typedef struct
{
  GWeakRef owner;
  const guint *serial; /* valid while the owner is */
  guint wanted;
  SamplesRead read;
  LoomGraph *alone;
  StudioTaskQuery query;
  gint64 *indices;
} Read;

static void
read_free (gpointer data)
{
  Read *read = data;

  g_weak_ref_clear (&read->owner);
  loom_graph_unref (read->alone);
  g_free (read->indices);
  g_free (read);
}

static void
read_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Read *read = data;

  studio_task_data_return (task, read->alone, &read->query);
}

static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Read *read = g_task_get_task_data (G_TASK (result));
  g_autoptr (GObject) owner = g_weak_ref_get (&read->owner);
  g_autoptr (GError) error = NULL;
  g_autoptr (StudioTaskData) samples = g_task_propagate_pointer (G_TASK (result), &error);

  if (owner != NULL && *read->serial == read->wanted)
    read->read (g_steal_pointer (&samples), error != NULL ? error->message : NULL, owner);
}

void
sample_source_read (const SampleSource *source, const gint64 *indices, guint n, GObject *owner, const guint *serial,
                    SamplesRead func)
{
  Read *read = g_new0 (Read, 1);
  /* The task has no source object: a thread must not hold the last reference. */
  g_autoptr (GTask) task = g_task_new (NULL, NULL, read_cb, NULL);

  g_weak_ref_init (&read->owner, owner);
  read->serial = serial;
  read->wanted = *serial;
  read->read = func;
  read->alone = loom_graph_ref (source->alone);
  read->query = source->query;
  if (indices != NULL)
    {
      read->indices = g_memdup2 (indices, n * sizeof *indices);
      read->query.indices = read->indices;
      read->query.n = n;
    }
  g_task_set_task_data (task, read, read_free);
  g_task_run_in_thread (task, read_thread);
}
