/* Keeps classes on the last axis of logits. Cross-entropy takes logits [N, C, d…], as in PyTorch, but a language model
 * makes them [N, d…, C] and permutes them for the loss: the largest value of the step, copied twice, with both copies
 * alive. A row's numbers are the same wherever the class axis is, so the loss, its gradient and argmax read rows ×
 * classes as they were made, and the permutes are removed. */
#include "engine/plan/plan-private.h"

#define MOST_READERS 8

/* TRUE for [N, d…, C] to [N, C, d…], or back. */
static gboolean
moves_classes (const LoomPermuteAttrs *p, int rank, gboolean back)
{
  for (int r = 1; r < rank; r++)
    if (p->perm[r] != (back ? (r == rank - 1 ? 1 : r + 1) : (r == 1 ? rank - 1 : r - 1)))
      return FALSE;
  return rank >= 3 && p->perm[0] == 0;
}

static gboolean
is_cast (const WorkInstr *instr)
{
  return work_is_step (instr, LOOM_SCALAR_ID) && instr->in->len == 1 && instr->out->len == 1;
}

/* The permute that made v, followed by a cast or not. */
static WorkInstr *
find_permute (Work *g, guint v, WorkInstr **cast)
{
  WorkInstr *producer = work_value (g, v)->producer;

  *cast = producer != NULL && is_cast (producer) ? producer : NULL;
  if (*cast != NULL)
    producer = work_value (g, work_in (producer, 0))->producer;
  return producer != NULL && work_is (producer, "permute")
                 && moves_classes (producer->attrs, work_value (g, v)->desc.rank, FALSE)
             ? producer
             : NULL;
}

/* The permute of v's classes back to the last axis, with or without a cast before it; NULL if something else reads
 * v. */
static WorkInstr *
find_way_back (Work *g, guint v, WorkInstr **cast)
{
  WorkInstr *reader = work_only_reader (g, v, FALSE);

  *cast = reader != NULL && is_cast (reader) ? reader : NULL;
  if (*cast != NULL)
    reader = work_only_reader (g, work_out (reader, 0), FALSE);
  return reader != NULL && work_is (reader, "permute")
                 && moves_classes (reader->attrs, work_value (g, v)->desc.rank, TRUE)
             ? reader
             : NULL;
}

static gboolean
reads_rows (Work *g, const WorkInstr *instr, guint logits, const char *device)
{
  WorkInstr *cast;

  if (work_in (instr, 0) != logits || instr->device_name != device)
    return FALSE;
  if (work_is (instr, "cross_entropy"))
    return TRUE;
  if (work_is (instr, "argreduce"))
    return ((const LoomArgReduceAttrs *)instr->attrs)->axis == 1;
  return work_is (instr, "cross_entropy_grad") && find_way_back (g, work_out (instr, 0), &cast) != NULL;
}

/* A view of v (or, if v is 0, a new value) as rows × n; n 0: as rows alone. */
static guint
new_rows (Work *g, guint v, LoomDType dtype, gint64 rows, gint64 n, const WorkValue *like)
{
  LoomTensorDesc desc = { .dtype = dtype, .rank = n > 0 ? 2 : 1, .dim = { rows, n } };
  const WorkValue copy = *like; /* the array may be reallocated */
  guint flat = work_new_value (g, &desc, &copy);

  if (v != 0)
    work_set_alias (g, flat, v);
  return flat;
}

/* Makes result o a matrix of rows, and its former value a view of it. */
static void
make_rows (Work *g, WorkInstr *instr, guint o, gint64 rows, gint64 n)
{
  guint old = work_out (instr, o), flat;

  if (old == 0)
    return;
  flat = new_rows (g, 0, work_value (g, old)->desc.dtype, rows, n, work_value (g, old));
  work_set_out (g, instr, o, flat);
  work_set_alias (g, old, flat);
}

static void
read_rows (Work *g, WorkInstr *instr, guint k, gint64 rows)
{
  guint v = work_in (instr, k);

  work_set_in (g, instr, k, new_rows (g, v, work_value (g, v)->desc.dtype, rows, 0, work_value (g, v)));
}

/* Makes the gradient a matrix of rows, and the value that was permuted back a view of it or of its cast. */
static void
turn_gradient (Work *g, WorkInstr *instr, gint64 rows, gint64 classes)
{
  WorkInstr *cast, *back = find_way_back (g, work_out (instr, 0), &cast);
  guint gradient = work_out (instr, 0), moved = work_out (back, 0), flat;

  flat = new_rows (g, 0, work_value (g, gradient)->desc.dtype, rows, classes, work_value (g, gradient));
  work_erase (g, back);
  work_set_out (g, instr, 0, flat);
  if (cast != NULL)
    {
      guint narrow = new_rows (g, 0, work_value (g, moved)->desc.dtype, rows, classes, work_value (g, moved));

      work_set_in (g, cast, 0, flat);
      work_step (cast, 0)->result = narrow;
      work_set_out (g, cast, 0, narrow);
      flat = narrow;
    }
  work_set_alias (g, moved, flat);
}

/* Makes all readers of these logits read rows × classes; FALSE if that is not possible or saves nothing. */
static gboolean
turn_scores (Work *g, guint logits)
{
  WorkInstr *cast, *permute = find_permute (g, logits, &cast), *reader[MOST_READERS];
  guint from = permute != NULL ? work_in (permute, 0) : 0, n = 0, flat;
  const char *device = permute != NULL ? permute->device_name : NULL;
  gint64 classes, rows;

  if (permute == NULL || work_value (g, from)->device_name != device || (cast != NULL && cast->device_name != device))
    return FALSE;
  n = work_readers (g, logits, MOST_READERS, reader);
  classes = work_value (g, logits)->desc.dim[1];
  if (n == 0 || n > MOST_READERS || classes == 0)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!reads_rows (g, reader[i], logits, device))
      return FALSE;
  rows = loom_desc_count (&work_value (g, logits)->desc) / classes;
  flat = new_rows (g, from, work_value (g, from)->desc.dtype, rows, classes, work_value (g, from));
  if (cast != NULL)
    {
      guint wide = new_rows (g, 0, work_value (g, logits)->desc.dtype, rows, classes, work_value (g, logits));

      work_set_in (g, cast, 0, flat);
      work_step (cast, 0)->result = wide;
      work_set_out (g, cast, 0, wide);
      flat = wide;
    }
  for (guint i = 0; i < n; i++)
    {
      gboolean gradient = work_is (reader[i], "cross_entropy_grad");

      work_set_in (g, reader[i], 0, flat);
      for (guint k = 1; k < reader[i]->in->len; k++)
        read_rows (g, reader[i], k, rows);
      if (gradient)
        turn_gradient (g, reader[i], rows, classes);
      for (guint o = 0; o < reader[i]->out->len && !gradient; o++)
        make_rows (g, reader[i], o, rows, work_is (reader[i], "argreduce") ? 1 : 0);
    }
  return TRUE;
}

void
work_keep_classes_last (Work *g)
{
  gboolean changed;

  /* Logits that are cast for one reader and read uncast by another become free for the second after the first is
   * changed. */
  do
    {
      changed = FALSE;
      for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
        if (work_is (instr, "cross_entropy") || work_is (instr, "argreduce"))
          changed |= turn_scores (g, work_in (instr, 0));
    }
  while (changed);
}
