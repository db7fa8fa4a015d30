/* Reads the folder of a run. */
#include "engine/infer/loom-run-files.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/core/loom-text.h"
#include "engine/infer/loom-run-json.h"
#include "engine/plan/loom-devices.h"

#include <errno.h>
#include <fcntl.h>

#define MAX_SAVED 256000000 /* bytes of a data.ini */
#define MAX_COSTS 64000000  /* bytes of a costs.ini */

char *
loom_run_data_folder (const char *graph_path)
{
  g_autofree char *base = g_path_get_basename (graph_path), *folder = g_path_get_dirname (graph_path);
  g_autofree char *settings_path = NULL;
  g_autoptr (LoomFolder) files = g_str_equal (base, LOOM_RUN_GRAPH) ? loom_folder_open (folder, NULL) : NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();
  LoomRunJson json;
  const char *data_folder;

  /* A file of this name next to a graph has no meaning unless the folder is a run's. */
  if (files != NULL && loom_run_json_root (parser, files, LOOM_RUN_SETTINGS, &settings_path, &json, NULL)
      && json_object_has_member (json.object, "data_folder")
      && loom_run_json_string (&json, "data_folder", &data_folder, NULL))
    return g_strdup (data_folder);
  return g_steal_pointer (&folder);
}

/* FALSE: the settings of a run cannot be read; without them paths of data would be others. */
static gboolean
check_settings (LoomFolder *files, GError **error)
{
  g_autofree char *path = NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();
  LoomRunJson json;
  struct stat info;

  return !loom_folder_stat (files, LOOM_RUN_SETTINGS, &info) || !loom_folder_stat (files, LOOM_RUN_EVENTS, &info)
         || loom_run_json_root (parser, files, LOOM_RUN_SETTINGS, &path, &json, error);
}

LoomGraph *
loom_run_read_graph (const char *path, LoomFaults *faults, GError **error)
{
  gboolean is_folder = loom_path_is_folder (path);
  g_autofree char *graph_path = is_folder ? g_build_filename (path, LOOM_RUN_GRAPH, NULL) : g_strdup (path);
  g_autofree char *folder = NULL;
  g_autoptr (LoomFolder) files = is_folder ? loom_folder_open (path, error) : NULL;

  if (is_folder && files == NULL)
    return NULL;
  if (is_folder && !loom_path_exists (graph_path))
    return loom_refuse_null (error, LOOM_ERROR_DATA, "There is no run in %s: it has no graph.xml.", path);
  if (is_folder && !check_settings (files, error))
    return NULL;
  LoomGraph *graph = is_folder ? loom_graph_read_in (files, LOOM_RUN_GRAPH, faults, error)
                               : loom_graph_read_file (graph_path, faults, error);
  if (graph == NULL)
    return NULL;
  folder = loom_run_data_folder (graph_path);
  loom_graph_set_folder (graph, folder);
  return graph;
}

gboolean
loom_run_restore_dataset (const char *folder, LoomDataset *dataset, GError **error)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_autofree char *path = files != NULL ? loom_folder_path_of (files, LOOM_RUN_DATA) : NULL, *saved = NULL;

  if (files == NULL || !loom_path_exists (path))
    return TRUE;
  if (!loom_folder_read (files, LOOM_RUN_DATA, MAX_SAVED, &saved, NULL, error))
    return FALSE;
  return loom_dataset_restore (dataset, saved, path, error);
}

char *
loom_run_newest_weights (const char *folder, GError **error)
{
  static const char *const names[] = { "weights-ema.safetensors", "weights.safetensors" };
  g_autofree char *weights = NULL;
  g_autoptr (LoomFolder) files = loom_folder_open (folder, error);

  if (files == NULL)
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_free (weights);
      weights = loom_folder_path_of (files, names[i]);
      if (!loom_path_exists (weights))
        continue;
      /* The path is opened like one that the user typed, so the target of a link is checked here. */
      int fd = loom_folder_open_file (files, names[i], O_RDONLY, error);
      if (fd < 0)
        return NULL;
      loom_close (fd);
      return g_steal_pointer (&weights);
    }
  g_autofree char *word = loom_text_shell_word (folder);
  return loom_refuse_null (
      error, LOOM_ERROR_DATA,
      "There is no “%s”: this run has no checkpoint yet. Continue training with: gradloom train --resume %s", weights,
      word);
}

/* The name of a device, which commands are printed with. */
static gboolean
read_device (const LoomRunJson *json, const char **name, GError **error)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);

  if (!loom_run_json_string (json, "device", name, error))
    return FALSE;
  if (loom_devices_check_name (devices, *name, NULL))
    return TRUE;
  g_autofree char *shown = loom_text_printable (*name, TRUE, 80);
  return loom_refuse (error, LOOM_ERROR_DATA, "%s is damaged: its “device”, “%s”, is not a device.", json->path, shown);
}

