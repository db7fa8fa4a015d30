/* `gradloom remote`: what `gradloom train --host`, `gradloom attach` and Studio start on a host by ssh, with messages
 * on standard input and output (remote-stream.h). A run has a folder of its own, with its data by content; the other
 * end names an id, never a path. */
#include "app/commands.h"
#include "app/remote-content.h"
#include "app/remote-prune.h"
#include "app/remote-window.h"
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Options of Start that name no path. */
static const char *const allowed[]
    = { "device",  "precision", "epochs",      "steps", "batch_size",         "seed",   "history",     "lr",
        "threads", "tf32",      "num_workers", "set",   "checkpoint_seconds", "paused", "resume_step", "branch_step",
        "ranks",   NULL };
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

/* ---- starting ---------------------------------------------------------- */

/* The run of this machine that an id names, to branch or repeat it. NULL with an error: there is none. (transfer full)
 */
static char *
dup_parent (GVariant *id, GError **error)
{
  const char *text = g_variant_is_of_type (id, G_VARIANT_TYPE_STRING) ? g_variant_get_string (id, NULL) : "";
  g_autofree char *path = loom_run_host_is_id (text) ? dup_folder (text, "run") : NULL;

  if (path != NULL && loom_path_is_folder (path))
    return g_steal_pointer (&path);
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "The host does not have the run any more that is to be branched or repeated.");
  return NULL;
}

/* The option as the worker takes it, without a reference; NULL with an error if the other end names what must not be
 * named. Runs are named by their ids. */
static GVariant *
read_option (const char *key, GVariant *value, const char *out, GError **error)
{
  g_autofree char *parent = NULL;

  if (g_str_equal (key, "resume"))
    return g_variant_new_string (out);
  if (g_str_equal (key, "branch") || g_str_equal (key, "replay"))
    {
      parent = dup_parent (value, error);
      return parent != NULL ? g_variant_new_string (parent) : NULL;
    }
  if (g_strv_contains (allowed, key))
    return value;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The option “%s” does not go to a host.", key);
  return NULL;
}

/* NULL with an error: that of an option. */
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
      GVariant *read = read_option (key, value, out, error);
      if (read != NULL)
        g_variant_builder_add (&b, "{sv}", key, read);
      g_variant_unref (value);
      if (read == NULL)
        {
          g_variant_builder_clear (&b);
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
  g_autoptr (GHashTable) sums = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
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
      if (!g_hash_table_contains (sums, sum) && !remote_content_has (sum, size))
        g_array_append_val (wanted, i);
      g_hash_table_add (sums, g_strdup (sum));
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

/* Makes the folders of a new run and the files that its graph names; a branch or a repetition, without a graph, has
 * those of the other run. */
static gboolean
make_folders (const char *data, const char *out, GVariant *files, GError **error)
{
  const char *name, *sum;

  loom_path_remove_all (out); /* of a start that failed */
  if (!loom_path_make_folder (data, 0700) || !loom_path_make_folder (out, 0700))
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
  return TRUE;
}

/* Begins a run, or resumes the one that has this id. */
static gboolean
begin (GVariant *run, const char *id, gboolean resumes, GError **error)
{
  g_autofree char *data = dup_folder (id, "data"), *out = dup_folder (id, "run");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (GVariant) files = NULL, options = NULL;
  GVariant *start;
  gboolean is_done;
  const char *xml;

  g_variant_get (run, "(&s&s@a(sst)@a{sv})", NULL, &xml, &files, &options);
  if (!resumes && !make_folders (data, out, files, error))
    return FALSE;
  if (*xml != '\0')
    {
      graph = loom_graph_read_data (xml, (gssize)strlen (xml), "the graph", faults, error);
      if (graph == NULL)
        return FALSE;
      loom_graph_set_folder (graph, data);
    }
  start = read_options (options, out, error);
  if (start == NULL)
    return FALSE;
  return train_detach_begin (graph, start, &is_done, error);
}

/* TRUE: there is nothing to do, because an earlier start of this id has begun a run, or has resumed it, and its answer
 * was lost with its connection. */
static gboolean
has_begun (const char *id, gboolean resumes, GError **error)
{
  g_autofree char *path = dup_folder (id, "run");
  g_autoptr (LoomRunSummary) run = loom_run_summary_new (path, 2);

  if (run->error == NULL && run->log.is_training)
    return TRUE;
  if (!resumes)
    return run->error == NULL && loom_run_summary_end (run) != NULL;
  if (run->error != NULL)
    g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA, "The host does not have this run any more.");
  return FALSE;
}

