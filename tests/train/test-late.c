/* Steps that are read one step late: on an asynchronous device the next step is queued when one is reported, with the
 * bits of a run that reads each at once; a fault belongs to its own step, whose batch and weights are still available.
 * Steps of several batches are queued batch by batch, and if a batch commits values that a later one may have to undo
 * (a batch norm's statistics), from the step's first batch to its update. With two GPUs a step has both, and each may
 * find the fault. The device under test counts the steps that begin, and may report a fault only after the next step
 * has begun or it was synchronised. On a synchronous device, every step is read before the next. */
#include "engine/train/trainer-private.h"
#include "engine/train/loom-trace.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <glib/gstdio.h>

#define SAMPLES 46 /* eleven batches of 4 and one of 2 */
#define BATCHES 12
#define EPOCHS  2
#define STEPS   (BATCHES * EPOCHS)

#define NET                                                                                                            \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"csv\" path=\"%s\" target=\"y\" val_fraction=\"0\" test_fraction=\"0\"/>"  \
  "<node id=\"hidden\" op=\"linear\" out_features=\"6\"%s/><node id=\"power\" op=\"exp\"/>"                            \
  "%s"                                                                                                                 \
  "<node id=\"scores\" op=\"linear\" out_features=\"3\"/><node id=\"loss\" op=\"cross_entropy\"/>"                     \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"power\"/>"                                          \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"4\" epochs=\"2\" accumulate=\"%d\" device=\"%s\" " \
  "%s>"                                                                                                                \
  "<schedule type=\"cosine\"/><metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>"

#define NORM                                                                                                           \
  "<node id=\"norm\" op=\"batch_norm1d\"/><wire from=\"power\" to=\"norm\"/><wire from=\"norm\" to=\"scores\"/>"
#define NO_NORM "<wire from=\"power\" to=\"scores\"/>"

static const char *device;
static const char *other; /* the first layer's device, named on the command line; NULL: the same */

/* What is trained. */
typedef struct
{
  const char *name;
  int parts; /* batches of a step */
  gboolean has_norm;
  double scale; /* of the loss in f16 at the beginning, which overflows; 0: f32 */
} Kind;

static const Kind kinds[] = { { "alone", 1, TRUE, 0 }, { "parts", 3, FALSE, 0 }, { "parts-norm", 3, TRUE, 0 } };
static const Kind scaled = { "scaled", 1, TRUE, 0x1p30 }; /* if there are kernels for f16 */

/* ---- the device ----------------------------------------------------------- */

static const LoomBackend *prompt;
static LoomBackend slow;
static gint64 n_begun, begun, waited;
static gboolean hides;

static LoomStatus
step_begin (LoomDevice *of, LoomStream *stream, int64_t step, LoomMessage *message)
{
  n_begun += step != begun; /* each device is notified */
  begun = step;
  return prompt->step_begin (of, stream, step, message);
}

static LoomStatus
stream_sync (LoomDevice *of, LoomStream *stream, LoomMessage *message)
{
  waited = begun;
  return prompt->stream_sync (of, stream, message);
}

static void
fault_get (LoomDevice *of, LoomStream *stream, LoomDeviceFault *fault, LoomMessage *message)
{
  prompt->fault_get (of, stream, fault, message);
  if (hides && fault->step > waited && fault->step == begun)
    fault->status = LOOM_STATUS_OK;
}

static void
slow_down (LoomTrainer *trainer)
{
  LoomPlanDevice *of = loom_devices_get (trainer->model.devices, trainer->model.device, NULL);
  LoomPlanDevice *two
      = other != NULL && of->backend->step_begin != NULL ? loom_devices_get (trainer->model.devices, other, NULL) : of;

  n_begun = begun = waited = 0;
  if (of->backend->step_begin == NULL)
    return;
  prompt = of->backend == &slow ? prompt : of->backend;
  slow = *prompt;
  slow.step_begin = step_begin;
  slow.stream_sync = stream_sync;
  slow.fault_get = fault_get;
  of->backend = two->backend = &slow;
}

/* ---- runs ------------------------------------------------------------------- */

typedef struct
{
  LoomTrainer *trainer;
  double loss[STEPS], lr[STEPS], accuracy[STEPS];
  gint64 begun[STEPS]; /* the time at which the step was reported */
  gint64 reported, stop_at;
  GError *error;
} Run;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  Run *run = data;

  /* A failing step is reported, too, as the end of the curve. */
  g_assert_cmpint (s->step, ==, run->reported + 1);
  g_assert_cmpint (s->step - loom_trainer_steps (trainer), ==, isfinite (s->loss) ? 0 : 1);
  run->loss[run->reported] = s->loss;
  run->lr[run->reported] = s->lr;
  run->accuracy[run->reported] = s->metric[0];
  run->begun[run->reported++] = n_begun;
  if (s->step == run->stop_at)
    loom_trainer_post (trainer, LOOM_COMMAND_INTERRUPT, NULL, 0);
}