LoomGraph *
loom_run_read (const char *folder, LoomRunSettings *settings, GError **error)
{
  g_autofree char *graph_path = g_build_filename (folder, LOOM_RUN_GRAPH, NULL);
  g_autofree char *settings_path = NULL;
  g_autoptr (LoomFolder) files = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (JsonParser) parser = json_parser_new ();
  LoomRunJson json;
  const char *device_name, *data_folder;
  gint64 n_threads, n_ranks = 1;

  if (!loom_path_exists (graph_path))
    return loom_refuse_null (error, LOOM_ERROR_DATA, "There is no run in %s: it has no graph.xml.", folder);
  g_autoptr (LoomGraph) graph = loom_run_read_graph (folder, faults, error);
  if (graph == NULL || !loom_faults_to_error (faults, graph_path, error))
    return NULL;
  files = loom_folder_open (folder, error);
  if (files == NULL || !loom_run_json_root (parser, files, LOOM_RUN_SETTINGS, &settings_path, &json, error)
      || !read_device (&json, &device_name, error)
      || !loom_run_json_int (&json, "threads", 0, G_MAXINT, &n_threads, error)
      || (json_object_has_member (json.object, "ranks")
          && !loom_run_json_int (&json, "ranks", 1, G_MAXINT, &n_ranks, error))
      || (json_object_has_member (json.object, "data_folder")
          && !json_object_get_null_member (json.object, "data_folder")
          && !loom_run_json_string (&json, "data_folder", &data_folder, error)))
    return NULL;
  *settings = (LoomRunSettings){ g_strdup (device_name), (int)n_threads, (int)n_ranks };
  return g_steal_pointer (&graph);
}

/* ---- checkpoints ------------------------------------------------------ */

static int
compare_steps (gconstpointer a, gconstpointer b)
{
  gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

GArray *
loom_run_checkpoint_steps (LoomFolder *checkpoints, GError **error)
{
  GArray *steps;
  g_auto (GStrv) names = checkpoints != NULL ? loom_folder_names (checkpoints, error) : NULL;

  if (checkpoints != NULL && names == NULL)
    return NULL;
  steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      char *end;
      gint64 step = g_ascii_strtoll (names[i], &end, 10);

      if (g_ascii_isdigit (names[i][0]) && *end == 0)
        g_array_append_val (steps, step);
    }
  g_array_sort (steps, compare_steps);
  return steps;
}

LoomFolder *
loom_run_checkpoint_enter (LoomFolder *checkpoints, gint64 step, GError **error)
{
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step);

  return loom_folder_enter (checkpoints, name, FALSE, error);
}

/* TRUE if there is certainly no such file or folder. */
static gboolean
is_missing (int folder, const char *path)
{
  struct stat info;

  return loom_os->stat (folder, path, &info, 0) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* *text: NULL if the checkpoint has no table; older versions of Gradloom did not write it. */
static gboolean
read_costs (LoomFolder *checkpoints, gint64 step, char **path, char **text, GError **error)
{
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT "/" LOOM_RUN_COSTS, step);
  g_autoptr (LoomFolder) folder = NULL;

  *path = loom_folder_path_of (checkpoints, name);
  *text = NULL;
  if (is_missing (loom_folder_fd (checkpoints), name))
    return TRUE;
  folder = loom_run_checkpoint_enter (checkpoints, step, error);
  return folder != NULL && loom_folder_read (folder, LOOM_RUN_COSTS, MAX_COSTS, text, NULL, error);
}

gboolean
loom_run_costs (const char *run, gint64 last, LoomCostTable **costs, char **note, GError **error)
{
  g_autofree char *all = g_build_filename (run, LOOM_RUN_CHECKPOINTS, NULL);
  g_autoptr (LoomFolder) folder = NULL, checkpoints = NULL;
  g_autoptr (GArray) steps = NULL;

  *costs = NULL;
  *note = NULL;
  if (is_missing (AT_FDCWD, all))
    return TRUE;
  folder = loom_folder_open (run, error);
  checkpoints = folder != NULL ? loom_folder_enter (folder, LOOM_RUN_CHECKPOINTS, FALSE, error) : NULL;
  steps = checkpoints != NULL ? loom_run_checkpoint_steps (checkpoints, error) : NULL;
  for (guint i = 0; steps != NULL && i < steps->len && *costs == NULL; i++)
    {
      const gint64 step = g_array_index (steps, gint64, i);
      g_autofree char *path = NULL, *text = NULL;
      g_autoptr (GError) local = NULL;

      /* When a run goes back, its first rank removes the later ones, maybe now. */
      if (last > 0 && step > last)
        continue;
      if (!read_costs (checkpoints, step, &path, &text, error))
        return FALSE;
      *costs = text != NULL ? loom_cost_table_new_from_text (text, path, &local) : NULL;
      if (local != NULL && *note == NULL)
        *note = g_strdup_printf ("%s The run's last bits may differ.", local->message);
    }
  return steps != NULL;
}
