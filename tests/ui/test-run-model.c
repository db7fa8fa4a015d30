/* The model of a run, fed by hand with what a worker would send. No process, no display. */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "engine/dist/loom-dist.h"
#include "engine/loom.h"
#include "ui/run/run-folder.h"
#include "ui/run/studio-run-private.h"
#include "ui/run/studio-memory-verdict.h"
#include "ui/worker/studio-worker-errors.h"
#include "ui/worker/studio-worker.h"
#include "ui/timeline/studio-timeline.h"
#include "ui/timeline/gradient-text.h"
#include "ui/timeline/timeline-text.h"
#include "tests/test-program.h"
#include "tests/ui/feed-run.h"

static void
count_cb (StudioRun *run, guint *n)
{
  (*n)++;
}

static void
test_points (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  guint n = 0;
  g_signal_connect (run, "points", G_CALLBACK (count_cb), &n);
  g_assert_true (isnan (studio_run_get_loss (run)));
  feed (run, 1, 10, 0.7);
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpint (studio_run_get_step (run), ==, 10);
  g_assert_cmpfloat (studio_run_get_loss (run), ==, 0.7);
  g_assert_cmpuint (studio_run_n_metrics (run), ==, 1);
  g_assert_cmpstr (studio_run_get_metric_name (run, 0), ==, "accuracy");
  g_assert_cmpuint (loom_series_length (studio_run_get_train (run, 0)), ==, 10);
  g_assert_null (studio_run_get_previous (run, -1));
  /* The worker says how many steps the accuracy covers, regardless of the length of an epoch. */
  g_assert_cmpint (studio_run_get_progress (run)->recent_steps, ==, 5);
  studio_run_take_progress (run, 10, 60, 1, 3, 0, 0);
  g_assert_cmpint (studio_run_get_progress (run)->recent_steps, ==, 5);
}

static void
assert_when (StudioRun *run, gint64 updates, const char *words, gint64 number)
{
  gint64 step;
  g_autofree char *when = studio_run_dup_when (run, updates, &step);

  g_assert_cmpstr (when, ==, words);
  g_assert_cmpint (step, ==, number);
}

/* Values shown with the loss of step 10 are of step 10, or say that they are not. */
static void
test_when (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();

  studio_run_take_state (run, "paused", NULL);
  assert_when (run, 0, "at the start", 0);
  studio_run_take_state (run, "running", NULL);
  feed (run, 1, 10, 0.7);
  assert_when (run, 9, "step 10", 10);
  assert_when (run, 10, "step 11", 11);
  studio_run_take_state (run, "paused", NULL);
  assert_when (run, 9, "step 10", 10);
  assert_when (run, 10, "after step 10", 10);
  studio_run_take_state (run, "done", NULL);
  assert_when (run, 9, "step 10", 10);
  assert_when (run, 10, "after step 10", 10);
}

/* A new run keeps the old curve in grey; one that never made a point does not push it out. */
static void
test_previous (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  feed (run, 1, 5, 1);
  studio_run_take_begin (run);
  g_assert_cmpuint (loom_series_length (studio_run_get_previous (run, -1)), ==, 5);
  g_assert_cmpuint (loom_series_length (studio_run_get_train (run, -1)), ==, 0);
  g_assert_true (isnan (studio_run_get_loss (run)));
  studio_run_take_begin (run);
  g_assert_cmpuint (loom_series_length (studio_run_get_previous (run, -1)), ==, 5);
}

static void
test_evaluation (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  static const char *const names[] = { "accuracy", NULL };
  const double values[] = { 0.87 };
  g_autoptr (GVariant) v
      = g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, values, 1, sizeof (double)));
  studio_run_take_evaluation (run, "val", 100, 1, 0.4, names, v);
  double x, y;
  loom_series_get (studio_run_get_validation (run, 0), 0, &x, &y);
  g_assert_cmpfloat (x, ==, 100);
  g_assert_cmpfloat (y, ==, 0.87);
  g_assert_cmpstr (studio_run_get_curves (run)->split, ==, "val");
}

