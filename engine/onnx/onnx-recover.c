/* Recovers operators that exporters have decomposed: silu, GELU, RMSNorm, group norm, attention, and linear layers
 * between reshapes.
 *
 * Each node that was just imported is compared with the last node of each pattern. A pattern is recovered only if the
 * operator computes the same numbers, apart from rounding; nodes that nothing else reads are not written. */
#include "engine/onnx/onnx-constant.h"
#include "engine/onnx/onnx-data-free.h"
#include "engine/ops/loom-table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static gboolean
is_op (const OnnxWire *wire, const char *op)
{
  return wire != NULL && wire->node != NULL && g_str_equal (wire->node->op->name, op);
}

static const OnnxWire *
input (const OnnxWire *wire, guint i)
{
  return i < wire->node->n_in ? wire->node->in[i] : NULL;
}

static const char *
attribute (const OnnxWire *wire, const char *name)
{
  const GPtrArray *a = wire->node->attributes;

  for (guint i = 0; i + 1 < a->len; i += 2)
    if (g_str_equal (a->pdata[i], name))
      return a->pdata[i + 1];
  return NULL;
}

/* The value of a constant of one number. */
static gboolean
number_of (const OnnxWire *wire, double *value)
{
  const char *text = is_op (wire, "constant") ? attribute (wire, "value") : NULL;

  if (text == NULL || strchr (text, ',') != NULL || !loom_dtype_is_float (wire->type.dtype))
    return FALSE;
  *value = g_ascii_strtod (text, NULL);
  return TRUE;
}

static gboolean
is_near (double a, double b)
{
  return fabs (a - b) <= 1e-5 * fabs (b);
}

#define MAX_FACTORS 6

/* A product as factors and one number. */
typedef struct
{
  double number;
  guint n;
  const OnnxWire *factor[MAX_FACTORS];
} Product;

static void
add_factors (Product *p, const OnnxWire *wire, guint depth)
{
  double value;

  if (number_of (wire, &value))
    p->number *= value;
  else if (is_op (wire, "mul") && depth > 0)
    for (guint i = 0; i < 2; i++)
      add_factors (p, input (wire, i), depth - 1);
  else if (is_op (wire, "div") && attribute (wire, "rounding_mode") == NULL && number_of (input (wire, 1), &value))
    {
      p->number /= value;
      add_factors (p, input (wire, 0), depth);
    }
  else if (p->n < MAX_FACTORS)
    p->factor[p->n++] = wire;
  else
    p->number = NAN;
}

static Product
product_of (const OnnxWire *wire)
{
  Product p = { .number = 1 };

  add_factors (&p, wire, 4);
  return p;
}

/* The operand of `a + b` that is not a number close to `number`; NULL if it is no such sum. */
static const OnnxWire *
other_than (const OnnxWire *sum, double number)
{
  double value;

  for (guint i = 0; is_op (sum, "add") && i < 2; i++)
    if (number_of (input (sum, i), &value) && is_near (value, number))
      return input (sum, 1 - i);
  return NULL;
}

static gboolean
is_cube (const OnnxWire *wire, const OnnxWire *x)
{
  double exponent;
  Product p;

  if (is_op (wire, "pow"))
    return input (wire, 0) == x && number_of (input (wire, 1), &exponent) && exponent == 3;
  p = product_of (wire);
  return p.n == 3 && p.number == 1 && p.factor[0] == x && p.factor[1] == x && p.factor[2] == x;
}

/* √(2/π) (x + 0.044715 x³) */
static gboolean
is_tanh_argument (const OnnxWire *wire, const OnnxWire *x)
{
  Product whole = product_of (wire), cubic;
  const OnnxWire *sum = whole.n == 1 && is_near (whole.number, sqrt (2 / G_PI)) ? whole.factor[0] : NULL;

  for (guint i = 0; is_op (sum, "add") && i < 2; i++)
    {
      cubic = product_of (input (sum, 1 - i));
      if (input (sum, i) == x && cubic.n == 1 && is_near (cubic.number, 0.044715) && is_cube (cubic.factor[0], x))
        return TRUE;
      if (input (sum, i) == x && cubic.n == 3 && is_near (cubic.number, 0.044715) && cubic.factor[0] == x
          && cubic.factor[1] == x && cubic.factor[2] == x)
        return TRUE;
    }
  return FALSE;
}