static LoomTrainerEnd
run_on (Run *run, const Kind *kind, const char *path, const char *name, gboolean late,
        const LoomTrainerOptions *options)
{
  static const LoomTrainerObserver observer = { .step = step_cb };
  g_autofree char *where
      = other != NULL && g_str_equal (name, device) ? g_strdup_printf (" device=\"%s\"", other) : g_strdup ("");
  g_autofree char *xml = g_strdup_printf (NET, path, where, kind->has_norm ? NORM : NO_NORM, kind->parts, name,
                                          kind->scale > 0 ? "precision=\"f16\"" : "");

  run->trainer = train_test_new (options->resume != NULL ? NULL : xml, *options);
  if (kind->scale > 0)
    loom_state_set_scalar (loom_trainer_state (run->trainer), "loss_scale", kind->scale);
  slow_down (run->trainer);
  if (*where != '\0' && options->resume == NULL)
    g_assert_cmpuint (loom_plan_n_devices (loom_exec_plan (step_plans_get (&run->trainer->plans, 4, TRUE, NULL)->exec)),
                      ==, 2);
  run->trainer->loop.depth = run->trainer->loop.depth > 0 && late;
  loom_trainer_set_observer (run->trainer, &observer, run);
  LoomTrainerEnd end = loom_trainer_run (run->trainer, &run->error);
  if (run->error != NULL)
    g_test_message ("%s", run->error->message);
  return end;
}

static void
end_run (Run *run)
{
  g_clear_pointer (&run->trainer, loom_trainer_free);
  g_clear_error (&run->error);
}

static char *
write_data (const char *folder, int wrong, double value, int label)
{
  g_autoptr (GString) text = g_string_new ("a,b,y\n");
  char *path = g_build_filename (folder, "t.csv", NULL);

  for (int i = 0; i < SAMPLES; i++)
    g_string_append_printf (text, "%g,%g,%d\n", i == wrong ? value : sin (i), cos (3 * i), i == wrong ? label : i % 3);
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  return path;
}

static void
assert_same_state (LoomTrainer *a, LoomTrainer *b)
{
  LoomState *x = loom_trainer_state (a), *y = loom_trainer_state (b);

  for (guint i = 0; i < loom_state_n_slots (x); i++)
    {
      const char *name;

      loom_state_slot (x, i, &name, NULL, NULL);
      g_autoptr (LoomTensor) v = loom_state_get (x, name, NULL);
      g_autoptr (LoomTensor) w = loom_state_get (y, name, NULL);
      if (!loom_tensor_equal_bits (v, w))
        g_error ("%s differs", name);
    }
}

/* ---- tests ---------------------------------------------------------------- */

/* The number of executor runs that have begun when a step is reported: the next step's first has, except after the last
 * of an epoch; and if a step is one batch, the incomplete last one has another plan, so that the step before it is read
 * first. A step that saves values committed by batches begins after the step before it was read. */
static gint64
expected_begun (const Kind *kind, gint64 step)
{
  const gint64 in_epoch = (step - 1) % (BATCHES / kind->parts) + 1, last = BATCHES / kind->parts;

  if (kind->parts == 1)
    return in_epoch < last - 1 ? step + 1 : step;
  return (kind->parts + 1) * step + (in_epoch < last && !kind->has_norm ? 1 : 0);
}

/* The first steps have overflowed and left all but the scale as it was, the others have not. */
static void
assert_scaled (LoomTrainer *trainer, const Kind *kind)
{
  g_autoptr (LoomTensor) scale = loom_state_get (loom_trainer_state (trainer), "loss_scale", NULL);
  const double left = loom_tensor_get (scale, 0);

  g_assert_cmpfloat (left, <=, kind->scale / 4);
  g_assert_cmpfloat (left, >, ldexp (kind->scale, -STEPS));
}

