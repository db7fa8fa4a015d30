/* Finds sessions of a run that no clock can have written. */
#include "app/grade.h"

#define SLACK      1.0        /* seconds that a clock may be set back */
#define DAY        86400.0    /* by which clocks of two machines may differ */
#define FIRST_DAY  1767225600 /* 2026-01-01: earlier there was no Gradloom */
#define MOST_SPEED 100000.0   /* steps a second; the smallest graphs take a tenth of that */
#define RESOLUTION 0.01       /* seconds */

static void
check_session (const LoomHandIn *h, guint i, GradeRow *row)
{
  const LoomRunSession *s = &g_array_index (h->sessions, LoomRunSession, i),
                       *before = i > 0 ? &g_array_index (h->sessions, LoomRunSession, i - 1) : NULL;
  const gint64 steps = s->step - (before != NULL ? before->step : 0);

  if (s->ended < s->begun)
    grade_row_add (row, GRADE_CHANGED, "Session %u ends before it begins.", i + 1);
  else if (before != NULL && s->begun < before->ended - SLACK)
    grade_row_add (row, GRADE_CHANGED, "Session %u begins before the one before it has ended.", i + 1);
  else if ((double)steps > MOST_SPEED * (s->ended - s->begun + RESOLUTION))
    grade_row_add (row, GRADE_CHANGED, "Session %u has taken %" G_GINT64_FORMAT " steps in %.3f seconds.", i + 1, steps,
                   s->ended - s->begun);
}

void
grade_times (const LoomHandIn *h, GradeRow *row)
{
  const guint n = h->sessions->len;
  const LoomRunSession *first = n > 0 ? &g_array_index (h->sessions, LoomRunSession, 0) : NULL,
                       *last = n > 0 ? &g_array_index (h->sessions, LoomRunSession, n - 1) : NULL;

  if (h->made > (double)loom_wall () * 1e-6 + DAY)
    grade_row_add (row, GRADE_CHANGED, "It was made in the future.");
  if (first == NULL)
    {
      grade_row_add (row, GRADE_CHANGED, "The run has no session.");
      return;
    }
  for (guint i = 0; i < n; i++)
    check_session (h, i, row);
  if (first->begun < FIRST_DAY)
    grade_row_add (row, GRADE_CHANGED, "The run begins before there was a Gradloom.");
  if (last->ended > h->made + SLACK)
    grade_row_add (row, GRADE_CHANGED, "The run ends after it was handed in.");
  if (last->step < h->step || (last->end == LOOM_RUN_END_DONE && last->step != h->step))
    grade_row_add (row, GRADE_CHANGED,
                   "The last session ends after step %" G_GINT64_FORMAT ", the log after step %" G_GINT64_FORMAT ".",
                   last->step, h->step);
  if (h->is_over != (last->end == LOOM_RUN_END_DONE))
    grade_row_add (row, GRADE_CHANGED, "The end of the last session is not that of the run.");
}
