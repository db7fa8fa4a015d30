/* Prediction of the library; see gradloom.h. */
#include "engine/api/api-private.h"

#include <string.h>

struct _GradloomPredictor
{
  LoomPredictor *predictor;
};

GradloomPredictor *
gradloom_predictor_new (const GradloomGraph *graph, const char *weights, const char *device, int threads,
                        GError **error)
{
  g_autofree char *newest = NULL;
  LoomPredictorOptions options = { .weights = weights, .device = device, .threads = threads, .run = graph->run };
  LoomPredictor *predictor;
  GradloomPredictor *self;

  if (weights == NULL && graph->run != NULL)
    {
      options.weights = newest = loom_run_newest_weights (graph->run, error);
      if (newest == NULL)
        return NULL;
    }
  predictor = loom_predictor_new (graph->graph, &options, error);
  if (predictor == NULL)
    return NULL;
  self = g_new0 (GradloomPredictor, 1);
  self->predictor = predictor;
  return self;
}

void
gradloom_predictor_free (GradloomPredictor *predictor)
{
  if (predictor == NULL)
    return;
  loom_predictor_free (predictor->predictor);
  g_free (predictor);
}

/* TRUE if samples [n, …] have the shape of the net's input. A text may be shorter. */
static gboolean
check_samples (const LoomPredictor *predictor, const LoomTensor *samples, GError **error)
{
  const LoomShape *want = &loom_predictor_input (predictor)->shape;
  const LoomShape have = loom_tensor_shape (samples);
  gboolean fits = samples->rank == want->rank && samples->rank > 0 && samples->dim[0] > 0;

  for (int i = 1; fits && i < want->rank; i++)
    fits = loom_predictor_reads_text (predictor)
               ? samples->dim[i] > 0
               : loom_dim_is_known (want->dim[i]) && want->dim[i].coef == samples->dim[i];
  if (fits)
    return TRUE;
  g_autofree char *wanted = loom_shape_to_string (want), *got = loom_shape_to_string (&have);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "Samples are %s, but the net reads %s.", got, wanted);
  return FALSE;
}

GradloomTensor *
answers_tensor (const GPtrArray *answers, GradloomAnswer *kind, GError **error)
{
  const LoomAnswer *first = answers->pdata[0];
  const gint64 size = first->n_positions * first->n_classes;
  LoomTensor *tensor
      = loom_tensor_new (LOOM_F64, 3, (gint64[]){ answers->len, first->n_positions, first->n_classes }, error);

  for (guint i = 0; tensor != NULL && i < answers->len; i++)
    {
      const LoomAnswer *answer = answers->pdata[i];

      g_assert (answer->n_positions * answer->n_classes == size);
      memcpy ((double *)tensor->data + i * size, answer->value, (gsize)size * sizeof (double));
    }
  if (kind != NULL)
    *kind = (GradloomAnswer)first->kind;
  return tensor_for (tensor);
}

GradloomTensor *
gradloom_predict (GradloomPredictor *predictor, const GradloomTensor *samples, GradloomAnswer *kind, GError **error)
{
  const LoomTensor *all = tensor_of (samples);
  LoomPredictor *p = predictor->predictor;
  g_autoptr (LoomTensor) converted = NULL;
  g_autoptr (GPtrArray) one = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref), answers = NULL;

  if (loom_predictor_writes (p))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "This net writes token by token, which gradloom_predict() does not. Use gradloom generate.");
      return NULL;
    }
  if (!check_samples (p, all, error))
    return NULL;
  converted = loom_tensor_convert (all, loom_predictor_input (p)->dtype, FALSE, error);
  if (converted == NULL)
    return NULL;
  const gsize bytes = converted->bytes / (gsize)all->dim[0];
  for (gint64 i = 0; i < all->dim[0]; i++)
    {
      LoomTensor *sample = loom_tensor_new (converted->dtype, all->rank - 1, all->dim + 1, error);

      if (sample == NULL)
        return NULL;
      memcpy (sample->data, (const char *)converted->data + (gsize)i * bytes, bytes);
      g_ptr_array_add (one, sample);
    }
  answers = loom_predictor_run (p, (LoomTensor *const *)one->pdata, one->len, error);
  return answers != NULL ? answers_tensor (answers, kind, error) : NULL;
}

const char *
gradloom_predictor_class_name (const GradloomPredictor *predictor, gint64 n, gint64 class_index)
{
  const char *const *names = loom_predictor_class_names (predictor->predictor, n);

  return names != NULL && class_index >= 0 && class_index < n ? names[class_index] : NULL;
}
