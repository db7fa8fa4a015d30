/* Element types: the one list that kernels, engine and file formats share.
 *
 * It is separate from backend.h so that engine/core can name a type without knowledge of back ends. Plain C, no
 * dependencies. */
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

/* The names of all types, in the order above; 0 ends the list. */
static inline const char *const *
loom_dtype_names (void)
{
  static const char *const names[LOOM_N_DTYPES + 1] = { "f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool", 0 };
  return names;
}

/* The name used in graph files and listings: "f32". */
static inline const char *
loom_dtype_name (LoomDType dtype)
{
  return loom_dtype_names ()[dtype];
}

/* Nonzero for the four floating types. */
static inline int
loom_dtype_is_float (LoomDType dtype)
{
  return dtype <= LOOM_BF16;
}

#endif
