/* Reads events.jsonl and sessions.jsonl.
 *
 * The file is read and never mapped: a trainer that resumes the run cuts it, which would end a process that reads the
 * mapping. */
#include "engine/runs/loom-run-log.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-text.h"
#include "engine/infer/loom-run-event.h"
#include "engine/infer/loom-run-files.h"

#include <errno.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 512   /* bytes of a piece of a long file: about five steps */
#define TAIL  65536 /* bytes of its end, which are read in full */

#define EVAL_PIECES 32 /* in which half of what is searched for evaluations is read */

#define MOST_SENTENCE 600 /* characters */

static const char eval_line[] = "{\"event\":\"eval\",";

void
loom_run_log_clear (LoomRunLog *log)
{
  g_clear_pointer (&log->curve, loom_series_unref);
  g_clear_pointer (&log->validation, loom_series_unref);
  g_clear_pointer (&log->split, g_free);
  g_clear_pointer (&log->metric, g_free);
  g_clear_pointer (&log->sentence, g_free);
}

/* ---- lines ------------------------------------------------------------------------ */

static void
add_step (LoomRunLog *log, LoomSeries *to, const LoomRunStep *step)
{
  if (step->step <= log->step)
    return;
  log->step = step->step;
  log->epoch = step->epoch > 0 ? step->epoch : log->epoch;
  log->loss = step->loss;
  if (!isnan (step->loss))
    loom_series_append (to, (double)step->step, step->loss);
}

/* The first metric that is a number. */
static void
set_metric (LoomRunLog *log, JsonObject *event)
{
  g_autoptr (GArray) values = NULL;
  g_autoptr (GPtrArray) names = loom_run_event_metrics (event, &values);

  g_free (log->metric);
  log->metric = g_strdup (names->pdata[0]);
  log->value = log->metric != NULL ? g_array_index (values, double, 0) : NAN;
}

/* Evaluations on test are forgotten if there are others on val. */
static void
add_evaluation (LoomRunLog *log, const char *line, gsize length)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *event = loom_run_event_parse (parser, line, length);
  const char *split = event != NULL ? loom_run_event_text (event, "split", NULL) : NULL;
  double step, last;

  if (split == NULL || (g_strcmp0 (log->split, "val") == 0 && !g_str_equal (split, "val")))
    return;
  if (g_strcmp0 (log->split, split) != 0)
    {
      loom_series_unref (log->validation);
      log->validation = loom_series_new (log->points);
    }
  g_free (log->split);
  log->split = g_strdup (split);
  log->eval_loss = loom_run_event_number (event, "loss");
  set_metric (log, event);
  step = loom_run_event_number (event, "step");
  if (isfinite (step) && isfinite (log->eval_loss) && (!loom_series_last (log->validation, &last, NULL) || step > last))
    loom_series_append (log->validation, step, log->eval_loss);
}

/* The end of a run of an earlier version. */
static void
add_failure (LoomRunLog *log, const char *line, gsize length)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *event = loom_run_event_parse (parser, line, length);
  const char *sentence = event != NULL ? loom_run_event_text (event, "message", NULL) : NULL;

  if (sentence == NULL)
    return;
  log->end = LOOM_RUN_END_FAILED;
  log->nan_step = strstr (sentence, "finite") != NULL ? loom_run_event_int (event, "step", 0) + 1 : 0;
  g_free (log->sentence);
  log->sentence = loom_text_printable (sentence, TRUE, MOST_SENTENCE);
}

/* Reads the whole lines of a text. */
static void
read_lines (LoomRunLog *log, LoomSeries *to, const char *text, gsize length)
{
  LoomRunStep step;

  for (const char *line = text, *end; (end = memchr (line, '\n', (gsize)(text + length - line))) != NULL;
       line = end + 1)
    {
      if (loom_run_event_step (line, end, &step))
        add_step (log, to, &step);
      else if (loom_run_event_is (line, end, "failed"))
        add_failure (log, line, (gsize)(end - line));
    }
}

/* ---- the file ------------------------------------------------------------------------ */

/* Reads up to n bytes at an offset, ended by a zero byte; returns their number. */
static gsize
read_at (int fd, char *to, gsize n, gint64 offset)
{
  const gssize got = loom_read_at (fd, to, n, offset);
  const gsize have = (gsize)MAX (got, 0);

  to[have] = '\0';
  return have;
}

static void
read_whole (LoomRunLog *log, int fd, gsize size)
{
  g_autofree char *text = g_malloc (size + 1);

  read_lines (log, log->curve, text, read_at (fd, text, size, 0));
}

/* Reads the lines that begin in a piece, whose mean becomes a point. */
static void
read_piece (LoomRunLog *log, int fd, char *buffer, gsize n, gint64 offset)
{
  const gsize have = read_at (fd, buffer, n, offset);
  const char *from = offset > 0 ? memchr (buffer, '\n', have) : buffer - 1;
  g_autoptr (LoomSeries) steps = loom_series_new (LOOM_SERIES_MOST);
  double first, low, high, mean;

  if (from != NULL)
    read_lines (log, steps, from + 1, have - (gsize)(from + 1 - buffer));
  if (!loom_series_range (steps, 0, loom_series_length (steps), &low, &high, &mean))
    return;
  loom_series_get (steps, 0, &first, NULL);
  loom_series_append (log->curve, first, mean);
}

