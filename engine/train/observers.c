/* Serves the observers of a run. */
#include "engine/train/observers.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/train/node-memory.h"
#include "engine/train/node-times.h"

#include <string.h>

#define PORT_WORDS "words:" /* before a port of the data set: train_data_words() */

static void
measure (RankMemory *memory, gpointer data)
{
  TrainObservers *self = data;
  gsize bytes[LOOM_N_OWNERS] = { 0 };

  train_observers_bytes (self, bytes);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    memory->bytes[o] = bytes[o];
  device_memory_query (&self->memory);
  memory->used = self->memory.now.used;
  memory->total = self->memory.now.total;
  g_strlcpy (memory->device, self->model->device, sizeof memory->device);
}

void
train_observers_init (TrainObservers *self, const RankGroup *group, const TrainProgress *progress)
{
  self->trace.model = self->model;
  self->trace.group = group;
  self->reports = (RankReports){ .group = group, .measure = measure, .measure_data = self };
  rank_reports_init (&self->reports);
  watched_state_init (&self->watched, self->model, group, progress);
}

void
train_observers_clear (TrainObservers *self)
{
  g_clear_pointer (&self->health, health_report_free);
  g_clear_pointer (&self->snapshots, snapshots_free);
  g_clear_pointer (&self->answers, sample_answers_free);
  step_trace_clear (&self->trace);
  rank_reports_clear (&self->reports);
  watched_state_clear (&self->watched);
  view_costs_clear (&self->costs);
}

void
train_observers_bytes (const TrainObservers *self, gsize bytes[LOOM_N_OWNERS])
{
  loom_state_memory (self->model->state, NULL, bytes);
  watched_state_memory (&self->watched, bytes);
}

/* ---- samples ---------------------------------------------------------- */

static void
serve_samples (TrainObservers *self, TrainRequest *request)
{
  const gint64 begin = loom_monotonic ();

  if (self->answers == NULL)
    self->answers = sample_answers_new (self->model, &self->watched, &request->error);
  if (self->answers != NULL)
    request->result = sample_answers_compute (self->answers, request->samples, request->others, &request->error);
  request->step = watched_state_step (&self->watched, &self->watched.now, TRUE);
  request->epoch = CLAMP (watched_state_epoch (&self->watched) + 1, 1, self->model->spec->epochs);
  request->seconds = (double)(loom_monotonic () - begin) / G_USEC_PER_SEC;
}

/* ---- weights ---------------------------------------------------------- */

static void
serve_weights (TrainObservers *self, TrainRequest *request)
{
  WatchedState *watched = &self->watched;

  request->weights = watched_state_weights (watched, &request->error);
  request->is_past = *self->is_past;
  request->step = watched_state_step (watched, &watched->now, TRUE);
  request->epoch = CLAMP (watched_state_epoch (watched) + 1, 1, self->model->spec->epochs);
}

/* ---- ports ------------------------------------------------------------ */

/* u8[bytes]. (transfer full) */
static LoomTensor *
text_to_tensor (const char *text, GError **error)
{
  const gint64 n = (gint64)strlen (text);
  LoomTensor *tensor = loom_tensor_new (LOOM_U8, 1, &n, error);

  if (tensor != NULL)
    memcpy (tensor->data, text, (gsize)n);
  return tensor;
}

/* f32[1]. (transfer full) */
static LoomTensor *
count_to_tensor (gint64 count, GError **error)
{
  const gint64 one = 1;
  LoomTensor *tensor = loom_tensor_new (LOOM_F32, 1, &one, error);

  if (tensor != NULL)
    loom_tensor_set (tensor, 0, (double)count);
  return tensor;
}

static char *
nodes_to_text (TrainObservers *self)
{
  gsize held[LOOM_N_OWNERS] = { 0 };
  const StateCopy *of;
  const LoomExec *exec = snapshots_exec (self->snapshots, &of);

  train_observers_bytes (self, held);
  /* Computations of observers over a copy of the state have an arena of their own. */
  return node_memory_text (self->plans, exec, watched_state_is_copy (&self->watched) || of == &self->watched.last,
                           self->model->device, held);
}

/* The text of a name that is no port; NULL for others. (transfer full) */
static char *
text_of (TrainObservers *self, const char *port)
{
  if (g_str_equal (port, LOOM_SNAPSHOT_TRACE))
    return g_strdup (step_trace_text (&self->trace));
  if (g_str_equal (port, LOOM_SNAPSHOT_NODES))
    return nodes_to_text (self);
  if (g_str_equal (port, LOOM_SNAPSHOT_LOSSES))
    return rank_reports_losses (&self->reports);
  if (g_str_equal (port, LOOM_SNAPSHOT_RANKS))
    return rank_reports_memory (&self->reports);
  if (g_str_equal (port, LOOM_SNAPSHOT_COSTS))
    return view_costs_text (&self->costs);
  return NULL;
}

static gboolean
is_weight (const TrainModel *model, const char *port)
{
  return loom_net_weight_named (model->net, port) != NULL && loom_state_find (model->state, port) >= 0;
}

