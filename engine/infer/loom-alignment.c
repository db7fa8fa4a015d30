/* Greedy decoding of alignments, sample by sample; see the header. */
#include "engine/infer/loom-alignment.h"

#include "engine/core/loom-refuse.h"

#include <math.h>

static void
alignment_free (gpointer data)
{
  LoomAnswer *answer = data;

  g_free (answer->value);
  g_free (answer);
}

/* Sample i of n. */
static LoomAnswer *
aligned_answer (const LoomTensor *t, gint64 blank, gint64 i, gint64 n)
{
  const gint64 steps = t->dim[0], classes = t->dim[2];
  LoomAnswer *a = g_new0 (LoomAnswer, 1);
  gint64 before = blank;

  a->kind = LOOM_ANSWER_PROBABILITIES;
  a->n_classes = classes;
  a->value = g_new (double, MAX (steps * classes, 1));
  for (gint64 s = 0; s < steps; s++)
    {
      const gint64 first = (s * n + i) * classes;
      gint64 best = 0;
      double *to;

      for (gint64 c = 1; c < classes; c++)
        best = loom_tensor_get (t, first + c) > loom_tensor_get (t, first + best) ? c : best;
      a->n_positions += best != blank && best != before ? 1 : 0;
      to = a->value + MAX (a->n_positions - 1, 0) * classes;
      if (best != blank && (best != before || exp (loom_tensor_get (t, first + best)) > to[best]))
        for (gint64 c = 0; c < classes; c++)
          to[c] = exp (loom_tensor_get (t, first + c));
      before = best;
    }
  a->shape = loom_shape (2, (gint64[]){ a->n_positions, classes });
  return a;
}

GPtrArray *
loom_answers_new_aligned (const LoomTensor *t, const char *name, gint64 blank, guint n, GError **error)
{
  if (t->rank != 3 || t->dim[1] != n)
    {
      LoomShape shape = loom_tensor_shape (t);
      g_autofree char *text = loom_shape_to_string (&shape);
      return loom_refuse_null (error, LOOM_ERROR_SHAPE,
                               "“%s” is %s for %u samples, but ctc_loss reads steps × samples × classes.", name, text,
                               n);
    }
  GPtrArray *answers = g_ptr_array_new_with_free_func ((GDestroyNotify)alignment_free);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (answers, aligned_answer (t, blank, i, n));
  return answers;
}
