/* Faults of a step: an invalid row or class, a gradient that is not finite. On every back end the state afterwards is
 * that before the step, to the bit, the error names the node and the number, and the next step is unaffected.
 * GRADLOOM_TEST_DEVICE names one device; without it they are ref and cpu. If there is a second GPU, part of the program
 * is on it: one finds the fault, and the gate of the other closes. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/run/loom-exec.h"
#include "tests/exec/state-slots.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"

#define BATCH 4
#define WIDTH 6
#define ROWS  7
#define STEPS 7

typedef enum
{
  GOOD,
  BAD_ROW,
  BAD_CLASS,
  NOT_FINITE,
  N_KINDS
} Kind;

static const struct
{
  const char *name, *node, *text;
  int code;
} expected[N_KINDS] = {
  [BAD_ROW] = { "row", "Node table ", "the row 99 is outside 0 … 6", LOOM_ERROR_DATA },
  [BAD_CLASS] = { "class", "Node loss ", "the target class -3 is outside 0 … 4", LOOM_ERROR_DATA },
  [NOT_FINITE] = { "finite", "The check of loss and gradients (update_gate on ", LOOM_NOT_FINITE_TEXT, LOOM_ERROR_NAN },
};

static const char *table_on, *loss_on; /* devices; NULL: the plan's own */
static gboolean is_frozen;             /* the table is not trained, and its device hears nothing of the gate */

static LoomValue
weight (LoomProgram *p, const char *name, int rank, const gint64 *dims, GArray *slots)
{
  LoomInit init = { LOOM_INIT_UNIFORM, -0.4, 0.4, NULL };
  const gboolean is_trained = rank < 2 || dims[0] != ROWS || !is_frozen;
  int slot = loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, rank, dims, &init, is_trained);

  if (is_trained)
    g_array_append_val (slots, slot);
  return loom_program_read (p, slot);
}

/* A table of rows, a layer, a class; a running mean that the forward pass commits; momentum. */
static LoomProgram *
program_new (void)
{
  const gint64 batch = BATCH, width = WIDTH;
  LoomProgram *p = loom_program_new ();
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GError) error = NULL;
  const LoomOptimizer *sgd = loom_optimizer ("sgd");
  LoomCrossEntropyAttrs attrs = { -100 };
  double hyper[16];
  LoomUpdateOptions options = { .optimizer = "sgd", .hyper = hyper };
  LoomValue x, in[2], out[2], h, seen, wrt[3], grads[3];
  int mean;

  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ BATCH, WIDTH });
  loom_program_set_origin (p, "table", table_on);
  in[1] = loom_program_input (p, "rows", LOOM_I64, 1, &batch);
  in[0] = weight (p, "table.weight", 2, (gint64[]){ ROWS, WIDTH }, slots);
  h = loom_binary (p, LOOM_SCALAR_ADD, loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL), x);
  loom_program_set_origin (p, "mean", NULL);
  mean = loom_program_slot (p, "mean.running", LOOM_SLOT_BUFFER, LOOM_F32, 1, &width, NULL, FALSE);
  seen = loom_reshape (p, loom_reduce (p, LOOM_REDUCE_SUM, h, 1u << 0, FALSE), 1, &width);
  seen = loom_binary (p, LOOM_SCALAR_ADD, loom_program_read (p, mean), seen);
  loom_program_commit (p, mean, loom_binary (p, LOOM_SCALAR_MUL, seen, loom_const (p, LOOM_F32, 0.5)));
  loom_program_set_origin (p, "fc", loss_on);
  h = loom_matmul (p, h, weight (p, "fc.weight", 2, (gint64[]){ 5, WIDTH }, slots), FALSE, TRUE);
  h = loom_binary (p, LOOM_SCALAR_ADD, h, weight (p, "fc.bias", 1, (gint64[]){ 5 }, slots));
  loom_program_set_origin (p, "loss", loss_on);
  in[0] = h;
  in[1] = loom_program_input (p, "y", LOOM_I64, 1, &batch);
  loom_emit (p, loom_prim ("cross_entropy"), &attrs, 2, in, out);
  options.loss = loom_mean_all (p, out[0]);
  loom_program_output (p, "loss", options.loss);
  for (guint i = 0; i < slots->len; i++)
    wrt[i] = loom_program_read (p, g_array_index (slots, int, i));
  loom_differentiate (p, options.loss, 0, slots->len, wrt, grads, &error);
  g_assert_no_error (error);
  for (guint i = 0; sgd->hyper[i].name != NULL; i++)
    hyper[i] = strcmp (sgd->hyper[i].name, "lr") == 0         ? 0.1
               : strcmp (sgd->hyper[i].name, "momentum") == 0 ? 0.9
                                                              : sgd->hyper[i].value;
  loom_emit_update (p, &options, slots->len, &g_array_index (slots, int, 0), grads, &error);
  g_assert_no_error (error);
  return p;
}

