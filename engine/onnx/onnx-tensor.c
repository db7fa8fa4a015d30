/* Reads TensorProto: numbers in one of six lists or as raw little-endian bytes, in the model or in an external data
 * file.
 *
 * Gradloom has eight element types and ONNX twenty-six. Types that both have are kept; other integers become i64, whose
 * arithmetic has the same values unless something overflows, and floats of 8 and 4 bits f32 (onnx-small-float.c). Text
 * and complex numbers are refused. */
#include "engine/onnx/onnx-private.h"

#include <string.h>

#include "engine/core/loom-file.h"

#define X(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name

typedef enum
{
  NONE,
  FLOATS,
  INT32S,
  INT64S,
  DOUBLES,
  UINT64S
} List;

/* A row for each type: Gradloom's type of a tensor, bytes and sign of a raw element, and the list that otherwise has
 * the numbers. */
typedef struct
{
  const char *name;
  gboolean known;
  LoomDType dtype;
  guint bytes;
  gboolean is_signed;
  List list;
  guint bits; /* of an element of less than a byte, the first one lowest; 0: an element has whole bytes */
} TypeRow;

static const TypeRow rows[] = {
  [X (FLOAT)] = { "float", TRUE, LOOM_F32, 4, TRUE, FLOATS },
  [X (UINT8)] = { "uint8", TRUE, LOOM_U8, 1, FALSE, INT32S },
  [X (INT8)] = { "int8", TRUE, LOOM_I64, 1, TRUE, INT32S },
  [X (UINT16)] = { "uint16", TRUE, LOOM_I64, 2, FALSE, INT32S },
  [X (INT16)] = { "int16", TRUE, LOOM_I64, 2, TRUE, INT32S },
  [X (INT32)] = { "int32", TRUE, LOOM_I32, 4, TRUE, INT32S },
  [X (INT64)] = { "int64", TRUE, LOOM_I64, 8, TRUE, INT64S },
  [X (STRING)] = { "string" },
  [X (BOOL)] = { "bool", TRUE, LOOM_BOOL, 1, FALSE, INT32S },
  [X (FLOAT16)] = { "float16", TRUE, LOOM_F16, 2, FALSE, INT32S },
  [X (DOUBLE)] = { "double", TRUE, LOOM_F64, 8, TRUE, DOUBLES },
  [X (UINT32)] = { "uint32", TRUE, LOOM_I64, 4, FALSE, UINT64S },
  [X (UINT64)] = { "uint64", TRUE, LOOM_I64, 8, FALSE, UINT64S },
  [X (COMPLEX64)] = { "complex64" },
  [X (COMPLEX128)] = { "complex128" },
  [X (BFLOAT16)] = { "bfloat16", TRUE, LOOM_BF16, 2, FALSE, INT32S },
  /* Numbers, because older descriptions of the format have no names for them. */
  [17] = { "float8e4m3fn", TRUE, LOOM_F32, 1, TRUE, INT32S },
  [18] = { "float8e4m3fnuz", TRUE, LOOM_F32, 1, TRUE, INT32S },
  [19] = { "float8e5m2", TRUE, LOOM_F32, 1, TRUE, INT32S },
  [20] = { "float8e5m2fnuz", TRUE, LOOM_F32, 1, TRUE, INT32S },
  [21] = { "uint4", TRUE, LOOM_I64, 1, FALSE, INT32S, 4 },
  [22] = { "int4", TRUE, LOOM_I64, 1, TRUE, INT32S, 4 },
  [23] = { "float4e2m1", TRUE, LOOM_F32, 1, TRUE, INT32S, 4 },
  [24] = { "float8e8m0", TRUE, LOOM_F32, 1, FALSE, INT32S },
  [25] = { "uint2", TRUE, LOOM_I64, 1, FALSE, INT32S, 2 },
  [26] = { "int2", TRUE, LOOM_I64, 1, TRUE, INT32S, 2 },
};

