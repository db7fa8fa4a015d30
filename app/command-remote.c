/* `gradloom remote`: what `gradloom train --host` and `gradloom attach` start on a host by ssh, with messages on
 * standard input and output (remote-stream.h). A run has a folder of its own, with its data by content; the other end
 * names an id, never a path. */
#include "app/commands.h"
#include "app/remote-content.h"
#include "app/remote-host.h"
#include "app/train-detach.h"
#include "engine/runs/loom-runs.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Options of Start that name no path. */
static const char *const allowed[]
    = { "device",  "precision", "epochs",      "steps", "batch_size",         "seed", "history", "lr",
        "threads", "tf32",      "num_workers", "set",   "checkpoint_seconds", NULL };
/* Files of a run that are sent, with the largest size. */
static const struct
{
  const char *name;
  gboolean at_end; /* when the run has ended */
} sent[] = { { "run.json", FALSE },
             { "data.ini", FALSE },
             { LOOM_RUN_SESSIONS, TRUE },
             { "weights.safetensors", TRUE },
             { "weights-ema.safetensors", TRUE },
             { "weights-best.safetensors", TRUE } };

/* The folder of the runs that other machines have begun here, or of one of them. */
static char *
dup_folder (const char *id, const char *leaf)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", "remote", id, leaf, NULL);
}

/* Keeps the streams, so that no print of a library is part of a message. */
static gboolean
take_streams (GInputStream **input, GOutputStream **output)
{
  int in = fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl (STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  int nothing = open ("/dev/null", O_RDONLY | O_CLOEXEC);

  if (in < 0 || out < 0 || nothing < 0 || dup2 (nothing, STDIN_FILENO) < 0 || dup2 (STDERR_FILENO, STDOUT_FILENO) < 0)
    return FALSE;
  close (nothing);
  *input = g_unix_input_stream_new (in, TRUE);
  *output = g_unix_output_stream_new (out, TRUE);
  return g_output_stream_write_all (*output, REMOTE_MAGIC LOOM_VERSION "\n", strlen (REMOTE_MAGIC LOOM_VERSION "\n"),
                                    NULL, NULL, NULL);
}

/* ---- starting ---------------------------------------------------------- */

/* "lenet-20261130-101500-5f3a". */
static char *
new_id (const char *name)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format (now, "%Y%m%d-%H%M%S");
  g_autoptr (GString) id = g_string_new (NULL);

  for (const char *p = name; *p != '\0' && id->len < 48; p++)
    if (g_ascii_isalnum (*p))
      g_string_append_c (id, g_ascii_tolower (*p));
    else if (id->len > 0 && id->str[id->len - 1] != '-')
      g_string_append_c (id, '-');
  g_string_append_printf (id, "%s%s-%08x", id->len == 0 || id->str[id->len - 1] == '-' ? "run-" : "-", time,
                          g_random_int ());
  return g_strdup (id->str);
}

/* NULL with an error if the other end names what must not be named. */
static GVariant *
read_options (GVariant *options, const char *out, GError **error)
{
  GVariantBuilder b;
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_builder_init (&b, G_VARIANT_TYPE_VARDICT);
  g_variant_iter_init (&iter, options);
  while (g_variant_iter_next (&iter, "{&sv}", &key, &value))
    {
      const gboolean ok = g_strv_contains (allowed, key);
      if (ok)
        g_variant_builder_add (&b, "{sv}", key, value);
      g_variant_unref (value);
      if (!ok)
        {
          g_variant_builder_clear (&b);
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The option “%s” does not go to a host.", key);
          return NULL;
        }
    }
  g_variant_builder_add (&b, "{sv}", "out", g_variant_new_string (out));
  return g_variant_builder_end (&b);
}

