/* The model of the task view: samples, predictions, and the user's choices of split, sample and columns. It also makes
 * the views, because it works only while one is visible.
 *
 * Samples are read in a thread. Predictions are requested from the worker, with one request in flight and at most four
 * a second, spaced so that the requests, whose duration the worker reports, take at most SHARE of the training time. */
#include "ui/run/studio-task.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-type.h"
#include "ui/scene/studio-figure.h"

#define INTERVAL_US  (G_USEC_PER_SEC / 4)
#define MAX_FRACTION 0.005 /* of the training time that requests may take */
#define NEWS_MS      150   /* in which a run that trains fast reports the next steps */
#define LEAST_GRID   24
#define SLOW_US      (G_USEC_PER_SEC * 3)

struct _StudioTask
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  StudioTaskPicture *picture;
  LoomTaskView *task; /* of the last net analysed; NULL: none yet */
  GPtrArray *views;   /* not owned */
  guint n_mapped;
  StudioTaskQuery query;
  char *key;     /* identifies the samples that are shown or being read */
  char *message; /* the reason why there are no samples */
  char *refusal; /* the reason why the run makes no predictions */
  guint reading; /* the number of the newest read; results of older ones are ignored */
  gboolean is_stale, in_flight, wanted;
  gboolean is_fresh;                /* predictions have come that are not shown yet */
  gint64 next_request;              /* monotonic time */
  gint64 paced_samples, paced_step; /* of the last reply */
  guint timer, show_timer;
};

G_DEFINE_FINAL_TYPE (StudioTask, studio_task, G_TYPE_OBJECT)

static guint changed_signal;

static void pull (StudioTask *self);

static void
notify_changed (StudioTask *self)
{
  self->is_fresh = FALSE;
  g_clear_handle_id (&self->show_timer, g_source_remove);
  for (guint i = 0; i < self->views->len; i++)
    studio_task_view_set_picture (self->views->pdata[i], self->picture);
  g_signal_emit (self, changed_signal, 0);
}

static void
set_message (StudioTask *self, const char *message)
{
  char *copy = g_strdup (message);
  g_free (self->message);
  self->message = copy;
}

/* Sets the reason why the run makes no predictions; NULL: none. */
static void
set_refusal (StudioTask *self, const char *why)
{
  if (g_strcmp0 (self->refusal, why) == 0)
    return;
  g_free (self->refusal);
  self->refusal = g_strdup (why);
  notify_changed (self);
}

/* ---- samples ---------------------------------------------------------------- */

typedef struct
{
  LoomGraph *alone;
  StudioTaskQuery query;
  guint reading;
} Read;

static void
read_free (gpointer data)
{
  Read *read = data;
  loom_graph_unref (read->alone);
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
  g_autofree GWeakRef *ref = data;
  g_autoptr (StudioTask) self = g_weak_ref_get (ref);
  g_autoptr (GError) error = NULL;
  const Read *read = g_task_get_task_data (G_TASK (result));
  g_autoptr (StudioTaskData) samples = g_task_propagate_pointer (G_TASK (result), &error);

  g_weak_ref_clear (ref);
  if (self == NULL || read->reading != self->reading)
    return;
  set_message (self, samples == NULL ? error->message : NULL);
  studio_task_picture_set_data (self->picture, g_steal_pointer (&samples));
  /* Clears the key, so that a data set that becomes available later is read. */
  if (error != NULL)
    g_clear_pointer (&self->key, g_free);
  notify_changed (self);
  pull (self);
}

static void
read_samples (StudioTask *self, const LoomElement *node)
{
  GWeakRef *ref = g_new0 (GWeakRef, 1);
  Read *read = g_new0 (Read, 1);
  read->alone = studio_figure_sample_graph (node, studio_document_get_graph (self->document));
  read->query = self->query;
  read->reading = ++self->reading;
  g_weak_ref_init (ref, self);
  /* The task has no source object: a thread must not hold the last reference. */
  g_autoptr (GTask) task = g_task_new (NULL, NULL, read_cb, ref);
  g_task_set_task_data (task, read, read_free);
  g_task_run_in_thread (task, read_thread);
}

