/* NumPy's array files: inputs and outputs of `gradloom run`.
 *
 * Format: numpy.lib.format, versions 1.0 to 3.0. Little endian only; C or Fortran order (converted to C order). f8 f4
 * f2 i8 i4 u1 b1 keep their type; i1 i2 u2 u4 become i64, and u8 does if every value fits. */
#pragma once

#include "engine/core/loom-tensor.h"

/* Larger arrays are mapped instead of read, if their elements are stored as in a tensor. If such a file is truncated
 * while it is used, the process ends (app/shared/truncated.h). */
#define LOOM_NPY_MAPPED ((gsize)1 << 30)

/* Errors: IO if the file cannot be read, DATA if it is no such array. */
LoomTensor *loom_npy_load (const char *path, GError **error);

/* The same from memory. name: for errors. */
LoomTensor *loom_npy_parse (const void *data, gsize length, const char *name, GError **error);

/* Reads type and shape from the header. */
gboolean loom_npy_describe (const char *path, LoomType *type, GError **error);

/* Writes version 1.0, C order, the tensor's own type (bf16 as f4). The file is written completely or not at all. */
gboolean loom_npy_save (const char *path, const LoomTensor *t, GError **error);
