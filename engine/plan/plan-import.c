/* From a program to the planner's working form, and the rewrites that need no kernel:
 * dead code, uniform constants, common values, aliases, transposes into products.
 *
 * They run before fusion because each makes more of it possible: a constant that is known
 * becomes an immediate, and a transpose that a product can read needs no pass over memory. */
#include "engine/plan/plan-private.h"

#include <math.h>
#include <string.h>

guint
work_root (Work *w, guint v)
{
  while (work_value (w, v)->alias != 0)
    v = work_value (w, v)->alias;
  return v;
}

guint
work_new_value (Work *w, const LoomTensorDesc *desc, const WorkValue *like)
{
  WorkValue v = { .desc = *desc, .producer = -1, .slot = -1, .input = -1, .commit = -1, .device = -1, .storage = -1 };

  if (like != NULL)
    {
      v.region = like->region;
      v.origin = like->origin;
      v.device_name = like->device_name;
      v.owner = like->owner;
    }
  g_array_append_val (w->values, v);
  return w->values->len - 1;
}

WorkInstr *
work_new_instr (Work *w, const char *primitive, const void *attrs, gsize attrs_size)
{
  WorkInstr *instr = g_new0 (WorkInstr, 1);

  instr->primitive = primitive;
  instr->attrs = attrs != NULL && attrs_size > 0 ? g_memdup2 (attrs, attrs_size) : NULL;
  instr->attrs_size = attrs_size;
  instr->in = g_array_new (FALSE, TRUE, sizeof (guint)); /* a place that nothing fills is an absent operand */
  instr->out = g_array_new (FALSE, FALSE, sizeof (guint));
  instr->device = -1;
  instr->label = g_string_new (NULL);
  return instr;
}

void
work_instr_free (WorkInstr *instr)
{
  if (instr->kernel != NULL)
    instr->kernel->free (instr->kernel);
  g_free (instr->attrs);
  g_array_unref (instr->in);
  g_array_unref (instr->out);
  if (instr->steps != NULL)
    g_array_unref (instr->steps);
  g_string_free (instr->label, TRUE);
  g_free (instr);
}

LoomDType
loom_plan_compute_type (LoomDType float_type, guint n_in, const LoomDType *in, LoomDType out)
{
  gboolean has_float = loom_dtype_is_float (out);

  for (guint i = 0; i < n_in; i++)
    has_float |= loom_dtype_is_float (in[i]);
  return has_float ? float_type : LOOM_I64;
}

gboolean
loom_plan_spec_of_instr (const LoomProgram *program, const LoomInstr *instr, const char **primitive, const void **attrs,
                         LoomElementwiseAttrs *attrs_store)
{
  if (instr->prim->flags & LOOM_PRIM_ALIAS)
    return FALSE;
  if (instr->prim->flags & LOOM_PRIM_ELEMENTWISE)
    {
      LoomDType in[3];

      g_assert (instr->n_in <= 3 && instr->n_out == 1);
      for (guint i = 0; i < instr->n_in; i++)
        in[i] = loom_value_info (program, instr->in[i])->desc.dtype;
      memset (attrs_store, 0, sizeof *attrs_store);
      attrs_store->compute = loom_plan_compute_type (loom_program_get_float (program), instr->n_in, in,
                                                     loom_value_info (program, instr->out[0])->desc.dtype);
      attrs_store->n_steps = 1;
      attrs_store->step[0] = (LoomElementwiseStep){ .op = instr->prim->scalar, .arg = { 0, 1, 2 } };
      attrs_store->out[0] = (uint8_t)instr->n_in;
      *primitive = "elementwise";
      *attrs = attrs_store;
      return TRUE;
    }
  *primitive = instr->prim->name;
  *attrs = instr->attrs;
  return TRUE;
}

/* ---- uniform constants ------------------------------------------------ */

