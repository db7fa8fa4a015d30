/* Reads checkpoints into a run: the newest valid one to resume it, or the nearest one to a step to go back to. Checks
 * first that it was written with the same batch size, seed and accumulation. */
#include "engine/train/run-state.h"

#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-run-files.h"
#include "engine/infer/loom-run-json.h"
#include "engine/train/state-pack.h"

#include <errno.h>
#include <math.h>

/* If patience was added to a run's graph, monitoring begins there. */
static gboolean
read_watch (const RunState *self, const LoomRunJson *json, LoomTrainerWatch *watch, GError **error)
{
  LoomRunJson object;
  gint64 over;

  *watch = (LoomTrainerWatch){ .best = NAN };
  if (!self->model->spec->keep_best || !json_object_has_member (json->object, "early_stopping"))
    return TRUE;
  if (!loom_run_json_object (json, "early_stopping", &object, error)
      || !loom_run_json_double (&object, "best", TRUE, &watch->best, error)
      || !loom_run_json_int (&object, "best_epoch", 0, G_MAXINT64, &watch->best_epoch, error)
      || !loom_run_json_int (&object, "bad", 0, G_MAXINT64, &watch->epochs_since_best, error)
      || !loom_run_json_int (&object, "over", 0, 1, &over, error))
    return FALSE;
  watch->patience_exhausted = over != 0;
  return TRUE;
}

/* Written after the batch size has changed. */
static gboolean
read_division (const RunState *self, const LoomRunJson *json, const TrainProgress *p, EpochDivision *division,
               GError **error)
{
  const gint64 samples = self->data->n_samples;
  LoomRunJson object;

  *division = (EpochDivision){ .batch_size = self->model->spec->batch_size };
  /* With a first step of -1 it fits no run. */
  if (__builtin_mul_overflow (p->epoch, self->rates->steps_per_epoch, &division->first_step))
    division->first_step = -1;
  if (!json_object_has_member (json->object, "division"))
    return TRUE;
  return loom_run_json_object (json, "division", &object, error)
         && loom_run_json_int (&object, "batch_size", 1, MAX (1, samples), &division->batch_size, error)
         && loom_run_json_int (&object, "first_step", 0, p->step, &division->first_step, error)
         && loom_run_json_int (&object, "place", 0, MIN (p->step, samples), &division->batch, error)
         && loom_run_json_int (&object, "sample", 0, samples, &division->sample, error);
}

static gboolean
read_progress (const RunState *self, const LoomRunJson *json, TrainProgress *p, gint64 *events_length, GError **error)
{
  const gint64 many = (gint64)1 << 52;

  if (!loom_run_json_int (json, "step", 0, many, &p->step, error)
      || !loom_run_json_int (json, "epoch", 0, many, &p->epoch, error)
      || !read_division (self, json, p, &p->division, error)
      || !loom_run_json_int (json, "place", p->division.batch,
                             train_data_count_steps (self->data, self->model, &p->division), &p->batch, error)
      || !loom_run_json_int (json, "events_length", 0, G_MAXINT64, events_length, error)
      || !loom_run_json_double (json, "loss_sum", TRUE, &p->loss_sum, error)
      || !loom_run_json_double (json, "sample_sum", FALSE, &p->sample_sum, error))
    return FALSE;
  if (p->step != p->division.first_step + p->batch)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "%s does not fit this run: step %" G_GINT64_FORMAT " is not batch %" G_GINT64_FORMAT
                        " of epoch %" G_GINT64_FORMAT " with %" G_GINT64_FORMAT
                        " batches an epoch. Check that the training data are the same as before.",
                        json->path, p->step, p->batch, p->epoch + 1, self->rates->steps_per_epoch);
  return TRUE;
}

/* In older checkpoints accuracy was one sum, whose weight included targets that losses ignore. */
static gboolean
read_statistics (const LoomRunJson *one, guint size, double *total, GError **error)
{
  if (size == 1)
    return loom_run_json_double (one, "sum", TRUE, total, error);
  if (size == 2 && json_object_has_member (one->object, "sum"))
    return loom_run_json_double (one, "sum", TRUE, &total[0], error)
           && loom_run_json_double (one, "weight", FALSE, &total[1], error);
  return loom_run_json_doubles (one, "statistics", size, total, error);
}

static gboolean
read_metrics (const RunState *self, const LoomRunJson *json, TrainProgress *p, GError **error)
{
  MetricSums *m = metric_sums_new (self->model->spec, self->plan->step);
  JsonArray *list;

  p->metrics = m;
  if (!loom_run_json_objects (json, "metrics", m->n, &list, error))
    return FALSE;
  for (guint i = 0; i < m->n; i++)
    {
      LoomRunJson one = { json->path, json_array_get_object_element (list, i) };
      if (!read_statistics (&one, m->size[i], m->total + m->at[i], error)
          || !loom_run_json_double (&one, "weight", FALSE, &m->weight[i], error))
        return FALSE;
    }
  return TRUE;
}

