/* Compares the log of a hand-in with the one that its graph yields here.
 *
 * The same program, libraries, processor and number of threads compute the same bits, so there every line must be
 * equal. On another machine roundings differ and grow from step to step, so there the mean losses of pieces of the
 * curve are compared, and single steps with those before. */
#include "app/grade.h"

#include "app/shared/command.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#define PIECES     20    /* of a curve */
#define BEFORE     10    /* steps, with whose differences one is compared */
#define JUMP       100   /* times the largest of them */
#define FINE       1e-5  /* of f32: differences that are always allowed, relative to the first losses */
#define ROUGH      1e-2  /* of 16 bits and of TF32 */
#define LOG_STEPS  20000 /* above, a log has only every nth step */
#define MOST_SHOWN 120   /* characters of a line */

typedef struct
{
  LoomRunStep point;
  const char *text; /* the line, of this length */
  gsize length;
} Step;

/* A log, divided into its steps and the other lines. */
typedef struct
{
  GArray *step;        /* Step */
  GPtrArray *other;    /* char* */
  gboolean has_epochs; /* the number of epochs was changed, and with it the steps that are kept */
} Log;

static void
log_clear (Log *log)
{
  g_clear_pointer (&log->step, g_array_unref);
  g_clear_pointer (&log->other, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Log, log_clear)

static void
log_read (Log *log, const char *text)
{
  const char *end;

  log->step = g_array_new (FALSE, FALSE, sizeof (Step));
  log->other = g_ptr_array_new_with_free_func (g_free);
  for (; *text != '\0'; text = *end == '\0' ? end : end + 1)
    {
      Step step = { .text = text };

      end = strchrnul (text, '\n');
      step.length = (gsize)(end - text);
      if (loom_run_event_step (text, end, &step.point))
        g_array_append_val (log->step, step);
      else
        g_ptr_array_add (log->other, g_strndup (text, step.length));
      log->has_epochs |= loom_run_event_is (text, end, "hyper")
                         && g_strstr_len (text, (gssize)step.length, "\"name\":\"epochs\"") != NULL;
    }
}

static const Step *
step_at (const Log *log, guint i)
{
  return i < log->step->len ? &g_array_index (log->step, Step, i) : NULL;
}

/* ---- bits ------------------------------------------------------------------ */

typedef struct
{
  const LoomHandIn *hand_in, *repeated;
  Log log, truth;
  gint64 last; /* step up to which both are compared */
  gboolean is_whole;
  gboolean is_sparse; /* neither log needs to have all steps of the other */
  guint n_different;  /* steps */
  GradeRow *row;
} Compare;

static void
report_step (Compare *c, const Step *a, const Step *b)
{
  if (c->n_different++ > 0)
    return;
  if (b == NULL || (a != NULL && a->point.step < b->point.step))
    grade_row_add (c->row, GRADE_CHANGED, "The log has a step %" G_GINT64_FORMAT " where the run repeated has none.",
                   a->point.step);
  else if (a == NULL || a->point.step > b->point.step)
    grade_row_add (c->row, GRADE_CHANGED, "The log lacks step %" G_GINT64_FORMAT ".", b->point.step);
  else if (a->point.loss != b->point.loss)
    grade_row_add (c->row, GRADE_CHANGED,
                   "Step %" G_GINT64_FORMAT ": the log has the loss %.9g, the run repeated %.9g.", a->point.step,
                   a->point.loss, b->point.loss);
  else
    grade_row_add (c->row, GRADE_CHANGED,
                   "Step %" G_GINT64_FORMAT ": the log has the learning rate %.9g, the run repeated %.9g.",
                   a->point.step, a->point.lr, b->point.lr);
}

static gboolean
is_equal (const Step *a, const Step *b)
{
  return a->length == b->length && memcmp (a->text, b->text, a->length) == 0;
}

static void
compare_steps (Compare *c)
{
  const Step *a, *b;
  guint i = 0, k = 0;

  for (;;)
    {
      a = step_at (&c->log, i);
      b = step_at (&c->truth, k);
      if (a != NULL && a->point.step > c->last)
        a = NULL;
      if (b != NULL && b->point.step > c->last)
        b = NULL;
      if (a == NULL && b == NULL)
        break;
      const gboolean same = a != NULL && b != NULL && a->point.step == b->point.step;

      if (!(same ? is_equal (a, b) : c->is_sparse))
        report_step (c, a, b);
      i += same || b == NULL || (a != NULL && a->point.step < b->point.step);
      k += same || a == NULL || (b != NULL && b->point.step < a->point.step);
    }
  if (c->n_different > 1)
    grade_row_add (c->row, GRADE_CHANGED, "%u more steps differ.", c->n_different - 1);
}

/* The number of finished steps at a line; -1: it is no event. */
static gint64
step_of (const char *line)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *event = loom_run_event_parse (parser, line, strlen (line));

  return event != NULL ? loom_run_event_int (event, "step", -1) : -1;
}