/* One scalar operation in double, from the shared formulas. */
static double
evaluate (LoomScalarOp op, double a, double b, double c, double imm)
{
#define T                      double
#define LOOM_M_FABS            fabs
#define LOOM_M_FLOOR           floor
#define LOOM_M_SQRT            sqrt
#define LOOM_M_EXP             exp
#define LOOM_M_LOG             log
#define LOOM_M_TANH            tanh
#define LOOM_M_ERF             erf
#define LOOM_M_SIN             sin
#define LOOM_M_COS             cos
#define LOOM_M_POW             pow
#define LOOM_M_CEIL            ceil
#define LOOM_M_RINT            rint
#define LOOM_M_TRUNC           trunc
#define LOOM_M_EXP2            exp2
#define LOOM_M_EXPM1           expm1
#define LOOM_M_LOG2            log2
#define LOOM_M_LOG10           log10
#define LOOM_M_LOG1P           log1p
#define LOOM_M_TAN             tan
#define LOOM_M_ASIN            asin
#define LOOM_M_ACOS            acos
#define LOOM_M_ATAN            atan
#define LOOM_M_SINH            sinh
#define LOOM_M_COSH            cosh
#define LOOM_M_ASINH           asinh
#define LOOM_M_ACOSH           acosh
#define LOOM_M_ATANH           atanh
#define LOOM_M_FMOD            fmod
#define LOOM_M_ATAN2           atan2
#define LOOM_M_DIV_TRUNC(x, y) trunc ((x) / (y))
#define LOOM_M_DIV_FLOOR(x, y) LOOM_FLOAT_DIV_FLOOR (x, y)
#define LOOM_CASE(E, name, arity, expr)                                                                                \
  case LOOM_SCALAR_##E:                                                                                                \
    return expr;
  switch (op)
    {
      LOOM_SCALAR_OPS (LOOM_CASE)
    default:
      g_assert_not_reached ();
    }
#undef LOOM_CASE
#undef T
}

static gboolean
attrs_equal (const WorkInstr *a, const WorkInstr *b)
{
  return a->attrs_size == b->attrs_size
         && (a->attrs_size == 0 || a->attrs == b->attrs
             || (a->attrs != NULL && b->attrs != NULL && memcmp (a->attrs, b->attrs, a->attrs_size) == 0));
}

/* Marks results whose every element is one number that planning knows. */
static void
find_uniform (Work *w, WorkInstr *instr)
{
  WorkValue *out = work_value (w, work_out (instr, 0));

  if (instr->out->len != 1)
    return;
  if (strcmp (instr->primitive, "fill") == 0)
    {
      out->is_uniform = TRUE;
      out->uniform = ((const LoomFillAttrs *)instr->attrs)->value;
    }
  else if (instr->steps != NULL && loom_dtype_is_float (out->desc.dtype))
    {
      const WorkStep *step = &g_array_index (instr->steps, WorkStep, 0);
      double x[3] = { 0 };

      for (int i = 0; i < loom_scalar_arity (step->op); i++)
        {
          const WorkValue *arg = work_value (w, step->arg[i]);

          if (!arg->is_uniform)
            return;
          x[i] = arg->uniform;
        }
      out->is_uniform = TRUE;
      out->uniform = evaluate (step->op, x[0], x[1], x[2], step->imm);
    }
  else if (instr->in->len == 1 && loom_dtype_is_float (out->desc.dtype)
           && (strcmp (instr->primitive, "expand") == 0 || strcmp (instr->primitive, "permute") == 0
               || strcmp (instr->primitive, "reshape") == 0))
    {
      const WorkValue *in = work_value (w, work_in (instr, 0));

      out->is_uniform = in->is_uniform;
      out->uniform = in->uniform;
    }
}

/* ---- import ----------------------------------------------------------- */

/* Whether the element-wise form of a conversion keeps its meaning when it is merged: to the registers' float from
 * anything, and between it and a short float, to which a step can round. A truncation to an integer would be lost in a
 * float register, so that one stays a kernel of its own. */
static gboolean
is_mergeable_cast (Work *w, const LoomInstr *instr)
{
  const LoomTensorDesc *from, *to;

  if (strcmp (instr->prim->name, "copy") != 0)
    return FALSE;
  from = &work_value (w, instr->in[0])->desc;
  to = &work_value (w, instr->out[0])->desc;
  return from->dtype != to->dtype
         && (to->dtype == loom_program_get_float (w->program)
             || (loom_dtype_is_float (from->dtype) && (to->dtype == LOOM_BF16 || to->dtype == LOOM_F16)));
}

/* The plan's own device is NULL however it was written, so that names can be compared by address: a program keeps
 * each once. */
static const char *
device_asked_for (const Work *w, const char *name)
{
  return g_strcmp0 (name, w->options.device) == 0 ? NULL : name;
}

