/* Implements studio-run-queue.h. */
#include "ui/runs/studio-run-queue.h"

#include "ui/charts/studio-type.h"

#define CALM_MS 100 /* after a change of the folder */

struct _StudioRunQueue
{
  GObject parent_instance;
  char *folder, *document; /* NULL: none */
  gboolean is_read;        /* the files of this document */
  GPtrArray *runs;         /* LoomQueuedRun */
  GFileMonitor *monitor;   /* of the folder: other programs add and take runs, too; NULL: none */
  guint reading;           /* timer after a change; 0: none */
};

G_DEFINE_FINAL_TYPE (StudioRunQueue, studio_run_queue, G_TYPE_OBJECT)

static guint changed_signal, problem_signal;

static void
run_queue_finalize (GObject *object)
{
  StudioRunQueue *self = STUDIO_RUN_QUEUE (object);

  g_clear_handle_id (&self->reading, g_source_remove);
  if (self->monitor != NULL)
    g_signal_handlers_disconnect_by_data (self->monitor, self);
  g_clear_object (&self->monitor);
  g_ptr_array_unref (self->runs);
  g_free (self->folder);
  g_free (self->document);
  G_OBJECT_CLASS (studio_run_queue_parent_class)->finalize (object);
}

static void
studio_run_queue_class_init (StudioRunQueueClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = run_queue_finalize;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_RUN_QUEUE, 0);
  problem_signal = studio_signal_new ("problem", STUDIO_TYPE_RUN_QUEUE, 1, G_TYPE_STRING);
}

static void
studio_run_queue_init (StudioRunQueue *self)
{
  self->runs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_queued_run_free);
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

/* Takes the run of this number out of the list; NULL: there is none. */
static LoomQueuedRun *
steal (StudioRunQueue *self, gint64 number)
{
  for (guint i = 0; i < self->runs->len; i++)
    if (((const LoomQueuedRun *)self->runs->pdata[i])->number == number)
      return g_ptr_array_steal_index (self->runs, i);
  return NULL;
}

/* TRUE: it has a file if it still waits. */
static gboolean
has_file (StudioRunQueue *self, const LoomQueuedRun *run)
{
  return run->number != 0 && g_strcmp0 (run->document, self->document) == 0;
}

/* Makes the list that of the files, in their order, and then the runs that have none, or that wait for the path that
 * the document had before. */
static void
read_files (StudioRunQueue *self)
{
  g_autoptr (GPtrArray) found = loom_run_queue_read (self->folder, self->document);
  GPtrArray *runs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_queued_run_free);
  gboolean differs = FALSE;
  LoomQueuedRun *run;

  for (guint i = 0; i < found->len; i++)
    {
      const gint64 number = ((const LoomQueuedRun *)found->pdata[i])->number;
      const LoomQueuedRun *next = self->runs->len > 0 ? self->runs->pdata[0] : NULL;

      differs = differs || next == NULL || next->number != number;
      run = steal (self, number);
      g_ptr_array_add (runs, run != NULL ? run : g_steal_pointer (&found->pdata[i]));
    }
  while (self->runs->len > 0)
    {
      run = g_ptr_array_steal_index (self->runs, 0);
      differs = differs || has_file (self, run);
      if (has_file (self, run))
        loom_queued_run_free (run);
      else
        g_ptr_array_add (runs, run);
    }
  g_ptr_array_unref (self->runs);
  self->runs = runs;
  if (differs)
    g_signal_emit (self, changed_signal, 0);
}

static gboolean
read_cb (gpointer data)
{
  StudioRunQueue *self = data;

  self->reading = 0;
  read_files (self);
  return G_SOURCE_REMOVE;
}

/* A sweep adds many files at once. */
static void
folder_changed_cb (StudioRunQueue *self)
{
  if (self->reading == 0 && self->document != NULL)
    self->reading = g_timeout_add (CALM_MS, read_cb, self);
}

StudioRunQueue *
studio_run_queue_new (const char *folder)
{
  StudioRunQueue *self = g_object_new (STUDIO_TYPE_RUN_QUEUE, NULL);
  g_autoptr (GFile) file = folder != NULL ? g_file_new_for_path (folder) : NULL;

  self->folder = g_strdup (folder);
  self->monitor = file != NULL ? g_file_monitor_directory (file, G_FILE_MONITOR_NONE, NULL, NULL) : NULL;
  if (self->monitor != NULL)
    g_signal_connect_swapped (self->monitor, "changed", G_CALLBACK (folder_changed_cb), self);
  return self;
}

void
studio_run_queue_set_document (StudioRunQueue *self, const char *path)
{
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
  read_files (self);
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
