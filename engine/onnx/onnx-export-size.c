/* Finds how sizes depend on the dynamic ones.
 *
 * A lowering is concrete: it has numbers instead of B and T. So a node is lowered for several bindings, and a number
 * that differs among them is fitted by add + coef · a product of symbols, the form of all shapes. Two bindings
 * determine the fit and the third has to agree; the numbers that bind_nets() uses make it unique. */
#include "engine/onnx/onnx-export-private.h"

#include <string.h>

OnnxSize
onnx_size_dim (LoomDim dim)
{
  OnnxSize size = { .known = !loom_dim_is_unknown (dim) };

  if (loom_dim_is_known (dim))
    size.add = dim.coef;
  else if (size.known)
    {
      size.coef = dim.coef;
      memcpy (size.symbol, dim.symbol, LOOM_DIM_MAX_SYMBOLS);
    }
  return size;
}

gboolean
onnx_size_is (const OnnxSize *size, gint64 number)
{
  return size->known && size->of == NULL && size->coef == 0 && size->add == number;
}

/* TRUE if number[k] = add + coef · product[k] in all bindings. */
static gboolean
explain (const gint64 *number, const gint64 *product, gboolean with_add, OnnxSize *size)
{
  gint64 step = product[1] - product[0];

  if (step == 0 || (number[1] - number[0]) % step != 0)
    return FALSE;
  size->coef = (number[1] - number[0]) / step;
  size->add = number[0] - size->coef * product[0];
  return (with_add || size->add == 0) && number[2] == size->add + size->coef * product[2];
}

/* Tries all products of up to n symbols, from symbol `from` on. */
static gboolean
try_products (OnnxExport *all, const gint64 *number, const gint64 *product, guint depth, guint from, gboolean with_add,
              OnnxSize *size)
{
  for (guint s = from; all->symbols[s]; s++)
    {
      gint64 next[ONNX_BINDINGS];
      for (guint k = 0; k < ONNX_BINDINGS; k++)
        next[k] = product[k] * all->binding[k].value[all->symbols[s] - 'A'];
      size->symbol[depth] = all->symbols[s];
      if (explain (number, next, with_add, size)
          || (depth + 1 < LOOM_DIM_MAX_SYMBOLS && try_products (all, number, next, depth + 1, s, with_add, size)))
        return TRUE;
      size->symbol[depth] = 0;
    }
  return FALSE;
}

OnnxSize
onnx_size_of (OnnxExport *all, const gint64 number[ONNX_BINDINGS])
{
  static const gint64 ones[ONNX_BINDINGS] = { 1, 1, 1 };
  OnnxSize size = { .known = TRUE, .add = number[0] };

  if (all->n_bound == 1 || (number[0] == number[1] && number[0] == number[2]))
    return size;
  size = (OnnxSize){ .known = TRUE };
  if (try_products (all, number, ones, 0, 0, FALSE, &size) || try_products (all, number, ones, 0, 0, TRUE, &size))
    return size;
  return (OnnxSize){ .known = FALSE };
}

/* ---- in the model ------------------------------------------------------- */

static OnnxVar *
dim_var (OnnxExport *all, OnnxVar *v, int axis)
{
  OnnxOutNode *node = onnx_add_node (all, "Shape", ONNX_VARS (v));

  onnx_node_set_int (all, node, "start", axis);
  onnx_node_set_int (all, node, "end", axis + 1);
  return onnx_var_is_ints (onnx_node_result (all, node, 0), 1);
}

static OnnxVar *
plain (OnnxExport *all, gint64 n)
{
  return onnx_ints_var (all, 1, &n);
}

void
onnx_find_symbols (OnnxExport *all, OnnxVar *v, const LoomShape *shape)
{
  /* A product determines its last symbol when the others are known, so dimensions are read until no new symbol is
   * found. */
  for (int round = 0; round < shape->rank; round++)
    for (int i = 0; i < shape->rank; i++)
      {
        LoomDim d = shape->dim[i];
        char dynamic = 0;
        guint n_dynamic = 0;
        for (int k = 0; k < LOOM_DIM_MAX_SYMBOLS && d.symbol[k] && d.coef > 0; k++)
          if (all->symbol_var[d.symbol[k] - 'A'] == NULL)
            {
              dynamic = d.symbol[k];
              n_dynamic++;
            }
        if (n_dynamic != 1)
          continue;
        const char *path = all->path;
        OnnxVar *size = dim_var (all, v, i);
        if (d.coef != 1)
          size = onnx_var_is_ints (onnx_call (all, "Div", ONNX_VARS (size, plain (all, d.coef))), 1);
        for (int k = 0; k < LOOM_DIM_MAX_SYMBOLS && d.symbol[k]; k++)
          if (d.symbol[k] != dynamic)
            size = onnx_var_is_ints (onnx_call (all, "Div", ONNX_VARS (size, all->symbol_var[d.symbol[k] - 'A'])), 1);
        all->symbol_var[dynamic - 'A'] = size;
        all->path = path;
      }
}

static OnnxVar *
size_var (OnnxExport *all, const OnnxSize *size)
{
  OnnxVar *v = NULL;

  if (!size->known)
    return NULL;
  if (size->of != NULL)
    return dim_var (all, size->of, size->axis);
  if (size->coef == 0)
    return plain (all, size->add);
  for (guint i = 0; i < G_N_ELEMENTS (size->symbol) && size->symbol[i]; i++)
    {
      OnnxVar *symbol = all->symbol_var[size->symbol[i] - 'A'];
      if (symbol == NULL)
        return NULL;
      v = v != NULL ? onnx_var_is_ints (onnx_call (all, "Mul", ONNX_VARS (v, symbol)), 1) : symbol;
    }
  if (size->coef != 1)
    v = onnx_var_is_ints (onnx_call (all, "Mul", ONNX_VARS (v, plain (all, size->coef))), 1);
  if (size->add != 0)
    v = onnx_var_is_ints (onnx_call (all, "Add", ONNX_VARS (v, plain (all, size->add))), 1);
  return v;
}

OnnxVar *
onnx_sizes_var (OnnxExport *all, guint n, const OnnxSize *sizes)
{
  gint64 plain_sizes[2 * LOOM_SHAPE_MAX_RANK + 2];
  OnnxVar *part[2 * LOOM_SHAPE_MAX_RANK + 2];
  gboolean is_plain = TRUE;

  g_assert (n <= G_N_ELEMENTS (part));

  for (guint i = 0; i < n; i++)
    {
      plain_sizes[i] = sizes[i].add;
      is_plain = is_plain && sizes[i].known && sizes[i].coef == 0 && sizes[i].of == NULL;
    }
  if (is_plain)
    return onnx_ints_var (all, n, plain_sizes);
  for (guint i = 0; i < n; i++)
    if ((part[i] = size_var (all, &sizes[i])) == NULL)
      return NULL;
  if (n == 1)
    return part[0];
  OnnxOutNode *node = onnx_add_node (all, "Concat", n, part);
  onnx_node_set_int (all, node, "axis", 0);
  return onnx_var_is_ints (onnx_node_result (all, node, 0), n);
}