static const TypeRow *
row_of (int elem_type)
{
  return elem_type > 0 && elem_type < (int)G_N_ELEMENTS (rows) && rows[elem_type].name != NULL ? &rows[elem_type]
                                                                                               : NULL;
}

static guint
bits_of (const TypeRow *row)
{
  return row->bits > 0 ? row->bits : 8 * row->bytes;
}

/* A float that is decoded from its bits. */
static gboolean
is_small_float (const TypeRow *row)
{
  return row->dtype == LOOM_F32 && row->bytes == 1;
}

/* The number of bytes of n elements. */
static guint64
bytes_of (const TypeRow *row, gint64 n)
{
  return ((guint64)n * bits_of (row) + 7) / 8;
}

const char *
onnx_type_name (int elem_type)
{
  const TypeRow *row = row_of (elem_type);

  return row != NULL ? row->name : "of an unknown type";
}

gboolean
onnx_dtype (int elem_type, LoomDType *dtype)
{
  const TypeRow *row = row_of (elem_type);

  if (row == NULL || !row->known)
    return FALSE;
  *dtype = row->dtype;
  return TRUE;
}

gboolean
onnx_type_range (int elem_type, gint64 *least, gint64 *most)
{
  const TypeRow *row = row_of (elem_type);

  if (row == NULL || !row->known || row->bytes > 4 || row->dtype == LOOM_BOOL || loom_dtype_is_float (row->dtype))
    return FALSE;
  *least = row->is_signed ? -(G_GINT64_CONSTANT (1) << (bits_of (row) - 1)) : 0;
  *most = *least + (G_GINT64_CONSTANT (1) << bits_of (row)) - 1;
  return TRUE;
}

/* A graph does not fix its float type: f32 on a wire means the type of --dtype, so a model in 16 bits or double
 * precision runs in either. */
LoomDType
onnx_on_wire (LoomDType dtype)
{
  return loom_dtype_is_float (dtype) ? LOOM_F32 : dtype;
}

gboolean
onnx_wire_dtype (int elem_type, LoomDType *dtype)
{
  if (!onnx_dtype (elem_type, dtype))
    return FALSE;
  *dtype = onnx_on_wire (*dtype);
  return TRUE;
}

gint64
onnx_tensor_int (const LoomTensor *t, gint64 i)
{
  double x;

  if (t->dtype == LOOM_I64)
    return ((const gint64 *)t->data)[i];
  x = loom_tensor_get (t, i);
  return x >= 9.2e18 ? G_MAXINT64 : x <= -9.2e18 ? G_MININT64 : x != x ? 0 : (gint64)x;
}

/* Element i of raw bytes of a type that is converted. */
static gint64
raw_int (const guint8 *p, const TypeRow *row, gint64 i)
{
  guint bits = bits_of (row);
  guint64 v = 0;

  p += (guint64)i * bits / 8;
  for (guint b = 0; b < row->bytes; b++)
    v |= (guint64)p[b] << (8 * b);
  if (row->bits > 0)
    v = v >> (guint64)i * bits % 8 & ((1U << bits) - 1);
  if (row->is_signed && bits < 64 && v >> (bits - 1))
    v |= ~(guint64)0 << bits;
  return (gint64)v;
}

static gsize
list_length (const Onnx__TensorProto *proto, List list)
{
  const gsize lengths[] = {
    0, proto->n_float_data, proto->n_int32_data, proto->n_int64_data, proto->n_double_data, proto->n_uint64_data
  };

  return lengths[list];
}

/* bytes: as many as the tensor has elements of the row's size. */
static void
fill_from_raw (LoomTensor *t, const guint8 *bytes, const TypeRow *row)
{
  if (loom_dtype_size (t->dtype) == row->bytes && t->dtype != LOOM_BOOL)
    {
      if (t->bytes > 0)
        memcpy (t->data, bytes, t->bytes);
      return;
    }
  for (gint64 i = 0; i < t->count; i++)
    {
      gint64 v = raw_int (bytes, row, i);
      if (t->dtype == LOOM_BOOL)
        ((guint8 *)t->data)[i] = v != 0;
      else if (is_small_float (row))
        ((float *)t->data)[i] = onnx_small_float_value ((int)(row - rows), (guint)v);
      else
        ((gint64 *)t->data)[i] = v;
    }
}

