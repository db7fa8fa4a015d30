/* Element types: the one list that kernels, engine and file formats share.
 *
 * It stands apart from backend.h so that engine/core can name a type without
 * knowing that back ends exist. Plain C, no dependencies. */
#ifndef LOOM_DTYPE_H
#define LOOM_DTYPE_H

#include <stddef.h>

typedef enum {
  LOOM_F64,
  LOOM_F32,
  LOOM_F16,
  LOOM_BF16,
  LOOM_I64,
  LOOM_I32,
  LOOM_U8,
  LOOM_BOOL,
  LOOM_N_DTYPES
} LoomDType;

/* Bytes of one element. */
static inline size_t
loom_dtype_size (LoomDType dtype)
{
  static const unsigned char size[LOOM_N_DTYPES] = { 8, 4, 2, 2, 8, 4, 1, 1 };
  return size[dtype];
}

/* The name used in graph files and listings: "f32". */
static inline const char *
loom_dtype_name (LoomDType dtype)
{
  static const char *const name[LOOM_N_DTYPES] = { "f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool" };
  return name[dtype];
}

/* Nonzero for the four floating types. */
static inline int
loom_dtype_is_float (LoomDType dtype)
{
  return dtype <= LOOM_BF16;
}

#endif
