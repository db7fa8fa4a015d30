/* Infers the types of nodes. They are sorted (net-order.c) so that each follows its sources, and infer() is called once
 * for each.
 *
 * A node after a fault stays untyped and reports no fault, so that one mistake causes one message. */
#include "engine/net/net-private.h"
#include "engine/ops/loom-initializer.h"

#include <string.h>

/* ---- callbacks for infer() about other nodes ---------------------------------- */

static gboolean
input_is_state (const LoomInfer *ctx, guint i, const char **name)
{
  NetNode *n = ctx->data;
  const LoomNetSource *source = n->node.input + i;
  const NetNode *from;
  const char *weight;

  if (n->net->faults != NULL)
    n->queries = TRUE;
  if (source->node == G_MAXUINT)
    return FALSE;
  from = n->net->nodes->pdata[source->node];
  weight = loom_net_is_weight (n->net, source)
               ? loom_op_weight_name (from->node.op, source->output - from->node.n_outputs)
               : NULL;
  for (guint k = 0; k < from->infer.n_declared; k++)
    {
      const LoomDeclared *declared = from->infer.declared + k;

      /* The output of a node that owns a tensor (op="parameter") is that tensor. */
      if (declared->weight == G_MAXUINT
          || (weight != NULL ? strcmp (declared->spec.name, weight) != 0 : !declared->spec.bare_name))
        continue;
      if (name != NULL)
        *name = declared->full_name;
      return TRUE;
    }
  return FALSE;
}

static gboolean
claim_state (LoomInfer *ctx, const char *name)
{
  NetNode *n = ctx->data;
  GHashTable *claimed = n->net->claimed;

  if (n->net->faults != NULL)
    n->queries = TRUE;
  /* A muted node gives no state a new value. */
  return n->node.muted || claimed == NULL || g_hash_table_add (claimed, (gpointer)name);
}

/* When the net is built there is no list of faults, and the text is returned unevaluated. */
static const char *
evaluate (const LoomInfer *ctx, const char *name, const char *text)
{
  const NetNode *n = ctx->data;
  NetArgument value;

  if (n->net->faults == NULL)
    return text;
  return loom_net_evaluate (n->net, ctx->element, ctx->path, n->arguments, name, text, &value);
}

static LoomFault *
report (LoomInfer *ctx, LoomErrorCode code, const char *port, const char *message)
{
  return loom_net_fault (((NetNode *)ctx->data)->net, ctx->element, ctx->path, code, port, "%s", message);
}

static gpointer
keep (LoomInfer *ctx, gsize bytes)
{
  return loom_net_alloc (&((NetNode *)ctx->data)->net->arena, bytes);
}

/* ---- weights ----------------------------------------------------------- */

static int
find_input (const LoomInfer *ctx, const char *name)
{
  const LoomPortSpec *specs = ctx->op->inputs;

  for (guint i = 0; specs != NULL && specs[i].name != NULL && i < ctx->n_inputs; i++)
    if (specs[i].flags & LOOM_PORT_WEIGHT && strcmp (specs[i].name, name) == 0)
      return (int)i;
  return -1;
}

/* Records the type that a wire from this weight has. */
static void
set_readable (LoomInfer *ctx, const LoomWeightSpec *spec)
{
  int index = loom_op_weight_index (ctx->op, spec->name);

  if (index < 0)
    return;
  ctx->output[ctx->n_outputs + (guint)index] = (LoomType){ .dtype = spec->dtype, .shape = spec->shape };
  ctx->output_is_set[ctx->n_outputs + (guint)index] = TRUE;
}