static void
import_instr (Work *w, const LoomInstr *from)
{
  const LoomPrim *prim = from->prim;
  gboolean cast = is_mergeable_cast (w, from);
  gboolean elementwise = (prim->flags & LOOM_PRIM_ELEMENTWISE) != 0 || cast;
  WorkInstr *instr = work_new_instr (w, elementwise ? "elementwise" : prim->name, elementwise ? NULL : from->attrs,
                                     elementwise ? 0 : prim->attrs_size);

  instr->prim = prim;
  instr->region = from->region;
  instr->origin = from->origin;
  instr->device_name = device_asked_for (w, from->device);
  instr->recomputation = from->recomputation;
  g_string_assign (instr->label, cast ? "cast" : prim->name);
  /* What else an alias names is there for its gradient, which has been taken by now. */
  g_array_append_vals (instr->in, from->in, prim->flags & LOOM_PRIM_ALIAS ? 1 : loom_instr_n_operands (from));
  g_array_append_vals (instr->out, from->out, from->n_out);
  if (elementwise)
    {
      WorkStep step = { .op = cast ? LOOM_SCALAR_ID : prim->scalar, .result = from->out[0] };
      LoomDType in[3];

      for (guint i = 0; i < from->n_in; i++)
        {
          step.arg[i] = from->in[i];
          in[i] = work_value (w, from->in[i])->desc.dtype;
        }
      instr->compute = loom_plan_compute_type (loom_program_get_float (w->program), from->n_in, in,
                                               work_value (w, from->out[0])->desc.dtype);
      instr->steps = g_array_new (FALSE, FALSE, sizeof (WorkStep));
      g_array_append_val (instr->steps, step);
    }
  for (guint i = 0; i < from->n_out; i++)
    if (from->out[i] != 0)
      work_value (w, from->out[i])->producer = (int)w->instrs->len;
  g_ptr_array_add (w->instrs, instr);
  find_uniform (w, instr);
}

/* Operands that turned out to be another value. The instructions behind an equal pair come to this in their turn. */
static void
follow_shared (WorkInstr *instr, const guint *shared)
{
  for (guint k = 0; k < instr->in->len; k++)
    g_array_index (instr->in, guint, k) = shared[work_in (instr, k)];
  for (guint s = 0; instr->steps != NULL && s < instr->steps->len; s++)
    for (int k = 0; k < loom_scalar_arity (g_array_index (instr->steps, WorkStep, s).op); k++)
      {
        guint *arg = &g_array_index (instr->steps, WorkStep, s).arg[k];

        *arg = shared[*arg];
      }
}

/* Two pure instructions with equal operands give one value. Random ones too: a number is a function of its key. */
static void
share_common (Work *w)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree guint *shared = g_new (guint, w->values->len);

  for (guint v = 0; v < w->values->len; v++)
    shared[v] = v;
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);
      WorkInstr *twin;
      g_autoptr (GString) key = g_string_new (instr->primitive);

      follow_shared (instr, shared);
      if (instr->dead || instr->out->len == 0 || (instr->prim->flags & LOOM_PRIM_UPDATE))
        continue;
      for (guint k = 0; k < instr->in->len; k++)
        g_string_append_printf (key, ",%u", work_in (instr, k));
      if (instr->steps != NULL)
        g_string_append_printf (key, ";%d", (int)g_array_index (instr->steps, WorkStep, 0).op);
      for (guint k = 0; k < instr->out->len; k++)
        if (work_out (instr, k) != 0)
          {
            const LoomTensorDesc *d = &work_value (w, work_out (instr, k))->desc;

            g_string_append_printf (key, ":%d", (int)d->dtype);
            for (int r = 0; r < d->rank; r++)
              g_string_append_printf (key, "x%" G_GINT64_FORMAT, (gint64)d->dim[r]);
          }
        else
          g_string_append (key, ":-");
      for (gsize b = 0; b < instr->attrs_size; b++)
        g_string_append_printf (key, "%02x", ((const guint8 *)instr->attrs)[b]);
      if (instr->device_name != NULL)
        g_string_append (key, instr->device_name);
      g_string_append_printf (key, "#%u", instr->recomputation);
      twin = g_hash_table_lookup (seen, key->str);
      if (twin == NULL)
        {
          g_hash_table_insert (seen, g_string_free (g_steal_pointer (&key), FALSE), instr);
          continue;
        }
      g_assert (attrs_equal (twin, instr));
      for (guint k = 0; k < instr->out->len; k++)
        if (work_out (instr, k) != 0)
          {
            WorkValue *v = work_value (w, work_out (instr, k));

            shared[work_out (instr, k)] = work_out (twin, k);
            v->alias = work_out (twin, k); /* an output or commit that names it finds the bytes */
            v->producer = -1;
          }
      instr->dead = TRUE;
    }
}

/* Whether the result has the operand's bytes as they are: a reshape, a copy or an expansion to the same count and type.
 */
