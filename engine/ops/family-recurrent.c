/* Lowers recurrent layers to one loop (`scan`) over the steps for each layer and direction.
 *
 * The input projection x·Wᵀ and the biases are one product over all steps before the loop; the loop computes the
 * product with the state, and the cell. Names, order of the gates and shapes of the weights are those of PyTorch, so
 * its weights load. For samples of different lengths, the state is unchanged and the output is 0 after the end of a
 * sample; in the reverse direction each sample therefore starts at its own last step, like a packed sequence. */
#include "engine/ops/family-recurrent.h"

#include <inttypes.h>
#include <math.h>

const LoomPortSpec loom_op_port_recurrent[] = {
  { "output", "The state of the last layer at each step [T, B, directions · hidden_size] ([B, T, …] with batch_first); "
              "0 after the end of a sample." },
  { "h_n", "The state of each layer and direction after its last step [layers · directions, B, hidden_size].",
    LOOM_PORT_OPTIONAL },
  { NULL },
};

const LoomPortSpec loom_op_port_recurrent_cell[] = {
  { "output", "The hidden state of the last layer at each step [T, B, directions · H_out] ([B, T, …] with "
              "batch_first), where H_out is proj_size or else hidden_size; 0 after the end of a sample." },
  { "h_n", "The hidden state of each layer and direction after its last step [layers · directions, B, H_out].",
    LOOM_PORT_OPTIONAL },
  { "c_n", "The cell state of each layer and direction after its last step [layers · directions, B, hidden_size].",
    LOOM_PORT_OPTIONAL },
  { NULL },
};

/* ---- sizes ------------------------------------------------------------------ */

typedef struct
{
  gint64 features, hidden, output; /* output: proj_size if it is given */
  guint layers, directions;
  gboolean batch_first, has_bias, has_projection;
} Sizes;

static Sizes
sizes_of (const LoomInfer *ctx, const LoomRecurrentCell *cell)
{
  const LoomShape *shape = &loom_infer_input (ctx, 0)->shape;
  Sizes s = { .features = shape->rank > 0 ? shape->dim[shape->rank - 1].coef : 0,
              .hidden = loom_infer_int (ctx, "hidden_size"),
              .layers = (guint)loom_infer_int (ctx, "num_layers"),
              .directions = loom_infer_bool (ctx, "bidirectional") ? 2 : 1,
              .batch_first = loom_infer_bool (ctx, "batch_first"),
              .has_bias = loom_infer_bool (ctx, "bias") };

  s.output = s.hidden;
  if (cell->has_cell && loom_infer_int (ctx, "proj_size") > 0)
    {
      s.output = loom_infer_int (ctx, "proj_size");
      s.has_projection = TRUE;
    }
  return s;
}

/* (transfer full) */
static char *
weight_name (const char *what, guint layer, guint direction)
{
  return g_strdup_printf ("%s_l%u%s", what, layer, direction > 0 ? "_reverse" : "");
}

/* The number of input features of a layer. */
static gint64
features_into (const Sizes *s, guint layer)
{
  return layer == 0 ? s->features : s->output * s->directions;
}

/* ---- inference ---------------------------------------------------------------- */

/* PyTorch initialises all of them uniformly in ±1/√hidden_size. */
static void
declare (LoomInfer *ctx, const Sizes *s, const char *what, guint layer, guint direction, int rank, const gint64 *dims)
{
  g_autofree char *name = weight_name (what, layer, direction);
  const LoomOp *op = loom_infer_op (ctx);
  double bound = 1 / sqrt ((double)s->hidden);
  int index = loom_op_weight_index (op, name);

  g_return_if_fail (index >= 0);

  loom_infer_weight (ctx, &(LoomWeightSpec){ .name = loom_op_weight_name (op, (guint)index),
                                             .shape = loom_shape (rank, dims),
                                             .init = { LOOM_INIT_UNIFORM, -bound, bound },
                                             .dtype = LOOM_F32 });
}

