/* Implements studio-run-queue.h. */
#include "ui/runs/studio-run-queue.h"

struct _StudioRunQueue
{
  GObject parent_instance;
  char *folder, *document; /* NULL: none */
  gboolean is_read;        /* the files of this document */
  GPtrArray *runs;         /* LoomQueuedRun */
};

G_DEFINE_FINAL_TYPE (StudioRunQueue, studio_run_queue, G_TYPE_OBJECT)

static guint changed_signal, problem_signal;

static void
run_queue_finalize (GObject *object)
{
  StudioRunQueue *self = STUDIO_RUN_QUEUE (object);

  g_ptr_array_unref (self->runs);
  g_free (self->folder);
  g_free (self->document);
  G_OBJECT_CLASS (studio_run_queue_parent_class)->finalize (object);
}

static void
studio_run_queue_class_init (StudioRunQueueClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = run_queue_finalize;
  changed_signal
      = g_signal_new ("changed", STUDIO_TYPE_RUN_QUEUE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  problem_signal = g_signal_new ("problem", STUDIO_TYPE_RUN_QUEUE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,
                                 1, G_TYPE_STRING);
}

static void
studio_run_queue_init (StudioRunQueue *self)
{
  self->runs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_queued_run_free);
}

StudioRunQueue *
studio_run_queue_new (const char *folder)
{
  StudioRunQueue *self = g_object_new (STUDIO_TYPE_RUN_QUEUE, NULL);

  self->folder = g_strdup (folder);
  return self;
}

/* A run of an untitled document has no file: it would be found by each untitled document. */
static void
write_run (StudioRunQueue *self, LoomQueuedRun *run)
{
  g_autoptr (GError) error = NULL;

  if (run->document == NULL)
    run->document = g_strdup (self->document);
  if (self->folder != NULL && run->document != NULL && !loom_run_queue_add (self->folder, run, &error))
    {
      run->number = 0;
      g_signal_emit (self, problem_signal, 0, error->message);
    }
}

/* TRUE if the run is still this queue's: another Studio may have trained it. */
static gboolean
claim (StudioRunQueue *self, LoomQueuedRun *run)
{
  return run->number == 0 || loom_run_queue_remove (self->folder, run);
}

static gboolean
has_number (StudioRunQueue *self, gint64 number)
{
  for (guint i = 0; i < self->runs->len; i++)
    if (((const LoomQueuedRun *)self->runs->pdata[i])->number == number)
      return TRUE;
  return FALSE;
}

void
studio_run_queue_set_document (StudioRunQueue *self, const char *path)
{
  g_autoptr (GPtrArray) found = NULL;

  if (self->is_read && g_strcmp0 (self->document, path) == 0)
    return;
  g_free (self->document);
  self->document = g_strdup (path);
  self->is_read = TRUE;
  if (self->folder == NULL || path == NULL)
    return;
  for (guint i = 0; i < self->runs->len; i++)
    if (((const LoomQueuedRun *)self->runs->pdata[i])->document == NULL)
      write_run (self, self->runs->pdata[i]);
  found = loom_run_queue_read (self->folder, path);
  g_ptr_array_set_free_func (found, NULL);
  for (guint i = 0; i < found->len; i++)
    {
      LoomQueuedRun *run = found->pdata[i];

      if (has_number (self, run->number))
        loom_queued_run_free (run);
      else
        g_ptr_array_add (self->runs, run);
    }
  g_signal_emit (self, changed_signal, 0);
}

static void
append (StudioRunQueue *self, const LoomGraph *graph, const char *title, const char *name, const char *sweep)
{
  LoomQueuedRun *run = g_new0 (LoomQueuedRun, 1);

  run->xml = loom_graph_write (graph, NULL);
  run->folder = g_strdup (loom_graph_get_folder (graph));
  run->title = g_strdup (title);
  run->name = g_strdup (name);
  run->sweep = g_strdup (sweep);
  write_run (self, run);
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
studio_run_queue_add_sweep (StudioRunQueue *self, const LoomGraph *graph, const char *title, guint64 serial,
                            const char *attribute, const char *const *values)
{
  g_autoptr (LoomGraph) changed = loom_graph_copy (graph);
  LoomElement *e = serial != 0 ? loom_graph_by_serial (changed, serial)
                               : loom_element_find (loom_graph_root (changed), LOOM_TAG_TRAIN);
  const char *id = serial != 0 && e != NULL ? loom_element_get (e, "id") : NULL;
  g_autofree char *what = id != NULL ? g_strdup_printf ("%s.%s", id, attribute) : g_strdup (attribute);
  g_autofree char *all = g_strjoinv (", ", (char **)values), *sweep = g_strdup_printf ("%s %s", what, all);

  g_return_if_fail (e != NULL);
  loom_graph_set_folder (changed, loom_graph_get_folder (graph));
  for (guint i = 0; values[i] != NULL; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s %s", what, values[i]);
      g_autoptr (LoomEdit) inverse
          = loom_graph_apply (changed, loom_edit_set (e, g_intern_string (attribute), values[i]));

      append (self, changed, title, name, sweep);
    }
  g_signal_emit (self, changed_signal, 0);
}

guint
studio_run_queue_n (StudioRunQueue *self)
{
  return self->runs->len;
}

guint
studio_run_queue_n_unsaved (StudioRunQueue *self)
{
  guint n = 0;

  for (guint i = 0; i < self->runs->len; i++)
    n += ((const LoomQueuedRun *)self->runs->pdata[i])->number == 0;
  return n;
}

const LoomQueuedRun *
studio_run_queue_get (StudioRunQueue *self, guint i)
{
  return i < self->runs->len ? self->runs->pdata[i] : NULL;
}

void
studio_run_queue_remove (StudioRunQueue *self, guint i)
{
  if (i >= self->runs->len)
    return;
  claim (self, self->runs->pdata[i]);
  g_ptr_array_remove_index (self->runs, i);
  g_signal_emit (self, changed_signal, 0);
}

LoomQueuedRun *
studio_run_queue_take (StudioRunQueue *self)
{
  g_autoptr (LoomQueuedRun) first = NULL;

  while (first == NULL && self->runs->len > 0)
    {
      first = g_ptr_array_steal_index (self->runs, 0);
      if (!claim (self, first))
        g_clear_pointer (&first, loom_queued_run_free);
      g_signal_emit (self, changed_signal, 0);
    }
  return g_steal_pointer (&first);
}

void
studio_run_queue_put_back (StudioRunQueue *self, LoomQueuedRun *run)
{
  write_run (self, run);
  g_ptr_array_insert (self->runs, 0, run);
  g_signal_emit (self, changed_signal, 0);
}