typedef struct
{
  float x[BATCH * WIDTH];
  gint64 rows[BATCH], y[BATCH];
} Batch;

static void
batch_fill (Batch *b, int step, Kind kind)
{
  for (int i = 0; i < BATCH * WIDTH; i++)
    b->x[i] = (float)sin (0.37 * i + step);
  for (int i = 0; i < BATCH; i++)
    {
      b->rows[i] = (2 * i + step) % ROWS;
      b->y[i] = (i + step) % 5;
    }
  if (kind == BAD_ROW)
    b->rows[2] = 99;
  if (kind == BAD_CLASS)
    b->y[1] = -3;
  if (kind == NOT_FINITE)
    b->x[5] = NAN;
}

typedef struct
{
  LoomDevices *devices;
  LoomPlanDevice *device;
  LoomState *state;
  LoomExec *exec;
  Batch batch;
} Run;

static void
run_open (Run *run, const char *device)
{
  g_autoptr (LoomProgram) p = program_new ();
  g_autoptr (GError) error = NULL;
  LoomPlanOptions options = { .device = device };
  LoomPlan *plan;

  memset (run, 0, sizeof *run);
  run->devices = loom_devices_new (2);
  run->device = loom_devices_get (run->devices, device, &error);
  g_assert_no_error (error);
  run->state = loom_state_new (run->devices, device, 7);
  plan = loom_plan_new (p, run->devices, &options, &error);
  g_assert_no_error (error);
  run->exec = loom_exec_new (plan, run->state, &error);
  g_assert_no_error (error);
}

static void
run_close (Run *run)
{
  loom_exec_free (run->exec);
  loom_state_unref (run->state);
  loom_devices_unref (run->devices);
}

static void
feed (Run *run, int step, Kind kind)
{
  batch_fill (&run->batch, step, kind);
  loom_exec_feed (run->exec, 0, run->batch.x);
  loom_exec_feed (run->exec, 1, run->batch.rows);
  loom_exec_feed (run->exec, 2, run->batch.y);
}

static void
assert_fault (GError *error, Kind kind)
{
  g_assert_error (error, LOOM_ERROR, expected[kind].code);
  g_assert_nonnull (strstr (error->message, expected[kind].node));
  g_assert_nonnull (strstr (error->message, expected[kind].text));
}

static GPtrArray *
wanted_after (const char *device, int steps)
{
  Run run;
  GPtrArray *slots;

  run_open (&run, device);
  for (int step = 0; step < steps; step++)
    {
      feed (&run, step, GOOD);
      g_assert_true (loom_exec_run (run.exec, NULL));
    }
  slots = state_slots (run.state);
  run_close (&run);
  return slots;
}

