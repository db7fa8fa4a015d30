/* Reads the footer of a Parquet file, which describes columns and row groups, and writes the rows as text. */
#include "engine/data/loom-parquet.h"

#include <gio/gio.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-memory-check.h"
#include "engine/data/parquet-column.h"
#include "engine/data/parquet-value.h"
#include "engine/data/thrift.h"

#define MAGIC        "PAR1"
#define MOST_FOOTER  ((guint32)256 << 20)
#define MOST_COLUMNS 100000
#define MOST_DEPTH   32
#define MOST_NAMES   ((gsize)16 << 20) /* bytes of all names of columns, with those of their groups */
#define CHECK_BYTES  ((gsize)16 << 20) /* of text between two looks at the free memory */
#define PANDAS_INDEX "__index_level_"  /* the name of a column of pandas.DataFrame.to_parquet, which names the rows */
#define REPEATED     2

/* ---- the footer -------------------------------------------------------------------- */

typedef struct
{
  gint64 is_decimal, scale, is_date, is_half;
  struct
  {
    gint64 is_set;
    struct
    {
      gint64 millis, micros, nanos;
    } unit;
  } time, stamp;
  struct
  {
    gint64 is_set, is_signed;
  } integer;
} Logical;

typedef struct
{
  char *name;
  gint64 type, bytes, repetition, n_children, converted, scale;
  Logical logical;
} Element;

typedef struct
{
  gint64 type, codec, n, packed_bytes, data_at, dictionary_at;
} ChunkData;

typedef struct
{
  char *file;
  ChunkData data;
} Chunk;

typedef struct
{
  GArray *chunks;
  gint64 n;
} Group;

typedef struct
{
  GArray *schema, *groups;
  gint64 n;
} Footer;

#define INT(id, type, member)                                                                                          \
  {                                                                                                                    \
    id, THRIFT_INT, offsetof (type, member)                                                                            \
  }
#define INNER(id, kind, type, member, of)                                                                              \
  {                                                                                                                    \
    id, kind, offsetof (type, member), of                                                                              \
  }

static const ThriftField unit_fields[] = {
  { 1, THRIFT_PRESENT, offsetof (Logical, time.unit.millis) - offsetof (Logical, time.unit) },
  { 2, THRIFT_PRESENT, offsetof (Logical, time.unit.micros) - offsetof (Logical, time.unit) },
  { 3, THRIFT_PRESENT, offsetof (Logical, time.unit.nanos) - offsetof (Logical, time.unit) },
  { 0 },
};
static const ThriftField time_fields[] = {
  { 1, THRIFT_PRESENT, 0 },
  { 2, THRIFT_STRUCT, offsetof (Logical, time.unit) - offsetof (Logical, time), unit_fields },
  { 0 },
};
static const ThriftField decimal_fields[] = {
  { 1, THRIFT_INT, offsetof (Logical, scale) },
  { 2, THRIFT_PRESENT, offsetof (Logical, is_decimal) },
  { 0 },
};
static const ThriftField integer_fields[] = {
  { 1, THRIFT_PRESENT, offsetof (Logical, integer.is_set) - offsetof (Logical, integer) },
  { 2, THRIFT_INT, offsetof (Logical, integer.is_signed) - offsetof (Logical, integer) },
  { 0 },
};
static const ThriftField logical_fields[] = {
  { 5, THRIFT_STRUCT, 0, decimal_fields },
  { 6, THRIFT_PRESENT, offsetof (Logical, is_date) },
  INNER (7, THRIFT_STRUCT, Logical, time, time_fields),
  INNER (8, THRIFT_STRUCT, Logical, stamp, time_fields),
  INNER (10, THRIFT_STRUCT, Logical, integer, integer_fields),
  { 15, THRIFT_PRESENT, offsetof (Logical, is_half) },
  { 0 },
};
static const ThriftField element_fields[] = {
  INT (1, Element, type),
  INT (2, Element, bytes),
  INT (3, Element, repetition),
  { 4, THRIFT_TEXT, offsetof (Element, name) },
  INT (5, Element, n_children),
  INT (6, Element, converted),
  INT (7, Element, scale),
  INNER (10, THRIFT_STRUCT, Element, logical, logical_fields),
  { 0 },
};
static const ThriftField chunk_data_fields[] = {
  INT (1, ChunkData, type),
  INT (4, ChunkData, codec),
  INT (5, ChunkData, n),
  INT (7, ChunkData, packed_bytes),
  INT (9, ChunkData, data_at),
  INT (11, ChunkData, dictionary_at),
  { 0 },
};
static const ThriftField chunk_fields[] = {
  { 1, THRIFT_TEXT, offsetof (Chunk, file) },
  INNER (3, THRIFT_STRUCT, Chunk, data, chunk_data_fields),
  { 0 },
};
static const ThriftField group_fields[] = {
  { 1, THRIFT_LIST, offsetof (Group, chunks), chunk_fields, sizeof (Chunk) },
  INT (3, Group, n),
  { 0 },
};
static const ThriftField footer_fields[] = {
  { 2, THRIFT_LIST, offsetof (Footer, schema), element_fields, sizeof (Element) },
  INT (3, Footer, n),
  { 4, THRIFT_LIST, offsetof (Footer, groups), group_fields, sizeof (Group) },
  { 0 },
};

