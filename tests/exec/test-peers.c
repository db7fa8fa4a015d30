/* Random graphs whose nodes are on two GPUs: a step that is launched, one that was recorded as one graph of both GPUs,
 * one that is traced, and the graph on one GPU have the same bits, forward, backward and after updates, and no memory
 * that another GPU still reads or writes is used again. Streams run at random (GRADLOOM_EMULATOR_STREAMS), so that only
 * events order copies and computation. A fault on either GPU leaves the state of both unchanged.
 * GRADLOOM_GRAPH_SEEDS="40" sets the number of programs. */
#include <string.h>

#include "engine/core/loom-error.h"
#include "tests/exec/graph-case.h"
#include "tests/exec/place-nodes.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"

#define STEPS         4
#define DEFAULT_SEEDS 12

static const char *const names[] = { "cuda:0", "cuda:1" };
static LoomDevices *devices;
static LoomPlanDevice *gpu[2];

/* ---- actions of a step ------------------------------------------------------------------------- */

static const LoomBackend *real;
static LoomBackend counting;
static guint n_sends, n_replays, n_waits;
static gboolean in_step;

static LoomStatus
counting_send (LoomDevice *device, LoomStream *stream, LoomDevice *to_device, void *to, const void *from, size_t bytes,
               LoomMessage *message)
{
  n_sends++;
  return real->send (device, stream, to_device, to, from, bytes, message);
}

static LoomStatus
counting_launch (LoomDevice *device, void *graph, LoomStream *stream, LoomMessage *message)
{
  n_replays++;
  return real->graph_launch (device, graph, stream, message);
}

static LoomStatus
counting_sync (LoomDevice *device, LoomStream *stream, LoomMessage *message)
{
  n_waits += in_step;
  return real->stream_sync (device, stream, message);
}

/* ---- random graphs ------------------------------------------------------------------------------- */

typedef enum
{
  LAUNCHED,
  RECORDED,
  TRACED
} How;

static const char *const how_name[] = { "launched", "recorded", "traced" };

/* What a GPU computes has times of its own, one instruction after the other; the host has waited once, for the streams
 * of both. */
static void
check_spans (Case *c, LoomPlan *plan, const GArray *spans)
{
  gint64 over[2] = { 0 };

  if (spans->len != loom_plan_n_instrs (plan) - loom_plan_n_setup (plan))
    case_complain (c, "traced: %u spans of %u instructions", spans->len, loom_plan_n_instrs (plan));
  for (guint i = 0; i < spans->len; i++)
    {
      const LoomExecSpan *span = &g_array_index (spans, LoomExecSpan, i);

      if (span->end < span->begin)
        case_complain (c, "traced: instruction %u ends before it begins", i);
      if (span->instr->is_send)
        continue;
      if (span->begin + 2 < over[span->instr->device]) /* seconds are rounded to nanoseconds */
        case_complain (c, "traced: instruction %u begins before the one in front of it has ended", i);
      over[span->instr->device] = span->end;
    }
}

/* Every output of every step, and the state after the last; NULL with a message if it does not run. */
static GPtrArray *
run (Case *c, LoomProgram *p, const LoomPlanOptions *options, How how)
{
  g_autoptr (LoomState) state = loom_state_new (devices, names[0], c->seed);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomExec) exec = NULL;
  g_autoptr (GPtrArray) batch = case_tensors (c, p);
  g_autoptr (GPtrArray) results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (LoomExecSpan));
  LoomPlan *plan = loom_plan_new (p, devices, options, &error);
  const gboolean waits = plan != NULL && loom_plan_syncs_host (plan);
  const guint replays = n_replays, all_streams = 2 * G_N_ELEMENTS (gpu);

  g_setenv ("GRADLOOM_CUDA_GRAPHS", how == LAUNCHED ? "0" : "1", TRUE);
  exec = plan != NULL ? loom_exec_new (plan, state, &error) : NULL;
  n_waits = 0;
  if (exec != NULL && how == TRACED)
    loom_exec_trace (exec, spans);
  for (guint step = 0; exec != NULL && step < STEPS && error == NULL; step++)
    {
      for (guint i = 0; i < batch->len; i++)
        loom_exec_feed (exec, i, ((LoomTensor *)batch->pdata[i])->data);
      in_step = TRUE;
      loom_exec_step (exec, &error);
      in_step = FALSE;
      if (how == TRACED && error == NULL)
        check_spans (c, plan, spans);
      g_array_set_size (spans, 0);
      for (guint o = 0; error == NULL && o < loom_program_n_outputs (p); o++)
        {
          LoomTensor *t = loom_exec_output (exec, o, &error);

          if (t != NULL)
            g_ptr_array_add (results, t);
        }
    }
  if (error != NULL)
    {
      case_complain (c, "%s: %s", how_name[how], error->message);
      return NULL;
    }
  if (!waits && n_waits > (how == TRACED ? STEPS * all_streams : 0))
    case_complain (c, "%s: the host waits %u times within steps", how_name[how], n_waits);
  if (!waits && how == RECORDED && n_replays == replays)
    case_complain (c, "it is not recorded");
  return case_collect_state (state, p, g_steal_pointer (&results));
}

