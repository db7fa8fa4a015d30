/* Reads the structure of an HDF5 file. Every address is checked before it is followed, each object is read once, and
 * the number of steps is bounded, so that groups that contain each other end. The format: "HDF5 File Format
 * Specification Version 3.0". */
#include "engine/interop/hdf5.h"

#include <string.h>

#include "engine/core/loom-file.h"

#define MAX_STEPS 20000000
#define MAX_DEPTH 32
#define MAX_NAME  1000
#define MAX_NAMES ((gsize)64 << 20) /* bytes of all paths */
#define NOWHERE   G_MAXUINT64       /* the address of what is not stored */

enum
{
  DATASPACE = 0x01,
  LINK_INFO = 0x02,
  DATATYPE = 0x03,
  LAYOUT = 0x08,
  FILTERS = 0x0b,
  ATTRIBUTE = 0x0c,
  CONTINUATION = 0x10,
  SYMBOL_TABLE = 0x11
};

typedef struct
{
  const guint8 *data;
  gsize length;
  guint64 base; /* what addresses are relative to */
  const char *path;
  Hdf5 *out;
  GHashTable *seen; /* addresses of objects */
  guint steps;
  gsize names;
} Reader;

/* What the messages of an object say. */
typedef struct
{
  gboolean has_space, has_type, has_layout, is_packed, is_newer;
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  const char *type;
  char *unread;
  guint64 address;    /* in the file's bytes */
  guint64 tree, heap; /* NOWHERE: no group */
} Object;

typedef struct
{
  const guint8 *p, *end;
} Span;

static guint64
number (const guint8 *p, int n)
{
  guint64 value = 0;

  for (int i = 0; i < n; i++)
    value |= (guint64)p[i] << (8 * i);
  return value;
}

/* n bytes at an address; NULL if they are not all there. */
static const guint8 *
at (const Reader *r, guint64 address, guint64 n)
{
  guint64 place;

  if (__builtin_add_overflow (address, r->base, &place) || place > r->length || n > r->length - place)
    return NULL;
  return r->data + place;
}

static const guint8 *
take (Span *span, gsize n)
{
  const guint8 *p = span->p;

  if ((gsize)(span->end - span->p) < n)
    return NULL;
  span->p += n;
  return p;
}

static gboolean
step (Reader *r)
{
  return ++r->steps <= MAX_STEPS;
}

/* ---- types and sizes ---------------------------------------------------------------- */

enum
{
  FIXED,
  FLOAT,
  TEXT = 3,
  OPAQUE = 5,
  ENUM = 8,
  VARIABLE
};

static const char *
type_of_integer (guint size, gboolean is_signed)
{
  static const char *const names[2][4] = { { "U8", "U16", "U32", "U64" }, { "I8", "I16", "I32", "I64" } };

  return size == 1 || size == 2 || size == 4 || size == 8 ? names[is_signed][g_bit_storage (size) - 1] : NULL;
}

/* Two bytes without a meaning are a bfloat16 of Keras, which says so in an attribute. */
static const char *
read_type (Span span, char **unread)
{
  const guint8 *head = take (&span, 8), *layout;
  guint class, size;
  const char *type = NULL;

  if (head == NULL)
    return NULL;
  class = head[0] & 15;
  size = (guint)number (head + 4, 4);
  if (class == FIXED && (head[1] & 1) == 0)
    type = type_of_integer (size, (head[1] & 8) != 0);
  else if (class == FLOAT && (head[1] & 0x41) == 0 && (layout = take (&span, 12)) != NULL)
    type = size == 8                     ? "F64"
           : size == 4                   ? "F32"
           : size == 2 && layout[5] == 5 ? "F16"
           : size == 2 && layout[5] == 8 ? "BF16"
                                         : NULL;
  else if (class == ENUM && size == 1)
    type = "BOOL";
  else if (class == OPAQUE && size == 2)
    type = "BF16";
  if (type == NULL && *unread == NULL)
    *unread = g_strdup_printf ("HDF5 type %u of %u bytes", class, size);
  return type;
}

static gboolean
read_space (Span span, Object *o)
{
  const guint8 *head = take (&span, 4), *dims;

  if (head == NULL || head[0] < 1 || head[0] > 2 || head[1] > LOOM_SHAPE_MAX_RANK
      || (head[0] == 1 && take (&span, 4) == NULL))
    return FALSE;
  o->rank = head[1];
  dims = take (&span, 8 * (gsize)o->rank);
  for (int d = 0; dims != NULL && d < o->rank; d++)
    {
      const guint64 size = number (dims + 8 * d, 8);

      if (size > G_MAXINT64)
        return FALSE;
      o->dim[d] = (gint64)size;
    }
  o->has_space = TRUE;
  return dims != NULL;
}

