/* Reads and writes NumPy's array files.
 *
 * The header is a Python dictionary. A parser for just the literals that NumPy writes is shorter than any library and
 * cannot execute anything. Sizes are checked against the file before memory is allocated. */
#include "engine/interop/loom-npy.h"

#include <string.h>

#include "engine/core/loom-file.h"
#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/interop/loom-file-kind.h"
#include "engine/interop/npy-private.h"

#define MAGIC        "\x93NUMPY"
#define MAGIC_LENGTH 6
/* NumPy writes headers of about a hundred bytes and warns above 10,000. */
#define MAX_HEADER 65536
/* Maximum number of bytes that are read from a pipe. */
#define MAX_STREAM 2000000000

/* The storage of an element: NumPy's kind letter and size. */
typedef struct
{
  char kind;
  guint8 size;
  LoomDType dtype;
  gboolean widened; /* the stored type is smaller than the tensor's, or differs from it */
  const char *encoding;
} Storage;

static const Storage storages[] = {
  { 'f', 8, LOOM_F64, FALSE, "F64" },  { 'f', 4, LOOM_F32, FALSE, "F32" }, { 'f', 2, LOOM_F16, FALSE, "F16" },
  { 'i', 8, LOOM_I64, FALSE, "I64" },  { 'i', 4, LOOM_I32, FALSE, "I32" }, { 'u', 1, LOOM_U8, FALSE, "U8" },
  { 'b', 1, LOOM_BOOL, TRUE, "BOOL" }, { 'i', 1, LOOM_I64, TRUE, "I8" },   { 'i', 2, LOOM_I64, TRUE, "I16" },
  { 'u', 2, LOOM_I64, TRUE, "U16" },   { 'u', 4, LOOM_I64, TRUE, "U32" },  { 'u', 8, LOOM_I64, TRUE, "U64" },
};

typedef struct
{
  const Storage *storage;
  gboolean fortran;
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  gsize data_offset;
} Header;

typedef struct
{
  const char *p, *end;
  const char *name;
} Parser;

static gboolean
damaged (const char *name, GError **error)
{
  return loom_file_refuse (name, error, "has a damaged npy header; write it again with numpy.save");
}

static void
skip_blanks (Parser *self)
{
  while (self->p < self->end && (*self->p == ' ' || *self->p == '\n'))
    self->p++;
}

static gboolean
accept (Parser *self, const char *word)
{
  gsize n = strlen (word);

  skip_blanks (self);
  if ((gsize)(self->end - self->p) < n || memcmp (self->p, word, n) != 0)
    return FALSE;
  self->p += n;
  return TRUE;
}

/* Parses a quoted string without escapes; NULL if there is none here. */
static char *
parse_string (Parser *self)
{
  const char *start;
  char quote;

  skip_blanks (self);
  if (self->p == self->end || (*self->p != '\'' && *self->p != '"'))
    return NULL;
  quote = *self->p++;
  start = self->p;
  while (self->p < self->end && *self->p != quote)
    self->p++;
  if (self->p == self->end)
    return NULL;
  return g_strndup (start, self->p++ - start);
}

static gboolean
parse_shape (Parser *self, Header *header, GError **error)
{
  if (!accept (self, "("))
    return damaged (self->name, error);
  while (!accept (self, ")"))
    {
      gint64 n = 0;

      skip_blanks (self);
      if (self->p == self->end || !g_ascii_isdigit (*self->p))
        return damaged (self->name, error);
      if (header->rank == LOOM_SHAPE_MAX_RANK)
        return loom_file_refuse (self->name, error, "has more than %d dimensions", LOOM_SHAPE_MAX_RANK);
      for (; self->p < self->end && g_ascii_isdigit (*self->p); self->p++)
        {
          if (__builtin_mul_overflow (n, 10, &n) || __builtin_add_overflow (n, *self->p - '0', &n))
            return damaged (self->name, error);
        }
      /* Python 2 wrote long integers as 3L. */
      accept (self, "L");
      header->dim[header->rank++] = n;
      if (!accept (self, ",") && (skip_blanks (self), self->p == self->end || *self->p != ')'))
        return damaged (self->name, error);
    }
  return TRUE;
}

