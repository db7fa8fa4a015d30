/* Implements studio-run-queue.h. */
#include "ui/runs/studio-run-queue.h"

struct _StudioRunQueue
{
  GObject parent_instance;
  GPtrArray *runs; /* StudioQueuedRun */
};

G_DEFINE_FINAL_TYPE (StudioRunQueue, studio_run_queue, G_TYPE_OBJECT)

static guint changed_signal;

void
studio_queued_run_free (StudioQueuedRun *run)
{
  g_free (run->xml);
  g_free (run->folder);
  g_free (run->title);
  g_free (run->name);
  g_free (run->sweep);
  g_free (run);
}

static void
run_queue_finalize (GObject *object)
{
  g_ptr_array_unref (STUDIO_RUN_QUEUE (object)->runs);
  G_OBJECT_CLASS (studio_run_queue_parent_class)->finalize (object);
}

static void
studio_run_queue_class_init (StudioRunQueueClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = run_queue_finalize;
  changed_signal
      = g_signal_new ("changed", STUDIO_TYPE_RUN_QUEUE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
studio_run_queue_init (StudioRunQueue *self)
{
  self->runs = g_ptr_array_new_with_free_func ((GDestroyNotify)studio_queued_run_free);
}

StudioRunQueue *
studio_run_queue_new (void)
{
  return g_object_new (STUDIO_TYPE_RUN_QUEUE, NULL);
}

static void
append (StudioRunQueue *self, const LoomGraph *graph, const char *title, const char *name, const char *sweep)
{
  StudioQueuedRun *run = g_new0 (StudioQueuedRun, 1);

  run->xml = loom_graph_write (graph, NULL);
  run->folder = g_strdup (loom_graph_get_folder (graph));
  run->title = g_strdup (title);
  run->name = g_strdup (name);
  run->sweep = g_strdup (sweep);
  g_ptr_array_add (self->runs, run);
}

void
studio_run_queue_add (StudioRunQueue *self, const LoomGraph *graph, const char *title, const char *name,
                      const char *sweep)
{
  append (self, graph, title, name, sweep);
  g_signal_emit (self, changed_signal, 0);
}

void
studio_run_queue_add_sweep (StudioRunQueue *self, const LoomGraph *graph, const char *title, const char *attribute,
                            const char *const *values)
{
  g_autofree char *all = g_strjoinv (", ", (char **)values), *sweep = g_strdup_printf ("%s %s", attribute, all);
  g_autoptr (LoomGraph) changed = loom_graph_copy (graph);
  LoomElement *train = loom_element_find (loom_graph_root (changed), LOOM_TAG_TRAIN);

  g_return_if_fail (train != NULL);
  loom_graph_set_folder (changed, loom_graph_get_folder (graph));
  for (guint i = 0; values[i] != NULL; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s %s", attribute, values[i]);
      g_autoptr (LoomEdit) inverse
          = loom_graph_apply (changed, loom_edit_set (train, g_intern_string (attribute), values[i]));

      append (self, changed, title, name, sweep);
    }
  g_signal_emit (self, changed_signal, 0);
}

guint
studio_run_queue_n (StudioRunQueue *self)
{
  return self->runs->len;
}

const StudioQueuedRun *
studio_run_queue_get (StudioRunQueue *self, guint i)
{
  return i < self->runs->len ? self->runs->pdata[i] : NULL;
}

void
studio_run_queue_remove (StudioRunQueue *self, guint i)
{
  if (i >= self->runs->len)
    return;
  g_ptr_array_remove_index (self->runs, i);
  g_signal_emit (self, changed_signal, 0);
}

StudioQueuedRun *
studio_run_queue_take (StudioRunQueue *self)
{
  StudioQueuedRun *first;

  if (self->runs->len == 0)
    return NULL;
  first = g_ptr_array_steal_index (self->runs, 0);
  g_signal_emit (self, changed_signal, 0);
  return first;
}

void
studio_run_queue_put_back (StudioRunQueue *self, StudioQueuedRun *run)
{
  g_ptr_array_insert (self->runs, 0, run);
  g_signal_emit (self, changed_signal, 0);
}