static gboolean
read_layout (const Reader *r, Span span, Object *o)
{
  const guint8 *head = take (&span, 2), *rest;

  if (head == NULL)
    return FALSE;
  o->has_layout = TRUE;
  if (head[0] == 3 && head[1] == 0 && (rest = take (&span, 2)) != NULL)
    o->address = (guint64)(rest + 2 - r->data);
  else if (head[0] == 3 && head[1] == 1 && (rest = take (&span, 16)) != NULL)
    {
      o->address = number (rest, 8);
      if (o->address != NOWHERE && __builtin_add_overflow (o->address, r->base, &o->address))
        return FALSE;
    }
  else
    o->is_packed = TRUE;
  return TRUE;
}

/* ---- attributes --------------------------------------------------------------------- */

/* An object of a global heap, which is where texts of any length are. */
static char *
read_heap_text (Reader *r, guint64 address, guint64 index, guint64 n)
{
  const guint8 *head = at (r, address, 16);
  guint64 size = head != NULL && memcmp (head, "GCOL", 4) == 0 ? number (head + 8, 8) : 0;
  Span span = { at (r, address, size), NULL };
  const guint8 *object;

  if (size < 16 || span.p == NULL)
    return NULL;
  span.end = span.p + size;
  take (&span, 16);
  while ((object = take (&span, 16)) != NULL && step (r))
    {
      const guint64 bytes = number (object + 8, 8);
      const guint8 *data = bytes <= size ? take (&span, (gsize)bytes) : NULL;

      if (number (object, 2) == 0 || data == NULL)
        return NULL;
      if (number (object, 2) == index)
        return n <= bytes ? g_strndup ((const char *)data, (gsize)n) : NULL;
      take (&span, (gsize)(-bytes & 7));
    }
  return NULL;
}

/* Keeps an attribute “name” or “dtype” that is one text; others, and those of other forms, are passed over. */
static void
read_attribute (Reader *r, Span span, const char *path)
{
  const guint8 *head = take (&span, 8), *name, *type, *space;
  g_autofree char *text = NULL;
  gsize pad, sizes[3];

  if (head == NULL || head[0] < 1 || head[0] > 3 || (head[0] == 3 && take (&span, 1) == NULL))
    return;
  pad = head[0] == 1 ? 7 : 0; /* the first version begins each part at a multiple of 8 bytes */
  for (int i = 0; i < 3; i++)
    sizes[i] = (gsize)number (head + 2 + 2 * i, 2);
  name = take (&span, (sizes[0] + pad) & ~pad);
  type = take (&span, (sizes[1] + pad) & ~pad);
  space = take (&span, (sizes[2] + pad) & ~pad);
  if (name == NULL || type == NULL || space == NULL || sizes[0] == 0 || name[sizes[0] - 1] != 0 || sizes[1] < 8
      || sizes[2] < 4 || space[1] != 0
      || (strcmp ((const char *)name, "name") != 0 && strcmp ((const char *)name, "dtype") != 0))
    return;
  if ((type[0] & 15) == TEXT)
    {
      const gsize n = (gsize)number (type + 4, 4);
      const guint8 *data = n <= MAX_NAME ? take (&span, n) : NULL;

      text = data != NULL ? g_strndup ((const char *)data, n) : NULL;
    }
  else if ((type[0] & 15) == VARIABLE && (type[1] & 15) == 1)
    {
      const guint8 *data = take (&span, 16);
      const guint64 n = data != NULL ? number (data, 4) : G_MAXUINT64;

      text = n <= MAX_NAME ? read_heap_text (r, number (data + 4, 8), number (data + 12, 4), n) : NULL;
    }
  if (text != NULL && g_utf8_validate (text, -1, NULL))
    g_hash_table_insert (r->out->texts, g_strdup_printf ("%s %s", path, (const char *)name), g_steal_pointer (&text));
}

/* ---- objects -------------------------------------------------------------------------- */

static gboolean
read_message (Reader *r, guint type, Span span, const char *path, Object *o)
{
  switch (type)
    {
    case DATASPACE:
      return read_space (span, o);
    case DATATYPE:
      o->has_type = TRUE;
      o->type = read_type (span, &o->unread);
      return TRUE;
    case LAYOUT:
      return read_layout (r, span, o);
    case FILTERS:
      o->is_packed = TRUE;
      return TRUE;
    case ATTRIBUTE:
      read_attribute (r, span, path);
      return TRUE;
    case LINK_INFO:
      o->is_newer = TRUE;
      return TRUE;
    case SYMBOL_TABLE:
      if (span.end - span.p < 16)
        return FALSE;
      o->tree = number (span.p, 8);
      o->heap = number (span.p + 8, 8);
      return TRUE;
    default:
      return TRUE;
    }
}