static void
show_none (StudioTask *self, const char *why)
{
  self->reading++;
  g_clear_pointer (&self->key, g_free);
  studio_task_picture_set_data (self->picture, NULL);
  set_message (self, why);
  notify_changed (self);
}

static void
describe_task (StudioTask *self)
{
  LoomNet *net = studio_document_get_net (self->document);
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);

  loom_task_view_free (self->task);
  self->task = loom_task_view_new (net, spec);
}

/* Reads the samples of the current graph if a view is mapped. */
static void
sync_samples (StudioTask *self)
{
  if (self->n_mapped == 0)
    {
      self->is_stale = TRUE;
      return;
    }
  self->is_stale = FALSE;
  describe_task (self);
  if (self->task->kind == LOOM_TASK_VIEW_NONE)
    {
      show_none (self, self->task->why);
      return;
    }
  LoomNet *net = studio_document_get_net (self->document);
  LoomElement *node = loom_graph_by_serial (studio_document_get_graph (self->document),
                                            loom_net_node (net, self->task->data)->serial);
  g_autofree char *options
      = node != NULL
            ? studio_figure_sample_key (node, loom_graph_get_folder (studio_document_get_graph (self->document)))
            : NULL;
  if (options == NULL)
    {
      show_none (self, _ ("The data set cannot be opened on its own."));
      return;
    }
  self->query.kind = self->task->kind;
  self->query.x = self->task->x;
  self->query.y = self->task->y;
  self->query.classes = self->task->classes;
  self->query.boxes = self->task->boxes;
  self->query.n = studio_task_kind_samples (self->task->kind, &self->query.spread);
  char *key = g_strdup_printf ("%s\n%d %u %u %d %d %" G_GINT64_FORMAT, options, (int)self->query.kind, self->query.x,
                               self->query.y, self->query.classes, (int)self->query.split, self->query.first);
  if (g_strcmp0 (key, self->key) == 0)
    {
      g_free (key);
      notify_changed (self);
      return;
    }
  g_free (self->key);
  self->key = key;
  read_samples (self, node);
}

/* ---- predictions ------------------------------------------------------------ */

static const char *const answer_kinds[] = {
  [LOOM_ANSWER_PROBABILITIES] = "probabilities",
  [LOOM_ANSWER_LOGITS] = "scores",
  [LOOM_ANSWER_YES] = "yes",
  [LOOM_ANSWER_VALUES] = "values",
};

/* Adapts the rate to the time of the last reply: a slow grid gets fewer points, so that the picture is updated more
 * often. The first reply of a run, or of a new number of samples, includes planning and is not measured. */
static void
set_pace (StudioTask *self, double seconds, gint64 samples, gint64 step)
{
  const gboolean first = samples != self->paced_samples || step < self->paced_step;
  const gint64 rest = first ? 0 : (gint64)(seconds / MAX_FRACTION * G_USEC_PER_SEC);
  self->paced_samples = samples;
  self->paced_step = step;
  self->next_request = g_get_monotonic_time () + MAX (INTERVAL_US, rest);
  if (rest > SLOW_US && self->picture->grid > LEAST_GRID)
    self->picture->grid = MAX (LEAST_GRID, self->picture->grid * 2 / 3);
}

static gboolean
show_cb (gpointer data)
{
  StudioTask *self = data;

  self->show_timer = 0;
  if (!studio_run_has_news (self->run))
    notify_changed (self);
  return G_SOURCE_REMOVE;
}

/* While a run trains fast, the picture changes in the frame in which the numbers do: each frame costs. */
static void
show_soon (StudioTask *self)
{
  self->is_fresh = TRUE;
  if (studio_run_get_state (self->run) != STUDIO_RUN_RUNNING)
    notify_changed (self);
  else if (self->show_timer == 0)
    self->show_timer = g_timeout_add (NEWS_MS, show_cb, self);
}

typedef struct
{
  GWeakRef task;
  guint reading;
} Ask;