/* The worker sends some of the evaluations again that the folder has. The last step has one of each split. */
static void
test_evaluation_restored (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  static const char *const none[] = { NULL };
  g_autoptr (GVariant) v = g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, NULL, 0, 8));

  studio_run_take_evaluation (run, "val", 100, 1, 0.4, none, v);
  studio_run_note_restored (run);
  studio_run_take_evaluation (run, "val", 100, 1, 0.4, none, v);
  studio_run_take_evaluation (run, "test", 100, 1, 0.5, none, v);
  g_assert_cmpuint (loom_series_length (studio_run_get_curves (run)->loss.validation), ==, 2);
  g_assert_cmpstr (studio_run_get_curves (run)->split, ==, "test");
}

/* Hints of the engine that name a command line have a button here, and the cause of a failed run is known. */
static void
test_problem (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  g_assert_null (studio_run_get_problem_code (run));
  studio_run_take_problem (run, "NOTE", "", "", "The last batch is short.");
  g_assert_null (studio_run_get_problem_code (run));
  studio_run_take_problem (run, "NAN", "fc", "", "No longer finite.");
  g_assert_cmpstr (studio_run_get_problem_code (run), ==, "NAN");
  studio_run_take_state (run, "failed", "No longer finite. Continue with: gradloom train --resume /runs/a --lr 0.001");
  g_assert_cmpstr (studio_run_get_message (run), ==, "No longer finite.");
  studio_run_take_state (run, "failed",
                         "No longer finite. No step is saved yet; begin again with: gradloom train --resume /runs/a");
  g_assert_cmpstr (studio_run_get_message (run), ==, "No longer finite. No step is saved yet; begin again.");
  /* Options in the engine's message become the names of fields. */
  studio_run_take_state (run, "failed",
                         "There are 3. Start others with --ranks 4, or change what it says. Start two with --ranks.");
  g_assert_cmpstr (studio_run_get_message (run), ==,
                   "There are 3. Start others: set “Ranks” to 4, or change what it says. Start two with “Ranks”.");
  g_assert_false (studio_run_can_resume (run));
  studio_run_take_checkpoint (run, 30, "30");
  g_assert_true (studio_run_can_resume (run));
  /* The next learning rate is set while the run is stopped. */
  studio_run_take_hyper (run, "lr", 0.5);
  studio_run_set_hyper (run, "lr", 0.25);
  g_assert_cmpfloat (studio_run_get_base_lr (run), ==, 0.25);
}

static void
test_states (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  g_assert_false (studio_run_is_live (run));
  studio_run_take_state (run, "preparing", "");
  g_assert_cmpint (studio_run_get_state (run), ==, STUDIO_RUN_STARTING);
  g_assert_true (studio_run_is_live (run));
  g_assert_null (studio_run_get_message (run));
  studio_run_take_state (run, "running", "");
  /* A word from a later version changes nothing. */
  studio_run_take_state (run, "levitating", "");
  g_assert_cmpint (studio_run_get_state (run), ==, STUDIO_RUN_RUNNING);
  studio_run_take_end (run, "The worker was ended by signal 9 (Killed).");
  g_assert_cmpint (studio_run_get_state (run), ==, STUDIO_RUN_LOST);
  g_assert_cmpstr (studio_run_get_message (run), ==, "The worker was ended by signal 9 (Killed).");
}

/* What each rank took is known when the run has ended and its worker has gone, until the next run. */
static void
test_rank_memory (void)
{
  static const char line[] = "{\"rank\":0,\"held\":4096}\n";
  g_autoptr (StudioRun) run = studio_run_new ();
  g_autoptr (GVariant) text
      = g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, line, sizeof line - 1, 1));
  guint n = 0;
  g_signal_connect (run, "memory-changed", G_CALLBACK (count_cb), &n);
  g_assert_null (studio_run_get_rank_memory (run));
  studio_run_take_state (run, "running", "");
  studio_run_take_rank_memory (run, text);
  g_assert_cmpuint (n, ==, 1);
  studio_run_take_state (run, "done", "");
  studio_run_take_end (run, NULL);
  g_assert_nonnull (studio_run_get_rank_memory (run));
  g_assert_cmpmem (g_bytes_get_data (studio_run_get_rank_memory (run), NULL),
                   g_bytes_get_size (studio_run_get_rank_memory (run)), line, sizeof line - 1);
  studio_run_take_begin (run);
  g_assert_null (studio_run_get_rank_memory (run));
}

