/* Rows of scores that are longer than there are classes. A GPU's tensor cores take matrices whose rows begin at
 * multiples of 16 bytes; a vocabulary of 50,257 has its scores' rows begin anywhere, and products that make or read
 * them are then computed by kernels that load one element at a time. On an H100, of a head with 4,096 rows, 50,257
 * classes and 768 features in bf16, the scores took 3.3 ms, and the gradients of rows and weight 2.2 and 3.0
 * (tests/cuda/RESULTS.md), where tensor cores need half a millisecond for each.
 *
 * So scores get as many columns more as they need for a multiple of eight: the weight is copied with rows of zeros
 * behind its own, losses and the class of the largest score leave the columns out (LoomCrossEntropyAttrs.classes), the
 * scores' gradient is 0 there, and what is summed over rows, the gradients of weight and bias, is cut to its length.
 * All of that is exact for finite rows, as a column's score, 0 or what is made of it, meets zeros alone.
 *
 * It is done where all that reads the scores, or what is made of them, is one of these, and element-wise work cannot
 * make infinities of zeros. */
#include "engine/plan/plan-private.h"

#define UNIT          8   /* elements: 16 bytes of 16-bit floats */
#define LEAST_CLASSES 256 /* below, products are small beside what is copied */
#define LEAST_SCORES  (1 << 20)

typedef struct
{
  Work *w;
  const char *device_name;
  gint64 rows, classes, padded;
  GHashTable *scores;  /* the roots of what is rows × classes */
  GHashTable *members; /* WorkInstr: those that make or read them */
  GPtrArray *instrs;   /* the same, in the order in which they were found */
  GHashTable *wider;   /* by operand, and axis in the lowest bit: what it was copied to */
} Pad;

static gboolean
is_scores (const Pad *p, guint v)
{
  return v != 0 && g_hash_table_contains (p->scores, GUINT_TO_POINTER (work_root (p->w, v)));
}

static gboolean
ends_with (const Pad *p, guint v, gint64 last, gint64 count)
{
  const LoomTensorDesc *d = &work_value (p->w, v)->desc;

  return d->rank > 0 && d->dim[d->rank - 1] == last && loom_desc_count (d) == count;
}

static gboolean
is_full (const Pad *p, guint v)
{
  return ends_with (p, v, p->classes, p->rows * p->classes);
}

static gboolean
is_matrix (const Pad *p, guint v)
{
  return work_value (p->w, v)->desc.rank == 2;
}

/* ---- which ---------------------------------------------------------------------------------- */

static gboolean add_scores (Pad *p, guint v);

static void
add_instr (Pad *p, WorkInstr *instr)
{
  if (g_hash_table_add (p->members, instr))
    g_ptr_array_add (p->instrs, instr);
}

/* Steps that make a finite number of 0 and finite ones. */
static gboolean
keeps_finite (const Pad *p, const WorkInstr *instr)
{
  for (guint s = 0; s < instr->steps->len; s++)
    switch (work_step (instr, s)->op)
      {
      case LOOM_SCALAR_ID:
      case LOOM_SCALAR_CONST:
      case LOOM_SCALAR_NEG:
      case LOOM_SCALAR_ADD:
      case LOOM_SCALAR_SUB:
      case LOOM_SCALAR_MUL:
      case LOOM_SCALAR_TANH:
      case LOOM_SCALAR_TANH_GRAD:
        break;
      /* By one number for all, which would spoil every score if it were 0. */
      case LOOM_SCALAR_DIV:
        if (loom_desc_count (&work_value (p->w, work_step (instr, s)->arg[1])->desc) != 1)
          return FALSE;
        break;
      default:
        return FALSE;
      }
  return TRUE;
}