static void
check_tied (LoomInfer *ctx, const LoomWeightSpec *spec, const LoomType *type)
{
  g_autofree char *want = loom_shape_to_string (&spec->shape), *got = loom_shape_to_string (&type->shape);

  if (!loom_dtype_is_float (type->dtype))
    loom_infer_fault (ctx, LOOM_ERROR_DTYPE, spec->name,
                      "The value wired into the weight “%s” is %s, but weights are floats.", spec->name,
                      loom_dtype_name (type->dtype));
  else if (spec->dtype == LOOM_F32 && type->dtype != LOOM_F32)
    loom_infer_fault (ctx, LOOM_ERROR_DTYPE, spec->name,
                      "The value wired into the weight “%s” is %s, but weights are f32. Insert a cast to f32.",
                      spec->name, loom_dtype_name (type->dtype));
  else if (!loom_shape_compatible (&spec->shape, &type->shape))
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, spec->name,
                      "The weight “%s” must be %s, but the value wired into it is %s.", spec->name, want, got);
}

/* FALSE after a fault. The parameters of a node determine whether it has the weight. */
static gboolean
check_weight_source (LoomInfer *ctx, guint input, const LoomNetSource *source)
{
  const NetNode *n = ctx->data, *from = n->net->nodes->pdata[source->node];

  if (from->infer.output_is_set[source->output])
    return TRUE;
  loom_infer_fault (
      ctx, LOOM_ERROR_PORT, ctx->input_spec[ctx->input_spec[0].flags & LOOM_PORT_VARIADIC ? 0 : input].name,
      "A wire starts at the weight “%s” of “%s”, but with its present parameters “%s” has no such weight.",
      loom_op_weight_name (from->node.op, source->output - from->node.n_outputs), from->node.path, from->node.path);
  return FALSE;
}

/* Checks weights that are replaced by others, when all nodes are typed. */
static void
check_ties (LoomNet *net, NetNode *n)
{
  LoomInfer *infer = &n->infer;

  for (guint i = 0; i < infer->n_declared; i++)
    {
      int input = infer->declared[i].input;
      const LoomNetSource *source = input >= 0 ? n->node.input + input : NULL;
      const NetNode *from;

      if (source == NULL || infer->input[input] != NULL)
        continue;
      from = net->nodes->pdata[source->node];
      if (!from->node.typed)
        continue;
      infer->has_fault = FALSE;
      if (check_weight_source (infer, (guint)input, source))
        {
          infer->input[input] = from->node.output + source->output;
          check_tied (infer, &infer->declared[i].spec, infer->input[input]);
        }
      n->node.typed &= !infer->has_fault;
    }
}

/* The place of the next weight that a node declares. A node declares few, so growing by copying costs little. A net
 * that is renewed types nodes again: places are used again, with their names if these are still the same. */
static LoomDeclared *
next_declared (NetNode *n)
{
  LoomInfer *infer = &n->infer;

  if (infer->n_declared == n->declared_room)
    {
      LoomDeclared *more = loom_net_alloc (&n->net->arena, sizeof *more * ++n->declared_room);

      if (infer->n_declared > 0)
        memcpy (more, n->declared, sizeof *more * infer->n_declared);
      n->declared = more;
    }
  infer->declared = n->declared;
  return n->declared + infer->n_declared;
}

