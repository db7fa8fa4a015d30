/* The model of a training run (StudioRun): its state, series and signals, and the functions by which the worker's
 * reports enter it (studio_run_take_…()).
 *
 * The series keep every point; observers decide how often they draw. When a run begins, the previous run's curves are
 * kept as grey curves, so that the effect of a change is visible. */
#include "ui/run/studio-run-private.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"

G_DEFINE_TYPE (StudioRun, studio_run, G_TYPE_OBJECT)

enum
{
  STATE_CHANGED,
  POINTS,
  NUMBERS,
  MEMORY_CHANGED,
  RANKS_CHANGED,
  HYPER_CHANGED,
  PROBLEM,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

static const char *const state_words[] = {
  [STUDIO_RUN_IDLE] = N_ ("not started"), [STUDIO_RUN_STARTING] = N_ ("preparing"),
  [STUDIO_RUN_RUNNING] = N_ ("training"), [STUDIO_RUN_PAUSED] = N_ ("paused"),
  [STUDIO_RUN_DONE] = N_ ("done"),        [STUDIO_RUN_STOPPED] = N_ ("stopped"),
  [STUDIO_RUN_FAILED] = N_ ("failed"),    [STUDIO_RUN_LOST] = N_ ("ended"),
};

/* Drawing a frame costs a few milliseconds, however little has changed (most machines render in software), and delays
 * training: on two processors both threads of a step wait for the interrupted one. */
#define NUMBERS_MS 250

static gboolean
numbers_cb (gpointer data)
{
  StudioRun *self = data;
  self->numbers_timer = 0;
  self->numbers_shown = g_get_monotonic_time ();
  g_signal_emit (self, signals[NUMBERS], 0);
  return G_SOURCE_REMOVE;
}

void
studio_run_notify_numbers (StudioRun *self)
{
  if (self->numbers_timer == 0)
    numbers_cb (self);
}

static void
notify_points (StudioRun *self)
{
  g_signal_emit (self, signals[POINTS], 0);
  if (self->numbers_timer != 0)
    return;
  gint64 passed = (g_get_monotonic_time () - self->numbers_shown) / 1000;
  self->numbers_timer = g_timeout_add ((guint)CLAMP (NUMBERS_MS - passed, 0, NUMBERS_MS), numbers_cb, self);
}

static void
curves_clear (gpointer data)
{
  StudioRunCurves *c = data;
  g_clear_pointer (&c->train, studio_series_unref);
  g_clear_pointer (&c->validation, studio_series_unref);
  g_clear_pointer (&c->previous, studio_series_unref);
}

static void
mark_free (gpointer data)
{
  StudioRunMark *m = data;
  g_free (m->label);
  g_free (m);
}

static void
run_dispose (GObject *object)
{
  StudioRun *self = STUDIO_RUN (object);
  studio_run_close (self);
  g_clear_handle_id (&self->numbers_timer, g_source_remove);
  studio_run_note_running (self, FALSE);
  G_OBJECT_CLASS (studio_run_parent_class)->dispose (object);
}

static void
run_finalize (GObject *object)
{
  StudioRun *self = STUDIO_RUN (object);
  curves_clear (&self->loss_curves);
  g_array_unref (self->metric_curves);
  g_array_unref (self->metric_values);
  g_ptr_array_unref (self->metric_names);
  g_ptr_array_unref (self->marks);
  g_ptr_array_unref (self->owners);
  g_array_unref (self->owner_bytes);
  g_clear_pointer (&self->rank_memory, g_bytes_unref);
  g_free (self->message);
  g_free (self->split);
  g_free (self->memory_device);
  g_free (self->graph_xml);
  g_free (self->graph_folder);
  g_free (self->folder);
  g_free (self->name);
  g_free (self->device);
  g_free (self->problem_code);
  G_OBJECT_CLASS (studio_run_parent_class)->finalize (object);
}

static guint
new_signal (const char *name, guint n)
{
  GType types[4] = { G_TYPE_STRING, G_TYPE_STRING, G_TYPE_STRING, G_TYPE_STRING };
  return g_signal_newv (name, STUDIO_TYPE_RUN, G_SIGNAL_RUN_LAST, NULL, NULL, NULL, NULL, G_TYPE_NONE, n, types);
}

static void
studio_run_class_init (StudioRunClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = run_dispose;
  G_OBJECT_CLASS (klass)->finalize = run_finalize;
  signals[STATE_CHANGED] = new_signal ("state-changed", 0);
  signals[POINTS] = new_signal ("points", 0);
  signals[NUMBERS] = new_signal ("numbers", 0);
  signals[MEMORY_CHANGED] = new_signal ("memory-changed", 0);
  signals[RANKS_CHANGED] = new_signal ("ranks-changed", 0);
  signals[HYPER_CHANGED] = new_signal ("hyper-changed", 0);
  signals[PROBLEM] = new_signal ("problem", 4);
}

static void
forget_numbers (StudioRun *self)
{
  self->step = self->total_steps = self->epoch = self->epochs = self->recent_steps = 0;
  self->loss = self->lr = self->base_lr = self->items_per_second = self->eta = NAN;
  self->waits = (StudioRunWaits){ 0 };
  for (guint i = 0; i < self->metric_values->len; i++)
    g_array_index (self->metric_values, double, i) = NAN;
  g_ptr_array_set_size (self->marks, 0);
  g_clear_pointer (&self->split, g_free);
}

static void
studio_run_init (StudioRun *self)
{
  self->metric_names = g_ptr_array_new_with_free_func (g_free);
  self->metric_values = g_array_new (FALSE, TRUE, sizeof (double));
  self->metric_curves = g_array_new (FALSE, TRUE, sizeof (StudioRunCurves));
  g_array_set_clear_func (self->metric_curves, curves_clear);
  self->marks = g_ptr_array_new_with_free_func (mark_free);
  self->owners = g_ptr_array_new ();
  self->owner_bytes = g_array_new (FALSE, TRUE, sizeof (guint64));
  self->memory_device = g_strdup ("");
  self->loss_curves.train = studio_series_new ();
  self->loss_curves.validation = studio_series_new ();
  self->checkpoint_step = -1;
  self->pause_ms = -1;
  forget_numbers (self);
}

StudioRun *
studio_run_new (void)
{
  return g_object_new (STUDIO_TYPE_RUN, NULL);
}

void
studio_run_set_state (StudioRun *self, StudioRunState state, const char *message)
{
  char *copy = message != NULL && *message != '\0' ? g_strdup (message) : NULL;
  gboolean goes_over = state != self->state, same = !goes_over && g_strcmp0 (copy, self->message) == 0;
  g_free (self->message);
  self->message = copy;
  self->state = state;
  if (goes_over)
    studio_run_note_running (self, state == STUDIO_RUN_RUNNING);
  if (goes_over && !studio_run_is_live (self))
    studio_run_close_memory (self);
  if (!same)
    g_signal_emit (self, signals[STATE_CHANGED], 0);
}

void
studio_run_add_mark (StudioRun *self, double step, const char *label)
{
  StudioRunMark *m = g_new0 (StudioRunMark, 1);
  m->step = step;
  m->label = g_strdup (label);
  g_ptr_array_add (self->marks, m);
  notify_points (self);
}

/* ---- events ------------------------------------------------------------------- */

static void
begin_curves (StudioRunCurves *c)
{
  /* A run without a point does not replace the curves of the run before it. */
  if (studio_series_length (c->train) > 0)
    {
      g_clear_pointer (&c->previous, studio_series_unref);
      c->previous = c->train;
      c->train = studio_series_new ();
    }
  studio_series_unref (c->validation);
  c->validation = studio_series_new ();
}

void
studio_run_take_begin (StudioRun *self)
{
  begin_curves (&self->loss_curves);
  for (guint i = 0; i < self->metric_curves->len; i++)
    begin_curves (&g_array_index (self->metric_curves, StudioRunCurves, i));
  forget_numbers (self);
  g_ptr_array_set_size (self->owners, 0);
  g_array_set_size (self->owner_bytes, 0);
  self->driver = (StudioDriverMemory){ 0 };
  g_clear_pointer (&self->rank_memory, g_bytes_unref);
  self->checkpoint_step = -1;
  notify_points (self);
  g_signal_emit (self, signals[MEMORY_CHANGED], 0);
}

void
studio_run_forget_previous (StudioRun *self)
{
  g_clear_pointer (&self->loss_curves.previous, studio_series_unref);
  g_array_set_size (self->metric_curves, 0);
  g_array_set_size (self->metric_values, 0);
  g_ptr_array_set_size (self->metric_names, 0);
  notify_points (self);
}

void
studio_run_take_state (StudioRun *self, const char *state, const char *message)
{
  static const struct
  {
    const char *word;
    StudioRunState state;
  } words[] = {
    { "preparing", STUDIO_RUN_STARTING }, { "running", STUDIO_RUN_RUNNING }, { "paused", STUDIO_RUN_PAUSED },
    { "done", STUDIO_RUN_DONE },          { "stopped", STUDIO_RUN_STOPPED }, { "failed", STUDIO_RUN_FAILED },
  };
  g_autofree char *said = studio_run_rewrite_message (message);
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (state, words[i].word))
      studio_run_set_state (self, words[i].state, said);
  if (self->state == STUDIO_RUN_DONE)
    studio_run_forget_note (self);
  else if (self->state == STUDIO_RUN_STOPPED)
    studio_run_note_end (self, TRUE);
}

