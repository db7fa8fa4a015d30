/* Builds a trainer, gives it away, and takes what other threads ask of it.
 *
 * A trainer is ready to step when loom_trainer_new() returns: graph checked, data open, devices open, the step of the
 * full batch planned, state initialised or restored. So everything that can be wrong is said before the first step. */
#include "engine/train/trainer-private.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static gboolean
check_graph (LoomTrainer *t, const LoomGraph *original, const GPtrArray *given, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  t->net = loom_net_new (t->graph, NULL, faults);
  t->spec = loom_train_spec_new (t->graph, t->net, faults);
  if (!trainer_given_faults (original, given, faults, error))
    return FALSE;
  if (t->spec == NULL)
    {
      const char *file = loom_graph_get_file (original);

      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   "%s%sThe <train> element names initial weights but no loss to minimise. Set its loss, for example "
                   "loss=\"loss\".",
                   file != NULL ? file : "", file != NULL ? ": " : "");
      return FALSE;
    }
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      /* Only warnings are left, and notes are shown as such. */
      LoomFault plain = *loom_faults_get (faults, i);
      plain.is_warning = FALSE;
      g_autofree char *text = loom_fault_to_string (&plain);
      trainer_note (t, "%s%s%s", faults->file != NULL ? faults->file : "", faults->file != NULL ? ": " : "", text);
    }

  guint n = t->spec->metrics->len;
  t->metric_name = g_new0 (const char *, n + 1);
  for (guint i = 0; i < n; i++)
    t->metric_name[i] = ((LoomMetricSpec *)t->spec->metrics->pdata[i])->name;
  t->metric_value = g_new0 (double, n + 1);
  t->eval_value = g_new0 (double, n + 1);
  t->place.watch.best = NAN;
  return TRUE;
}

/* Weights, the order of samples and the place in an epoch hang on these, so a run cannot be resumed with others; the
 * number of epochs and the learning rate belong to what is still to come. spec is of the run's own graph. */
static gboolean
check_resume (const LoomTrainSpec *spec, const LoomTrainerOptions *options, GError **error)
{
  const char *option = options->batch_size > 0 && options->batch_size != spec->batch_size ? "the batch size"
                       : options->seed >= 0 && (guint64)options->seed != spec->seed       ? "the seed"
                       : options->set != NULL && options->set[0] != NULL                  ? "the graph (--set)"
                       : options->weights != NULL || options->match != NULL               ? "the initial weights"
                                                                                          : NULL;

  if (option == NULL)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
               "A resumed run cannot change %s: it keeps its graph, batch size and seed. Leave the option out, or "
               "start a new run. (Epochs, learning rate, device and threads can change.)",
               option);
  return FALSE;
}

/* The learning rate that <train> asks for; schedules start from it. */
static double
spec_lr (const LoomTrainSpec *spec)
{
  for (guint i = 0; spec->optimizer->hyper[i].name != NULL; i++)
    if (g_str_equal (spec->optimizer->hyper[i].name, "lr"))
      return spec->hyper[i];
  return 0;
}

/* The slots that a schedule sets before each step: rates of groups, and the momentum. */
static void
find_rates (LoomTrainer *t)
{
  static const char *const momenta[] = { "momentum", "beta1" };
  int lr = loom_optimizer_find (t->spec->optimizer, "lr");

  t->rates.group = g_new0 (TrainerRate, t->spec->groups->len + 1);
  t->place.group_lr = g_new0 (double, t->spec->groups->len + 1);
  for (guint i = 0; i < t->spec->groups->len; i++)
    {
      const LoomTrainGroup *group = t->spec->groups->pdata[i];
      TrainerRate *rate = &t->rates.group[t->rates.n_groups];
      if (lr < 0 || !(group->own & ((guint64)1 << lr)))
        continue;
      rate->slot_name = g_strconcat (group->prefix, "lr", NULL);
      rate->slot = loom_state_find (t->state, rate->slot_name);
      rate->now = NAN;
      t->place.group_lr[t->rates.n_groups++] = group->hyper[lr];
    }
  t->rates.momentum = NAN;
  t->rates.momentum_slot = -1;
  for (guint i = 0; i < G_N_ELEMENTS (momenta) && t->rates.momentum_slot < 0; i++)
    t->rates.momentum_slot = loom_state_find (t->state, momenta[i]);
}