static gboolean
takes_elementwise (Pad *p, WorkInstr *instr)
{
  if (!keeps_finite (p, instr) || instr->out->len != 1 || !is_full (p, work_out (instr, 0))
      || !add_scores (p, work_out (instr, 0)))
    return FALSE;
  for (guint k = 0; k < instr->in->len; k++)
    {
      const guint v = work_in (instr, k);
      const LoomTensorDesc *d = &work_value (p->w, v)->desc;

      if (is_full (p, v) ? !add_scores (p, v)
                         : d->rank > 0 && d->dim[d->rank - 1] != 1 && !ends_with (p, v, p->classes, p->classes))
        return FALSE;
    }
  return TRUE;
}

static gboolean
takes_product (Pad *p, const WorkInstr *instr)
{
  const LoomMatmulAttrs *a = instr->attrs;
  const gboolean first = is_scores (p, work_in (instr, 0)), second = is_scores (p, work_in (instr, 1));

  if (a->act != LOOM_SCALAR_ID || instr->out->len != 1 || !is_matrix (p, work_in (instr, 0))
      || !is_matrix (p, work_in (instr, 1)) || !is_matrix (p, work_out (instr, 0)))
    return FALSE;
  if (is_scores (p, work_out (instr, 0)))
    return !first && !second;
  return !a->has_bias && first != second && (first || !a->trans_b);
}

static gboolean
takes (Pad *p, WorkInstr *instr)
{
  if (instr->device_name != p->device_name)
    return FALSE;
  if (instr->steps != NULL)
    return takes_elementwise (p, instr);
  if (work_is (instr, "matmul"))
    return takes_product (p, instr);
  /* What another rank sends has no operands. */
  if (instr->in->len == 0 || !is_scores (p, work_in (instr, 0)) || !is_full (p, work_in (instr, 0)))
    return FALSE;
  if (work_is (instr, "reduce"))
    {
      const LoomReduceAttrs *a = instr->attrs;

      return a->op == LOOM_REDUCE_SUM && a->axes == (1u << (work_value (p->w, work_in (instr, 0))->desc.rank - 1)) - 1;
    }
  if (!is_matrix (p, work_in (instr, 0)))
    return FALSE;
  if (work_is (instr, "argreduce"))
    return ((const LoomArgReduceAttrs *)instr->attrs)->axis == 1;
  return work_is (instr, "cross_entropy")
         || (work_is (instr, "cross_entropy_grad") && add_scores (p, work_out (instr, 0)));
}

/* Everybody who reads v or a view of it. */
static gboolean
add_readers (Pad *p, guint v)
{
  const WorkValue *value = work_value (p->w, v);

  if (value->is_output || value->commit >= 0 || !is_full (p, v))
    return FALSE;
  for (const WorkUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr != NULL)
      add_instr (p, use->instr);
    else if (!add_readers (p, use->at))
      return FALSE;
  return TRUE;
}

static gboolean
add_scores (Pad *p, guint v)
{
  const WorkValue *value;

  v = work_root (p->w, v);
  value = work_value (p->w, v);
  if (!g_hash_table_add (p->scores, GUINT_TO_POINTER (v)))
    return TRUE;
  if (value->producer == NULL || value->slot >= 0 || value->input >= 0 || value->is_uniform
      || value->device_name != p->device_name)
    return FALSE;
  add_instr (p, value->producer);
  return add_readers (p, v);
}

/* Where it says how many of a row's numbers are classes; NULL: nowhere. */
static gint64 *
classes_of (const WorkInstr *instr)
{
  if (work_is (instr, "cross_entropy") || work_is (instr, "cross_entropy_grad"))
    return &((LoomCrossEntropyAttrs *)instr->attrs)->classes;
  return work_is (instr, "argreduce") ? &((LoomArgReduceAttrs *)instr->attrs)->classes : NULL;
}