static gboolean
parse_descr (Parser *self, Header *header, GError **error)
{
  g_autofree char *descr = parse_string (self);

  if (descr == NULL && (self->p == self->end || *self->p != '['))
    return damaged (self->name, error);
  if (descr == NULL)
    return loom_file_refuse (self->name, error, "holds records with fields; save each field as a separate array");
  if (descr[0] == '>')
    return loom_file_refuse (self->name, error, "is big endian (%s); save it as little endian, with .astype('<%s')",
                             descr, descr + 1);
  if (strlen (descr) == 3 && (descr[0] == '<' || descr[0] == '|'))
    {
      for (gsize i = 0; i < G_N_ELEMENTS (storages); i++)
        {
          if (descr[1] == storages[i].kind && descr[2] - '0' == storages[i].size)
            header->storage = &storages[i];
        }
    }
  if (header->storage == NULL)
    return loom_file_refuse (self->name, error,
                             "has elements of type “%s”; only floats (f8, f4, f2), integers and bool are supported",
                             descr);
  return TRUE;
}

static gboolean
parse_dictionary (Parser *self, Header *header, GError **error)
{
  gboolean has_descr = FALSE, has_order = FALSE, has_shape = FALSE;

  if (!accept (self, "{"))
    return damaged (self->name, error);
  while (!accept (self, "}"))
    {
      g_autofree char *key = parse_string (self);
      gboolean *seen;

      if (key == NULL || !accept (self, ":"))
        return damaged (self->name, error);
      if (g_str_equal (key, "descr"))
        {
          seen = &has_descr;
          if (!parse_descr (self, header, error))
            return FALSE;
        }
      else if (g_str_equal (key, "fortran_order"))
        {
          seen = &has_order;
          header->fortran = accept (self, "True");
          if (!header->fortran && !accept (self, "False"))
            return damaged (self->name, error);
        }
      else if (g_str_equal (key, "shape"))
        {
          seen = &has_shape;
          if (!*seen && !parse_shape (self, header, error))
            return FALSE;
        }
      else
        return damaged (self->name, error);
      if (*seen)
        return damaged (self->name, error);
      *seen = TRUE;
      if (!accept (self, ",") && (skip_blanks (self), self->p == self->end || *self->p != '}'))
        return damaged (self->name, error);
    }
  return (has_descr && has_order && has_shape) || damaged (self->name, error);
}

static gboolean
parse_header (const guint8 *data, gsize length, const char *name, Header *header, GError **error)
{
  Parser parser = { .name = name };
  gsize header_length, start;

  g_autofree char *other = loom_file_kind_words (data, length, LOOM_FILE_ARRAY);

  memset (header, 0, sizeof *header);
  if (other != NULL)
    return loom_file_refuse (name, error, "%s", other);
  if (length < MAGIC_LENGTH + 2 || memcmp (data, MAGIC, MAGIC_LENGTH) != 0)
    return loom_file_refuse (name, error,
                             "is not an npy file (its first bytes are not \\x93NUMPY); write it with numpy.save");
  if (data[6] < 1 || data[6] > 3)
    return loom_file_refuse (name, error, "is an npy file of version %d; only versions 1 to 3 are supported", data[6]);
  start = data[6] == 1 ? 10 : 12;
  if (length < start)
    return loom_file_refuse (name, error, "is truncated: it ends inside the npy header");
  header_length = data[8] | (gsize)data[9] << 8;
  if (data[6] != 1)
    header_length |= (gsize)data[10] << 16 | (gsize)data[11] << 24;
  if (header_length > MAX_HEADER)
    return damaged (name, error);
  if (header_length > length - start)
    return loom_file_refuse (name, error, "is truncated: it ends inside the npy header");
  parser.p = (const char *)data + start;
  parser.end = parser.p + header_length;
  header->data_offset = start + header_length;
  /* Errors quote parts of the header, so it must be UTF-8. */
  if (!g_utf8_validate (parser.p, header_length, NULL))
    return damaged (name, error);
  return parse_dictionary (&parser, header, error);
}