/* but_for_norm: the squares of gradients are summed GPU by GPU, so the norm's last bits differ. */
static void
compare (Case *c, const LoomProgram *p, const char *what, GPtrArray *a, GPtrArray *b, gboolean but_for_norm)
{
  const guint n = loom_program_n_outputs (p);

  for (guint i = 0; a != NULL && b != NULL && i < a->len; i++)
    {
      const char *name = i < n * STEPS ? loom_program_get_output (p, i % n)->name : "state";

      if (but_for_norm && g_str_equal (name, "grad_norm"))
        continue;
      if (i >= b->len || !loom_tensor_equal_bits (a->pdata[i], b->pdata[i]))
        case_complain (c, "%s: %s has other bits in step %u", what, name, i / n);
    }
}

static gboolean
run_seed (guint32 seed, guint *n)
{
  g_autoptr (RandomGraph) source = random_graph_new (seed, 8 + seed % 9);
  g_autofree char *text = random_graph_text (source);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ 4711);
  const LoomPlanOptions fused = { .device = names[0] },
                        alone = { .device = names[0], .no_fusion = TRUE, .no_layout = TRUE };
  Case c = {
    .seed = seed, .source = source, .training = TRUE, .update = TRUE, .devices = devices, .wrong = g_string_new (NULL)
  };
  g_autoptr (LoomProgram) one = NULL;
  g_autoptr (LoomProgram) two = NULL;

  case_read (&c, text);
  if (case_bind_sizes (&c) && c.wrong->len == 0)
    {
      one = case_program (&c, LOOM_F32, FALSE);
      place_nodes (c.graph, loom_graph_root (c.graph), rand, names, 2, 0.75);
      two = case_program (&c, LOOM_F32, FALSE);
    }
  if (one != NULL && two != NULL)
    {
      g_autoptr (GPtrArray) launched = run (&c, two, &fused, LAUNCHED);
      g_autoptr (GPtrArray) recorded = run (&c, two, &fused, RECORDED);
      g_autoptr (GPtrArray) traced = run (&c, two, &fused, TRACED);
      g_autoptr (GPtrArray) on_one = run (&c, one, &alone, LAUNCHED);
      g_autoptr (GPtrArray) on_two = run (&c, two, &alone, RECORDED);

      compare (&c, two, "launched and recorded", launched, recorded, FALSE);
      compare (&c, two, "launched and traced", launched, traced, FALSE);
      compare (&c, two, "on one GPU and on two", on_one, on_two, TRUE);
      *n += launched != NULL;
    }
  return case_end (&c, "peers", seed, TRUE);
}

static void
test_random (void)
{
  const char *asked = g_getenv ("GRADLOOM_GRAPH_SEEDS");
  guint seeds = asked != NULL ? (guint)g_ascii_strtoull (asked, NULL, 10) : DEFAULT_SEEDS, wrong = 0, n = 0;

  n_sends = 0;
  for (guint seed = 0; seed < seeds; seed++)
    wrong += !run_seed (seed, &n);
  g_test_message ("%u programs ran, with %u copies from GPU to GPU", n, n_sends);
  g_assert_cmpuint (wrong, ==, 0);
  g_assert_cmpuint (n, >, seeds / 2);
  g_assert_cmpuint (n_sends, >, n);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  devices = loom_devices_new (1);
  if (!test_device_is_there (devices, names[1]))
    return 77;
  for (guint i = 0; i < G_N_ELEMENTS (gpu); i++)
    gpu[i] = loom_devices_get (devices, names[i], NULL);
  real = gpu[0]->backend;
  counting = *real;
  counting.send = counting_send;
  counting.graph_launch = counting_launch;
  counting.stream_sync = counting_sync;
  gpu[0]->backend = gpu[1]->backend = &counting;
  g_test_add_func ("/run/peers/random", test_random);
  status = g_test_run ();
  gpu[0]->backend = gpu[1]->backend = real;
  loom_devices_unref (devices);
  return status;
}