static void
answered_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Ask *ask = data;
  g_autoptr (StudioTask) self = g_weak_ref_get (&ask->task);
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) shape = NULL, values = NULL;
  g_autofree char *kind = NULL;
  const guint reading = ask->reading;
  gint64 step, epoch;
  double seconds = 0;
  gboolean done = loom_bus_worker1_call_predict_finish (LOOM_BUS_WORKER1 (source), &step, &epoch, &seconds, &kind,
                                                        &shape, &values, result, &error);
  g_weak_ref_clear (&ask->task);
  g_free (ask);
  if (self == NULL)
    return;
  self->in_flight = FALSE;
  const gboolean is_wanted
      = reading == self->reading && G_OBJECT (source) == G_OBJECT (studio_run_get_proxy (self->run));
  /* If the worker has exited this is no refusal, and the last predictions remain. */
  if (is_wanted && !done && g_dbus_error_is_remote_error (error)
      && !g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY))
    {
      g_dbus_error_strip_remote_error (error);
      /* The predictions belong to another model. */
      studio_task_picture_forget_answers (self->picture);
      set_refusal (self, error->message);
    }
  if (is_wanted && done)
    {
      set_refusal (self, NULL);
      gsize rank, bytes;
      const gint64 *dims = g_variant_get_fixed_array (shape, &rank, sizeof (gint64));
      const float *value = g_variant_get_fixed_array (values, &bytes, 1);
      for (guint k = 0; rank == 3 && k < G_N_ELEMENTS (answer_kinds); k++)
        if (g_strcmp0 (kind, answer_kinds[k]) == 0
            && studio_task_picture_take (self->picture, (LoomAnswerKind)k, dims, value, bytes / sizeof (float), step,
                                         epoch))
          show_soon (self);
      set_pace (self, seconds, rank > 0 ? dims[0] : 0, step);
    }
  if (self->wanted)
    pull (self);
}

static gboolean
timer_cb (gpointer data)
{
  StudioTask *self = data;
  self->timer = 0;
  pull (self);
  return G_SOURCE_REMOVE;
}

static gboolean
can_ask (StudioTask *self)
{
  StudioRunState state = studio_run_get_state (self->run);
  return self->n_mapped > 0 && studio_run_get_proxy (self->run) != NULL && state != STUDIO_RUN_STARTING
         && state != STUDIO_RUN_IDLE && state != STUDIO_RUN_FAILED && self->picture->data != NULL && self->task != NULL
         && self->task->predicts && studio_document_run_has (self->document, self->task->data_path);
}

static void
pull (StudioTask *self)
{
  gint64 shape[LOOM_SHAPE_MAX_RANK], wait = self->next_request - g_get_monotonic_time ();
  int rank;
  gsize n;

  self->wanted = TRUE;
  if (self->in_flight || self->timer != 0 || !can_ask (self))
    return;
  if (wait > 0)
    {
      self->timer = g_timeout_add ((guint)(wait / 1000) + 1, timer_cb, self);
      return;
    }
  self->wanted = FALSE;
  self->in_flight = TRUE;
  float *inputs = studio_task_picture_inputs (self->picture, shape, &rank, &n);
  GVariant *samples = g_variant_new_from_data (G_VARIANT_TYPE ("ay"), inputs, n * sizeof (float), TRUE, g_free, inputs);
  Ask *ask = g_new0 (Ask, 1);
  g_weak_ref_init (&ask->task, self);
  ask->reading = self->reading;
  loom_bus_worker1_call_predict (studio_run_get_proxy (self->run),
                                 g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, shape, (gsize)rank, sizeof (gint64)),
                                 samples, g_variant_new_array (G_VARIANT_TYPE ("(saxay)"), NULL, 0), NULL, answered_cb,
                                 ask);
}

/* ---- run and document ------------------------------------------------------------ */

static void
state_cb (StudioTask *self)
{
  if (studio_run_get_state (self->run) == STUDIO_RUN_STARTING)
    {
      self->next_request = 0;
      self->picture->grid = 64;
      set_refusal (self, NULL);
    }
  if (studio_run_get_state (self->run) == STUDIO_RUN_IDLE)
    {
      studio_task_picture_forget_answers (self->picture);
      g_clear_pointer (&self->refusal, g_free);
      notify_changed (self);
    }
  if (self->is_fresh)
    notify_changed (self);
  pull (self);
}

static void
numbers_cb (StudioTask *self)
{
  if (self->is_fresh)
    notify_changed (self);
  pull (self);
}

