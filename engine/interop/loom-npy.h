/* NumPy's array files: inputs and outputs of `gradloom run`.
 *
 * Format: numpy.lib.format, versions 1.0 to 3.0. Little endian only; C or Fortran
 * order (brought to C order). f8 f4 f2 i8 i4 u1 b1 keep their type; i1 i2 u2 u4 are
 * widened to i64, u8 too where every value fits. */
#pragma once

#include "engine/core/loom-tensor.h"

G_BEGIN_DECLS

/* Numbers of files that are larger stay there where they are stored as tensors have them, and are read piece by piece
 * as they are looked at: a file that is cut off meanwhile ends the process (app/shared/truncated.h). */
#define LOOM_NPY_MAPPED ((gsize)1 << 30)

/* Errors: IO when the file cannot be read, DATA when it holds something else. */
LoomTensor *loom_npy_load (const char *path, GError **error);

/* The same from memory; name is what sentences call it. */
LoomTensor *loom_npy_parse (const void *data, gsize length, const char *name, GError **error);

/* Type and shape from the header alone. */
gboolean loom_npy_describe (const char *path, LoomType *type, GError **error);

/* Version 1.0, C order, the tensor's own type (bf16 as f4); whole or not at all. */
gboolean loom_npy_save (const char *path, const LoomTensor *t, GError **error);

G_END_DECLS