static void
add_weight (LoomInfer *ctx, const LoomWeightSpec *spec)
{
  NetNode *n = ctx->data;
  LoomNet *net = n->net;
  int input = find_input (ctx, spec->name);
  LoomDeclared *declared = next_declared (n);
  LoomNetWeight weight = { .shape = spec->shape, .dtype = spec->dtype, .init = spec->init, .splits = spec->splits };
  g_autofree char *name = NULL;
  gpointer known;

  declared->spec = *spec;
  loom_infer_check_size (ctx, spec->name, &spec->shape);
  declared->spec.name = loom_net_intern (spec->name);
  declared->input = -1;
  declared->weight = G_MAXUINT;

  name = spec->bare_name ? g_strdup (n->weight_path) : g_strconcat (n->weight_path, ".", spec->name, NULL);
  if (g_strcmp0 (declared->full_name, name) != 0)
    declared->full_name = loom_net_strdup (&net->arena, name);
  set_readable (ctx, spec);
  if (input >= 0 && n->node.input[input].node != G_MAXUINT)
    {
      if (ctx->input[input] != NULL)
        check_tied (ctx, spec, ctx->input[input]);
      declared->input = input;
      ctx->n_declared++;
      return;
    }
  if (!loom_shape_is_concrete (&spec->shape))
    {
      g_autofree char *shape = loom_shape_to_string (&spec->shape);

      loom_infer_fault (
          ctx, LOOM_ERROR_SHAPE, spec->name,
          "The weight “%s” would be %s, but the sizes of weights must be fixed numbers. Give the input a fixed size "
          "on these axes.",
          spec->name, shape);
      return;
    }
  if (g_hash_table_lookup_extended (net->weight_by_name, name, NULL, &known))
    {
      const LoomNetWeight *other = loom_net_weight (net, GPOINTER_TO_UINT (known));

      net->is_whole = TRUE;
      /* Copies with share="true" declare the same weight. */
      if (!loom_shape_equal (&other->shape, &spec->shape))
        {
          g_autofree char *mine = loom_shape_to_string (&spec->shape), *theirs = loom_shape_to_string (&other->shape);

          loom_infer_fault (
              ctx, LOOM_ERROR_SHAPE, spec->name,
              "The copies share the weight “%s”, but here it would be %s and in an earlier copy it is %s.", name, mine,
              theirs);
          return;
        }
      declared->weight = GPOINTER_TO_UINT (known);
      ctx->n_declared++;
      return;
    }
  weight.name = g_steal_pointer (&name);
  weight.is_buffer = spec->is_buffer;
  weight.is_factor = spec->is_factor;
  weight.frozen = n->frozen;
  weight.node = n->index;
  if (spec->splits != NULL && spec->splits->count != NULL)
    weight.split_count = loom_infer_int (ctx, spec->splits->count);
  declared->weight = net->weights->len;
  g_hash_table_insert (net->weight_by_name, (gpointer)declared->full_name, GUINT_TO_POINTER (net->weights->len));
  g_array_append_val (net->weights, weight);
  ctx->n_declared++;
}

/* Checks that one of the node's weights supports its split. Types do not depend on it, so the node stays typed after a
 * fault. */
static void
check_split (NetNode *n)
{
  const char *how = loom_element_get (n->node.element, "split");
  g_autoptr (GString) ways = NULL;

  if (how == NULL || how[0] == '\0')
    return;
  ways = g_string_new (NULL);
  for (guint i = 0; i < n->infer.n_declared; i++)
    for (const LoomWeightSplit *s = n->infer.declared[i].spec.splits; s != NULL && s->how != NULL; s++)
      {
        if (g_str_equal (s->how, how))
          return;
        if (strstr (ways->str, s->how) == NULL)
          g_string_append_printf (ways, "%s%s", ways->len > 0 ? ", " : "", s->how);
      }
  if (ways->len == 0)
    loom_fault_set_fix (loom_infer_fault (&n->infer, LOOM_ERROR_SCHEMA, "split",
                                          "%s has no weights that can be divided among ranks.", n->node.op->name),
                        "split", NULL, "Remove split.");
  else
    loom_infer_fault (&n->infer, LOOM_ERROR_SCHEMA, "split", "split is “%s”, but %s can only be split by: %s.", how,
                      n->node.op->name, ways->str);
}

/* Checks that initial values are chosen for weights that the node has. */
static void
check_initializers (NetNode *n)
{
  static const char *const names[] = { LOOM_WEIGHT_INIT, LOOM_BIAS_INIT };

  for (guint k = 0; k < G_N_ELEMENTS (names); k++)
    {
      const char *text = loom_element_get (n->node.element, names[k]);

      if (text != NULL && text[0] != '\0' && !loom_initializer_concerns (n->infer.op, names[k]))
        loom_fault_set_fix (loom_infer_fault (&n->infer, LOOM_ERROR_SCHEMA, names[k], "%s has no %s; remove %s.",
                                              n->node.op->name, k == 0 ? "weights" : "biases", names[k]),
                            names[k], NULL, "Remove %s.", names[k]);
    }
}

