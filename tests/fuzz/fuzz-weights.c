/* Arbitrary bytes as a file of weights of any format, and as a pickle. */
#include "tests/fuzz/fuzz-weights.h"

#include "engine/core/loom-error.h"
#include "engine/interop/loom-weights.h"
#include "engine/interop/pickle.h"

#include <string.h>

#define MOST_ELEMENTS (1 << 16) /* of a tensor that is read */

static void
check_error (const GError *error)
{
  g_assert_nonnull (error);
  g_assert_true (error->domain == LOOM_ERROR);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  g_assert_cmpuint (strlen (error->message), >, 10);
}

static void
read_tensors (LoomTensorFile *file)
{
  for (guint i = 0; i < loom_tensor_file_count (file); i++)
    {
      const LoomType type = loom_tensor_file_type (file, i);
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomTensor) t = NULL;

      g_assert_true (g_utf8_validate (loom_tensor_file_name (file, i), -1, NULL));
      if (loom_dim_value (loom_shape_count (&type.shape), NULL) > MOST_ELEMENTS)
        continue;
      t = loom_tensor_file_tensor (file, i, &error);
      if (t == NULL)
        check_error (error);
    }
}

void
fuzz_weights (const guint8 *data, gsize size)
{
  static const char *const names[] = { "fc.weight" };
  /* A copy of this length shows reads beyond the end. */
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);
  g_autoptr (GError) error = NULL, other = NULL;
  g_autoptr (LoomTensorFile) file = loom_tensor_file_open_bytes (bytes, "fuzz", &error);
  g_autoptr (Pickle) pickle
      = pickle_read (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), size, NULL, "fuzz", &other);

  if (file == NULL)
    check_error (error);
  else
    {
      g_free (loom_weights_fit_names (file, names, G_N_ELEMENTS (names)));
      read_tensors (file);
    }
  if (pickle == NULL)
    check_error (other);
}