void
studio_run_take_problem (StudioRun *self, const char *code, const char *node, const char *port, const char *sentence)
{
  g_autofree char *said = studio_run_rewrite_message (sentence);
  if (!g_str_equal (code, "NOTE") && !g_str_equal (code, "REFUSED"))
    {
      g_free (self->problem_code);
      self->problem_code = g_strdup (code);
    }
  g_signal_emit (self, signals[PROBLEM], 0, code, node, port, said);
}

/* Returns the index of this metric; creates its curves at first use. */
static guint
metric_index (StudioRun *self, const char *name)
{
  for (guint i = 0; i < self->metric_names->len; i++)
    if (g_str_equal (g_ptr_array_index (self->metric_names, i), name))
      return i;
  g_ptr_array_add (self->metric_names, g_strdup (name));
  double nothing = NAN;
  g_array_append_val (self->metric_values, nothing);
  StudioRunCurves c = { .train = studio_series_new (), .validation = studio_series_new () };
  g_array_append_val (self->metric_curves, c);
  return self->metric_names->len - 1;
}

void
studio_run_take_metrics (StudioRun *self, const char *const *names, GVariant *points, gint64 recent_steps)
{
  guint n = g_strv_length ((char **)names);
  g_autofree guint *index = g_new (guint, n + 1);
  for (guint i = 0; i < n; i++)
    index[i] = metric_index (self, names[i]);

  GVariantIter iter;
  gint64 step, epoch;
  double loss, lr;
  GVariant *metrics;
  gsize n_points = g_variant_n_children (points);
  if (n_points > 0)
    {
      self->recent_steps = recent_steps;
      g_variant_get_child (points, n_points - 1, "(xxdd@ad)", &step, NULL, NULL, NULL, NULL);
      studio_run_note_step (self, step);
    }
  g_variant_iter_init (&iter, points);
  while (g_variant_iter_next (&iter, "(xxdd@ad)", &step, &epoch, &loss, &lr, &metrics))
    {
      self->step = step;
      self->epoch = epoch;
      self->loss = loss;
      self->lr = lr;
      studio_series_append (self->loss_curves.train, (double)step, loss);
      gsize have;
      const double *value = g_variant_get_fixed_array (metrics, &have, sizeof (double));
      for (guint i = 0; i < n && i < have; i++)
        {
          g_array_index (self->metric_values, double, index[i]) = value[i];
          studio_series_append (g_array_index (self->metric_curves, StudioRunCurves, index[i]).train, (double)step,
                                value[i]);
        }
      g_variant_unref (metrics);
    }
  notify_points (self);
}