/* The first, a launched and a recorded step. */
static void
test_state (gconstpointer device)
{
  static const int when[] = { 0, 1, 5 };
  g_autoptr (GPtrArray) end = wanted_after (device, STEPS);

  for (guint w = 0; w < G_N_ELEMENTS (when); w++)
    {
      g_autoptr (GPtrArray) before = wanted_after (device, when[w]);

      for (Kind kind = BAD_ROW; kind < N_KINDS; kind++)
        {
          g_autoptr (GPtrArray) after = NULL, last = NULL;
          Run run;

          run_open (&run, device);
          for (int step = 0; step < STEPS; step++)
            {
              if (step == when[w])
                {
                  g_autoptr (GError) error = NULL;

                  feed (&run, step, kind);
                  g_assert_false (loom_exec_run (run.exec, &error));
                  assert_fault (error, kind);
                  if (loom_exec_fault_step (run.exec) != 0) /* of a device that works meanwhile */
                    g_assert_cmpint (loom_exec_fault_step (run.exec), ==, loom_exec_step_number (run.exec));
                  after = state_slots (run.state);
                  assert_same_slots (after, before);
                }
              feed (&run, step, GOOD);
              g_assert_true (loom_exec_run (run.exec, NULL));
            }
          last = state_slots (run.state);
          assert_same_slots (last, end);
          run_close (&run);
        }
    }
}

static void
test_two (gconstpointer device)
{
  table_on = "cuda:1";
  test_state (device);
  table_on = NULL;
  loss_on = "cuda:1";
  test_state (device);
  loss_on = NULL;
}

/* The run's state is as before the fault, and the next step has the same result as without a fault. */
static void
assert_goes_on (Run *run, int step, GPtrArray *before, GPtrArray *end)
{
  g_autoptr (GPtrArray) after = state_slots (run->state), last = NULL;

  assert_same_slots (after, before);
  feed (run, step, GOOD);
  g_assert_true (loom_exec_run (run->exec, NULL));
  last = state_slots (run->state);
  assert_same_slots (last, end);
}

/* Two steps are begun before the first is waited for, and each may have a fault, found by either GPU: the earlier one
 * is heard, and neither has written anything, launched or recorded. */
static void
two_late (const char *device, Kind first, Kind second, gboolean recorded)
{
  g_autoptr (GPtrArray) before = wanted_after (device, 3), end = wanted_after (device, 4);
  g_autoptr (GError) error = NULL;
  gint64 number;
  Run run;

  g_setenv ("GRADLOOM_CUDA_GRAPHS", recorded ? "1" : "0", TRUE);
  run_open (&run, device);
  g_assert_true (loom_exec_can_upload (run.exec));
  for (int step = 0; step < 3; step++)
    {
      feed (&run, step, GOOD);
      g_assert_true (loom_exec_step (run.exec, NULL));
    }
  number = loom_exec_step_number (run.exec) + 1;
  feed (&run, 3, first);
  if (loom_exec_step (run.exec, &error))
    {
      feed (&run, 4, second);
      g_assert_false (loom_exec_step (run.exec, &error));
    }
  assert_fault (error, first);
  g_assert_cmpint (loom_exec_fault_step (run.exec), ==, number);
  assert_goes_on (&run, 3, before, end);
  run_close (&run);
  g_unsetenv ("GRADLOOM_CUDA_GRAPHS");
}

/* The second GPU has finished all its work before the first is synchronised, unless events delay it. */
static const LoomBackend *fair;
static LoomDevice *fast;
static LoomStream *fast_stream;

static LoomStatus
fast_begin (LoomDevice *device, LoomStream *stream, int64_t step, LoomMessage *message)
{
  if (device == fast)
    fast_stream = stream;
  return fair->step_begin (device, stream, step, message);
}

static LoomStatus
fast_sync (LoomDevice *device, LoomEvent *event, LoomMessage *message)
{
  const LoomStatus status = fast_stream != NULL ? fair->stream_sync (fast, fast_stream, message) : LOOM_STATUS_OK;

  return status == LOOM_STATUS_OK ? fair->event_sync (device, event, message) : status;
}

