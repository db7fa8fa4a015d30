/* Runs of several ranks, as threads of this process: 20 steps in f64 end with the weights, averages and losses of one
 * rank that has the whole batch, within 1e-10, whatever the ranks divide; and all strategies have the same bits, but
 * for gradients of several batches, which are summed over ranks first or last. What is compared clips by the norm,
 * gathers several batches, keeps averages and ends an epoch with a short batch.
 *
 * With GRADLOOM_TEST_DEVICE=cuda each rank has a GPU of its own, and they exchange by NCCL, in f32. */
#include "tests/scratch.h"
#include "tests/train/train-test.h"

#define STEPS 20

typedef struct
{
  LoomTrainer *trainer;
  GPtrArray *value; /* LoomTensor by slot, whole */
  GPtrArray *name;
  GArray *loss;
} Rank;

static void
note_loss (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  g_array_append_val (((Rank *)data)->loss, step->loss);
}

static gpointer
run_rank (gpointer data)
{
  static const LoomTrainerObserver observer = { .step = note_loss };
  Rank *rank = data;
  g_autoptr (GError) error = NULL;
  LoomState *state = loom_trainer_state (rank->trainer);

  loom_trainer_set_observer (rank->trainer, &observer, rank);
  loom_trainer_run (rank->trainer, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      LoomSlotKind kind;
      const char *name;

      loom_state_slot (state, i, &name, &kind, NULL);
      /* Sums of gradients are nothing between two steps. */
      if (kind == LOOM_SLOT_SCALAR || g_str_has_prefix (name, "optimizer.accumulate."))
        continue;
      g_ptr_array_add (rank->value, loom_state_get (state, name, &error));
      g_assert_no_error (error);
      g_ptr_array_add (rank->name, g_strdup (name));
    }
  return NULL;
}

static void
rank_init (Rank *rank)
{
  rank->value = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  rank->name = g_ptr_array_new_with_free_func (g_free);
  rank->loss = g_array_new (FALSE, FALSE, sizeof (double));
}

static void
rank_clear (Rank *rank)
{
  loom_trainer_free (rank->trainer);
  g_ptr_array_unref (rank->value);
  g_ptr_array_unref (rank->name);
  g_array_unref (rank->loss);
}

static gboolean
on_card (void)
{
  return g_strcmp0 (g_getenv ("GRADLOOM_TEST_DEVICE"), "cuda") == 0;
}

static void
run_alone (Rank *rank, const char *xml)
{
  rank_init (rank);
  rank->trainer = train_test_new (
      xml, (LoomTrainerOptions){ .device = on_card () ? "cuda:0" : "ref", .batch_size = 48, .steps = STEPS });
  run_rank (rank);
}

/* Each trainer is made by its own thread, as each rank's by its own process. */
typedef struct
{
  Rank *rank;
  const char *xml, *strategy;
  LoomComm *comm;
} Start;

static gpointer
start_rank (gpointer data)
{
  Start *start = data;
  g_autofree char *device = on_card () ? g_strdup_printf ("cuda:%d", start->comm->rank) : g_strdup ("ref");

  start->rank->trainer = train_test_new (start->xml, (LoomTrainerOptions){ .device = device,
                                                                           .batch_size = 48 / start->comm->size,
                                                                           .steps = STEPS,
                                                                           .strategy = start->strategy,
                                                                           .comm = start->comm });
  return run_rank (start->rank);
}

static void
run_together (Rank *rank, int ranks, const char *xml, const char *strategy)
{
  g_autofree LoomComm **comm = g_new0 (LoomComm *, (gsize)ranks);
  g_autofree GThread **thread = g_new0 (GThread *, (gsize)ranks);
  g_autofree Start *start = g_new0 (Start, (gsize)ranks);
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (ranks, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < ranks; k++)
    {
      rank_init (&rank[k]);
      start[k] = (Start){ &rank[k], xml, strategy, comm[k] };
      thread[k] = g_thread_new ("rank", start_rank, &start[k]);
    }
  for (int k = 0; k < ranks; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < ranks; k++)
    comm[k]->free (comm[k]);
}

