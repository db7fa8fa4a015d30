/* Reads events.jsonl and sessions.jsonl.
 *
 * Lines of steps are searched for two members instead of being parsed: a curve has tens of thousands, all written by
 * run_folder_flush () in one form. Lines of evaluations are few and are parsed as JSON.
 *
 * The file is read and never mapped: a trainer that resumes the run cuts it, which would end a process that reads the
 * mapping. */
#include "engine/runs/loom-run-log.h"

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

static const char step_line[] = "{\"event\":\"step\",", eval_line[] = "{\"event\":\"eval\",",
                  failed_line[] = "{\"event\":\"failed\",";

void
loom_run_log_clear (LoomRunLog *log)
{
  g_clear_pointer (&log->curve, g_array_unref);
  g_clear_pointer (&log->validation, g_array_unref);
  g_clear_pointer (&log->split, g_free);
  g_clear_pointer (&log->metric, g_free);
  g_clear_pointer (&log->sentence, g_free);
}

/* ---- lines ------------------------------------------------------------------------ */

/* The number after a key in the line [line, end), which a line break ends. NaN: none. */
static double
number_after (const char *line, const char *end, const char *key)
{
  const gsize n = strlen (key);
  const char *at = memmem (line, (gsize)(end - line), key, n);
  char *stop;
  double value;

  if (at == NULL || at + n >= end)
    return NAN;
  value = g_ascii_strtod (at + n, &stop);
  return stop > at + n && stop <= end && isfinite (value) ? value : NAN;
}

/* Steps of a part of the file, of which the mean becomes a point. */
typedef struct
{
  double first, sum;
  guint n;
} Mean;

static void
add_step (LoomRunLog *log, Mean *mean, const char *line, const char *end)
{
  const double step = number_after (line, end, "\"step\":"), epoch = number_after (line, end, "\"epoch\":"),
               loss = number_after (line, end, "\"loss\":");

  if (isnan (step) || step <= (double)log->step || step > 9e15)
    return;
  log->step = (gint64)step;
  log->epoch = epoch >= 0 && epoch < 9e15 ? (gint64)epoch : log->epoch;
  log->loss = loss;
  if (isnan (loss))
    return;
  if (mean->n++ == 0)
    {
      mean->first = step;
      mean->sum = 0;
    }
  mean->sum += loss;
}

static void
add_mean (LoomRunLog *log, Mean *mean)
{
  if (mean->n == 0)
    return;
  g_array_append_val (log->curve, ((LoomRunPoint){ mean->first, mean->sum / mean->n }));
  mean->n = 0;
}

/* The first metric that is a number: a confusion matrix is none. */
static void
set_metric (LoomRunLog *log, JsonObject *event)
{
  JsonNode *node = json_object_get_member (event, "metrics");
  g_autoptr (GList) names
      = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_object_get_members (json_node_get_object (node)) : NULL;

  g_clear_pointer (&log->metric, g_free);
  log->value = NAN;
  for (GList *l = names; l != NULL && log->metric == NULL; l = l->next)
    {
      log->value = loom_run_event_number (json_node_get_object (node), l->data);
      log->metric = isnan (log->value) ? NULL : g_strdup (l->data);
    }
}

/* Evaluations on test are forgotten if there are others on val. */
static void
add_evaluation (LoomRunLog *log, const char *line, gsize length)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *event = loom_run_event_parse (parser, line, length);
  const char *split = event != NULL ? loom_run_event_text (event, "split", NULL) : NULL;
  LoomRunPoint point;

  if (split == NULL || (g_strcmp0 (log->split, "val") == 0 && !g_str_equal (split, "val")))
    return;
  if (g_strcmp0 (log->split, split) != 0)
    g_array_set_size (log->validation, 0);
  g_free (log->split);
  log->split = g_strdup (split);
  log->eval_loss = loom_run_event_number (event, "loss");
  set_metric (log, event);
  point = (LoomRunPoint){ loom_run_event_number (event, "step"), log->eval_loss };
  if (isfinite (point.step) && isfinite (point.loss)
      && (log->validation->len == 0
          || point.step > g_array_index (log->validation, LoomRunPoint, log->validation->len - 1).step))
    g_array_append_val (log->validation, point);
}

