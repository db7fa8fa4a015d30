/* Formats attribute values: numbers, lists and dimensions in the graph's notation. */
#include "engine/onnx/onnx-private.h"

#include <math.h>
#include <string.h>

const char *
onnx_text (OnnxCtx *c, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  return g_string_chunk_insert (c->all->pool, text);
}

/* The shortest text from which a float, or else a double, is read as the same number: 0.1, not 0.100000001. Whole
 * numbers are written with all digits, since they may be integers. */
const char *
onnx_number (OnnxCtx *c, double x)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  gboolean whole = fabs (x) <= (double)ONNX_MAX_WHOLE && x == floor (x);

  if (whole)
    return onnx_text (c, "%.0f", x);
  for (int digits = 1; digits <= 17; digits++)
    {
      g_autofree char *format = g_strdup_printf ("%%.%dg", digits);
      double back;

      g_ascii_formatd (buffer, sizeof buffer, format, x);
      back = g_ascii_strtod (buffer, NULL);
      if (back == x || ((double)(float)x == x && (float)back == (float)x))
        break;
    }
  return onnx_text (c, "%s", buffer);
}

const char *
onnx_list (OnnxCtx *c, guint n, const gint64 *values)
{
  g_autoptr (GString) s = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (s, "%s%" G_GINT64_FORMAT, i ? "," : "", values[i]);
  return onnx_text (c, "%s", s->str);
}

const char *
onnx_dims (OnnxCtx *c, const LoomShape *shape)
{
  g_autofree char *text = loom_shape_to_attribute (shape);

  for (int i = 0; i < shape->rank; i++)
    if (loom_dim_is_unknown (shape->dim[i]))
      onnx_fail (c, "it needs a size that is known only when the model runs.");
  return onnx_text (c, "%s", text != NULL ? text : "");
}

const char *
onnx_dims_and_rest (OnnxCtx *c, const LoomShape *shape)
{
  g_autoptr (GString) s = g_string_new (NULL);
  int n_unknown = 0;

  for (int i = 0; i < shape->rank; i++)
    {
      LoomShape one = { .rank = 1, .dim = { shape->dim[i] } };
      gboolean unknown = loom_dim_is_unknown (shape->dim[i]);
      g_autofree char *text = unknown ? g_strdup ("-1") : loom_shape_to_attribute (&one);

      n_unknown += unknown;
      g_string_append_printf (s, "%s%s", i > 0 ? "," : "", text);
    }
  return n_unknown == 1 ? onnx_text (c, "%s", s->str) : onnx_dims (c, shape);
}