/* x sigmoid (x); ½ x (1 + erf (x/√2)) and its approximation by tanh. */
static const OnnxWire *
recover_activation (OnnxCtx *c, const OnnxWire *y)
{
  Product p = product_of (y);

  for (guint i = 0; i < 2; i++)
    if (is_op (input (y, i), "sigmoid") && input (input (y, i), 0) == input (y, 1 - i))
      return onnx_unary (c, "silu", input (y, 1 - i));
  for (guint i = 0; p.n == 2 && i < 2; i++)
    {
      const OnnxWire *x = p.factor[i], *gate = p.factor[1 - i], *inner = other_than (gate, 1);
      Product argument;

      if (!is_near (p.number, 0.5) || inner == NULL)
        continue;
      if (is_op (inner, "tanh") && is_tanh_argument (input (inner, 0), x))
        return onnx_emit (c, "gelu", ONNX_IN (x), "approximate", "tanh", NULL);
      argument = product_of (is_op (inner, "erf") ? input (inner, 0) : y);
      if (is_op (inner, "erf") && argument.n == 1 && argument.factor[0] == x && is_near (argument.number, sqrt (0.5)))
        return onnx_unary (c, "gelu", x);
    }
  return NULL;
}

/* A weight of the state dict that nothing else reads. */
static gboolean
is_single_weight (OnnxCtx *c, const OnnxWire *wire)
{
  return is_op (wire, "parameter") && wire->node->weight_path != NULL && attribute (wire, "frozen") == NULL
         && GPOINTER_TO_UINT (g_hash_table_lookup (c->all->uses, wire->node->weight_path)) == 1;
}

/* ---- RMSNorm --------------------------------------------------------------------- */

/* x if the wire is 1/√(mean (x²) + eps) over the last dimension, which is kept. */
static const OnnxWire *
inverse_root (const OnnxWire *wire, double *eps)
{
  const OnnxWire *root = is_op (wire, "reciprocal") ? input (wire, 0) : NULL, *sum, *mean = NULL, *square, *x = NULL;
  double exponent;

  sum = is_op (root, "sqrt") ? input (root, 0) : NULL;
  for (guint i = 0; is_op (sum, "add") && i < 2; i++)
    if (number_of (input (sum, i), eps))
      mean = input (sum, 1 - i);
  if (!is_op (mean, "mean") || g_strcmp0 (attribute (mean, "keepdim"), "true") != 0)
    return NULL;
  square = input (mean, 0);
  if (is_op (square, "pow") && number_of (input (square, 1), &exponent) && exponent == 2)
    x = input (square, 0);
  else if (is_op (square, "mul") && input (square, 0) == input (square, 1))
    x = input (square, 0);
  if (x == NULL || attribute (mean, "dim") == NULL)
    return NULL;
  int dim = atoi (attribute (mean, "dim")), rank = x->type.shape.rank;
  return strchr (attribute (mean, "dim"), ',') == NULL && (dim == -1 || dim == rank - 1) ? x : NULL;
}

/* The product with a weight of the last dimension. A weight that nothing else reads becomes the layer's own. */
static const OnnxWire *
recover_rms_norm (OnnxCtx *c, const OnnxWire *y)
{
  for (guint i = 0; i < 2; i++)
    for (guint k = 0; k < 2; k++)
      {
        double eps;
        const OnnxWire *w = input (y, i), *z = input (y, 1 - i), *x = is_op (z, "mul") ? input (z, k) : NULL;
        int rank = x != NULL ? x->type.shape.rank : 0;
        LoomShape tail = { .rank = 1 };

        if (rank < 1 || !is_single_weight (c, w) || w->type.shape.rank != 1
            || inverse_root (input (z, 1 - k), &eps) != x
            || !loom_dim_equal (w->type.shape.dim[0], x->type.shape.dim[rank - 1])
            || !loom_dim_is_known (w->type.shape.dim[0]))
          continue;
        tail.dim[0] = w->type.shape.dim[0];
        y = onnx_emit (c, "rms_norm", ONNX_IN (x), "normalized_shape", onnx_dims (c, &tail), "eps",
                       onnx_number (c, eps), NULL);
        onnx_take_weight (c, y, "weight", w->node);
        return y;
      }
  return NULL;
}

/* ---- group norm -------------------------------------------------------------------- */