static void
map_cb (StudioTask *self)
{
  self->n_mapped++;
  if (self->is_stale || self->task == NULL || self->picture->data == NULL)
    sync_samples (self);
  pull (self);
}

static void
unmap_cb (StudioTask *self)
{
  self->n_mapped--;
}

static void
view_gone_cb (gpointer data, GObject *view)
{
  StudioTask *self = data;
  g_ptr_array_remove (self->views, view);
}

void
studio_task_watch (StudioTask *self, GtkWidget *widget)
{
  g_signal_connect_object (widget, "map", G_CALLBACK (map_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (widget, "unmap", G_CALLBACK (unmap_cb), self, G_CONNECT_SWAPPED);
}

GtkWidget *
studio_task_new_view (StudioTask *self)
{
  StudioTaskView *view = studio_task_view_new ();
  studio_task_view_set_picture (view, self->picture);
  g_ptr_array_add (self->views, view);
  g_object_weak_ref (G_OBJECT (view), view_gone_cb, self);
  studio_task_watch (self, GTK_WIDGET (view));
  return GTK_WIDGET (view);
}

/* ---- public functions --------------------------------------------------------------- */

StudioTaskPicture *
studio_task_get_picture (StudioTask *self)
{
  return self->picture;
}

const char *
studio_task_get_message (StudioTask *self)
{
  if (self->message != NULL || self->picture->data == NULL)
    return self->message;
  return self->task != NULL && !self->task->predicts ? self->task->why_not : self->refusal;
}

LoomTaskViewKind
studio_task_get_kind (StudioTask *self)
{
  describe_task (self);
  return self->task->kind;
}

void
studio_task_set_split (StudioTask *self, LoomSplit split)
{
  self->query.split = split;
  self->query.first = 0;
  sync_samples (self);
}

void
studio_task_turn_page (StudioTask *self, int by)
{
  const StudioTaskData *data = self->picture->data;
  if (data == NULL || self->query.spread)
    return;
  const gint64 last = MAX (0, data->n_all[data->split] - (gint64)self->query.n);
  self->query.first = CLAMP (data->first + by * (gint64)self->query.n, 0, last);
  sync_samples (self);
}

void
studio_task_set_column (StudioTask *self, guint axis, guint column)
{
  g_return_if_fail (axis < 2);
  if (self->picture->data == NULL || column >= self->picture->data->x_size)
    return;
  self->picture->column[axis] = column;
  self->picture->marked = -1;
  notify_changed (self);
}

static void
task_dispose (GObject *object)
{
  StudioTask *self = STUDIO_TASK (object);
  g_clear_handle_id (&self->timer, g_source_remove);
  g_clear_handle_id (&self->show_timer, g_source_remove);
  for (guint i = 0; self->views != NULL && i < self->views->len; i++)
    {
      studio_task_view_set_picture (self->views->pdata[i], NULL);
      g_object_weak_unref (self->views->pdata[i], view_gone_cb, self);
    }
  g_clear_pointer (&self->views, g_ptr_array_unref);
  g_clear_object (&self->document);
  g_clear_object (&self->run);
  G_OBJECT_CLASS (studio_task_parent_class)->dispose (object);
}

static void
task_finalize (GObject *object)
{
  StudioTask *self = STUDIO_TASK (object);
  studio_task_picture_free (self->picture);
  loom_task_view_free (self->task);
  g_free (self->key);
  g_free (self->refusal);
  g_free (self->message);
  G_OBJECT_CLASS (studio_task_parent_class)->finalize (object);
}

static void
studio_task_class_init (StudioTaskClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = task_dispose;
  G_OBJECT_CLASS (klass)->finalize = task_finalize;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_TASK, 0);
}

static void
studio_task_init (StudioTask *self)
{
  self->picture = studio_task_picture_new ();
  self->views = g_ptr_array_new ();
  self->query.split = LOOM_N_SPLITS;
  self->is_stale = TRUE;
}

StudioTask *
studio_task_new (StudioDocument *document, StudioRun *run)
{
  StudioTask *self = g_object_new (STUDIO_TYPE_TASK, NULL);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (sync_samples), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "numbers", G_CALLBACK (numbers_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, G_CONNECT_SWAPPED);
  return self;
}