/* ---- the file ----------------------------------------------------------------------- */

/* A column of the table. */
typedef struct
{
  char *name;
  ParquetColumn *values; /* NULL: of a list */
  ParquetType type;
  ParquetMeaning meaning;
  int scale;
  guint leaf; /* its number among the chunks of a row group */
} Column;

typedef struct
{
  GInputStream *stream;
  const char *path;
  guint64 size;
  Footer footer;
  GPtrArray *columns;
  guint n_leaves;
  gsize n_names; /* bytes of names so far */
  ParquetPages pages;
  double needed; /* as for loom_memory_check() */
  const char *remedy;
  gsize checked; /* bytes of text for which there was memory */
} File;

static void
column_free (gpointer data)
{
  Column *column = data;

  g_clear_pointer (&column->values, parquet_column_free);
  g_free (column->name);
  g_free (column);
}

static void
file_clear (File *self)
{
  thrift_clear (footer_fields, &self->footer);
  g_clear_pointer (&self->columns, g_ptr_array_unref);
  g_clear_pointer (&self->pages.packed, g_byte_array_unref);
  g_clear_object (&self->stream);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (File, file_clear)

static gboolean
refuse (const File *self, GError **error, const char *what)
{
  return loom_refuse (error, LOOM_ERROR_DATA, "“%s” %s.", self->path, what);
}

static gboolean
read_at (const File *self, guint64 at, gsize n, GByteArray *buffer, GError **error)
{
  g_autoptr (GError) cause = NULL;

  if (parquet_read_at (self->stream, at, n, buffer, &cause))
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", self->path, cause->message);
}

/* The end of the file: the footer, its length, the magic number. */
static gboolean
read_footer (File *self, GError **error)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  ThriftReader reader;
  guint32 n;

  if (!g_seekable_seek (G_SEEKABLE (self->stream), 0, G_SEEK_END, NULL, error))
    return FALSE;
  self->size = (guint64)g_seekable_tell (G_SEEKABLE (self->stream));
  if (self->size < 12)
    return refuse (self, error, "is a truncated Parquet file");
  if (!read_at (self, self->size - 8, 8, bytes, error))
    return FALSE;
  if (memcmp (bytes->data + 4, "PARE", 4) == 0)
    return refuse (self, error, "is an encrypted Parquet file; write it without encryption");
  if (memcmp (bytes->data + 4, MAGIC, 4) != 0)
    return refuse (self, error, "is a truncated Parquet file: its end is missing");
  memcpy (&n, bytes->data, 4);
  n = GUINT32_FROM_LE (n);
  if (n > MOST_FOOTER || n > self->size - 12)
    return refuse (self, error, "is a damaged Parquet file: its footer is larger than the file");
  if (!read_at (self, self->size - 8 - n, n, bytes, error))
    return FALSE;
  reader = (ThriftReader){ bytes->data, bytes->data + bytes->len };
  if (!thrift_read (&reader, footer_fields, &self->footer) || self->footer.schema == NULL
      || self->footer.schema->len < 2 || self->footer.n < 0)
    return refuse (self, error, "is a damaged Parquet file: its footer cannot be read");
  return TRUE;
}

/* ---- columns ------------------------------------------------------------------------- */

enum
{
  CONVERTED_DECIMAL = 5,
  CONVERTED_DATE = 6,
  CONVERTED_TIME_MILLIS = 7,
  CONVERTED_TIME_MICROS = 8,
  CONVERTED_STAMP_MILLIS = 9,
  CONVERTED_STAMP_MICROS = 10,
  CONVERTED_UINT_8 = 11,
  CONVERTED_UINT_64 = 14
};

static int
unit_scale (gint64 micros, gint64 nanos)
{
  return nanos != 0 ? 9 : micros != 0 ? 6 : 3;
}

