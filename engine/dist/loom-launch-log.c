/* Filters the launcher's standard error: removes the messages of Open MPI 4 and 5 about ranks that have ended, and
 * passes everything else on. (MPICH's launcher writes its messages to standard output.)
 *
 * mpirun writes a block at once, and may write it after a progress bar without an end of line. So the filter searches
 * for a line of dashes anywhere, and holds back only a possible beginning of a block, for at most HOLD_MS. */
#include "engine/dist/loom-launch-log.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/dist/loom-dist.h"

#define RULE    60   /* Open MPI's lines have 74 dashes */
#define BLOCK   8192 /* no block is longer */
#define HOLD_MS 200

gboolean
loom_dist_parse_lost (const char *text, int *rank, int *number)
{
  /* Open MPI 4: "… process rank 1 with PID 4711 on node here exited on signal 9 (Killed)."; 5 has a new line after
   * "exited on". */
  static const char before[] = " process rank ", between[] = " exited on signal ";
  g_autofree char *joined = g_strdelimit (g_strdup (text), "\n", ' ');
  const char *at = strstr (joined, before), *then = at != NULL ? strstr (at, between) : NULL;

  if (then == NULL || !g_ascii_isdigit (at[strlen (before)]) || !g_ascii_isdigit (then[strlen (between)]))
    return FALSE;
  *rank = atoi (at + strlen (before));
  *number = atoi (then + strlen (between));
  return TRUE;
}

/* ---- the filter ------------------------------------------------------------------------------ */

void
loom_launch_filter_init (LoomLaunchFilter *filter)
{
  *filter = (LoomLaunchFilter){ .held = g_string_new (NULL), .rank = -1, .number = -1 };
}

void
loom_launch_filter_clear (LoomLaunchFilter *filter)
{
  g_string_free (filter->held, TRUE);
}

static void
pass (LoomLaunchFilter *filter, gsize n, GString *out)
{
  g_string_append_len (out, filter->held->str, (gssize)n);
  g_string_erase (filter->held, 0, (gssize)n);
}

/* TRUE if a block only reports that ranks have ended. Users need other blocks, such as one about a host that cannot be
 * reached. */
static gboolean
is_end_notice (const char *block)
{
  static const char *const marks[]
      = { " noticed that process rank ",      "exited with non-zero status", "MPI_ABORT was invoked",
          "Primary job  terminated normally", "has exited due to process",   "a non-zero exit code" };

  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    if (strstr (block, marks[i]) != NULL)
      return TRUE;
  return FALSE;
}

/* Processes a complete block. Output of ranks between its lines is passed on. */
static void
process_block (LoomLaunchFilter *filter, gsize n, GString *out)
{
  g_autofree char *block = g_strndup (filter->held->str, n);
  g_autoptr (GString) about = g_string_new (NULL);
  g_auto (GStrv) line = NULL;

  filter->in_block = FALSE;
  filter->unstarted = filter->unstarted || strstr (block, "unable to reliably start one or more daemons") != NULL;
  if (!is_end_notice (block))
    {
      pass (filter, n, out);
      return;
    }
  g_string_erase (filter->held, 0, (gssize)n);
  line = g_strsplit (block, "\n", -1);
  for (guint i = 0; line[i] != NULL; i++)
    if (g_str_has_prefix (line[i], "gradloom "))
      g_string_append_printf (out, "%s\n", line[i]);
    else
      g_string_append_printf (about, "%s\n", line[i]);
  /* Only the first rank counts: the launcher ends the others. */
  if (filter->rank < 0)
    loom_dist_parse_lost (about->str, &filter->rank, &filter->number);
}

/* The end of the block after its first line; 0: not received yet. */
static gsize
block_end (const GString *held)
{
  const char *line = strchr (held->str, '\n');

  for (; line != NULL; line = strchr (line + 1, '\n'))
    {
      gsize n = strspn (line + 1, "-");

      if (n >= RULE && line[1 + n] == '\n')
        return (gsize)(line + n + 2 - held->str);
    }
  return 0;
}