const LoomInferHost loom_net_infer_host = {
  .fault = report,
  .weight = add_weight,
  .input_is_state = input_is_state,
  .claim_state = claim_state,
  .evaluate = evaluate,
  .keep = keep,
};

/* ---- costs and summaries ---------------------------------------------------- */

/* A type with numbers in place of symbols: bound values, else 1. Unknown sizes are 1 too. */
static LoomType
type_with_numbers (const LoomType *type, const LoomBinding *ones)
{
  LoomType bound = { .dtype = type->dtype, .shape = loom_shape_bind (&type->shape, ones) };

  for (int d = 0; d < bound.shape.rank; d++)
    if (loom_dim_is_unknown (bound.shape.dim[d]))
      bound.shape.dim[d] = loom_dim (1);
  return bound;
}

static double
elements (const LoomType *type)
{
  double n = 1;

  for (int d = 0; d < type->shape.rank; d++)
    n *= (double)type->shape.dim[d].coef;
  return n;
}

static void
compute_cost (LoomNet *net, NetNode *n, const LoomBinding *ones)
{
  LoomInfer infer = n->infer;
  const guint n_types = infer.n_inputs + infer.n_outputs;
  LoomType few[8], *types = few;
  const LoomType *few_inputs[G_N_ELEMENTS (few)], **input = few_inputs;
  g_autofree LoomType *many = NULL;
  g_autofree const LoomType **many_inputs = NULL;

  if (n_types > G_N_ELEMENTS (few))
    {
      types = many = g_new (LoomType, n_types);
      input = many_inputs = g_new (const LoomType *, n_types);
    }
  for (guint i = 0; i < infer.n_inputs; i++)
    {
      input[i] = infer.input[i] != NULL ? types + i : NULL;
      if (infer.input[i] != NULL)
        types[i] = type_with_numbers (infer.input[i], ones);
    }
  infer.input = input;
  infer.output = types + infer.n_inputs;
  for (guint i = 0; i < infer.n_outputs; i++)
    if (infer.output_is_set[i])
      {
        infer.output[i] = type_with_numbers (n->infer.output + i, ones);
        n->node.cost.bytes += elements (infer.output + i) * (double)loom_dtype_size (infer.output[i].dtype);
        n->node.cost.flops += elements (infer.output + i);
      }
  infer.binding = ones;
  if (infer.op->flops != NULL)
    n->node.cost.flops = infer.op->flops (&infer);
  for (guint i = 0; i < infer.n_declared; i++)
    {
      const LoomDeclared *declared = infer.declared + i;

      if (declared->weight != G_MAXUINT && !declared->spec.is_buffer
          && loom_net_weight (net, declared->weight)->node == n->index)
        n->node.cost.parameters += (double)loom_dim_value (loom_shape_count (&declared->spec.shape), ones);
    }
}

#define MAX_LISTED 4096 /* bytes; the table of a constant may be longer */

/* Lists the parameters that differ from their defaults. */
static char *
list_parameters (const LoomInfer *infer)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; infer->specs != NULL && infer->specs[i].name != NULL; i++)
    {
      const LoomParamSpec *spec = infer->specs + i;
      const LoomParam *param = infer->params + i;

      if (!param->is_good || g_strcmp0 (param->text, spec->def) == 0 || strlen (param->text) > MAX_LISTED)
        continue;
      if (text->len > 0)
        g_string_append (text, " · ");
      g_string_append (text, spec->name);
      g_string_append_c (text, ' ');
      g_string_append (text, param->text);
    }
  return g_string_free (text, FALSE);
}

/* ---- sizes that depend on data ----------------------------------------------- */

/* Symbols that users and data sets may use, in addition to those in parameters of this graph. */
#define COMMON_SYMBOLS "BCHTW"

