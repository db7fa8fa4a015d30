/* Implements the functions that infer() may call; see loom-context.h. */
#include "engine/ops/loom-context.h"

#include <string.h>

#include "engine/graph/loom-expr.h"
#include "engine/graph/loom-graph.h"
#include "engine/ops/loom-initializer.h"

/* ---- parameters --------------------------------------------------------- */

static const LoomParam *
find_param (const LoomInfer *ctx, const char *name)
{
  for (guint i = 0; ctx->specs != NULL && ctx->specs[i].name != NULL; i++)
    if (strcmp (ctx->specs[i].name, name) == 0)
      return ctx->params + i;
  return NULL;
}

static const LoomParam *
get_param (const LoomInfer *ctx, const char *name)
{
  const LoomParam *param = find_param (ctx, name);

  if (param == NULL)
    g_error ("operator “%s” reads its parameter “%s”, which is not in its table", ctx->op->name, name);
  return param;
}

gint64
loom_infer_int (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->i;
}

double
loom_infer_float (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->d;
}

gboolean
loom_infer_bool (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->i != 0;
}

const char *
loom_infer_string (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->text;
}

guint
loom_infer_ints (const LoomInfer *ctx, const char *name, gint64 *values, guint max)
{
  const LoomParam *param = get_param (ctx, name);

  if (param->ints != NULL)
    memcpy (values, param->ints, sizeof (gint64) * MIN (param->n, max));
  return param->n;
}

guint
loom_infer_floats (const LoomInfer *ctx, const char *name, double *values, guint max)
{
  const LoomParam *param = get_param (ctx, name);

  if (param->floats != NULL)
    memcpy (values, param->floats, sizeof (double) * MIN (param->n, max));
  return param->n;
}

LoomShape
loom_infer_shape (const LoomInfer *ctx, const char *name)
{
  const LoomParam *param = get_param (ctx, name);

  if (param->shape == NULL)
    return loom_shape_scalar ();
  return ctx->binding != NULL ? loom_shape_bind (param->shape, ctx->binding) : *param->shape;
}

LoomDType
loom_infer_dtype (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->dtype;
}

const LoomOp *
loom_infer_op (const LoomInfer *ctx)
{
  return ctx->op;
}

gboolean
loom_infer_is_set (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->is_set;
}

const char *
loom_infer_attribute (const LoomInfer *ctx, const char *name)
{
  const LoomParam *param = find_param (ctx, name);
  const char *text;

  if (param != NULL)
    return param->is_set ? param->text : NULL;
  text = loom_element_get (ctx->element, name);
  return text != NULL && loom_expr_is (text) ? ctx->host->evaluate (ctx, name, text) : text;
}

const char *
loom_infer_folder (const LoomInfer *ctx)
{
  return ctx->folder;
}

const LoomGuard *
loom_infer_guard (const LoomInfer *ctx)
{
  return ctx->guard;
}

/* ---- types --------------------------------------------------------------- */

guint
loom_infer_n_inputs (const LoomInfer *ctx)
{
  return ctx->n_inputs;
}

const LoomType *
loom_infer_input (const LoomInfer *ctx, guint i)
{
  return i < ctx->n_inputs ? ctx->input[i] : NULL;
}

gboolean
loom_infer_input_is_state (const LoomInfer *ctx, guint i, const char **name)
{
  return i < ctx->n_inputs && ctx->host->input_is_state (ctx, i, name);
}

gboolean
loom_infer_claim_state (LoomInfer *ctx, const char *name)
{
  return ctx->host->claim_state (ctx, name);
}

/* All code below counts bytes in 64 bits, so a size that could overflow them is refused while the graph is edited. */
void
loom_infer_check_size (LoomInfer *ctx, const char *port, const LoomShape *shape)
{
  double elements = 1;
  g_autofree char *text = NULL;

  for (int i = 0; i < shape->rank; i++)
    elements *= loom_dim_is_unknown (shape->dim[i]) ? 1 : (double)shape->dim[i].coef;
  if (elements <= LOOM_MAX_ELEMENTS)
    return;
  text = loom_shape_to_string (shape);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port, "%s has too many elements (%.2g) for any machine. Use smaller sizes.",
                    text, elements);
}

void
loom_infer_set_outputs (LoomInfer *ctx, const LoomPortSpec *spec)
{
  guint n = loom_op_count_ports (spec);

  g_return_if_fail (n <= ctx->n_outputs && loom_op_count_weights (ctx->op) == 0);

  ctx->output_spec = spec;
  ctx->n_outputs = n;
}

void
loom_infer_output (LoomInfer *ctx, guint i, LoomDType dtype, const LoomShape *shape)
{
  g_return_if_fail (i < ctx->n_outputs && shape != NULL);

  ctx->output[i].dtype = dtype;
  ctx->output[i].shape = ctx->binding != NULL ? loom_shape_bind (shape, ctx->binding) : *shape;
  ctx->output_is_set[i] = TRUE;
  loom_infer_check_size (ctx, NULL, &ctx->output[i].shape);
}

LoomDim
loom_infer_counted_dim (const LoomInfer *ctx)
{
  return loom_dim_symbol (ctx->own_symbol);
}

const LoomType *
loom_infer_get_output (const LoomInfer *ctx, guint i)
{
  return i < ctx->n_outputs && ctx->output_is_set[i] ? ctx->output + i : NULL;
}

/* ---- weights and faults --------------------------------------------------- */

void
loom_infer_weight (LoomInfer *ctx, const LoomWeightSpec *spec)
{
  LoomWeightSpec chosen = *spec;

  /* weight_init is of the layer: with other values of B, training would begin with another function. */
  if (!spec->is_factor)
    loom_initializer_apply (ctx, &chosen);
  ctx->host->weight (ctx, &chosen);
}

const LoomDeclared *
loom_infer_find_declared (const LoomInfer *ctx, const char *name)
{
  for (guint i = 0; i < ctx->n_declared; i++)
    if (strcmp (ctx->declared[i].spec.name, name) == 0)
      return &ctx->declared[i];
  return NULL;
}

LoomFault *
loom_infer_fault (LoomInfer *ctx, LoomErrorCode code, const char *port, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (loom_faults_translate (format), args);
  va_end (args);
  ctx->has_fault = TRUE;
  return ctx->host->fault (ctx, code, port, message);
}

gboolean
loom_infer_has_fault (const LoomInfer *ctx)
{
  return ctx->has_fault;
}

gpointer
loom_infer_keep (LoomInfer *ctx, gsize bytes)
{
  return ctx->host->keep (ctx, bytes);
}