/* "evaluation after step 32". (transfer full) */
static char *
line_name (const char *line)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *event = loom_run_event_parse (parser, line, strlen (line));
  const char *what = event != NULL ? loom_run_event_text (event, "event", "") : "";
  const char *name = g_str_equal (what, "eval")         ? "evaluation"
                     : g_str_equal (what, "hyper")      ? "changed number"
                     : g_str_equal (what, "epoch")      ? "mean loss of the epoch"
                     : g_str_equal (what, "early_stop") ? "early end"
                                                        : NULL;

  if (name != NULL)
    return g_strdup_printf ("%s after step %" G_GINT64_FORMAT, name, loom_run_event_int (event, "step", -1));
  g_autofree char *start = g_utf8_substring (line, 0, MIN (g_utf8_strlen (line, -1), MOST_SHOWN));
  g_autofree char *shown = command_printable (start);
  return g_strdup_printf ("line “%s”", shown);
}

/* A number that was changed during an evaluation is in the log before or after it, so lines of one step have no order.
 */
static int
by_step (gconstpointer a, gconstpointer b)
{
  const char *x = *(char *const *)a, *y = *(char *const *)b;
  const gint64 p = step_of (x), q = step_of (y);

  return p != q ? (p > q) - (p < q) : strcmp (x, y);
}

/* Whether a difference at these lines, of which one may be NULL, is one. At its last step a run that was stopped may
 * not have been evaluated, and a number that was changed then has changed no step. */
static gboolean
counts (const Compare *c, const char *mine, const char *theirs)
{
  const gint64 m = mine != NULL ? step_of (mine) : G_MAXINT64, t = theirs != NULL ? step_of (theirs) : G_MAXINT64;
  const gboolean is_change = mine != NULL && loom_run_event_is (mine, mine + strlen (mine), "hyper");

  if (MIN (m, t) < c->last || (m == t && m == c->last))
    return TRUE;
  return c->is_whole && ((mine != NULL && !(is_change && m == c->last)) || (theirs != NULL && c->hand_in->is_over));
}

typedef gboolean (*SameLine) (const char *a, const char *b, const GradeOptions *options, double scale);

static gboolean
same_text (const char *a, const char *b, const GradeOptions *options, double scale)
{
  return g_str_equal (a, b);
}

static void
compare_others (Compare *c, SameLine same, const GradeOptions *options, double scale)
{
  const GPtrArray *a = c->log.other, *b = c->truth.other;
  guint i = 0;

  g_ptr_array_sort (c->log.other, by_step);
  g_ptr_array_sort (c->truth.other, by_step);
  while (i < a->len && i < b->len && same (a->pdata[i], b->pdata[i], options, scale))
    i++;
  const char *mine = i < a->len ? a->pdata[i] : NULL, *theirs = i < b->len ? b->pdata[i] : NULL;
  if ((mine == NULL && theirs == NULL) || !counts (c, mine, theirs))
    return;
  g_autofree char *name = line_name (mine != NULL ? mine : theirs);
  if (mine == NULL)
    grade_row_add (c->row, GRADE_CHANGED, "The log lacks the %s.", name);
  else
    grade_row_add (c->row, GRADE_CHANGED, "The %s is not that of the run repeated.", name);
}

static void
compare_ends (Compare *c)
{
  if (!c->is_whole)
    return;
  if (c->hand_in->is_over != c->repeated->is_over)
    grade_row_add (c->row, GRADE_CHANGED,
                   c->hand_in->is_over ? "The training is not over after step %" G_GINT64_FORMAT
                                         ", as it is said to be."
                                       : "The training is over after step %" G_GINT64_FORMAT ", and is said not to be.",
                   c->hand_in->step);
  if (c->hand_in->step != c->repeated->step)
    grade_row_add (c->row, GRADE_CHANGED,
                   "It is said to have ended after step %" G_GINT64_FORMAT
                   ", the run repeated ends after %" G_GINT64_FORMAT ".",
                   c->hand_in->step, c->repeated->step);
}