gboolean
npy_read_header (const guint8 *data, gsize length, const char *name, NpyHeader *header, GError **error)
{
  Header own;

  if (!parse_header (data, length, name, &own, error))
    return FALSE;
  *header = (NpyHeader){
    .encoding = own.storage->encoding, .fortran = own.fortran, .rank = own.rank, .data_offset = own.data_offset
  };
  memcpy (header->dim, own.dim, sizeof header->dim);
  return TRUE;
}

static gint64
load_integer (const guint8 *p, const Storage *storage)
{
  guint64 bits = 0;
  int unused = 64 - 8 * storage->size;

  for (int i = 0; i < storage->size; i++)
    bits |= (guint64)p[i] << (8 * i);
  if (storage->kind == 'b')
    return bits != 0;
  /* Extends the sign: shifts it to the highest bit and back. */
  return storage->kind == 'i' ? (gint64)(bits << unused) >> unused : (gint64)bits;
}

/* Converts stored element `from` to element `to` of t. */
static void
store_element (LoomTensor *t, gint64 to, const guint8 *data, gint64 from, const Storage *storage)
{
  const guint8 *p = data + from * storage->size;

  if (!storage->widened)
    memcpy ((guint8 *)t->data + to * storage->size, p, storage->size);
  else if (t->dtype == LOOM_BOOL)
    ((guint8 *)t->data)[to] = *p != 0;
  else
    ((gint64 *)t->data)[to] = load_integer (p, storage);
}

static void
store_fortran (LoomTensor *t, const guint8 *data, const Storage *storage)
{
  gint64 stride[LOOM_SHAPE_MAX_RANK], index[LOOM_SHAPE_MAX_RANK] = { 0 }, from = 0;

  for (int d = 0; d < t->rank; d++)
    stride[d] = d == 0 ? 1 : stride[d - 1] * t->dim[d - 1];
  for (gint64 to = 0; to < t->count; to++)
    {
      store_element (t, to, data, from, storage);
      for (int d = t->rank - 1; d >= 0; d--)
        {
          from += stride[d];
          if (++index[d] < t->dim[d])
            break;
          from -= stride[d] * t->dim[d];
          index[d] = 0;
        }
    }
}

/* whole: the owner of the bytes, if the tensor may refer to them; else NULL. */
static LoomTensor *
parse_array (const void *data, gsize length, const char *name, GBytes *whole, GError **error)
{
  g_autoptr (LoomTensor) t = NULL;
  Header header;
  const guint8 *elements;
  gint64 bytes;
  gsize available;

  if (!parse_header (data, length, name, &header, error))
    return NULL;
  elements = (const guint8 *)data + header.data_offset;
  available = length - header.data_offset;
  bytes = header.storage->size;
  for (int d = 0; d < header.rank; d++)
    {
      if (__builtin_mul_overflow (bytes, header.dim[d], &bytes))
        {
          damaged (name, error);
          return NULL;
        }
    }
  if ((guint64)bytes > available)
    {
      loom_file_refuse (name, error,
                        "is truncated: by its header it has %" G_GINT64_FORMAT
                        " bytes of numbers, but it contains %" G_GSIZE_FORMAT,
                        bytes, available);
      return NULL;
    }
  if (header.storage->kind == 'u' && header.storage->size == 8)
    {
      for (gsize i = 0; i < (gsize)bytes; i += 8)
        {
          if (elements[i + 7] & 0x80)
            {
              loom_file_refuse (name, error,
                                "holds unsigned integers that are too large for i64, the first as element %u",
                                (guint)(i / 8));
              return NULL;
            }
        }
    }

  if (whole != NULL && !header.storage->widened && (!header.fortran || header.rank <= 1)
      && header.data_offset % header.storage->size == 0)
    return loom_tensor_new_from_bytes (header.storage->dtype, header.rank, header.dim, whole, header.data_offset);
  t = loom_tensor_new (header.storage->dtype, header.rank, header.dim, error);
  if (t == NULL)
    return NULL;
  if (header.fortran && header.rank > 1)
    store_fortran (t, elements, header.storage);
  else if (!header.storage->widened)
    memcpy (t->data, elements, t->bytes);
  else
    {
      for (gint64 i = 0; i < t->count; i++)
        store_element (t, i, elements, i, header.storage);
    }
  return g_steal_pointer (&t);
}