/* How a line of a launcher begins, and what it must contain to be removed; NULL: nothing more. */
static const struct
{
  const char *begins, *has;
} removed_lines[] = {
  /* About the signals that this process sends to mpirun, and about suppressed blocks. */
  { "mpirun: Forwarding signal ", NULL },
  { "mpirun: killing job", NULL },
  { "mpirun: abort is already in progress", NULL },
  { "[", "has sent help message help-mpi-api.txt / mpi-abort" },
  { "[", "orte_base_help_aggregate" },
  { "[", "orte/util/show_help.c" },
  /* From the ssh that mpirun starts. */
  { "[", "Warning: setpgid(" },
  /* From MPICH in a rank that has ended the others. */
  { "Abort(", "application called MPI_Abort(" },
  { "MPICH: Builtin communicator ", NULL },
};

/* TRUE if this may be the beginning of such a line, so that the rest has to arrive first. */
static gboolean
may_be_removed (const char *text)
{
  for (guint i = 0; i < G_N_ELEMENTS (removed_lines); i++)
    if (g_str_has_prefix (text, removed_lines[i].begins))
      return TRUE;
  return FALSE;
}

static gboolean
is_removed (const char *line)
{
  for (guint i = 0; i < G_N_ELEMENTS (removed_lines); i++)
    if (g_str_has_prefix (line, removed_lines[i].begins)
        && (removed_lines[i].has == NULL || strstr (line, removed_lines[i].has) != NULL))
      return TRUE;
  return FALSE;
}

/* MPICH's launcher reports that a host cannot be reached, or that an option is unknown. */
static gboolean
is_unstarted (const char *line)
{
  return g_str_has_prefix (line, "[mpiexec@")
         && (strstr (line, "Launch proxy failed") != NULL || strstr (line, "error parsing parameters") != NULL);
}

/* Passes on text outside of blocks. FALSE: the held text needs more bytes. */
static gboolean
pass_outside (LoomLaunchFilter *filter, GString *out)
{
  GString *held = filter->held;

  for (gsize i = 0; i < held->len;)
    {
      const gsize n = strspn (held->str + i, "-");
      const char *end = NULL;

      if (n > 0 && (i + n == held->len || (n >= RULE && held->str[i + n] == '\n')))
        {
          filter->in_block = i + n < held->len;
          pass (filter, i, out);
          return filter->in_block;
        }
      if (may_be_removed (held->str + i))
        {
          end = strchr (held->str + i, '\n');
          /* A progress bar also begins with "[", and has no end of line. */
          if (end == NULL && held->str[i] != '[')
            {
              pass (filter, i, out);
              return FALSE;
            }
        }
      if (end == NULL)
        {
          i += MAX (n, 1);
          continue;
        }
      g_autofree char *line = g_strndup (held->str + i, (gsize)(end - held->str) - i);

      filter->unstarted = filter->unstarted || is_unstarted (line);
      if (is_removed (line))
        /* An empty line follows some. */
        g_string_erase (held, (gssize)i, end - held->str - (gssize)i + 1 + (end[1] == '\n'));
      else
        i = (gsize)(end - held->str) + 1;
    }
  pass (filter, held->len, out);
  return FALSE;
}

void
loom_launch_filter_push (LoomLaunchFilter *filter, const char *bytes, gsize n, GString *out)
{
  gsize end;

  /* Text has no zero bytes, and the search would end at one. */
  for (gsize i = 0; i < n; i++)
    if (bytes[i] != '\0')
      g_string_append_c (filter->held, bytes[i]);
  for (;;)
    {
      if (!filter->in_block && !pass_outside (filter, out))
        return;
      end = block_end (filter->held);
      if (end == 0 && filter->held->len < BLOCK)
        return;
      process_block (filter, end > 0 ? end : filter->held->len, out);
    }
}