LoomLoader *
trainer_loader_new (LoomTrainer *t, LoomSplit split, gboolean shuffle, GError **error)
{
  /* With a state that is carried on, an evaluation reads the text as one stream. */
  gint64 batch = t->spec->stateful && !shuffle ? 1 : t->spec->batch_size;
  LoomLoader *loader = loom_loader_new (t->dataset, split, batch, shuffle, t->spec->seed, error);

  if (loader != NULL && t->server != NULL && shuffle)
    {
      int rank, ranks;

      trainer_server_part (t, &rank, &ranks);
      loom_loader_share (loader, rank, ranks);
    }
  /* Every stage reads whole batches: inputs are the first one's, targets the last one's. */
  else if (loader != NULL && t->comm != NULL)
    loom_loader_share (loader, t->mesh.at[LOOM_MESH_DATA], t->mesh.size[LOOM_MESH_DATA]);
  return loader;
}

static gboolean
open_data (LoomTrainer *t, gint64 samples, GError **error)
{
  t->dataset = loom_net_open_dataset (t->net, t->spec->dataset_node, t->data_folder, error);
  if (t->dataset == NULL)
    return FALSE;
  if (t->spec->folds > 0 && t->spec->stateful)
    {
      g_set_error_literal (
          error, LOOM_ERROR, LOOM_ERROR_USAGE,
          "A layer has stateful=\"true\" and continues from the state of the previous batch, so samples cannot be "
          "divided into folds.");
      return FALSE;
    }
  if (t->spec->folds > 0 && !loom_dataset_fold (t->dataset, t->spec->folds, t->spec->fold - 1, t->spec->seed, error))
    return FALSE;
  if (samples > 0)
    loom_dataset_keep (t->dataset, samples, t->spec->seed);
  for (guint i = 0; i < loom_dataset_info (t->dataset)->n_ports; i++)
    t->port_name[i] = loom_net_port_name (t->net, (guint)t->spec->dataset_node, i);
  if (loom_dataset_count (t->dataset, LOOM_SPLIT_TRAIN) == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The data set of node %s has no training samples.",
                   loom_net_node (t->net, (guint)t->spec->dataset_node)->path);
      return FALSE;
    }
  if (!trainer_check_classes (t, error))
    return FALSE;
  t->loader = trainer_loader_new (t, LOOM_SPLIT_TRAIN, TRUE, error);
  if (t->loader == NULL || !trainer_weigh_samples (t, error) || !trainer_drop_last (t, error))
    return FALSE;
  t->steps_per_epoch = (loom_loader_n_batches (t->loader) + t->spec->accumulate - 1) / t->spec->accumulate;
  t->total_steps = t->steps_per_epoch * t->spec->epochs;
  t->spec->schedule.steps_per_epoch = t->steps_per_epoch;
  t->driver = loom_driver (t->spec->optimizer->name);
  t->event_stride = MAX (1, t->total_steps / 20000);
  return TRUE;
}

/* The device that <train> names, as a fault of the file. */
static gboolean
bad_device (LoomTrainer *t, GError *cause, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  loom_faults_set_file (faults, loom_graph_get_file (t->graph));
  loom_faults_add (faults, cause->code,
                   loom_element_line (loom_element_find (loom_graph_root (t->graph), LOOM_TAG_TRAIN)), NULL, "device",
                   "<train>: %s", cause->message);
  g_error_free (cause);
  return loom_faults_to_error (faults, NULL, error);
}

/* The samples of a step that are planned before the first one. */
static gint64
first_batch (const LoomTrainer *t)
{
  gint64 batch = MIN (t->spec->batch_size, loom_dataset_count (t->dataset, LOOM_SPLIT_TRAIN));
  int rank, ranks;

  if (t->server == NULL)
    return batch;
  trainer_server_part (t, &rank, &ranks);
  return batch < ranks ? batch : loom_comm_shard (batch, rank, ranks).count;
}

