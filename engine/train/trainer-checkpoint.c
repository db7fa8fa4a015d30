/* Checkpoints: one folder each, whole or absent.
 *
 * A checkpoint is written under another name, every file forced to the disk, and renamed, so that no two steps can
 * mix and a run killed at any moment finds the one before. What resuming needs besides the state's tensors is in
 * state.json: the place, the sums of the running epoch, and how long events.jsonl was, so that the events after it are
 * cut away and written again with the same numbers. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-atomic-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Kept: the newest of any kind, and the newest that stand at an epoch's end. */
#define KEEP_NEWEST 3
#define KEEP_EPOCHS 10

static gboolean
io_error (GError **error, const char *what, const char *path)
{
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s %s: %s.", what, path, g_strerror (errno));
  return FALSE;
}

/* A checkpoint holds files only. */
static void
remove_folder (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir)))
    {
      g_autofree char *file = g_build_filename (path, name, NULL);
      g_unlink (file);
    }
  g_rmdir (path);
}

static int
compare_steps (gconstpointer a, gconstpointer b)
{
  gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* Steps of the checkpoints in a run, newest first; leftovers of interrupted writes are removed when asked. */
static GArray *
list_steps (const char *checkpoints, gboolean clean)
{
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GDir) dir = g_dir_open (checkpoints, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir)))
    {
      char *end;
      gint64 step = g_ascii_strtoll (name, &end, 10);
      if (g_ascii_isdigit (name[0]) && *end == 0)
        g_array_append_val (steps, step);
      else if (clean && g_str_has_prefix (name, ".new-"))
        {
          g_autofree char *path = g_build_filename (checkpoints, name, NULL);
          remove_folder (path);
        }
    }
  g_array_sort (steps, compare_steps);
  return steps;
}

static void
prune (LoomTrainer *t, const char *checkpoints)
{
  g_autoptr (GArray) steps = list_steps (checkpoints, TRUE);
  guint epochs = 0;

  for (guint i = 0; i < steps->len; i++)
    {
      gint64 step = g_array_index (steps, gint64, i);
      gboolean at_epoch = step % t->steps_per_epoch == 0;
      if (i < KEEP_NEWEST || (at_epoch && epochs < KEEP_EPOCHS))
        {
          epochs += at_epoch;
          continue;
        }
      g_autofree char *path = g_strdup_printf ("%s/%" G_GINT64_FORMAT, checkpoints, step);
      remove_folder (path);
    }
}

/* ---- writing ---------------------------------------------------------- */

/* A checkpoint of this step may be there already, with other hyper-parameters: then the two are exchanged in one go. */
static gboolean
put_in_place (const char *fresh, const char *path, GError **error)
{
  if (rename (fresh, path) == 0)
    return TRUE;
  if (errno != ENOTEMPTY && errno != EEXIST)
    return io_error (error, "Cannot rename a checkpoint to", path);
  if (renameat2 (AT_FDCWD, fresh, AT_FDCWD, path, RENAME_EXCHANGE) != 0)
    {
      /* Not every file system can exchange. */
      remove_folder (path);
      if (rename (fresh, path) != 0)
        return io_error (error, "Cannot rename a checkpoint to", path);
    }
  else
    remove_folder (fresh);
  return TRUE;
}

static gboolean
copy_weights (LoomTrainer *t, const char *path, GError **error)
{
  g_autofree char *from = g_build_filename (path, "weights.safetensors", NULL);
  g_autofree char *to = g_build_filename (t->folder, "weights.safetensors", NULL);
  g_autofree char *fresh = g_build_filename (t->folder, ".weights.new", NULL);
  g_autofree char *data = NULL;
  gsize length;

  /* A second name for the same bytes is the cheapest copy; files here are only ever replaced, never written into. */
  g_unlink (fresh);
  if (link (from, fresh) == 0)
    {
      if (rename (fresh, to) != 0)
        return io_error (error, "Cannot rename to", to);
      g_unlink (fresh); /* rename() leaves both when they were one file already */
      return TRUE;
    }
  return g_file_get_contents (from, &data, &length, error) && loom_file_replace (to, data, length, error);
}

