/* Einsum: products and sums over named axes, by an equation such as "bij,bjk->bik".
 *
 * Operands are contracted in pairs from the left. An axis that neither the result nor a later operand names is
 * summed as early as possible; one that both operands of a pair have and nothing needs later becomes the inner axis
 * of a matrix product, so a contraction is as fast as matmul. An axis that is named twice in one operand is a
 * diagonal, taken by a stride. */
#include "engine/ops/op-private.h"

#include <string.h>

#define MAX_OPERANDS 16
#define ELLIPSIS     52 /* labels from here on are the axes of “...”, the last one first */
#define N_LABELS     (ELLIPSIS + LOOM_SHAPE_MAX_RANK)

typedef struct
{
  int n;
  guint8 label[LOOM_SHAPE_MAX_RANK];
} Labels;

typedef struct
{
  guint n;
  Labels operand[MAX_OPERANDS], out;
  LoomDim size[N_LABELS];
  gboolean known[N_LABELS];
} Equation;

static const LoomPortSpec inputs[] = {
  { "inputs", "The tensors of the equation, in its order.", LOOM_PORT_VARIADIC },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("equation", STRING, NULL),
    .doc = "The subscripts of each tensor and, after ->, of the result: bij,bjk->bik." },
  { NULL },
};

/* ---- reading ----------------------------------------------------------- */

static int
label_of (char c)
{
  return g_ascii_isupper (c) ? c - 'A' : c - 'a' + 26;
}

