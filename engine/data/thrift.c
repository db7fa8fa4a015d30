/* Reads Thrift's compact protocol ("thrift-compact-protocol.md" of Apache Thrift). Each length is checked against the
 * bytes that are left before anything is allocated: an element of a list takes at least one byte. */
#include "engine/data/thrift.h"

#include <string.h>

#define MAX_DEPTH 32

enum
{
  TRUE_VALUE = 1,
  FALSE_VALUE = 2,
  BYTE = 3,
  I64 = 6,
  DOUBLE = 7,
  BINARY = 8,
  LIST = 9,
  SET = 10,
  MAP = 11,
  STRUCT = 12
};

static gboolean
read_varint (ThriftReader *self, guint64 *value)
{
  *value = 0;
  for (int shift = 0; shift < 64 && self->p < self->end; shift += 7)
    {
      const guint8 byte = *self->p++;

      *value |= (guint64)(byte & 127) << shift;
      if (byte < 128)
        return TRUE;
    }
  return FALSE;
}

static gboolean
read_int (ThriftReader *self, int type, gint64 *value)
{
  guint64 raw;

  if (type == BYTE && self->p < self->end)
    {
      *value = (gint8)*self->p++;
      return TRUE;
    }
  if (type <= BYTE || type > I64 || !read_varint (self, &raw))
    return FALSE;
  *value = (gint64)(raw >> 1) ^ -(gint64)(raw & 1);
  return TRUE;
}

static gboolean
read_length (ThriftReader *self, gsize *n)
{
  guint64 value;

  if (!read_varint (self, &value) || value > (guint64)(self->end - self->p))
    return FALSE;
  *n = (gsize)value;
  return TRUE;
}

/* The number of elements of a list, and their type. */
static gboolean
read_list_head (ThriftReader *self, int *type, gsize *n)
{
  if (self->p == self->end)
    return FALSE;
  *type = *self->p & 15;
  *n = *self->p++ >> 4;
  return *n < 15 ? *n <= (gsize)(self->end - self->p) : read_length (self, n);
}

/* The head of the next field; *type 0: there is none. */
static gboolean
read_field_head (ThriftReader *self, gint64 *id, int *type)
{
  guint8 byte;

  if (self->p == self->end)
    return FALSE;
  byte = *self->p++;
  *type = byte & 15;
  if (byte >> 4 != 0)
    *id += byte >> 4;
  else if (*type != 0)
    return read_int (self, I64, id);
  return TRUE;
}

/* in_list: booleans take a byte there. */
static gboolean
skip (ThriftReader *self, int type, gboolean in_list, int depth)
{
  gint64 number, id = 0;
  int of, key;
  gsize n;

  if (depth > MAX_DEPTH)
    return FALSE;
  switch (type)
    {
    case TRUE_VALUE:
    case FALSE_VALUE:
      return !in_list || self->p++ < self->end;
    case DOUBLE:
    case BINARY:
      n = 8;
      if (type == BINARY && !read_length (self, &n))
        return FALSE;
      if (n > (gsize)(self->end - self->p))
        return FALSE;
      self->p += n;
      return TRUE;
    case LIST:
    case SET:
      if (!read_list_head (self, &of, &n))
        return FALSE;
      while (n > 0 && skip (self, of, TRUE, depth + 1))
        n--;
      return n == 0;
    case MAP:
      if (!read_length (self, &n) || (n > 0 && self->p == self->end))
        return FALSE;
      key = n > 0 ? *self->p >> 4 : 0;
      of = n > 0 ? *self->p++ & 15 : 0;
      while (n > 0 && skip (self, key, TRUE, depth + 1) && skip (self, of, TRUE, depth + 1))
        n--;
      return n == 0;
    case STRUCT:
      do
        if (!read_field_head (self, &id, &of))
          return FALSE;
      while (of != 0 && skip (self, of, FALSE, depth + 1));
      return of == 0;
    default:
      return read_int (self, type, &number);
    }
}

static gboolean
read_list (ThriftReader *self, int type, const ThriftField *field, GArray **out)
{
  gsize n;

  if (type != LIST || *out != NULL || !read_list_head (self, &type, &n) || (n > 0 && type != STRUCT))
    return FALSE;
  *out = g_array_new (FALSE, TRUE, (guint)field->size);
  for (gsize i = 0; i < n; i++)
    {
      g_array_set_size (*out, (guint)i + 1);
      if (!thrift_read (self, field->of, (*out)->data + i * field->size))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_text (ThriftReader *self, int type, char **out)
{
  gsize n;

  if (type != BINARY || *out != NULL || !read_length (self, &n) || memchr (self->p, 0, n) != NULL)
    return FALSE;
  *out = g_strndup ((const char *)self->p, n);
  self->p += n;
  return TRUE;
}

static gboolean
read_value (ThriftReader *self, int type, const ThriftField *field, gpointer out)
{
  switch (field->kind)
    {
    case THRIFT_INT:
      if (type != TRUE_VALUE && type != FALSE_VALUE)
        return read_int (self, type, out);
      *(gint64 *)out = type == TRUE_VALUE;
      return TRUE;
    case THRIFT_PRESENT:
      *(gint64 *)out = 1;
      return skip (self, type, FALSE, 0);
    case THRIFT_TEXT:
      return read_text (self, type, out);
    case THRIFT_STRUCT:
      return type == STRUCT && thrift_read (self, field->of, out);
    case THRIFT_LIST:
      return read_list (self, type, field, out);
    default:
      g_return_val_if_reached (FALSE);
    }
}

gboolean
thrift_read (ThriftReader *self, const ThriftField *fields, gpointer out)
{
  gint64 id = 0;
  int type;

  while (read_field_head (self, &id, &type))
    {
      const ThriftField *field = fields;

      if (type == 0)
        return TRUE;
      while (field->id != 0 && field->id != id)
        field++;
      if (field->id == 0 ? !skip (self, type, FALSE, 0) : !read_value (self, type, field, (char *)out + field->offset))
        return FALSE;
    }
  return FALSE;
}

void
thrift_clear (const ThriftField *fields, gpointer out)
{
  for (const ThriftField *field = fields; field->id != 0; field++)
    {
      gpointer at = (char *)out + field->offset;

      if (field->kind == THRIFT_TEXT)
        g_clear_pointer ((char **)at, g_free);
      else if (field->kind == THRIFT_STRUCT)
        thrift_clear (field->of, at);
      else if (field->kind == THRIFT_LIST && *(GArray **)at != NULL)
        {
          GArray *list = *(GArray **)at;

          for (guint i = 0; i < list->len; i++)
            thrift_clear (field->of, list->data + i * field->size);
          g_clear_pointer ((GArray **)at, g_array_unref);
        }
    }
}
