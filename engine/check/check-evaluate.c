/* Runs single instructions of a program on `ref`, in f64 or in the program's types. */
#include "engine/check/check-evaluate.h"
#include "engine/check/check-compare.h"

#include <math.h>
#include <string.h>

CheckEval *
check_eval_new (const LoomProgram *program, const LoomValue *number, gboolean wide, LoomDevice *device)
{
  CheckEval *eval = g_new0 (CheckEval, 1);

  eval->program = program;
  eval->number = number;
  eval->wide = wide;
  eval->device = device;
  eval->value = g_new0 (LoomTensor *, loom_program_n_values (program) + 1);
  eval->kernel = g_new0 (LoomKernel *, loom_program_n_instrs (program) + 1);
  return eval;
}

void
check_eval_free (CheckEval *eval)
{
  const guint n_instrs = loom_program_n_instrs (eval->program), n_values = loom_program_n_values (eval->program);

  for (guint i = 0; i < n_instrs; i++)
    if (eval->kernel[i] != NULL)
      eval->kernel[i]->free (eval->kernel[i]);
  for (guint v = 0; v <= n_values; v++)
    g_clear_pointer (&eval->value[v], loom_tensor_unref);
  g_free (eval->value);
  g_free (eval->kernel);
  g_free (eval);
}

/* The description of a value as it is evaluated; of an absent one LOOM_N_DTYPES. */
static LoomTensorDesc
desc_of (const CheckEval *eval, LoomValue v)
{
  LoomTensorDesc desc = { .dtype = LOOM_N_DTYPES };

  if (v == 0)
    return desc;
  desc = loom_value_info (eval->program, v)->desc;
  if (eval->wide && loom_dtype_is_float (desc.dtype))
    desc.dtype = LOOM_F64;
  return desc;
}

gboolean
check_eval_reserve (CheckEval *eval, LoomValue v)
{
  LoomTensorDesc desc;

  v = eval->number != NULL ? eval->number[v] : v;
  if (eval->value[v] != NULL)
    return TRUE;
  desc = desc_of (eval, v);
  eval->value[v] = loom_tensor_new (desc.dtype, desc.rank, desc.dim, NULL);
  return eval->value[v] != NULL;
}

LoomTensor *
check_eval_value (CheckEval *eval, LoomValue v)
{
  const gboolean has_memory = check_eval_reserve (eval, v);

  g_assert (has_memory);
  return eval->value[eval->number != NULL ? eval->number[v] : v];
}

/* TRUE if the result needs a conversion: random numbers are drawn in the result's type, since those of f64 have more
 * digits. */
static gboolean
draws (const CheckEval *eval, const LoomInstr *instr)
{
  return eval->wide && (instr->prim->flags & LOOM_PRIM_RANDOM) != 0 && instr->out[0] != 0
         && loom_dtype_is_float (loom_value_info (eval->program, instr->out[0])->desc.dtype);
}

static LoomStatus
make_kernel (CheckEval *eval, guint i, LoomMessage *message)
{
  const LoomInstr *instr = loom_program_instr (eval->program, i);
  const guint n_in = loom_instr_n_operands (instr);
  g_autofree LoomTensorDesc *in = g_new0 (LoomTensorDesc, n_in + 1);
  g_autofree LoomTensorDesc *out = g_new0 (LoomTensorDesc, instr->n_out + 1);
  LoomElementwiseAttrs scalar = { .n_steps = 1, .compute = LOOM_I64 };
  LoomKernelSpec spec = { .primitive = instr->prim->name,
                          .attrs = instr->attrs,
                          .n_in = (int)n_in,
                          .n_out = (int)instr->n_out,
                          .in = in,
                          .out = out };

  for (guint k = 0; k < n_in; k++)
    in[k] = desc_of (eval, instr->in[k]);
  for (guint k = 0; k < instr->n_out; k++)
    {
      out[k] = desc_of (eval, instr->out[k]);
      if (k == 0 && draws (eval, instr))
        out[k].dtype = loom_value_info (eval->program, instr->out[k])->desc.dtype;
    }
  if (instr->prim->flags & LOOM_PRIM_ELEMENTWISE)
    {
      gboolean has_float = loom_dtype_is_float (out[0].dtype);

      for (guint k = 0; k < n_in; k++)
        has_float = has_float || loom_dtype_is_float (in[k].dtype);
      if (has_float)
        scalar.compute = eval->wide ? LOOM_F64 : loom_program_get_float (eval->program);
      scalar.step[0] = (LoomElementwiseStep){ .op = instr->prim->scalar, .arg = { 0, 1, 2 } };
      scalar.out[0] = (guint8)n_in;
      spec.primitive = "elementwise";
      spec.attrs = &scalar;
    }
  return loom_backend_ref ()->kernel_new (eval->device, &spec, &eval->kernel[i], message);
}

