/* Implements remote-window.h. How a run has ended is in its mirror, so Studio reads no words of this process but the
 * last line of standard error. */
#include "app/remote-window.h"

#include "app/remote-host.h"
#include "app/remote-mirror.h"
#include "app/train-remote.h"
#include "app/worker-link.h"
#include "data/loom-worker-magic.h"
#include "engine/runs/loom-runs.h"

#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <signal.h>
#include <string.h>

#define MOST_GRAPH (64 * 1024 * 1024)
/* Updates of the mirror after the window has left: the worker may be about to end. */
#define LEFT_TRIES 10

/* ---- beginning ----------------------------------------------------------- */

static volatile sig_atomic_t is_stopped;

static void
stop_cb (int number)
{
  is_stopped = TRUE;
}

static LoomGraph *
read_graph (GInputStream *input, const char *folder, GError **error)
{
  g_autoptr (GOutputStream) memory = g_memory_output_stream_new_resizable ();
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GBytes) bytes = NULL;
  LoomGraph *graph;
  gsize n;

  if (g_output_stream_splice (memory, input, G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET, NULL, error) < 0)
    return NULL;
  bytes = g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (memory));
  const char *text = g_bytes_get_data (bytes, &n);
  if (n > MOST_GRAPH)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The graph is larger than 64 MB.");
      return NULL;
    }
  graph = loom_graph_read_data (text != NULL ? text : "", (gssize)n, "the graph", faults, error);
  if (graph != NULL && *folder != '\0')
    loom_graph_set_folder (graph, folder);
  return graph;
}

static void
stop (const LoomRunHost *host, const char *folder)
{
  const char *words[] = { "relay", host->id, NULL };
  g_auto (RemoteHost) remote = { NULL };
  g_auto (WorkerLink) link = { NULL };

  if (remote_host_open (&remote, host->name, words, NULL))
    {
      g_autoptr (GIOStream) stream = g_simple_io_stream_new (remote.input, remote.output);
      if (worker_link_open (&link, stream, NULL))
        loom_bus_worker1_call_stop_sync (link.proxy, NULL, NULL);
      worker_link_close (&link);
    }
  g_free (train_remote_update_end (folder, host->name, host->id, LEFT_TRIES, NULL));
}

static int
begin (const Command *command, const char *host_name, const char *folder, const char *graph_folder,
       const char *options_text, GInputStream *input)
{
  struct sigaction action = { .sa_handler = stop_cb, .sa_flags = SA_RESTART };
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) options = g_variant_parse (G_VARIANT_TYPE_VARDICT, options_text, NULL, NULL, &error);
  g_autoptr (LoomGraph) graph = options != NULL ? read_graph (input, graph_folder, &error) : NULL;
  g_auto (LoomRunHost) host = { NULL };
  gboolean resumes = FALSE, ok;

  sigaction (SIGTERM, &action, NULL);
  if (options != NULL)
    g_variant_lookup (options, "resume", "b", &resumes);
  ok = graph != NULL
       && (resumes ? train_remote_resume (options, folder, &error)
                   : train_remote_begin (graph, options, host_name, folder, &error));
  if (!ok)
    {
      worker_link_clean (&error);
      return command_fail (command, g_steal_pointer (&error));
    }
  if (!is_stopped)
    return 0;
  if (loom_run_host_read (folder, &host))
    stop (&host, folder);
  return REMOTE_WINDOW_STOPPED;
}

/* ---- connecting ---------------------------------------------------------- */

static gboolean
relay (const LoomRunHost *host, GInputStream *input, GOutputStream *output, GError **error)
{
  const char *words[] = { "relay", host->id, NULL };
  g_auto (RemoteHost) remote = { NULL };

  if (!remote_host_open (&remote, host->name, words, error))
    return FALSE;
  remote_copy_both_ways (g_unix_input_stream_get_fd (G_UNIX_INPUT_STREAM (input)),
                         g_unix_output_stream_get_fd (G_UNIX_OUTPUT_STREAM (output)),
                         g_unix_input_stream_get_fd (G_UNIX_INPUT_STREAM (remote.input)),
                         g_unix_output_stream_get_fd (G_UNIX_OUTPUT_STREAM (remote.output)));
  return TRUE;
}

static int
connect_run (const Command *command, const char *folder, GInputStream *input, GOutputStream *output)
{
  static const char busy[] = LOOM_WORKER_BUSY;
  g_auto (LoomRunHost) host = { NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *state = NULL, *end = NULL;
  int lock;

  if (!loom_run_host_read (folder, &host))
    return command_fail (command, g_error_new (LOOM_ERROR, LOOM_ERROR_DATA, "%s is not the run of a host.", folder));
  lock = loom_run_host_lock (folder);
  if (lock < 0)
    return g_output_stream_write_all (output, busy, strlen (busy), NULL, NULL, NULL) ? 0 : 5;
  state = remote_mirror_update (folder, host.name, host.id, &error);
  if (g_strcmp0 (state, REMOTE_TRAINING) == 0)
    {
      loom_run_host_set_state (folder, LOOM_RUN_HOST_BEGUN);
      /* A run that ends just now has no relay any more. */
      if (relay (&host, input, output, &error))
        end = train_remote_update_end (folder, host.name, host.id, LEFT_TRIES, &error);
      else
        end = remote_mirror_update (folder, host.name, host.id, NULL);
    }
  loom_close (lock);
  return error != NULL ? command_fail (command, g_steal_pointer (&error)) : 0;
}

static int
follow_run (const Command *command, const char *folder)
{
  g_auto (LoomRunHost) host = { NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *state = NULL;

  if (!loom_run_host_read (folder, &host))
    return command_fail (command, g_error_new (LOOM_ERROR, LOOM_ERROR_DATA, "%s is not the run of a host.", folder));
  state = remote_mirror_follow (folder, host.name, host.id, &error);
  return state != NULL ? 0 : command_fail (command, g_steal_pointer (&error));
}

/* ---- devices -------------------------------------------------------------- */

#define MOST_DEVICES (256 * 1024) /* bytes of lines */

static int
list_devices (const Command *command, const char *host_name, GOutputStream *output)
{
  static const char *const words[] = { "devices", NULL };
  g_auto (RemoteHost) host = { NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *text = g_malloc (MOST_DEVICES);
  gsize n;

  if (!remote_host_open (&host, host_name, words, &error)
      || !g_input_stream_read_all (host.input, text, MOST_DEVICES, &n, NULL, &error)
      || !g_output_stream_write_all (output, text, n, NULL, NULL, &error))
    return command_fail (command, g_steal_pointer (&error));
  return 0;
}

int
remote_window_serve (const Command *command, int argc, char **argv, GInputStream *input, GOutputStream *output)
{
  if (argc == 6 && g_str_equal (argv[1], "begin"))
    return begin (command, argv[2], argv[3], argv[4], argv[5], input);
  if (argc == 3 && g_str_equal (argv[1], "devices"))
    return list_devices (command, argv[2], output);
  if (argc == 3 && g_str_equal (argv[1], "connect"))
    return connect_run (command, argv[2], input, output);
  if (argc == 3 && g_str_equal (argv[1], "follow"))
    return follow_run (command, argv[2]);
  return -1;
}