static void
mark_symbols (const NetNode *n, gboolean *taken)
{
  const LoomParamSpec *spec = n->infer.specs;

  for (guint i = 0; spec != NULL && spec[i].name != NULL; i++)
    if (spec[i].type == LOOM_PARAM_SHAPE && n->infer.params != NULL && n->infer.params[i].shape != NULL)
      for (int d = 0; d < n->infer.params[i].shape->rank; d++)
        for (int s = 0; s < LOOM_DIM_MAX_SYMBOLS; s++)
          if (g_ascii_isupper (n->infer.params[i].shape->dim[d].symbol[s]))
            taken[n->infer.params[i].shape->dim[d].symbol[s] - 'A'] = TRUE;
}

/* Assigns letters to sizes that data determine. The letters depend only on the graph, not on the binding, which uses
 * them as names. */
static void
assign_symbols (LoomNet *net)
{
  static const char letters[] = "NMKUVQPSLRGIJDEFXYZAO";
  gboolean taken[26] = { FALSE };
  guint next = 0;

  for (const char *c = COMMON_SYMBOLS; *c != '\0'; c++)
    taken[*c - 'A'] = TRUE;
  for (guint i = 0; i < net->nodes->len; i++)
    mark_symbols (net->nodes->pdata[i], taken);
  for (guint i = 0; i < net->nodes->len; i++)
    {
      NetNode *n = net->nodes->pdata[i];

      if (n->infer.op->count_size == NULL)
        continue;
      net->is_whole = TRUE;
      while (letters[next] != '\0' && taken[letters[next] - 'A'])
        next++;
      n->infer.own_symbol = n->node.own_symbol = letters[next];
      next += letters[next] != '\0';
    }
}

/* ---- all nodes ---------------------------------------------------------------- */

static guint
count_errors (const LoomNet *net)
{
  return loom_faults_count (net->faults) + loom_faults_count (net->repeated_faults);
}

LoomFault *
loom_net_fault_muted (LoomNet *net, const LoomElement *element, const char *path, const char *id, const LoomType *type)
{
  g_autofree char *shape = loom_shape_to_string (&type->shape);
  LoomFault *fault
      = loom_net_fault (net, element, path, LOOM_ERROR_SHAPE, "mute",
                        "“%s” is muted, but none of its inputs has the type of its output, %s %s, and could replace "
                        "it.",
                        id, loom_dtype_name (type->dtype), shape);

  loom_fault_set_fix (fault, "mute", NULL, "Unmute it.");
  return fault;
}

gboolean
loom_net_pass_by (LoomNet *net, LoomNetSource *source)
{
  const NetNode *n = net->nodes->pdata[source->node];
  const LoomType *type;

  if (!n->bypassed || loom_net_is_weight (net, source) || !n->node.typed)
    return TRUE;
  type = n->node.output + source->output;
  for (guint i = 0; i < n->node.n_inputs; i++)
    if (n->infer.input[i] != NULL && !loom_op_is_weight_port (n->node.op, i)
        && loom_type_equal (n->infer.input[i], type))
      {
        /* That input is earlier, so muted nodes were bypassed already. */
        *source = n->node.input[i];
        return TRUE;
      }
  if (net->faults != NULL)
    loom_net_fault_muted (net, n->node.element, n->node.path, loom_element_get (n->node.element, "id"), type);
  return FALSE;
}

static void
summarise (LoomNet *net, NetNode *n, gboolean is_typed)
{
  const LoomOp *op = n->infer.op;
  g_autofree char *text = is_typed && op->summary != NULL ? op->summary (&n->infer) : list_parameters (&n->infer);
  const gsize size = text != NULL ? strlen (text) + 1 : 0;

  if (size > n->summary_room)
    {
      n->node.summary = n->summary = loom_net_strdup (&net->arena, text);
      n->summary_room = size;
    }
  else if (size > 0)
    n->node.summary = memcpy (n->summary, text, size);
  else
    n->node.summary = NULL;
}