static char
letter_of (int label)
{
  return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

static gboolean
complain (char **why, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  *why = g_strdup_vprintf (format, args);
  va_end (args);
  return FALSE;
}

/* Reads letters up to the next "," or "->"; “...” represents n_dots axes. */
static gboolean
read_labels (const char **s, int n_dots, Labels *labels, char **why)
{
  gboolean dots = FALSE;

  labels->n = 0;
  for (;; (*s)++)
    {
      int n = 1;

      if (**s == ' ')
        continue;
      if (**s == 0 || **s == ',' || **s == '-')
        return TRUE;
      if (strncmp (*s, "...", 3) == 0 && !dots)
        {
          dots = TRUE;
          n = n_dots;
          *s += 2;
        }
      else if (!g_ascii_isalpha (**s))
        {
          g_autofree char *sign = g_strndup (*s, (gsize)(g_utf8_next_char (*s) - *s));

          return complain (why, "has “%s” where a letter, “...”, “,” or “->” is expected", sign);
        }
      if (labels->n + n > LOOM_SHAPE_MAX_RANK)
        return complain (why, "names more than %d axes of one tensor", LOOM_SHAPE_MAX_RANK);
      for (int i = 0; i < n; i++)
        labels->label[labels->n++] = (guint8)(g_ascii_isalpha (**s) ? label_of (**s) : ELLIPSIS + n_dots - 1 - i);
    }
}

static int
count_letters (const char *s)
{
  int n = 0;

  for (; *s != 0 && *s != ',' && *s != '-'; s++)
    n += g_ascii_isalpha (*s) != 0;
  return n;
}

static gboolean
holds (const Labels *labels, int label)
{
  for (int i = 0; i < labels->n; i++)
    if (labels->label[i] == label)
      return TRUE;
  return FALSE;
}

/* Without "->" the result has the axes of the dots, then the letters that occur once, in alphabetical order. */
static gboolean
default_output (Equation *e, int n_dots, char **why)
{
  guint count[N_LABELS] = { 0 };

  e->out.n = 0;
  for (guint k = 0; k < e->n; k++)
    for (int i = 0; i < e->operand[k].n; i++)
      count[e->operand[k].label[i]]++;
  for (int i = n_dots; i-- > 0;)
    e->out.label[e->out.n++] = (guint8)(ELLIPSIS + i);
  for (int l = 0; l < ELLIPSIS; l++)
    if (count[l] == 1)
      {
        if (e->out.n == LOOM_SHAPE_MAX_RANK)
          return complain (why, "has a result of more than %d axes", LOOM_SHAPE_MAX_RANK);
        e->out.label[e->out.n++] = (guint8)l;
      }
  return TRUE;
}

static gboolean
read_sizes (Equation *e, const LoomInfer *ctx, char **why)
{
  for (guint k = 0; k < e->n; k++)
    for (int i = 0; i < e->operand[k].n; i++)
      {
        int l = e->operand[k].label[i];
        LoomShape one = { .rank = 1, .dim = { loom_infer_input (ctx, k)->shape.dim[i] } };
        LoomShape other = { .rank = 1, .dim = { e->size[l] } }, both = one;

        if (e->known[l] && !loom_shape_broadcast (&one, &other, &both))
          {
            g_autofree char *a = loom_shape_to_string (&other), *b = loom_shape_to_string (&one);

            if (l >= ELLIPSIS)
              return complain (why, "has sizes %s and %s for “...”, which do not broadcast", a, b);
            return complain (why, "gives “%c” the sizes %s and %s", letter_of (l), a, b);
          }
        e->size[l] = both.dim[0];
        e->known[l] = TRUE;
      }
  return TRUE;
}

static gboolean
read_equation (const LoomInfer *ctx, Equation *e, char **why)
{
  const char *text = loom_infer_string (ctx, "equation"), *s = text;
  int n_dots = 0;

  memset (e, 0, sizeof *e);
  e->n = loom_infer_n_inputs (ctx);
  if (e->n > MAX_OPERANDS)
    return complain (why, "has more than %d tensors", MAX_OPERANDS);
  for (guint k = 0; k < e->n; k++)
    {
      int rank = loom_infer_input (ctx, k)->shape.rank, letters = count_letters (s);
      const char *dots = strstr (s, "..."), *end = s + strcspn (s, ",-");
      gboolean has_dots = dots != NULL && dots < end;

      if (!read_labels (&s, has_dots ? MAX (0, rank - letters) : 0, &e->operand[k], why))
        return FALSE;
      if (e->operand[k].n != rank)
        return complain (why, "names %d axes of tensor %u, which has %d", letters, k, rank);
      n_dots = MAX (n_dots, has_dots ? rank - letters : 0);
      if (k + 1 < e->n && *s != ',')
        return complain (why, "names %u tensor%s, but %u are wired", k + 1, k > 0 ? "s" : "", e->n);
      s += *s == ',';
    }
  if (*s != 0 && strncmp (s, "->", 2) != 0)
    return complain (why, "names more tensors than the %u that are wired, or lacks “->” before the result", e->n);
  if (*s == 0)
    {
      if (!default_output (e, n_dots, why))
        return FALSE;
    }
  else
    {
      s += 2;
      if (!read_labels (&s, n_dots, &e->out, why))
        return FALSE;
      if (*s != 0)
        return complain (why, "continues after the result");
    }
  if (!read_sizes (e, ctx, why))
    return FALSE;
  for (int i = 0; i < e->out.n; i++)
    {
      int l = e->out.label[i];
      Labels before = e->out;

      before.n = i;
      if (!e->known[l])
        return complain (why, "has “%c” in the result, which no tensor has", letter_of (l));
      if (holds (&before, l))
        return complain (why, "has “%c” twice in the result", letter_of (l));
    }
  return TRUE;
}

static void
infer (LoomInfer *ctx)
{
  Equation e;
  g_autofree char *why = NULL;
  LoomDType dtype = LOOM_N_DTYPES;
  LoomShape shape = { 0 };

  for (guint i = 0; i < loom_infer_n_inputs (ctx); i++)
    {
      g_autofree char *port = g_strdup_printf ("%u", i);

      if (!loom_op_needs_float (ctx, i, port, NULL))
        return;
      dtype = i == 0 ? loom_infer_input (ctx, i)->dtype : loom_op_promote (dtype, loom_infer_input (ctx, i)->dtype);
    }
  if (!read_equation (ctx, &e, &why))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "equation", "The equation “%s” %s.", loom_infer_string (ctx, "equation"),
                        why);
      return;
    }
  shape.rank = e.out.n;
  for (int i = 0; i < e.out.n; i++)
    shape.dim[i] = e.size[e.out.label[i]];
  loom_infer_output (ctx, 0, dtype, &shape);
}

/* ---- lowering ----------------------------------------------------------- */

/* A value and the labels of its axes; no label occurs twice. */
typedef struct
{
  LoomValue v;
  Labels at;
} Term;

static void
permute_to (LoomProgram *p, Term *t, const Labels *order)
{
  int perm[LOOM_MAX_RANK];

  for (int i = 0; i < order->n; i++)
    for (int k = 0; k < t->at.n; k++)
      if (t->at.label[k] == order->label[i])
        perm[i] = k;
  t->v = loom_permute (p, t->v, perm);
  t->at = *order;
}

