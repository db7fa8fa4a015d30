/* Random graphs partitioned among ranks: of samples, with and without ZeRO-3, of weights, and of both, the steps of two
 * and three ranks have the numbers of the undivided program, forward, backward and after an update, in f64 within
 * 1e-10, and all ranks have the same bits. The partitioner gathers whatever it cannot split, so every operator must
 * have the same results in any context. GRADLOOM_GRAPH_SEEDS="500" sets the number of seeds and "12-12" a range, as in
 * test-graphs.c. */
#include "tests/exec/graph-case.h"
#include "tests/test-program.h"

#include "engine/program/loom-partition.h"

#include <string.h>

#define DEFAULT_SEEDS 24
#define SAMPLES       4 /* the first axis of split values; random-graph.c's B */
#define MOST          4

/* How a step is divided: the number of ranks along either axis. */
typedef struct
{
  const char *name;
  int data, tensor;
  LoomShards shards;
} Way;

static const Way ways[] = {
  { "2 ranks", 2, 1, LOOM_SHARDS_NONE },
  { "3 ranks", 3, 1, LOOM_SHARDS_NONE },
  { "2 ranks, ZeRO-3", 2, 1, LOOM_SHARDS_PARAMETERS },
  { "3 ranks, ZeRO-3", 3, 1, LOOM_SHARDS_PARAMETERS },
  { "2 parts of weights", 1, 2, LOOM_SHARDS_NONE },
  { "3 parts of weights", 1, 3, LOOM_SHARDS_NONE },
  { "2 ranks with 2 parts of weights, ZeRO-1", 2, 2, LOOM_SHARDS_OPTIMIZER },
};

/* One rank of a run, on its own thread. */
typedef struct
{
  const Case *c;
  const LoomProgram *whole;
  const Way *way;
  const GArray *splits; /* LoomSplitWeight */
  LoomComm *comm;
  GPtrArray *tensors; /* of the whole batch, by input */
  GPtrArray *results; /* NULL: it failed */
  char *error;
} Rank;

/* Weights of matrices and vectors along an axis that ranks can have equal parts of, drawn by lot. */
static GArray *
splits_of (const LoomProgram *p, int ranks, guint32 seed)
{
  GArray *splits = g_array_new (FALSE, TRUE, sizeof (LoomSplitWeight));
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ 99);

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      int axis = slot->rank > 0 ? g_rand_int_range (rand, 0, slot->rank) : 0;

      if (slot->kind == LOOM_SLOT_PARAMETER && slot->rank > 0 && slot->dim[axis] % ranks == 0
          && g_rand_double (rand) < 0.8)
        {
          LoomSplitWeight split = { .weight = slot->name, .axis = axis, .size = slot->dim[axis], .blocks = 1 };

          g_array_append_val (splits, split);
        }
    }
  return splits;
}

static LoomProgram *
part_of (const Rank *self, const LoomMesh *mesh)
{
  const Way *way = self->way;
  LoomPartition samples = { .along = LOOM_MESH_DATA,
                            .samples = SAMPLES,
                            .rank = mesh->at[LOOM_MESH_DATA],
                            .ranks = way->data,
                            .shards = way->shards,
                            .bucket = 64,
                            .sync_batch_norm = TRUE },
                weights = { .along = LOOM_MESH_TENSOR,
                            .rank = mesh->at[LOOM_MESH_TENSOR],
                            .ranks = way->tensor,
                            .splits = (const LoomSplitWeight *)self->splits->data,
                            .n_splits = self->splits->len,
                            .bucket = 64 };
  g_autoptr (LoomProgram) p = NULL;

  if (way->tensor > 1)
    p = loom_program_partition (self->whole, &weights);
  if (way->data > 1)
    return loom_program_partition (p != NULL ? p : self->whole, &samples);
  return g_steal_pointer (&p);
}

static void
feed (const Rank *self, const LoomProgram *p, LoomExec *exec, const LoomMesh *mesh)
{
  LoomCommShard own = loom_comm_shard (SAMPLES, mesh->at[LOOM_MESH_DATA], self->way->data);

  for (guint i = 0; i < self->tensors->len; i++)
    {
      const LoomTensor *t = self->tensors->pdata[i];
      const LoomTensorDesc *d = &loom_value_info (p, loom_program_get_input (p, i)->value)->desc;
      gboolean is_part = self->way->data > 1 && d->rank > 0 && t->dim[0] == SAMPLES;
      gsize row = is_part ? (gsize)(t->count / SAMPLES) * loom_dtype_size (t->dtype) : 0;

      g_assert_true (!is_part || d->dim[0] == own.count);
      loom_exec_feed (exec, i, (const char *)t->data + row * (gsize)own.first);
    }
}

