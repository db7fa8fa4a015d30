/* Implements remote-host.h. */
#include "app/remote-host.h"

#include "engine/runs/loom-runs.h"

#include <string.h>

#define NO_COMMAND 127 /* of a shell */
#define MOST_LINE  2000
/* Microseconds for the last line of standard error after the end of ssh: a master connection may keep it open. */
#define ERRORS_WAIT (G_USEC_PER_SEC / 2)

/* ---- standard error ------------------------------------------------------ */

/* A thread reads it to its end, because a full pipe would block ssh. */
struct _RemoteErrors
{
  gatomicrefcount references;
  GInputStream *stream;
  GMutex lock; /* for all below */
  GCond over;
  gboolean is_over;
  GString *last; /* the last line that is not empty */
};

static void
errors_unref (RemoteErrors *self)
{
  if (!g_atomic_ref_count_dec (&self->references))
    return;
  g_object_unref (self->stream);
  g_string_free (self->last, TRUE);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->over);
  g_free (self);
}

static gpointer
read_errors (gpointer data)
{
  RemoteErrors *self = data;
  g_autoptr (GString) line = g_string_new (NULL);
  char piece[4096];
  gssize n;

  while ((n = g_input_stream_read (self->stream, piece, sizeof piece, NULL, NULL)) > 0)
    for (gssize i = 0; i < n; i++)
      if (piece[i] != '\n' && piece[i] != '\r')
        {
          if (line->len < MOST_LINE)
            g_string_append_c (line, piece[i]);
        }
      else if (line->len > 0)
        {
          g_mutex_lock (&self->lock);
          g_string_assign (self->last, line->str);
          g_mutex_unlock (&self->lock);
          g_string_truncate (line, 0);
        }
  g_mutex_lock (&self->lock);
  if (line->len > 0)
    g_string_assign (self->last, line->str);
  self->is_over = TRUE;
  g_cond_signal (&self->over);
  g_mutex_unlock (&self->lock);
  errors_unref (self);
  return NULL;
}

static RemoteErrors *
errors_new (GInputStream *stream)
{
  RemoteErrors *self = g_new0 (RemoteErrors, 1);

  g_atomic_ref_count_init (&self->references);
  g_atomic_ref_count_inc (&self->references);
  self->stream = g_object_ref (stream);
  self->last = g_string_new (NULL);
  g_mutex_init (&self->lock);
  g_cond_init (&self->over);
  g_thread_unref (g_thread_new ("ssh-errors", read_errors, self));
  return self;
}

/* The last line that ssh or a shell there has printed; "" if there is none. (transfer full) */
static char *
errors_dup_last (RemoteErrors *self)
{
  const gint64 until = loom_monotonic () + ERRORS_WAIT;
  g_autofree char *line = NULL;

  g_mutex_lock (&self->lock);
  while (!self->is_over && g_cond_wait_until (&self->over, &self->lock, until))
    ;
  line = g_strdup (self->last->str);
  g_mutex_unlock (&self->lock);
  return command_printable (g_strstrip (line));
}

/* ---- connecting -------------------------------------------------------- */

/* The line that begins what the program says. NULL: it has said none. (transfer full) */
static char *
read_line (GInputStream *input)
{
  g_autoptr (GString) line = g_string_new (NULL);
  gsize n = 0;
  char c;

  while (n++ < REMOTE_MAX_NOISE && g_input_stream_read (input, &c, 1, NULL, NULL) == 1)
    if (c != '\n')
      g_string_append_c (line, c);
    else if (g_str_has_prefix (line->str, REMOTE_MAGIC))
      return g_strdup (line->str + strlen (REMOTE_MAGIC));
    else
      g_string_truncate (line, 0);
  return NULL;
}

static void
explain (RemoteHost *host, GError **error)
{
  g_autofree char *complaint = NULL;

  g_subprocess_wait (host->process, NULL, NULL);
  complaint = errors_dup_last (host->errors);
  if (g_subprocess_get_if_exited (host->process) && g_subprocess_get_exit_status (host->process) == NO_COMMAND)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "%s has no gradloom in the PATH of commands that ssh starts. Install Gradloom there.", host->name);
  else if (strstr (complaint, "ermission denied") == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "%s cannot be reached by ssh (%s). Test it with: ssh -o BatchMode=yes %s true", host->name, complaint,
                 host->name);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "%s cannot be reached by ssh without a password (%s). Set up a key with ssh-copy-id %s, keep its "
                 "passphrase with ssh-add, and test it with: ssh -o BatchMode=yes %s true",
                 host->name, complaint, host->name, host->name);
}

gboolean
remote_host_open (RemoteHost *host, const char *name, const char *const *words, GError **error)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  static const char *const begin[]
      = { "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15" };

  *host = (RemoteHost){ NULL };
  if (!loom_run_host_is_name (name))
    {
      g_autofree char *shown = command_printable (name);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "“%s” is not a host. Write user@host, or a name of ~/.ssh/config.", shown);
      return FALSE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (begin); i++)
    g_ptr_array_add (argv, (gpointer)begin[i]);
  g_ptr_array_add (argv, (gpointer) "--");
  g_ptr_array_add (argv, (gpointer)name);
  g_ptr_array_add (argv, (gpointer) "gradloom");
  g_ptr_array_add (argv, (gpointer) "remote");
  for (guint i = 0; words[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)words[i]);
  g_ptr_array_add (argv, NULL);
  host->name = g_strdup (name);
  host->process = g_subprocess_newv (
      (const char *const *)argv->pdata,
      G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, error);
  if (host->process == NULL)
    {
      g_prefix_error (error, "ssh cannot be started: ");
      return FALSE;
    }
  host->errors = errors_new (g_subprocess_get_stderr_pipe (host->process));
  host->input = g_object_ref (g_subprocess_get_stdout_pipe (host->process));
  host->output = g_object_ref (g_subprocess_get_stdin_pipe (host->process));
  g_autofree char *version = read_line (host->input);
  if (version != NULL && g_str_equal (version, LOOM_VERSION))
    return TRUE;
  if (version != NULL)
    {
      g_autofree char *shown = command_printable (version);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                   "%s has gradloom %s, and this is %s. Install the same version on both.", name, shown, LOOM_VERSION);
    }
  else
    explain (host, error);
  return FALSE;
}

void
remote_host_close (RemoteHost *host)
{
  if (host->output != NULL)
    g_output_stream_close (host->output, NULL, NULL);
  if (host->input != NULL)
    g_input_stream_close (host->input, NULL, NULL);
  g_clear_object (&host->input);
  g_clear_object (&host->output);
  g_clear_object (&host->process);
  g_clear_pointer (&host->errors, errors_unref);
  g_clear_pointer (&host->name, g_free);
}