static void
test_timeline_words (void)
{
  g_autoptr (GArray) spans = g_array_new (FALSE, TRUE, sizeof (LoomTraceSpan));
  g_array_set_size (spans, 2);
  for (int i = 0; i < 2; i++)
    g_array_index (spans, LoomTraceSpan, i) = (LoomTraceSpan){ .end = 1000, .kind = i, .rank = i };
  g_autofree char *said = timeline_summary (spans, 1000);
  /* A line is never broken before the sign. */
  g_assert_cmpstr (said, ==, "2 ranks · 1.00 µs · computing 50\u00a0%, exchanging 50\u00a0%, waiting 0\u00a0%");
  g_assert_cmpint (timeline_step ("step 10302: a bubble"), ==, 10302);
  g_assert_cmpint (timeline_step ("spirals.xml on 4 GPUs"), ==, -1);
  g_assert_cmpint (timeline_step (NULL), ==, -1);
}

static void
test_timeline_phases (void)
{
  LoomTraceSpan span = { .end = 1000, .phase = LOOM_TRACE_BACKWARD, .node = "fc", .label = "matmul" };
  g_autofree char *with = timeline_describe (&span);

  g_assert_cmpstr (with, ==, "fc · matmul · backward · 1.00 µs · rank 0, computes");
  span.phase = LOOM_TRACE_NO_PHASE;
  g_autofree char *without = timeline_describe (&span);
  g_assert_cmpstr (without, ==, "fc · matmul · 1.00 µs · rank 0, computes");
  for (int p = LOOM_TRACE_FORWARD; p < LOOM_N_TRACE_PHASES; p++)
    for (int q = LOOM_TRACE_FORWARD; q < p; q++)
      for (int dark = 0; dark < 2; dark++)
        g_assert_cmpuint (studio_timeline_colour (p, dark), !=, studio_timeline_colour (q, dark));
}

/* Of several ranks: what they need together, and both that fit. */
static void
test_memory_verdict_of_ranks (void)
{
  g_auto (StudioMemoryVerdict) verdict = { 0 };

  studio_memory_verdict_set (&verdict, 2, 58e9, 23.4e9, 400, "zero1");
  g_assert_cmpstr (verdict.text, ==,
                   "58.0 GB for 2 ranks planned, 23.4 GB there. A batch of 400 fits. With optimizer states divided "
                   "among the ranks, it fits.");
  g_assert_cmpstr (verdict.strategy, ==, "zero1");
  g_assert_cmpstr (verdict.label, ==, "Divide Optimizer States");
  studio_memory_verdict_clear (&verdict);
  g_assert_null (verdict.strategy);
}