static void
declare_weights (LoomInfer *ctx, const Sizes *s, const LoomRecurrentCell *cell)
{
  gint64 gates = (gint64)cell->gates * s->hidden;

  for (guint l = 0; l < s->layers; l++)
    for (guint d = 0; d < s->directions; d++)
      {
        declare (ctx, s, "weight_ih", l, d, 2, (gint64[]){ gates, features_into (s, l) });
        declare (ctx, s, "weight_hh", l, d, 2, (gint64[]){ gates, s->output });
        if (s->has_bias)
          {
            declare (ctx, s, "bias_ih", l, d, 1, &gates);
            declare (ctx, s, "bias_hh", l, d, 1, &gates);
          }
        if (s->has_projection)
          declare (ctx, s, "weight_hr", l, d, 2, (gint64[]){ s->output, s->hidden });
      }
}

/* An optional state [layers·directions, B, features]. */
static gboolean
check_state (LoomInfer *ctx, guint i, const char *port, const LoomShape *want)
{
  const LoomType *have = loom_infer_input (ctx, i);
  g_autofree char *given = NULL, *wanted = NULL;

  if (have == NULL)
    return TRUE;
  if (have->dtype == loom_infer_input (ctx, 0)->dtype && loom_shape_compatible (&have->shape, want))
    return TRUE;
  given = loom_shape_to_string (&have->shape);
  wanted = loom_shape_to_string (want);
  loom_infer_fault (
      ctx, LOOM_ERROR_SHAPE, port,
      "The initial state must be %s [layers · directions, samples, features] in the type of the input, but got %s %s.",
      wanted, loom_dtype_name (have->dtype), given);
  return FALSE;
}

static gboolean
check_lengths (LoomInfer *ctx, guint i, LoomDim batch)
{
  const LoomType *have = loom_infer_input (ctx, i);
  LoomShape want = { .rank = 1, .dim = { batch } };
  g_autofree char *given = NULL;

  if (have == NULL || (have->dtype == LOOM_I64 && loom_shape_compatible (&have->shape, &want)))
    return TRUE;
  given = loom_shape_to_string (&have->shape);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "lengths", "lengths is one integer (i64) for each sample, but got %s %s.",
                    loom_dtype_name (have->dtype), given);
  return FALSE;
}

static guint
lengths_port (const LoomRecurrentCell *cell)
{
  return cell->has_cell ? 3 : 2;
}

const LoomRecurrentCell *
loom_recurrent_cell (const LoomInfer *ctx)
{
  const char *name = loom_infer_op (ctx)->name;

  return g_str_has_prefix (name, "lstm")  ? &loom_recurrent_lstm
         : g_str_has_prefix (name, "gru") ? &loom_recurrent_gru
                                          : &loom_recurrent_rnn;
}