static void
test_queued (gconstpointer data)
{
  const Kind *kind = data;
  g_autofree char *folder = g_dir_make_tmp ("gradloom-late-XXXXXX", NULL);
  g_autofree char *path = write_data (folder, -1, 0, 0);
  Run late = { 0 }, at_once = { 0 }, on_cpu = { 0 };
  const LoomTrainerOptions options = { 0 };
  const int runs = kind->parts > 1 ? kind->parts + 1 : 1;
  gboolean is_late;

  g_assert_cmpint (run_on (&late, kind, path, device, TRUE, &options), ==, LOOM_TRAINER_DONE);
  is_late = late.trainer->loop.depth > 0;
  g_assert_cmpint (is_late, ==, n_begun > 0);
  g_assert_cmpint (run_on (&at_once, kind, path, device, FALSE, &options), ==, LOOM_TRAINER_DONE);
  if (kind->scale == 0)
    g_assert_cmpint (run_on (&on_cpu, kind, path, "cpu", TRUE, &options), ==, LOOM_TRAINER_DONE);
  g_assert_cmpint (late.reported, ==, STEPS / kind->parts);
  for (int i = 0; i < late.reported; i++)
    {
      if (is_late)
        {
          g_assert_cmpint (late.begun[i], ==, expected_begun (kind, i + 1));
          g_assert_cmpint (at_once.begun[i], ==, runs * (i + 1));
        }
      g_assert_cmpfloat (late.loss[i], ==, at_once.loss[i]);
      g_assert_cmpfloat (late.lr[i], ==, at_once.lr[i]);
      g_assert_cmpfloat (late.accuracy[i], ==, at_once.accuracy[i]);
      if (kind->scale > 0)
        continue;
      g_assert_cmpfloat_with_epsilon (late.loss[i], on_cpu.loss[i], 1e-4);
      g_assert_cmpfloat (late.lr[i], ==, on_cpu.lr[i]);
    }
  if (kind->scale > 0)
    assert_scaled (late.trainer, kind);
  g_assert_cmpfloat (late.lr[1], <, late.lr[0]);
  assert_same_state (late.trainer, at_once.trainer);
  end_run (&late);
  end_run (&at_once);
  end_run (&on_cpu);
  g_unlink (path);
  g_rmdir (folder);
}

/* One sample makes its step overflow, or picks a class that is not there. */
static void
test_fault (gconstpointer data)
{
  const Kind *kind = &kinds[GPOINTER_TO_UINT (data) / 2];
  const gboolean overflows = GPOINTER_TO_UINT (data) % 2 != 0;
  g_autofree char *folder = g_dir_make_tmp ("gradloom-late-XXXXXX", NULL);
  gint64 last = -1;

  for (int wrong = 0; wrong < SAMPLES; wrong += 15)
    {
      g_autofree char *path = write_data (folder, wrong, overflows ? 3e38 : 0.5, overflows ? 0 : 3);
      Run late = { 0 }, at_once = { 0 }, stopped = { 0 };
      gint64 done;

      /* Every other time it is heard as soon as it is there: of the step itself, or of the one before. */
      hides = wrong % 2 == 0;
      g_assert_cmpint (run_on (&late, kind, path, device, TRUE, &(LoomTrainerOptions){ 0 }), ==, LOOM_TRAINER_FAILED);
      g_assert_true (g_error_matches (late.error, LOOM_ERROR, overflows ? LOOM_ERROR_NAN : LOOM_ERROR_DATA));
      g_assert_cmpint (run_on (&at_once, kind, path, device, FALSE, &(LoomTrainerOptions){ 0 }), ==,
                       LOOM_TRAINER_FAILED);
      /* Step, node, and other parts of the error. */
      g_assert_cmpstr (late.error->message, ==, at_once.error->message);
      done = loom_trainer_steps (late.trainer);
      g_assert_cmpint (done, ==, loom_trainer_steps (at_once.trainer));
      g_assert_cmpint (late.reported, ==, at_once.reported);
      for (gint64 i = 0; i < done; i++)
        g_assert_cmpfloat (late.loss[i], ==, at_once.loss[i]);
      if (done > 0)
        {
          LoomTrainerOptions until = { .steps = done };

          g_assert_cmpint (run_on (&stopped, kind, path, device, FALSE, &until), ==, LOOM_TRAINER_STOPPED);
          assert_same_state (late.trainer, at_once.trainer);
          for (guint i = 0; i < loom_net_n_weights (loom_trainer_net (late.trainer)); i++)
            {
              const char *name = loom_net_weight (loom_trainer_net (late.trainer), i)->name;
              g_autoptr (LoomTensor) v = loom_state_get (loom_trainer_state (late.trainer), name, NULL);
              g_autoptr (LoomTensor) w = loom_state_get (loom_trainer_state (stopped.trainer), name, NULL);

              g_assert_true (loom_tensor_equal_bits (v, w));
            }
        }
      last = MAX (last, done);
      end_run (&late);
      end_run (&at_once);
      end_run (&stopped);
      g_unlink (path);
    }
  g_assert_cmpint (last, >, kind->parts > 1 ? 0 : 1); /* some fault came after other queued steps */
  g_rmdir (folder);
}