gboolean
trainer_checkpoint_weights (LoomTrainer *t, const char *name, GError **error)
{
  g_autofree char *path = t->folder ? g_build_filename (t->folder, name, NULL) : NULL;

  return !path || loom_state_save_weights_of (t->state, trainer_has_averages (t) ? LOOM_SLOT_EMA : "", path, error);
}

/* The table that the run's kernels are chosen by, and what was chosen: a resumed run goes on with both. */
#define COSTS "costs.ini"

static gboolean
write_costs (LoomTrainer *t, const char *folder, GError **error)
{
  g_autofree char *path = g_build_filename (folder, COSTS, NULL);
  g_autofree char *text = loom_cost_table_to_text (loom_devices_costs (t->devices), TRUE);

  return loom_file_replace (path, text, strlen (text), error);
}

LoomCostTable *
loom_run_costs (const char *folder, char **note)
{
  g_autofree char *checkpoints = g_build_filename (folder, "checkpoints", NULL);
  g_autoptr (GArray) steps = list_steps (checkpoints, FALSE);

  *note = NULL;
  for (guint i = 0; i < steps->len; i++)
    {
      g_autofree char *path
          = g_strdup_printf ("%s/%" G_GINT64_FORMAT "/" COSTS, checkpoints, g_array_index (steps, gint64, i));
      g_autofree char *text = NULL;
      g_autoptr (GError) local = NULL;
      LoomCostTable *table;

      /* An older version of Gradloom kept none. */
      if (!g_file_get_contents (path, &text, NULL, NULL))
        continue;
      table = loom_cost_table_new_from_text (text, path, &local);
      if (table)
        return table;
      if (*note == NULL)
        *note = g_strdup_printf ("%s The run's last bits may differ.", local->message);
    }
  return NULL;
}

static gboolean
write_checkpoint (LoomTrainer *t, char **out_path, GError **error)
{
  g_autofree char *checkpoints = g_build_filename (t->folder, "checkpoints", NULL);
  g_autofree char *path = g_strdup_printf ("%s/%" G_GINT64_FORMAT, checkpoints, t->step);
  g_autofree char *fresh = g_strdup_printf ("%s/.new-%" G_GINT64_FORMAT, checkpoints, t->step);
  g_autofree char *weights = g_build_filename (fresh, "weights.safetensors", NULL);
  g_autofree char *optimizer = g_build_filename (fresh, "optimizer.safetensors", NULL);
  g_autofree char *state = g_build_filename (fresh, "state.json", NULL);
  gint64 start = g_get_monotonic_time ();

  if (!trainer_events_flush (t, error))
    return FALSE;
  if (t->events.fd >= 0 && fdatasync (t->events.fd) != 0)
    return io_error (error, "Cannot write events.jsonl in", t->folder);
  remove_folder (fresh);
  if (g_mkdir_with_parents (fresh, 0777) != 0)
    return io_error (error, "Cannot create the folder", fresh);
  if (!loom_state_save_weights (t->state, weights, error) || !loom_state_save_optimizer (t->state, optimizer, error)
      || !trainer_state_write (t, state, error) || !write_costs (t, fresh, error) || !loom_folder_sync (fresh, error)
      || !put_in_place (fresh, path, error))
    {
      remove_folder (fresh);
      return FALSE;
    }
  if (!loom_folder_sync (checkpoints, error) || !copy_weights (t, path, error)
      || (trainer_has_averages (t) && !trainer_checkpoint_weights (t, "weights-ema.safetensors", error)))
    return FALSE;
  prune (t, checkpoints);

  t->saved_step = t->step;
  t->last_checkpoint = g_get_monotonic_time ();
  t->checkpoint_cost += t->last_checkpoint - start;
  if (t->observer.checkpoint)
    t->observer.checkpoint (t, t->step, path, t->observer_data);
  if (out_path)
    *out_path = g_steal_pointer (&path);
  return TRUE;
}