void
loom_op_infer_recurrent (LoomInfer *ctx)
{
  const LoomRecurrentCell *cell = loom_recurrent_cell (ctx);
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape output, state = { .rank = 3 }, cells = { .rank = 3 };
  LoomDim steps;
  gint64 unused;
  Sizes s;

  if (!loom_op_rank (ctx, 0, "input", 3, 3, "steps, samples and features", "Put a reshape before it.")
      || !loom_op_needs_weight_type (ctx, 0, "input")
      || !loom_op_plain_dim (ctx, x->shape.dim[2], "each input feature", &unused))
    return;
  s = sizes_of (ctx, cell);
  if (s.has_projection && s.output >= s.hidden)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "proj_size",
                        "proj_size makes the hidden state smaller, so it is less than hidden_size, %" PRId64 ".",
                        s.hidden);
      return;
    }
  steps = x->shape.dim[s.batch_first ? 1 : 0];
  if (loom_dim_is_known (steps) && steps.coef == 0)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "input", "%s needs at least one step.", loom_infer_op (ctx)->name);
      return;
    }
  state.dim[0] = cells.dim[0] = loom_dim ((gint64)(s.layers * s.directions));
  state.dim[1] = cells.dim[1] = x->shape.dim[s.batch_first ? 0 : 1];
  state.dim[2] = loom_dim (s.output);
  cells.dim[2] = loom_dim (s.hidden);
  if (!check_state (ctx, 1, "h_0", &state) || (cell->has_cell && !check_state (ctx, 2, "c_0", &cells))
      || !check_lengths (ctx, lengths_port (cell), state.dim[1]))
    return;
  if (loom_infer_bool (ctx, LOOM_STATEFUL) && (s.directions > 1 || loom_infer_input (ctx, lengths_port (cell)) != NULL))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, LOOM_STATEFUL,
                        "With stateful=\"true\" a batch begins with the final state of the batch before. The other "
                        "direction has no such state, nor has a sample after its end. Remove %s.",
                        s.directions > 1 ? "bidirectional" : "lengths");
      return;
    }
  declare_weights (ctx, &s, cell);
  output = x->shape;
  output.dim[2] = loom_dim (s.output * s.directions);
  loom_infer_output (ctx, 0, x->dtype, &output);
  loom_infer_output (ctx, 1, x->dtype, &state);
  if (cell->has_cell)
    loom_infer_output (ctx, 2, x->dtype, &cells);
}

/* ---- the body --------------------------------------------------------------------- */

LoomValue
loom_recurrent_gate (const LoomRecurrentStep *s, LoomValue gates, guint k)
{
  return loom_slice (s->p, gates, (gint64[]){ 0, (gint64)k * s->hidden }, (gint64[]){ 1, 1 },
                     (gint64[]){ s->batch, s->hidden });
}

LoomValue
loom_recurrent_gates (const LoomRecurrentStep *s)
{
  return loom_binary (s->p, LOOM_SCALAR_ADD, s->x, loom_matmul (s->p, s->h, s->w, FALSE, TRUE));
}

typedef struct
{
  LoomLower *ctx;
  const LoomRecurrentCell *cell;
  Sizes sizes;
  gint64 steps, batch;
  LoomDType dtype;
  LoomScalarOp activation;
  LoomValue lengths; /* i64 [B, 1]; 0: all steps of all samples are valid */
  LoomValue index;   /* i64 [T], the index of the step */
  gboolean carries;  /* it resumes from the final state of the run before */
} Layers;

static LoomValue
body_input (LoomProgram *p, const char *name, LoomDType dtype, int rank, gint64 a, gint64 b)
{
  return loom_program_input (p, name, dtype, rank, (gint64[]){ a, b });
}

/* After the end of a sample the state is unchanged; FALSE keeps `now`. */
static LoomValue
while_counting (LoomProgram *p, LoomValue counts, LoomValue now, LoomValue before)
{
  return counts != 0 ? loom_ternary (p, LOOM_SCALAR_SELECT, counts, now, before) : now;
}

