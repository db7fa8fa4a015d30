/* One arena for all executors over a state: training, evaluation and batches of other sizes do not affect each other,
 * also if its memory is poisoned between two steps, when the arena moves, when it cannot grow, and when the device is
 * lost or refuses a call; and two runs on two threads have the bits of each alone. GRADLOOM_TEST_DEVICE names one
 * device; without it they are ref and cpu. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/run/run-private.h"
#include "tests/exec/state-slots.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"

#define WIDTH 6

/* The rows of h as images of one channel, through a filter of 3×3: computed by a library with a handle of its own. */
static LoomValue
convolved (LoomProgram *p, LoomValue h, LoomValue filter, gint64 batch)
{
  const LoomConv2dTo attrs
      = { .kernel
          = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .act = LOOM_SCALAR_ID } };
  LoomValue in[3] = { loom_reshape (p, h, 4, (gint64[]){ batch, 1, 2, WIDTH / 2 }), filter };

  return loom_reshape (p, loom_emit (p, loom_prim ("conv2d"), &attrs, 3, in, NULL), 2, (gint64[]){ batch, WIDTH });
}

/* A convolution and two layers with constants, and sgd with momentum in training. */
static LoomProgram *
net_new (gint64 batch, gboolean training)
{
  LoomProgram *p = loom_program_new ();
  const LoomOptimizer *sgd = loom_optimizer ("sgd");
  LoomInit init = { LOOM_INIT_UNIFORM, -0.4, 0.4, NULL };
  double hyper[16];
  LoomUpdateOptions options = { .optimizer = "sgd", .hyper = hyper };
  LoomIotaTo pattern = { .kernel = { .axis = 1, .start = 0.1, .step = 0.01 },
                         .dtype = LOOM_F32,
                         .to = { .rank = 2, .dim = { batch, WIDTH } } };
  LoomValue h, target, wrt[3], grads[3];
  int slot[3];
  g_autoptr (GError) error = NULL;

  h = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ batch, WIDTH });
  target = loom_program_input (p, "y", LOOM_F32, 2, (gint64[]){ batch, WIDTH });
  slot[2]
      = loom_program_slot (p, "conv.weight", LOOM_SLOT_PARAMETER, LOOM_F32, 4, (gint64[]){ 1, 1, 3, 3 }, &init, TRUE);
  wrt[2] = loom_program_read (p, slot[2]);
  h = convolved (p, h, wrt[2], batch);
  for (int i = 0; i < 2; i++)
    {
      g_autofree char *name = g_strdup_printf ("fc%d.weight", i);

      slot[i] = loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, 2, (gint64[]){ WIDTH, WIDTH }, &init, TRUE);
      wrt[i] = loom_program_read (p, slot[i]);
      h = loom_matmul (p, h, wrt[i], FALSE, TRUE);
      /* A pattern that is made once, when the plan is bound. */
      h = loom_binary (p, LOOM_SCALAR_ADD, h, loom_emit (p, loom_prim ("iota"), &pattern, 0, NULL, NULL));
      h = loom_unary (p, LOOM_SCALAR_TANH, h);
    }
  h = loom_binary (p, LOOM_SCALAR_SUB, h, target);
  options.loss = loom_mean_all (p, loom_binary (p, LOOM_SCALAR_MUL, h, h));
  loom_program_output (p, "loss", options.loss);
  if (!training)
    return p;
  loom_differentiate (p, options.loss, 0, 3, wrt, grads, &error);
  g_assert_no_error (error);
  for (guint i = 0; sgd->hyper[i].name != NULL; i++)
    hyper[i] = strcmp (sgd->hyper[i].name, "lr") == 0         ? 0.1
               : strcmp (sgd->hyper[i].name, "momentum") == 0 ? 0.9
                                                              : sgd->hyper[i].value;
  loom_emit_update (p, &options, 3, slot, grads, &error);
  g_assert_no_error (error);
  return p;
}

typedef struct
{
  LoomDevices *devices;
  LoomPlanDevice *device;
  LoomState *state;
} Run;

static void
run_open (Run *run, LoomDevices *devices, const char *device)
{
  g_autoptr (GError) error = NULL;

  run->devices = loom_devices_ref (devices);
  run->device = loom_devices_get (devices, device, &error);
  g_assert_no_error (error);
  run->state = loom_state_new (devices, device, 7);
}

static void
run_close (Run *run)
{
  loom_state_unref (run->state);
  loom_devices_unref (run->devices);
}

