/* The model of a training run (StudioRun): its state, series and signals, and the functions by which the worker's
 * reports enter it (studio_run_take_…()).
 */
#include "ui/run/studio-run-private.h"

#include <glib/gi18n.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "ui/run/run-folder.h"
#include "ui/run/studio-run-messages.h"
#include "ui/scene/studio-format.h"

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
  ATTACHED,
  BEGUN_ON_HOST,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

static const char *const state_words[] = {
  [STUDIO_RUN_IDLE] = N_ ("not started"), [STUDIO_RUN_STARTING] = N_ ("preparing"),
  [STUDIO_RUN_RUNNING] = N_ ("training"), [STUDIO_RUN_PAUSED] = N_ ("paused"),
  [STUDIO_RUN_DONE] = N_ ("done"),        [STUDIO_RUN_STOPPED] = N_ ("stopped"),
  [STUDIO_RUN_FAILED] = N_ ("failed"),    [STUDIO_RUN_LOST] = N_ ("ended"),
};

static void
numbers_cb (gpointer data)
{
  g_signal_emit (data, signals[NUMBERS], 0);
}

static void
notify_points (StudioRun *self)
{
  g_signal_emit (self, signals[POINTS], 0);
  run_refresh_request (&self->refresh);
}

gboolean
studio_run_has_news (StudioRun *self)
{
  return run_refresh_is_due (&self->refresh);
}

/* ---- stalls -------------------------------------------------------------------- */

static double
patience (StudioRun *self)
{
  return run_stall_patience (self->progress.step, self->progress.total_steps, self->progress.epochs);
}

gboolean
studio_run_may_force (StudioRun *self)
{
  return run_stall_may_force (&self->stall, patience (self));
}

gboolean
studio_run_is_stalled (StudioRun *self)
{
  return self->state == STUDIO_RUN_RUNNING
         && (run_stall_is_late (&self->stall, patience (self)) || studio_run_may_force (self));
}

char *
studio_run_dup_stall (StudioRun *self)
{
  if (self->state != STUDIO_RUN_RUNNING)
    return NULL;
  return run_stall_dup_sentence (&self->stall, patience (self), self->ranks.live > 1);
}

/* The message depends only on the time. */
static gboolean
tick_cb (gpointer data)
{
  StudioRun *self = data;
  g_autofree char *delay = studio_run_dup_stall (self);

  run_ranks_tick (&self->ranks, studio_run_get_proxy (self));
  if ((delay != NULL || self->stall_shown) && !studio_run_has_news (self))
    numbers_cb (self);
  self->stall_shown = delay != NULL;
  return G_SOURCE_CONTINUE;
}

static void
note_running (StudioRun *self, gboolean runs)
{
  g_clear_handle_id (&self->stall_timer, g_source_remove);
  run_stall_note_running (&self->stall, runs);
  self->stall_shown = FALSE;
  if (!runs)
    return;
  self->stall_timer = g_timeout_add_seconds (1, tick_cb, self);
  self->ranks.wait = 0;
  run_ranks_tick (&self->ranks, studio_run_get_proxy (self));
}

/* ---- object -------------------------------------------------------------------- */

static void
run_dispose (GObject *object)
{
  StudioRun *self = STUDIO_RUN (object);
  studio_run_close (self);
  run_refresh_clear (&self->refresh);
  note_running (self, FALSE);
  run_ranks_forget (&self->ranks);
  G_OBJECT_CLASS (studio_run_parent_class)->dispose (object);
}

static void
run_finalize (GObject *object)
{
  StudioRun *self = STUDIO_RUN (object);
  run_curves_finish (&self->curves);
  run_memory_finish (&self->memory);
  g_free (self->message);
  g_free (self->graph_xml);
  g_free (self->graph_folder);
  g_free (self->folder);
  g_free (self->name);
  g_free (self->device);
  g_free (self->problem_code);
  g_free (self->branch);
  g_free (self->attachable);
  g_free (self->host.next);
  g_free (self->host.live);
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
  signals[ATTACHED] = new_signal ("attached", 0);
  signals[BEGUN_ON_HOST] = new_signal ("begun-on-host", 0);
}

static void
forget_numbers (StudioRun *self)
{
  self->progress = (StudioRunProgress){ .loss = NAN, .lr = NAN, .base_lr = NAN, .items_per_second = NAN, .eta = NAN };
}

static void
ranks_changed_cb (gpointer data)
{
  g_signal_emit (data, signals[MEMORY_CHANGED], 0);
}