/* Carried: h (and c). Sliced: x and, with lengths, the index of the step. Captured: w, bias_hh, weight_hr, lengths. */
static LoomProgram *
body_new (const Layers *a)
{
  LoomProgram *p = loom_program_new (), *outer = loom_lower_program (a->ctx);
  const Sizes *s = &a->sizes;
  const char *origin, *device;
  LoomRecurrentStep step = { .p = p, .batch = a->batch, .hidden = s->hidden, .activation = a->activation };
  LoomValue h, c = 0, counts = 0, index = 0, w_hr = 0, y;

  loom_program_get_origin (outer, &origin, &device);
  loom_program_set_float (p, loom_program_get_float (outer));
  loom_program_set_tf32 (p, loom_program_get_tf32 (outer));
  loom_program_set_origin (p, origin, device);
  h = step.h = body_input (p, "h", a->dtype, 2, a->batch, s->output);
  if (a->cell->has_cell)
    c = step.c = body_input (p, "c", a->dtype, 2, a->batch, s->hidden);
  step.x = body_input (p, "x", a->dtype, 2, a->batch, (gint64)a->cell->gates * s->hidden);
  if (a->lengths != 0)
    index = loom_program_input (p, "step", LOOM_I64, 0, NULL);
  step.w = body_input (p, "weight_hh", a->dtype, 2, (gint64)a->cell->gates * s->hidden, s->output);
  if (a->cell->splits_biases && s->has_bias)
    step.bias = body_input (p, "bias_hh", a->dtype, 1, (gint64)a->cell->gates * s->hidden, 0);
  if (s->has_projection)
    w_hr = body_input (p, "weight_hr", a->dtype, 2, s->output, s->hidden);
  if (a->lengths != 0)
    counts = loom_binary (p, LOOM_SCALAR_LT, index, body_input (p, "lengths", LOOM_I64, 2, a->batch, 1));
  a->cell->step (&step);
  if (s->has_projection)
    step.h = loom_matmul (p, step.h, w_hr, FALSE, TRUE);
  y = while_counting (p, counts, step.h, loom_const (p, a->dtype, 0));
  loom_program_output (p, "h", while_counting (p, counts, step.h, h));
  if (a->cell->has_cell)
    loom_program_output (p, "c", while_counting (p, counts, step.c, c));
  loom_program_output (p, "output", y);
  return p;
}

/* ---- lowering ------------------------------------------------------------------------ */

static LoomValue
weight (const Layers *a, const char *what, guint layer, guint direction)
{
  g_autofree char *name = weight_name (what, layer, direction);

  return loom_lower_weight (a->ctx, name);
}

/* [T, B, features] → [T, B, gates·hidden]: x·Wᵀ and the biases. */
static LoomValue
input_gates (const Layers *a, LoomValue x, guint layer, guint direction)
{
  LoomProgram *p = loom_lower_program (a->ctx);
  gint64 gates = (gint64)a->cell->gates * a->sizes.hidden;
  LoomValue bias = a->sizes.has_bias ? weight (a, "bias_ih", layer, direction) : 0;
  LoomMatmulAttrs attrs = { .trans_b = true, .has_bias = bias != 0, .act = LOOM_SCALAR_ID };
  LoomValue in[3];

  if (bias != 0 && !a->cell->splits_biases)
    bias = loom_binary (p, LOOM_SCALAR_ADD, bias, weight (a, "bias_hh", layer, direction));
  in[0] = loom_reshape (p, x, 2, (gint64[]){ a->steps * a->batch, features_into (&a->sizes, layer) });
  in[1] = weight (a, "weight_ih", layer, direction);
  in[2] = bias;
  return loom_reshape (p, loom_emit (p, loom_prim ("matmul"), &attrs, 3, in, NULL), 3,
                       (gint64[]){ a->steps, a->batch, gates });
}

/* The initial state, [B, features]. */
static LoomValue
first_state (const Layers *a, guint port, guint place, gint64 features)
{
  LoomProgram *p = loom_lower_program (a->ctx);
  LoomValue all = loom_lower_input (a->ctx, port);
  gint64 dims[2] = { a->batch, features };

  if (all == 0)
    return loom_fill (p, a->dtype, 2, dims, 0);
  all = loom_slice (p, all, (gint64[]){ place, 0, 0 }, (gint64[]){ 1, 1, 1 }, (gint64[]){ 1, a->batch, features });
  return loom_reshape (p, all, 2, dims);
}

/* The same for a state that is carried from run to run; name is "h" or "c". */
static LoomValue
begin_state (const Layers *a, const char *name, guint port, guint layer, gint64 features)
{
  g_autofree char *what = weight_name (name, layer, 0);
  LoomValue first = first_state (a, port, layer, features);

  return a->carries ? loom_lower_carry_begin (a->ctx, what, first) : first;
}