/* Receives what is not in the cache. */
static gboolean
receive_files (GVariant *files, GInputStream *input, GOutputStream *output, GError **error)
{
  const gsize n = g_variant_n_children (files);
  g_autoptr (GArray) wanted = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree char *refused = NULL;
  const char *name, *sum;
  guint64 size, bytes = 0;

  for (guint32 i = 0; i < n; i++)
    {
      g_variant_get_child (files, i, "(&s&st)", &name, &sum, &size);
      if (size > REMOTE_MOST_BYTES - bytes || n > REMOTE_MOST_FILES || !remote_name_is_safe (name))
        {
          refused = g_strdup ("The host refuses these data files: too many, too large, or with names that "
                              "are not allowed in a folder.");
          break;
        }
      bytes += size;
      if (!remote_content_has (sum, size))
        g_array_append_val (wanted, i);
    }
  GVariant *numbers = g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, wanted->data, wanted->len, sizeof (guint32));
  if (!remote_write (output, g_variant_new ("(@aus)", numbers, refused != NULL ? refused : ""), error))
    return FALSE;
  if (refused != NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_USAGE, refused);
      return FALSE;
    }
  for (guint i = 0; i < wanted->len; i++)
    {
      g_variant_get_child (files, g_array_index (wanted, guint32, i), "(&s&st)", NULL, &sum, &size);
      if (!remote_content_receive (sum, size, input, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
begin (GVariant *run, const char *id, GError **error)
{
  g_autofree char *data = dup_folder (id, "data"), *out = dup_folder (id, "run");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (GVariant) files = NULL, options = NULL;
  GVariant *start;
  gboolean is_done;
  const char *xml, *name, *sum;

  g_variant_get (run, "(&s&s@a(sst)@a{sv})", NULL, &xml, &files, &options);
  if (g_mkdir_with_parents (data, 0700) != 0 || g_mkdir_with_parents (out, 0700) != 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The folder %s cannot be made.", out);
      return FALSE;
    }
  for (gsize i = 0; i < g_variant_n_children (files); i++)
    {
      g_variant_get_child (files, i, "(&s&st)", &name, &sum, NULL);
      if (!remote_content_place (sum, data, name, error))
        return FALSE;
    }
  graph = loom_graph_read_data (xml, (gssize)strlen (xml), "the graph", faults, error);
  if (graph == NULL)
    return FALSE;
  loom_graph_set_folder (graph, data);
  start = read_options (options, out, error);
  if (start == NULL)
    return FALSE;
  return train_detach_begin (graph, start, &is_done, error);
}

static int
serve_start (GInputStream *input, GOutputStream *output)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) run = remote_read (input, REMOTE_RUN, &error), files = NULL;
  g_autofree char *id = NULL;
  const char *name;

  if (run == NULL)
    return 5;
  g_variant_get (run, "(&s&s@a(sst)@a{sv})", &name, NULL, &files, NULL);
  id = new_id (name);
  if (receive_files (files, input, output, &error))
    begin (run, id, &error);
  remote_write (output,
                error == NULL ? g_variant_new (REMOTE_STARTED, id, "", "")
                              : g_variant_new (REMOTE_STARTED, "",
                                               error->domain == LOOM_ERROR ? loom_error_code_name (error->code) : "IO",
                                               error->message),
                NULL);
  return error == NULL ? 0 : 5;
}

/* ---- sending a run ------------------------------------------------------- */

static gboolean
send_piece (GOutputStream *output, const char *name, const void *data, gsize n)
{
  return remote_write (
      output, g_variant_new ("(s@ay)", name, g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, data, n, 1)), NULL);
}

static gboolean
send_file (GOutputStream *output, LoomFolder *folder, const char *name, gint64 from)
{
  g_autofree guint8 *piece = g_malloc (REMOTE_CHUNK);
  int fd = loom_folder_open_file (folder, name, O_RDONLY, NULL);
  gssize n = 0;
  gboolean ok = TRUE;

  if (fd < 0)
    return TRUE;
  while (ok && (n = pread (fd, piece, REMOTE_CHUNK, from)) > 0)
    {
      ok = send_piece (output, name, piece, (gsize)n);
      from += n;
    }
  close (fd);
  return ok;
}

static int
serve_fetch (const char *id, gint64 from, GOutputStream *output)
{
  g_autofree char *path = dup_folder (id, "run"), *state = NULL;
  g_autoptr (LoomFolder) folder = loom_folder_open (path, NULL);
  g_autoptr (LoomRunSummary) run = folder != NULL ? loom_run_summary_new (path, 2) : NULL;
  const gboolean trains = run != NULL && run->log.is_training;
  gboolean ok = folder != NULL && send_file (output, folder, LOOM_RUN_EVENTS, from);

  for (guint i = 0; ok && i < G_N_ELEMENTS (sent); i++)
    if (!trains || !sent[i].at_end)
      ok = send_file (output, folder, sent[i].name, 0);
  if (folder == NULL)
    state = g_strdup ("gone");
  else if (trains)
    state = g_strdup ("training");
  else
    state = g_strdup_printf ("%s %s", loom_run_summary_end (run) != NULL ? loom_run_summary_end (run) : "failed",
                             run->log.sentence != NULL ? run->log.sentence : "");
  return send_piece (output, "", state, strlen (state)) ? 0 : 5;
}