/* An instance norm of groups [B, G, n] between two reshapes; *x receives the features before them. */
static const OnnxWire *
norm_of_groups (const OnnxWire *wire, const OnnxWire **x)
{
  const OnnxWire *norm = is_op (wire, "reshape") ? input (wire, 0) : NULL;
  const OnnxWire *groups = is_op (norm, "group_norm") ? input (norm, 0) : NULL;

  *x = is_op (groups, "reshape") ? input (groups, 0) : NULL;
  return *x != NULL && loom_shape_equal (&(*x)->type.shape, &wire->type.shape) && groups->type.shape.rank == 3
                 && loom_dim_equal (groups->type.shape.dim[0], wire->type.shape.dim[0])
             ? norm
             : NULL;
}

/* The numbers of channels, which may have been given the norm's dimensions; NULL: they are computed. */
static const LoomTensor *
numbers_of (OnnxCtx *c, const OnnxWire *wire)
{
  while (is_op (wire, "unsqueeze") || is_op (wire, "reshape"))
    wire = input (wire, 0);
  const OnnxWeight *own
      = is_op (wire, "parameter") && wire->node->weights->len == 1 ? wire->node->weights->pdata[0] : NULL;

  return own != NULL ? own->tensor : onnx_data_free_value (c->all, wire);
}

/* TRUE if the norm scales by 1 and shifts by 0. */
static gboolean
is_bare (OnnxCtx *c, const OnnxWire *norm)
{
  gboolean bare = TRUE;

  for (guint i = 0; i < norm->node->weights->len; i++)
    {
      const OnnxWeight *w = norm->node->weights->pdata[i];

      bare = bare && onnx_tensor_is_filled (w->tensor, g_str_equal (w->port, "weight") ? 1 : 0);
    }
  for (guint i = 1; i < 3; i++)
    bare = bare && (input (norm, i) == NULL || onnx_tensor_is_filled (numbers_of (c, input (norm, i)), i == 1 ? 1 : 0));
  return bare;
}

/* Gives the norm a weight of its channels. Most exports store it as [C, 1, 1] under no name, so its name is that in
 * the call of PyTorch's function. */
static gboolean
take_channels (OnnxCtx *c, const OnnxWire *norm, const char *port, const OnnxWire *wire, guint argument)
{
  g_autofree char *call = onnx_call_argument (c->node, "group_norm", argument);
  const char *name = call != NULL && *call == '%' ? g_hash_table_lookup (c->all->targets, call + 1) : NULL;
  const LoomTensor *t = numbers_of (c, wire);

  if (name == NULL || t == NULL || !loom_dim_equal (loom_dim (t->count), norm->type.shape.dim[1]))
    return FALSE;
  g_autoptr (LoomTensor) flat = loom_tensor_new (LOOM_F32, 1, &t->count, NULL);
  for (gint64 i = 0; flat != NULL && i < t->count; i++)
    loom_tensor_set (flat, i, loom_tensor_get (t, i));
  if (flat != NULL)
    onnx_add_weight (c, norm->node, port, flat, name);
  return flat != NULL;
}

/* PyTorch's group norm; before set 21 ONNX has none, and a product and a sum follow the norm, with ones and zeros if it
 * has no weights. */
static const OnnxWire *
recover_group_norm (OnnxCtx *c, const OnnxWire *y)
{
  g_autofree char *call = onnx_call_argument (c->node, "group_norm", 0),
                  *weight = onnx_call_argument (c->node, "group_norm", 2);
  const gboolean plain = weight == NULL || *weight != '%';

  for (guint i = 0; call != NULL && i < 4; i++)
    {
      const OnnxWire *scaled = input (y, i / 2), *shift = input (y, 1 - i / 2), *x, *norm, *found;

      norm = is_op (scaled, "mul") ? norm_of_groups (input (scaled, i % 2), &x) : NULL;
      if (norm == NULL || !is_bare (c, norm))
        continue;
      if (plain
          && !(onnx_tensor_is_filled (numbers_of (c, input (scaled, 1 - i % 2)), 1)
               && onnx_tensor_is_filled (numbers_of (c, shift), 0)))
        continue;
      found = onnx_emit (c, "group_norm", ONNX_IN (x), "num_groups", attribute (norm, "num_groups"), "eps",
                         attribute (norm, "eps"), "affine", plain ? "false" : NULL, NULL);
      return plain
                     || (take_channels (c, found, "weight", input (scaled, 1 - i % 2), 2)
                         && take_channels (c, found, "bias", shift, 3))
                 ? found
                 : NULL;
    }
  return NULL;
}