/* If it is interrupted while a step is in progress, the run keeps that step, and resumes after it with the same bits.
 */
static void
test_interrupt (gconstpointer data)
{
  const Kind *kind = data;
  g_autofree char *folder = g_dir_make_tmp ("gradloom-late-XXXXXX", NULL);
  g_autofree char *path = write_data (folder, -1, 0, 0);
  g_autofree char *out = g_build_filename (folder, "run", NULL);
  Run whole = { 0 }, first = { .stop_at = 5 }, rest = { 0 };
  gint64 done;

  g_assert_cmpint (run_on (&whole, kind, path, device, TRUE, &(LoomTrainerOptions){ 0 }), ==, LOOM_TRAINER_DONE);
  g_assert_cmpint (run_on (&first, kind, path, device, TRUE, &(LoomTrainerOptions){ .out = out }), ==,
                   LOOM_TRAINER_INTERRUPTED);
  done = loom_trainer_steps (first.trainer);
  g_assert_cmpint (done, ==, first.trainer->loop.depth > 0 ? 6 : 5);
  g_assert_cmpint (first.reported, ==, done);
  end_run (&first);
  rest.reported = done;
  g_assert_cmpint (run_on (&rest, kind, path, device, TRUE, &(LoomTrainerOptions){ .resume = out }), ==,
                   LOOM_TRAINER_DONE);
  for (gint64 i = done; i < STEPS / kind->parts; i++)
    g_assert_cmpfloat (rest.loss[i], ==, whole.loss[i]);
  assert_same_state (whole.trainer, rest.trainer);
  end_run (&whole);
  end_run (&rest);
  const char *argv[] = { "rm", "-r", folder, NULL };
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* A step that is traced, among others that are read late: each lane does one thing at a time, copies of a GPU to the
 * other among them, and the numbers are the same. */
static void
test_trace (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-late-XXXXXX", NULL);
  g_autofree char *path = write_data (folder, -1, 0, 0), *lanes = g_build_filename (folder, "lanes.json", NULL);
  g_autoptr (GHashTable) over = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GArray) spans = NULL;
  Run plain = { 0 }, traced = { 0 };

  g_assert_cmpint (run_on (&plain, &kinds[0], path, device, TRUE, &(LoomTrainerOptions){ 0 }), ==, LOOM_TRAINER_DONE);
  g_assert_cmpint (run_on (&traced, &kinds[0], path, device, TRUE, &(LoomTrainerOptions){ .trace = lanes }), ==,
                   LOOM_TRAINER_DONE);
  for (int i = 0; i < STEPS; i++)
    g_assert_cmpfloat (traced.loss[i], ==, plain.loss[i]);
  assert_same_state (traced.trainer, plain.trainer);
  spans = loom_trace_read (lanes, NULL, NULL);
  g_assert_nonnull (spans);
  loom_trace_sort (spans);
  for (guint i = 0; i < spans->len; i++)
    {
      LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);
      const LoomTraceSpan *before = g_hash_table_lookup (over, span->lane);

      /* The file has microseconds, with three digits. */
      g_assert_true (before == NULL || span->begin + 2 >= before->end);
      g_hash_table_insert (over, span->lane, span);
    }
  g_assert_cmpint (g_hash_table_contains (over, "from cuda:1"), ==, other != NULL);
  end_run (&plain);
  end_run (&traced);
  g_unlink (lanes);
  g_unlink (path);
  g_rmdir (folder);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  device = test_device ("cpu");
  if (argc > 1)
    {
      g_autoptr (LoomDevices) devices = loom_devices_new (1);

      other = argv[1];
      if (!test_device_is_there (devices, other))
        return 77;
    }
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      g_autofree char *queued = g_strconcat ("/late/queued/", kinds[k].name, NULL);
      g_autofree char *overflow = g_strconcat ("/late/overflow/", kinds[k].name, NULL);
      g_autofree char *class = g_strconcat ("/late/class/", kinds[k].name, NULL);
      g_autofree char *interrupt = g_strconcat ("/late/interrupt/", kinds[k].name, NULL);

      g_test_add_data_func (queued, &kinds[k], test_queued);
      g_test_add_data_func (overflow, GUINT_TO_POINTER (2 * k + 1), test_fault);
      g_test_add_data_func (class, GUINT_TO_POINTER (2 * k), test_fault);
      g_test_add_data_func (interrupt, &kinds[k], test_interrupt);
    }
  g_test_add_func ("/late/trace", test_trace);
  if (g_str_has_prefix (device, "cuda"))
    g_test_add_data_func ("/late/queued/scaled", &scaled, test_queued);
  return g_test_run ();
}
