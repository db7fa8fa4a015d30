/* A step partitioned among ranks has the numbers of the undivided one: the programs of example graphs, in f64 on ref,
 * for the same batches, with two and three ranks as threads of this process. Every rank ends with the same bits, with
 * every strategy; sharding needs less memory. GRADLOOM_RANKS_GRAPHS names other graphs, in graphs/, separated by
 * spaces. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-partition.h"
#include "engine/program/loom-slot-names.h"
#include "engine/run/loom-exec.h"
#include "engine/train/loom-step.h"
#include "tests/test-program.h"
#include "tests/train/read-outputs.h"

#define STEPS 10

typedef struct
{
  const LoomProgram *whole;
  LoomComm *comm; /* NULL: undivided */
  gint64 samples;
  gboolean sync;
  int steps;
  LoomShards shards;
  gsize bytes[LOOM_N_OWNERS]; /* of the run's devices, at its end */
  GPtrArray *feed;            /* LoomTensor of the whole batch, by input */
  GArray *loss;               /* double, by step */
  GPtrArray *end;             /* LoomTensor, by slot */
  GPtrArray *name;            /* of the slots */
} Side;

/* The forecast is the run's memory, with every strategy. */
static void
check_forecast (const LoomPlan *plan, const Side *side)
{
  LoomPlanMemory memory;
  gsize planned[LOOM_N_OWNERS];
  gint64 more = 0;

  loom_plan_memory (plan, 0, &memory);
  loom_plan_memory_sum (&memory, planned);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    more += (gint64)side->bytes[o] - (gint64)planned[o];
  g_assert_cmpint (ABS (more), <=, 64 * (gint64)(loom_program_n_slots (loom_plan_program (plan)) + 1));
}

static gpointer
run_side (gpointer data)
{
  Side *side = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomState) state = loom_state_new (devices, "ref", 3);
  LoomPlanOptions options = { .device = "ref" };
  LoomMesh mesh = { .all = NULL };
  LoomCommShard own = { 0, side->samples };
  g_autoptr (LoomProgram) p = NULL;
  g_autoptr (LoomExec) exec = NULL;
  LoomPlan *plan;

  if (side->comm != NULL)
    {
      mesh = loom_mesh_open (side->comm, (int[LOOM_MESH_AXES]){ side->comm->size, 1, 1 });
      options.mesh = &mesh;
      loom_state_set_mesh (state, &mesh);
      LoomPartition partition = { .samples = side->samples,
                                  .rank = side->comm->rank,
                                  .ranks = side->comm->size,
                                  .shards = side->shards,
                                  .bucket = 1 << 16,
                                  .sync_batch_norm = side->sync };

      own = loom_comm_shard (side->samples, side->comm->rank, side->comm->size);
      p = loom_program_partition (side->whole, &partition);
    }
  else
    p = loom_program_ref ((LoomProgram *)side->whole);
  plan = loom_plan_new (p, devices, &options, &error);
  g_assert_no_error (error);
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < side->feed->len; i++)
    {
      const LoomTensor *t = side->feed->pdata[i];
      gsize row = (gsize)(t->count / side->samples) * loom_dtype_size (t->dtype);

      loom_exec_feed (exec, i, (const char *)t->data + row * (gsize)own.first);
    }
  for (int s = 0; s < side->steps; s++)
    {
      loom_exec_run (exec, &error);
      g_assert_no_error (error);
      read_outputs (side->loss, exec, p);
    }
  loom_state_memory (state, NULL, side->bytes);
  check_forecast (plan, side);
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_ptr_array_add (side->end, loom_state_get (state, name, &error));
      g_assert_no_error (error);
      g_ptr_array_add (side->name, g_strdup (name));
    }
  return NULL;
}

static void
side_init (Side *side)
{
  side->loss = g_array_new (FALSE, FALSE, sizeof (double));
  side->end = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  side->name = g_ptr_array_new_with_free_func (g_free);
}

static void
side_clear (Side *side)
{
  g_array_unref (side->loss);
  g_ptr_array_unref (side->end);
  g_ptr_array_unref (side->name);
}