/* The number of entries of the list; those of 4-bit integers and small floats are bytes. */
static gsize
entries_of (const TypeRow *row, gint64 count)
{
  return row->bits > 0 ? bytes_of (row, count) : (gsize)count;
}

/* Entries of 4-bit integers and small floats, each a byte. */
static void
fill_from_bytes (LoomTensor *t, const Onnx__TensorProto *proto, const TypeRow *row)
{
  g_autofree guint8 *bytes = g_malloc (MAX (proto->n_int32_data, 1));

  for (gsize i = 0; i < proto->n_int32_data; i++)
    bytes[i] = (guint8)proto->int32_data[i];
  fill_from_raw (t, bytes, row);
}

static void
fill_from_list (LoomTensor *t, const Onnx__TensorProto *proto, const TypeRow *row)
{
  if (row->bits > 0 || is_small_float (row))
    {
      fill_from_bytes (t, proto, row);
      return;
    }
  for (gint64 i = 0; i < t->count; i++)
    {
      if (row->list == FLOATS)
        ((float *)t->data)[i] = proto->float_data[i];
      else if (row->list == DOUBLES)
        ((double *)t->data)[i] = proto->double_data[i];
      else if (row->list == INT64S)
        ((gint64 *)t->data)[i] = proto->int64_data[i];
      else if (row->list == UINT64S)
        ((gint64 *)t->data)[i] = (gint64)proto->uint64_data[i];
      else if (t->dtype == LOOM_F16 || t->dtype == LOOM_BF16)
        ((guint16 *)t->data)[i] = (guint16)proto->int32_data[i];
      else if (t->dtype == LOOM_I64)
        ((gint64 *)t->data)[i] = proto->int32_data[i];
      else
        loom_tensor_set (t, i, proto->int32_data[i]);
    }
}

static gboolean
fill_from_region (LoomTensor *t, const OnnxRegion *region, const TypeRow *row, const char *what, GError **error)
{
  g_autofree guint8 *bytes = NULL;

  if (loom_dtype_size (t->dtype) == row->bytes && t->dtype != LOOM_BOOL)
    return onnx_region_read (region, t->data, what, error);
  bytes = g_try_malloc (MAX (region->length, 1));
  if (bytes == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, "Out of memory for %s.", what);
      return FALSE;
    }
  if (!onnx_region_read (region, bytes, what, error))
    return FALSE;
  fill_from_raw (t, bytes, row);
  return TRUE;
}

gboolean
onnx_is_beyond (int elem_type, const LoomTensor *t)
{
  for (gint64 i = 0; elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT64 && i < t->count; i++)
    if (((const gint64 *)t->data)[i] < 0)
      return TRUE;
  return FALSE;
}

/* The number of elements, or −1. */
static gint64
sizes_of (const Onnx__TensorProto *proto, const char *what, gint64 dims[LOOM_SHAPE_MAX_RANK], GError **error)
{
  gint64 count = 1;
  gboolean empty = FALSE;

  if (proto->segment != NULL || proto->n_dims > LOOM_SHAPE_MAX_RANK)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "%s %s.", what,
                   proto->segment != NULL ? "is divided into segments, which is not supported"
                                          : "has more than 8 dimensions");
      return -1;
    }
  for (gsize i = 0; i < proto->n_dims; i++)
    {
      dims[i] = proto->dims[i];
      /* If one dimension is 0, the others must still be within bounds. */
      if (dims[i] < 0 || (dims[i] > 0 && count > LOOM_MAX_ELEMENTS / dims[i]))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "%s has impossible sizes.", what);
          return -1;
        }
      empty = empty || dims[i] == 0;
      count *= MAX (dims[i], 1);
    }
  return empty ? 0 : count;
}

