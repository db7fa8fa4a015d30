#include "tests/onnx/onnx-reading.h"

#include <string.h>

#include "engine/onnx/loom-onnx.h"
#include "tests/onnx/onnx-bytes.h"

GByteArray *
classifier (const gint64 *weight_dims, const char *last)
{
  static const gint64 image[] = { -1, 1, 2, 2 }, scores[] = { -1, 3 }, bias[] = { 3 };
  GByteArray *g = g_byte_array_new (), *gemm = node ("Gemm", "/fc/Gemm", "flat w b", "y");

  put_attribute (gemm, "transB", 1);
  put_part (g, 1, node ("Flatten", "", "image", "flat"));
  put_part (g, 1, gemm);
  put_part (g, 1, node (last, "/act", "y", "scores"));
  put_text (g, 2, "classifier");
  put_part (g, 5, tensor ("w", 2, weight_dims, 12, 0.5f));
  put_part (g, 5, tensor ("b", 1, bias, 3, 0));
  put_part (g, 11, port ("image", 4, image));
  put_part (g, 12, port ("scores", 2, scores));
  return g;
}

char *
sentence (GByteArray *bytes)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, &error);

  g_byte_array_unref (bytes);
  if (read)
    return NULL;
  if (error == NULL)
    loom_faults_to_error (faults, NULL, &error);
  g_assert_nonnull (error);
  return g_strdup (error->message);
}

void
expect (GByteArray *bytes, const char *part)
{
  g_autofree char *said = sentence (bytes);

  g_assert_nonnull (said);
  if (strstr (said, part) == NULL)
    g_error ("“%s” does not say “%s”", said, part);
}

char *
written (GByteArray *bytes)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, &error);

  g_byte_array_unref (bytes);
  if (read == NULL && error == NULL)
    loom_faults_to_error (faults, NULL, &error);
  g_assert_no_error (error);
  return loom_graph_write (read->graph, NULL);
}

GByteArray *
single (GByteArray *n)
{
  static const gint64 dims[] = { 1, 4, 4, 4 };
  GByteArray *g = g_byte_array_new ();

  put_part (g, 1, n);
  put_part (g, 11, port ("x", 4, dims));
  put_part (g, 12, port ("y", 4, dims));
  return g;
}

void
put_list (GByteArray *n, const char *name, const gint64 *values, guint count, const char *text)
{
  GByteArray *a = g_byte_array_new ();

  put_text (a, 1, name);
  for (guint i = 0; i < count; i++)
    if (text != NULL)
      put_text (a, 9, text);
    else
      put_int (a, 8, values[i]);
  put_int (a, 20, text != NULL ? 8 : 7);
  put_part (n, 5, a);
}