static void
studio_run_init (StudioRun *self)
{
  run_curves_init (&self->curves);
  run_memory_init (&self->memory);
  run_refresh_init (&self->refresh, numbers_cb, self);
  self->ranks.changed = ranks_changed_cb;
  self->ranks.data = self;
  self->checkpoint_step = -1;
  studio_run_forget_restored (self);
  self->evaluated[0] = self->evaluated[1] = -1;
  self->pause_ms = -1;
  self->travel.shown = -1;
  self->travel.wanted = STUDIO_RUN_TRAVEL_NONE;
  forget_numbers (self);
}

StudioRun *
studio_run_new (void)
{
  return g_object_new (STUDIO_TYPE_RUN, NULL);
}

void
studio_run_show_step (StudioRun *self, gint64 step)
{
  if (self->travel.shown == step)
    return;
  self->travel.shown = step;
  g_signal_emit (self, signals[STATE_CHANGED], 0);
  g_signal_emit (self, signals[POINTS], 0);
  g_signal_emit (self, signals[NUMBERS], 0);
}

void
studio_run_come_back (StudioRun *self)
{
  const gint64 before = self->travel.shown;

  if (before < 0)
    return;
  g_autofree char *newest = studio_format_count ((double)self->progress.step);
  g_autofree char *step = studio_format_count ((double)before);
  g_autofree char *text = g_strdup_printf (_ ("Commands change only the newest step of a run, %1$s, which is shown "
                                              "again. To train from step %2$s, go back to "
                                              "it and press “Continue from Here”."),
                                           newest, step);

  studio_run_show_step (self, STUDIO_RUN_NEWEST);
  studio_run_take_problem (self, "NOTE", "", "", text);
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
    {
      note_running (self, state == STUDIO_RUN_RUNNING);
      run_refresh_note_running (&self->refresh, state == STUDIO_RUN_RUNNING);
    }
  if (goes_over && !studio_run_is_live (self) && run_memory_close (&self->memory))
    g_signal_emit (self, signals[MEMORY_CHANGED], 0);
  if (state == STUDIO_RUN_RUNNING)
    studio_run_come_back (self);
  if (goes_over)
    self->travel.shown = -1;
  if (!same)
    g_signal_emit (self, signals[STATE_CHANGED], 0);
}

void
studio_run_add_mark (StudioRun *self, double step, const char *label)
{
  run_curves_add_mark (&self->curves, step, label);
  notify_points (self);
}

void
studio_run_add_change (StudioRun *self, double step, const char *name, double value)
{
  run_curves_add_change (&self->curves, step, name, value);
  notify_points (self);
}

/* ---- worker ------------------------------------------------------------------- */

LoomBusWorker1 *
studio_run_get_proxy (StudioRun *self)
{
  return self->worker != NULL ? studio_worker_get_proxy (self->worker) : NULL;
}

const char *
studio_run_get_worker_pid (StudioRun *self)
{
  return self->worker != NULL ? studio_worker_get_pid (self->worker) : NULL;
}

void
studio_run_add_options (StudioRun *self, GVariantBuilder *b)
{
  const StudioRunOptions *o = &self->options;
  if (o->epochs > 0)
    g_variant_builder_add (b, "{sv}", "epochs", g_variant_new_int64 (o->epochs));
  if (o->batch_size > 0)
    g_variant_builder_add (b, "{sv}", "batch_size", g_variant_new_int64 (o->batch_size));
  if (o->seed >= 0)
    g_variant_builder_add (b, "{sv}", "seed", g_variant_new_int64 (o->seed));
  if (!isnan (o->lr))
    g_variant_builder_add (b, "{sv}", "lr", g_variant_new_double (o->lr));
  if (self->device != NULL)
    g_variant_builder_add (b, "{sv}", "device", g_variant_new_string (self->device));
  if (o->threads > 0)
    g_variant_builder_add (b, "{sv}", "threads", g_variant_new_int32 (o->threads));
  if (o->paused || self->pause_wanted)
    g_variant_builder_add (b, "{sv}", "paused", g_variant_new_boolean (TRUE));
}

void
studio_run_drop_worker (StudioRun *self)
{
  if (self->worker == NULL)
    return;
  g_signal_handlers_disconnect_by_data (studio_worker_get_proxy (self->worker), self);
  g_signal_handlers_disconnect_by_data (self->worker, self);
  studio_worker_finish (self->worker);
  g_clear_object (&self->worker);
}

void
studio_run_cancel_host (StudioRun *self)
{
  if (self->host.begin != NULL)
    g_subprocess_send_signal (self->host.begin, SIGTERM);
}

gboolean
studio_run_can_go_on (StudioRun *self)
{
  return self->worker != NULL && self->start_sent && studio_run_is_live (self);
}

void
studio_run_set_goes_on (StudioRun *self, gboolean goes_on)
{
  self->goes_on = goes_on;
}