/* The newer logical type comes first; files of both kinds have the older one, too. */
static void
set_meaning (Column *column, const Element *element)
{
  const Logical *logical = &element->logical;
  const gint64 converted = element->converted;

  column->meaning = PARQUET_PLAIN;
  if (logical->is_decimal || converted == CONVERTED_DECIMAL)
    {
      column->meaning = PARQUET_DECIMAL;
      column->scale = (int)CLAMP (logical->is_decimal ? logical->scale : element->scale, 0, 300);
    }
  else if (logical->is_date || converted == CONVERTED_DATE)
    column->meaning = PARQUET_DATE;
  else if (logical->stamp.is_set || converted == CONVERTED_STAMP_MILLIS || converted == CONVERTED_STAMP_MICROS)
    {
      column->meaning = PARQUET_TIMESTAMP;
      column->scale
          = unit_scale (logical->stamp.unit.micros || converted == CONVERTED_STAMP_MICROS, logical->stamp.unit.nanos);
    }
  else if (logical->time.is_set || converted == CONVERTED_TIME_MILLIS || converted == CONVERTED_TIME_MICROS)
    {
      column->meaning = PARQUET_TIME;
      column->scale
          = unit_scale (logical->time.unit.micros || converted == CONVERTED_TIME_MICROS, logical->time.unit.nanos);
    }
  else if ((logical->integer.is_set && !logical->integer.is_signed)
           || (converted >= CONVERTED_UINT_8 && converted <= CONVERTED_UINT_64))
    column->meaning = PARQUET_UNSIGNED;
  else if (logical->is_half)
    column->meaning = PARQUET_HALF;
}

/* A walk through the schema, whose groups list their children after themselves. */
typedef struct
{
  File *file;
  guint next;
} Walk;

static gboolean
add_leaf (File *self, const Element *element, const char *name, int levels, gboolean in_list, GError **error)
{
  Column *column;

  if (element->type < 0 || element->type >= PARQUET_N_TYPES || element->bytes < 0 || element->bytes > G_MAXUINT16
      || (element->type == PARQUET_FIXED_BYTES && element->bytes == 0))
    return refuse (self, error, "is a damaged Parquet file: a column has no known type");
  column = g_new0 (Column, 1);
  column->name = g_strdup (name);
  column->type = (ParquetType)element->type;
  column->leaf = self->n_leaves++;
  set_meaning (column, element);
  if (!in_list)
    column->values = parquet_column_new (&self->pages, column->name, column->type, (gsize)element->bytes, levels);
  g_ptr_array_add (self->columns, column);
  return TRUE;
}

/* The next element with everything below it. in: its group's name; NULL: that of the table. */
static gboolean
add_element (Walk *walk, const char *in, int levels, gboolean in_list, int depth, GError **error)
{
  File *self = walk->file;
  const Element *element;
  g_autofree char *name = NULL;

  if (walk->next >= self->footer.schema->len || depth > MOST_DEPTH || self->columns->len > MOST_COLUMNS)
    return refuse (self, error, "is a damaged Parquet file: its columns do not fit together");
  element = &g_array_index (self->footer.schema, Element, walk->next++);
  if (element->name == NULL)
    return refuse (self, error, "is a damaged Parquet file: a column has no name");
  /* Each group's name comes again in those of all its columns. */
  self->n_names += (in != NULL ? strlen (in) + 1 : 0) + strlen (element->name);
  if (self->n_names > MOST_NAMES)
    return refuse (self, error, "has columns whose names are too long");
  name = in != NULL ? g_strconcat (in, ".", element->name, NULL) : g_strdup (element->name);
  levels += element->repetition != 0;
  in_list = in_list || element->repetition == REPEATED;
  if (element->n_children > 0)
    {
      for (gint64 i = 0; i < element->n_children; i++)
        if (!add_element (walk, name, levels, in_list, depth + 1, error))
          return FALSE;
      return TRUE;
    }
  return add_leaf (self, element, name, levels, in_list, error);
}

static gboolean
read_schema (File *self, GError **error)
{
  const Element *root = &g_array_index (self->footer.schema, Element, 0);
  Walk walk = { self, 1 };

  self->columns = g_ptr_array_new_with_free_func (column_free);
  for (gint64 i = 0; i < root->n_children; i++)
    if (!add_element (&walk, NULL, 0, FALSE, 0, error))
      return FALSE;
  return self->columns->len > 0 || refuse (self, error, "is a Parquet file without columns");
}

/* ---- rows ---------------------------------------------------------------------------- */

static gboolean
open_group (const File *self, const Group *group, GError **error)
{
  if (group->n < 0 || group->chunks == NULL || group->chunks->len != self->n_leaves)
    return refuse (self, error, "is a damaged Parquet file: a row group has other columns");
  for (guint i = 0; i < self->columns->len; i++)
    {
      const Column *column = self->columns->pdata[i];
      const Chunk *chunk = &g_array_index (group->chunks, Chunk, column->leaf);
      const ChunkData *data = &chunk->data;
      const gint64 begin = data->dictionary_at > 0 ? MIN (data->dictionary_at, data->data_at) : data->data_at;

      if (column->values == NULL)
        continue;
      if (chunk->file != NULL)
        return refuse (self, error, "is a Parquet file whose columns are in other files; write them into one");
      if (begin < 4 || data->packed_bytes < 0 || (guint64)begin > self->size
          || (guint64)data->packed_bytes > self->size - (guint64)begin || data->n != group->n
          || data->type != (gint64)column->type)
        return refuse (self, error, "is a damaged Parquet file: a column is not where the footer says");
      parquet_column_set_chunk (column->values, &(ParquetChunk){ .begin = (guint64)begin,
                                                                 .end = (guint64)(begin + data->packed_bytes),
                                                                 .n = data->n,
                                                                 .codec = data->codec });
    }
  return TRUE;
}