/* A file alone is written again after a full disk; a run is continued. */
gboolean
trainer_checkpoint_write (LoomTrainer *t, char **out_path, GError **error)
{
  static const char advice[] = "free some space and try again.";
  g_autoptr (GError) local = NULL;
  const char *found;

  if (!t->folder || write_checkpoint (t, out_path, &local))
    return TRUE;
  found = strstr (local->message, advice);
  if (found)
    {
      g_autofree char *before = g_strndup (local->message, found - local->message);
      g_set_error (error, local->domain, local->code, "%sfree some space and continue with: gradloom train --resume %s",
                   before, t->folder);
    }
  else
    g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/* ---- reading ---------------------------------------------------------- */

/* What state.json says, checked whole before anything is taken from it. */
typedef struct
{
  gint64 step, epoch, place, events_length;
  double loss_sum, sample_sum, base_lr;
  double *metric; /* all statistics, then the weights */
  LoomTrainerWatch watch;
} Place;

static void
place_clear (Place *place)
{
  g_free (place->metric);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Place, place_clear)

/* Who has edited patience into a run's graph begins to watch from there. */
static gboolean
read_watch (LoomTrainer *t, const TrainerJson *json, LoomTrainerWatch *watch, GError **error)
{
  TrainerJson object;
  gint64 over;

  *watch = (LoomTrainerWatch){ .best = NAN };
  if (!t->spec->keep_best || !json_object_has_member (json->object, "early_stopping"))
    return TRUE;
  if (!trainer_json_object (json, "early_stopping", &object, error)
      || !trainer_json_double (&object, "best", TRUE, &watch->best, error)
      || !trainer_json_int (&object, "best_epoch", 0, G_MAXINT64, &watch->best_epoch, error)
      || !trainer_json_int (&object, "bad", 0, G_MAXINT64, &watch->bad, error)
      || !trainer_json_int (&object, "over", 0, 1, &over, error))
    return FALSE;
  watch->over = over != 0;
  return TRUE;
}

static gboolean
read_place (LoomTrainer *t, const TrainerJson *json, Place *p, GError **error)
{
  const gint64 many = (gint64)1 << 52;
  guint n_metrics = t->spec->metrics->len;
  JsonArray *metrics;
  TrainerJson hyper;

  if (!trainer_json_int (json, "step", 0, many, &p->step, error)
      || !trainer_json_int (json, "epoch", 0, many, &p->epoch, error)
      || !trainer_json_int (json, "place", 0, t->steps_per_epoch, &p->place, error)
      || !trainer_json_int (json, "events_length", 0, G_MAXINT64, &p->events_length, error)
      || !trainer_json_double (json, "loss_sum", TRUE, &p->loss_sum, error)
      || !trainer_json_double (json, "sample_sum", FALSE, &p->sample_sum, error)
      || !trainer_json_object (json, "hyper", &hyper, error)
      || !trainer_json_double (&hyper, "base_lr", FALSE, &p->base_lr, error)
      || !trainer_json_objects (json, "metrics", n_metrics, &metrics, error))
    return FALSE;
  if (p->epoch > many / t->steps_per_epoch || p->step != p->epoch * t->steps_per_epoch + p->place)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s does not fit this run: step %" G_GINT64_FORMAT " is not batch %" G_GINT64_FORMAT
                   " of epoch %" G_GINT64_FORMAT " with %" G_GINT64_FORMAT
                   " batches an epoch. Is the training data the same as before?",
                   json->path, p->step, p->place, p->epoch + 1, t->steps_per_epoch);
      return FALSE;
    }
  p->metric = g_new0 (double, trainer_metrics_count (t->metrics) + n_metrics + 1);
  for (guint i = 0; i < n_metrics; i++)
    {
      TrainerJson m = { json->path, json_array_get_object_element (metrics, i) };
      guint size = t->metrics->size[i];
      double *total = p->metric + t->metrics->at[i];
      if (!(size == 1 ? trainer_json_double (&m, "sum", TRUE, total, error)
                      : trainer_json_doubles (&m, "statistics", size, total, error))
          || !trainer_json_double (&m, "weight", FALSE, p->metric + trainer_metrics_count (t->metrics) + i, error))
        return FALSE;
    }
  return read_watch (t, json, &p->watch, error);
}