/* One figure of each, and the batch that a button sets. */
static void
test_memory_verdict (void)
{
  static const struct
  {
    const char *said, *text;
    gint64 batch;
  } cases[] = {
    { "The batch, of 9000 samples, would not fit into the memory of cpu with the rest of the run, so the run does not "
      "start. The run needs 58.0 GB on cpu: 1.2 MB for parameters, 57.9 GB for activations; 23.4 GB are available. A "
      "batch of 400 fits.",
      "58.0 GB planned, 23.4 GB there. A batch of 400 fits.", 400 },
    { "Out of memory. The run needs 90 MB on cuda:0: 90 MB for data; 80 MB are available. On this rank, 1, a batch of "
      "12 "
      "for each rank fits.",
      "90 MB planned, 80 MB there. A batch of 12 fits.", 12 },
    { "X. The run needs 90 B on cpu: 90 B for data; 80 B are available. Not even a batch of one sample fits.",
      "90 B planned, 80 B there.", 0 },
    { "The run needs 90 B on cpu: 90 B for data.", NULL, 0 },
    { "The loss is NaN.", NULL, 0 },
    { NULL, NULL, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (StudioMemoryVerdict) verdict = { 0 };

      g_assert_cmpint (studio_memory_verdict_read (cases[i].said, &verdict), ==, cases[i].text != NULL);
      g_assert_cmpstr (verdict.text, ==, cases[i].text);
      g_assert_cmpint (verdict.batch, ==, cases[i].batch);
    }
}

/* Moves the time of the last step, and of requests, into the past. */
static void
let_pass (StudioRun *run, double seconds)
{
  gint64 us = (gint64)(seconds * G_USEC_PER_SEC);
  run->stall.step_at -= us;
  run->stall.stop_requested -= run->stall.stop_requested != 0 ? us : 0;
  run->stall.pause_requested -= run->stall.pause_requested != 0 ? us : 0;
}

static void
check_delay (StudioRun *run, const char *expected)
{
  g_autofree char *delay = studio_run_dup_stall (run);
  g_assert_cmpstr (delay, ==, expected);
}

/* A late step is reported once its delay is clearly unusual, and so is what waits for it. */
static void
test_delay (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  run->ranks.live = 2;
  studio_run_take_state (run, "running", "");
  /* Nothing to compare with: the first step may take long. */
  let_pass (run, 15);
  check_delay (run, NULL);
  run->stall.step_at = g_get_monotonic_time ();
  feed (run, 1, 10, 0.7);
  let_pass (run, 5);
  check_delay (run, NULL);
  let_pass (run, 7);
  check_delay (run, "no step for 12 s: a rank may hang");
  run->stall.pause_requested = g_get_monotonic_time ();
  let_pass (run, 1);
  check_delay (run, "no step for 13 s: a rank may hang · Pause waits for the step to end");
  run->stall.stop_requested = g_get_monotonic_time ();
  let_pass (run, 3);
  check_delay (
      run,
      "no step for 16 s: a rank may hang · Stop waits for the step and its checkpoint; press Stop again to force it");
  /* It came after all, and as long again is then nothing unusual. */
  studio_run_take_state (run, "paused", "");
  check_delay (run, NULL);
  studio_run_take_state (run, "running", "");
  let_pass (run, 16);
  feed (run, 11, 11, 0.7);
  feed (run, 12, 12, 0.7);
  let_pass (run, 20);
  check_delay (run, NULL);
  run->stall.usual_gap = 0.1;
  let_pass (run, 20);
  check_delay (run, "no step for 40 s: a rank may hang");
  /* After an epoch's last step there may be an evaluation, which takes no longer than the epoch. */
  studio_run_take_progress (run, 500, 1000, 1, 2, 1, 1);
  run->stall.usual_gap = 0.1;
  run->stall.longest_gap = 1;
  let_pass (run, 40);
  check_delay (run, NULL);
  let_pass (run, 20);
  check_delay (run, "no step for 60 s: a rank may hang");
  /* A Stop that is only slow ends nothing by force for a while. */
  feed (run, 501, 501, 0.7);
  run->stall.stop_requested = g_get_monotonic_time ();
  let_pass (run, 3);
  check_delay (run, "Stop waits for the step and its checkpoint");
  g_assert_false (studio_run_may_force (run));
}

/* A worker that dies when its work was done is no loss. */
static void
test_end_after_done (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  studio_run_take_state (run, "running", "");
  studio_run_take_state (run, "done", "");
  studio_run_take_end (run, "The worker was ended by signal 9 (Killed).");
  g_assert_cmpint (studio_run_get_state (run), ==, STUDIO_RUN_DONE);
}

static void
test_memory (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  GVariantBuilder b;
  g_variant_builder_init (&b, G_VARIANT_TYPE ("a{st}"));
  g_variant_builder_add (&b, "{st}", "activations", (guint64)700);
  g_variant_builder_add (&b, "{st}", "parameters", (guint64)300);
  g_autoptr (GVariant) v = g_variant_ref_sink (g_variant_builder_end (&b));
  studio_run_take_memory (run, "cpu", v);
  const RunMemory *memory = studio_run_get_memory (run);
  g_assert_cmpuint (memory->owners->len, ==, 2);
  g_assert_cmpstr (g_ptr_array_index (memory->owners, 0), ==, "parameters");
  g_assert_cmpuint (g_array_index (memory->bytes, guint64, 1), ==, 700);
  g_assert_null (run_memory_get_driver (studio_run_get_memory (run))); /* it shares the host's memory */

  g_variant_builder_init (&b, G_VARIANT_TYPE ("a{st}"));
  g_variant_builder_add (&b, "{st}", "parameters", (guint64)300);
  g_variant_builder_add (&b, "{st}", "total", (guint64)9000);
  g_variant_builder_add (&b, "{st}", "used", (guint64)800);
  g_variant_builder_add (&b, "{st}", "before", (guint64)500);
  g_variant_builder_add (&b, "{st}", "peak", (guint64)850);
  g_autoptr (GVariant) w = g_variant_ref_sink (g_variant_builder_end (&b));
  studio_run_take_memory (run, "cuda:0", w);
  g_assert_cmpuint (memory->owners->len, ==, 1);
  const StudioDriverMemory *driver = run_memory_get_driver (studio_run_get_memory (run));
  g_assert_true (driver->total == 9000 && driver->used == 800 && driver->before == 500 && driver->last == 0);
  g_assert_cmpuint (driver->peak, ==, 850);
}

static void
refresh_cb (gpointer n)
{
  ++*(int *)n;
}

/* While the run trains, frames that take long come less often; as soon as it pauses, what is due comes. */
static void
test_refresh (void)
{
  RunRefresh refresh;
  int n = 0;

  run_refresh_init (&refresh, refresh_cb, &n);
  run_refresh_note_running (&refresh, TRUE);
  run_refresh_request (&refresh);
  g_assert_true (run_refresh_is_due (&refresh));
  while (n == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_false (run_refresh_is_due (&refresh));
  /* This process had the processors for itself. */
  refresh.used -= (gint64)g_get_num_processors () * G_USEC_PER_SEC;
  run_refresh_request (&refresh);
  while (n == 1)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpint (refresh.pause, ==, RUN_REFRESH_MOST_MS);
  refresh.shown -= RUN_REFRESH_MS * 1000;
  run_refresh_request (&refresh);
  run_refresh_note_running (&refresh, FALSE);
  g_assert_cmpint (refresh.pause, ==, RUN_REFRESH_MS);
  g_assert_true (run_refresh_is_due (&refresh));
  while (n == 2)
    g_main_context_iteration (NULL, TRUE);
  run_refresh_request (&refresh);
  run_refresh_clear (&refresh);
  g_assert_false (run_refresh_is_due (&refresh));
}

/* Parts of a run work without a run. */
static void
test_parts (void)
{
  static const double values[] = { 0.5, 0.25 };
  static const char *const names[] = { "accuracy", "f1", NULL };
  RunCurves curves;
  RunStall stall = { 0 };
  RunRanks ranks = { .live = 4 };
  g_autoptr (GVariant) nothing = g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, "", 0, 1));

  run_curves_init (&curves);
  run_curves_add_evaluation (&curves, "test", 3, 0.75, names, values, 1);
  run_curves_add_mark (&curves, 3, "lr 0.1");
  loom_series_append (curves.loss.train, 3, 0.75);
  g_assert_cmpuint (curves.names->len, ==, 1); /* the second has no value */
  g_assert_cmpuint (run_curves_metric (&curves, "accuracy"), ==, 0);
  g_assert_cmpuint (loom_series_length (run_curves_get (&curves, 0)->validation), ==, 1);
  run_curves_begin (&curves);
  g_assert_nonnull (curves.loss.previous);
  g_assert_null (run_curves_get (&curves, 0)->previous); /* no point of it */
  g_assert_cmpuint (curves.marks->len, ==, 0);
  g_assert_null (curves.split);
  run_curves_finish (&curves);

  /* After an epoch the steps of an evaluation may pass. */
  g_assert_cmpfloat (run_stall_patience (200, 1000, 5), ==, 200);
  g_assert_cmpfloat (run_stall_patience (201, 1000, 5), <, 200);
  run_stall_note_running (&stall, TRUE);
  stall.step_at -= 30 * G_USEC_PER_SEC;
  g_assert_false (run_stall_is_late (&stall, 20)); /* no step has been measured */
  run_stall_note_steps (&stall, 300);
  g_assert_cmpfloat (stall.longest_gap, >=, 30);
  stall.step_at -= 59 * G_USEC_PER_SEC;
  g_assert_false (run_stall_is_late (&stall, 20));
  stall.step_at -= 9 * G_USEC_PER_SEC;
  g_assert_true (run_stall_is_late (&stall, 20));

  /* 5 ms for a frame are half a percent of two processors every half second; 16 processors leave time for four frames a
   * second, and a slow machine shows one. */
  g_assert_cmpint (run_refresh_pause (5000, 2), ==, 500);
  g_assert_cmpint (run_refresh_pause (10000, 16), ==, RUN_REFRESH_MS);
  g_assert_cmpint (run_refresh_pause (90000, 2), ==, RUN_REFRESH_MOST_MS);

  /* An empty report is not a report, and nothing is requested without a worker. */
  g_assert_false (run_ranks_set_memory (&ranks, nothing));
  run_ranks_tick (&ranks, NULL);
  g_assert_null (ranks.asked);
  run_ranks_forget (&ranks);

  run_folder_note_end (NULL, TRUE);
  run_folder_forget_note (NULL);
}