static LoomExec *
exec_try (Run *run, gint64 batch, gboolean training, GError **error)
{
  g_autoptr (LoomProgram) p = net_new (batch, training);
  LoomPlanOptions options = { .device = run->device->name };
  LoomPlan *plan = loom_plan_new (p, run->devices, &options, error);

  return plan != NULL ? loom_exec_new (plan, run->state, error) : NULL;
}

static LoomExec *
exec_open (Run *run, gint64 batch, gboolean training)
{
  g_autoptr (GError) error = NULL;
  LoomExec *exec = exec_try (run, batch, training, &error);

  g_assert_no_error (error);
  return exec;
}

static gsize
arena_of (LoomExec *exec)
{
  LoomPlanMemory memory;

  loom_plan_memory (loom_exec_plan (exec), 0, &memory);
  return memory.arena;
}

static gboolean
step_try (LoomExec *exec, gint64 batch, int seed, float *loss, GError **error)
{
  g_autofree float *x = g_new (float, batch *WIDTH), *y = g_new (float, batch *WIDTH);
  gboolean ok;

  for (gint64 i = 0; i < batch * WIDTH; i++)
    {
      x[i] = (float)sin (0.37 * (double)i + seed);
      y[i] = (float)cos (0.11 * (double)i * seed);
    }
  loom_exec_feed (exec, 0, x);
  loom_exec_feed (exec, 1, y);
  ok = loom_exec_run (exec, error);
  if (ok)
    *loss = (float)loom_exec_scalar (exec, (guint)loom_exec_find_output (exec, "loss"));
  return ok;
}

static float
step (LoomExec *exec, gint64 batch, int seed)
{
  g_autoptr (GError) error = NULL;
  float loss = NAN;

  step_try (exec, batch, seed, &loss, &error);
  g_assert_no_error (error);
  g_assert_true (isfinite (loss));
  return loss;
}

/* All bits set: a NaN in every float. */
static void
poison (Run *run)
{
  LoomArena *arena = loom_state_arena (run->state, run->device, NULL);
  g_autofree char *bad = g_malloc (arena->bytes + 1);
  LoomMessage message = { "" };
  LoomStatus status;

  memset (bad, 0xff, arena->bytes);
  if (run->device->info.host_memory)
    {
      memcpy (arena->memory, bad, arena->bytes);
      return;
    }
  status = run->device->backend->copy (run->device->device, arena->stream, arena->memory, bad, arena->bytes,
                                       LOOM_COPY_HOST_TO_DEVICE, &message);
  g_assert_true (status == LOOM_STATUS_OK && loom_arena_sync (arena, &message, &status));
}

/* Six steps of 4, 4, 4, 2, 4, 4 samples without anything between them. */
static GPtrArray *
train_alone (LoomDevices *devices, const char *device, float loss[6])
{
  Run run;
  GPtrArray *end;

  run_open (&run, devices, device);
  LoomExec *full = exec_open (&run, 4, TRUE), *rest = exec_open (&run, 2, TRUE);
  for (int i = 0; i < 6; i++)
    loss[i] = i == 3 ? step (rest, 2, i) : step (full, 4, i);
  end = state_slots (run.state);
  loom_exec_free (full);
  loom_exec_free (rest);
  run_close (&run);
  return end;
}

static float
evaluate_alone (LoomDevices *devices, const char *device, int steps)
{
  Run run;
  float loss;

  run_open (&run, devices, device);
  LoomExec *full = exec_open (&run, 4, TRUE);
  for (int i = 0; i < steps; i++)
    step (full, 4, i);
  loom_exec_free (full);
  LoomExec *evaluation = exec_open (&run, 64, FALSE);
  loss = step (evaluation, 64, 99);
  loom_exec_free (evaluation);
  run_close (&run);
  return loss;
}