/* Two starts of an id wait for each other. */
static int
lock_start (const char *id)
{
  g_autofree char *folder = dup_folder (id, NULL), *path = dup_folder (id, "start");
  int fd;

  loom_path_make_folder (folder, 0700);
  fd = loom_os->open (AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  while (fd >= 0 && !loom_lock (fd, LOCK_EX) && errno == EINTR)
    ;
  return fd;
}

static int
serve_start (GInputStream *input, GOutputStream *output)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) run = remote_read (input, REMOTE_RUN, &error), files = NULL, options = NULL;
  gboolean resumes = FALSE;
  const char *id;
  int lock;

  if (run == NULL)
    return 5;
  g_variant_get (run, "(&s&s@a(sst)@a{sv})", &id, NULL, &files, &options);
  g_variant_lookup (options, "resume", "b", &resumes);
  if (!loom_run_host_is_id (id))
    return 5;
  remote_prune ();
  lock = lock_start (id);
  if (has_begun (id, resumes, &error) || error != NULL)
    remote_write (output, g_variant_new ("(@aus)", g_variant_new_array (G_VARIANT_TYPE_UINT32, NULL, 0), ""), NULL);
  else if (receive_files (files, input, output, &error))
    begin (run, id, resumes, &error);
  remote_write (output,
                error == NULL ? g_variant_new (REMOTE_STARTED, id, "", "")
                              : g_variant_new (REMOTE_STARTED, "",
                                               error->domain == LOOM_ERROR ? loom_error_code_name (error->code) : "IO",
                                               error->message),
                NULL);
  loom_close (lock);
  return error == NULL ? 0 : 5;
}

/* ---- sending a run ------------------------------------------------------- */

/* New events are looked for every TURN_MS, and whether the run has ended every TURNS of them. */
#define TURN_MS 300
#define TURNS   5

static gboolean
send_piece (GOutputStream *output, const char *name, const void *data, gsize n)
{
  return remote_write (
      output, g_variant_new ("(s@ay)", name, g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, data, n, 1)), NULL);
}

/* Sends a file from the byte *from on, which becomes its end. */
static gboolean
send_file (GOutputStream *output, LoomFolder *folder, const char *name, gint64 *from)
{
  g_autofree guint8 *piece = g_malloc (REMOTE_CHUNK);
  int fd = loom_folder_open_file (folder, name, O_RDONLY, NULL);
  gssize n = 0;
  gboolean ok = TRUE;

  if (fd < 0)
    return TRUE;
  while (ok && (n = loom_read_at (fd, piece, REMOTE_CHUNK, *from)) > 0)
    {
      ok = send_piece (output, name, piece, (gsize)n);
      *from += n;
    }
  loom_close (fd);
  return ok;
}

/* "training", or how the run has ended: "done", "stopped", "failed SENTENCE", "killed LINE", the last line that it
 * printed; "gone": it has not begun. (transfer full) */
static char *
dup_state (const char *path, const LoomRunSummary *run)
{
  const char *end = loom_run_summary_end (run);
  g_autofree char *last = NULL;

  if (run->log.is_training)
    return g_strdup (REMOTE_TRAINING);
  if (end == NULL)
    return g_strdup ("gone");
  if (run->log.was_killed)
    last = loom_run_log_dup_last (path);
  return g_strdup_printf ("%s %s", end, last != NULL ? last : run->log.sentence != NULL ? run->log.sentence : "");
}

