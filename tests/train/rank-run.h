/* Shared by tests of runs of several ranks, as threads of this process: the run of one rank with the whole batch, that
 * of several, and what they have in the end side by side. */
#pragma once

#include "tests/train/train-test.h"

#define RANK_RUN_STEPS 20
#define RANK_RUN_BATCH 48 /* of all ranks together */

typedef struct
{
  LoomTrainer *trainer;
  GPtrArray *value; /* LoomTensor by slot, whole */
  GPtrArray *name;
  GArray *loss;
} Rank;

static inline void
note_loss (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  g_array_append_val (((Rank *)data)->loss, step->loss);
}

static inline gpointer
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

static inline void
rank_init (Rank *rank)
{
  rank->value = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  rank->name = g_ptr_array_new_with_free_func (g_free);
  rank->loss = g_array_new (FALSE, FALSE, sizeof (double));
}

static inline void
rank_clear (Rank *rank)
{
  loom_trainer_free (rank->trainer);
  g_ptr_array_unref (rank->value);
  g_ptr_array_unref (rank->name);
  g_array_unref (rank->loss);
}

static inline gboolean
on_card (void)
{
  return g_strcmp0 (g_getenv ("GRADLOOM_TEST_DEVICE"), "cuda") == 0;
}

static inline void
run_alone (Rank *rank, const char *xml)
{
  rank_init (rank);
  rank->trainer = train_test_new (xml, (LoomTrainerOptions){ .device = on_card () ? "cuda:0" : "ref",
                                                             .batch_size = RANK_RUN_BATCH,
                                                             .steps = RANK_RUN_STEPS });
  run_rank (rank);
}

/* Each trainer is made by its own thread, as each rank's by its own process. */
typedef struct
{
  Rank *rank;
  const char *xml, *strategy;
  LoomComm *comm;
  int parts;
} RankStart;

static inline gpointer
start_rank (gpointer data)
{
  RankStart *start = data;
  g_autofree char *device = on_card () ? g_strdup_printf ("cuda:%d", start->comm->rank) : g_strdup ("ref");

  start->rank->trainer = train_test_new (start->xml, (LoomTrainerOptions){ .device = device,
                                                                           .batch_size = RANK_RUN_BATCH / start->parts,
                                                                           .steps = RANK_RUN_STEPS,
                                                                           .strategy = start->strategy,
                                                                           .comm = start->comm });
  return run_rank (start->rank);
}

/* `parts` of them have parts of the batch. */
static inline void
run_together (Rank *rank, int ranks, int parts, const char *xml, const char *strategy)
{
  g_autofree LoomComm **comm = g_new0 (LoomComm *, (gsize)ranks);
  g_autofree GThread **thread = g_new0 (GThread *, (gsize)ranks);
  g_autofree RankStart *start = g_new0 (RankStart, (gsize)ranks);
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (ranks, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < ranks; k++)
    {
      rank_init (&rank[k]);
      start[k] = (RankStart){ &rank[k], xml, strategy, comm[k], parts };
      thread[k] = g_thread_new ("rank", start_rank, &start[k]);
    }
  for (int k = 0; k < ranks; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < ranks; k++)
    comm[k]->free (comm[k]);
}

static inline void
compare (const Rank *a, const Rank *b, double tolerance, const char *what)
{
  g_assert_cmpuint (a->loss->len, ==, RANK_RUN_STEPS);
  g_assert_cmpuint (b->loss->len, ==, RANK_RUN_STEPS);
  for (guint i = 0; i < RANK_RUN_STEPS; i++)
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