static gboolean
open_devices (LoomTrainer *t, const LoomTrainerOptions *options, GError **error)
{
  const char *run = options->resume != NULL ? options->resume : options->costs_of;
  g_autofree char *why = NULL;
  GError *local = NULL;

  t->devices = loom_devices_new (t->threads);
  if (options->comm != NULL)
    loom_devices_set_local_rank (t->devices, options->comm->local_rank);
  g_autoptr (LoomCostTable) costs = run != NULL ? loom_run_costs (run, &why) : NULL;
  if (why != NULL)
    trainer_note (t, "%s", why);
  if (costs)
    loom_devices_set_costs (t->devices, costs);
  LoomPlanDevice *device = loom_devices_get (t->devices, t->device, &local);
  if (device == NULL && options->device == NULL && options->resume == NULL
      && loom_element_get (loom_element_find (loom_graph_root (t->graph), LOOM_TAG_TRAIN), "device") != NULL)
    return bad_device (t, local, error);
  if (device == NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }
  g_autofree char *warning = loom_threads_warning (t->threads);
  if (warning != NULL)
    trainer_note (t, "%s", warning);
  t->threads = device->info.threads;
  trainer_memory_begin (t);
  t->state = loom_state_new (t->devices, t->device, t->spec->seed);
  loom_state_set_mesh (t->state, trainer_mesh (t));
  TrainerPlan *plan = trainer_plan_get (t, first_batch (t), TRUE, error);
  if (plan == NULL || !trainer_try_stages (t, error))
    return FALSE;
  t->place.metrics = trainer_metrics_new (t->spec, plan->step);
  trainer_recent_init (&t->recent, t->spec, plan->step, t->steps_per_epoch);
  t->carry_slot = loom_state_find (t->state, LOOM_SLOT_CARRY LOOM_CARRY_POSITION);
  if (!trainer_plan_update (t, error) || (t->loader != NULL && !trainer_ahead_init (t, plan, error)))
    return FALSE;
  /* Of a run that goes on for so many steps it is not known yet in which epoch that is. */
  if ((options->resume == NULL || t->max_steps == 0) && !trainer_check_room (t, error))
    return FALSE;
  trainer_late_init (t, plan);
  t->rates.lr_slot = loom_state_find (t->state, "lr");
  find_rates (t);
  return TRUE;
}

static gboolean
is_writer (const LoomTrainer *t)
{
  return t->comm == NULL || t->comm->rank == 0;
}

LoomTrainer *
loom_trainer_new (const LoomGraph *graph, const LoomTrainerOptions *options, GError **error)
{
  g_autoptr (LoomTrainer) t = g_new0 (LoomTrainer, 1);
  g_autoptr (LoomGraph) read = NULL;
  g_autofree char *device = NULL;
  LoomRunSettings settings;

  g_mutex_init (&t->inbox.lock);
  g_cond_init (&t->inbox.wake);
  g_cond_init (&t->inbox.answered);
  g_queue_init (&t->inbox.commands);
  g_queue_init (&t->inbox.requests);
  t->events.fd = -1;
  t->rates.lr = NAN;
  t->plans = g_ptr_array_new_with_free_func ((GDestroyNotify)trainer_plan_free);
  t->eval_plans = g_ptr_array_new_with_free_func ((GDestroyNotify)trainer_plan_free);
  t->clock.checkpoint_interval
      = (gint64)((options->checkpoint_seconds > 0 ? options->checkpoint_seconds : 30) * G_USEC_PER_SEC);

  t->max_steps = options->steps;
  t->trace.path = g_strdup (options->trace);
  t->trace.is_optional = options->trace_optional;
  t->notes = g_string_new (NULL);
  if (options->resume != NULL)
    {
      read = loom_run_read (options->resume, &settings, error);
      if (read == NULL)
        return NULL;
      device = settings.device;
      t->threads = settings.threads;
      t->ranks = settings.ranks;
      graph = read;
    }
  g_return_val_if_fail (graph != NULL, NULL);
  if (options->threads > 0)
    t->threads = options->threads;

  LoomTrainerOptions applied = *options;
  if (options->resume != NULL)
    {
      applied.batch_size = 0;
      applied.seed = -1;
      applied.set = NULL;
      applied.weights = applied.match = NULL;
    }
  g_autoptr (GPtrArray) given = trainer_given_new ();
  g_autoptr (LoomGraph) changed = trainer_apply_options (graph, &applied, given, error);
  if (changed == NULL)
    return NULL;
  t->graph = loom_graph_freeze (changed);
  /* The run's own graph.xml lies elsewhere, so a relative folder would lose its meaning there. */
  if (loom_graph_get_folder (graph) != NULL)
    t->data_folder = g_canonicalize_filename (loom_graph_get_folder (graph), NULL);
  if (!check_graph (t, graph, given, error) || (options->resume != NULL && !check_resume (t->spec, options, error)))
    return NULL;
  t->comm = options->comm;
  trainer_look_init (t);
  t->keeps = options->out != NULL || options->resume != NULL;
  if (!trainer_open_mesh (t, !options->no_epochs, error))
    return NULL;
  if (options->resume != NULL && !options->no_epochs)
    trainer_note_ranks (t, t->ranks);
  if (t->comm != NULL && t->spec->parallel.server)
    {
      t->server = trainer_server_new (t, error);
      t->spec->gathers = TRUE;
      if (t->server == NULL)
        return NULL;
    }
  if (t->ranks == 0)
    t->ranks = t->comm == NULL ? 1 : t->server != NULL ? t->comm->size - 1 : t->mesh.size[LOOM_MESH_DATA];
  t->spec->batch_size *= t->ranks;
  t->device = g_strdup (options->device != NULL ? options->device : device != NULL ? device : t->spec->device);
  t->place.plateau = (LoomPlateau)LOOM_PLATEAU_INIT;
  t->place.base_lr = spec_lr (t->spec);
  if (!open_data (t, options->samples, error) || !open_devices (t, options, error))
    return NULL;

  if (options->resume != NULL)
    {
      gboolean again = options->epochs > 0 || !isnan (options->lr) || options->device != NULL || options->threads > 0
                       || options->strategy != NULL;
      if (!trainer_restore (t, options->resume, error))
        return NULL;
      if (is_writer (t) && !trainer_folder_open (t, options->resume, again, error))
        return NULL;
      if (!isnan (options->lr))
        t->place.base_lr = spec_lr (t->spec);
      if (options->epochs > 0 && t->place.epoch < t->spec->epochs)
        t->place.watch.patience_exhausted = FALSE; /* who asks for more epochs means it */
    }
  /* A run that was killed before its first checkpoint begins anew, weights and all. */
  if (t->place.events_length == 0 && t->place.step == 0 && !trainer_transfer (t, error))
    return NULL;
  if (options->resume == NULL && options->out != NULL && is_writer (t)
      && !trainer_folder_create (t, options->out, error))
    return NULL;
  if (t->transfer != NULL)
    {
      LoomJson *json = trainer_event_new ("weights");
      loom_transfer_add_json (t->transfer, json);
      if (!trainer_event_write (t, json, error))
        return NULL;
    }
  return g_steal_pointer (&t);
}

