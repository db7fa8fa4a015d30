/* A tensor on the host: dense, row-major, reference counted. Files, data sets, port files of a run and snapshots use
 * these; the values inside a step are offsets in an arena instead. */
#pragma once

#include <glib.h>

#include "engine/core/loom-dim.h"

typedef struct
{
  LoomDType dtype;
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  gint64 count; /* elements */
  gsize bytes;
  void *data; /* 64-byte aligned (a view: aligned as its owner's, at least for its type); not NULL even if empty */
  /*< private >*/
  gatomicrefcount refs;
  GBytes *owner;
} LoomTensor;

/* Zero-filled. NULL with OUT_OF_MEMORY if it cannot be allocated, or if the size overflows. */
LoomTensor *loom_tensor_new (LoomDType dtype, int rank, const gint64 *dims, GError **error);
/* A view of memory kept alive by owner (transfer none; takes a reference). */
LoomTensor *loom_tensor_new_from_bytes (LoomDType dtype, int rank, const gint64 *dims, GBytes *owner, gsize offset);
LoomTensor *loom_tensor_ref (LoomTensor *t);
void loom_tensor_unref (LoomTensor *t);
/* Element i as a double, for any type. */
double loom_tensor_get (const LoomTensor *t, gint64 i);
/* Stores an element: f16 and bf16 are rounded to nearest even, integers are truncated. */
void loom_tensor_set (LoomTensor *t, gint64 i, double value);
/* Converts element by element. With exact, fails with DATA, naming the first such element, if an integer would change.
 */
/* The product of dimensions of another process; 0: one is not positive, or it is larger than `most`. */
gsize loom_dims_count (gsize rank, const gint64 *dims, gsize most);
LoomTensor *loom_tensor_convert (const LoomTensor *t, LoomDType dtype, gboolean exact, GError **error);
/* The means of blocks of the matrix [rows, columns] that begins at element `at`, in row-major order; blocks at the
 * right and lower edges may be smaller. means has space for ceil (rows / block_rows) · ceil (columns / block_columns)
 * elements. */
void loom_tensor_block_means (const LoomTensor *t, gint64 at, gint64 rows, gint64 columns, gint64 block_rows,
                              gint64 block_columns, float *means);
LoomShape loom_tensor_shape (const LoomTensor *t);
gboolean loom_tensor_equal_bits (const LoomTensor *a, const LoomTensor *b);

/* Converts IEEE half and bfloat16 from and to f32, rounding to nearest even. */
float loom_half_to_float (guint16 h);
guint16 loom_half_from_float (float f);
float loom_bfloat_to_float (guint16 h);
guint16 loom_bfloat_from_float (float f);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTensor, loom_tensor_unref)

/* The only back end that computes in this type: "ref" for f64; NULL if others support it, too. */
const char *loom_dtype_backend (LoomDType dtype);
/* TRUE if a device of this name ("ref", "ref:1") belongs to a back end that computes in it. */
gboolean loom_dtype_runs_on (LoomDType dtype, const char *device);