/* Order and size of batches come from these two, so a run cannot go on with others. */
static gboolean
check_same_run (LoomTrainer *t, const TrainerJson *json, GError **error)
{
  gint64 batch_size, seed, accumulate = 1, left_out = 0;

  if (!trainer_json_int (json, "batch_size", 1, G_MAXINT64, &batch_size, error)
      || !trainer_json_int (json, "seed", G_MININT64, G_MAXINT64, &seed, error)
      || (json_object_has_member (json->object, "accumulate")
          && !trainer_json_int (json, "accumulate", 1, G_MAXINT64, &accumulate, error))
      || (json_object_has_member (json->object, "left_out")
          && !trainer_json_int (json, "left_out", 0, G_MAXINT64, &left_out, error)))
    return FALSE;
  if (left_out != t->left_out)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s was written where an epoch left out %" G_GINT64_FORMAT
                   " samples, but by the run's graph.xml (drop_last) it leaves out %" G_GINT64_FORMAT
                   ". Put the former back, or start a new run.",
                   json->path, left_out, t->left_out);
      return FALSE;
    }
  if (accumulate != t->spec->accumulate)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s was written with accumulate %" G_GINT64_FORMAT ", but the run's graph.xml says %" G_GINT64_FORMAT
                   ". Put the former back, or start a new run.",
                   json->path, accumulate, t->spec->accumulate);
      return FALSE;
    }
  if (batch_size == t->spec->batch_size && seed == (gint64)t->spec->seed)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
               "%s was written with batch_size %" G_GINT64_FORMAT " and seed %" G_GINT64_FORMAT
               ", but the run's graph.xml says %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT
               ". Put the former back, or start a new run.",
               json->path, batch_size, seed, t->spec->batch_size, (gint64)t->spec->seed);
  return FALSE;
}

/* A device of the same name may be another card, or have other libraries. */
static void
note_devices (LoomTrainer *t, const TrainerJson *json)
{
  const LoomPlan *plan = loom_exec_plan (((TrainerPlan *)t->plans->pdata[0])->exec);
  TrainerJson devices;

  if (!json_object_has_member (json->object, "devices") || !trainer_json_object (json, "devices", &devices, NULL))
    return;
  for (guint i = 0; i < loom_plan_n_devices (plan); i++)
    {
      const LoomPlanDevice *d = loom_plan_device (plan, i);
      const char *before;

      if (json_object_has_member (devices.object, d->name) && trainer_json_string (&devices, d->name, &before, NULL)
          && !g_str_equal (before, d->cost_key))
        trainer_note (t, "%s is now “%s”, and was “%s” before: the run's last bits may differ.", d->name, d->cost_key,
                      before);
    }
}

static void
note_differences (LoomTrainer *t, const TrainerJson *json)
{
  const char *costs = loom_cost_table_hash (loom_devices_costs (t->devices)), *before, *device;
  gint64 threads;

  /* The run's own table is gone, or cannot be read. */
  if (json_object_has_member (json->object, "cost_table") && trainer_json_string (json, "cost_table", &before, NULL)
      && !g_str_equal (before, costs))
    trainer_note (
        t,
        "the run goes on with cost table %s, because its own (%s) is not in its checkpoint: other kernels may "
        "be chosen, and its last bits may differ.",
        costs, before);
  if (!trainer_json_string (json, "device", &device, NULL)
      || !trainer_json_int (json, "threads", 0, G_MAXINT, &threads, NULL))
    return;
  if (!g_str_equal (device, t->device))
    trainer_note (t, "the run goes on on %s, not on %s as before: its last bits may differ.", t->device, device);
  else if (threads != t->threads)
    trainer_note (t,
                  "the run goes on with %d threads, not with %" G_GINT64_FORMAT " as before: its last bits may differ.",
                  t->threads, threads);
  else
    note_devices (t, json);
}