static void
compare (const Rank *a, const Rank *b, double tolerance, const char *what)
{
  g_assert_cmpuint (a->loss->len, ==, STEPS);
  g_assert_cmpuint (b->loss->len, ==, STEPS);
  for (guint i = 0; i < STEPS; i++)
    if (!(fabs (g_array_index (a->loss, double, i) - g_array_index (b->loss, double, i)) <= tolerance))
      g_error ("%s: loss %u is %.17g and %.17g", what, i, g_array_index (a->loss, double, i),
               g_array_index (b->loss, double, i));
  g_assert_cmpuint (a->value->len, ==, b->value->len);
  for (guint i = 0; i < a->value->len; i++)
    {
      const LoomTensor *x = a->value->pdata[i], *y = b->value->pdata[i];

      g_assert_cmpstr (a->name->pdata[i], ==, b->name->pdata[i]);
      g_assert_cmpint (x->count, ==, y->count);
      for (gint64 k = 0; k < x->count; k++)
        if (!(fabs (loom_tensor_get (x, k) - loom_tensor_get (y, k)) <= tolerance))
          g_error ("%s: %s [%d] is %.17g and %.17g", what, (const char *)a->name->pdata[i], (int)k,
                   loom_tensor_get (x, k), loom_tensor_get (y, k));
    }
}

static double
farthest (const LoomTensor *x, const LoomTensor *y)
{
  double most = 0;

  for (gint64 k = 0; k < x->count; k++)
    most = MAX (most, fabs (loom_tensor_get (x, k) - loom_tensor_get (y, k)));
  return most;
}

static const struct
{
  const char *name, *train, *inside;
  guint same;       /* so many strategies have the same bits */
  double tolerance; /* beside one rank */
} cases[] = {
  { "adam", "optimizer=\"adam\" lr=\"0.01\" ema=\"0.9\" precision=\"f64\"",
    "<clip norm=\"0.05\" value=\"0.03\"/><parallel bucket_mb=\"0.0001\"/>", 4, 1e-10 },
  { "accumulate", "optimizer=\"nadam\" lr=\"0.01\" accumulate=\"3\" ema=\"0.9\" precision=\"f64\"",
    "<clip norm=\"0.05\"/><parallel bucket_mb=\"0.0001\"/>", 2, 1e-10 },
  { "sgd", "optimizer=\"sgd\" lr=\"0.1\" precision=\"f64\"",
    "<group match=\"hidden.*\" lr=\"0.05\"/><parallel bucket_mb=\"0\"/>", 4, 1e-10 },
  /* bf16 has 8 bits of a gradient, of which 20 steps take a tenth each. */
  { "bf16", "optimizer=\"sgd\" lr=\"0.1\"", "<parallel reduce_dtype=\"bf16\"/>", 4, 2e-3 },
};

static void
test_case (gconstpointer data)
{
  static const char *const strategy[] = { "data", "zero1", "zero2", "zero3" };
  guint c = GPOINTER_TO_UINT (data);
  /* GPUs have no f64. */
  g_auto (GStrv) train = g_strsplit (cases[c].train, on_card () ? " precision=\"f64\"" : "\n", -1);
  const double tolerance = on_card () ? MAX (cases[c].tolerance, 1e-5) : cases[c].tolerance;
  const int most = on_card () ? 2 : 3;
  g_autofree char *xml = g_strdup_printf (
      TRAIN_TEST_SPIRALS ("n=\"300\"", "5") "<train loss=\"loss\" %s epochs=\"50\" seed=\"3\">%s</train></graph>",
      train[0], cases[c].inside);
  Rank alone = { 0 };

  run_alone (&alone, xml);
  for (int ranks = 2; ranks <= most; ranks++)
    {
      Rank first[3] = { 0 };

      for (guint s = 0; s < G_N_ELEMENTS (strategy); s++)
        {
          g_autofree char *what = g_strdup_printf ("%s, %d ranks, %s", cases[c].name, ranks, strategy[s]);
          Rank rank[3] = { 0 };

          run_together (s == 0 ? first : rank, ranks, xml, strategy[s]);
          for (int k = 0; k < ranks; k++)
            if (s == 0)
              {
                compare (&alone, &first[k], tolerance, what);
                /* Nothing but gradients is rounded on its way: before the first update the losses are the same. */
                g_assert_cmpfloat (
                    fabs (g_array_index (alone.loss, double, 0) - g_array_index (first[k].loss, double, 0)), <, 1e-6);
                /* Gradients that were rounded leave a trace. */
                if (cases[c].tolerance > 1e-4)
                  g_assert_cmpfloat (farthest (alone.value->pdata[0], first[k].value->pdata[0]), >, 1e-6);
              }
            else
              compare (&first[0], &rank[k], s < cases[c].same ? 0 : MAX (tolerance / 100, 1e-12), what);
          for (int k = 0; k < ranks && s > 0; k++)
            rank_clear (&rank[k]);
        }
      for (int k = 0; k < ranks; k++)
        rank_clear (&first[k]);
    }
  rank_clear (&alone);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      g_autofree char *name = g_strconcat ("/strategies/", cases[c].name, NULL);

      g_test_add_data_func (name, GUINT_TO_POINTER (c), test_case);
    }
  return g_test_run ();
}