/* A valid step stays committed, whatever the next one finds before the gate of the other GPU has opened. */
static void
two_next (const char *device, Kind kind, gboolean recorded)
{
  g_autoptr (GPtrArray) before = wanted_after (device, 4), after = NULL;
  g_autoptr (GError) error = NULL;
  LoomPlanDevice *second;
  LoomBackend hasty;
  Run run;

  g_setenv ("GRADLOOM_CUDA_GRAPHS", recorded ? "1" : "0", TRUE);
  run_open (&run, device);
  second = loom_devices_get (run.devices, "cuda:1", NULL);
  fair = run.device->backend;
  hasty = *fair;
  hasty.step_begin = fast_begin;
  hasty.event_sync = fast_sync;
  fast = second->device;
  fast_stream = NULL;
  run.device->backend = second->backend = &hasty;
  for (int step = 0; step < 4; step++)
    {
      feed (&run, step, GOOD);
      g_assert_true (loom_exec_step (run.exec, NULL));
    }
  feed (&run, 4, kind);
  g_assert_false (loom_exec_run (run.exec, &error));
  assert_fault (error, kind);
  after = state_slots (run.state);
  assert_same_slots (after, before);
  run.device->backend = second->backend = fair;
  run_close (&run);
  g_unsetenv ("GRADLOOM_CUDA_GRAPHS");
}

static void
test_two_late (gconstpointer device)
{
  for (int where = 0; where < 2; where++)
    {
      table_on = where == 0 ? "cuda:1" : NULL;
      loss_on = where == 1 ? "cuda:1" : NULL;
      for (int recorded = 0; recorded < 2; recorded++)
        for (Kind first = BAD_ROW; first < N_KINDS; first++)
          {
            for (Kind second = GOOD; second < N_KINDS; second++)
              two_late (device, first, second, recorded);
            two_next (device, first, recorded);
          }
    }
  table_on = "cuda:1";
  loss_on = NULL;
  is_frozen = TRUE;
  for (int recorded = 0; recorded < 2; recorded++)
    two_next (device, BAD_ROW, recorded);
  table_on = NULL;
  is_frozen = FALSE;
}

/* Another executor, on the first GPU alone, hears of the fault that this one found there, and clears it once the second
 * GPU's gate has closed for it. */
static void
two_other (void)
{
  const gint64 n = 4;
  const float numbers[4] = { 1, 2, 3, 4 };
  g_autoptr (GPtrArray) before = NULL, end = NULL;
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomExec) alone = NULL;
  LoomPlan *plan;
  LoomValue x;
  Run run;

  table_on = "cuda:0";
  is_frozen = TRUE;
  before = wanted_after ("cuda:1", 2);
  end = wanted_after ("cuda:1", 3);
  run_open (&run, "cuda:1");
  x = loom_program_input (p, "x", LOOM_F32, 1, &n);
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_ADD, x, x));
  plan = loom_plan_new (p, run.devices, &(LoomPlanOptions){ .device = "cuda:0" }, &error);
  g_assert_no_error (error);
  alone = loom_exec_new (plan, run.state, &error);
  g_assert_no_error (error);
  g_assert_false (loom_exec_reports_faults_of (alone, run.exec));
  g_assert_true (loom_exec_reports_faults_of (run.exec, alone));
  for (int step = 0; step < 2; step++)
    {
      feed (&run, step, GOOD);
      g_assert_true (loom_exec_run (run.exec, NULL));
    }
  feed (&run, 2, BAD_ROW);
  if (loom_exec_step (run.exec, &error))
    {
      loom_exec_feed (alone, 0, numbers);
      g_assert_false (loom_exec_run (alone, &error));
    }
  assert_fault (error, BAD_ROW);
  assert_goes_on (&run, 2, before, end);
  g_clear_pointer (&alone, loom_exec_free);
  run_close (&run);
  table_on = NULL;
  is_frozen = FALSE;
}