static LoomStatus
run_kernel (CheckEval *eval, guint i, LoomMessage *message)
{
  const LoomInstr *instr = loom_program_instr (eval->program, i);
  const guint n_in = loom_instr_n_operands (instr);
  g_autofree void **buffers = g_new0 (void *, n_in + instr->n_out + 1);
  g_autoptr (LoomTensor) drawn = NULL;
  g_autofree void *scratch = NULL;
  LoomStatus status = eval->kernel[i] == NULL ? make_kernel (eval, i, message) : LOOM_STATUS_OK;

  if (status != LOOM_STATUS_OK)
    return status;
  for (guint k = 0; k < n_in; k++)
    buffers[k] = instr->in[k] != 0 ? check_eval_value (eval, instr->in[k])->data : NULL;
  for (guint k = 0; k < instr->n_out; k++)
    buffers[n_in + k] = instr->out[k] != 0 ? check_eval_value (eval, instr->out[k])->data : NULL;
  if (draws (eval, instr))
    {
      const LoomTensorDesc *d = &loom_value_info (eval->program, instr->out[0])->desc;

      drawn = loom_tensor_new (d->dtype, d->rank, d->dim, NULL);
      buffers[n_in] = drawn->data;
    }
  for (guint k = 0; instr->prim->updates != NULL && k < instr->n_out; k++)
    {
      const guint of = instr->prim->updates (instr->attrs, k);

      if (instr->out[k] == 0 || of == LOOM_UPDATES_NOTHING)
        continue;
      memcpy (buffers[n_in + k], buffers[of], check_eval_value (eval, instr->in[of])->bytes);
      buffers[of] = buffers[n_in + k];
    }
  if (eval->kernel[i]->scratch_bytes > 0)
    buffers[n_in + instr->n_out] = scratch = g_malloc (eval->kernel[i]->scratch_bytes);
  status = eval->kernel[i]->run (eval->kernel[i], NULL, buffers, message);
  for (gint64 e = 0; drawn != NULL && e < drawn->count; e++)
    loom_tensor_set (check_eval_value (eval, instr->out[0]), e, loom_tensor_get (drawn, e));
  return status;
}

/* ---- roundings of a batch norm ------------------------------------------------------------------------ */

/* x [N,C,area] and [C] statistics; the gradient reads the cotangent g [N,C,area]. */
typedef struct
{
  LoomTensor *x, *g, *mean, *var, *weight;
  double eps;
  gint64 area;
} BatchNorm;

/* Of one channel: the factor weight/√(var+eps), and the mean sizes of the gradient's terms g and g·x̂. */
typedef struct
{
  double mean, scale, rstd, g, dot, count;
} Channel;

static Channel
channel_of (const BatchNorm *n, gint64 c)
{
  const double rstd = 1 / sqrt (loom_tensor_get (n->var, c) + n->eps);
  Channel of = { .mean = loom_tensor_get (n->mean, c),
                 .rstd = rstd,
                 .scale = rstd * (n->weight != NULL ? loom_tensor_get (n->weight, c) : 1) };

  of.count = (double)n->x->count / (double)n->x->dim[1];
  for (gint64 row = c * n->area; n->g != NULL && row < n->x->count; row += n->x->dim[1] * n->area)
    for (gint64 e = row; e < row + n->area; e++)
      {
        const double g = fabs (loom_tensor_get (n->g, e));

        of.g += g / of.count;
        of.dot += g * fabs (loom_tensor_get (n->x, e) - of.mean) * rstd / of.count;
      }
  return of;
}

/* TRUE if round_norm () changes results of the instruction. */
static gboolean
is_norm (const LoomInstr *instr)
{
  if (strcmp (instr->prim->name, "batch_norm") == 0)
    return instr->out[0] != 0 && instr->out[1] != 0 && instr->out[2] != 0;
  return strcmp (instr->prim->name, "batch_norm_grad") == 0 && instr->out[0] != 0;
}

gboolean
check_instr_rounds (const LoomInstr *instr)
{
  guint n = 0;
  LoomProgram **bodies = instr->prim->bodies != NULL ? instr->prim->bodies ((gpointer)instr->attrs, &n) : NULL;

  for (guint b = 0; b < n; b++)
    for (guint i = 0; i < loom_program_n_instrs (bodies[b]); i++)
      if (check_instr_rounds (loom_program_instr (bodies[b], i)))
        return TRUE;
  return is_norm (instr);
}