static gboolean
moves_nothing (Work *w, const WorkInstr *instr)
{
  const LoomTensorDesc *a, *b;

  if (instr->prim == NULL || instr->out->len != 1 || instr->in->len != 1)
    return FALSE;
  if (instr->prim->flags & LOOM_PRIM_ALIAS)
    return TRUE;
  if (strcmp (instr->primitive, "copy") != 0 && strcmp (instr->primitive, "expand") != 0)
    return FALSE;
  a = &work_value (w, work_in (instr, 0))->desc;
  b = &work_value (w, work_out (instr, 0))->desc;
  return a->dtype == b->dtype && loom_desc_count (a) == loom_desc_count (b);
}

/* Such an instruction on its operand's own device is no instruction. Between two devices it is the transfer, which the
 * placement makes of it. */
static void
find_aliases (Work *w)
{
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);
      WorkValue *out;

      if (instr->dead || !moves_nothing (w, instr))
        continue;
      out = work_value (w, work_out (instr, 0));
      if (instr->device_name != work_value (w, work_in (instr, 0))->device_name)
        {
          instr->crosses_only = TRUE;
          continue;
        }
      out->alias = work_in (instr, 0);
      out->producer = -1;
      instr->dead = TRUE;
    }
}

/* A product reads its operand transposed for nothing, so a permute that only swaps the last two axes is dropped. */
static void
fold_transposes (Work *w)
{
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      if (instr->dead || strcmp (instr->primitive, "matmul") != 0)
        continue;
      for (guint k = 0; k < 2; k++)
        {
          const WorkValue *v = work_value (w, work_in (instr, k));
          WorkInstr *permute = v->producer >= 0 ? work_instr (w, (guint)v->producer) : NULL;
          LoomMatmulAttrs *attrs = instr->attrs;
          const LoomPermuteAttrs *p;
          int rank = v->desc.rank;
          gboolean swap = TRUE;

          if (permute == NULL || permute->dead || strcmp (permute->primitive, "permute") != 0)
            continue;
          p = permute->attrs;
          for (int r = 0; r < rank; r++)
            swap &= p->perm[r] == (r == rank - 1 ? rank - 2 : r == rank - 2 ? rank - 1 : r);
          if (!swap)
            continue;
          g_array_index (instr->in, guint, k) = work_in (permute, 0);
          if (k == 0)
            attrs->trans_a = !attrs->trans_a;
          else
            attrs->trans_b = !attrs->trans_b;
        }
    }
}

/* Operands that are uniform become immediates; where a kernel needs the bytes a fill makes them, once. */
static void
inline_uniform (Work *w)
{
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      if (instr->dead || instr->steps == NULL || work_value (w, work_out (instr, 0))->is_uniform)
        continue;
      for (guint s = 0; s < instr->steps->len; s++)
        for (int k = 0; k < loom_scalar_arity (g_array_index (instr->steps, WorkStep, s).op); k++)
          {
            guint v = g_array_index (instr->steps, WorkStep, s).arg[k];
            WorkStep constant = { .op = LOOM_SCALAR_CONST };

            if (!work_value (w, v)->is_uniform)
              continue;
            constant.imm = work_value (w, v)->uniform;
            constant.result = work_new_value (w, &work_value (w, v)->desc, work_value (w, v));
            g_array_index (instr->steps, WorkStep, s).arg[k] = constant.result;
            g_array_insert_val (instr->steps, s, constant);
            s++;
            for (guint x = 0; x < instr->in->len;)
              if (work_in (instr, x) == v)
                g_array_remove_index (instr->in, x);
              else
                x++;
          }
    }
}

/* What remains of a uniform value's own computation is one fill. */
static void
simplify_uniform (Work *w)
{
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);
      const WorkValue *out;
      LoomFillAttrs fill;

      if (instr->dead || instr->out->len != 1 || strcmp (instr->primitive, "fill") == 0)
        continue;
      out = work_value (w, work_out (instr, 0));
      if (!out->is_uniform || out->alias != 0)
        continue;
      fill.value = out->uniform;
      g_free (instr->attrs);
      instr->attrs = g_memdup2 (&fill, sizeof fill);
      instr->attrs_size = sizeof fill;
      instr->primitive = "fill";
      instr->prim = loom_prim ("fill");
      g_clear_pointer (&instr->steps, g_array_unref);
      g_array_set_size (instr->in, 0);
      g_string_assign (instr->label, "fill");
    }
}

/* An output that is state is what it was when the step began, so it is copied out of the slot's place before anything
 * is written there. */