/* The order and size of batches depend on these two, so they cannot change when a run is resumed. */
static gboolean
check_same_run (const RunState *self, const LoomRunJson *json, GError **error)
{
  gint64 batch_size, seed, accumulate = 1, left_out = 0;

  if (!loom_run_json_int (json, "batch_size", 1, G_MAXINT64, &batch_size, error)
      || !loom_run_json_int (json, "seed", G_MININT64, G_MAXINT64, &seed, error)
      || (json_object_has_member (json->object, "accumulate")
          && !loom_run_json_int (json, "accumulate", 1, G_MAXINT64, &accumulate, error))
      || (json_object_has_member (json->object, "left_out")
          && !loom_run_json_int (json, "left_out", 0, G_MAXINT64, &left_out, error)))
    return FALSE;
  if (left_out != self->data->left_out)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "%s was written with epochs that dropped %" G_GINT64_FORMAT
                        " samples, but with drop_last in the "
                        "run's graph.xml they drop %" G_GINT64_FORMAT ". Restore the former value, or start a new run.",
                        json->path, left_out, self->data->left_out);
  if (accumulate != self->model->spec->accumulate)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "%s was written with accumulate %" G_GINT64_FORMAT
                        ", but the run's graph.xml has %" G_GINT64_FORMAT
                        ". Restore the former value, or start a new run.",
                        json->path, accumulate, self->model->spec->accumulate);
  if (batch_size == self->model->spec->batch_size && seed == (gint64)self->model->spec->seed)
    return TRUE;
  return loom_refuse (
      error, LOOM_ERROR_DATA,
      "%s was written with batch_size %" G_GINT64_FORMAT " and seed %" G_GINT64_FORMAT ", but the run's "
      "graph.xml has %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT ". Restore the former values, or start a "
      "new run.",
      json->path, batch_size, seed, self->model->spec->batch_size, (gint64)self->model->spec->seed);
}

/* A device of the same name may be another card, or have other libraries. */
static void
note_devices (const RunState *self, const LoomRunJson *json, TrainNotes *notes)
{
  const LoomPlan *plan = loom_exec_plan (self->plan->exec);
  LoomRunJson devices;

  if (!json_object_has_member (json->object, "devices") || !loom_run_json_object (json, "devices", &devices, NULL))
    return;
  for (guint i = 0; i < loom_plan_n_devices (plan); i++)
    {
      const LoomPlanDevice *d = loom_plan_device (plan, i);
      const char *before;

      if (json_object_has_member (devices.object, d->name) && loom_run_json_string (&devices, d->name, &before, NULL)
          && !g_str_equal (before, d->cost_key))
        train_notes_add (notes, "%s is “%s”, but was “%s” before: the run's last bits may differ.", d->name,
                         d->cost_key, before);
    }
}

static void
note_differences (const RunState *self, const LoomRunJson *json, TrainNotes *notes)
{
  const char *costs = loom_cost_table_hash (loom_devices_costs (self->model->devices)), *before, *device;
  gint64 threads;

  /* The run's own table is missing or cannot be read. */
  if (json_object_has_member (json->object, "cost_table") && loom_run_json_string (json, "cost_table", &before, NULL)
      && !g_str_equal (before, costs))
    train_notes_add (
        notes,
        "the run continues with cost table %s, because its own (%s) is not in its checkpoint: other kernels may be "
        "chosen, and its last bits may differ.",
        costs, before);
  if (!loom_run_json_string (json, "device", &device, NULL)
      || !loom_run_json_int (json, "threads", 0, G_MAXINT, &threads, NULL))
    return;
  if (!g_str_equal (device, self->model->device))
    train_notes_add (notes, "the run continues on %s, not on %s as before: its last bits may differ.",
                     self->model->device, device);
  else if (threads != self->model->threads)
    train_notes_add (
        notes, "the run continues with %d thread%s, not with %" G_GINT64_FORMAT " as before: its last bits may differ.",
        self->model->threads, self->model->threads == 1 ? "" : "s", threads);
  else
    note_devices (self, json, notes);
}

