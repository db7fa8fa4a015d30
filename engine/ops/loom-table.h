/* The numbers of a large constant as text: base64 of the zlib stream of its elements, row by row, little endian.
 *
 * Tables that a model has computed (masks, positions) belong to the graph and not to its weights. As decimal numbers
 * they would be too long, and most of them repeat a few rows. */
#pragma once

#include "engine/core/loom-tensor.h"

#define LOOM_TABLE_MAX_COUNT (1 << 24) /* elements, so that a short text cannot ask for much memory */

/* NULL if the tensor has more elements. (transfer full) */
char *loom_table_encode (const LoomTensor *tensor);
/* The elements as numbers into values[count]. FALSE if the text has not exactly count elements of the type. */
gboolean loom_table_decode (const char *text, LoomDType dtype, gsize count, double *values);
