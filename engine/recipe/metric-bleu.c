/* BLEU (loom-bleu.h) of a decoder with teacher forcing: each token is predicted from the target tokens before it.
 *
 * The program computes the counts of a batch. An n-gram matches if its sentence contains fewer equal ones before it
 * than the reference contains in all, which clips counts as the paper does. */
#include "engine/recipe/loom-bleu.h"
#include "engine/recipe/loom-metric.h"

#define MAX_LENGTH 256 /* positions are compared with all others */

static gboolean
check_bleu (const LoomMetricOptions *options, const LoomTensorDesc *input, const LoomTensorDesc *target, char **why)
{
  if (!loom_metric_check_classes (options, input, target, why))
    return FALSE;
  if (input->rank != 3 || target->rank != 2)
    *why = g_strdup_printf (
        "it compares logits of shape N × C × T with token indices of shape N × T, but the target has %d dimensions",
        target->rank);
  else if (target->dim[1] > MAX_LENGTH)
    *why = g_strdup_printf ("its sentences have %d tokens, but it takes at most %d", (int)target->dim[1], MAX_LENGTH);
  return input->rank == 3 && target->rank == 2 && target->dim[1] <= MAX_LENGTH;
}

static guint
size_bleu (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return 2 * LOOM_BLEU_MOST;
}

/* n positions from `at` on, of all axes after the first. */
static LoomValue
from_place (LoomProgram *p, LoomValue v, gint64 at, gint64 n)
{
  const LoomTensorDesc d = loom_value_info (p, v)->desc;
  gint64 start[LOOM_MAX_RANK] = { 0 }, to[LOOM_MAX_RANK] = { d.dim[0] };

  for (int i = 1; i < d.rank; i++)
    {
      start[i] = at;
      to[i] = n;
    }
  return loom_slice (p, v, start, NULL, to);
}

/* a and b [N, T] → 1 if position i of a and position j of b have the same token, [N, T, T]. */
static LoomValue
compare (LoomProgram *p, LoomValue a, LoomValue b)
{
  const LoomTensorDesc d = loom_value_info (p, a)->desc;
  LoomValue rows = loom_reshape (p, a, 3, (const gint64[]){ d.dim[0], d.dim[1], 1 });
  LoomValue columns = loom_reshape (p, b, 3, (const gint64[]){ d.dim[0], 1, d.dim[1] });

  return loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, rows, columns), loom_program_get_float (p));
}

/* The table for n-grams of n tokens from that of n - 1 tokens: those agree, and so does the last token. */
static LoomValue
longer (LoomProgram *p, LoomValue runs, LoomValue single, gint64 n, gint64 count)
{
  return loom_binary (p, LOOM_SCALAR_MUL, from_place (p, runs, 0, count), from_place (p, single, n - 1, count));
}

/* For each n-gram i the number of equal ones j: pairs [N, i, j] of n-grams, valid [N, j]. */
static LoomValue
count_pairs (LoomProgram *p, LoomValue pairs, LoomValue valid)
{
  const LoomTensorDesc d = loom_value_info (p, valid)->desc;
  LoomValue columns = loom_reshape (p, valid, 3, (const gint64[]){ d.dim[0], 1, d.dim[1] });

  return loom_reduce (p, LOOM_REDUCE_SUM, loom_binary (p, LOOM_SCALAR_MUL, pairs, columns), 1u << 2, FALSE);
}

/* 1 if j is before i, [1, n, n]. */
static LoomValue
is_before (LoomProgram *p, gint64 n)
{
  LoomIotaTo rows = { .kernel = { .axis = 1, .step = 1 }, .dtype = LOOM_I64, .to = { 3, { 1, n, 1 } } };
  LoomIotaTo columns = { .kernel = { .axis = 2, .step = 1 }, .dtype = LOOM_I64, .to = { 3, { 1, 1, n } } };
  LoomValue i = loom_emit (p, loom_prim ("iota"), &rows, 0, NULL, NULL);
  LoomValue j = loom_emit (p, loom_prim ("iota"), &columns, 0, NULL, NULL);

  return loom_cast (p, loom_binary (p, LOOM_SCALAR_LT, j, i), loom_program_get_float (p));
}

/* The numbers of n-grams of one to four tokens that match the reference, then of all; targets below 0 are not part of a
 * sentence. */
static LoomValue
emit_bleu (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target)
{
  const LoomTensorDesc t = loom_value_info (p, target)->desc;
  const LoomDType f = loom_program_get_float (p);
  const gint64 one = 1, places = t.dim[1];
  LoomValue said, own, part[2 * LOOM_BLEU_MOST], valid, in_own, in_said, single[3];

  loom_metric_decide (p, options, input, target, &said, &own);
  said = loom_reshape (p, said, 2, t.dim);
  own = loom_reshape (p, own, 2, t.dim);
  single[0] = in_own = compare (p, said, own);
  single[1] = in_said = compare (p, said, said);
  single[2] = valid = loom_cast (p, loom_binary (p, LOOM_SCALAR_GE, own, loom_const (p, LOOM_I64, 0)), f);
  for (gint64 n = 1; n <= LOOM_BLEU_MOST; n++)
    {
      const gint64 count = places - n + 1;
      LoomValue found = loom_const (p, f, 0), all = found;

      if (count > 0)
        {
          if (n > 1)
            {
              in_own = longer (p, in_own, single[0], n, count);
              in_said = longer (p, in_said, single[1], n, count);
              valid = longer (p, valid, single[2], n, count);
            }
          LoomValue before = loom_binary (p, LOOM_SCALAR_MUL, in_said, is_before (p, count));
          LoomValue hit
              = loom_binary (p, LOOM_SCALAR_LT, count_pairs (p, before, valid), count_pairs (p, in_own, valid));

          found = loom_sum_all (p, loom_binary (p, LOOM_SCALAR_MUL, loom_cast (p, hit, f), valid));
          all = loom_sum_all (p, valid);
        }
      part[n - 1] = loom_reshape (p, found, 1, &one);
      part[LOOM_BLEU_MOST + n - 1] = loom_reshape (p, all, 1, &one);
    }
  return loom_concat (p, 2 * LOOM_BLEU_MOST, part, 0);
}

/* The hypothesis has the length of its reference, so there is no brevity penalty. */
static double
finish_bleu (const LoomMetricOptions *options, const double *total, guint size, double weight)
{
  LoomBleu bleu = { .length = 1, .reference = 1 };

  for (guint n = 0; n < LOOM_BLEU_MOST; n++)
    {
      bleu.found[n] = (gint64)total[n];
      bleu.said[n] = (gint64)total[LOOM_BLEU_MOST + n];
    }
  return loom_bleu_value (&bleu);
}

const LoomMetric loom_metric_bleu = {
  .name = "bleu",
  .doc = "BLEU: the precision of predicted n-grams of one to four tokens, with each token predicted from the right "
         "previous ones; targets below 0 are ignored.",
  .higher_is_better = TRUE,
  .of_scores = TRUE,
  .check = check_bleu,
  .size = size_bleu,
  .emit = emit_bleu,
  .count = loom_metric_count_target,
  .finish = finish_bleu,
};