/* n more bytes of text have memory. */
static gboolean
has_room (File *self, const GString *text, gsize n, GError **error)
{
  if (text->len + n < self->checked + CHECK_BYTES)
    return TRUE;
  self->checked = text->len + n;
  return loom_memory_check_bytes (self->path, self->checked, self->needed, self->remedy, error);
}

static gboolean
append_row (File *self, GString *text, GError **error)
{
  for (guint i = 0; i < self->columns->len; i++)
    {
      const Column *column = self->columns->pdata[i];
      const guint8 *value = NULL;
      gsize n = 0;

      if (i > 0)
        g_string_append_c (text, ',');
      if (column->values == NULL)
        g_string_append (text, "a list");
      else if (!parquet_column_next (column->values, &value, &n, error))
        return FALSE;
      if (!has_room (self, text, value != NULL ? n : 0, error))
        return FALSE;
      if (value != NULL)
        parquet_append_value (text, column->type, column->meaning, column->scale, value, n);
    }
  g_string_append_c (text, '\n');
  return TRUE;
}

/* With a carriage return, the line of the separator is not counted. */
static void
append_names (const File *self, GString *text)
{
  g_string_append (text, "sep=,\r");
  for (guint i = 0; i < self->columns->len; i++)
    {
      const char *name = ((const Column *)self->columns->pdata[i])->name;

      if (i > 0)
        g_string_append_c (text, ',');
      parquet_append_quoted (text, name, g_str_has_prefix (name, PANDAS_INDEX) ? 0 : strlen (name));
    }
  g_string_append_c (text, '\n');
}

/* Takes the stream. */
static char *
read_table (GInputStream *stream, const char *path, gsize max, double needed, const char *remedy, gsize *length,
            gboolean *is_whole, GError **error)
{
  g_auto (File) self = { .stream = stream, .path = path };
  g_autoptr (GString) text = g_string_new (NULL);
  gint64 done = 0;
  guint g = 0;

  self.needed = needed > 0 ? needed : 1;
  self.remedy = needed > 0 ? remedy : "split it into pieces";
  self.pages = (ParquetPages){ stream, path, .packed = g_byte_array_new (), .most = loom_memory_available () / 2 };
  if (!read_footer (&self, error) || !read_schema (&self, error))
    return NULL;
  if (self.footer.n == 0)
    {
      refuse (&self, error, "has no rows");
      return NULL;
    }
  append_names (&self, text);
  for (; self.footer.groups != NULL && g < self.footer.groups->len && (max == 0 || text->len < max); g++)
    {
      const Group *group = &g_array_index (self.footer.groups, Group, g);

      if (!open_group (&self, group, error))
        return NULL;
      for (gint64 i = 0; i < group->n && (max == 0 || text->len < max); i++, done++)
        if (!append_row (&self, text, error))
          return NULL;
    }
  if (is_whole != NULL)
    *is_whole = done == self.footer.n;
  if (max == 0 && done != self.footer.n)
    {
      refuse (&self, error, "is a damaged Parquet file: its row groups have another number of rows than its footer");
      return NULL;
    }
  *length = text->len;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* ---- doors --------------------------------------------------------------------------- */

gboolean
loom_parquet_is (gconstpointer bytes, gsize n)
{
  return n >= 4 && memcmp (bytes, MAGIC, 4) == 0;
}

gboolean
loom_parquet_is_file (const char *path)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GFileInputStream) stream = g_file_read (file, NULL, NULL);
  char head[4];
  gsize n;

  return stream != NULL && g_input_stream_read_all (G_INPUT_STREAM (stream), head, sizeof head, &n, NULL, NULL)
         && loom_parquet_is (head, n);
}

char *
loom_parquet_read_text (const char *path, gsize max, double needed, const char *remedy, gsize *length,
                        gboolean *is_whole, GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GError) cause = NULL;
  GFileInputStream *stream = g_file_read (file, NULL, &cause);

  if (stream == NULL)
    return loom_refuse_null (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  return read_table (G_INPUT_STREAM (stream), path, max, needed, remedy, length, is_whole, error);
}

char *
loom_parquet_text_from_bytes (GBytes *bytes, const char *name, gsize *length, GError **error)
{
  return read_table (g_memory_input_stream_new_from_bytes (bytes), name, 0, 1, "split it into pieces", length, NULL,
                     error);
}
