#include "engine/recipe/loom-bleu.h"

#include <math.h>

/* The start positions of all n-grams, sorted by their tokens. */
static guint *
sorted_runs (const gint64 *token, guint length, guint n, guint *count)
{
  guint *order;

  *count = length >= n ? length - n + 1 : 0;
  order = g_new (guint, *count + 1);
  /* Insertion sort, because sentences are short. */
  for (guint i = 0; i < *count; i++)
    {
      guint at = i;

      for (; at > 0; at--)
        {
          guint k = 0;

          while (k < n && token[order[at - 1] + k] == token[i + k])
            k++;
          if (k == n || token[order[at - 1] + k] < token[i + k])
            break;
          order[at] = order[at - 1];
        }
      order[at] = i;
    }
  return order;
}

static int
compare_runs (const gint64 *a, const gint64 *b, guint n)
{
  for (guint k = 0; k < n; k++)
    if (a[k] != b[k])
      return a[k] < b[k] ? -1 : 1;
  return 0;
}

void
loom_bleu_add (LoomBleu *bleu, const gint64 *said, guint n_said, const gint64 *reference, guint n_reference)
{
  bleu->length += n_said;
  bleu->reference += n_reference;
  for (guint n = 1; n <= LOOM_BLEU_MOST; n++)
    {
      guint n_a, n_b, a = 0, b = 0;
      g_autofree guint *runs = sorted_runs (said, n_said, n, &n_a),
                       *others = sorted_runs (reference, n_reference, n, &n_b);

      bleu->said[n - 1] += n_a;
      /* Each n-gram of the reference matches at most one of the hypothesis. */
      while (a < n_a && b < n_b)
        {
          int order = compare_runs (said + runs[a], reference + others[b], n);

          bleu->found[n - 1] += order == 0;
          a += order <= 0;
          b += order >= 0;
        }
    }
}

double
loom_bleu_value (const LoomBleu *bleu)
{
  double sum = 0;

  for (guint n = 0; n < LOOM_BLEU_MOST; n++)
    {
      if (bleu->found[n] == 0)
        return 0;
      sum += log ((double)bleu->found[n] / (double)bleu->said[n]) / LOOM_BLEU_MOST;
    }
  return exp (sum + MIN (0, 1 - (double)bleu->reference / (double)bleu->length));
}
