/* Implements loom-continuation.h. */
#include "engine/infer/loom-continuation.h"

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-samples.h"

#include <math.h>
#include <string.h>

struct _LoomContinuation
{
  LoomPredictor *predictor; /* not owned */
  const LoomDataset *dataset;
  LoomGenerator *generator;
  GRand *random;
  GArray *ids; /* gint64: the tokens of the prompt, then the generated ones */
  guint read;  /* the number of ids that the generator has read */
  GString *text;
  LoomContinuationOptions options;
};

void
loom_continuation_free (LoomContinuation *self)
{
  if (self == NULL)
    return;
  loom_generator_free (self->generator);
  g_rand_free (self->random);
  g_array_unref (self->ids);
  g_string_free (self->text, TRUE);
  g_free (self);
}

/* A token as text: bytes that are not letters are written as names ("\x0c"). */
static void
add_token (GString *text, const char *name)
{
  for (; *name != '\0'; name++)
    if (name[0] == '\\' && name[1] == 'x' && g_ascii_isxdigit (name[2]) && g_ascii_isxdigit (name[3]))
      {
        g_string_append_c (text, (char)(16 * g_ascii_xdigit_value (name[2]) + g_ascii_xdigit_value (name[3])));
        name += 3;
      }
    else
      g_string_append_c (text, *name);
}

static gboolean
read_prompt (LoomContinuation *self, const char *prompt, GError **error)
{
  const LoomSampleOptions how = { .low = NAN, .high = NAN };
  g_autoptr (LoomSampleReader) reader
      = loom_sample_reader_new (loom_predictor_input (self->predictor), self->dataset, &how);
  /* A newline at the end is regarded as that of the file. */
  g_autofree char *line = g_strconcat (prompt, "\n", NULL);
  g_autoptr (GBytes) bytes = g_bytes_new (line, strlen (line));
  g_autoptr (GPtrArray) items = loom_sample_reader_read (reader, bytes, "--prompt", error);
  const LoomTensor *tokens;

  if (items == NULL)
    return FALSE;
  tokens = ((const LoomSampleItem *)items->pdata[0])->tensor;
  for (gint64 i = 0; i < tokens->count; i++)
    {
      gint64 id = (gint64)loom_tensor_get (tokens, i);

      g_array_append_val (self->ids, id);
    }
  return TRUE;
}

LoomContinuation *
loom_continuation_new (LoomPredictor *predictor, const char *prompt, const LoomContinuationOptions *options,
                       GError **error)
{
  const char *why;
  const LoomDataset *dataset = loom_predictor_dataset (predictor, &why);

  if (dataset == NULL || !loom_predictor_reads_text (predictor))
    return loom_refuse_null (error, LOOM_ERROR_DATA, "%s%s",
                             why != NULL ? why
                                         : "The net does not read text: its data set is not one with source=\"text\"",
                             why != NULL ? "" : ", so it cannot continue a text.");
  g_autoptr (LoomContinuation) self = g_new0 (LoomContinuation, 1);
  self->predictor = predictor;
  self->dataset = dataset;
  self->options = *options;
  self->random = g_rand_new_with_seed (options->seed);
  self->ids = g_array_new (FALSE, FALSE, sizeof (gint64));
  self->text = g_string_new (NULL);
  self->generator = loom_generator_new (predictor, !options->no_cache, error);
  if (self->generator == NULL || !read_prompt (self, prompt, error))
    return NULL;
  return g_steal_pointer (&self);
}

static int
compare_shares (gconstpointer a, gconstpointer b, gpointer data)
{
  const double *share = data;
  gint64 i = *(const gint64 *)a, k = *(const gint64 *)b;

  return share[i] > share[k] ? -1 : share[i] < share[k] ? 1 : i < k ? -1 : i > k;
}

/* Draws a token from n probabilities, sharpened by the temperature; at temperature 0 the likeliest one. -1: a
 * probability is not a number. */
static gint64
draw (LoomContinuation *self, const double *share, gint64 n)
{
  g_autofree gint64 *order = g_new (gint64, MAX (n, 1));
  g_autofree double *weight = g_new (double, MAX (n, 1));
  const gint64 kept = self->options.top_k > 0 ? MIN ((gint64)self->options.top_k, n) : n;
  double sum = 0, at;

  for (gint64 i = 0; i < n; i++)
    {
      if (!isfinite (share[i]))
        return -1;
      order[i] = i;
    }
  g_qsort_with_data (order, (int)n, sizeof *order, compare_shares, (gpointer)share);
  if (self->options.temperature == 0)
    return order[0];
  for (gint64 i = 0; i < kept; i++)
    {
      /* (p / p₀)^(1/t): relative to the largest, so that not all underflow to 0. */
      weight[i] = share[order[0]] > 0 ? pow (share[order[i]] / share[order[0]], 1 / self->options.temperature) : 1;
      sum += weight[i];
    }
  at = g_rand_double (self->random) * sum;
  for (gint64 i = 0; i < kept; i++)
    if ((at -= weight[i]) < 0)
      return order[i];
  return order[0];
}

gboolean
loom_continuation_step (LoomContinuation *self, GError **error)
{
  const LoomAnswer *answer = loom_generator_read (self->generator, &g_array_index (self->ids, gint64, self->read),
                                                  self->ids->len - self->read, error);
  const char *const *names = loom_dataset_class_names (self->dataset);
  const char *separator = loom_dataset_separator (self->dataset);
  gint64 token, n;

  self->read = self->ids->len;
  if (answer == NULL)
    return FALSE;
  if (answer->kind != LOOM_ANSWER_PROBABILITIES || answer->n_positions != 1)
    return loom_refuse (error, LOOM_ERROR_SHAPE,
                        "The net predicts no probabilities of the next token. Train it with cross_entropy on data with "
                        "source=\"text\".");
  /* The logits of a padded vocabulary beyond the last token have no text. */
  n = MIN (answer->n_classes, (gint64)g_strv_length ((char **)names));
  token = draw (self, answer->value, n);
  if (token < 0)
    return loom_refuse (error, LOOM_ERROR_NAN, "The net's output is not finite after %u tokens.", self->ids->len);
  g_array_append_val (self->ids, token);
  g_string_append (self->text, separator != NULL ? separator : "");
  add_token (self->text, names[token]);
  return TRUE;
}

GString *
loom_continuation_text (LoomContinuation *self)
{
  return self->text;
}

const char *
loom_continuation_why (const LoomContinuation *self)
{
  return self->options.no_cache ? NULL : loom_generator_why (self->generator);
}