LoomTensor *
loom_npy_parse (const void *data, gsize length, const char *name, GError **error)
{
  return parse_array (data, length, name, NULL, error);
}

LoomTensor *
loom_npy_load (const char *path, GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree char *content = NULL;
  gsize length;

  g_return_val_if_fail (path != NULL, NULL);

  if (loom_path_is_file (path))
    {
      g_autoptr (GMappedFile) mapped = loom_file_map (path, error);
      g_autoptr (GBytes) bytes = mapped != NULL ? g_mapped_file_get_bytes (mapped) : NULL;

      if (bytes == NULL)
        return NULL;
      length = g_bytes_get_size (bytes);
      return parse_array (g_bytes_get_data (bytes, NULL), length, path, length > LOOM_NPY_MAPPED ? bytes : NULL, error);
    }
  /* A pipe cannot be mapped. If the file is missing, this reports the error. */
  if (!loom_file_read (path, MAGIC, MAX_STREAM, &content, &length, &cause))
    return loom_refuse_null (error, loom_file_error_code (cause), "“%s” cannot be read: %s.", path, cause->message);
  if (length > MAX_STREAM)
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "“%s” is a pipe or a device with more than 2 GB of data; save them in a file first.",
                             path);
  return loom_npy_parse (content, length, path, error);
}

gboolean
loom_npy_describe (const char *path, LoomType *type, GError **error)
{
  g_autoptr (GMappedFile) mapped = NULL;
  Header header;

  g_return_val_if_fail (path != NULL && type != NULL, FALSE);

  mapped = loom_file_map (path, error);
  if (mapped == NULL)
    return FALSE;
  if (!parse_header ((const guint8 *)g_mapped_file_get_contents (mapped), g_mapped_file_get_length (mapped), path,
                     &header, error))
    return FALSE;
  type->dtype = header.storage->dtype;
  type->shape = loom_shape (header.rank, header.dim);
  return TRUE;
}

gboolean
loom_npy_save (const char *path, const LoomTensor *t, GError **error)
{
  static const char *const descr[LOOM_N_DTYPES] = {
    [LOOM_F64] = "<f8", [LOOM_F32] = "<f4", [LOOM_F16] = "<f2", [LOOM_BF16] = "<f4",
    [LOOM_I64] = "<i8", [LOOM_I32] = "<i4", [LOOM_U8] = "|u1",  [LOOM_BOOL] = "|b1",
  };
  g_autoptr (LoomAtomicFile) file = NULL;
  g_autoptr (LoomTensor) widened = NULL;
  g_autoptr (GString) header = g_string_new (NULL);
  guint8 prefix[10] = MAGIC "\x01";

  g_return_val_if_fail (path != NULL && t != NULL, FALSE);

  g_string_append_printf (header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr[t->dtype]);
  for (int d = 0; d < t->rank; d++)
    g_string_append_printf (header, "%s%" G_GINT64_FORMAT, d > 0 ? ", " : "", t->dim[d]);
  g_string_append (header, t->rank == 1 ? ",), }" : "), }");
  /* The format requires the numbers to begin at a multiple of 64. */
  while ((sizeof prefix + header->len + 1) % 64 != 0)
    g_string_append_c (header, ' ');
  g_string_append_c (header, '\n');
  prefix[8] = header->len & 0xff;
  prefix[9] = header->len >> 8;

  if (t->dtype == LOOM_BF16)
    {
      widened = loom_tensor_convert (t, LOOM_F32, FALSE, error);
      if (widened == NULL)
        return FALSE;
      t = widened;
    }
  file = loom_atomic_file_new (NULL, path, error);
  return file != NULL && loom_atomic_file_write (file, prefix, sizeof prefix, error)
         && loom_atomic_file_write (file, header->str, header->len, error)
         && loom_atomic_file_write (file, t->data, t->bytes, error) && loom_atomic_file_commit (file, error);
}