/* The rates that schedules start from, and the state of "plateau". */
static gboolean
read_rates (const RunState *self, const LoomRunJson *json, TrainProgress *p, GError **error)
{
  const gint64 many = (gint64)1 << 52;
  LoomRunJson hyper, plateau;

  p->group_lr = g_new0 (double, self->rates->n_groups + 1);
  p->epochs = self->model->spec->epochs;
  if (json_object_has_member (json->object, "epochs")
      && !loom_run_json_int (json, "epochs", 0, G_MAXINT, &p->epochs, error))
    return FALSE;
  if (!loom_run_json_object (json, "hyper", &hyper, error)
      || !loom_run_json_double (&hyper, "base_lr", FALSE, &p->base_lr, error))
    return FALSE;
  for (guint i = 0; i < self->rates->n_groups; i++)
    {
      g_autofree char *base = g_strconcat ("base_", self->rates->group[i].slot_name, NULL);
      if (!loom_run_json_double (&hyper, base, FALSE, &p->group_lr[i], error))
        return FALSE;
    }
  if (self->model->spec->schedule.klass == NULL || !self->model->spec->schedule.klass->watches_loss)
    return TRUE;
  return loom_run_json_object (json, "plateau", &plateau, error)
         && loom_run_json_double (&plateau, "best", TRUE, &p->plateau.best, error)
         && loom_run_json_int (&plateau, "bad", 0, many, &p->plateau.bad, error)
         && loom_run_json_int (&plateau, "cooldown", 0, many, &p->plateau.cooldown, error)
         && loom_run_json_int (&plateau, "reductions", 0, many, &p->plateau.reductions, error);
}

/* Of a branch. */
static gboolean
read_parent (const LoomRunJson *json, TrainProgress *p, GError **error)
{
  const char *parent;

  if (!json_object_has_member (json->object, "parent"))
    return TRUE;
  if (!loom_run_json_string (json, "parent", &parent, error)
      || !loom_run_json_int (json, "parent_step", 0, (gint64)1 << 52, &p->parent_step, error))
    return FALSE;
  p->parent = g_strdup (parent);
  return TRUE;
}

/* Checks the whole text before anything changes. */
static gboolean
read_state (const RunState *self, const LoomRunJson *json, TrainProgress *read, gint64 *events_length, GError **error)
{
  gint64 version;

  if (!loom_run_json_int (json, "version", 0, G_MAXINT64, &version, error))
    return FALSE;
  if (version != RUN_STATE_VERSION)
    return loom_refuse (error, LOOM_ERROR_DATA, "%s was written by another version of Gradloom.", json->path);
  return check_same_run (self, json, error) && read_progress (self, json, read, events_length, error)
         && read_metrics (self, json, read, error) && read_watch (self, json, &read->watch, error)
         && read_rates (self, json, read, error) && read_parent (json, read, error);
}

static void
take_progress (TrainProgress *progress, TrainProgress *read)
{
  train_progress_clear (progress);
  *progress = *read;
  *read = (TrainProgress){ 0 };
}

/* Of a checkpoint, or packed in a history. */
static gboolean
load_state (LoomState *state, LoomFolder *checkpoints, LoomFolder *folder, gint64 step, GError **error)
{
  g_autoptr (GPtrArray) value = NULL;
  struct stat info;

  if (!loom_folder_stat (folder, STATE_PACK_FILE, &info) && errno == ENOENT)
    return loom_state_load_weights_in (state, folder, LOOM_RUN_WEIGHTS, error)
           && loom_state_load_optimizer (state, folder, LOOM_RUN_OPTIMIZER, error);
  value = state_pack_read (state, checkpoints, step, error);
  return value != NULL && state_put_values (state, value, error);
}

static gboolean
restore_from (const RunState *self, LoomFolder *checkpoints, gint64 step, TrainProgress *progress,
              gint64 *events_length, TrainNotes *notes, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_run_checkpoint_enter (checkpoints, step, error);
  g_autofree char *state = NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_auto (TrainProgress) read = { .plateau = LOOM_PLATEAU_INIT };
  LoomRunJson json;
  gint64 length;

  if (folder == NULL || !loom_run_json_root (parser, folder, LOOM_RUN_STATE, &state, &json, error)
      || !read_state (self, &json, &read, &length, error)
      || !load_state (self->model->state, checkpoints, folder, step, error))
    return FALSE;
  take_progress (progress, &read);
  *events_length = length;
  note_differences (self, &json, notes);
  return TRUE;
}

gboolean
run_state_from_text (const RunState *self, const char *text, TrainProgress *progress, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_auto (TrainProgress) read = { .plateau = LOOM_PLATEAU_INIT };
  LoomRunJson json = { LOOM_RUN_STATE, NULL };
  gint64 length;

  if (!json_parser_load_from_data (parser, text, -1, error))
    return FALSE;
  json.object = json_node_get_object (json_parser_get_root (parser));
  if (!read_state (self, &json, &read, &length, error))
    return FALSE;
  take_progress (progress, &read);
  return TRUE;
}

/* The steps of checkpoints that may be used: at most `last`. The others are removed from the list. */
static void
drop_later (GArray *steps, gint64 last)
{
  while (last > 0 && steps->len > 0 && g_array_index (steps, gint64, 0) > last)
    g_array_remove_index (steps, 0);
}

