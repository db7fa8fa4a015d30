/* Tensors and errors of the library; see gradloom.h. */
#include "engine/api/api-private.h"

#include <string.h>

G_STATIC_ASSERT ((int)GRADLOOM_F64 == (int)LOOM_F64);
G_STATIC_ASSERT ((int)GRADLOOM_F32 == (int)LOOM_F32);
G_STATIC_ASSERT ((int)GRADLOOM_F16 == (int)LOOM_F16);
G_STATIC_ASSERT ((int)GRADLOOM_BF16 == (int)LOOM_BF16);
G_STATIC_ASSERT ((int)GRADLOOM_I64 == (int)LOOM_I64);
G_STATIC_ASSERT ((int)GRADLOOM_I32 == (int)LOOM_I32);
G_STATIC_ASSERT ((int)GRADLOOM_U8 == (int)LOOM_U8);
G_STATIC_ASSERT ((int)GRADLOOM_BOOL == (int)LOOM_BOOL);
G_STATIC_ASSERT ((int)GRADLOOM_BOOL + 1 == (int)LOOM_N_DTYPES);
G_STATIC_ASSERT (GRADLOOM_MAX_RANK == LOOM_SHAPE_MAX_RANK);
/* Checks the first and the last code, and one in the middle that would move if another were inserted. */
G_STATIC_ASSERT ((int)GRADLOOM_ERROR_PARSE == (int)LOOM_ERROR_PARSE);
G_STATIC_ASSERT ((int)GRADLOOM_ERROR_DATA == (int)LOOM_ERROR_DATA);
G_STATIC_ASSERT ((int)GRADLOOM_ERROR_NAN == (int)LOOM_ERROR_NAN);
G_STATIC_ASSERT ((int)GRADLOOM_ERROR_OUTSIDE == (int)LOOM_ERROR_OUTSIDE);
G_STATIC_ASSERT ((int)GRADLOOM_PROBABILITIES == (int)LOOM_ANSWER_PROBABILITIES);
G_STATIC_ASSERT ((int)GRADLOOM_LOGITS == (int)LOOM_ANSWER_LOGITS);
G_STATIC_ASSERT ((int)GRADLOOM_YES == (int)LOOM_ANSWER_YES);
G_STATIC_ASSERT ((int)GRADLOOM_VALUES == (int)LOOM_ANSWER_VALUES);

const char *
gradloom_version (void)
{
  return LOOM_VERSION;
}

GQuark
gradloom_error_quark (void)
{
  return LOOM_ERROR;
}

GradloomTensor *
gradloom_tensor_new (GradloomType type, int rank, const gint64 *dims, const void *data, GError **error)
{
  LoomTensor *tensor;

  if ((int)type < 0 || (int)type >= LOOM_N_DTYPES || rank < 0 || rank > GRADLOOM_MAX_RANK)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "A tensor has a type of GradloomType and 0 to %d dimensions.",
                   GRADLOOM_MAX_RANK);
      return NULL;
    }
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0)
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "Dimension %d has the size %" G_GINT64_FORMAT ".", i,
                     dims[i]);
        return NULL;
      }
  tensor = loom_tensor_new ((LoomDType)type, rank, dims, error);
  if (tensor != NULL && data != NULL)
    memcpy (tensor->data, data, tensor->bytes);
  return tensor_for (tensor);
}

GradloomTensor *
gradloom_tensor_ref (GradloomTensor *tensor)
{
  return tensor_for (loom_tensor_ref (tensor_of (tensor)));
}

void
gradloom_tensor_unref (GradloomTensor *tensor)
{
  loom_tensor_unref (tensor_of (tensor));
}

GradloomType
gradloom_tensor_type (const GradloomTensor *tensor)
{
  return (GradloomType)tensor_of (tensor)->dtype;
}

int
gradloom_tensor_rank (const GradloomTensor *tensor)
{
  return tensor_of (tensor)->rank;
}

gint64
gradloom_tensor_dim (const GradloomTensor *tensor, int axis)
{
  g_return_val_if_fail (axis >= 0 && axis < tensor_of (tensor)->rank, 0);
  return tensor_of (tensor)->dim[axis];
}

gint64
gradloom_tensor_count (const GradloomTensor *tensor)
{
  return tensor_of (tensor)->count;
}

void *
gradloom_tensor_data (GradloomTensor *tensor)
{
  return tensor_of (tensor)->data;
}

double
gradloom_tensor_get (const GradloomTensor *tensor, gint64 i)
{
  g_return_val_if_fail (i >= 0 && i < tensor_of (tensor)->count, 0);
  return loom_tensor_get (tensor_of (tensor), i);
}