/* Whether its device leaves columns out. */
static gboolean
leaves_out (Pad *p, WorkInstr *instr)
{
  gint64 *classes = classes_of (instr);
  g_autofree guint *in = g_new (guint, instr->in->len + 1);
  gboolean has;

  if (classes == NULL)
    return TRUE;
  for (guint k = 0; k < instr->in->len; k++)
    in[k] = work_in (instr, k);
  *classes = p->classes - 1;
  has = work_has_kernel (p->w, instr, instr->in->len, in, instr->out->len,
                         (const guint *)(const void *)instr->out->data);
  *classes = 0;
  return has;
}

static gboolean
is_on_gpu (const Pad *p)
{
  const char *name = p->device_name != NULL ? p->device_name : p->w->options.device;
  const LoomPlanDevice *device = loom_devices_get (p->w->devices, name, NULL);

  return device != NULL && !device->info.host_memory;
}

/* ---- doing it --------------------------------------------------------------------------------- */

/* Operand k, whose axis has a place for each class, with zeros behind them. */
static void
widen_operand (Pad *p, WorkInstr *instr, guint k, int axis)
{
  const guint v = work_in (instr, k);
  const gpointer key = GUINT_TO_POINTER (v * 2 + (guint)(axis == 0));
  guint wider = GPOINTER_TO_UINT (g_hash_table_lookup (p->wider, key));

  if (wider == 0)
    {
      LoomTensorDesc desc = work_value (p->w, v)->desc;
      LoomPadTo to = { .to = { .rank = desc.rank } };
      WorkInstr *first = p->instrs->pdata[0], *pad;

      desc.dim[axis] = p->padded;
      for (int i = 0; i < desc.rank; i++)
        {
          to.kernel.step[i] = 1;
          to.to.dim[i] = desc.dim[i];
        }
      wider = work_new_value (p->w, &desc, work_value (p->w, v));
      /* In front of all of them where it is there by then, so that chunks of the head find it. */
      pad = work_insert_like (p->w, work_is_ready (p->w, v, first) ? first : instr, instr, loom_prim ("pad"), &to,
                              "pad");
      work_add_in (p->w, pad, v);
      work_add_out (p->w, pad, wider);
      g_hash_table_insert (p->wider, key, GUINT_TO_POINTER (wider));
    }
  work_set_in (p->w, instr, k, wider);
}

/* The conversion that alone reads a product's result, which then writes that type itself (plan-cast.c); NULL: none. */
static WorkInstr *
find_cast (Pad *p, const WorkInstr *instr)
{
  const guint v = work_out (instr, 0);
  WorkInstr *reader = work_only_reader (p->w, v, TRUE);

  return reader != NULL && work_is_step (reader, LOOM_SCALAR_ID) && work_in (reader, 0) == v
                 && reader->device_name == instr->device_name
                 && work_same_dims (&work_value (p->w, work_out (reader, 0))->desc, &work_value (p->w, v)->desc)
             ? reader
             : NULL;
}

/* A value like v with more places along the axis. */
static guint
wider_value (Pad *p, guint v, int axis)
{
  LoomTensorDesc desc = work_value (p->w, v)->desc;

  desc.dim[axis] = p->padded;
  return work_new_value (p->w, &desc, work_value (p->w, v));
}

/* The result, whose axis has a place for each class, is made with more of them, and cut behind that, and behind a
 * conversion of it. */
static void
widen_result (Pad *p, WorkInstr *instr, int axis)
{
  WorkInstr *cast = find_cast (p, instr), *last = cast != NULL ? cast : instr, *slice;
  const guint v = work_out (last, 0);
  const LoomTensorDesc desc = work_value (p->w, v)->desc;
  LoomSliceTo to = { .to = { .rank = desc.rank } };
  guint wider = wider_value (p, work_out (instr, 0), axis);

  for (int i = 0; i < desc.rank; i++)
    {
      to.kernel.step[i] = 1;
      to.to.dim[i] = desc.dim[i];
    }
  work_set_out (p->w, instr, 0, wider);
  if (cast != NULL)
    {
      work_set_in (p->w, cast, 0, wider);
      wider = wider_value (p, v, axis);
      work_step (cast, 0)->result = wider;
      work_set_out (p->w, cast, 0, wider);
    }
  slice = work_insert_like (p->w, work_next (last), last, loom_prim ("slice"), &to, "slice");
  work_add_in (p->w, slice, wider);
  work_add_out (p->w, slice, v);
}