/* Merges equal labels of axes i < k: both are moved to the end, where the diagonal is every (n + 1)th element. */
static void
take_diagonal (LoomProgram *p, Term *t, int i, int k)
{
  LoomTensorDesc d = loom_value_info (p, t->v)->desc;
  gint64 n = d.dim[i], start[LOOM_MAX_RANK] = { 0 }, step[LOOM_MAX_RANK], dims[LOOM_MAX_RANK];
  int perm[LOOM_MAX_RANK], rank = 0;
  Labels at = { 0 };

  for (int a = 0; a < d.rank; a++)
    if (a != i && a != k)
      {
        perm[rank] = a;
        dims[rank++] = d.dim[a];
        at.label[at.n++] = t->at.label[a];
      }
  perm[rank] = i;
  perm[rank + 1] = k;
  at.label[at.n++] = t->at.label[i];
  dims[rank] = n * n;
  t->v = loom_reshape (p, loom_permute (p, t->v, perm), rank + 1, dims);
  for (int a = 0; a <= rank; a++)
    step[a] = 1;
  step[rank] = n + 1;
  dims[rank] = n;
  t->v = loom_slice (p, t->v, start, step, dims);
  t->at = at;
}

static Term
read_term (LoomLower *ctx, const Equation *e, guint which, LoomDType dtype)
{
  LoomProgram *p = loom_lower_program (ctx);
  Term t = { loom_cast (p, loom_lower_input (ctx, which), dtype), e->operand[which] };
  gint64 dims[LOOM_MAX_RANK];

  for (int i = 0; i < t.at.n; i++)
    dims[i] = e->size[t.at.label[i]].coef;
  t.v = loom_expand_to (p, t.v, t.at.n, dims);
  for (int i = 0; i < t.at.n; i++)
    for (int k = i + 1; k < t.at.n; k++)
      if (t.at.label[k] == t.at.label[i])
        {
          take_diagonal (p, &t, i, k);
          i = -1;
          break;
        }
  return t;
}

/* Sums over the axes that are not needed. */
static void
drop (LoomProgram *p, Term *t, const gboolean *needed)
{
  guint32 axes = 0;
  Labels at = { 0 };

  for (int i = 0; i < t->at.n; i++)
    if (needed[t->at.label[i]])
      at.label[at.n++] = t->at.label[i];
    else
      axes |= 1u << i;
  if (axes != 0)
    t->v = loom_reduce (p, LOOM_REDUCE_SUM, t->v, axes, FALSE);
  t->at = at;
}

static gint64
add_labels (Labels *to, const Labels *from, const Equation *e)
{
  gint64 count = 1;

  for (int i = 0; i < from->n; i++)
    {
      to->label[to->n++] = from->label[i];
      count *= e->size[from->label[i]].coef;
    }
  return count;
}

/* The product of two terms, summed over the axes that both have and nothing needs afterwards: [batch, own a, inner]
 * times [batch, inner, own b]. FALSE if the result would have too many axes. */
static gboolean
multiply (LoomProgram *p, const Equation *e, const gboolean *needed, Term *a, Term *b)
{
  Labels batch = { 0 }, inner = { 0 }, own_a = { 0 }, own_b = { 0 }, order_a = { 0 }, order_b = { 0 }, out = { 0 };
  gint64 n_batch, m, k, n, dims[LOOM_MAX_RANK];
  LoomValue v;

  for (int i = 0; i < a->at.n; i++)
    {
      Labels *to = !holds (&b->at, a->at.label[i]) ? &own_a : needed[a->at.label[i]] ? &batch : &inner;

      to->label[to->n++] = a->at.label[i];
    }
  for (int i = 0; i < b->at.n; i++)
    if (!holds (&a->at, b->at.label[i]))
      own_b.label[own_b.n++] = b->at.label[i];
  if (batch.n + own_a.n + own_b.n > LOOM_SHAPE_MAX_RANK)
    return FALSE;
  add_labels (&order_a, &batch, e);
  m = add_labels (&order_a, &own_a, e);
  k = add_labels (&order_a, &inner, e);
  n_batch = add_labels (&order_b, &batch, e);
  add_labels (&order_b, &inner, e);
  n = add_labels (&order_b, &own_b, e);
  permute_to (p, a, &order_a);
  permute_to (p, b, &order_b);
  a->v = loom_reshape (p, a->v, 3, (gint64[]){ n_batch, m, k });
  b->v = loom_reshape (p, b->v, 3, (gint64[]){ n_batch, k, n });
  if (inner.n > 0)
    v = loom_matmul (p, a->v, b->v, FALSE, FALSE);
  else
    v = loom_binary (p, LOOM_SCALAR_MUL, a->v, b->v);
  add_labels (&out, &batch, e);
  add_labels (&out, &own_a, e);
  add_labels (&out, &own_b, e);
  for (int i = 0; i < out.n; i++)
    dims[i] = e->size[out.label[i]].coef;
  a->v = loom_reshape (p, v, out.n, dims);
  a->at = out;
  return TRUE;
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);
  Equation e;
  g_autofree char *why = NULL;
  Term sum = { 0 };

  if (!read_equation (loom_lower_infer (ctx), &e, &why))
    g_return_if_reached ();
  for (guint k = 0; k < e.n; k++)
    {
      Term next = read_term (ctx, &e, k, dtype);
      gboolean alone[N_LABELS] = { FALSE }, later[N_LABELS] = { FALSE };

      for (int i = 0; i < e.out.n; i++)
        later[e.out.label[i]] = TRUE;
      for (guint j = k + 1; j < e.n; j++)
        for (int i = 0; i < e.operand[j].n; i++)
          later[e.operand[j].label[i]] = TRUE;
      memcpy (alone, later, sizeof alone);
      for (int i = 0; k > 0 && i < sum.at.n; i++)
        alone[sum.at.label[i]] = TRUE;
      drop (p, &next, alone);
      if (k == 0)
        sum = next;
      else
        {
          memcpy (alone, later, sizeof alone);
          for (int i = 0; i < next.at.n; i++)
            alone[next.at.label[i]] = TRUE;
          drop (p, &sum, alone);
          if (!multiply (p, &e, later, &sum, &next))
            {
              loom_lower_fail (
                  ctx, g_error_new (LOOM_ERROR, LOOM_ERROR_SHAPE,
                                    "The equation “%s” has an intermediate result of more than %d axes. Use two nodes.",
                                    loom_infer_string (loom_lower_infer (ctx), "equation"), LOOM_SHAPE_MAX_RANK));
              return;
            }
        }
    }
  permute_to (p, &sum, &e.out);
  loom_lower_output (ctx, 0, sum.v);
}