/* What was set for watching would slow the run down, or pause it for ever. */
static void
release (StudioRun *self)
{
  LoomBusWorker1 *proxy = studio_worker_get_proxy (self->worker);

  loom_bus_worker1_call_set_pace (proxy, 0, NULL, NULL, NULL);
  loom_bus_worker1_call_set_breakpoints (proxy, g_variant_new_array (G_VARIANT_TYPE ("(ssd)"), NULL, 0), NULL, NULL,
                                         NULL);
  loom_bus_worker1_call_resume (proxy, NULL, NULL, NULL);
  studio_worker_release (self->worker);
  g_signal_handlers_disconnect_by_data (proxy, self);
  g_signal_handlers_disconnect_by_data (self->worker, self);
  g_clear_object (&self->worker);
  self->goes_on = FALSE;
  studio_run_set_state (self, STUDIO_RUN_IDLE, NULL);
}

void
studio_run_close (StudioRun *self)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  if (self->goes_on && studio_run_can_go_on (self))
    {
      release (self);
      return;
    }
  studio_run_cancel_host (self);
  studio_run_drop_worker (self);
  if (studio_run_is_live (self))
    {
      run_folder_note_end (self->folder, TRUE);
      studio_run_set_state (self, STUDIO_RUN_STOPPED, NULL);
    }
}

/* ---- events ------------------------------------------------------------------- */

void
studio_run_forget_restored (StudioRun *self)
{
  self->restored.step = self->restored.evaluation[0] = self->restored.evaluation[1] = -1;
}

void
studio_run_note_restored (StudioRun *self)
{
  self->restored.step = self->progress.step;
  memcpy (self->restored.evaluation, self->evaluated, sizeof self->evaluated);
}

void
studio_run_take_begin (StudioRun *self)
{
  self->evaluated[0] = self->evaluated[1] = -1;
  run_curves_begin (&self->curves);
  forget_numbers (self);
  run_memory_forget (&self->memory);
  run_ranks_forget (&self->ranks);
  self->checkpoint_step = -1;
  notify_points (self);
  g_signal_emit (self, signals[MEMORY_CHANGED], 0);
}