/* ---- attention --------------------------------------------------------------------- */

static gboolean
has_dims (const OnnxWire *wire, const char *dims)
{
  return is_op (wire, "permute") && g_strcmp0 (attribute (wire, "dims"), dims) == 0;
}

/* k [B, H, S, E] if the wire is its transpose [B, H, E, S]; NULL if it is not. PyTorch's exporter merges batch and
 * heads in order to transpose. */
static const OnnxWire *
untransposed (OnnxCtx *c, const OnnxWire *wire)
{
  LoomShape shape = { .rank = 4 };
  const OnnxWire *k, *flat;

  if (wire->type.shape.rank != 4)
    return NULL;
  if (has_dims (wire, "0,1,3,2"))
    return input (wire, 0);
  /* Of [B, S, H, E] in one step. */
  if (has_dims (wire, "0,2,3,1"))
    return onnx_permute (c, input (wire, 0), (const gint64[]){ 0, 2, 1, 3 });
  if (!is_op (wire, "reshape") || !has_dims (input (wire, 0), "0,2,1")
      || !is_op (input (input (wire, 0), 0), "reshape"))
    return NULL;
  flat = input (input (wire, 0), 0);
  k = input (flat, 0);
  for (int i = 0; i < 4; i++)
    shape.dim[i] = wire->type.shape.dim[i < 2 ? i : 5 - i];
  if (!loom_dim_equal (flat->type.shape.dim[1], shape.dim[2])
      || !loom_dim_equal (flat->type.shape.dim[2], shape.dim[3]))
    return NULL;
  return loom_shape_equal (&k->type.shape, &shape) ? k : onnx_reshape (c, k, &shape);
}

/* What is added to scores, or replaces them, so that their exponential is 0. */
#define VERY_LOW (-10000)

/* TRUE if a mask depends on no data and lets each position attend to itself and those before: up to the diagonal of
 * [1, 1, T, T] true, or 0, and above it false, or −∞ or a very low number. */
static gboolean
is_causal_mask (OnnxCtx *c, const OnnxWire *mask)
{
  const OnnxWeight *own
      = is_op (mask, "parameter") && mask->node->weights->len == 1 ? mask->node->weights->pdata[0] : NULL;
  const LoomTensor *t = own != NULL ? own->tensor : onnx_data_free_value (c->all, mask);
  gboolean is_bool = mask->type.dtype == LOOM_BOOL;
  gint64 n = t != NULL && t->rank == 4 ? t->dim[3] : 0;

  if (n < 2 || t->dim[2] != n || t->count != n * n)
    return FALSE;
  for (gint64 i = 0; i < t->count; i++)
    {
      double value = loom_tensor_get (t, i);
      gboolean takes_part = is_bool ? value != 0 : value == 0;

      if (i % n <= i / n ? !takes_part : takes_part || (!is_bool && !(value <= VERY_LOW)))
        return FALSE;
    }
  return TRUE;
}

/* TRUE if a mask depends on no data and lets each position attend to all. */
static gboolean
is_open_mask (OnnxCtx *c, const OnnxWire *mask)
{
  const LoomTensor *t = onnx_data_free_value (c->all, mask);
  const double takes_part = mask->type.dtype == LOOM_BOOL ? 1 : 0;

  for (gint64 i = 0; t != NULL && i < t->count; i++)
    if (loom_tensor_get (t, i) != takes_part)
      return FALSE;
  return t != NULL;
}

static gboolean
is_minus_infinity (const OnnxWire *wire)
{
  const char *data = is_op (wire, "constant") ? attribute (wire, "data") : NULL;
  double value;

  return data != NULL && wire->type.shape.rank == 0 && wire->type.dtype == LOOM_F32
         && loom_table_decode (data, LOOM_F32, 1, &value) && isinf (value) && value < 0;
}