void
loom_trainer_free (LoomTrainer *t)
{
  TrainerCommand *command;

  if (t == NULL)
    return;
  trainer_ahead_drop (t);
  trainer_snapshots_free (t->snapshots);
  trainer_answers_free (t->answers);
  g_ptr_array_unref (t->plans);
  g_ptr_array_unref (t->eval_plans);
  loom_exec_free (t->update);
  trainer_rollback_free (t->rollback);
  for (guint i = 0; i < LOOM_N_SPLITS; i++)
    loom_loader_free (t->eval_loader[i]);
  loom_loader_free (t->loader);
  loom_dataset_free (t->dataset);
  for (guint i = 0; i < LOOM_DATASET_MAX_PORTS; i++)
    g_free (t->port_name[i]);
  g_clear_pointer (&t->state, loom_state_unref);
  g_clear_pointer (&t->devices, loom_devices_unref);
  loom_mesh_close (&t->mesh);
  for (guint i = 0; i < t->rates.n_groups; i++)
    g_free (t->rates.group[i].slot_name);
  g_free (t->rates.group);
  loom_train_spec_free (t->spec);
  loom_net_free (t->net);
  g_clear_pointer (&t->graph, loom_graph_unref);
  trainer_events_close (&t->events);
  g_free (t->metric_name);
  trainer_place_clear (&t->place);
  trainer_recent_clear (&t->recent);
  trainer_transfer_free (t->transfer);
  g_free (t->metric_value);
  g_free (t->eval_value);
  trainer_trace_free (&t->trace);
  trainer_look_free (&t->look);
  trainer_seen_free (&t->seen);
  trainer_seen_free (&t->last);
  trainer_loss_clear (&t->loss);
  trainer_server_free (t->server);
  g_free (t->device);
  g_free (t->data_folder);
  g_free (t->folder);
  loom_folder_free (t->files);
  g_clear_pointer (&t->set_since, g_array_unref);
  g_free (t->failed_node);
  g_free (t->failed_port);
  if (t->notes != NULL)
    g_string_free (t->notes, TRUE);
  while ((command = g_queue_pop_head (&t->inbox.commands)))
    {
      g_free (command->name);
      g_free (command);
    }
  g_queue_clear (&t->inbox.requests);
  g_mutex_clear (&t->inbox.lock);
  g_cond_clear (&t->inbox.wake);
  g_cond_clear (&t->inbox.answered);
  g_free (t);
}