void
studio_run_forget_previous (StudioRun *self)
{
  run_curves_forget_previous (&self->curves);
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
    run_folder_forget_note (self->folder);
  else if (self->state == STUDIO_RUN_STOPPED)
    run_folder_note_end (self->folder, TRUE);
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

void
studio_run_take_metrics (StudioRun *self, const char *const *names, GVariant *points, gint64 recent_steps)
{
  guint n = g_strv_length ((char **)names);
  g_autofree guint *index = g_new (guint, n + 1);
  for (guint i = 0; i < n; i++)
    index[i] = run_curves_metric (&self->curves, names[i]);

  GVariantIter iter;
  gint64 step, epoch;
  double loss, lr;
  GVariant *metrics;
  gsize n_points = g_variant_n_children (points);
  if (n_points > 0)
    {
      self->progress.recent_steps = recent_steps;
      g_variant_get_child (points, n_points - 1, "(xxdd@ad)", &step, NULL, NULL, NULL, NULL);
      run_stall_note_steps (&self->stall, step - self->progress.step);
    }
  g_variant_iter_init (&iter, points);
  while (g_variant_iter_next (&iter, "(xxdd@ad)", &step, &epoch, &loss, &lr, &metrics))
    {
      self->progress.step = step;
      self->progress.epoch = epoch;
      self->progress.loss = loss;
      self->progress.lr = lr;
      if (step > self->restored.step)
        loom_series_append (self->curves.loss.train, (double)step, loss);
      gsize have;
      const double *value = g_variant_get_fixed_array (metrics, &have, sizeof (double));
      for (guint i = 0; i < n && i < have; i++)
        {
          g_array_index (self->curves.values, double, index[i]) = value[i];
          loom_series_append (run_curves_get (&self->curves, (int)index[i])->train, (double)step, value[i]);
        }
      g_variant_unref (metrics);
    }
  notify_points (self);
}

void
studio_run_take_evaluation (StudioRun *self, const char *split, gint64 step, gint64 epoch, double loss,
                            const char *const *names, GVariant *values)
{
  gsize have;
  const double *value = g_variant_get_fixed_array (values, &have, sizeof (double));
  const gboolean is_test = g_str_equal (split, "test");
  if (step <= self->restored.evaluation[is_test])
    return;
  self->evaluated[is_test] = step;
  run_curves_add_evaluation (&self->curves, split, step, loss, names, value, have);
  notify_points (self);
}

void
studio_run_take_progress (StudioRun *self, gint64 step, gint64 total_steps, gint64 epoch, gint64 epochs,
                          double items_per_second, double eta_seconds)
{
  run_stall_note_steps (&self->stall, step - self->progress.step);
  self->progress.step = MAX (self->progress.step, step);
  self->progress.total_steps = total_steps;
  self->progress.epoch = epoch;
  self->progress.epochs = epochs;
  self->progress.items_per_second = items_per_second;
  self->progress.eta = eta_seconds;
  notify_points (self);
}

void
studio_run_take_waits (StudioRun *self, double data, double compute, double rest, guint threads)
{
  self->progress.waits = (StudioRunWaits){ data, compute, rest, threads };
}

void
studio_run_take_memory (StudioRun *self, const char *device, GVariant *bytes)
{
  run_memory_set (&self->memory, device, bytes);
  g_signal_emit (self, signals[MEMORY_CHANGED], 0);
}

void
studio_run_take_rank_memory (StudioRun *self, GVariant *text)
{
  if (run_ranks_set_memory (&self->ranks, text))
    g_signal_emit (self, signals[MEMORY_CHANGED], 0);
}

void
studio_run_take_hyper (StudioRun *self, const char *name, double value)
{
  if (!g_str_equal (name, "lr") || value == self->progress.base_lr)
    return;
  self->progress.base_lr = value;
  g_signal_emit (self, signals[HYPER_CHANGED], 0);
}

void
studio_run_take_checkpoint (StudioRun *self, gint64 step, const char *path)
{
  /* Those of a host are there. */
  if (self->host.live == NULL)
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

gint64
studio_run_find_checkpoint (StudioRun *self, gint64 step)
{
  return self->folder != NULL ? run_folder_find_checkpoint (self->folder, step) : -1;
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

const StudioRunProgress *
studio_run_get_progress (StudioRun *self)
{
  return &self->progress;
}

gint64
studio_run_get_step (StudioRun *self)
{
  return self->travel.shown >= 0 ? self->travel.shown : self->progress.step;
}

/* The recorded value that is nearest to the step that is shown; the newest if that is shown. */
static double
value_shown (StudioRun *self, int metric, double newest)
{
  const LoomSeries *train = run_curves_get (&self->curves, metric)->train;
  double value;
  gsize at;

  if (self->travel.shown < 0 || !loom_series_nearest (train, (double)self->travel.shown, &at))
    return newest;
  loom_series_get (train, at, NULL, &value);
  return value;
}

double
studio_run_get_loss (StudioRun *self)
{
  return value_shown (self, -1, self->progress.loss);
}

double
studio_run_get_base_lr (StudioRun *self)
{
  return self->progress.base_lr;
}

guint
studio_run_n_metrics (StudioRun *self)
{
  return self->curves.names->len;
}

const char *
studio_run_get_metric_name (StudioRun *self, guint i)
{
  return g_ptr_array_index (self->curves.names, i);
}

double
studio_run_get_metric (StudioRun *self, guint i)
{
  return value_shown (self, (int)i, g_array_index (self->curves.values, double, i));
}

const RunCurves *
studio_run_get_curves (StudioRun *self)
{
  return &self->curves;
}

LoomSeries *
studio_run_get_train (StudioRun *self, int metric)
{
  return run_curves_get (&self->curves, metric)->train;
}

LoomSeries *
studio_run_get_validation (StudioRun *self, int metric)
{
  return run_curves_get (&self->curves, metric)->validation;
}

LoomSeries *
studio_run_get_previous (StudioRun *self, int metric)
{
  return run_curves_get (&self->curves, metric)->previous;
}

const RunMemory *
studio_run_get_memory (StudioRun *self)
{
  return &self->memory;
}

GBytes *
studio_run_get_rank_memory (StudioRun *self)
{
  return self->ranks.memory;
}

void
studio_run_request_rank_memory (StudioRun *self)
{
  if (self->state != STUDIO_RUN_STARTING)
    run_ranks_request (&self->ranks, studio_run_get_proxy (self));
}

void
studio_run_set_ranks (StudioRun *self, int ranks)
{
  if (self->ranks.next == ranks)
    return;
  self->ranks.next = ranks;
  g_signal_emit (self, signals[RANKS_CHANGED], 0);
}

int
studio_run_get_ranks (StudioRun *self)
{
  return MAX (self->ranks.next, 1);
}

int
studio_run_get_live_ranks (StudioRun *self)
{
  return MAX (self->ranks.live, 1);
}

char *
studio_run_dup_when (StudioRun *self, gint64 updates, gint64 *step)
{
  const gboolean goes_on = self->state == STUDIO_RUN_RUNNING || self->state == STUDIO_RUN_STARTING;
  const gboolean after = !goes_on && updates >= studio_run_get_step (self);
  g_autofree char *count = NULL;

  *step = after ? updates : updates + 1;
  count = studio_format_count ((double)*step);
  if (after && updates == 0)
    return g_strdup (_ ("at the start"));
  return g_strdup_printf (after ? _ ("after step %s") : _ ("step %s"), count);
}