static void
widen_product (Pad *p, WorkInstr *instr)
{
  const LoomMatmulAttrs *a = instr->attrs;

  if (is_scores (p, work_out (instr, 0)))
    {
      widen_operand (p, instr, 1, a->trans_b ? 0 : 1);
      if (a->has_bias)
        widen_operand (p, instr, 2, work_value (p->w, work_in (instr, 2))->desc.rank - 1);
    }
  else if (is_scores (p, work_in (instr, 1)))
    widen_result (p, instr, 1);
  else if (a->trans_a)
    widen_result (p, instr, 0);
  else
    widen_operand (p, instr, 1, a->trans_b ? 1 : 0);
}

static void
widen_instr (Pad *p, WorkInstr *instr)
{
  if (instr->steps != NULL)
    {
      for (guint k = 0; k < instr->in->len; k++)
        if (!is_scores (p, work_in (instr, k)) && ends_with (p, work_in (instr, k), p->classes, p->classes))
          widen_operand (p, instr, k, work_value (p->w, work_in (instr, k))->desc.rank - 1);
    }
  else if (work_is (instr, "matmul"))
    widen_product (p, instr);
  else if (work_is (instr, "reduce"))
    widen_result (p, instr, work_value (p->w, work_out (instr, 0))->desc.rank - 1);
  else
    *classes_of (instr) = p->classes;
}

/* The scores and all their views, whose rows become longer. */
static void
lengthen (Pad *p, guint v)
{
  WorkValue *value = work_value (p->w, v);

  value->desc.dim[value->desc.rank - 1] = p->padded;
  for (const WorkUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr == NULL)
      lengthen (p, use->at);
}

static void
pad_scores (Work *w, WorkInstr *loss)
{
  g_autoptr (GHashTable) scores = g_hash_table_new (NULL, NULL), members = g_hash_table_new (NULL, NULL),
                         wider = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) instrs = g_ptr_array_new ();
  const LoomTensorDesc *d = &work_value (w, work_in (loss, 0))->desc;
  Pad p = { w,      loss->device_name, d->dim[0], d->dim[1], (d->dim[1] + UNIT - 1) / UNIT * UNIT,
            scores, members,           instrs,    wider };
  GHashTableIter each;
  gpointer root;

  if (d->rank != 2 || d->dtype == LOOM_F64 || p.padded == p.classes || p.classes < LEAST_CLASSES
      || p.rows * p.classes < LEAST_SCORES || *classes_of (loss) != 0 || !is_on_gpu (&p)
      || !add_scores (&p, work_in (loss, 0)))
    return;
  for (guint i = 0; i < instrs->len; i++)
    if (!takes (&p, instrs->pdata[i]))
      return;
  /* A product may have been met before what it reads was known to be scores. */
  for (guint i = 0; i < instrs->len; i++)
    if (!takes (&p, instrs->pdata[i]) || !leaves_out (&p, instrs->pdata[i]))
      return;
  work_sort (instrs);
  for (guint i = 0; i < instrs->len; i++)
    widen_instr (&p, instrs->pdata[i]);
  g_hash_table_iter_init (&each, scores);
  while (g_hash_table_iter_next (&each, &root, NULL))
    lengthen (&p, GPOINTER_TO_UINT (root));
}

void
work_pad_scores (Work *w)
{
  g_autoptr (GPtrArray) losses = g_ptr_array_new ();

  for (WorkInstr *instr = work_first (w); instr != NULL; instr = work_next (instr))
    if (work_is (instr, "cross_entropy"))
      g_ptr_array_add (losses, instr);
  for (guint i = 0; i < losses->len; i++)
    pad_scores (w, losses->pdata[i]);
}