/* Each combination of indices is multiplied and added once for each tensor but the first. */
static double
flops (const LoomInfer *ctx)
{
  Equation e;
  g_autofree char *why = NULL;
  double n;

  if (!read_equation (ctx, &e, &why))
    return 0;
  n = e.n > 1 ? 2.0 * (e.n - 1) : 1;
  for (int l = 0; l < N_LABELS; l++)
    if (e.known[l])
      n *= (double)e.size[l].coef;
  return n;
}

static char *
summary (const LoomInfer *ctx)
{
  return g_strdup (loom_infer_string (ctx, "equation"));
}

static const LoomSample samples[] = {
  { .params = "equation=bij,bjk->bik", .inputs = { "f32:B,2,3", "f32:B,3,T" } },
  { .params = "equation=ij->ji", .inputs = { "f32:2,3" } },
  { .params = "equation=ij->", .inputs = { "f32:B,3" } },
  { .params = "equation=ii->i", .inputs = { "f32:4,4" } },
  { .params = "equation=bii", .inputs = { "f32:B,3,3" } },
  { .params = "equation=i,j->ij", .inputs = { "f32:B", "f32:3" } },
  { .params = "equation=i,i->", .inputs = { "f32:T", "f32:T" } },
  { .params = "equation=...ij,...jk", .inputs = { "f32:2,1,3,2", "f32:B,2,3" } },
  { .params = "equation=bi,io,bo->b", .inputs = { "f32:B,3", "f32:3,2", "f32:B,2" } },
  { .params = "equation=bhqd,bhkd->bhqk", .inputs = { "f32:B,2,T,3", "f32:B,2,T,3" } },
  { .params = "equation=ijk,k->i", .inputs = { "f32:2,3,0", "f32:0" } },
  { .params = "equation=ab,cd->db", .inputs = { "f32:2,3", "f32:1,4" } },
  { NULL },
};

const LoomOp loom_op_einsum = {
  .name = "einsum",
  .title = "Einsum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-einsum-symbolic",
  .synonyms = "einstein tensor contraction",
  .doc = "Multiplies tensors and sums over dimensions, as given by an equation.",
  .details = "Each letter names a dimension. A letter that is not in the result is summed: “ij,jk->ik” is a matrix "
             "product. “bhqd,bhkd->bhqk” computes the attention scores of all queries and keys, “ii->i” is a diagonal, "
             "and “...” represents any leading dimensions. Without “->” the result has the letters that occur once, in "
             "alphabetical order.",
  .formula = "yᵢₖ = Σⱼ aᵢⱼ bⱼₖ",
  .reference = "torch.einsum",
  .source = "Einstein, “Die Grundlage der allgemeinen Relativitätstheorie”, Annalen der Physik 49, 1916 (the summation "
            "over repeated indices)",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
  .summary = summary,
};
