#include "tests/onnx/onnx-bytes.h"

#include <string.h>

static void
put_varint (GByteArray *b, guint64 value)
{
  do
    {
      guint8 byte = (guint8)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
      g_byte_array_append (b, &byte, 1);
      value >>= 7;
    }
  while (value > 0);
}

void
put_int (GByteArray *b, guint field, gint64 value)
{
  put_varint (b, field << 3);
  put_varint (b, (guint64)value);
}

void
put_bytes (GByteArray *b, guint field, const void *data, gsize length)
{
  put_varint (b, field << 3 | 2);
  put_varint (b, length);
  g_byte_array_append (b, data, (guint)length);
}

void
put_text (GByteArray *b, guint field, const char *text)
{
  put_bytes (b, field, text, strlen (text));
}

void
put_part (GByteArray *b, guint field, GByteArray *part)
{
  put_bytes (b, field, part->data, part->len);
  g_byte_array_unref (part);
}

GByteArray *
tensor (const char *name, guint n, const gint64 *announced, guint count, float value)
{
  GByteArray *t = g_byte_array_new ();
  g_autofree float *data = g_new (float, MAX (count, 1));

  for (guint i = 0; i < n; i++)
    put_int (t, 1, announced[i]);
  put_int (t, 2, 1);
  for (guint i = 0; i < count; i++)
    data[i] = value + (float)i;
  put_text (t, 8, name);
  put_bytes (t, 9, data, count * sizeof (float));
  return t;
}

GByteArray *
numbers (const char *name, guint rank, guint n, const gint64 *values)
{
  GByteArray *t = g_byte_array_new ();

  if (rank == 1)
    put_int (t, 1, n);
  put_int (t, 2, 7);
  for (guint i = 0; i < n; i++)
    put_int (t, 7, values[i]);
  put_text (t, 8, name);
  return t;
}

GByteArray *
typed_port (const char *name, int elem_type, guint n, const gint64 *dims)
{
  GByteArray *info = g_byte_array_new (), *type = g_byte_array_new (), *of = g_byte_array_new (),
             *shape = g_byte_array_new ();

  for (guint i = 0; i < n; i++)
    {
      GByteArray *dim = g_byte_array_new ();
      if (dims[i] < 0)
        put_text (dim, 2, "batch");
      else
        put_int (dim, 1, dims[i]);
      put_part (shape, 1, dim);
    }
  put_int (of, 1, elem_type);
  put_part (of, 2, shape);
  put_part (type, 1, of);
  put_text (info, 1, name);
  put_part (info, 2, type);
  return info;
}

GByteArray *
port (const char *name, guint n, const gint64 *dims)
{
  return typed_port (name, 1, n, dims);
}

GByteArray *
node (const char *op, const char *name, const char *inputs, const char *outputs)
{
  GByteArray *n = g_byte_array_new ();
  g_auto (GStrv) in = g_strsplit (inputs, " ", -1), out = g_strsplit (outputs, " ", -1);

  for (guint i = 0; in[i] != NULL; i++)
    put_text (n, 1, in[i]);
  for (guint i = 0; out[i] != NULL; i++)
    put_text (n, 2, out[i]);
  put_text (n, 3, name);
  put_text (n, 4, op);
  return n;
}

void
put_attribute (GByteArray *n, const char *name, gint64 value)
{
  GByteArray *a = g_byte_array_new ();

  put_text (a, 1, name);
  put_int (a, 3, value);
  put_int (a, 20, 2);
  put_part (n, 5, a);
}

void
put_attribute_text (GByteArray *n, const char *name, const char *value)
{
  GByteArray *a = g_byte_array_new ();

  put_text (a, 1, name);
  put_text (a, 4, value);
  put_int (a, 20, 3);
  put_part (n, 5, a);
}

void
put_attribute_graph (GByteArray *n, const char *name, GByteArray *graph)
{
  GByteArray *a = g_byte_array_new ();

  put_text (a, 1, name);
  put_part (a, 6, graph);
  put_int (a, 20, 5);
  put_part (n, 5, a);
}

GByteArray *
model (GByteArray *graph, gint64 opset)
{
  GByteArray *m = g_byte_array_new (), *set = g_byte_array_new ();

  put_int (m, 1, 8);
  put_part (m, 7, graph);
  put_text (set, 1, "");
  put_int (set, 2, opset);
  put_part (m, 8, set);
  return m;
}