void
loom_trainer_set_last_step (LoomTrainer *t, gint64 step)
{
  t->max_steps = step;
}

void
loom_trainer_set_observer (LoomTrainer *t, const LoomTrainerObserver *observer, gpointer data)
{
  t->observer = observer != NULL ? *observer : (LoomTrainerObserver){ 0 };
  t->observer_data = data;
}

void
trainer_set_state (LoomTrainer *t, const char *state)
{
  if (g_strcmp0 (t->shown_state, state) == 0)
    return;
  t->shown_state = state;
  if (t->observer.state != NULL)
    t->observer.state (t, state, t->observer_data);
}

void
loom_trainer_post (LoomTrainer *t, LoomCommandKind kind, const char *name, double value)
{
  TrainerCommand *command = g_new (TrainerCommand, 1);
  *command = (TrainerCommand){ kind, g_strdup (name), value };

  g_mutex_lock (&t->inbox.lock);
  g_queue_push_tail (&t->inbox.commands, command);
  g_atomic_int_set (&t->inbox.pending, 1);
  g_cond_signal (&t->inbox.wake);
  g_mutex_unlock (&t->inbox.lock);
}

double
loom_trainer_base_lr (LoomTrainer *t)
{
  return t->place.base_lr;
}

gboolean
loom_trainer_has_hyper (LoomTrainer *t, const char *name)
{
  /* What a schedule sets before each step nobody else can. */
  for (guint i = 0; i < t->spec->scheduled->len; i++)
    if (g_str_equal (((const LoomScheduled *)t->spec->scheduled->pdata[i])->slot, name))
      return FALSE;
  for (guint i = 0; i < loom_state_n_slots (t->state); i++)
    {
      const char *slot;
      LoomSlotKind kind;
      LoomTensorDesc desc;
      loom_state_slot (t->state, i, &slot, &kind, &desc);
      /* Slots that say which part of a step a batch is belong to the trainer. */
      if (kind == LOOM_SLOT_SCALAR && loom_dtype_is_float (desc.dtype) && g_str_equal (slot, name)
          && (int)i != t->weight_slot && (int)i != t->first_slot)
        return TRUE;
    }
  return FALSE;
}

LoomTensor *
loom_trainer_snapshot (LoomTrainer *t, const char *port, gint64 *step, GError **error)
{
  TrainerRequest request = { .port = port };
  LoomTensor *result = trainer_ask (t, &request, error);

  if (step != NULL)
    *step = request.step;
  return result;
}

void
trainer_note (LoomTrainer *t, const char *format, ...)
{
  va_list args;

  if (t->notes->len > 0)
    g_string_append_c (t->notes, '\n');
  va_start (args, format);
  g_string_append_vprintf (t->notes, format, args);
  va_end (args);
}

const char *
loom_trainer_get_failed_node (const LoomTrainer *t, const char **port)
{
  if (port != NULL)
    *port = t->failed_port;
  return t->failed_node;
}

const char *
loom_trainer_notes (const LoomTrainer *t)
{
  return t->notes->len > 0 ? t->notes->str : NULL;
}

const LoomNet *
loom_trainer_net (const LoomTrainer *t)
{
  return t->net;
}

const LoomTrainSpec *
loom_trainer_spec (const LoomTrainer *t)
{
  return t->spec;
}

gint64
loom_trainer_steps (const LoomTrainer *t)
{
  return t->place.step;
}

gint64
loom_trainer_total_steps (const LoomTrainer *t)
{
  return t->total_steps;
}

gboolean
loom_trainer_has_traced (const LoomTrainer *t)
{
  return t->trace.is_written;
}

gboolean
loom_trainer_is_over (const LoomTrainer *t)
{
  return t->place.epoch >= t->spec->epochs || t->place.watch.patience_exhausted;
}

const LoomTransfer *
loom_trainer_transfer (const LoomTrainer *t)
{
  return t->transfer;
}

const char *
loom_trainer_device (const LoomTrainer *t)
{
  return t->device;
}

LoomState *
loom_trainer_state (const LoomTrainer *t)
{
  return t->state;
}
