/* Which states of a run are kept (engine/train/history.h), without a run. */
#include "tests/test-program.h"

#include "engine/train/history.h"

static void
expect_other_cb (gint64 step, gpointer base)
{
  g_assert_cmpint (step, !=, *(gint64 *)base);
}

/* Counts the states that were removed and are not extra. */
typedef struct
{
  History history;
  gint64 base;
  guint n, n_removed;
} Spread;

static void
spread_removed_cb (gint64 step, gpointer data)
{
  Spread *self = data;

  g_assert_cmpint (step, !=, self->base);
  for (guint i = 0; i < self->history.state->len; i++)
    {
      const HistoryState *state = &g_array_index (self->history.state, HistoryState, i);

      self->n_removed += state->step == step && !state->is_extra;
    }
}

/* Every 16th lasting state is packed alone; sizes change from `size` by `change` to the end of 100,000 steps. */
static void
spread (Spread *self, gint64 from, gint64 to, gint64 size, gint64 change)
{
  gboolean is_extra;

  self->history.total = to;
  for (gint64 step = from; step <= to; step++)
    {
      HistoryState state = { step, self->base, size + change * step / 100000, FALSE };

      if (!history_wants (&self->history, step, &is_extra))
        continue;
      state.is_extra = is_extra;
      if (!is_extra && self->n++ % 16 == 0)
        {
          self->base = state.base = -1;
          state.bytes += state.bytes / 2;
        }
      g_assert_true (history_make_space (&self->history, state.bytes, state.base, spread_removed_cb, self));
      history_note_written (&self->history, &state, 0, 0);
      g_assert_cmpint (self->history.bytes, <=, self->history.budget);
      if (state.bytes > size + size / 4 && !is_extra && state.base < 0)
        self->base = step;
    }
}

/* The widest gap between two states, the second of which is after `from`; each has its base. */
static gint64
widest_gap (const History *history, gint64 from)
{
  gint64 widest = 0;

  for (guint i = 1; i < history->state->len; i++)
    {
      const HistoryState *state = &g_array_index (history->state, HistoryState, i);

      if (state->step >= from)
        widest = MAX (widest, state[0].step - state[-1].step);
      g_assert_true (state->base < 0 || history_has (history, state->base));
    }
  return widest;
}

/* 100,000 steps: whether states become larger or smaller, no gap is wider than even ones by more than a quarter, or if
 * they become smaller an eighth, nothing but extra states has been removed, the budget is used up, and the latest gaps
 * are half as wide if sizes do not grow. If a run is given as many steps again, at most four gaps become one. */
static void
test_spread (void)
{
  static const gint64 changes[] = { 0, 300, -300 };

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      Spread self = { .history = { .budget = 160000, .has_extras = TRUE }, .base = -1 };
      const double even = 100000 * (1000 + 1000 / 32. + (double)changes[i] / 2) / 160000;
      gint64 widest;

      history_init (&self.history);
      spread (&self, 0, 100000, 1000, changes[i]);
      widest = widest_gap (&self.history, 0);
      g_test_message ("%u states in %d bytes, the widest gap is %d steps, even ones would be %.0f, lately %d",
                      self.history.state->len, (int)self.history.bytes, (int)widest, even,
                      (int)widest_gap (&self.history, 99500));
      g_assert_cmpuint (self.n_removed, ==, 0);
      g_assert_cmpint (g_array_index (self.history.state, HistoryState, 0).step, ==, 0);
      g_assert_cmpfloat (widest, <=, (changes[i] < 0 ? 1.12 : 1.3) * even);
      g_assert_cmpint (self.history.bytes, >, 155000);
      /* Larger ones leave no space for extra states at the end. */
      if (changes[i] <= 0)
        g_assert_cmpfloat (widest_gap (&self.history, 99500), <=, 0.7 * even);
      spread (&self, 100001, 200000, 1000, 0);
      g_test_message ("of 200,000 steps %d", (int)widest_gap (&self.history, 0));
      g_assert_cmpfloat (widest_gap (&self.history, 0), <=, 4.1 * even);
      history_clear (&self.history);
    }
}