/* The scores if the wire is a choice between them and −∞; *mask receives the pairs that take part, as bool. */
static const OnnxWire *
masked_scores (OnnxCtx *c, const OnnxWire *wire, const OnnxWire **mask)
{
  for (guint i = 1; is_op (wire, "where") && i < 3; i++)
    if (is_minus_infinity (input (wire, 3 - i)) && input (wire, i) != NULL && input (wire, i)->type.shape.rank == 4)
      {
        const OnnxWire *condition = input (wire, 0);
        const Product scores = product_of (input (wire, i));

        if (scores.n != 1 || !is_op (scores.factor[0], "matmul"))
          return NULL;
        *mask = i == 1                             ? condition
                : is_op (condition, "logical_not") ? input (condition, 0)
                                                   : onnx_unary (c, "logical_not", condition);
        return input (wire, i);
      }
  return NULL;
}

/* The pairs [1, 1, T, S] that take part by a condition and by a mask that is added (which may be NULL), if neither
 * depends on data, and each row has one; else NULL. */
static const OnnxWire *
joined_mask (OnnxCtx *c, const OnnxWire *condition, const OnnxWire *added)
{
  const LoomTensor *a = onnx_data_free_value (c->all, condition);
  const LoomTensor *b = a != NULL && added != NULL ? onnx_data_free_value (c->all, added) : NULL;
  g_autoptr (LoomTensor) pairs = NULL;
  gint64 last = -1;

  if (a == NULL || a->rank != 4 || a->dim[2] * a->dim[3] != a->count || (added != NULL && b == NULL)
      || (b != NULL && (b->rank != 4 || b->count != a->count || b->dim[3] != a->dim[3])))
    return NULL;
  pairs = onnx_tensor_new (c, LOOM_BOOL, 4, a->dim);
  for (gint64 i = 0; pairs != NULL && i < a->count; i++)
    {
      const double more = b != NULL ? loom_tensor_get (b, i) : 0;

      if (more != 0 && !(more <= VERY_LOW))
        return NULL;
      loom_tensor_set (pairs, i, loom_tensor_get (a, i) != 0 && more == 0);
      last = loom_tensor_get (pairs, i) != 0 ? i / a->dim[3] : last;
      if (i % a->dim[3] == a->dim[3] - 1 && last != i / a->dim[3])
        return NULL;
    }
  return pairs != NULL ? onnx_tensor_wire (c, pairs, NULL, FALSE) : NULL;
}

/* The scores if the wire is a choice between them and a very low number, or its sum with a mask: where all of a row is
 * masked its weights are equal, so none may be. */
static const OnnxWire *
lowered_scores (OnnxCtx *c, const OnnxWire *wire, const OnnxWire **mask)
{
  const gboolean is_sum = is_op (wire, "add");

  for (guint i = 0; i < (is_sum ? 2 : 1); i++)
    {
      const OnnxWire *choice = is_sum ? input (wire, i) : wire;
      double low;

      if (!is_op (choice, "where") || !number_of (input (choice, 2), &low) || !(low <= VERY_LOW))
        continue;
      *mask = joined_mask (c, input (choice, 0), is_sum ? input (wire, 1 - i) : NULL);
      return *mask != NULL ? input (choice, 1) : NULL;
    }
  return NULL;
}

/* softmax (q kᵀ scale + mask) v, or with −∞ in place of scores; rows of which everything is masked may be 0 instead of
 * NaN, as they are here. */