/* The messages of a header of version 1, and of the blocks that continue it. */
static gboolean
read_header (Reader *r, guint64 address, const char *path, Object *o)
{
  const guint8 *head = at (r, address, 16);
  guint left;
  g_autoptr (GArray) blocks = g_array_new (FALSE, FALSE, sizeof (Span));

  if (head == NULL || head[0] != 1)
    {
      o->is_newer = head != NULL && memcmp (head, "OHDR", 4) == 0;
      return FALSE;
    }
  left = (guint)number (head + 2, 2);
  Span first = { at (r, address, 16 + number (head + 8, 4)), NULL };
  if (first.p == NULL)
    return FALSE;
  first.end = first.p + 16 + number (head + 8, 4);
  first.p += 16;
  g_array_append_val (blocks, first);
  for (guint i = 0; i < blocks->len && left > 0; i++)
    {
      Span block = g_array_index (blocks, Span, i);
      const guint8 *message;

      while (left > 0 && (message = take (&block, 8)) != NULL)
        {
          const guint type = (guint)number (message, 2);
          const gsize size = (gsize)number (message + 2, 2);
          const guint8 *body = take (&block, size);

          left--;
          /* A message that several objects share is elsewhere; h5py writes none. */
          if (body == NULL || !step (r) || (message[4] & 2) != 0)
            return FALSE;
          if (type == CONTINUATION)
            {
              Span more = { size >= 16 ? at (r, number (body, 8), number (body + 8, 8)) : NULL, NULL };

              if (more.p == NULL)
                return FALSE;
              more.end = more.p + number (body + 8, 8);
              g_array_append_val (blocks, more);
            }
          else if (!read_message (r, type, (Span){ body, body + size }, path, o))
            return FALSE;
        }
    }
  return TRUE;
}

static gboolean read_object (Reader *r, guint64 address, const char *path, int depth, GError **error);

static gboolean
damaged (const Reader *r, const char *path, GError **error)
{
  return loom_file_refuse (r->path, error, "is a truncated or damaged HDF5 file at “%s”", *path != '\0' ? path : "/");
}

/* The name at this offset of a group's heap, or NULL. */
static const char *
name_at (const Reader *r, guint64 heap, guint64 offset)
{
  const guint8 *head = at (r, heap, 32), *data;
  guint64 size;

  if (head == NULL || memcmp (head, "HEAP", 4) != 0)
    return NULL;
  size = number (head + 8, 8);
  data = at (r, number (head + 24, 8), size);
  if (data == NULL || offset >= size)
    return NULL;
  return memchr (data + offset, 0, (gsize)MIN (size - offset, MAX_NAME)) != NULL ? (const char *)data + offset : NULL;
}

/* The objects of a node of symbols. */
static gboolean
read_symbols (Reader *r, guint64 address, const Object *group, const char *path, int depth, GError **error)
{
  const guint8 *head = at (r, address, 8), *symbols;
  const guint n = head != NULL && memcmp (head, "SNOD", 4) == 0 ? (guint)number (head + 6, 2) : 0;

  symbols = head != NULL ? at (r, address, 8 + 40 * (guint64)n) : NULL;
  if (symbols == NULL || memcmp (head, "SNOD", 4) != 0)
    return damaged (r, path, error);
  for (guint i = 0; i < n; i++)
    {
      const guint8 *symbol = symbols + 8 + 40 * i;
      const char *name = name_at (r, group->heap, number (symbol, 8));
      g_autofree char *inner = NULL;

      if (name == NULL || !g_utf8_validate (name, -1, NULL) || !step (r))
        return damaged (r, path, error);
      if (number (symbol + 16, 4) == 2) /* a link by name */
        continue;
      inner = *path != '\0' ? g_strconcat (path, "/", name, NULL) : g_strdup (name);
      r->names += strlen (inner);
      if (r->names > MAX_NAMES || !read_object (r, number (symbol + 8, 8), inner, depth, error))
        return error != NULL && *error != NULL ? FALSE : damaged (r, inner, error);
    }
  return TRUE;
}