static void
test_interleaved (gconstpointer device)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  float alone[6];
  g_autoptr (GPtrArray) want = train_alone (devices, device, alone), got = NULL;
  Run run;
  gsize bytes[LOOM_N_OWNERS], sum = 0, planned = 0, largest;

  run_open (&run, devices, device);
  LoomExec *full = exec_open (&run, 4, TRUE), *rest = exec_open (&run, 2, TRUE), *evaluation = NULL;
  for (int i = 0; i < 6; i++)
    {
      poison (&run);
      g_assert_cmpfloat (i == 3 ? step (rest, 2, i) : step (full, 4, i), ==, alone[i]);
      poison (&run);
      /* It is larger, and is made after steps of the other were recorded. */
      if (i == 2)
        {
          gsize before = loom_state_arena (run.state, run.device, NULL)->bytes;

          evaluation = exec_open (&run, 64, FALSE);
          g_assert_cmpuint (arena_of (evaluation), >, before);
          poison (&run);
        }
      if (i == 2 || i == 5)
        {
          float loss = step (evaluation, 64, 99);

          if (i == 2)
            g_assert_cmpfloat (loss, ==, evaluate_alone (devices, device, 3));
        }
    }
  got = state_slots (run.state);
  assert_same_slots (got, want);

  /* One arena, as large as the largest needs, plus the memory of each executor. */
  largest = MAX (arena_of (evaluation), MAX (arena_of (full), arena_of (rest)));
  g_assert_cmpuint (loom_state_arena (run.state, run.device, NULL)->bytes, ==, largest);
  loom_state_memory (run.state, NULL, bytes);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    sum += bytes[o];
  LoomPlanMemory joined = { 0 }, one;
  gsize forecast[LOOM_N_OWNERS];
  LoomExec *all[] = { full, rest, evaluation };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      loom_plan_memory (loom_exec_plan (all[i]), 0, &one);
      loom_plan_memory_join (&joined, &one);
    }
  loom_plan_memory_sum (&joined, forecast);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    planned += forecast[o];
  g_assert_cmpuint (sum, ==, planned);
  loom_exec_free (full);
  loom_exec_free (rest);
  loom_exec_free (evaluation);
  run_close (&run);
}

/* ---- a device that refuses ------------------------------------------------- */

static const LoomBackend *real;
static gsize limit; /* of one allocation */
static gboolean lost;

static LoomStatus
limited_alloc (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message)
{
  if (bytes <= limit)
    return real->alloc (device, bytes, memory, message);
  g_strlcpy (message->text, "the GPU is out of memory", sizeof message->text);
  *memory = NULL;
  return LOOM_STATUS_OUT_OF_MEMORY;
}

static LoomStatus
gone (LoomMessage *message)
{
  g_strlcpy (message->text, "a CUDA call failed: unspecified launch failure", sizeof message->text);
  return LOOM_STATUS_DEVICE_LOST;
}

static LoomStatus
lost_copy (LoomDevice *device, LoomStream *stream, void *to, const void *from, size_t bytes, LoomCopyKind kind,
           LoomMessage *message)
{
  return lost ? gone (message) : real->copy (device, stream, to, from, bytes, kind, message);
}

static LoomStatus
lost_sync (LoomDevice *device, LoomStream *stream, LoomMessage *message)
{
  return lost ? gone (message) : real->stream_sync (device, stream, message);
}

static LoomStatus
lost_begin (LoomDevice *device, LoomStream *stream, int64_t n, LoomMessage *message)
{
  return lost ? gone (message) : real->step_begin (device, stream, n, message);
}

/* A plan that is too large for the device takes nothing from those that fit. */
static void
test_no_room (gconstpointer device)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  float alone[6];
  g_autoptr (GPtrArray) want = train_alone (devices, device, alone), got = NULL;
  LoomBackend small;
  Run run;

  run_open (&run, devices, device);
  LoomExec *full = exec_open (&run, 4, TRUE), *rest = exec_open (&run, 2, TRUE);
  real = run.device->backend;
  small = *real;
  small.alloc = limited_alloc;
  limit = arena_of (full);
  run.device->backend = &small;
  for (int i = 0; i < 6; i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_cmpfloat (i == 3 ? step (rest, 2, i) : step (full, 4, i), ==, alone[i]);
      g_assert_null (exec_try (&run, 64, TRUE, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY);
      g_assert_nonnull (strstr (error->message, "a smaller batch"));
    }
  got = state_slots (run.state);
  assert_same_slots (got, want);
  run.device->backend = real;
  loom_exec_free (full);
  loom_exec_free (rest);
  run_close (&run);
}

/* Every call after the loss reports it, and everything is freed. */
static void
test_lost (gconstpointer device)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  LoomBackend frail;
  Run run;

  run_open (&run, devices, device);
  real = run.device->backend;
  frail = *real;
  frail.copy = lost_copy;
  frail.stream_sync = lost_sync;
  frail.step_begin = lost_begin;
  run.device->backend = &frail;
  LoomExec *exec = exec_open (&run, 4, TRUE);
  step (exec, 4, 0);
  lost = TRUE;
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL, again = NULL;
      float loss;

      g_assert_false (step_try (exec, 4, 1, &loss, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE);
      g_assert_nonnull (strstr (error->message, "use another device"));
      g_assert_null (loom_state_get (run.state, "fc0.weight", &again));
      g_assert_error (again, LOOM_ERROR, LOOM_ERROR_DEVICE);
    }
  loom_exec_free (exec);
  run_close (&run);
  lost = FALSE;
  loom_devices_get (devices, device, NULL)->backend = real;
}