void
studio_run_take_evaluation (StudioRun *self, const char *split, gint64 step, gint64 epoch, double loss,
                            const char *const *names, GVariant *values)
{
  g_free (self->split);
  self->split = g_strdup (split);
  studio_series_append (self->loss_curves.validation, (double)step, loss);
  gsize have;
  const double *value = g_variant_get_fixed_array (values, &have, sizeof (double));
  for (guint i = 0; names[i] != NULL && i < have; i++)
    {
      guint m = metric_index (self, names[i]);
      studio_series_append (g_array_index (self->metric_curves, StudioRunCurves, m).validation, (double)step, value[i]);
    }
  notify_points (self);
}

void
studio_run_take_progress (StudioRun *self, gint64 step, gint64 total_steps, gint64 epoch, gint64 epochs,
                          double items_per_second, double eta_seconds)
{
  studio_run_note_step (self, step);
  self->step = MAX (self->step, step);
  self->total_steps = total_steps;
  self->epoch = epoch;
  self->epochs = epochs;
  self->items_per_second = items_per_second;
  self->eta = eta_seconds;
  notify_points (self);
}

void
studio_run_take_waits (StudioRun *self, double data, double compute, double rest, guint threads)
{
  self->waits = (StudioRunWaits){ data, compute, rest, threads };
}

const StudioRunWaits *
studio_run_get_waits (StudioRun *self)
{
  return self->waits.data + self->waits.compute + self->waits.rest > 0 ? &self->waits : NULL;
}

