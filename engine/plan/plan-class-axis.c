/* Removes the permutes that move the class axis of logits for a loss or an argmax, and passes the logits as a matrix
 * instead.
 *
 * Cross-entropy takes logits [N, C, d…], as in PyTorch, but a language model makes them [N, d…, C] and permutes them
 * for the loss. That copies the largest value of the step twice, and both copies are alive. The pass makes each reader
 * (the loss, its gradient, argmax) read a view [N·d…, C] of the original logits, in which every row has the same
 * numbers as before. */
#include "engine/plan/plan-private.h"

#define MAX_READERS 8

/* TRUE for [N, d…, C] to [N, C, d…], or back. */
static gboolean
permutes_classes (const LoomPermuteAttrs *p, int rank, gboolean back)
{
  for (int r = 1; r < rank; r++)
    if (p->perm[r] != (back ? (r == rank - 1 ? 1 : r + 1) : (r == 1 ? rank - 1 : r - 1)))
      return FALSE;
  return rank >= 3 && p->perm[0] == 0;
}

static gboolean
is_cast (const PlanNode *instr)
{
  return node_is_step (instr, LOOM_SCALAR_ID) && instr->in->len == 1 && instr->out->len == 1;
}

/* Finds the permute that made v, with or without a conversion after it. */
static PlanNode *
find_permute (PlanGraph *g, guint v, PlanNode **cast)
{
  PlanNode *producer = graph_value (g, v)->producer;

  *cast = producer != NULL && is_cast (producer) ? producer : NULL;
  if (*cast != NULL)
    producer = graph_value (g, node_in (producer, 0))->producer;
  return producer != NULL && node_is (producer, "permute")
                 && permutes_classes (producer->attrs, graph_value (g, v)->desc.rank, FALSE)
             ? producer
             : NULL;
}

/* Finds the permute of v's classes back to the last axis, with or without a conversion before it; NULL if v has another
 * reader. */
static PlanNode *
find_inverse_permute (PlanGraph *g, guint v, PlanNode **cast)
{
  PlanNode *reader = graph_only_reader (g, v, FALSE);

  *cast = reader != NULL && is_cast (reader) ? reader : NULL;
  if (*cast != NULL)
    reader = graph_only_reader (g, node_out (reader, 0), FALSE);
  return reader != NULL && node_is (reader, "permute")
                 && permutes_classes (reader->attrs, graph_value (g, v)->desc.rank, TRUE)
             ? reader
             : NULL;
}

static gboolean
reads_rows (PlanGraph *g, const PlanNode *instr, guint logits, const char *device)
{
  PlanNode *cast;

  if (node_in (instr, 0) != logits || instr->device_name != device)
    return FALSE;
  if (node_is (instr, "cross_entropy"))
    return TRUE;
  if (node_is (instr, "argreduce"))
    return ((const LoomArgReduceAttrs *)instr->attrs)->axis == 1;
  return node_is (instr, "cross_entropy_grad") && find_inverse_permute (g, node_out (instr, 0), &cast) != NULL;
}

/* A new value like v, of shape [rows, n]; n 0: [rows]. */
static guint
new_rows (PlanGraph *g, guint v, gint64 rows, gint64 n)
{
  const PlanValue *like = graph_value (g, v);

  return graph_new_value (g, &(LoomTensorDesc){ .dtype = like->desc.dtype, .rank = n > 0 ? 2 : 1, .dim = { rows, n } },
                          like);
}

/* Makes a conversion read and make rows; returns what it makes. */
static guint
convert_rows (PlanGraph *g, PlanNode *cast, guint from, guint to)
{
  graph_set_in (g, cast, 0, from);
  node_step (cast, 0)->result = to;
  graph_set_out (g, cast, 0, to);
  return to;
}

/* Makes result o a matrix of rows, and its former value a view of it. */
static void
make_rows (PlanGraph *g, PlanNode *instr, guint o, gint64 rows, gint64 n)
{
  guint old = node_out (instr, o), flat;

  if (old == 0)
    return;
  flat = new_rows (g, old, rows, n);
  graph_set_out (g, instr, o, flat);
  graph_set_alias (g, old, flat);
}

static void
read_rows (PlanGraph *g, PlanNode *instr, guint k, gint64 rows)
{
  guint v = node_in (instr, k), flat = new_rows (g, v, rows, 0);

  graph_set_alias (g, flat, v);
  graph_set_in (g, instr, k, flat);
}

/* Makes the gradient a matrix of rows, and the value that was permuted back a view of it or of its cast. */
static void
rewrite_gradient (PlanGraph *g, PlanNode *instr, gint64 rows, gint64 classes)
{
  PlanNode *cast, *back = find_inverse_permute (g, node_out (instr, 0), &cast);
  guint gradient = node_out (instr, 0), moved = node_out (back, 0), flat;

  flat = new_rows (g, gradient, rows, classes);
  graph_erase (g, back);
  graph_set_out (g, instr, 0, flat);
  if (cast != NULL)
    flat = convert_rows (g, cast, flat, new_rows (g, moved, rows, classes));
  graph_set_alias (g, moved, flat);
}

/* Makes all readers of these logits read rows × classes; FALSE if that is not possible or saves nothing. */
static gboolean
rewrite_logits (PlanGraph *g, guint logits)
{
  PlanNode *cast, *permute = find_permute (g, logits, &cast), *reader[MAX_READERS];
  guint from = permute != NULL ? node_in (permute, 0) : 0, n = 0, flat;
  const char *device = permute != NULL ? permute->device_name : NULL;
  gint64 classes, rows;

  if (permute == NULL || graph_value (g, from)->device_name != device || (cast != NULL && cast->device_name != device))
    return FALSE;
  n = graph_readers (g, logits, MAX_READERS, reader);
  classes = graph_value (g, logits)->desc.dim[1];
  if (n == 0 || n > MAX_READERS || classes == 0)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!reads_rows (g, reader[i], logits, device))
      return FALSE;
  rows = loom_desc_count (&graph_value (g, logits)->desc) / classes;
  flat = new_rows (g, from, rows, classes);
  graph_set_alias (g, flat, from);
  if (cast != NULL)
    flat = convert_rows (g, cast, flat, new_rows (g, logits, rows, classes));
  for (guint i = 0; i < n; i++)
    {
      gboolean gradient = node_is (reader[i], "cross_entropy_grad");

      graph_set_in (g, reader[i], 0, flat);
      for (guint k = 1; k < reader[i]->in->len; k++)
        read_rows (g, reader[i], k, rows);
      if (gradient)
        rewrite_gradient (g, reader[i], rows, classes);
      for (guint o = 0; o < reader[i]->out->len && !gradient; o++)
        make_rows (g, reader[i], o, rows, node_is (reader[i], "argreduce") ? 1 : 0);
    }
  return TRUE;
}

void
pass_keep_classes_last (PlanGraph *g)
{
  gboolean changed;

  /* Repeated, because rewriting one reader can make another one possible: logits that one reader takes through a
   * conversion and another without one have two readers until the first is rewritten. */
  do
    {
      changed = FALSE;
      for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
        if (node_is (instr, "cross_entropy") || node_is (instr, "argreduce"))
          changed |= rewrite_logits (g, node_in (instr, 0));
    }
  while (changed);
}