static const OnnxWire *
recover_attention (OnnxCtx *c, const OnnxWire *y)
{
  const OnnxWire *weights = input (y, 0), *v = input (y, 1), *logits, *mask = NULL, *q, *k;
  double number;
  Product scores, left, right;

  if (is_op (weights, "where") && is_op (input (weights, 0), "isnan") && number_of (input (weights, 1), &number)
      && number == 0 && input (input (weights, 0), 0) == input (weights, 2))
    weights = input (weights, 2);
  if (!is_op (weights, "softmax") || v == NULL || v->type.shape.rank != 4)
    return NULL;
  const char *dim = attribute (weights, "dim");
  if (dim != NULL && !g_str_equal (dim, "-1") && !g_str_equal (dim, "3"))
    return NULL;
  logits = input (weights, 0);
  const OnnxWire *chosen = masked_scores (c, logits, &mask);
  if (chosen == NULL)
    chosen = lowered_scores (c, logits, &mask);
  scores = product_of (chosen != NULL ? chosen : logits);
  for (guint i = 0; is_op (logits, "add") && i < 2 && mask == NULL; i++)
    {
      scores = product_of (input (logits, i));
      if (scores.n == 1 && is_op (scores.factor[0], "matmul"))
        mask = input (logits, 1 - i);
    }
  if (scores.n != 1 || !is_op (scores.factor[0], "matmul") || (is_op (logits, "add") && mask == NULL)
      || (mask != NULL && chosen == NULL && !loom_dtype_is_float (mask->type.dtype)))
    return NULL;
  left = product_of (input (scores.factor[0], 0));
  right = product_of (input (scores.factor[0], 1));
  q = left.n == 1 ? left.factor[0] : input (scores.factor[0], 0);
  k = right.n == 1 ? untransposed (c, right.factor[0]) : NULL;
  if (k == NULL || q->type.shape.rank != 4 || !loom_dim_is_known (q->type.shape.dim[3]))
    return NULL;
  double scale = scores.number * right.number * (left.n == 1 ? left.number : 1);
  gboolean is_default = is_near (scale, 1 / sqrt ((double)q->type.shape.dim[3].coef));
  if (mask != NULL && is_open_mask (c, mask))
    mask = NULL;
  gboolean is_causal = mask != NULL && is_causal_mask (c, mask)
                       && loom_dim_equal (q->type.shape.dim[2], mask->type.shape.dim[2])
                       && loom_dim_equal (k->type.shape.dim[2], mask->type.shape.dim[2]);
  return onnx_emit (c, "scaled_dot_product_attention", ONNX_IN (q, k, v, is_causal ? NULL : mask), "is_causal",
                    is_causal ? "true" : NULL, "scale", is_default ? NULL : onnx_number (c, scale), NULL);
}

/* ---- tied linear layers --------------------------------------------------------------------- */

/* A product with a transposed weight of another layer is a linear layer that is tied to it; with a weight of its own it
 * is that layer, as exports without optimisation have it. */
static const OnnxWire *
recover_tied (OnnxCtx *c, const OnnxWire *y)
{
  const OnnxWire *x = input (y, 0), *turned = input (y, 1), *w = NULL;

  if (has_dims (turned, "1,0"))
    w = input (turned, 0);
  if (w == NULL || w->type.shape.rank != 2 || !loom_dim_is_known (w->type.shape.dim[0]))
    return NULL;
  const gboolean is_own = is_single_weight (c, w);
  if (g_str_equal (w->port, "out") && (!is_op (w, "parameter") || attribute (w, "frozen") != NULL))
    return NULL;
  y = onnx_emit (c, "linear", ONNX_IN (x, is_own ? NULL : w), "out_features",
                 onnx_text (c, "%" G_GINT64_FORMAT, w->type.shape.dim[0].coef), "bias", "false", NULL);
  if (is_own)
    onnx_take_weight (c, y, "weight", w->node);
  return y;
}

/* ---- linear layers between reshapes -------------------------------------------------------- */

/* A linear layer takes any number of dimensions: x [.., I] need not be flattened to [n, I], and its result restored. */
static gboolean
has_one_reader (OnnxCtx *c, const OnnxWire *wire)
{
  guint n = 0;
  GHashTableIter iter;
  gpointer value;

  /* An Identity gives a wire a second name. */
  g_hash_table_iter_init (&iter, c->all->values);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((const OnnxValue *)value)->wire == wire)
      n += 1 + GPOINTER_TO_UINT (g_hash_table_lookup (c->all->uses, ((const OnnxValue *)value)->name));
  return n == 2;
}

static const OnnxWire *
recover_linear (OnnxCtx *c, const OnnxWire *y)
{
  const OnnxWire *flat = input (y, 0), *before, *x;
  int rank = y->type.shape.rank;

  before = is_op (flat, "linear") && flat->type.shape.rank == 2 && g_str_equal (flat->port, "out") ? input (flat, 0)
                                                                                                   : NULL;
  x = is_op (before, "reshape") ? input (before, 0) : NULL;
  if (x == NULL || x->type.shape.rank != rank
      || !loom_dim_equal (x->type.shape.dim[rank - 1], before->type.shape.dim[1])
      || !loom_dim_equal (y->type.shape.dim[rank - 1], flat->type.shape.dim[1]))
    return NULL;
  for (int i = 0; i < rank - 1; i++)
    if (!loom_dim_equal (x->type.shape.dim[i], y->type.shape.dim[i]))
      return NULL;
  if (!has_one_reader (c, flat))
    return NULL;
  flat->node->in[0] = x;
  flat->node->out[0].type = y->type;
  return &flat->node->out[0];
}