/* With several orders of work on streams. */
static void
test_two_other (void)
{
  for (int i = 0; i < 8; i++)
    two_other ();
}

/* ---- a device that works while its caller goes on ------------------------ */

/* The emulated GPU has finished everything when a call returns. Here it reports a step only once the next has begun or
 * the stream was synchronised, as a GPU may. */
static const LoomBackend *prompt;
static gint64 begun, waited;

static LoomStatus
step_begin (LoomDevice *device, LoomStream *stream, int64_t step, LoomMessage *message)
{
  begun = step;
  return prompt->step_begin (device, stream, step, message);
}

static LoomStatus
stream_sync (LoomDevice *device, LoomStream *stream, LoomMessage *message)
{
  waited = begun;
  return prompt->stream_sync (device, stream, message);
}

static void
fault_get (LoomDevice *device, LoomStream *stream, LoomDeviceFault *fault, LoomMessage *message)
{
  prompt->fault_get (device, stream, fault, message);
  if (fault->step > waited && fault->step == begun)
    fault->status = LOOM_STATUS_OK;
}

static void
test_late (gconstpointer device)
{
  g_autoptr (GPtrArray) before = wanted_after (device, 4);

  for (Kind kind = BAD_ROW; kind < N_KINDS; kind++)
    {
      g_autoptr (GPtrArray) after = NULL;
      g_autoptr (GError) error = NULL;
      LoomBackend slow;
      Run run;

      run_open (&run, device);
      prompt = run.device->backend;
      if (prompt->fault_get == NULL)
        {
          run_close (&run);
          g_test_skip ("this device computes a step before it returns; a CUDA device computes later");
          return;
        }
      slow = *prompt;
      slow.step_begin = step_begin;
      slow.stream_sync = stream_sync;
      slow.fault_get = fault_get;
      begun = waited = 0;
      run.device->backend = &slow;
      for (int step = 0; step < 4; step++)
        {
          feed (&run, step, GOOD);
          g_assert_true (loom_exec_step (run.exec, NULL));
        }
      feed (&run, 4, kind);
      g_assert_true (loom_exec_step (run.exec, NULL));
      feed (&run, 5, GOOD);
      g_assert_false (loom_exec_step (run.exec, &error));
      assert_fault (error, kind);
      g_assert_cmpint (loom_exec_fault_step (run.exec), ==, loom_exec_step_number (run.exec) - 1);
      after = state_slots (run.state);
      assert_same_slots (after, before);
      feed (&run, 4, GOOD);
      g_assert_true (loom_exec_run (run.exec, NULL));
      run.device->backend = prompt;
      run_close (&run);
    }
}

TEST_FILE (argc, argv)
{
  static const char *const hosts[] = { "ref", "cpu", NULL };
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  const char *asked[] = { test_device (NULL), NULL };

  g_test_init (&argc, &argv, NULL);
  if (asked[0] != NULL && !test_device_is_there (devices, asked[0]))
    return 77;
  for (const char *const *device = asked[0] != NULL ? asked : hosts; *device != NULL; device++)
    {
      g_autofree char *state = g_strdup_printf ("/fault/state/%s", *device);
      g_autofree char *late = g_strdup_printf ("/fault/late/%s", *device);

      g_test_add_data_func (state, *device, test_state);
      if (asked[0] != NULL)
        g_test_add_data_func (late, *device, test_late);
    }
  if (g_strcmp0 (asked[0], "cuda:0") == 0 && loom_devices_get (devices, "cuda:1", NULL) != NULL)
    {
      g_test_add_data_func ("/fault/two/at-once", asked[0], test_two);
      g_test_add_data_func ("/fault/two/late", asked[0], test_two_late);
      g_test_add_func ("/fault/two/other", test_two_other);
    }
  return g_test_run ();
}
