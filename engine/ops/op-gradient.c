/* Gradient: the derivative of one value of the graph with respect to another.
 *
 * The program is differentiated while it is built, so the result consists of primitives and can be used, and
 * differentiated again. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "of", "The value to differentiate: a scalar, or any tensor together with grad_output." },
  { "wrt", "The value to differentiate with respect to: an input, a weight (fc.weight) or an intermediate result.",
    LOOM_PORT_WRT },
  { "grad_output", "The gradient with respect to “of”, with its shape; needed if “of” is not a scalar.",
    LOOM_PORT_OPTIONAL },
  { NULL },
};

static gboolean
check_float (LoomInfer *ctx, guint i, const char *port)
{
  return loom_infer_input (ctx, i) == NULL || loom_op_needs_float (ctx, i, port, "takes derivatives");
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *of = loom_infer_input (ctx, 0), *wrt = loom_infer_input (ctx, 1), *seed = loom_infer_input (ctx, 2);
  LoomDim count = loom_shape_count (&of->shape);
  g_autofree char *shape = loom_shape_to_string (&of->shape);

  if (!check_float (ctx, 0, "of") || !check_float (ctx, 1, "wrt") || !check_float (ctx, 2, "grad_output"))
    return;
  if (seed == NULL && !loom_dim_compatible (count, loom_dim (1)))
    {
      loom_infer_fault (
          ctx, LOOM_ERROR_SHAPE, "of",
          "“of” is %s, but only a scalar has a gradient without grad_output. Put a sum or a mean before it, or wire "
          "grad_output.",
          shape);
      return;
    }
  if (seed != NULL && !loom_shape_compatible (&of->shape, &seed->shape))
    {
      g_autofree char *got = loom_shape_to_string (&seed->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "grad_output",
                        "grad_output must have the shape of “of”, %s, but got %s.", shape, got);
      return;
    }
  loom_infer_output (ctx, 0, wrt->dtype, &wrt->shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue of = loom_lower_input (ctx, 0), wrt = loom_lower_input (ctx, 1), seed = loom_lower_input (ctx, 2), grad;
  LoomTensorDesc x = loom_op_desc (ctx, wrt);
  GError *error = NULL;

  if (!loom_differentiate (p, of, seed, 1, &wrt, &grad, &error))
    {
      loom_lower_fail (ctx, error);
      return;
    }
  /* If the value does not depend on it, the gradient is 0. */
  loom_lower_output (ctx, 0, grad != 0 ? grad : loom_fill (p, x.dtype, x.rank, x.dim, 0));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:", "f32:B,3" } },
  { .inputs = { "f32:1", "f32:" } },
  { .inputs = { "f32:B,2", "f32:3", "f32:B,2" } },
  { NULL },
};

const LoomOp loom_op_gradient = {
  .name = "gradient",
  .title = "Gradient",
  .category = LOOM_CATEGORY_TRAINING,
  .icon = "loom-gradient-symbolic",
  .synonyms = "grad derivative autograd backward",
  .usual = TRUE,
  .doc = "Computes the derivative of one value with respect to another.",
  .details = "Wire a loss into “of”, and a weight, an input or an intermediate result into “wrt”. The result has the "
             "shape of wrt. It can be used like any other value: subtract it from a weight to build a training step by "
             "hand, or differentiate it again for a second derivative. If “of” does not depend on “wrt” it is zero.",
  .formula = "y = ∂of/∂wrt",
  .reference = "torch.autograd.grad",
  .source = "Baydin, Pearlmutter, Radul and Siskind, “Automatic Differentiation in Machine Learning: a Survey”, JMLR "
            "18, 2018, arXiv:1502.05767",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .example = "<node id=\"x\" op=\"input\" shape=\"3\"/>"
             "<node id=\"square\" op=\"square\"/>"
             "<node id=\"sum\" op=\"sum\"/>"
             "<node id=\"slope\" op=\"gradient\"/>"
             "<wire from=\"x\" to=\"square\"/>"
             "<wire from=\"square\" to=\"sum\"/>"
             "<wire from=\"sum\" to=\"slope.of\"/>"
             "<wire from=\"x\" to=\"slope.wrt\"/>",
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
