/* Symbolic shapes.
 *
 * A dimension is an integer times symbols (B, T, 2·B·T), or unknown until planning (for example the output height of a
 * strided convolution of a symbolic height). The editor infers shapes with symbols; a program is always built for
 * concrete numbers, by binding each symbol. The struct is small and plain, so shapes are copied freely. */
#pragma once

#include <glib.h>

#include "kernels/dtype.h"

#define LOOM_DIM_MAX_SYMBOLS 3
#define LOOM_SHAPE_MAX_RANK  8
/* The maximum size of a tensor, so that sums of a program's bytes cannot overflow 64 bits. */
#define LOOM_MAX_ELEMENTS (G_GINT64_CONSTANT (1) << 46)

typedef struct
{
  gint64 coef;                       /* -1: unknown; otherwise ≥ 0 */
  char symbol[LOOM_DIM_MAX_SYMBOLS]; /* sorted capital letters, 0-terminated unless full */
} LoomDim;

typedef struct
{
  int rank;
  LoomDim dim[LOOM_SHAPE_MAX_RANK];
} LoomShape;

/* Shape and element type of a value on a wire. */
typedef struct
{
  LoomDType dtype;
  LoomShape shape;
} LoomType;

/* The value of each symbol: value['B' - 'A']; 0 if it is not bound, so that a zeroed struct binds no symbols. */
#define LOOM_BOUND_TO_ZERO (-1) /* an empty batch */
typedef struct
{
  gint64 value[26];
} LoomBinding;

LoomDim loom_dim (gint64 n);
LoomDim loom_dim_symbol (char symbol);
LoomDim loom_dim_unknown (void);
gboolean loom_dim_is_known (LoomDim d); /* a plain integer: no symbol */
gboolean loom_dim_is_unknown (LoomDim d);
gboolean loom_dim_equal (LoomDim a, LoomDim b); /* unknown equals nothing */

/* TRUE unless a and b certainly differ: unknown is compatible with everything, a symbol only with itself. */
gboolean loom_dim_compatible (LoomDim a, LoomDim b);

/* Products are exact; one with too many symbols, or an overflow, becomes unknown. */
LoomDim loom_dim_mul (LoomDim a, LoomDim b);

/* Computes a / b if the division is exact in integers and symbols; FALSE otherwise. */
gboolean loom_dim_div (LoomDim a, LoomDim b, LoomDim *quotient);

/* a + n: exact for a plain integer and for n == 0, else unknown. */
LoomDim loom_dim_add (LoomDim a, gint64 n);
/* a + b: exact for integers and for equal symbols (2B + B = 3B), else unknown. */
LoomDim loom_dim_sum (LoomDim a, LoomDim b);

/* The value if every symbol is bound, else -1. */
gint64 loom_dim_value (LoomDim d, const LoomBinding *binding);
LoomDim loom_dim_bind (LoomDim d, const LoomBinding *binding);

LoomShape loom_shape_scalar (void);
LoomShape loom_shape (int rank, const gint64 *dims);
gboolean loom_shape_equal (const LoomShape *a, const LoomShape *b);
gboolean loom_shape_compatible (const LoomShape *a, const LoomShape *b);
LoomDim loom_shape_count (const LoomShape *s);
LoomShape loom_shape_bind (const LoomShape *s, const LoomBinding *binding);
gboolean loom_shape_is_concrete (const LoomShape *s);
/* All dims as integers; only for a concrete shape. */
void loom_shape_get (const LoomShape *s, gint64 dims[LOOM_SHAPE_MAX_RANK]);

/* NumPy broadcasting, aligned at the right; FALSE if two dimensions certainly differ. Unknown and n broadcast to n,
 * except if n is 1. */
gboolean loom_shape_broadcast (const LoomShape *a, const LoomShape *b, LoomShape *out);

/* "B × 1 × 28 × 28" for people ("scalar" for rank 0); "B,1,28,28" for files ("" for rank 0). */
char *loom_shape_to_string (const LoomShape *s);
char *loom_shape_to_attribute (const LoomShape *s);
/* Parses "B,1,28,28" or "2B,3"; FALSE for any other text. Negative numbers are refused. */
gboolean loom_shape_parse (const char *text, LoomShape *out);