static void
compare_bits (Compare *c)
{
  compare_steps (c);
  compare_others (c, same_text, NULL, 0);
  if (c->is_whole && !g_str_equal (c->hand_in->weights, c->repeated->weights))
    grade_row_add (c->row, GRADE_CHANGED, "The hash of the weights is not that of the run repeated.");
  compare_ends (c);
}

/* ---- curves ---------------------------------------------------------------- */

/* Pairs of losses of the steps that both have, up to the last one. */
typedef struct
{
  GArray *step;  /* gint64 */
  GArray *a, *b; /* double: of the log, and repeated */
} Pairs;

static void
pairs_clear (Pairs *p)
{
  g_clear_pointer (&p->step, g_array_unref);
  g_clear_pointer (&p->a, g_array_unref);
  g_clear_pointer (&p->b, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Pairs, pairs_clear)

/* Reports steps that only one of them has. */
static void
pair (Compare *c, Pairs *p)
{
  guint i = 0, k = 0;
  const Step *a, *b;

  p->step = g_array_new (FALSE, FALSE, sizeof (gint64));
  p->a = g_array_new (FALSE, FALSE, sizeof (double));
  p->b = g_array_new (FALSE, FALSE, sizeof (double));
  while ((a = step_at (&c->log, i)) != NULL && (b = step_at (&c->truth, k)) != NULL && a->point.step <= c->last
         && b->point.step <= c->last)
    {
      if (a->point.step == b->point.step)
        {
          g_array_append_val (p->step, a->point.step);
          g_array_append_val (p->a, a->point.loss);
          g_array_append_val (p->b, b->point.loss);
        }
      else if (!c->is_sparse)
        {
          report_step (c, a, b);
          return;
        }
      i += a->point.step <= b->point.step;
      k += b->point.step <= a->point.step;
    }
  a = step_at (&c->log, i);
  b = step_at (&c->truth, k);
  a = a != NULL && a->point.step <= c->last ? a : NULL;
  b = b != NULL && b->point.step <= c->last ? b : NULL;
  if ((a != NULL || b != NULL) && !c->is_sparse)
    report_step (c, a, b);
}

static double
difference (const Pairs *p, guint i)
{
  return fabs (g_array_index (p->a, double, i) - g_array_index (p->b, double, i));
}

/* The size of losses at the beginning, to which differences are relative: the mean of the first piece. */
static double
scale_of (const Pairs *p)
{
  const guint n = MAX (1, p->b->len / PIECES);
  double sum = 0;

  for (guint i = 0; i < MIN (n, p->b->len); i++)
    sum += fabs (g_array_index (p->b, double, i));
  return sum > 0 ? sum / n : 1;
}

static void
compare_pieces (Compare *c, const Pairs *p, double most)
{
  const guint n = p->a->len, pieces = MIN (PIECES, n);

  for (guint k = 0; k < pieces; k++)
    {
      const guint first = k * n / pieces, end = (k + 1) * n / pieces;
      double a = 0, b = 0;

      for (guint i = first; i < end; i++)
        {
          a += g_array_index (p->a, double, i) / (end - first);
          b += g_array_index (p->b, double, i) / (end - first);
        }
      if (fabs (a - b) <= most)
        continue;
      grade_row_add (c->row, GRADE_CHANGED,
                     "Steps %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                     ": the mean loss of the log is %.4g, of the run repeated %.4g.",
                     g_array_index (p->step, gint64, first), g_array_index (p->step, gint64, end - 1), a, b);
      return;
    }
}

/* Roundings grow from step to step, and never by much in one. */
static void
find_jump (Compare *c, const Pairs *p, double least)
{
  for (guint i = 0; i < p->a->len; i++)
    {
      double most = least;

      for (guint k = i > BEFORE ? i - BEFORE : 0; k < i; k++)
        most = MAX (most, difference (p, k));
      if (difference (p, i) <= JUMP * most)
        continue;
      grade_row_add (
          c->row, GRADE_CHANGED,
          "Step %" G_GINT64_FORMAT ": the log has the loss %.9g, the run repeated %.9g, and the steps before agree.",
          g_array_index (p->step, gint64, i), g_array_index (p->a, double, i), g_array_index (p->b, double, i));
      return;
    }
}

static gboolean
is_near (double a, double b, const GradeOptions *options, double scale)
{
  return isnan (a) || isnan (b) ? isnan (a) == isnan (b) : fabs (a - b) <= options->tolerance * MAX (scale, fabs (b));
}

/* Two evaluations, or other lines, of machines that round differently. */
static gboolean
same_values (const char *a, const char *b, const GradeOptions *options, double scale)
{
  g_autoptr (JsonParser) x = json_parser_new (), y = json_parser_new ();
  JsonObject *p = loom_run_event_parse (x, a, strlen (a)), *q = loom_run_event_parse (y, b, strlen (b));
  g_autoptr (GArray) values = NULL, expected = NULL;
  g_autoptr (GPtrArray) names = NULL, others = NULL;

  if (p == NULL || q == NULL
      || g_strcmp0 (loom_run_event_text (p, "event", ""), loom_run_event_text (q, "event", "")) != 0
      || loom_run_event_int (p, "step", -1) != loom_run_event_int (q, "step", -1)
      || g_strcmp0 (loom_run_event_text (p, "split", ""), loom_run_event_text (q, "split", "")) != 0)
    return FALSE;
  if (g_str_equal (loom_run_event_text (p, "event", ""), "hyper"))
    return g_str_equal (a, b);
  if (!is_near (loom_run_event_number (p, "loss"), loom_run_event_number (q, "loss"), options, scale))
    return FALSE;
  names = loom_run_event_metrics (p, &values);
  others = loom_run_event_metrics (q, &expected);
  for (guint i = 0; i < values->len && i < expected->len; i++)
    if (g_strcmp0 (names->pdata[i], others->pdata[i]) != 0
        || !is_near (g_array_index (values, double, i), g_array_index (expected, double, i), options, 1))
      return FALSE;
  return values->len == expected->len;
}

static void
compare_curves (Compare *c, const GradeOptions *options)
{
  g_auto (Pairs) pairs = { NULL };
  double scale;

  pair (c, &pairs);
  scale = scale_of (&pairs);
  compare_pieces (c, &pairs, options->tolerance * scale);
  find_jump (c, &pairs, (options->is_rough ? ROUGH : FINE) * scale);
  compare_others (c, same_values, options, scale);
  compare_ends (c);
}

/* ---- both -------------------------------------------------------------------- */

static gboolean
is_same_machine (const LoomHandIn *a, const LoomHandIn *b)
{
  return a->machine[0] != '\0' && g_str_equal (a->machine, b->machine) && g_str_equal (a->program, b->program);
}

void
grade_compare (const LoomHandIn *hand_in, const LoomHandIn *repeated, gboolean is_whole, const GradeOptions *options,
               GradeRow *row)
{
  g_autoptr (GradeRow) bits = grade_row_new (row->file), curve = grade_row_new (row->file);
  Compare c = { .hand_in = hand_in, .repeated = repeated, .last = repeated->step, .is_whole = is_whole, .row = bits };
  const gboolean is_same = is_same_machine (hand_in, repeated);

  log_read (&c.log, hand_in->log);
  log_read (&c.truth, repeated->log);
  if (is_whole)
    c.last = MAX (hand_in->step, repeated->step);
  c.is_sparse = c.log.has_epochs && c.last >= 2 * LOG_STEPS;
  compare_bits (&c);
  /* Equal bits prove the log on any machine. */
  if (!is_same && bits->finding->len > 0)
    {
      c.row = curve;
      c.n_different = 0;
      compare_curves (&c, options);
    }
  row->compared = is_same || bits->finding->len == 0 ? "bits" : "curve";
  const GradeRow *found = g_str_equal (row->compared, "bits") ? bits : curve;
  for (guint i = 0; i < found->finding->len; i++)
    grade_row_add (row, GRADE_CHANGED, "%s", (const char *)found->finding->pdata[i]);
  row->checked = MIN (repeated->step, hand_in->step);
  log_clear (&c.log);
  log_clear (&c.truth);
}