/* Redrawing is rate-limited, no matter how often numbers arrive. */
static void
test_numbers (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  int n = 0;
  g_signal_connect (run, "numbers", G_CALLBACK (count_cb), &n);
  for (gint64 i = 0; i < 20; i++)
    studio_run_take_progress (run, i, 100, 1, 1, 10, 10);
  g_assert_cmpint (n, ==, 0);
  while (n == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpint (n, ==, 1);
  studio_run_take_progress (run, 20, 100, 1, 1, 10, 10);
  while (n == 1)
    g_main_context_iteration (NULL, TRUE); /* and the last of them is not left out */
  g_assert_cmpint (studio_run_get_step (run), ==, 20);
}

static void
test_resumed_points (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  feed (run, 1, 50, 1);
  studio_run_take_checkpoint (run, 30, "30");
  g_assert_true (studio_run_has_checkpoint (run));
  feed (run, 31, 33, 0.5);
  g_assert_cmpuint (loom_series_length (studio_run_get_train (run, -1)), ==, 33);
}

/* mpirun's messages about a rank that was killed, and about one that exited. */
static void
test_lost (void)
{
  int rank = -1, number = 0;

  g_assert_true (loom_dist_parse_lost (
      "mpirun noticed that process rank 12 with PID 4711 on node here exited on signal 9 (Killed).", &rank, &number));
  g_assert_cmpint (rank, ==, 12);
  g_assert_cmpint (number, ==, SIGKILL);
  /* Open MPI 5 breaks the line. */
  g_assert_true (loom_dist_parse_lost (
      "prterun noticed that process rank 3 with PID 4711 on node here exited on\nsignal 15 (Terminated).", &rank,
      &number));
  g_assert_cmpint (rank, ==, 3);
  g_assert_cmpint (number, ==, SIGTERM);
  g_assert_false (
      loom_dist_parse_lost ("mpirun detected that one or more processes exited with non-zero status", &rank, &number));
  g_assert_false (loom_dist_parse_lost ("  Process name: [[1,1],1] exited on signal 9", &rank, &number));
}

static void
test_sentences (void)
{
  g_autofree char *killed = studio_worker_describe_end (TRUE, SIGKILL, NULL);
  g_assert_cmpstr (killed, ==, "The worker was ended by signal 9 (Killed).");
  g_autofree char *said = studio_worker_describe_end (FALSE, 3, "out of memory");
  g_assert_cmpstr (said, ==, "The worker ended with status 3: out of memory");
}

/* Standard error of two ranks under Open MPI 4.1, one of which ends before it reaches Studio. */
static void
test_explanation (void)
{
  static const char *const notice[]
      = { "----------------------------------------------------------",
          "Primary job  terminated normally, but 1 process returned",
          "a non-zero exit code. Per user-direction, the job has been aborted.",
          "----------------------------------------------------------",
          "----------------------------------------------------------",
          "mpirun detected that one or more processes exited with non-zero status, thus causing",
          "",
          "  Process name: [[4711,1],0]",
          "  Exit code:    1",
          "----------------------------------------------------------" };
  static const char *const own[] = { NULL, "PMIX ERROR: NO-PERMISSIONS in file dstore_base.c at line 237",
                                     "gradloom worker: Studio cannot be reached: Connection refused." };

  for (guint o = 0; o < G_N_ELEMENTS (own); o++)
    {
      StudioWorkerErrors errors;

      studio_worker_errors_init (&errors);
      if (own[o] != NULL)
        studio_worker_errors_add (&errors, own[o]);
      for (guint i = 0; i < G_N_ELEMENTS (notice); i++)
        studio_worker_errors_add (&errors, notice[i]);
      g_assert_cmpstr (errors.explains, ==, own[o] != NULL ? own[o] : notice[1]);
      g_assert_cmpint (errors.lost_rank, ==, -1);
      studio_worker_errors_explain (&errors, "its connection to Studio broke.");
      g_assert_cmpstr (errors.explains, ==, o == 2 ? own[2] : "its connection to Studio broke.");
      studio_worker_errors_clear (&errors);
    }
}

/* Layers that were left out are counted, and then not all agree. */
static void
test_gradient_text (void)
{
  g_autofree char *all = gradient_text_result (3, 0, 0, NULL), *some = gradient_text_result (3, 0, 2, NULL);
  g_autofree char *wrong = gradient_text_result (3, 1, 1, "fc."), *none = gradient_text_result (0, 0, 1, NULL);

  g_assert_cmpstr (all, ==, "The gradients of all 3 layers agree with finite differences.");
  g_assert_cmpstr (some, ==,
                   "The gradients of the 3 checked layers agree with finite differences. 2 layers were not checked.");
  g_assert_cmpstr (wrong, ==, "The gradient of 1 layer differs from finite differences. fc. 1 layer was not checked.");
  g_assert_cmpstr (none, ==, "No gradient was compared. 1 layer was not checked.");
}

static void
note_cb (StudioRun *run, const char *code, const char *node, const char *port, const char *sentence, char **said)
{
  g_assert_cmpstr (code, ==, "NOTE");
  g_free (*said);
  *said = g_strdup (sentence);
}

/* A command that continues a run which shows an earlier step says that the newest one is shown again; the end of a run,
 * and another run, say nothing. */
static void
test_come_back (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  g_autofree char *said = NULL;

  g_signal_connect (run, "problem", G_CALLBACK (note_cb), &said);
  studio_run_take_state (run, "running", NULL);
  studio_run_take_progress (run, 2000, 4000, 1, 2, 100, 10);
  studio_run_take_state (run, "paused", NULL);
  run->travel.shown = 1210;
  studio_run_take_state (run, "stopped", NULL);
  g_assert_cmpint (studio_run_get_shown_step (run), ==, -1);
  g_assert_null (said);
  run->travel.shown = 1210;
  studio_run_take_state (run, "running", NULL);
  g_assert_cmpint (studio_run_get_shown_step (run), ==, -1);
  g_assert_nonnull (strstr (said, "2,000"));
  g_assert_nonnull (strstr (said, "1,210"));
}

TEST_FILE (argc, argv)
{
  g_autofree char *home = g_dir_make_tmp ("gradloom-run-XXXXXX", NULL);
  g_setenv ("XDG_STATE_HOME", home, TRUE); /* before GLib reads it for the first time */
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run/lost", test_lost);
  g_test_add_func ("/run/points", test_points);
  g_test_add_func ("/run/when", test_when);
  g_test_add_func ("/run/previous", test_previous);
  g_test_add_func ("/run/evaluation", test_evaluation);
  g_test_add_func ("/run/evaluation-restored", test_evaluation_restored);
  g_test_add_func ("/run/problem", test_problem);
  g_test_add_func ("/run/states", test_states);
  g_test_add_func ("/run/rank-memory", test_rank_memory);
  g_test_add_func ("/run/timeline-words", test_timeline_words);
  g_test_add_func ("/run/delay", test_delay);
  g_test_add_func ("/run/end-after-done", test_end_after_done);
  g_test_add_func ("/run/memory", test_memory);
  g_test_add_func ("/run/parts", test_parts);
  g_test_add_func ("/run/refresh", test_refresh);
  g_test_add_func ("/run/numbers", test_numbers);
  g_test_add_func ("/run/resumed-points", test_resumed_points);
  g_test_add_func ("/run/sentences", test_sentences);
  g_test_add_func ("/run/explanation", test_explanation);
  g_test_add_func ("/run/timeline-phases", test_timeline_phases);
  g_test_add_func ("/run/memory-verdict", test_memory_verdict);
  g_test_add_func ("/run/memory-verdict-of-ranks", test_memory_verdict_of_ranks);
  g_test_add_func ("/run/gradient-text", test_gradient_text);
  g_test_add_func ("/run/come-back", test_come_back);
  return g_test_run ();
}