/* A node of the tree whose leaves are nodes of symbols. */
static gboolean
read_tree (Reader *r, guint64 address, const Object *group, const char *path, int depth, int level, GError **error)
{
  const guint8 *head = at (r, address, 24), *children;
  const guint n = head != NULL ? (guint)number (head + 6, 2) : 0;

  children = head != NULL && memcmp (head, "TREE", 4) == 0 && head[4] == 0 && (level < 0 || head[5] == level)
                     && head[5] < MAX_DEPTH
                 ? at (r, address, 24 + 16 * (guint64)n)
                 : NULL;
  if (children == NULL)
    return damaged (r, path, error);
  for (guint i = 0; i < n; i++)
    {
      const guint64 child = number (children + 24 + 16 * i + 8, 8);

      if (!step (r))
        return damaged (r, path, error);
      if (head[5] > 0 ? !read_tree (r, child, group, path, depth, head[5] - 1, error)
                      : !read_symbols (r, child, group, path, depth, error))
        return FALSE;
    }
  return TRUE;
}

static void
add_array (Reader *r, const char *path, Object *o)
{
  Hdf5Array *array = g_new0 (Hdf5Array, 1);
  const char *dtype = hdf5_text (r->out, path, "dtype");

  array->path = g_strdup (path);
  array->type = o->type;
  if (o->is_packed || o->address == NOWHERE)
    {
      array->type = NULL;
      g_free (o->unread);
      o->unread = g_strdup (o->is_packed ? "chunked or compressed array of HDF5" : "array of HDF5 that is not stored");
    }
  else if (g_strcmp0 (dtype, "bfloat16") == 0 && g_strcmp0 (o->type, "U16") == 0)
    array->type = "BF16";
  if (array->type == NULL)
    array->unread = g_steal_pointer (&o->unread);
  array->rank = o->rank;
  memcpy (array->dim, o->dim, sizeof array->dim);
  array->offset = o->address;
  g_ptr_array_add (r->out->arrays, array);
}

static gboolean
read_object (Reader *r, guint64 address, const char *path, int depth, GError **error)
{
  Object o = { .address = NOWHERE, .tree = NOWHERE };
  gboolean is_good;

  if (depth > MAX_DEPTH)
    return damaged (r, path, error);
  if (!g_hash_table_add (r->seen, (gpointer)(guintptr)address))
    return TRUE;
  is_good = read_header (r, address, path, &o);
  if (o.is_newer)
    {
      g_free (o.unread);
      return loom_file_refuse (r->path, error,
                               "is an HDF5 file in a newer form than h5py's default; write it again with "
                               "libver=\"earliest\" and without track_order");
    }
  if (is_good && o.has_space && o.has_type && o.has_layout)
    add_array (r, path, &o);
  g_free (o.unread);
  if (!is_good)
    return damaged (r, path, error);
  return o.tree == NOWHERE || read_tree (r, o.tree, &o, path, depth + 1, -1, error);
}

static void
array_free (gpointer data)
{
  Hdf5Array *array = data;

  g_free (array->path);
  g_free (array->unread);
  g_free (array);
}

void
hdf5_free (Hdf5 *self)
{
  g_ptr_array_unref (self->arrays);
  g_hash_table_unref (self->texts);
  g_free (self);
}

const char *
hdf5_text (const Hdf5 *self, const char *path, const char *name)
{
  g_autofree char *key = g_strdup_printf ("%s %s", path, name);

  return g_hash_table_lookup (self->texts, key);
}

Hdf5 *
hdf5_read (GBytes *bytes, const char *path, GError **error)
{
  g_autoptr (Hdf5) self = g_new0 (Hdf5, 1);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  Reader r = { .path = path, .out = self, .seen = seen };
  GError *failure = NULL;
  gsize start;

  self->arrays = g_ptr_array_new_with_free_func (array_free);
  self->texts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  r.data = g_bytes_get_data (bytes, &r.length);
  start = r.length > 8 && r.data[8] == 1 ? 28 : 24; /* of the base address */
  if (r.length < start + 72 || r.data[8] > 1 || r.data[13] != 8 || r.data[14] != 8)
    {
      loom_file_refuse (path, error,
                        r.length < start + 72
                            ? "is a truncated HDF5 file"
                            : "is an HDF5 file in a newer form than h5py's default; write it again with "
                              "libver=\"earliest\"");
      return NULL;
    }
  r.base = number (r.data + start, 8);
  if (!read_object (&r, number (r.data + start + 40, 8), "", 0, &failure))
    {
      g_propagate_error (error, failure);
      return NULL;
    }
  return g_steal_pointer (&self);
}