static GPtrArray *
feed_for (const LoomProgram *p)
{
  GPtrArray *feed = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomTensorDesc *d = &loom_value_info (p, loom_program_get_input (p, i)->value)->desc;
      LoomTensor *t = loom_tensor_new (d->dtype, d->rank, d->dim, NULL);

      for (gint64 k = 0; k < t->count; k++)
        loom_tensor_set (t, k,
                         loom_dtype_is_float (d->dtype) ? (double)(k * 37 % 101 - 50) / 64 : (double)(k * 5 % 7 % 2));
      g_ptr_array_add (feed, t);
    }
  return feed;
}

static void
compare (const Side *truth, const Side *side, const char *what)
{
  g_assert_cmpuint (truth->loss->len, ==, side->loss->len);
  for (guint i = 0; i < truth->loss->len; i++)
    {
      double a = g_array_index (truth->loss, double, i), b = g_array_index (side->loss, double, i);

      if (!(fabs (a - b) <= 1e-10 * MAX (1, fabs (a))))
        g_error ("%s: output %u is %.17g, and %.17g in one", what, i, b, a);
    }
  g_assert_cmpuint (truth->end->len, ==, side->end->len);
  for (guint i = 0; i < truth->end->len; i++)
    {
      const LoomTensor *a = truth->end->pdata[i], *b = side->end->pdata[i];
      double norm = 0, away = 0;

      for (gint64 k = 0; k < a->count; k++)
        {
          double x = loom_tensor_get (a, k), y = loom_tensor_get (b, k);

          norm += x * x;
          away += (x - y) * (x - y);
        }
      if (!(sqrt (away) <= 1e-10 * (1e-3 + sqrt (norm))))
        g_error ("%s: %s is %g away, its norm %g", what, (const char *)truth->name->pdata[i], sqrt (away), sqrt (norm));
    }
}

static void
compare_bits (const Side *a, const Side *b, const char *what)
{
  for (guint i = 0; i < a->end->len; i++)
    {
      const LoomTensor *x = a->end->pdata[i], *y = b->end->pdata[i];

      if (memcmp (x->data, y->data, (gsize)x->count * loom_dtype_size (x->dtype)) != 0)
        g_error ("%s: ranks differ in %s", what, (const char *)a->name->pdata[i]);
    }
}

static guint
count_prims (const LoomProgram *p, const char *name)
{
  guint n = 0;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    n += g_str_equal (loom_program_instr (p, i)->prim->name, name);
  return n;
}

static gboolean
carries (const LoomProgram *p)
{
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    if (g_str_has_prefix (loom_program_get_slot (p, i)->name, LOOM_SLOT_CARRY))
      return TRUE;
  return FALSE;
}

static void
run_sides (Side *side, int ranks, const Side *like, LoomShards shards)
{
  g_autofree LoomComm **comm = g_new0 (LoomComm *, (gsize)ranks);
  g_autofree GThread **thread = g_new0 (GThread *, (gsize)ranks);
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (ranks, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < ranks; k++)
    {
      side[k] = *like;
      side[k].comm = comm[k];
      side[k].shards = shards;
      side_init (&side[k]);
      thread[k] = g_thread_new ("rank", run_side, &side[k]);
    }
  for (int k = 0; k < ranks; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < ranks; k++)
    comm[k]->free (comm[k]);
}

/* The memory that each strategy saves, for a state larger than a bucket. */
static void
compare_memory (const Side *side, const Side *data, LoomShards shards, int ranks, const char *what)
{
  gsize states = data->bytes[LOOM_OWNER_OPTIMIZER], weights = data->bytes[LOOM_OWNER_PARAMETERS];
  gsize slack = 64 * (data->end->len + 1)
                + (carries (data->whole) ? states : 0); /* each tensor begins at a multiple of 64 bytes */

  g_assert_cmpuint (side->bytes[LOOM_OWNER_OPTIMIZER], <=, states / (gsize)ranks + slack);
  if (shards >= LOOM_SHARDS_PARAMETERS)
    g_assert_cmpuint (side->bytes[LOOM_OWNER_PARAMETERS], <=, weights / (gsize)ranks + slack);
  g_test_message ("%s: parameters %zu, optimizer %zu, gradients %zu, activations %zu, workspace %zu", what,
                  side->bytes[LOOM_OWNER_PARAMETERS], side->bytes[LOOM_OWNER_OPTIMIZER],
                  side->bytes[LOOM_OWNER_GRADIENTS], side->bytes[LOOM_OWNER_ACTIVATIONS],
                  side->bytes[LOOM_OWNER_WORKSPACE]);
}