/* A trainer keeps a lock on its events while it lives. */
static gboolean
is_training (const char *path)
{
  g_autofree char *events = g_build_filename (path, LOOM_RUN_EVENTS, NULL);
  int fd = loom_open (AT_FDCWD, events, O_RDONLY | O_NOFOLLOW);
  const gboolean locked = fd >= 0 && !loom_lock (fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

  loom_close (fd);
  return locked;
}

/* The byte of the events from which they are to be sent. If what the mirror has is not what is here, because the run
 * was resumed from an earlier checkpoint, all of it, after a message that says so. sum: of the mirror's last events. */
static gint64
find_start (LoomFolder *folder, gint64 from, const char *sum, GOutputStream *output)
{
  int fd = loom_folder_open_file (folder, LOOM_RUN_EVENTS, O_RDONLY, NULL);
  g_autofree char *own = fd >= 0 ? remote_dup_tail_sum (fd, from) : NULL;

  loom_close (fd);
  if (fd < 0 || g_strcmp0 (own, sum) == 0)
    return from;
  send_piece (output, REMOTE_RESTART, "", 0);
  return 0;
}

/* Sends the events from this byte on as they come, until the run has ended or the other end has gone. Returns the byte
 * up to which they have been sent. */
static gint64
send_as_they_come (const char *path, LoomFolder *folder, gint64 from, GInputStream *input, GOutputStream *output)
{
  struct pollfd gone = { g_unix_input_stream_get_fd (G_UNIX_INPUT_STREAM (input)), POLLIN, 0 };
  struct stat info;
  gboolean ok = TRUE;

  for (int turn = 0; ok && (turn % TURNS != 0 || is_training (path)); turn++)
    {
      if (loom_folder_stat (folder, LOOM_RUN_EVENTS, &info) && info.st_size > from)
        ok = send_file (output, folder, LOOM_RUN_EVENTS, &from);
      ok = ok && poll (&gone, 1, TURN_MS) == 0;
    }
  return from;
}

/* follows: sends what comes until the run has ended; else what is there. */
static int
serve_fetch (const char *id, gint64 from, const char *sum, gboolean follows, GInputStream *input, GOutputStream *output)
{
  g_autofree char *path = dup_folder (id, "run"), *state = NULL;
  g_autoptr (LoomFolder) folder = loom_folder_open (path, NULL);
  g_autoptr (LoomRunSummary) run = NULL;
  gint64 at = folder != NULL ? find_start (folder, from, sum, output) : 0, none;
  gboolean ok = TRUE;

  if (folder != NULL && follows)
    at = send_as_they_come (path, folder, at, input, output);
  run = folder != NULL ? loom_run_summary_new (path, 2) : NULL;
  /* Before the files: what has ended by now is whole. */
  state = run == NULL ? g_strdup ("gone") : dup_state (path, run);
  ok = folder == NULL || send_file (output, folder, LOOM_RUN_EVENTS, &at);
  for (guint i = 0; folder != NULL && ok && i < G_N_ELEMENTS (sent); i++)
    if (!g_str_equal (state, REMOTE_TRAINING) || !sent[i].at_end)
      ok = send_file (output, folder, sent[i].name, (none = 0, &none));
  return send_piece (output, "", state, strlen (state)) ? 0 : 5;
}

/* ---- a client of the worker ------------------------------------------------ */

/* The process that holds the lock; 0: none. */
static pid_t
lock_holder (int fd)
{
  struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

  return fcntl (fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

/* Ends the relay before this one: it may wait for a connection that was lost without a word, for as long as TCP does.
 * The kernel knows which process holds the lock. A handle of that process is taken before it is asked again, so no
 * other process that has got its number is ended. A relay has nothing to save, and a stopped one would not end
 * otherwise. */
static void
take_over (const char *id)
{
  g_autofree char *path = dup_folder (id, "relay");
  struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  int fd = loom_os->open (AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  const pid_t before = fd >= 0 ? lock_holder (fd) : 0;
  int process = before > 0 ? (int)syscall (SYS_pidfd_open, before, 0) : -1;

  struct pollfd end = { process, POLLIN, 0 };

  /* Its lock may be free before its connection to the worker is closed, so its end is waited for. */
  if (process >= 0 && lock_holder (fd) == before && syscall (SYS_pidfd_send_signal, process, SIGKILL, NULL, 0) == 0)
    while (poll (&end, 1, -1) < 0 && errno == EINTR)
      ;
  loom_close (process);
  /* The descriptor stays open as long as this process, and the lock with it. */
  while (fd >= 0 && fcntl (fd, F_SETLKW, &lock) != 0 && errno == EINTR)
    ;
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
  remote_copy_both_ways (g_unix_input_stream_get_fd (G_UNIX_INPUT_STREAM (input)),
                         g_unix_output_stream_get_fd (G_UNIX_OUTPUT_STREAM (output)), fd, fd);
  loom_close (fd);
  return 0;
}

/* The words of the other machine. -1: they are none. */
static int
serve (int argc, char **argv, GInputStream *input, GOutputStream *output)
{
  const char *what = argc > 1 ? argv[1] : "", *id = argc > 2 ? argv[2] : NULL;
  const gboolean is_start = argc == 2 && g_str_equal (what, "start");
  const gboolean follows = g_str_equal (what, "follow"),
                 is_fetch = argc == 5 && (follows || g_str_equal (what, "fetch")),
                 is_relay = argc == 3 && g_str_equal (what, "relay");
  static const char magic[] = REMOTE_MAGIC LOOM_VERSION "\n";

  if (!is_start && !((is_fetch || is_relay) && loom_run_host_is_id (id)))
    return -1;
  if (!g_output_stream_write_all (output, magic, strlen (magic), NULL, NULL, NULL))
    return 5;
  if (is_start)
    return serve_start (input, output);
  return is_fetch ? serve_fetch (id, g_ascii_strtoll (argv[3], NULL, 10), argv[4], follows, input, output)
                  : serve_relay (id, input, output);
}

/* The devices of this machine, as lines of JSON: its libraries may print others. */
static int
serve_devices (void)
{
  puts (REMOTE_MAGIC LOOM_VERSION);
  command_print_devices (TRUE);
  return 0;
}

static int
run_remote (const Command *command, int argc, char **argv)
{
  const GOptionEntry entries[] = { { NULL } };
  g_autoptr (GInputStream) input = NULL;
  g_autoptr (GOutputStream) output = NULL;
  int status = -1;

  if (argc > 1 && *argv[1] == '-' && !command_parse (command, entries, &argc, &argv))
    return 2;
  signal (SIGPIPE, SIG_IGN);
  if (argc == 2 && g_str_equal (argv[1], "devices"))
    return serve_devices ();
  if (argc > 1)
    {
      if (!remote_take_streams (&input, &output))
        return 5;
      status = serve (argc, argv, input, output);
      if (status < 0)
        status = remote_window_serve (command, argc, argv, input, output);
    }
  return status >= 0 ? status
                     : command_usage (command, "It is started by gradloom train --host, gradloom attach and Studio.");
}

const Command command_remote = {
  .name = "remote",
  .arguments = "start | fetch|follow ID FROM SUM | relay ID | devices [HOST] | begin HOST RUN FOLDER OPTIONS | "
               "connect RUN | follow RUN",
  .summary = "a run for another machine, by messages on standard input and output",
  .run = run_remote,
};
