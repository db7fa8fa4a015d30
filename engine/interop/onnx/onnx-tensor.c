/* TensorProto: numbers as ONNX keeps them, in one of six lists or as raw little-endian bytes.
 *
 * We have eight element types and ONNX sixteen. What fits is kept; i8, i16, u16, u32 and u64 are widened to i64, whose
 * arithmetic gives the same values until something overflows. Text and complex numbers are refused. */
#include "engine/interop/onnx/onnx-private.h"

#include <string.h>

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

/* One row a type: ours in a tensor, bytes and sign of a raw element, and the list that holds it otherwise. */
typedef struct
{
  const char *name;
  gboolean known;
  LoomDType dtype;
  guint bytes;
  gboolean is_signed;
  List list;
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
};

static const TypeRow *
row_of (int elem_type)
{
  return elem_type > 0 && elem_type < (int)G_N_ELEMENTS (rows) && rows[elem_type].name ? &rows[elem_type] : NULL;
}

const char *
onnx_type_name (int elem_type)
{
  const TypeRow *row = row_of (elem_type);

  return row ? row->name : "of an unknown type";
}

gboolean
onnx_dtype (int elem_type, LoomDType *dtype)
{
  const TypeRow *row = row_of (elem_type);

  if (!row || !row->known)
    return FALSE;
  *dtype = row->dtype;
  return TRUE;
}

/* A graph does not fix its float: f32 on a wire is what --dtype says, so a model in double precision runs in either. */
gboolean
onnx_wire_dtype (int elem_type, LoomDType *dtype)
{
  if (!onnx_dtype (elem_type, dtype))
    return FALSE;
  if (*dtype == LOOM_F64)
    *dtype = LOOM_F32;
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

/* Element i of raw bytes that hold a type that is widened. */
static gint64
raw_int (const guint8 *p, const TypeRow *row, gint64 i)
{
  guint64 v = 0;

  p += i * row->bytes;
  for (guint b = 0; b < row->bytes; b++)
    v |= (guint64)p[b] << (8 * b);
  if (row->is_signed && row->bytes < 8 && v >> (8 * row->bytes - 1))
    v |= ~(guint64)0 << (8 * row->bytes);
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

static void
fill_from_list (LoomTensor *t, const Onnx__TensorProto *proto, const TypeRow *row)
{
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

static void
fill_from_raw (LoomTensor *t, const Onnx__TensorProto *proto, const TypeRow *row)
{
  if (loom_dtype_size (t->dtype) == row->bytes && t->dtype != LOOM_BOOL)
    {
      if (t->bytes > 0)
        memcpy (t->data, proto->raw_data.data, t->bytes);
      return;
    }
  for (gint64 i = 0; i < t->count; i++)
    {
      gint64 v = raw_int (proto->raw_data.data, row, i);
      if (t->dtype == LOOM_BOOL)
        ((guint8 *)t->data)[i] = v != 0;
      else
        ((gint64 *)t->data)[i] = v;
    }
}

LoomTensor *
onnx_tensor_read (const Onnx__TensorProto *proto, const char *what, GError **error)
{
  const TypeRow *row = row_of (proto->data_type);
  gint64 count = 1, dims[LOOM_SHAPE_MAX_RANK];
  gboolean raw = proto->has_raw_data && proto->raw_data.len > 0;

  if (!row || !row->known)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DTYPE, "%s is %s, which graphs have no type for.", what,
                   onnx_type_name (proto->data_type));
      return NULL;
    }
  if (proto->n_external_data > 0 || proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "The numbers of %s lie in another file, which is not read. Save the model as one file.", what);
      return NULL;
    }
  if (proto->segment || proto->n_dims > LOOM_SHAPE_MAX_RANK)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "%s %s.", what,
                   proto->segment ? "is cut into segments, which are not read" : "has more than 8 dimensions");
      return NULL;
    }
  for (gsize i = 0; i < proto->n_dims; i++)
    {
      dims[i] = proto->dims[i];
      if (dims[i] < 0 || (dims[i] > 0 && count > LOOM_MAX_ELEMENTS / dims[i]))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "%s has impossible sizes.", what);
          return NULL;
        }
      count *= dims[i];
    }
  /* Before anything is allocated: what is announced must be there. */
  if (raw ? proto->raw_data.len / row->bytes != (gsize)count || proto->raw_data.len % row->bytes
          : list_length (proto, row->list) != (gsize)count)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s should have %" G_GINT64_FORMAT " numbers, but the file has another count.", what, count);
      return NULL;
    }
  LoomTensor *t = loom_tensor_new (row->dtype, (int)proto->n_dims, dims, error);
  if (!t)
    return NULL;
  if (raw)
    fill_from_raw (t, proto, row);
  else
    fill_from_list (t, proto, row);
  if (row->bytes == 8 && !row->is_signed)
    for (gint64 i = 0; i < count; i++)
      if (((gint64 *)t->data)[i] < 0)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "%s has a number of 2⁶³ or more, which graphs have no type for.", what);
          loom_tensor_unref (t);
          return NULL;
        }
  return t;
}

LoomTensor *
loom_onnx_read_tensor (const char *path, char **name, GError **error)
{
  g_autoptr (GMappedFile) file = g_mapped_file_new (path, FALSE, error);
  LoomTensor *t = NULL;

  if (!file)
    return NULL;
  const guint8 *data = (const guint8 *)g_mapped_file_get_contents (file);
  gsize length = g_mapped_file_get_length (file);
  if (!onnx_check_bytes (&onnx__tensor_proto__descriptor, data, length, path, error))
    return NULL;
  Onnx__TensorProto *proto = onnx__tensor_proto__unpack (NULL, length, data);
  if (!proto)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” holds no tensor of ONNX.", path);
      return NULL;
    }
  t = onnx_tensor_read (proto, path, error);
  if (t && name)
    *name = g_strdup (proto->name);
  onnx__tensor_proto__free_unpacked (proto, NULL);
  return t;
}