static void
end_state (const Layers *a, const char *name, guint layer, LoomValue state)
{
  g_autofree char *what = weight_name (name, layer, 0);

  if (a->carries)
    loom_lower_carry_end (a->ctx, what, state);
}

/* One loop. out[] receives h (and c) after the last step, and the outputs of all steps. */
static void
emit_loop (const Layers *a, LoomValue x, guint layer, guint direction, LoomValue out[3])
{
  LoomProgram *p = loom_lower_program (a->ctx), *body = body_new (a);
  const Sizes *s = &a->sizes;
  guint place = layer * s->directions + direction, n = 0;
  LoomScanAttrs attrs = { .body = body,
                          .length = a->steps,
                          .n_carried = a->cell->has_cell ? 2 : 1,
                          .n_sequences = a->lengths != 0 ? 2 : 1,
                          .n_stacked = 1,
                          .reverse = direction > 0,
                          .recompute = loom_lower_is_recomputed (a->ctx) };
  LoomValue in[8];

  in[n++] = begin_state (a, "h", 1, place, s->output);
  if (a->cell->has_cell)
    in[n++] = begin_state (a, "c", 2, place, s->hidden);
  in[n++] = input_gates (a, x, layer, direction);
  if (a->lengths != 0)
    in[n++] = a->index;
  in[n++] = weight (a, "weight_hh", layer, direction);
  if (a->cell->splits_biases && s->has_bias)
    in[n++] = weight (a, "bias_hh", layer, direction);
  if (s->has_projection)
    in[n++] = weight (a, "weight_hr", layer, direction);
  if (a->lengths != 0)
    in[n++] = a->lengths;
  loom_emit (p, loom_prim ("scan"), &attrs, n, in, out);
  loom_program_unref (body);
  end_state (a, "h", layer, out[0]);
  if (a->cell->has_cell)
    end_state (a, "c", layer, out[1]);
}

/* Applies dropout between two layers. */
static LoomValue
between_layers (const Layers *a, LoomValue x, guint layer)
{
  LoomProgram *p = loom_lower_program (a->ctx);
  LoomTensorDesc d = loom_op_desc (a->ctx, x);
  LoomValue rate, keep, mask;

  if (!loom_lower_is_training (a->ctx) || loom_infer_float (loom_lower_infer (a->ctx), "dropout") == 0)
    return x;
  rate = loom_cast (p, loom_lower_hyper (a->ctx, "dropout"), a->dtype);
  keep = loom_binary (p, LOOM_SCALAR_SUB, loom_const (p, a->dtype, 1), rate);
  /* The guard returns zeros for p = 1, not 0/0. */
  keep = loom_ternary (p, LOOM_SCALAR_SELECT, keep, loom_unary (p, LOOM_SCALAR_RECIP, keep),
                       loom_const (p, a->dtype, 0));
  mask = loom_binary (p, LOOM_SCALAR_GE, loom_lower_random (a->ctx, LOOM_RANDOM_UNIFORM, layer, d.rank, d.dim), rate);
  return loom_binary (p, LOOM_SCALAR_MUL, x, loom_binary (p, LOOM_SCALAR_MUL, loom_cast (p, mask, a->dtype), keep));
}

static LoomValue
swap_first (LoomProgram *p, LoomValue v)
{
  return loom_permute (p, v, (const int[]){ 1, 0, 2 });
}