void
loom_net_infer_node (LoomNet *net, NetNode *n, const LoomBinding *ones)
{
  LoomInfer *infer = &n->infer;
  guint errors;

  net->n_typed++;
  for (guint i = 0; i < infer->n_inputs; i++)
    {
      const LoomNetSource *source = n->node.input + i;
      const NetNode *from;

      if (source->node == G_MAXUINT)
        continue;
      from = net->nodes->pdata[source->node];
      if (!loom_net_waits_for (net, &n->node, i))
        continue;
      n->passes_by |= from->bypassed;
      net->is_whole |= from->bypassed && n->arguments != &net->root->arguments;
      if (!from->node.typed)
        n->broken = TRUE;
      else if (from->infer.op->dynamic_outputs != NULL && source->output >= from->node.n_outputs)
        {
          loom_net_fault (net, n->node.element, n->node.path, LOOM_ERROR_PORT, infer->input_spec[i].name,
                          "“%s” has %u output%s with this shape of its input, so output %u does not exist.",
                          from->node.path, from->node.n_outputs, from->node.n_outputs == 1 ? "" : "s", source->output);
          n->broken = TRUE;
        }
      else if (!loom_net_pass_by (net, (LoomNetSource *)source))
        n->broken = TRUE;
      else if (!loom_net_is_weight (net, source) || check_weight_source (infer, i, source))
        infer->input[i] = ((NetNode *)net->nodes->pdata[source->node])->node.output + source->output;
    }
  if (n->broken || infer->has_fault)
    {
      summarise (net, n, FALSE);
      return;
    }
  errors = count_errors (net);
  if (infer->op->count_size != NULL && infer->own_symbol == 0)
    loom_infer_fault (
        infer, LOOM_ERROR_SHAPE, NULL,
        "Too many results have sizes that depend on the data: no letters are left for these sizes. Compute some of "
        "them in a separate graph.");
  else if (n->loop == NULL || !loom_net_cannot_loop (net, n))
    {
      if (n->border >= 0)
        loom_net_infer_border (net, n);
      else if (n->runs != NULL)
        loom_net_infer_loop (net, n);
      else
        infer->op->infer (infer);
    }
  /* Warnings do not count as faults. */
  infer->has_fault = count_errors (net) > errors;
  n->node.typed = !infer->has_fault;
  n->node.n_outputs = infer->n_outputs;
  n->node.output_spec = infer->output_spec;
  n->node.outputs_dynamic &= !n->node.typed;
  for (guint i = 0; i < infer->n_outputs; i++)
    n->node.typed &= infer->output_is_set[i];
  if (n->node.typed && !n->node.muted)
    compute_cost (net, n, ones);
  summarise (net, n, n->node.typed);
  if (n->node.typed)
    {
      check_split (n);
      check_initializers (n);
    }
}

LoomBinding
loom_net_ones (const LoomNet *net)
{
  LoomBinding ones = net->binding;

  for (guint i = 0; i < G_N_ELEMENTS (ones.value); i++)
    ones.value[i] = MAX (ones.value[i], 1);
  return ones;
}

void
loom_net_infer_all (LoomNet *net)
{
  loom_net_sort (net);
  assign_symbols (net);
  loom_net_type_all (net);
}

void
loom_net_type_all (LoomNet *net)
{
  const LoomBinding ones = loom_net_ones (net);

  for (guint i = 0; i < net->nodes->len; i++)
    loom_net_infer_node (net, net->nodes->pdata[i], &ones);
  for (guint i = 0; i < net->nodes->len; i++)
    check_ties (net, net->nodes->pdata[i]);
  for (guint i = 0; i < net->nodes->len; i++)
    {
      NetNode *n = net->nodes->pdata[i];
      double runs = loom_net_count_runs (n, &ones);

      n->node.cost.flops *= runs;
      n->node.cost.bytes *= runs;
    }
  if (net->root != NULL && net->root->slots != NULL)
    loom_net_check_muted (net, net->root);
}