static gboolean
is_external (const Onnx__TensorProto *proto)
{
  return proto->n_external_data > 0 || proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* Each region is read once; further requests for the same tensor share it. */
static LoomTensor *
read_external (OnnxExternal *external, const Onnx__TensorProto *proto, const TypeRow *row, gint64 count,
               const gint64 *dims, const char *what, GError **error)
{
  g_autoptr (LoomTensor) t = NULL;
  OnnxRegion *region = onnx_external_region (external, proto, what, bytes_of (row, count), error);

  if (region == NULL)
    return NULL;
  if (region->tensor != NULL)
    {
      const LoomTensor *known = region->tensor;
      gboolean same = region->data_type == proto->data_type && known->rank == (int)proto->n_dims;
      for (int i = 0; same && i < known->rank; i++)
        same = known->dim[i] == dims[i];
      if (same)
        return loom_tensor_ref (region->tensor);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s shares the bytes of another tensor, but has another type or other sizes.", what);
      return NULL;
    }
  t = loom_tensor_new (row->dtype, (int)proto->n_dims, dims, error);
  if (t == NULL || !fill_from_region (t, region, row, what, error))
    return NULL;
  region->tensor = loom_tensor_ref (t);
  region->data_type = proto->data_type;
  return g_steal_pointer (&t);
}

LoomTensor *
onnx_tensor_read (OnnxExternal *external, const Onnx__TensorProto *proto, const char *what, GError **error)
{
  const TypeRow *row = row_of (proto->data_type);
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  gboolean raw = proto->has_raw_data && proto->raw_data.len > 0;
  g_autoptr (LoomTensor) t = NULL;

  if (row == NULL || !row->known)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DTYPE, "%s is %s, a type that graphs do not have.", what,
                   onnx_type_name (proto->data_type));
      return NULL;
    }
  gint64 count = sizes_of (proto, what, dims, error);
  if (count < 0)
    return NULL;
  if (is_external (proto))
    {
      if (!raw && list_length (proto, row->list) == 0)
        return read_external (external, proto, row, count, dims, what, error);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s has numbers both in the model and in another file.", what);
      return NULL;
    }
  /* Before memory is allocated: the announced bytes must exist. */
  if (raw ? proto->raw_data.len != bytes_of (row, count) : list_length (proto, row->list) != entries_of (row, count))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s should have %" G_GINT64_FORMAT " numbers, but the file has another number of them.", what,
                   count);
      return NULL;
    }
  t = loom_tensor_new (row->dtype, (int)proto->n_dims, dims, error);
  if (t == NULL)
    return NULL;
  if (raw)
    fill_from_raw (t, proto->raw_data.data, row);
  else
    fill_from_list (t, proto, row);
  return g_steal_pointer (&t);
}

LoomTensor *
loom_onnx_read_tensor (const char *path, char **name, GError **error)
{
  g_autoptr (GMappedFile) file = loom_file_map (path, error);
  LoomTensor *t = NULL;

  if (file == NULL)
    return NULL;
  const guint8 *data = (const guint8 *)g_mapped_file_get_contents (file);
  gsize length = g_mapped_file_get_length (file);
  if (!onnx_check_bytes (&onnx__tensor_proto__descriptor, data, length, path, error))
    return NULL;
  Onnx__TensorProto *proto = onnx__tensor_proto__unpack (NULL, length, data);
  if (proto == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” contains no ONNX tensor.", path);
      return NULL;
    }
  OnnxExternal *external = onnx_external_new (path);
  t = onnx_tensor_read (external, proto, path, error);
  onnx_external_free (external);
  if (t != NULL && name != NULL)
    *name = g_strdup (proto->name);
  onnx__tensor_proto__free_unpacked (proto, NULL);
  return t;
}