static void
copy_state_outputs (Work *w)
{
  g_autoptr (GPtrArray) copies = g_ptr_array_new ();
  guint n = w->values->len;

  for (guint o = 0; o < w->output_value->len; o++)
    {
      guint v = g_array_index (w->output_value, guint, o), root = work_root (w, v), copy;
      int slot = work_value (w, root)->slot;
      const LoomSlot *s = slot >= 0 ? loom_program_get_slot (w->program, (guint)slot) : NULL;
      LoomTensorDesc desc;
      WorkInstr *instr;

      if (s == NULL || s->commit == 0 || s->commit == s->read)
        continue;
      desc = work_value (w, v)->desc;
      copy = work_new_value (w, &desc, NULL);
      *work_value (w, copy) = *work_value (w, v);
      work_value (w, copy)->slot = work_value (w, copy)->input = work_value (w, copy)->commit = -1;
      work_value (w, copy)->alias = 0;
      work_value (w, copy)->producer = (int)copies->len;
      work_value (w, copy)->owner = LOOM_OWNER_ACTIVATIONS;
      work_value (w, copy)->is_output = TRUE;
      work_value (w, v)->is_output = FALSE;
      g_array_index (w->output_value, guint, o) = copy;
      instr = work_new_instr (w, "copy", NULL, 0);
      instr->prim = loom_prim ("copy");
      instr->origin = work_value (w, v)->origin;
      instr->device_name = work_value (w, v)->device_name;
      g_string_assign (instr->label, "copy");
      g_array_append_val (instr->in, v);
      g_array_append_val (instr->out, copy);
      g_ptr_array_add (copies, instr);
    }
  for (guint v = 1; v < n && copies->len > 0; v++)
    if (work_value (w, v)->producer >= 0)
      work_value (w, v)->producer += (int)copies->len;
  for (guint i = 0; i < copies->len; i++)
    g_ptr_array_insert (w->instrs, (int)i, g_ptr_array_index (copies, i));
}

Work *
work_new (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options)
{
  Work *w = g_new0 (Work, 1);
  WorkValue none = { .producer = -1, .slot = -1, .input = -1, .commit = -1, .storage = -1 };

  w->program = program;
  w->devices = devices;
  w->options = *options;
  w->faults = loom_faults_new ();
  w->values = g_array_new (FALSE, FALSE, sizeof (WorkValue));
  w->instrs = g_ptr_array_new_with_free_func ((GDestroyNotify)work_instr_free);
  w->schedule = g_ptr_array_new ();
  w->storages = g_array_new (FALSE, FALSE, sizeof (WorkStorage));
  w->plan_devices = g_ptr_array_new ();
  w->input_copied = g_array_new (FALSE, TRUE, sizeof (gboolean));
  g_array_set_size (w->input_copied, loom_program_n_inputs (program));
  w->output_value = g_array_new (FALSE, FALSE, sizeof (guint));

  g_array_append_val (w->values, none);
  for (guint v = 1; v <= loom_program_n_values (program); v++)
    {
      const LoomValueInfo *info = loom_value_info (program, v);
      WorkValue value = none;

      value.desc = info->desc;
      value.slot = info->slot;
      value.input = info->input;
      value.region = info->region;
      value.origin = info->origin;
      value.device_name = device_asked_for (w, info->device);
      value.device = -1;
      value.owner = info->input >= 0 ? LOOM_OWNER_DATA : LOOM_OWNER_ACTIVATIONS;
      g_array_append_val (w->values, value);
    }
  for (guint o = 0; o < loom_program_n_outputs (program); o++)
    {
      guint v = loom_program_get_output (program, o)->value;

      work_value (w, v)->is_output = TRUE;
      g_array_append_val (w->output_value, v);
    }
  for (guint s = 0; s < loom_program_n_slots (program); s++)
    {
      const LoomSlot *slot = loom_program_get_slot (program, s);

      if (slot->commit != 0 && slot->commit != slot->read)
        work_value (w, slot->commit)->commit = (int)s;
    }
  for (guint i = 0; i < loom_program_n_instrs (program); i++)
    import_instr (w, loom_program_instr (program, i));

  work_remove_dead (w);
  if (!options->no_fusion)
    {
      share_common (w);
      fold_transposes (w);
      simplify_uniform (w);
      inline_uniform (w);
    }
  find_aliases (w);
  copy_state_outputs (w);
  work_remove_dead (w);
  return w;
}

void
work_free (Work *w)
{
  if (w == NULL)
    return;
  loom_faults_free (w->faults);
  g_array_unref (w->values);
  g_ptr_array_unref (w->instrs);
  g_ptr_array_unref (w->schedule);
  g_array_unref (w->storages);
  g_ptr_array_unref (w->plan_devices);
  g_array_unref (w->input_copied);
  g_array_unref (w->output_value);
  g_free (w);
}
