/* Reads the tensors of a GGUF file (llama.cpp), versions 2 and 3, in F32, F16, BF16, Q8_0 and integers.
 *
 * The file: magic, version, numbers of tensors and of keys; the keys with values; for each tensor its name, sizes (the
 * fastest first), type and offset; padding; the data. The format: ggml/docs/gguf.md. */
#include "engine/interop/tensor-file-private.h"

#include <string.h>

enum
{
  U32 = 4,
  TEXT = 8,
  ARRAY = 9
};

/* The bytes of a value of each type; 0: its length is stored. */
static const guint8 value_bytes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

static const struct
{
  guint type;
  const char *encoding, *name;
} types[] = {
  { 0, "F32", NULL },   { 1, "F16", NULL },   { 30, "BF16", NULL }, { 28, "F64", NULL },  { 24, "I8", NULL },
  { 25, "I16", NULL },  { 26, "I32", NULL },  { 27, "I64", NULL },  { 2, NULL, "Q4_0" },  { 3, NULL, "Q4_1" },
  { 6, NULL, "Q5_0" },  { 7, NULL, "Q5_1" },  { 9, NULL, "Q8_1" },  { 10, NULL, "Q2_K" }, { 11, NULL, "Q3_K" },
  { 12, NULL, "Q4_K" }, { 13, NULL, "Q5_K" }, { 14, NULL, "Q6_K" }, { 15, NULL, "Q8_K" }, { 39, NULL, "MXFP4" },
};

typedef struct
{
  const guint8 *p, *end;
} Cursor;

static gboolean
take (Cursor *c, int n, guint64 *number)
{
  *number = 0;
  if (c->end - c->p < n)
    return FALSE;
  for (int i = 0; i < n; i++)
    *number |= (guint64)c->p[i] << (8 * i);
  c->p += n;
  return TRUE;
}

static gboolean
skip (Cursor *c, guint64 n)
{
  if (n > (guint64)(c->end - c->p))
    return FALSE;
  c->p += n;
  return TRUE;
}

static const char *
take_text (Cursor *c, gsize *n)
{
  const char *text;
  guint64 length;

  if (!take (c, 8, &length) || length > (guint64)(c->end - c->p))
    return NULL;
  text = (const char *)c->p;
  c->p += length;
  *n = (gsize)length;
  return text;
}

static gboolean
skip_value (Cursor *c, guint64 type)
{
  guint64 of, n, bytes;
  gsize length;

  if (type == TEXT)
    return take_text (c, &length) != NULL;
  if (type != ARRAY)
    return type < G_N_ELEMENTS (value_bytes) && skip (c, value_bytes[type]);
  if (!take (c, 4, &of) || !take (c, 8, &n) || of >= G_N_ELEMENTS (value_bytes) || of == ARRAY)
    return FALSE;
  if (of != TEXT)
    return !__builtin_mul_overflow (n, value_bytes[of], &bytes) && skip (c, bytes);
  for (guint64 i = 0; i < n; i++)
    if (take_text (c, &length) == NULL)
      return FALSE;
  return TRUE;
}

/* Passes over the keys but for the alignment. */
static gboolean
read_keys (Cursor *c, guint64 n, guint64 *alignment)
{
  static const char wanted[] = "general.alignment";

  for (guint64 i = 0; i < n; i++)
    {
      gsize length;
      const char *key = take_text (c, &length);
      guint64 type;

      if (key == NULL || !take (c, 4, &type))
        return FALSE;
      if (type == U32 && length == strlen (wanted) && memcmp (key, wanted, length) == 0
              ? !take (c, 4, alignment) || *alignment == 0 || *alignment > 1 << 20
              : !skip_value (c, type))
        return FALSE;
    }
  return TRUE;
}

static void
set_type (TensorEntry *entry, guint64 type)
{
  if (type == 8)
    entry->encoding = &tensor_encoding_q8_0;
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (types[i].type == type && types[i].encoding != NULL)
      entry->encoding = tensor_encoding_named (types[i].encoding);
    else if (types[i].type == type)
      entry->unread = g_strdup (types[i].name);
  if (entry->encoding == NULL && entry->unread == NULL)
    entry->unread = g_strdup_printf ("GGUF type %" G_GUINT64_FORMAT, type);
}

static gboolean
read_tensor (LoomTensorFile *self, Cursor *c, guint source, GError **error)
{
  gsize length;
  const char *text = take_text (c, &length);
  guint64 rank, size[LOOM_SHAPE_MAX_RANK], type, offset;
  g_autofree char *name = NULL;
  TensorEntry *entry;

  if (text == NULL || !g_utf8_validate (text, (gssize)length, NULL) || !take (c, 4, &rank)
      || rank > LOOM_SHAPE_MAX_RANK)
    return loom_file_refuse (self->path, error, "is a truncated or damaged GGUF file");
  name = g_strndup (text, length);
  for (guint64 d = 0; d < rank; d++)
    if (!take (c, 8, &size[d]) || size[d] > G_MAXINT64)
      return loom_file_refuse (self->path, error, "is a truncated or damaged GGUF file at tensor “%s”", name);
  if (!take (c, 4, &type) || !take (c, 8, &offset))
    return loom_file_refuse (self->path, error, "is a truncated or damaged GGUF file at tensor “%s”", name);
  entry = tensor_entry_new (name);
  entry->rank = (int)rank;
  for (guint64 d = 0; d < rank; d++)
    entry->dim[d] = (gint64)size[rank - 1 - d];
  set_type (entry, type);
  entry->source = source;
  entry->offset = (gsize)offset;
  return tensor_file_add (self, entry, error);
}

gboolean
read_gguf (LoomTensorFile *self, GBytes *bytes, GError **error)
{
  gsize length;
  const guint8 *data = g_bytes_get_data (bytes, &length);
  Cursor c = { data + 4, data + length };
  guint64 version, n_tensors, n_keys, alignment = 32, start;
  const guint source = tensor_file_add_source (self, bytes, 0);

  if (!take (&c, 4, &version) || version < 2 || version > 3)
    return loom_file_refuse (self->path, error,
                             "is a GGUF file of a version that is not read; versions 2 and 3 are, little endian");
  if (!take (&c, 8, &n_tensors) || !take (&c, 8, &n_keys) || !read_keys (&c, n_keys, &alignment))
    return loom_file_refuse (self->path, error, "is a truncated or damaged GGUF file");
  for (guint64 i = 0; i < n_tensors; i++)
    if (!read_tensor (self, &c, source, error))
      return FALSE;
  start = ((guint64)(c.p - data) + alignment - 1) / alignment * alignment;
  for (guint i = 0; i < self->entries->len; i++)
    {
      TensorEntry *entry = self->entries->pdata[i];

      if (__builtin_add_overflow (entry->offset, start, &entry->offset))
        return loom_file_refuse (self->path, error, "is a damaged GGUF file at tensor “%s”", entry->name);
    }
  return TRUE;
}