static void
read_pieces (LoomRunLog *log, int fd, gint64 size)
{
  g_autofree char *buffer = g_malloc (TAIL + 1);
  const gint64 until = size - TAIL;

  for (guint i = 0; i + 1 < log->points; i++)
    read_piece (log, fd, buffer, PIECE, (gint64)((double)until * i / (log->points - 1)));
  read_piece (log, fd, buffer, TAIL, until);
}

/* Reads the evaluations of a text, which begins with a line if its offset is 0. */
static void
add_evaluations (LoomRunLog *log, const char *text, gsize length, gint64 offset)
{
  const char *stop = text + length;

  for (const char *line = text, *end; line != NULL; line = end)
    {
      line = memmem (line, (gsize)(stop - line), eval_line, strlen (eval_line));
      end = line != NULL ? memchr (line, '\n', (gsize)(stop - line)) : NULL;
      if (end != NULL && (line == text ? offset == 0 : line[-1] == '\n'))
        add_evaluation (log, line, (gsize)(end - line));
    }
}

static void
read_evaluations (LoomRunLog *log, int fd, gint64 size)
{
  const gsize most = (gsize)MIN (size, LOOM_RUN_LOG_SEARCHED);
  g_autofree char *text = g_malloc (most + 1);
  const gint64 tail = size > LOOM_RUN_LOG_SEARCHED ? size - LOOM_RUN_LOG_SEARCHED / 2 : 0;

  for (guint i = 0; i < EVAL_PIECES && tail > 0; i++)
    {
      const gint64 offset = (gint64)((double)tail * i / EVAL_PIECES);

      add_evaluations (log, text, read_at (fd, text, LOOM_RUN_LOG_SEARCHED / 2 / EVAL_PIECES, offset), offset);
    }
  add_evaluations (log, text, read_at (fd, text, (gsize)(size - tail), tail), tail);
}

/* When the file was made; `changed`, the time of its last change, if the file system does not know. Only a run of an
 * earlier version has no other times. */
static double
time_of_birth (int fd, double changed)
{
  struct statx more;

  if (statx (fd, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 && (more.stx_mask & STATX_BTIME) != 0)
    return MIN ((double)more.stx_btime.tv_sec + more.stx_btime.tv_nsec * 1e-9, changed);
  return changed;
}

/* ---- sessions ------------------------------------------------------------------------ */

/* A run whose events have been cut since is at its last session's step. Of a long run events have some steps only, and
 * of a killed one not the last. */
static void
set_last_step (LoomRunLog *log, const LoomRunSession *last)
{
  double drawn;

  log->step = last->step;
  log->epoch = last->epoch;
  log->loss = last->loss;
  if (!loom_series_last (log->curve, &drawn, NULL) || (double)last->step > drawn)
    loom_series_append (log->curve, (double)last->step, last->loss);
}

static void
read_sessions (LoomFolder *run, LoomRunLog *log)
{
  g_autoptr (GArray) sessions = loom_run_sessions_read (run);
  const LoomRunSession *first = &g_array_index (sessions, LoomRunSession, 0), *last = first + sessions->len - 1;

  if (sessions->len == 0)
    return;
  log->begun = first->begun;
  log->ended = last->ended;
  log->seconds = 0;
  for (const LoomRunSession *s = first; s <= last; s++)
    log->seconds += s->ended - s->begun;
  /* A process that has ended its run may stay, for evaluations. */
  log->is_training = log->is_training && last->end == LOOM_RUN_END_NONE;
  log->end = log->is_training ? LOOM_RUN_END_NONE : last->end;
  log->was_killed = !log->is_training && last->end == LOOM_RUN_END_NONE;
  log->nan_step = log->is_training ? 0 : last->nan_step;
  g_free (log->sentence);
  log->sentence = log->is_training ? NULL : g_strdup (last->sentence);
  if (!isnan (last->loss))
    set_last_step (log, last);
}

void
loom_run_log_init (LoomRunLog *log, guint points)
{
  *log = (LoomRunLog){ .points = points,
                       .curve = loom_series_new (points),
                       .validation = loom_series_new (points),
                       .loss = NAN,
                       .eval_loss = NAN,
                       .value = NAN };
}

gboolean
loom_run_log_read (LoomRunLog *log, LoomFolder *run, GError **error)
{
  struct stat info;
  int fd;

  if (!loom_folder_stat (run, LOOM_RUN_EVENTS, &info))
    return TRUE;
  fd = loom_folder_open_file (run, LOOM_RUN_EVENTS, O_RDONLY, error);
  if (fd < 0)
    return FALSE;
  /* A trainer locks its file for as long as it lives. */
  if (!loom_lock (fd, LOCK_SH | LOCK_NB))
    log->is_training = errno == EWOULDBLOCK;
  else
    loom_lock (fd, LOCK_UN); /* at once: a trainer may begin while the file is read */
  log->ended = (double)info.st_mtim.tv_sec + (double)info.st_mtim.tv_nsec * 1e-9;
  log->begun = time_of_birth (fd, log->ended);
  log->seconds = log->ended - log->begun;
  if (info.st_size <= LOOM_RUN_LOG_WHOLE)
    read_whole (log, fd, (gsize)info.st_size);
  else
    read_pieces (log, fd, info.st_size);
  read_evaluations (log, fd, info.st_size);
  loom_close (fd);
  read_sessions (run, log);
  return TRUE;
}