static void
check_ranks (int ranks, const Side *truth, const char *path)
{
  g_autofree Side *data = g_new0 (Side, (gsize)ranks);
  LoomPartition partition = { .samples = truth->samples, .ranks = ranks, .bucket = 1 << 16, .sync_batch_norm = TRUE };

  for (LoomShards shards = LOOM_SHARDS_NONE; shards <= LOOM_SHARDS_PARAMETERS; shards++)
    {
      g_autofree Side *side = g_new0 (Side, (gsize)ranks);
      g_autofree char *what = g_strdup_printf ("%s, %" G_GINT64_FORMAT " samples, %d ranks, shards %d", path,
                                               truth->samples, ranks, shards);

      partition.shards = shards;
      g_autoptr (LoomProgram) first = loom_program_partition (truth->whole, &partition);
      g_test_message ("%s: %u all_reduce, %u all_gather, %u reduce_scatter, %u unshard", what,
                      count_prims (first, "all_reduce"), count_prims (first, "all_gather"),
                      count_prims (first, "reduce_scatter"), count_prims (first, "unshard"));
      /* Loops, too, run for a rank's own samples. What is carried from batch to batch is whole on every rank. */
      if (!carries (truth->whole))
        g_assert_cmpuint (count_prims (first, "all_gather"), ==, 0);
      run_sides (side, ranks, truth, shards);
      for (int k = 0; k < ranks; k++)
        {
          compare (truth, &side[k], what);
          compare_bits (&side[0], &side[k], what);
          if (shards != LOOM_SHARDS_NONE)
            {
              compare_bits (&data[0], &side[k], what);
              compare_memory (&side[k], &data[k], shards, ranks, what);
            }
        }
      if (shards == LOOM_SHARDS_NONE)
        {
          memcpy (data, side, (gsize)ranks * sizeof *side);
          continue;
        }
      for (int k = 0; k < ranks; k++)
        side_clear (&side[k]);
    }
  for (int k = 0; k < ranks; k++)
    side_clear (&data[k]);
}

static void
test_graph (gconstpointer data)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", data, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (LoomTrainSpec) spec = NULL;
  const gint64 samples = 7;
  Side truth = { .samples = samples, .sync = TRUE, .steps = g_str_has_prefix (data, "models") ? 2 : STEPS };
  g_autoptr (LoomStep) step = NULL;
  g_autoptr (GPtrArray) feed = NULL;

  g_assert_no_error (error);
  net = loom_net_new (graph, NULL, faults);
  spec = loom_train_spec_new (graph, net, faults);
  g_assert_nonnull (spec);
  spec->precision = LOOM_F64;
  step = loom_step_new (spec, samples, TRUE, &error);
  g_assert_no_error (error);
  feed = feed_for (step->program);
  truth.whole = step->program;
  truth.feed = feed;
  side_init (&truth);
  run_side (&truth);
  check_ranks (2, &truth, data);
  /* Larger ones take their time in plain loops; parts that differ in size are the lessons' matter. */
  if (!g_str_has_prefix (data, "models"))
    check_ranks (3, &truth, data);
  side_clear (&truth);
}

TEST_FILE (argc, argv)
{
  const char *wanted = g_getenv ("GRADLOOM_RANKS_GRAPHS");
  g_auto (GStrv) graph
      = g_strsplit (wanted != NULL ? wanted
                                   : "lessons/spirals.xml lessons/optimisers.xml lessons/hinge-classifier.xml "
                                     "lessons/self-attention.xml models/fashion-lenet.xml "
                                     "lessons/recurrent-cell.xml models/adding-lstm.xml",
                    " ", -1);

  /* Exchanges overlap the computation; other tests run without this setting. */
  g_setenv ("GRADLOOM_COMM_LANE", "1", TRUE);
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; graph[i] != NULL; i++)
    {
      g_autofree char *name = g_strconcat ("/ranks/", graph[i], NULL);

      g_test_add_data_func (name, graph[i], test_graph);
    }
  return g_test_run ();
}