void
studio_run_take_hyper (StudioRun *self, const char *name, double value)
{
  if (!g_str_equal (name, "lr") || value == self->base_lr)
    return;
  self->base_lr = value;
  g_signal_emit (self, signals[HYPER_CHANGED], 0);
}

void
studio_run_take_checkpoint (StudioRun *self, gint64 step, const char *path)
{
  self->checkpoint_step = step;
}

void
studio_run_take_end (StudioRun *self, const char *sentence)
{
  /* A worker may die after it has finished, without loss. */
  if (self->state == STUDIO_RUN_DONE || self->state == STUDIO_RUN_STOPPED || self->state == STUDIO_RUN_FAILED)
    return;
  if (sentence != NULL)
    studio_run_set_state (self, STUDIO_RUN_LOST, sentence);
  else if (self->state != STUDIO_RUN_IDLE)
    studio_run_set_state (self, STUDIO_RUN_STOPPED, NULL);
}

/* ---- accessors ------------------------------------------------------------------- */

StudioRunState
studio_run_get_state (StudioRun *self)
{
  return self->state;
}

const char *
studio_run_state_word (StudioRunState state)
{
  return _ (state_words[state]);
}

const char *
studio_run_get_message (StudioRun *self)
{
  return self->message;
}

gboolean
studio_run_is_live (StudioRun *self)
{
  return self->state == STUDIO_RUN_STARTING || self->state == STUDIO_RUN_RUNNING || self->state == STUDIO_RUN_PAUSED;
}

const char *
studio_run_get_folder (StudioRun *self)
{
  return self->folder;
}

gboolean
studio_run_has_checkpoint (StudioRun *self)
{
  return self->checkpoint_step >= 0;
}

gint64
studio_run_get_checkpoint_step (StudioRun *self)
{
  return self->checkpoint_step;
}

gboolean
studio_run_can_resume (StudioRun *self)
{
  return studio_run_has_checkpoint (self)
         && (self->state == STUDIO_RUN_STOPPED || self->state == STUDIO_RUN_LOST || self->state == STUDIO_RUN_FAILED);
}

const char *
studio_run_get_graph (StudioRun *self)
{
  return self->graph_xml;
}

const char *
studio_run_get_problem_code (StudioRun *self)
{
  return self->problem_code;
}

gint64
studio_run_get_step (StudioRun *self)
{
  return self->step;
}

gint64
studio_run_get_total_steps (StudioRun *self)
{
  return self->total_steps;
}

gint64
studio_run_get_epoch (StudioRun *self)
{
  return self->epoch;
}

gint64
studio_run_get_epochs (StudioRun *self)
{
  return self->epochs;
}

double
studio_run_get_loss (StudioRun *self)
{
  return self->loss;
}

double
studio_run_get_lr (StudioRun *self)
{
  return self->lr;
}

double
studio_run_get_base_lr (StudioRun *self)
{
  return self->base_lr;
}

double
studio_run_get_items_per_second (StudioRun *self)
{
  return self->items_per_second;
}

double
studio_run_get_eta (StudioRun *self)
{
  return self->eta;
}

guint
studio_run_n_metrics (StudioRun *self)
{
  return self->metric_names->len;
}

const char *
studio_run_get_metric_name (StudioRun *self, guint i)
{
  return g_ptr_array_index (self->metric_names, i);
}

gint64
studio_run_get_recent_steps (StudioRun *self)
{
  return self->recent_steps;
}

double
studio_run_get_metric (StudioRun *self, guint i)
{
  return g_array_index (self->metric_values, double, i);
}

static StudioRunCurves *
curves_of (StudioRun *self, int metric)
{
  return metric < 0 ? &self->loss_curves : &g_array_index (self->metric_curves, StudioRunCurves, (guint)metric);
}

StudioSeries *
studio_run_get_train (StudioRun *self, int metric)
{
  return curves_of (self, metric)->train;
}

StudioSeries *
studio_run_get_validation (StudioRun *self, int metric)
{
  return curves_of (self, metric)->validation;
}

StudioSeries *
studio_run_get_previous (StudioRun *self, int metric)
{
  return curves_of (self, metric)->previous;
}

const char *
studio_run_get_split (StudioRun *self)
{
  return self->split;
}

guint
studio_run_n_marks (StudioRun *self)
{
  return self->marks->len;
}

const StudioRunMark *
studio_run_get_mark (StudioRun *self, guint i)
{
  return g_ptr_array_index (self->marks, i);
}