static gpointer
run_rank (gpointer data)
{
  Rank *self = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomState) state = loom_state_new (devices, "ref", self->c->seed);
  LoomMesh mesh = loom_mesh_open (self->comm, (int[LOOM_MESH_AXES]){ self->way->data, 1, self->way->tensor });
  LoomPlanOptions options = { .device = "ref", .mesh = &mesh };
  LoomMessage message;
  g_autoptr (LoomProgram) p = part_of (self, &mesh);
  g_autoptr (LoomExec) exec = NULL;
  LoomPlan *plan;

  g_assert_cmpint (loom_mesh_join (&mesh, &message), ==, LOOM_STATUS_OK);
  loom_state_set_mesh (state, &mesh);
  plan = loom_plan_new (p, devices, &options, &error);
  exec = plan != NULL ? loom_exec_new (plan, state, &error) : NULL;
  if (exec != NULL)
    feed (self, p, exec, &mesh);
  self->results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (int step = 0; step < 2 && error == NULL; step++)
    loom_exec_run (exec, &error);
  for (guint o = 0; error == NULL && o < loom_program_n_outputs (p); o++)
    g_ptr_array_add (self->results, loom_exec_output (exec, o, &error));
  if (error == NULL)
    case_collect_state (state, p, self->results);
  else
    {
      g_clear_pointer (&self->results, g_ptr_array_unref);
      self->error = g_strdup (error->message);
      self->comm->abort (self->comm, error->message);
    }
  g_clear_pointer (&exec, loom_exec_free);
  loom_mesh_close (&mesh);
  return NULL;
}

static void
run_way (Case *c, const LoomProgram *whole, const Way *way, GPtrArray *truth, GPtrArray *like)
{
  Rank rank[MOST] = { 0 };
  LoomComm *comm[MOST];
  GThread *thread[MOST];
  LoomMessage message;
  g_autoptr (GArray) splits = splits_of (whole, way->tensor, c->seed);
  g_autoptr (GPtrArray) tensors = case_tensors (c, whole);
  int n = way->data * way->tensor;

  if (way->tensor > 1 && splits->len == 0)
    return;
  g_assert_cmpint (loom_comm_threads_new (n, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < n; k++)
    {
      rank[k] = (Rank){ .c = c, .whole = whole, .way = way, .splits = splits, .comm = comm[k], .tensors = tensors };
      comm[k]->timeout = 60; /* for a rank that omits an exchange */
      thread[k] = g_thread_new ("rank", run_rank, &rank[k]);
    }
  for (int k = 0; k < n; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < n; k++)
    {
      if (rank[k].error != NULL)
        case_complain (c, "%s, rank %d: %s", way->name, k, rank[k].error);
      else if (k == 0)
        case_compare (c, whole, way->name, truth, like, rank[0].results, 1e-6, 1e-10);
      else
        case_compare_bits (c, whole, way->name, rank[0].results, rank[k].results);
    }
  for (int k = 0; k < n; k++)
    {
      g_clear_pointer (&rank[k].results, g_ptr_array_unref);
      g_free (rank[k].error);
      comm[k]->free (comm[k]);
    }
}

static void
run_case (Case *c)
{
  g_autofree char *text = random_graph_text (c->source);
  g_autoptr (LoomProgram) whole = NULL;
  g_autoptr (LoomProgram) fast = NULL;
  g_autoptr (GPtrArray) truth = NULL;
  g_autoptr (GPtrArray) like = NULL;

  case_read (c, text);
  if (!case_bind_sizes (c) || c->wrong->len > 0)
    return;
  whole = case_program (c, LOOM_F64, FALSE);
  fast = case_program (c, LOOM_F32, FALSE);
  if (whole == NULL || fast == NULL)
    return;
  truth = case_run_eager (c, whole, "ref");
  like = case_run_eager (c, fast, "ref");
  /* A loss that is no number on one rank either: there is nothing to compare. */
  if (truth == NULL || like == NULL)
    {
      if (strstr (c->wrong->str, "is not finite") != NULL)
        g_string_truncate (c->wrong, 0);
      return;
    }
  for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
    run_way (c, whole, &ways[w], truth, like);
}

static gboolean
run_seed (guint32 seed, LoomDevices *devices)
{
  g_autoptr (RandomGraph) source = random_graph_new (seed, 8 + (seed * 5) % 25);
  Case c = { .seed = seed,
             .source = source,
             .training = seed % 4 != 0,
             .update = seed % 4 != 0,
             .devices = devices,
             .wrong = g_string_new (NULL) };

  run_case (&c);
  return case_end (&c, "ranks", seed, FALSE);
}

static void
test_random_ranks (void)
{
  const char *asked = g_getenv ("GRADLOOM_GRAPH_SEEDS");
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  static const guint32 found[] = { 53, 58, 203 };
  guint first = 0, last = DEFAULT_SEEDS - 1, wrong = 0;

  if (asked != NULL && strchr (asked, '-') != NULL)
    {
      first = (guint)g_ascii_strtoull (asked, NULL, 10);
      last = (guint)g_ascii_strtoull (strchr (asked, '-') + 1, NULL, 10);
    }
  else if (asked != NULL)
    last = (guint)g_ascii_strtoull (asked, NULL, 10) - 1;
  for (guint seed = first; seed <= last; seed++)
    wrong += !run_seed (seed, devices);
  /* An exchange without a reader on all ranks but the first, in two ways, and a parameter that is an output, too. */
  for (guint i = 0; asked == NULL && i < G_N_ELEMENTS (found); i++)
    wrong += !run_seed (found[i], devices);
  g_test_message ("%u graphs, %u wrong", last - first + 1, wrong);
  g_assert_cmpuint (wrong, ==, 0);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run/ranks/random", test_random_ranks);
  return g_test_run ();
}