/* What schedules of groups start from, and what "plateau" remembers. */
static gboolean
restore_rates (LoomTrainer *t, const TrainerJson *json, GError **error)
{
  const gint64 many = (gint64)1 << 52;
  LoomPlateau p = { 0 };
  TrainerJson hyper, plateau;

  if (!trainer_json_object (json, "hyper", &hyper, error))
    return FALSE;
  for (guint i = 0; i < t->rates->len; i++)
    {
      TrainerRate *rate = &g_array_index (t->rates, TrainerRate, i);
      g_autofree char *base = g_strconcat ("base_", rate->slot_name, NULL);
      if (!trainer_json_double (&hyper, base, FALSE, &rate->base, error))
        return FALSE;
      rate->now = NAN;
    }
  if (!t->spec->schedule.klass || !t->spec->schedule.klass->watches_loss)
    return TRUE;
  if (!trainer_json_object (json, "plateau", &plateau, error)
      || !trainer_json_double (&plateau, "best", TRUE, &p.best, error)
      || !trainer_json_int (&plateau, "bad", 0, many, &p.bad, error)
      || !trainer_json_int (&plateau, "cooldown", 0, many, &p.cooldown, error)
      || !trainer_json_int (&plateau, "reductions", 0, many, &p.reductions, error))
    return FALSE;
  t->spec->schedule.plateau = p;
  return TRUE;
}

static gboolean
restore_from (LoomTrainer *t, const char *path, gint64 *events_length, GError **error)
{
  g_autofree char *weights = g_build_filename (path, "weights.safetensors", NULL);
  g_autofree char *optimizer = g_build_filename (path, "optimizer.safetensors", NULL);
  g_autofree char *state = g_build_filename (path, "state.json", NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_auto (Place) place = { 0 };
  TrainerJson json;
  gint64 version;

  if (!trainer_json_root (parser, state, &json, error)
      || !trainer_json_int (&json, "version", 0, G_MAXINT64, &version, error))
    return FALSE;
  if (version != 1)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s was written by another version of Gradloom.", state);
      return FALSE;
    }
  if (!check_same_run (t, &json, error) || !read_place (t, &json, &place, error) || !restore_rates (t, &json, error)
      || !loom_state_load_weights (t->state, weights, FALSE, NULL, error)
      || !loom_state_load_optimizer (t->state, optimizer, error))
    return FALSE;

  t->step = t->saved_step = place.step;
  t->epoch = place.epoch;
  t->place = place.place;
  t->loss_sum = place.loss_sum;
  t->sample_sum = place.sample_sum;
  t->base_lr = place.base_lr;
  t->watch = place.watch;
  trainer_metrics_load (t->metrics, place.metric);
  *events_length = place.events_length;
  note_differences (t, &json);
  return TRUE;
}

gboolean
trainer_checkpoint_restore (LoomTrainer *t, const char *folder, gint64 *events_length, GError **error)
{
  g_autofree char *checkpoints = g_build_filename (folder, "checkpoints", NULL);
  g_autoptr (GArray) steps = list_steps (checkpoints, FALSE);
  g_autoptr (GError) first = NULL;

  *events_length = 0;
  for (guint i = 0; i < steps->len; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/%" G_GINT64_FORMAT, checkpoints, g_array_index (steps, gint64, i));
      g_autoptr (GError) local = NULL;
      if (restore_from (t, path, events_length, &local))
        return TRUE;
      if (i + 1 < steps->len)
        trainer_note (t, "%s The checkpoint before it is taken.", local->message);
      if (!first)
        first = g_steal_pointer (&local);
    }
  if (first)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "No checkpoint in %s can be used: %s", checkpoints,
                   first->message);
      return FALSE;
    }
  return TRUE; /* stopped before the first checkpoint: it begins anew, with the same numbers */
}
