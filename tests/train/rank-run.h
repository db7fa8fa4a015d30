/* Shared by tests of runs of several ranks, as threads of this process: the run of one rank with the whole batch, that
 * of several, and the comparison of their results. */
#pragma once

#include "tests/train/train-test.h"

#define RANK_RUN_STEPS 20
#define RANK_RUN_BATCH 48 /* of all ranks together */

typedef struct
{
  LoomTrainer *trainer;
  const char *xml; /* NULL: that of the resumed run */
  LoomTrainerOptions options;
  GPtrArray *value; /* LoomTensor by slot, whole */
  GPtrArray *name;
  GArray *loss; /* of steps; and of evaluations, their losses and metrics */
} Rank;

static inline void
note_loss (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  g_array_append_val (((Rank *)data)->loss, step->loss);
}

static inline void
note_eval (LoomTrainer *trainer, const LoomTrainerEval *eval, gpointer data)
{
  g_array_append_val (((Rank *)data)->loss, eval->loss);
  for (guint i = 0; i < eval->n_metrics; i++)
    g_array_append_val (((Rank *)data)->loss, eval->metric[i]);
}

/* Takes the values that outlive the run. */
static inline void
rank_note_state (Rank *rank)
{
  LoomState *state = loom_trainer_state (rank->trainer);
  g_autoptr (GError) error = NULL;

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
}

static inline gpointer
run_rank (gpointer data)
{
  static const LoomTrainerObserver observer = { .step = note_loss, .eval = note_eval };
  Rank *rank = data;
  g_autoptr (GError) error = NULL;

  rank->value = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  rank->name = g_ptr_array_new_with_free_func (g_free);
  rank->loss = g_array_new (FALSE, FALSE, sizeof (double));
  rank->trainer = train_test_new (rank->xml, rank->options);
  loom_trainer_set_observer (rank->trainer, &observer, rank);
  loom_trainer_run (rank->trainer, &error);
  g_assert_no_error (error);
  rank_note_state (rank);
  return NULL;
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
run_with (Rank *rank, const char *xml, LoomTrainerOptions options)
{
  *rank = (Rank){ .xml = xml, .options = options };
  run_rank (rank);
}

static inline void
run_alone (Rank *rank, const char *xml)
{
  run_with (rank, xml,
            (LoomTrainerOptions){
                .device = on_card () ? "cuda:0" : "ref", .batch_size = RANK_RUN_BATCH, .steps = RANK_RUN_STEPS });
}

/* Each trainer is made by its own thread, as each rank's by its own process. On GPUs each has one of its own. */
static inline void
run_ranks_by (GThreadFunc run, Rank *rank, int ranks, const char *xml, LoomTrainerOptions options)
{
  g_autofree LoomComm **comm = g_new0 (LoomComm *, (gsize)ranks);
  g_autofree GThread **thread = g_new0 (GThread *, (gsize)ranks);
  g_auto (GStrv) device = g_new0 (char *, (gsize)ranks + 1);
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (ranks, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < ranks; k++)
    {
      rank[k] = (Rank){ .xml = xml, .options = options };
      rank[k].options.comm = comm[k];
      device[k] = g_strdup_printf ("cuda:%d", k);
      if (on_card ())
        rank[k].options.device = device[k];
      thread[k] = g_thread_new ("rank", run, &rank[k]);
    }
  for (int k = 0; k < ranks; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < ranks; k++)
    comm[k]->free (comm[k]);
}

static inline void
run_ranks_with (Rank *rank, int ranks, const char *xml, LoomTrainerOptions options)
{
  run_ranks_by (run_rank, rank, ranks, xml, options);
}

/* `parts` of them have shards of the batch. */
static inline void
run_together (Rank *rank, int ranks, int parts, const char *xml, const char *strategy)
{
  run_ranks_with (
      rank, ranks, xml,
      (LoomTrainerOptions){
          .device = "ref", .batch_size = RANK_RUN_BATCH / parts, .steps = RANK_RUN_STEPS, .strategy = strategy });
}

static inline int
find_slot (const Rank *rank, const char *name)
{
  for (guint i = 0; i < rank->name->len; i++)
    if (g_str_equal (rank->name->pdata[i], name))
      return (int)i;
  return -1;
}

/* The end of a run, compared with another one that was resumed from it. */
static inline void
compare_end (const Rank *a, const Rank *b, double tolerance, const char *what)
{
  g_assert_cmpuint (b->loss->len, >, 0);
  g_assert_cmpuint (a->loss->len, >=, b->loss->len);
  for (guint i = 1; i <= b->loss->len; i++)
    {
      double x = g_array_index (a->loss, double, a->loss->len - i),
             y = g_array_index (b->loss, double, b->loss->len - i);

      if (!(fabs (x - y) <= tolerance))
        g_error ("%s: loss or metric %u from the end is %.17g and %.17g", what, i, x, y);
    }
  g_assert_cmpuint (a->value->len, ==, b->value->len);
  for (guint i = 0; i < a->value->len; i++)
    {
      int k = find_slot (b, a->name->pdata[i]);
      const LoomTensor *x = a->value->pdata[i], *y;

      g_assert_cmpint (k, >=, 0);
      y = b->value->pdata[k];
      g_assert_cmpint (x->count, ==, y->count);
      for (gint64 e = 0; e < x->count; e++)
        if (!(fabs (loom_tensor_get (x, e) - loom_tensor_get (y, e)) <= tolerance))
          g_error ("%s: %s [%d] is %.17g and %.17g", what, (const char *)a->name->pdata[i], (int)e,
                   loom_tensor_get (x, e), loom_tensor_get (y, e));
    }
}

static inline void
compare (const Rank *a, const Rank *b, double tolerance, const char *what)
{
  g_assert_cmpuint (b->loss->len, >=, RANK_RUN_STEPS);
  g_assert_cmpuint (a->loss->len, ==, b->loss->len);
  compare_end (a, b, tolerance, what);
}
