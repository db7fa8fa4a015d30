/* Spawns `gradloom plan … --json` with the graph on its standard input, and parses the events that it prints, one JSON
 * object per line. */
#include "ui/worker/studio-planner.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/worker/studio-worker.h"

GPtrArray *
studio_planner_parse_events (const char *text, gsize length)
{
  GPtrArray *events = g_ptr_array_new_with_free_func ((GDestroyNotify)json_object_unref);
  const char *end = text + length;

  while (text < end)
    {
      const char *line_end = memchr (text, '\n', (gsize)(end - text));
      gsize n = (gsize)((line_end != NULL ? line_end : end) - text);
      g_autofree char *line = g_strndup (text, n);
      g_autoptr (JsonNode) node = *line == '{' && loom_json_is_within (line, strlen (line), LOOM_JSON_LEVELS)
                                      ? json_from_string (line, NULL)
                                      : NULL;

      if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
        g_ptr_array_add (events, json_object_ref (json_node_get_object (node)));
      text += n + 1;
    }
  return events;
}

/* Returns the last line of standard error without its "gradloom COMMAND: " prefix. */
static char *
sentence_of (const char *errors)
{
  static const char prefix[] = "gradloom ";
  g_autofree char *text = g_strchomp (g_strdup (errors != NULL ? errors : ""));
  const char *line = strrchr (text, '\n');

  line = line != NULL ? line + 1 : text;
  const char *colon = g_str_has_prefix (line, prefix) ? strstr (line, ": ") : NULL;
  return g_strdup (colon != NULL ? colon + 2 : line);
}

static void
answered_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  g_autofree char *out = NULL, *errors = NULL, *sentence = NULL;
  GError *error = NULL;

  if (!g_subprocess_communicate_utf8_finish (G_SUBPROCESS (source), result, &out, &errors, &error))
    {
      g_subprocess_force_exit (G_SUBPROCESS (source));
      g_task_return_error (task, error);
      return;
    }
  if (g_subprocess_get_if_exited (G_SUBPROCESS (source)) && g_subprocess_get_exit_status (G_SUBPROCESS (source)) == 0)
    {
      g_task_return_pointer (task, studio_planner_parse_events (out, strlen (out)), (GDestroyNotify)g_ptr_array_unref);
      return;
    }
  sentence = sentence_of (errors);
  g_task_return_new_error (task, LOOM_ERROR, LOOM_ERROR_DEVICE, "%s", sentence);
}

void
studio_planner_command_async (const char *graph_xml, const char *folder, const char *const *words,
                              GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, data);
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (
      G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  g_autofree char *devices = g_strdup_printf ("%d", studio_worker_cpu_devices (graph_xml));
  GError *error = NULL;
  g_autofree char *program = studio_worker_find_program (&error);
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  g_autoptr (GSubprocess) process = NULL;

  if (program != NULL)
    {
      g_ptr_array_add (all, program);
      for (guint i = 0; words[i] != NULL; i++)
        g_ptr_array_add (all, (gpointer)words[i]);
      g_ptr_array_add (all, NULL);
      g_subprocess_launcher_setenv (launcher, "GRADLOOM_CPU_DEVICES", devices, FALSE);
      if (folder != NULL)
        g_subprocess_launcher_set_cwd (launcher, folder);
      process = g_subprocess_launcher_spawnv (launcher, (const char *const *)all->pdata, &error);
    }
  if (process == NULL)
    g_task_return_error (task, error);
  else
    g_subprocess_communicate_utf8_async (process, graph_xml, cancellable, answered_cb, g_steal_pointer (&task));
}

void
studio_planner_run_async (const char *graph_xml, const char *folder, const char *what, int ranks,
                          GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)
{
  g_autofree char *number = g_strdup_printf ("%d", ranks);
  const char *const words[] = { "plan", "-", what, "--json", ranks > 0 ? "--ranks" : NULL, number, NULL };

  studio_planner_command_async (graph_xml, folder, words, cancellable, callback, data);
}

GPtrArray *
studio_planner_run_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