/* The change of a weight by the last step: the values after it without those before it. (transfer full) */
static LoomTensor *
update_of (TrainObservers *self, const char *weight, GError **error)
{
  WatchedState *watched = &self->watched;
  StateCopy *last = watched_state_of_step (watched, TRUE);
  g_autoptr (LoomTensor) before = NULL, after = NULL;

  if (!is_weight (self->model, weight))
    return loom_refuse_null (error, LOOM_ERROR_PORT, "“%s” is not a weight, so steps do not update it.", weight);
  if (last != &watched->last)
    return loom_refuse_null (
        error, LOOM_ERROR_PORT,
        self->reports.group->comm != NULL
            ? "Updates are not kept in a run of several ranks. Train with one rank to watch that of “%s”."
            : "There is no update of “%s” before the first step, or no memory for the weights before it.",
        weight);
  before = watched_state_slot (watched, last, weight, error);
  after = before != NULL ? watched_state_slot (watched, &watched->now, weight, error) : NULL;
  for (gint64 i = 0; after != NULL && i < after->count; i++)
    loom_tensor_set (after, i, loom_tensor_get (after, i) - loom_tensor_get (before, i));
  return g_steal_pointer (&after);
}

static void
made (gpointer data)
{
  TrainObservers *self = data;

  if (self->made != NULL)
    self->made (self->made_data);
}

static SnapshotOwner
owner_of (TrainObservers *self)
{
  return (SnapshotOwner){ self->model, self->data, &self->watched, .made = made, .made_data = self };
}

static LoomTensor *
health_of (TrainObservers *self, StateCopy *of, GError **error)
{
  const SnapshotOwner owner = owner_of (self);
  g_autofree char *text = NULL;

  if (self->health == NULL)
    self->health = health_report_new (&owner, error);
  if (self->health == NULL)
    return NULL;
  text = health_report_text (self->health, of, error);
  return text != NULL ? text_to_tensor (text, error) : NULL;
}

static LoomTensor *
value_of (TrainObservers *self, StateCopy *of, const char *port, GError **error)
{
  const SnapshotOwner owner = owner_of (self);
  g_autofree char *text = NULL;

  if (g_str_has_prefix (port, TRAIN_PORT_UPDATE))
    return update_of (self, port + strlen (TRAIN_PORT_UPDATE), error);
  if (is_weight (self->model, port))
    return watched_state_slot (&self->watched, of, port, error);
  text = text_of (self, port);
  if (text != NULL)
    return text_to_tensor (text, error);
  if (g_str_equal (port, LOOM_SNAPSHOT_HEALTH))
    return health_of (self, of, error);
  if (self->snapshots == NULL)
    self->snapshots = snapshots_new (&owner, error);
  if (self->snapshots == NULL)
    return NULL;
  if (g_str_equal (port, LOOM_SNAPSHOT_TIMES))
    return node_times_measure (self->model, self->data, &self->watched, snapshots_net (self->snapshots),
                               snapshots_sample (self->snapshots), error);
  if (g_str_equal (port, LOOM_SNAPSHOT_SAMPLES))
    return count_to_tensor (snapshots_n_samples (self->snapshots), error);
  if (g_str_has_prefix (port, PORT_WORDS))
    return train_data_words (self->data, self->model, snapshots_sample (self->snapshots), port + strlen (PORT_WORDS),
                             error);
  return snapshots_value (self->snapshots, of, port, error);
}

static void
serve_port (TrainObservers *self, TrainRequest *request, gboolean is_paused)
{
  const gboolean now = g_str_has_prefix (request->port, TRAIN_PORT_NOW);
  const char *port = request->port + (now ? strlen (TRAIN_PORT_NOW) : 0);
  WatchedState *watched = &self->watched;
  /* The update of the health needs the optimizer's states, of which there is no copy. */
  const gboolean is_health = g_str_equal (port, LOOM_SNAPSHOT_HEALTH);
  StateCopy *of
      = watched_state_of_step (watched, (is_paused && !now && !is_health) || train_request_is_update (request));

  request->result = value_of (self, of, port, &request->error);
  if (of == &watched->last && g_error_matches (request->error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY))
    {
      /* The current state needs no copy. */
      g_clear_error (&request->error);
      watched_state_drop_last (watched);
      of = &watched->now;
      request->result = value_of (self, of, port, &request->error);
    }
  request->step = watched_state_step (watched, of, train_request_needs_state (request));
}

static gboolean
serve (TrainObservers *self, TrainRequest *request, gboolean fresh, gboolean is_paused)
{
  if (request->samples != NULL)
    {
      serve_samples (self, request);
      return fresh;
    }
  if (request->wants_weights)
    {
      serve_weights (self, request);
      return fresh;
    }
  /* Requests of one round share a run of the plan. */
  if (fresh)
    snapshots_begin_round (self->snapshots);
  serve_port (self, request, is_paused);
  return FALSE;
}

gboolean
train_observers_serve (TrainObservers *self, TrainRequest *request, gboolean fresh, gboolean is_paused)
{
  const char *view = request->samples != NULL ? "predict" : request->wants_weights ? "weights" : request->port;
  const gint64 begin = loom_monotonic ();
  const gboolean result = serve (self, request, fresh, is_paused);

  if (!g_str_equal (view, LOOM_SNAPSHOT_COSTS) && !g_str_equal (view, LOOM_SNAPSHOT_SAMPLES))
    view_costs_add (&self->costs, view, loom_monotonic () - begin);
  return result;
}