/* FALSE if a file of a checkpoint is certainly missing; if none is, an error of reading them is no damage. */
static gboolean
may_be_complete (LoomFolder *checkpoints, gint64 step)
{
  static const char *const names[] = { LOOM_RUN_WEIGHTS, LOOM_RUN_OPTIMIZER, LOOM_RUN_STATE };
  gboolean complete = TRUE;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT "/%s", step, names[i]);
      struct stat info;

      if (loom_folder_stat (checkpoints, name, &info))
        complete = complete && S_ISREG (info.st_mode) && info.st_size > 0;
      else
        complete = complete && errno != ENOENT && errno != ENOTDIR;
    }
  return complete;
}

gboolean
run_state_restore (const RunState *self, const char *run, gint64 last, TrainProgress *progress, gint64 *events_length,
                   TrainNotes *notes, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (run, error);
  g_autoptr (LoomFolder) checkpoints = NULL;
  g_autoptr (GArray) steps = NULL;
  g_autoptr (GError) first = NULL;

  if (folder == NULL)
    return FALSE;
  checkpoints = loom_folder_enter (folder, LOOM_RUN_CHECKPOINTS, TRUE, error);
  if (checkpoints == NULL)
    return FALSE;
  steps = loom_run_checkpoint_steps (checkpoints, error);
  if (steps == NULL)
    return FALSE;
  drop_later (steps, last);
  if (last > 0 && steps->len == 0)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "%s has no checkpoint of step %" G_GINT64_FORMAT
                        " or before. Resume from the newest one, or start a "
                        "new run.",
                        loom_folder_path (checkpoints), last);
  for (guint i = 0; i < steps->len; i++)
    {
      g_autoptr (GError) local = NULL;

      if (restore_from (self, checkpoints, g_array_index (steps, gint64, i), progress, events_length, notes, &local))
        return TRUE;
      /* An older checkpoint needs as much memory, and steps would be lost. So they would if this one can be read the
       * next time: to continue from an earlier one cuts its events. */
      if (g_error_matches (local, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY)
          || (g_error_matches (local, LOOM_ERROR, LOOM_ERROR_IO)
              && may_be_complete (checkpoints, g_array_index (steps, gint64, i))))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      if (i + 1 < steps->len)
        train_notes_add (notes, "%s The previous checkpoint is used.", local->message);
      if (first == NULL)
        first = g_steal_pointer (&local);
    }
  if (first == NULL)
    return TRUE; /* stopped before the first checkpoint: it begins again, with the same numbers */
  return loom_refuse (error, LOOM_ERROR_DATA, "No checkpoint in %s can be used: %s", loom_folder_path (checkpoints),
                      first->message);
}

/* ---- the nearest of all ------------------------------------------------- */

typedef struct
{
  gint64 step;
  LoomFolder *folder; /* that it is in */
} Found;

static int
compare_found (gconstpointer a, gconstpointer b)
{
  const gint64 x = ((const Found *)a)->step, y = ((const Found *)b)->step;

  return x < y ? 1 : x > y ? -1 : 0;
}

static gboolean
find_in (GArray *all, LoomFolder *folder, gint64 after, gint64 last, GError **error)
{
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (folder, error);

  for (guint i = 0; steps != NULL && i < steps->len; i++)
    {
      const Found found = { g_array_index (steps, gint64, i), folder };

      if (found.step > after && found.step <= last)
        g_array_append_val (all, found);
    }
  return steps != NULL;
}

gboolean
run_state_restore_near (const RunState *self, LoomFolder *run, gint64 after, gint64 last, TrainProgress *progress,
                        gboolean *found, GError **error)
{
  g_autoptr (LoomFolder) checkpoints = loom_folder_enter (run, LOOM_RUN_CHECKPOINTS, FALSE, NULL);
  g_autoptr (LoomFolder) history = loom_folder_enter (run, LOOM_RUN_HISTORY, FALSE, NULL);
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (Found));
  g_auto (TrainNotes) notes = { 0 };
  g_autoptr (GError) first = NULL;
  gint64 length;

  *found = FALSE;
  if (!find_in (all, checkpoints, after, last, error) || !find_in (all, history, after, last, error))
    return FALSE;
  g_array_sort (all, compare_found);
  for (guint i = 0; i < all->len && !*found; i++)
    {
      const Found *at = &g_array_index (all, Found, i);
      g_autoptr (GError) local = NULL;

      *found = restore_from (self, at->folder, at->step, progress, &length, &notes, &local);
      if (first == NULL)
        first = g_steal_pointer (&local);
    }
  if (*found || first == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&first));
  return FALSE;
}
