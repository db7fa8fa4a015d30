/* Writes for the samples of a split: evaluates all of them, or shows some with their targets. */
#include "engine/infer/decoder-private.h"

#include <string.h>

#include "engine/data/loom-vocabulary.h"

/* The reference: y up to the end token, or to the first target that is ignored. */
static guint
reference_length (const gint64 *y, guint most)
{
  guint n = 0;

  while (n < most && y[n] != LOOM_TOKEN_END && y[n] >= 0 && y[n] != LOOM_TOKEN_PADDING)
    n++;
  return n;
}

/* A sample of a batch, as if it were read from a file: a sequence has its own length. */
static LoomTensor *
sample_of (const LoomDecoder *self, const GPtrArray *batch, gint64 i, GError **error)
{
  const LoomTensor *x = batch->pdata[self->predictor->input.output];
  int length = decoder_find_port (self, "length");
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  LoomTensor *t;

  memcpy (dims, x->dim + 1, (gsize)(x->rank - 1) * sizeof *dims);
  if (length >= 0)
    dims[0] = ((const gint64 *)((const LoomTensor *)batch->pdata[length])->data)[i];
  t = loom_tensor_new (x->dtype, x->rank - 1, dims, error);
  if (t != NULL)
    memcpy (t->data, (const char *)x->data + (gsize)i * (x->bytes / (gsize)x->dim[0]), t->bytes);
  return t;
}

static GPtrArray *
write_batch (LoomDecoder *self, const GPtrArray *batch, gint64 n, GError **error)
{
  g_autoptr (GPtrArray) samples = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (gint64 i = 0; i < n; i++)
    {
      LoomTensor *t = sample_of (self, batch, i, error);

      if (t == NULL)
        return NULL;
      g_ptr_array_add (samples, t);
    }
  return loom_decoder_run (self, (LoomTensor *const *)samples->pdata, samples->len, error);
}

static gboolean
evaluate_batch (LoomDecoder *self, const GPtrArray *batch, const LoomTensor *y, LoomTranslation *result, GError **error)
{
  g_autoptr (GPtrArray) answers = write_batch (self, batch, y->dim[0], error);

  for (guint i = 0; answers != NULL && i < answers->len; i++)
    {
      const LoomWritten *said = answers->pdata[i];
      const gint64 *want = (const gint64 *)y->data + i * y->dim[1];
      guint n = reference_length (want, (guint)y->dim[1]);

      loom_bleu_add (&result->bleu, said->token, said->n, want, n);
      result->sentences++;
      result->exact += said->n == n && (n == 0 || memcmp (said->token, want, n * sizeof *want) == 0);
    }
  return answers != NULL;
}

gboolean
loom_decoder_evaluate (LoomDecoder *self, gint64 batch, LoomTranslation *result, GError **error)
{
  const LoomDataset *dataset = self->predictor->dataset;
  LoomSplit split
      = dataset != NULL && loom_dataset_count (dataset, LOOM_SPLIT_TEST) > 0 ? LOOM_SPLIT_TEST : LOOM_SPLIT_VAL;
  gint64 n = dataset != NULL ? loom_dataset_count (dataset, split) : 0;
  int target = decoder_find_port (self, "y");

  *result = (LoomTranslation){ 0 };
  if (n == 0 || target < 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s",
                   self->predictor->no_dataset != NULL
                       ? self->predictor->no_dataset
                       : "The data set has neither test nor validation samples with a target y.");
      return FALSE;
    }
  for (gint64 from = 0; from < n; from += batch)
    {
      gint64 count = MIN (batch, n - from);
      g_autofree gint64 *index = g_new (gint64, count);
      g_autoptr (GPtrArray) tensors = NULL;

      for (gint64 i = 0; i < count; i++)
        index[i] = from + i;
      tensors = loom_dataset_read_new (dataset, split, index, (guint)count, error);
      if (tensors == NULL || !evaluate_batch (self, tensors, tensors->pdata[target], result, error))
        return FALSE;
    }
  return TRUE;
}

/* ---- samples as texts ------------------------------------------------------------------ */

static void
example_free (gpointer data)
{
  LoomDecoderExample *example = data;

  g_free (example->source);
  g_free (example->target);
  g_free (example->written);
  g_free (example);
}

/* The tokens of a sample, up to the padding; NULL: it is no text. */
static char *
source_text (const LoomDecoder *self, const LoomTensor *sample)
{
  const LoomDataset *dataset = self->predictor->dataset;
  const char *const *names = loom_dataset_token_names (dataset);
  const gint64 n_names = names != NULL ? g_strv_length ((char **)names) : 0;
  g_autoptr (GString) text = g_string_new (NULL);

  if (names == NULL || loom_dtype_is_float (sample->dtype) || sample->rank != 1)
    return NULL;
  for (gint64 i = 0; i < sample->count; i++)
    {
      const double token = loom_tensor_get (sample, i);

      if (!(token >= 0 && token < (double)n_names) || g_str_equal (names[(gint64)token], LOOM_PADDING_NAME))
        break;
      g_string_append (text, i > 0 ? loom_dataset_separator (dataset) : "");
      g_string_append (text, names[(gint64)token]);
    }
  return g_strdup (text->str);
}

static LoomDecoderExample *
example_of (LoomDecoder *self, const GPtrArray *read, guint i, const LoomWritten *written, GError **error)
{
  const int port = decoder_find_port (self, "y");
  const LoomTensor *y = port >= 0 ? read->pdata[port] : NULL;
  g_autoptr (LoomTensor) sample = sample_of (self, read, i, error);
  LoomDecoderExample *example;

  if (sample == NULL)
    return NULL;
  example = g_new0 (LoomDecoderExample, 1);
  example->source = source_text (self, sample);
  example->written = loom_decoder_text (self, written);
  if (y != NULL && y->rank == 2 && y->dtype == LOOM_I64)
    {
      gint64 *want = (gint64 *)y->data + i * y->dim[1];

      example->target
          = loom_decoder_text (self, &(LoomWritten){ .n = reference_length (want, (guint)y->dim[1]), .token = want });
    }
  return example;
}

GPtrArray *
loom_decoder_examples (LoomDecoder *self, LoomSplit split, const gint64 *index, guint n, GError **error)
{
  const LoomDataset *dataset = self->predictor->dataset;
  g_autoptr (GPtrArray) examples = g_ptr_array_new_with_free_func (example_free), read = NULL, answers = NULL;

  for (guint i = 0; i < n; i++)
    if (dataset == NULL || index[i] < 0 || index[i] >= loom_dataset_count (dataset, split))
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The data set has no %s sample %" G_GINT64_FORMAT ".",
                     loom_split_name (split), index[i]);
        return NULL;
      }
  if (n == 0)
    return g_steal_pointer (&examples);
  read = loom_dataset_read_new (dataset, split, index, n, error);
  answers = read != NULL ? write_batch (self, read, n, error) : NULL;
  for (guint i = 0; answers != NULL && i < n; i++)
    {
      LoomDecoderExample *example = example_of (self, read, i, answers->pdata[i], error);

      if (example == NULL)
        return NULL;
      g_ptr_array_add (examples, example);
    }
  return answers != NULL ? g_steal_pointer (&examples) : NULL;
}