/* ---- half of a step ---------------------------------------------------------- */

static LoomStatus refusal;

static LoomStatus
refuse (LoomKernel *kernel, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  g_strlcpy (message->text, "a call was refused", sizeof message->text);
  return refusal;
}

/* TRUE if the step whose row fails leaves the state between two steps. */
static gboolean
is_between_after (LoomExec *exec, guint row, LoomStatus status)
{
  LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *) = exec->rows[row].run;
  g_autoptr (GError) error = NULL;
  float loss;

  refusal = status;
  exec->rows[row].run = refuse;
  g_assert_false (step_try (exec, 4, 1, &loss, &error));
  exec->rows[row].run = run;
  return loom_exec_is_between (exec);
}

/* A refused call before the gate has written nothing, on an asynchronous device, too; a device that failed may have.
 * The next step that succeeds says nothing of them. */
static void
test_half (gconstpointer device)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (GError) error = NULL;
  Run run;

  run_open (&run, devices, device);
  LoomExec *exec = exec_open (&run, 4, TRUE);
  const guint first = loom_plan_n_setup (loom_exec_plan (exec)), last = exec->n_rows - 1;

  for (int asynchronous = 0; asynchronous < 2; asynchronous++)
    {
      exec->is_asynchronous = asynchronous || exec->devices[0].arena->stream != NULL;
      g_assert_true (is_between_after (exec, last, LOOM_STATUS_OUT_OF_MEMORY));
      step (exec, 4, 0);
      g_assert_false (loom_exec_is_between (exec));
      g_assert_false (is_between_after (exec, first, LOOM_STATUS_OUT_OF_MEMORY));
      g_assert_false (is_between_after (exec, first, LOOM_STATUS_UNSUPPORTED));
      g_assert_cmpint (is_between_after (exec, first, LOOM_STATUS_DEVICE), ==, exec->is_asynchronous);
      g_assert_true (is_between_after (exec, last, LOOM_STATUS_DEVICE));
      /* An upload between two steps. */
      step (exec, 4, 0);
      g_assert_false (loom_exec_status_error (exec, NULL, LOOM_STATUS_OUT_OF_MEMORY, &error));
      g_assert_false (loom_exec_is_between (exec));
      g_clear_error (&error);
    }
  loom_exec_free (exec);
  run_close (&run);
}

/* ---- two runs at once -------------------------------------------------------- */

typedef struct
{
  LoomDevices *devices;
  const char *device;
  float loss[6];
  GPtrArray *end;
} Worker;

static gpointer
work (gpointer data)
{
  Worker *worker = data;

  worker->end = train_alone (worker->devices, worker->device, worker->loss);
  return NULL;
}

static void
test_threads (gconstpointer device)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  Worker alone = { devices, device };

  work (&alone);
  for (int again = 0; again < 5; again++)
    {
      Worker two[2] = { { devices, device }, { devices, device } };
      GThread *thread[2];

      for (int i = 0; i < 2; i++)
        thread[i] = g_thread_new ("run", work, &two[i]);
      for (int i = 0; i < 2; i++)
        {
          g_thread_join (thread[i]);
          assert_same_slots (two[i].end, alone.end);
          g_assert_cmpmem (two[i].loss, sizeof two[i].loss, alone.loss, sizeof alone.loss);
          g_ptr_array_unref (two[i].end);
        }
    }
  g_ptr_array_unref (alone.end);
}

TEST_FILE (argc, argv)
{
  static const struct
  {
    const char *name;
    GTestDataFunc run;
  } tests[] = {
    { "interleaved", test_interleaved },
    { "no-room", test_no_room },
    { "lost", test_lost },
    { "half", test_half },
    { "threads", test_threads },
  };
  static const char *const hosts[] = { "ref", "cpu", NULL };
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  const char *asked[] = { test_device (NULL), NULL };

  g_test_init (&argc, &argv, NULL);
  if (asked[0] != NULL && !test_device_is_there (devices, asked[0]))
    return 77;
  for (const char *const *device = asked[0] != NULL ? asked : hosts; *device != NULL; device++)
    for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
      {
        g_autofree char *path = g_strdup_printf ("/arena/%s/%s", tests[i].name, *device);

        /* The host's memory is the program's own and cannot be lost. */
        if (tests[i].run != test_lost || asked[0] != NULL)
          g_test_add_data_func (path, *device, tests[i].run);
      }
  return g_test_run ();
}