static Layers
layers_of (LoomLower *ctx, const LoomRecurrentCell *cell)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomTensorDesc x = loom_op_desc (ctx, loom_lower_input (ctx, 0));
  Layers a = { .ctx = ctx, .cell = cell, .sizes = sizes_of (infer, cell), .dtype = x.dtype };

  a.steps = x.dim[a.sizes.batch_first ? 1 : 0];
  a.batch = x.dim[a.sizes.batch_first ? 0 : 1];
  a.activation = LOOM_SCALAR_TANH;
  if (cell->gates == 1 && g_str_equal (loom_infer_string (infer, "nonlinearity"), "relu"))
    a.activation = LOOM_SCALAR_RELU;
  a.lengths = loom_lower_input (ctx, lengths_port (cell));
  a.carries = a.lengths == 0 && a.sizes.directions == 1 && loom_lower_carries (ctx);
  if (a.lengths != 0)
    {
      LoomIotaTo attrs
          = { .kernel = { .axis = 0, .start = 0, .step = 1 }, .dtype = LOOM_I64, .to = { 1, { a.steps } } };

      a.lengths = loom_reshape (p, a.lengths, 2, (gint64[]){ a.batch, 1 });
      a.index = loom_emit (p, loom_prim ("iota"), &attrs, 0, NULL, NULL);
    }
  return a;
}

/* [B, features] → [1, B, features] */
static LoomValue
as_layer (LoomProgram *p, LoomValue v)
{
  const LoomTensorDesc *d = &loom_value_info (p, v)->desc;

  return loom_reshape (p, v, 3, (gint64[]){ 1, d->dim[0], d->dim[1] });
}

void
loom_op_lower_recurrent (LoomLower *ctx)
{
  const LoomRecurrentCell *cell = loom_recurrent_cell (loom_lower_infer (ctx));
  LoomProgram *p = loom_lower_program (ctx);
  Layers a = layers_of (ctx, cell);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomValue h[2 * LOOM_RECURRENT_MAX_LAYERS], c[2 * LOOM_RECURRENT_MAX_LAYERS];
  guint n = 0;

  if (a.sizes.batch_first)
    x = swap_first (p, x);
  for (guint l = 0; l < a.sizes.layers; l++)
    {
      LoomValue outputs[2];

      if (l > 0)
        x = between_layers (&a, x, l);
      for (guint d = 0; d < a.sizes.directions; d++)
        {
          LoomValue out[3];

          emit_loop (&a, x, l, d, out);
          h[n] = as_layer (p, out[0]);
          c[n++] = cell->has_cell ? as_layer (p, out[1]) : 0;
          outputs[d] = out[cell->has_cell ? 2 : 1];
        }
      x = a.sizes.directions > 1 ? loom_concat (p, 2, outputs, 2) : outputs[0];
    }
  loom_lower_output (ctx, 0, a.sizes.batch_first ? swap_first (p, x) : x);
  loom_lower_output (ctx, 1, n > 1 ? loom_concat (p, n, h, 0) : h[0]);
  if (cell->has_cell)
    loom_lower_output (ctx, 2, n > 1 ? loom_concat (p, n, c, 0) : c[0]);
}

/* ---- cost ------------------------------------------------------------------------------- */

double
loom_op_recurrent_flops (const LoomInfer *ctx)
{
  const LoomRecurrentCell *cell = loom_recurrent_cell (ctx);
  const LoomShape *x = &loom_infer_input (ctx, 0)->shape;
  Sizes s = sizes_of (ctx, cell);
  double rows = (double)x->dim[0].coef * (double)x->dim[1].coef, sum = 0;

  for (guint l = 0; l < s.layers; l++)
    {
      double products = (double)cell->gates * (double)s.hidden * (double)(features_into (&s, l) + s.output);

      if (s.has_projection)
        products += (double)s.output * (double)s.hidden;
      sum += rows * s.directions * (2 * products + 4.0 * cell->gates * (double)s.hidden);
    }
  return sum;
}

char *
loom_op_recurrent_summary (const LoomInfer *ctx)
{
  gint64 layers = loom_infer_int (ctx, "num_layers");
  g_autofree char *depth = layers > 1 ? g_strdup_printf (" · %d layers", (int)layers) : g_strdup ("");

  return g_strdup_printf ("%" G_GINT64_FORMAT " features%s%s", loom_infer_int (ctx, "hidden_size"), depth,
                          loom_infer_bool (ctx, "bidirectional") ? " · both directions" : "");
}
