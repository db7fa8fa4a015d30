/* Computes predictions for samples of a view: converts between the bus's arrays and the trainer's tensors. */
#include "app/worker/worker.h"

#include <string.h>

static const char *const kinds[] = {
  [LOOM_ANSWER_PROBABILITIES] = "probabilities",
  [LOOM_ANSWER_LOGITS] = "scores",
  [LOOM_ANSWER_YES] = "yes",
  [LOOM_ANSWER_VALUES] = "values",
};

LoomTensor *
worker_read_samples (GVariant *shape, GVariant *samples, GError **error)
{
  gsize rank, n_bytes;
  const gint64 *dim = g_variant_get_fixed_array (shape, &rank, sizeof (gint64));
  const guint8 *data = g_variant_get_fixed_array (samples, &n_bytes, 1);
  const gsize count = loom_dims_count (rank, dim, WORKER_MAX_VIEW_BYTES / sizeof (float));

  if (rank < 1 || rank > LOOM_SHAPE_MAX_RANK || count == 0 || count * sizeof (float) != n_bytes)
    {
      g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS,
                   "Samples must be f32, have the given shape, and at most 4 MiB.");
      return NULL;
    }
  LoomTensor *t = loom_tensor_new (LOOM_F32, (int)rank, dim, error);
  if (t != NULL)
    memcpy (t->data, data, n_bytes);
  return t;
}

/* LoomNamedTensor; NULL: one has a wrong number of bytes. */
static GPtrArray *
read_others (GVariant *others, GError **error)
{
  g_autoptr (GPtrArray) list = loom_named_tensors_new ();

  for (gsize i = 0; i < g_variant_n_children (others); i++)
    {
      g_autoptr (GVariant) shape = NULL, samples = NULL;
      const char *name;
      g_autoptr (LoomTensor) t = NULL;

      g_variant_get_child (others, i, "(&s@ax@ay)", &name, &shape, &samples);
      t = worker_read_samples (shape, samples, error);
      if (t == NULL)
        return NULL;
      g_ptr_array_add (list, loom_named_tensor_new (name, t));
    }
  return g_steal_pointer (&list);
}

static GPtrArray *
predict (LoomTrainer *trainer, GVariant *parameters, LoomTrainerMoment *moment, GError **error)
{
  g_autoptr (GVariant) shape = NULL, samples = NULL, others = NULL;
  g_autoptr (LoomTensor) input = NULL;
  g_autoptr (GPtrArray) more = NULL;

  g_variant_get (parameters, "(@ax@ay@a(saxay))", &shape, &samples, &others);
  input = worker_read_samples (shape, samples, error);
  more = input != NULL ? read_others (others, error) : NULL;
  return more != NULL ? loom_trainer_predict (trainer, input, more, moment, error) : NULL;
}

GVariant *
worker_predict (LoomTrainer *trainer, GVariant *parameters, GError **error)
{
  LoomTrainerMoment moment;
  g_autoptr (GPtrArray) answers = predict (trainer, parameters, &moment, error);

  if (answers == NULL)
    return NULL;
  const LoomAnswer *first = answers->pdata[0];
  const gint64 dim[] = { (gint64)answers->len, first->n_positions, first->n_classes };
  const gsize each = (gsize)(dim[1] * dim[2]), count = each * answers->len;
  if (count == 0 || count > WORKER_MAX_VIEW_BYTES / sizeof (float))
    {
      g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_LIMITS_EXCEEDED, "The predictions are larger than 4 MiB.");
      return NULL;
    }
  float *data = g_new (float, count);
  for (guint i = 0; i < answers->len; i++)
    for (gsize k = 0; k < each; k++)
      data[i * each + k] = (float)((const LoomAnswer *)answers->pdata[i])->value[k];
  GVariant *bytes = g_variant_new_from_data (G_VARIANT_TYPE ("ay"), data, count * sizeof (float), TRUE, g_free, data);
  return g_variant_new ("(xxds@ax@ay)", moment.step, moment.epoch, moment.seconds, kinds[first->kind],
                        g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, dim, G_N_ELEMENTS (dim), sizeof (gint64)),
                        bytes);
}