/* ---- a client of the worker ------------------------------------------------ */

/* Copies bytes both ways until one end is closed. */
static void
copy_both_ways (int a_in, int a_out, int b)
{
  g_autofree char *piece = g_malloc (65536);
  struct pollfd ends[] = { { a_in, POLLIN, 0 }, { b, POLLIN, 0 } };

  for (;;)
    {
      if (poll (ends, 2, -1) < 0 && errno != EINTR)
        return;
      for (guint i = 0; i < 2; i++)
        {
          gssize n = ends[i].revents != 0 ? read (ends[i].fd, piece, 65536) : -1;
          if (ends[i].revents != 0 && n <= 0)
            return;
          for (gssize done = 0; n > 0 && done < n;)
            {
              gssize written = write (i == 0 ? b : a_out, piece + done, (gsize)(n - done));
              if (written <= 0)
                return;
              done += written;
            }
        }
    }
}

/* Ends the relay before this one: it may wait for a connection that was lost without a word, for as long as TCP does.
 * The lock is held while a relay lives, so the number in the file is its own. */
static void
take_over (const char *id)
{
  g_autofree char *path = dup_folder (id, "relay");
  int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  char number[32] = "";

  if (fd < 0)
    return;
  while (flock (fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    {
      if (pread (fd, number, sizeof number - 1, 0) > 0 && g_ascii_strtoll (number, NULL, 10) > 1)
        kill ((pid_t)g_ascii_strtoll (number, NULL, 10), SIGTERM);
      g_usleep (20000);
    }
  g_snprintf (number, sizeof number, "%d\n", (int)getpid ());
  if (ftruncate (fd, 0) != 0 || pwrite (fd, number, strlen (number), 0) < 0)
    g_debug ("%s: %s", path, g_strerror (errno));
  /* The descriptor stays open as long as this process. */
}

static int
serve_relay (const char *id, GInputStream *input, GOutputStream *output)
{
  g_autofree char *path = dup_folder (id, "run");
  int fd;

  take_over (id);
  fd = loom_run_socket_connect (path, NULL, NULL);
  if (fd < 0)
    return 5;
  fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) & ~O_NONBLOCK);
  copy_both_ways (g_unix_input_stream_get_fd (G_UNIX_INPUT_STREAM (input)),
                  g_unix_output_stream_get_fd (G_UNIX_OUTPUT_STREAM (output)), fd);
  close (fd);
  return 0;
}

static int
run_remote (const Command *command, int argc, char **argv)
{
  const GOptionEntry entries[] = { { NULL } };
  g_autoptr (GInputStream) input = NULL;
  g_autoptr (GOutputStream) output = NULL;
  const char *what = argc > 1 ? argv[1] : "", *id = argc > 2 ? argv[2] : NULL;

  if (argc > 1 && *what == '-' && !command_parse (command, entries, &argc, &argv))
    return 2;
  if (!(argc == 2 && g_str_equal (what, "start"))
      && !(id != NULL && remote_id_is_valid (id)
           && ((argc == 4 && g_str_equal (what, "fetch")) || (argc == 3 && g_str_equal (what, "relay")))))
    return command_usage (command, "It is started by gradloom train --host and gradloom attach.");
  signal (SIGPIPE, SIG_IGN);
  if (!take_streams (&input, &output))
    return 5;
  if (g_str_equal (what, "start"))
    return serve_start (input, output);
  return g_str_equal (what, "fetch") ? serve_fetch (id, g_ascii_strtoll (argv[3], NULL, 10), output)
                                     : serve_relay (id, input, output);
}

const Command command_remote = {
  .name = "remote",
  .arguments = "start | fetch ID FROM | relay ID",
  .summary = "a run for another machine, by messages on standard input and output",
  .run = run_remote,
};
