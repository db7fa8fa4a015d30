/* What is on the disk; see the header. */
#include "tests/world/world-run.h"

#include <string.h>

#include "engine/core/loom-folder.h"
#include "engine/infer/loom-run-files.h"
#include "engine/interop/loom-safetensors.h"
#include "engine/loom-lab.h"

#define MOST_FILE     (1 << 20)
#define BATCH_NUMBERS "accumulate_"

const char *world_run_path;
const WorldReport *world_run_expected;

void
world_run_look (const char *path, const WorldReport *expected)
{
  world_run_path = path;
  world_run_expected = expected;
}

static guint64
hash_file (LoomFolder *folder, const char *name, guint64 hash)
{
  g_autofree char *text = NULL;
  gsize length;

  if (!loom_folder_read (folder, name, MOST_FILE, &text, &length, NULL))
    return 0;
  for (gsize i = 0; i < length; i++)
    hash = (hash ^ (guint8)text[i]) * G_GUINT64_CONSTANT (1099511628211);
  return hash | 1;
}

/* Of the optimizer's state, without the numbers of a step's batches: a step that failed has set them, and the next one
 * sets them again. */
static guint64
hash_optimizer (LoomFolder *folder, guint64 hash)
{
  g_autoptr (LoomTensorFile) file = loom_safetensors_open_in (folder, LOOM_RUN_OPTIMIZER, NULL);

  for (guint i = 0; file != NULL && i < loom_tensor_file_count (file); i++)
    {
      g_autoptr (LoomTensor) value = loom_tensor_file_tensor (file, i, NULL);

      if (value == NULL)
        return 0;
      for (gsize k = 0; k < value->bytes && !g_str_has_prefix (loom_tensor_file_name (file, i), BATCH_NUMBERS); k++)
        hash = (hash ^ ((const guint8 *)value->data)[k]) * G_GUINT64_CONSTANT (1099511628211);
    }
  return file != NULL ? hash | 1 : 0;
}

/* 0: it is not complete. */
static guint64
hash_checkpoint (LoomFolder *folder)
{
  guint64 hash = hash_file (folder, LOOM_RUN_WEIGHTS, 1);

  hash = hash != 0 ? hash_optimizer (folder, hash) : 0;
  return hash != 0 && hash_file (folder, LOOM_RUN_STATE, 1) != 0 ? hash : 0;
}

guint64
world_run_hash (gint64 step)
{
  g_autoptr (LoomFolder) run = loom_folder_open (world_run_path, NULL);
  g_autoptr (LoomFolder) all = run != NULL ? loom_folder_enter (run, LOOM_RUN_CHECKPOINTS, FALSE, NULL) : NULL;
  g_autoptr (LoomFolder) folder = all != NULL ? loom_run_checkpoint_enter (all, step, NULL) : NULL;

  return folder != NULL ? hash_checkpoint (folder) : 0;
}

gint64
world_run_newest (gint64 *wrong)
{
  g_autoptr (LoomFolder) run = loom_folder_open (world_run_path, NULL);
  g_autoptr (LoomFolder) all = run != NULL ? loom_folder_enter (run, LOOM_RUN_CHECKPOINTS, FALSE, NULL) : NULL;
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (all, NULL);
  gint64 newest = -1;

  *wrong = -1;
  for (guint i = 0; i < steps->len; i++)
    {
      const gint64 step = g_array_index (steps, gint64, i);
      const guint64 hash = world_run_hash (step);

      if (hash != 0 && (step >= WORLD_MOST_STEPS || hash != world_run_expected->hash[step]))
        *wrong = step;
      else if (hash != 0)
        newest = MAX (newest, step);
    }
  return newest;
}

gint64
world_run_draw (guint64 drawn)
{
  g_autoptr (LoomFolder) run = loom_folder_open (world_run_path, NULL);
  g_autoptr (LoomFolder) all = run != NULL ? loom_folder_enter (run, LOOM_RUN_CHECKPOINTS, FALSE, NULL) : NULL;
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (all, NULL);
  const gint64 step = steps->len > 0 ? g_array_index (steps, gint64, drawn % steps->len) : 0;

  return step > 0 && world_run_hash (step) != 0 ? step : 0;
}

gboolean
world_run_line (const char *events, gint64 step, char line[160])
{
  g_autofree char *start = g_strdup_printf ("{\"event\":\"step\",\"step\":%" G_GINT64_FORMAT ",", step);
  const char *found = events != NULL ? strstr (events, start) : NULL,
             *end = found != NULL ? strchr (found, '\n') : NULL;

  if (end == NULL || end - found >= 160)
    return FALSE;
  memcpy (line, found, (gsize)(end - found));
  line[end - found] = '\0';
  return TRUE;
}

char *
world_run_events (void)
{
  g_autoptr (LoomFolder) run = loom_folder_open (world_run_path, NULL);
  char *text = NULL;

  if (run != NULL)
    loom_folder_read (run, LOOM_RUN_EVENTS, MOST_FILE, &text, NULL, NULL);
  return text;
}

/* NULL: all that was acknowledged is there. */
char *
world_run_check (gint64 acknowledged)
{
  g_autofree char *events = world_run_events ();
  gint64 wrong;
  const gint64 newest = world_run_newest (&wrong);
  g_autoptr (LoomFolder) run = loom_folder_open (world_run_path, NULL);
  guint64 weights;

  if (wrong >= 0)
    return g_strdup_printf ("the checkpoint of step %" G_GINT64_FORMAT " has other bits", wrong);
  if (acknowledged > 0 && newest < acknowledged)
    return g_strdup_printf ("the checkpoint of step %" G_GINT64_FORMAT
                            " was reported, the newest is that of %" G_GINT64_FORMAT,
                            acknowledged, newest);
  for (gint64 step = 1; step <= newest; step++)
    {
      char line[160];

      if (!world_run_line (events, step, line) || !g_str_equal (line, world_run_expected->line[step]))
        return g_strdup_printf ("the events lack step %" G_GINT64_FORMAT
                                ", the newest checkpoint is that of %" G_GINT64_FORMAT,
                                step, newest);
    }
  weights = acknowledged > 0 ? hash_file (run, LOOM_RUN_WEIGHTS, 1) : 1;
  if (weights == 0)
    return g_strdup ("weights.safetensors is missing, but a checkpoint was reported");
  return NULL;
}