/* Writing that took a minute is not repeated at once, but one slow state of two or three is ignored; if not one state
 * fits, none stays. */
static void
test_no_time (void)
{
  const gint64 minute = (gint64)60 * G_USEC_PER_SEC, now = g_get_monotonic_time ();
  History history = { .budget = 800, .total = 1000, .part = 40 };

  history_init (&history);
  history_note_written (&history, &(HistoryState){ 100, -1, 1, FALSE }, now - minute, now);
  g_assert_false (history_wants (&history, 900, NULL));
  history_note_written (&history, &(HistoryState){ 101, -1, 1, FALSE }, now - minute - 1, now - minute);
  g_assert_true (history_wants (&history, 900, NULL));
  history_note_written (&history, &(HistoryState){ 102, -1, 1, FALSE }, now - minute, now);
  g_assert_false (history_wants (&history, 900, NULL));
  history_note_written (&history, &(HistoryState){ 103, -1, 1, FALSE }, now - minute - 1, now - minute);
  history_note_written (&history, &(HistoryState){ 104, -1, 1, FALSE }, now - minute - 1, now - minute);
  g_assert_true (history_wants (&history, 900, NULL));
  history.budget = 0;
  g_assert_true (history_make_space (&history, 0, -1, expect_other_cb, &(gint64){ -1 }));
  g_assert_cmpuint (history.state->len, ==, 0);
  g_assert_cmpint (history.bytes, ==, 0);
  history_clear (&history);
}

/* The first states are packed alone, and others are expected to be smaller: after two of them the budget holds half as
 * many again, until the size of one that is packed against another is known. */
static void
test_first_sizes (void)
{
  History history = { .budget = 100000, .total = 10000, .has_extras = TRUE };
  gboolean is_extra;

  history_init (&history);
  history_note_written (&history, &(HistoryState){ 0, -1, 1000 }, 0, 0);
  history_note_written (&history, &(HistoryState){ 100, -1, 1000 }, 0, 0);
  g_assert_true (history_wants (&history, 170, &is_extra));
  g_assert_false (is_extra);
  history_note_written (&history, &(HistoryState){ 170, 100, 1000 }, 0, 0);
  g_assert_true (history_wants (&history, 240, &is_extra));
  g_assert_true (is_extra);
  history_clear (&history);
}

/* A budget for one base and what is packed against it: the next base, of which there is no space next to the first one,
 * removes nothing; a smaller one removes what is packed. */
static void
test_next_base (void)
{
  History history = { .budget = 350, .total = 1000 };
  gint64 none = -1;

  history_init (&history);
  history_note_written (&history, &(HistoryState){ 0, -1, 200 }, 0, 0);
  for (gint64 step = 1; step <= 15; step++)
    history_note_written (&history, &(HistoryState){ step, 0, 10 }, 0, 0);
  g_assert_false (history_make_space (&history, 151, -1, expect_other_cb, &none));
  g_assert_cmpuint (history.state->len, ==, 16);
  g_assert_false (history_make_space (&history, 151, 0, expect_other_cb, &none));
  g_assert_cmpuint (history.state->len, ==, 16);
  g_assert_true (history_make_space (&history, 145, -1, expect_other_cb, &(gint64){ 0 }));
  g_assert_cmpuint (history.state->len, ==, 1);
  history_note_written (&history, &(HistoryState){ 16, -1, 145 }, 0, 0);
  /* Neither the first one nor the base. */
  g_assert_false (history_make_space (&history, 6, 16, expect_other_cb, &none));
  g_assert_true (history_make_space (&history, 5, 16, expect_other_cb, &none));
  g_assert_cmpuint (history.state->len, ==, 2);
  history_clear (&history);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kept-states/spread", test_spread);
  g_test_add_func ("/kept-states/no-time", test_no_time);
  g_test_add_func ("/kept-states/first-sizes", test_first_sizes);
  g_test_add_func ("/kept-states/next-base", test_next_base);
  return g_test_run ();
}