/* ---- dropout of whole samples and channels ---------------------------------------------------- */

static double
probability_of (const OnnxWire *wire)
{
  double p;

  return number_of (wire, &p) && p > 0 && p < 1 ? p : 0;
}

/* Zeros and ones, of which the fraction keep are ones: draws < keep, or ⌊draws + keep⌋. Their draws, or NULL. */
static const OnnxWire *
draws_below (const OnnxWire *wire, double *keep)
{
  const OnnxWire *sum = is_op (wire, "floor") ? input (wire, 0) : NULL;

  if (is_op (wire, "cast"))
    wire = input (wire, 0);
  if (is_op (wire, "lt") && is_op (input (wire, 0), "rand"))
    {
      *keep = probability_of (input (wire, 1));
      return *keep > 0 ? input (wire, 0) : NULL;
    }
  for (guint i = 0; is_op (sum, "add") && i < 2; i++)
    {
      *keep = probability_of (input (sum, 1 - i));
      if (*keep > 0 && is_op (input (sum, i), "rand"))
        return input (sum, i);
    }
  return NULL;
}

/* Ones that are dropped in training, of the shape of draws. Several readers of a mask have the same ones. */
static const OnnxWire *
dropped_ones (OnnxCtx *c, const OnnxWire *draws, double keep)
{
  const char *p = onnx_number (c, (double)(float)(1 - keep));
  GHashTable *dropped = c->all->dropped;
  const OnnxWire *ones, *found = dropped != NULL ? g_hash_table_lookup (dropped, draws) : NULL;

  if (found != NULL)
    return g_strcmp0 (onnx_node_get (found->node, "p"), p) == 0 ? found : NULL;
  ones = onnx_emit (c, "constant", 0, NULL, "value", "1", "shape", onnx_dims (c, &draws->type.shape), NULL);
  onnx_note_training (c->all);
  found = onnx_emit (c, "dropout", ONNX_IN (ones), "p", p, NULL);
  if (dropped != NULL)
    g_hash_table_insert (dropped, (gpointer)draws, (gpointer)found);
  return found;
}

/* Stochastic depth and dropout of channels draw for each sample or channel also in inference, if they were exported in
 * training mode: y = mask / keep, or x / keep · mask. */
static const OnnxWire *
recover_dropout (OnnxCtx *c, const OnnxWire *y)
{
  double keep, scale;
  const OnnxWire *draws;

  if (is_op (y, "div"))
    {
      draws = draws_below (input (y, 0), &keep);
      return draws != NULL && is_near (probability_of (input (y, 1)), keep) ? dropped_ones (c, draws, keep) : NULL;
    }
  for (guint i = 0; i < 2; i++)
    {
      const OnnxWire *x = input (y, 1 - i);

      draws = draws_below (input (y, i), &keep);
      scale = is_op (x, "div") ? probability_of (input (x, 1)) : 0;
      if (draws != NULL && is_near (scale, keep))
        {
          const OnnxWire *ones = dropped_ones (c, draws, keep);

          return ones != NULL ? onnx_binary (c, "mul", input (x, 0), ones) : NULL;
        }
    }
  return NULL;
}

void
onnx_recover (OnnxCtx *c)
{
  OnnxValue *value = c->node->n_output > 0 ? onnx_own_value (c->all, c->node->output[0]) : NULL;
  const OnnxWire *y = value != NULL && !value->failed ? value->wire : NULL, *found = NULL;

  if (y == NULL || y->node == NULL)
    return;
  if (is_op (y, "div") || is_op (y, "mul"))
    found = recover_dropout (c, y);
  if (is_op (y, "mul") && found == NULL)
    found = recover_activation (c, y);
  if (is_op (y, "mul") && found == NULL)
    found = recover_rms_norm (c, y);
  if (is_op (y, "add"))
    found = recover_group_norm (c, y);
  if (is_op (y, "matmul"))
    found = recover_attention (c, y);
  if (is_op (y, "matmul") && found == NULL)
    found = recover_tied (c, y);
  if (is_op (y, "reshape"))
    found = recover_linear (c, y);
  /* A constant of more dimensions than x would have given the result more, too. */
  if (found != NULL && !c->failed && found->type.dtype == y->type.dtype
      && loom_shape_equal (&found->type.shape, &y->type.shape))
    value->wire = found;
}
