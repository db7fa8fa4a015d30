/* Writes checkpoints: one folder each, whole or absent. */
#include "engine/train/checkpoints.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-adapter.h"
#include "engine/infer/loom-run-files.h"
#include "engine/infer/loom-run-json.h"
#include "engine/train/checkpoint-folder.h"

#include <errno.h>
#include <string.h>

/* Numbers of kept checkpoints: the newest, and the newest at the end of an epoch. */
#define KEEP_NEWEST 3
#define KEEP_EPOCHS 10

static gboolean
io_error (GError **error, const char *what, const char *path)
{
  return loom_refuse (error, LOOM_ERROR_IO, "%s %s: %s.", what, path, g_strerror (errno));
}

/* TRUE for a checkpoint at the end of an epoch. It cannot be computed from the step, because the batch size may have
 * changed since. */
static gboolean
ends_epoch (LoomFolder *checkpoints, gint64 step)
{
  g_autoptr (LoomFolder) folder = loom_run_checkpoint_enter (checkpoints, step, NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *path = NULL;
  LoomRunJson json;
  gint64 place;

  return folder != NULL && loom_run_json_root (parser, folder, LOOM_RUN_STATE, &path, &json, NULL)
         && loom_run_json_int (&json, "place", 0, 0, &place, NULL);
}

static void
prune (LoomFolder *checkpoints, gint64 before_change)
{
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (checkpoints, NULL);
  guint epochs = 0;

  checkpoint_folder_remove_rests (checkpoints);
  for (guint i = 0; steps != NULL && i < steps->len; i++)
    {
      gint64 step = g_array_index (steps, gint64, i);
      gboolean at_epoch = ends_epoch (checkpoints, step);
      if (i < KEEP_NEWEST || step == before_change || (at_epoch && epochs < KEEP_EPOCHS))
        {
          epochs += at_epoch;
          continue;
        }
      checkpoint_folder_remove_step (checkpoints, step);
    }
}

gboolean
checkpoints_remove_after (const char *run, gint64 step, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (run, error);
  g_autoptr (LoomFolder) checkpoints
      = folder != NULL ? loom_folder_enter (folder, LOOM_RUN_CHECKPOINTS, FALSE, error) : NULL;
  g_autoptr (GArray) steps = checkpoints != NULL ? loom_run_checkpoint_steps (checkpoints, error) : NULL;

  if (steps == NULL)
    return FALSE;
  for (guint i = 0; i < steps->len && g_array_index (steps, gint64, i) > step; i++)
    if (!checkpoint_folder_erase_step (checkpoints, g_array_index (steps, gint64, i), error))
      return FALSE;
  return loom_folder_sync (checkpoints, error);
}

/* ---- writing ---------------------------------------------------------- */

static gboolean
copy_weights (RunFolder *run, LoomFolder *checkpoint, GError **error)
{
  static const char fresh[] = ".weights.new";
  g_autoptr (GMappedFile) file = NULL;

  /* A hard link is the cheapest copy; files here are only replaced, never modified. */
  loom_folder_remove (run->files, fresh);
  if (loom_os->link (loom_folder_fd (checkpoint), LOOM_RUN_WEIGHTS, loom_folder_fd (run->files), fresh) == 0)
    {
      if (!loom_folder_rename (run->files, fresh, LOOM_RUN_WEIGHTS))
        return io_error (error, "Cannot rename weights in", run->path);
      loom_folder_remove (run->files, fresh); /* rename() keeps both if they were one file already */
      return loom_folder_sync (run->files, error);
    }
  file = loom_folder_map (checkpoint, LOOM_RUN_WEIGHTS, error);
  return file != NULL
         && loom_folder_replace (run->files, LOOM_RUN_WEIGHTS, g_mapped_file_get_contents (file),
                                 g_mapped_file_get_length (file), error);
}

gboolean
checkpoints_write_weights (Checkpoints *self, const char *name, GError **error)
{
  const TrainModel *model = self->run.model;
  LoomFolder *files = self->folder->files;

  gboolean has_averages;

  return !checkpoints_takes_part (self)
         || (train_model_has_averages (model, &has_averages, error)
             && loom_state_save_weights_of (model->state, has_averages ? LOOM_SLOT_EMA : "", files,
                                            files != NULL ? name : NULL, error));
}

static gboolean
write_averages (Checkpoints *self, GError **error)
{
  gboolean has_averages;

  return train_model_has_averages (self->run.model, &has_averages, error)
         && (!has_averages || checkpoints_write_weights (self, "weights-ema.safetensors", error));
}

static gboolean
is_trained (const TrainModel *model, const LoomNetWeight *weight)
{
  return !weight->is_buffer && !weight->frozen && !loom_train_spec_freezes (model->spec, weight->name);
}

static char *
name_in_adapter (const char *slot, gpointer trained)
{
  return g_strdup (g_hash_table_lookup (trained, slot));
}

/* The bias of a layer with factors whose weight is not trained: PEFT's bias="lora_only". */
static gboolean
is_bias_of_lora (const TrainModel *model, guint weight)
{
  const guint node = loom_net_weight (model->net, weight)->node;
  const int base = loom_net_find_weight (model->net, node, "weight");

  return loom_net_find_weight (model->net, node, LOOM_LORA_A) >= 0
         && loom_net_find_weight (model->net, node, "bias") == (int)weight
         && (base < 0 || !is_trained (model, loom_net_weight (model->net, (guint)base)));
}

/* "body.0.fc" of the weight body.0.fc.bias. (transfer full) */
static char *
module_of (const char *name)
{
  const char *dot = strrchr (name, '.');

  return g_strndup (name, dot != NULL ? (gsize)(dot - name) : strlen (name));
}

/* PEFT reads a module to save as a whole, with weights that are not trained, and buffers. */
static void
add_rest_of_modules (const TrainModel *model, const char *const *modules, GHashTable *trained)
{
  for (guint i = 0; i < loom_net_n_weights (model->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (model->net, i);
      g_autofree char *module = module_of (weight->name);

      if (!weight->is_factor && g_strv_contains (modules, module) && !g_hash_table_contains (trained, weight->name))
        g_hash_table_insert (trained, weight->name, g_strconcat (LOOM_ADAPTER_PREFIX, weight->name, NULL));
    }
}

/* Notes the names in the adapter of weights that are trained, and returns the modules of those that PEFT has to be
 * told. (transfer full) */
static char **
find_trained (const TrainModel *model, GHashTable *trained, gboolean *has_biases)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autofree char *last = g_strdup ("");
  g_auto (GStrv) modules = NULL;

  for (guint i = 0; i < loom_net_n_weights (model->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (model->net, i);
      g_autofree char *module = module_of (weight->name);
      const gboolean is_bias = is_bias_of_lora (model, i);

      if (!is_trained (model, weight))
        continue;
      *has_biases |= is_bias;
      g_hash_table_insert (trained, weight->name,
                           is_bias ? g_strconcat (LOOM_ADAPTER_PREFIX, module, ".", LOOM_ADAPTER_BIAS, NULL)
                                   : g_strconcat (LOOM_ADAPTER_PREFIX, weight->name, NULL));
      if (weight->is_factor || is_bias || g_str_equal (module, last))
        continue;
      g_strv_builder_add (builder, module);
      g_free (last);
      last = g_steal_pointer (&module);
    }
  modules = g_strv_builder_end (builder);
  add_rest_of_modules (model, (const char *const *)modules, trained);
  return g_steal_pointer (&modules);
}

/* Writes what is trained, if that is factors of LoRA: a folder that PEFT reads. */
static gboolean
write_adapter (Checkpoints *self, GError **error)
{
  const TrainModel *model = self->run.model;
  const char *prefix;
  g_autoptr (GHashTable) trained = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  g_autoptr (LoomFolder) folder = NULL;
  g_autofree char *config = NULL;
  g_auto (GStrv) modules = NULL;
  gboolean has_biases = FALSE, has_averages;

  if (model->spec->factors == NULL)
    return TRUE;
  if (!train_model_has_averages (model, &has_averages, error))
    return FALSE;
  prefix = has_averages ? LOOM_SLOT_EMA : "";
  modules = find_trained (model, trained, &has_biases);
  config = loom_adapter_config (model->net, trained, (const char *const *)modules, has_biases);
  if (config == NULL)
    return TRUE;
  if (self->folder->files == NULL)
    return loom_state_save_renamed (model->state, prefix, name_in_adapter, trained, NULL, NULL, error);
  folder = loom_folder_enter (self->folder->files, LOOM_ADAPTER_FOLDER, TRUE, error);
  if (folder == NULL
      || !loom_state_save_renamed (model->state, prefix, name_in_adapter, trained, folder, LOOM_ADAPTER_WEIGHTS, error))
    return FALSE;
  return loom_folder_replace (folder, LOOM_ADAPTER_CONFIG, config, strlen (config), error);
}

static void
note_saved (Checkpoints *self, const TrainProgress *progress)
{
  self->saved_step = progress->step;
  self->is_due = FALSE;
}

static gboolean
write_costs (const TrainModel *model, LoomFolder *folder, GError **error)
{
  g_autofree char *text = loom_cost_table_to_text (loom_devices_costs (model->devices), TRUE);

  return loom_folder_replace (folder, LOOM_RUN_COSTS, text, strlen (text), error);
}

/* Writes the files of a checkpoint to a folder with a temporary name, which is returned. */
static LoomFolder *
write_parts (Checkpoints *self, const TrainProgress *progress, LoomFolder *checkpoints, const char *fresh,
             GError **error)
{
  const TrainModel *model = self->run.model;
  g_autofree char *text = run_state_to_text (&self->run, progress, self->folder->events_length, error);
  g_autoptr (LoomFolder) folder = NULL;

  if (text == NULL)
    return NULL;
  checkpoint_folder_remove (checkpoints, fresh);
  folder = loom_folder_enter (checkpoints, fresh, TRUE, error);
  if (folder == NULL)
    return NULL;
  if (!loom_state_save_weights (model->state, folder, LOOM_RUN_WEIGHTS, error)
      || !loom_state_save_optimizer (model->state, folder, LOOM_RUN_OPTIMIZER, error)
      || !loom_folder_replace (folder, LOOM_RUN_STATE, text, strlen (text), error)
      || !write_costs (model, folder, error) || !loom_folder_sync (folder, error))
    return NULL;
  return g_steal_pointer (&folder);
}

static gboolean
write_checkpoint (Checkpoints *self, const TrainProgress *progress, GError **error)
{
  RunFolder *run = self->folder;
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, progress->step);
  g_autofree char *fresh = checkpoint_folder_temporary (progress->step), *path = NULL;
  g_autoptr (LoomFolder) checkpoints = NULL, folder = NULL;
  gint64 start = loom_monotonic ();

  if (!run_folder_sync (run, error))
    return FALSE;
  checkpoints = loom_folder_enter (run->files, LOOM_RUN_CHECKPOINTS, TRUE, error);
  if (checkpoints == NULL)
    return FALSE;
  path = loom_folder_path_of (checkpoints, name);
  folder = write_parts (self, progress, checkpoints, fresh, error);
  if (folder == NULL || !checkpoint_folder_put (checkpoints, fresh, progress->step, error))
    {
      checkpoint_folder_remove (checkpoints, fresh);
      return FALSE;
    }
  if (!loom_folder_sync (checkpoints, error) || !copy_weights (run, folder, error) || !write_averages (self, error)
      || !write_adapter (self, error))
    return FALSE;
  prune (checkpoints, self->before_change);
  self->last = loom_monotonic ();
  self->cost += self->last - start;
  note_saved (self, progress);
  if (self->written != NULL)
    self->written (progress->step, path, self->written_data);
  return TRUE;
}

/* A rank that does not write sends its shards of the state, in the order in which rank 0 receives them. */
static gboolean
send_parts (Checkpoints *self, const TrainProgress *progress, GError **error)
{
  LoomState *state = self->run.model->state;

  if (!loom_state_save_weights (state, NULL, NULL, error) || !loom_state_save_optimizer (state, NULL, NULL, error)
      || !write_averages (self, error) || !write_adapter (self, error))
    return FALSE;
  note_saved (self, progress);
  return TRUE;
}

/* For a full disk the error adds a remedy: resume the run. */
gboolean
checkpoints_write (Checkpoints *self, const TrainProgress *progress, GError **error)
{
  static const char advice[] = "free some space and try again.";
  g_autoptr (GError) local = NULL;
  const char *found;

  if (!checkpoints_takes_part (self))
    return TRUE;
  if (self->folder->path == NULL)
    return send_parts (self, progress, error);
  if (write_checkpoint (self, progress, &local))
    return TRUE;
  found = strstr (local->message, advice);
  if (found != NULL)
    {
      g_autofree char *before = g_strndup (local->message, (gsize)(found - local->message));
      g_autofree char *words = rank_group_resume_words (self->group, self->folder->path);

      g_set_error (error, local->domain, local->code, "%sfree some space and continue with: %s", before, words);
    }
  else
    g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

gboolean
checkpoints_takes_part (const Checkpoints *self)
{
  return self->folder->path != NULL || (self->keeps && loom_state_is_divided (self->run.model->state));
}

gboolean
checkpoints_note_time (Checkpoints *self, gint64 now)
{
  /* Without a folder no checkpoint is written, and it would stay due. Rank 0's clock decides. */
  if (self->keeps && rank_group_is_first (self->group) && now - self->last >= self->interval)
    self->is_due = TRUE;
  return self->is_due;
}

gboolean
checkpoints_fit_epoch (const Checkpoints *self, gint64 elapsed)
{
  return self->cost < G_USEC_PER_SEC / 4 || self->cost * 10 < elapsed;
}