void
loom_launch_filter_flush (LoomLaunchFilter *filter, GString *out)
{
  if (filter->in_block)
    process_block (filter, filter->held->len, out);
  else
    pass (filter, filter->held->len, out);
}

/* ---- the thread -------------------------------------------------------------------------------- */

struct _LoomLaunchLog
{
  int from, stop[2]; /* stop[1] is closed when the launcher has ended */
  LoomLaunchFilter filter;
  gboolean has_remedy;
  GThread *thread;
  gint done; /* atomic */
};

/* If standard error has no reader any more, the text is dropped. */
static void
write_all (GString *text)
{
  for (gsize at = 0; at < text->len;)
    {
      struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };
      gssize n = write (STDERR_FILENO, text->str + at, text->len - at);

      if (n >= 0)
        at += (gsize)n;
      else if (errno == EAGAIN)
        poll (&ready, 1, -1);
      else if (errno != EINTR)
        break;
    }
  g_string_truncate (text, 0);
}

static void *
forward_output (void *data)
{
  LoomLaunchLog *log = data;
  struct pollfd ready[] = { { .fd = log->from, .events = POLLIN }, { .fd = log->stop[0], .events = POLLIN } };
  g_autoptr (GString) out = g_string_new (NULL);
  sigset_t broken;

  sigemptyset (&broken);
  sigaddset (&broken, SIGPIPE);
  pthread_sigmask (SIG_BLOCK, &broken, NULL);
  for (;;)
    {
      const int come = poll (ready, G_N_ELEMENTS (ready), log->filter.held->len > 0 ? HOLD_MS : -1);
      char bytes[4096];
      gssize n = come > 0 ? read (log->from, bytes, sizeof bytes) : 0;

      if (come > 0 && n > 0)
        loom_launch_filter_push (&log->filter, bytes, (gsize)n, out);
      else if (come == 0)
        loom_launch_filter_flush (&log->filter, out);
      /* Another process that still holds the pipe open, such as an orphaned ssh, is not waited for. */
      else if (n == 0 ? come > 0 : errno != EINTR && (errno != EAGAIN || ready[1].revents != 0))
        break;
      /* The end of the sentence of rank 0's trainer (engine/train). */
      log->has_remedy = log->has_remedy || strstr (out->str, "gradloom train --resume ") != NULL;
      write_all (out);
    }
  loom_launch_filter_flush (&log->filter, out);
  write_all (out);
  g_atomic_int_set (&log->done, TRUE);
  return NULL;
}

LoomLaunchLog *
loom_launch_log_new (int from)
{
  LoomLaunchLog *log = g_new0 (LoomLaunchLog, 1);

  log->from = from;
  g_unix_set_fd_nonblocking (from, TRUE, NULL);
  if (!g_unix_open_pipe (log->stop, FD_CLOEXEC, NULL))
    log->stop[0] = log->stop[1] = -1;
  loom_launch_filter_init (&log->filter);
  log->thread = g_thread_new ("launch-log", forward_output, log);
  return log;
}

void
loom_launch_log_finish (LoomLaunchLog *log, const sigset_t *watched, int *rank, int *number, gboolean *has_remedy,
                        gboolean *unstarted)
{
  const struct timespec moment = { .tv_nsec = 2000000 };
  gboolean hurry = FALSE;

  close (log->stop[1]);
  while (!g_atomic_int_get (&log->done) && !hurry)
    {
      const int came = sigtimedwait (watched, NULL, &moment);

      hurry = came > 0 && came != SIGCHLD; /* SIGCHLD may be that of the launcher's own end */
    }
  if (hurry)
    {
      /* The thread still writes; the process ends soon, and the log with it. */
      *rank = *number = -1;
      *has_remedy = *unstarted = FALSE;
      return;
    }
  g_thread_join (log->thread);
  *rank = log->filter.rank;
  *number = log->filter.number;
  *has_remedy = log->has_remedy;
  *unstarted = log->filter.unstarted;
  loom_launch_filter_clear (&log->filter);
  close (log->from);
  close (log->stop[0]);
  g_free (log);
}