/* Keeps equally many of them. */
static void
thin (GArray *points, guint most)
{
  const guint every = (points->len + most - 1) / most;
  guint n = 0;

  for (guint i = 0; every > 1 && i < points->len; i++)
    if ((points->len - 1 - i) % every == 0)
      g_array_index (points, LoomRunPoint, n++) = g_array_index (points, LoomRunPoint, i);
  if (every > 1)
    g_array_set_size (points, n);
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

static gboolean
begins (const char *line, const char *end, const char *with, gsize n)
{
  return (gsize)(end - line) > n && memcmp (line, with, n) == 0;
}

/* Reads the whole lines of a text. steps: how many steps a point stands for; 0: all of them. */
static void
read_lines (LoomRunLog *log, const char *text, gsize length, guint steps)
{
  Mean mean = { 0 };

  for (const char *line = text, *end; (end = memchr (line, '\n', (gsize)(text + length - line))) != NULL;
       line = end + 1)
    {
      if (begins (line, end, step_line, strlen (step_line)))
        add_step (log, &mean, line, end);
      else if (begins (line, end, failed_line, strlen (failed_line)))
        add_failure (log, line, (gsize)(end - line));
      if (steps > 0 && mean.n >= steps)
        add_mean (log, &mean);
    }
  add_mean (log, &mean);
}

/* ---- the file ------------------------------------------------------------------------ */

/* Reads up to n bytes at an offset, ended by a zero byte; returns their number. */
static gsize
read_at (int fd, char *to, gsize n, gint64 offset)
{
  gsize have = 0;

  while (have < n)
    {
      gssize got = pread (fd, to + have, n - have, offset + (gint64)have);

      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        break;
      have += (gsize)got;
    }
  to[have] = '\0';
  return have;
}

static guint
count_steps (const char *text, gsize length)
{
  guint n = 0;

  for (const char *line = text, *end; (end = memchr (line, '\n', (gsize)(text + length - line))) != NULL;
       line = end + 1)
    n += begins (line, end, step_line, strlen (step_line));
  return n;
}

static void
read_whole (LoomRunLog *log, int fd, gsize size, guint points)
{
  g_autofree char *text = g_malloc (size + 1);
  const gsize n = read_at (fd, text, size, 0);

  read_lines (log, text, n, MAX (1, (count_steps (text, n) + points - 1) / points));
}

/* Reads the lines that begin in a piece. */
static void
read_piece (LoomRunLog *log, int fd, char *buffer, gsize n, gint64 offset)
{
  const gsize have = read_at (fd, buffer, n, offset);
  const char *from = offset > 0 ? memchr (buffer, '\n', have) : buffer - 1;

  if (from != NULL)
    read_lines (log, from + 1, have - (gsize)(from + 1 - buffer), 0);
}

static void
read_pieces (LoomRunLog *log, int fd, gint64 size, guint points)
{
  g_autofree char *buffer = g_malloc (TAIL + 1);
  const gint64 until = size - TAIL;

  for (guint i = 0; i + 1 < points; i++)
    read_piece (log, fd, buffer, PIECE, (gint64)((double)until * i / (points - 1)));
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
read_evaluations (LoomRunLog *log, int fd, gint64 size, guint points)
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
  thin (log->validation, points);
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
  const gint64 drawn
      = log->curve->len > 0 ? (gint64)g_array_index (log->curve, LoomRunPoint, log->curve->len - 1).step : 0;

  log->step = last->step;
  log->epoch = last->epoch;
  log->loss = last->loss;
  if (last->step > drawn)
    g_array_append_val (log->curve, ((LoomRunPoint){ (double)last->step, last->loss }));
}

static void
read_sessions (LoomFolder *run, guint points, LoomRunLog *log)
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
  log->end = log->is_training ? LOOM_RUN_END_NONE : last->end;
  log->was_killed = !log->is_training && last->end == LOOM_RUN_END_NONE;
  log->nan_step = log->is_training ? 0 : last->nan_step;
  g_free (log->sentence);
  log->sentence = log->is_training ? NULL : g_strdup (last->sentence);
  if (!isnan (last->loss))
    set_last_step (log, last);
  if (log->curve->len > points)
    g_array_remove_index (log->curve, log->curve->len - 2);
}

gboolean
loom_run_log_read (LoomFolder *run, guint points, LoomRunLog *log, GError **error)
{
  struct stat info;
  int fd;

  g_return_val_if_fail (points >= 2, FALSE);
  *log = (LoomRunLog){ .curve = g_array_new (FALSE, FALSE, sizeof (LoomRunPoint)),
                       .validation = g_array_new (FALSE, FALSE, sizeof (LoomRunPoint)),
                       .loss = NAN,
                       .eval_loss = NAN,
                       .value = NAN };
  if (fstatat (loom_folder_fd (run), LOOM_RUN_EVENTS, &info, AT_SYMLINK_NOFOLLOW) != 0)
    return TRUE;
  fd = loom_folder_open_file (run, LOOM_RUN_EVENTS, O_RDONLY, error);
  if (fd < 0)
    return FALSE;
  /* A trainer locks its file for as long as it lives. */
  if (flock (fd, LOCK_SH | LOCK_NB) != 0)
    log->is_training = errno == EWOULDBLOCK;
  else
    flock (fd, LOCK_UN); /* at once: a trainer may begin while the file is read */
  log->ended = (double)info.st_mtim.tv_sec + (double)info.st_mtim.tv_nsec * 1e-9;
  log->begun = time_of_birth (fd, log->ended);
  log->seconds = log->ended - log->begun;
  if (info.st_size <= LOOM_RUN_LOG_WHOLE)
    read_whole (log, fd, (gsize)info.st_size, points);
  else
    read_pieces (log, fd, info.st_size, points);
  read_evaluations (log, fd, info.st_size, points);
  close (fd);
  read_sessions (run, points, log);
  return TRUE;
}