static void
add (LoomTensor *to, gint64 e, double x)
{
  loom_tensor_set (to, e, loom_tensor_get (to, e) + x);
}

static void
round_norm (CheckEval *eval, guint i)
{
  const LoomInstr *instr = loom_program_instr (eval->program, i);
  const LoomNormAttrs *a = instr->attrs;
  const gboolean is_grad = strcmp (instr->prim->name, "batch_norm_grad") == 0;
  LoomValue mean;
  LoomTensor *out;
  BatchNorm n = { .area = 1 };
  double by;

  mean = is_grad ? instr->in[2] : instr->out[1];
  n.x = check_eval_value (eval, instr->in[is_grad]);
  n.g = is_grad ? check_eval_value (eval, instr->in[0]) : NULL;
  n.mean = check_eval_value (eval, mean);
  n.var = check_eval_value (eval, is_grad ? instr->in[3] : instr->out[2]);
  n.weight = a->affine ? check_eval_value (eval, instr->in[is_grad ? 4 : 1]) : NULL;
  n.eps = a->eps;
  for (int d = 2; d < n.x->rank; d++)
    n.area *= n.x->dim[d];
  out = check_eval_value (eval, instr->out[0]);
  by = 2 * check_roundoff (loom_value_info (eval->program, mean)->desc.dtype);
  for (gint64 c = 0; c < n.x->dim[1]; c++)
    {
      const Channel of = channel_of (&n, c);
      const double sign = g_rand_boolean (eval->rounding) ? by : -by;

      for (gint64 row = c * n.area; row < n.x->count; row += n.x->dim[1] * n.area)
        for (gint64 e = row; e < row + n.area; e++)
          {
            const double term = is_grad ? fabs (loom_tensor_get (n.g, e)) + of.g
                                              + fabs (loom_tensor_get (n.x, e) - of.mean) * of.rstd * of.dot
                                        : of.mean;

            add (out, e, sign * of.scale * term);
          }
      if (is_grad && a->affine && instr->out[1] != 0)
        add (check_eval_value (eval, instr->out[1]), c, sign * of.dot * of.count);
      if (is_grad && a->affine && instr->out[2] != 0)
        add (check_eval_value (eval, instr->out[2]), c, sign * of.g * of.count);
    }
}

/* ---- any instruction ----------------------------------------------------------------------------------- */

static LoomStatus
run_on_host (CheckEval *eval, const LoomInstr *instr, LoomMessage *message)
{
  g_autofree const void **in = g_new0 (const void *, instr->n_in + 1);
  g_autofree void **out = g_new0 (void *, instr->n_out + 1);
  g_autofree LoomTensorDesc *desc = g_new0 (LoomTensorDesc, instr->n_in + instr->n_out + 1);

  for (guint k = 0; k < instr->n_in; k++)
    {
      desc[k] = desc_of (eval, instr->in[k]);
      in[k] = instr->in[k] != 0 ? check_eval_value (eval, instr->in[k])->data : NULL;
    }
  for (guint k = 0; k < instr->n_out; k++)
    {
      desc[instr->n_in + k] = desc_of (eval, instr->out[k]);
      out[k] = instr->out[k] != 0 ? check_eval_value (eval, instr->out[k])->data : NULL;
    }
  return instr->prim->on_host (instr->attrs, desc, in, out, message);
}

LoomStatus
check_eval_run (CheckEval *eval, guint i, LoomMessage *message)
{
  const LoomInstr *instr = loom_program_instr (eval->program, i);
  LoomStatus status;

  if (instr->prim->view == LOOM_VIEW_ALWAYS)
    {
      const LoomTensor *from = check_eval_value (eval, instr->in[0]);

      memcpy (check_eval_value (eval, instr->out[0])->data, from->data, from->bytes);
      return LOOM_STATUS_OK;
    }
  if (instr->prim->flags & (LOOM_PRIM_COLLECTIVE | LOOM_PRIM_SIDE_EFFECT))
    return LOOM_STATUS_UNSUPPORTED;
  if (instr->prim->on_host != NULL)
    return run_on_host (eval, instr, message);
  if (instr->prim->bodies != NULL)
    return check_eval_run_bodies (eval, instr, message);
  status = run_kernel (eval, i, message);
  if (status == LOOM_STATUS_OK && eval->rounding != NULL && is_norm (instr))
    round_norm (eval, i);
  return status;
}

LoomStatus
check_eval_run_all (CheckEval *eval, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint i = 0; i < loom_program_n_instrs (eval->program) && status == LOOM_STATUS_OK; i++)
    status = check_eval_run (eval, i, message);
  return status;
}
