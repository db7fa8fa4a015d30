/* Imports Loop and Scan.
 *
 * A loop becomes a scan over a module, with a number of iterations that is known before it runs. If the body cannot be
 * a module, because sizes differ between iterations or a slice depends on the iteration's number, and there are few
 * iterations, they are unrolled. */
#include "engine/onnx/onnx-constant.h"

#include <string.h>

/* Maximum numbers of iterations and nodes that are unrolled if a body cannot be a module. */
#define MAX_UNROLLED_STEPS 256
#define MAX_UNROLLED_NODES 4096
/* Maximum number of iterations of a loop that data may end early. All of them are computed, so a larger number means
 * “no bound”. */
#define MAX_ASKED_STEPS 65536

static LoomTensor *
scalar (LoomDType dtype, gint64 value)
{
  LoomTensor *t = loom_tensor_new (dtype, 0, NULL, NULL);

  if (dtype == LOOM_I64)
    *(gint64 *)t->data = value;
  else
    loom_tensor_set (t, 0, (double)value);
  return t;
}

static void
declare_constant (OnnxImport *scope, const char *name, LoomTensor *t /* transfer full */)
{
  OnnxValue *value = onnx_declare (scope, name);

  g_clear_pointer (&value->constant, loom_tensor_unref);
  value->constant = t;
}

/* Adds an input of a body. elem_type (0: not known): ONNX's type of its value, if the body does not declare it. */
static void
declare_wire (OnnxImport *scope, const Onnx__ValueInfoProto *input, const OnnxWire *wire, int elem_type)
{
  OnnxValue *value = onnx_declare (scope, input->name);

  value->wire = wire;
  value->elem_type = onnx_port_type (input) != 0 ? onnx_port_type (input) : elem_type;
}

/* ---- Loop ------------------------------------------------------------------ */

typedef struct
{
  const Onnx__GraphProto *body;
  gboolean has_trip;      /* FALSE: only the body decides when the loop ends */
  gboolean has_condition; /* the model computes whether there is another iteration */
  LoomDim steps;
  guint n_carried, n_stacked;
} Loop;

/* TRUE if all iterations can be computed although data decide how many are used. */
static gboolean
is_bounded (const Loop *l)
{
  return l->has_trip && l->n_stacked == 0 && (!loom_dim_is_known (l->steps) || l->steps.coef <= MAX_ASKED_STEPS);
}

static void
fail_unbounded (OnnxCtx *c, const char *name)
{
  onnx_fail (
      c,
      "its condition is computed while the model runs (“%s”), which is supported only if it has at most %d steps and "
      "stacks no outputs. Export the model with a fixed number of steps.",
      name, MAX_ASKED_STEPS);
}

static void
fail_endless (OnnxCtx *c, gint64 steps)
{
  onnx_fail (c,
             "it has no number of steps, and its condition is still true after %" G_GINT64_FORMAT " of them. Export "
             "the model with a fixed number of steps.",
             steps);
}

/* The trip count: a tensor's size, or a known number. */
static gboolean
read_loop (OnnxCtx *c, Loop *l)
{
  const LoomTensor *trip = onnx_const_or_null (c, 0), *condition = onnx_const_or_null (c, 1);
  LoomDim dim;

  l->body = onnx_graph_of (c, "body");
  if (l->body == NULL)
    return FALSE;
  l->n_carried = onnx_n_inputs (c) > 2 ? onnx_n_inputs (c) - 2 : 0;
  if (l->body->n_input != l->n_carried + 2 || l->body->n_output < l->n_carried + 1)
    {
      onnx_fail (c, "its body has %u inputs and %u outputs, which does not fit %u carried values.",
                 (guint)l->body->n_input, (guint)l->body->n_output, l->n_carried);
      return FALSE;
    }
  l->n_stacked = (guint)l->body->n_output - l->n_carried - 1;
  l->has_trip = onnx_has (c, 0);
  if (l->has_trip && (trip == NULL || trip->count != 1))
    {
      onnx_fail (c,
                 "its number of steps is computed while the model runs, but must be a constant or a size of an input. "
                 "Export the model with a fixed number of steps.");
      return FALSE;
    }
  if (trip != NULL && onnx_dynamic_dim (c->all, onnx_tensor_int (trip, 0), &dim))
    l->steps = dim;
  else if (trip != NULL)
    l->steps = loom_dim (CLAMP (onnx_tensor_int (trip, 0), 0, G_MAXINT32));
  l->has_condition = onnx_has (c, 1) && condition == NULL;
  if (l->has_condition && !is_bounded (l))
    {
      fail_unbounded (c, c->node->input[1]);
      return FALSE;
    }
  if (condition != NULL && loom_tensor_get (condition, 0) == 0)
    {
      l->has_trip = TRUE;
      l->steps = loom_dim (0);
    }
  return TRUE;
}

/* Reads the condition for another iteration; sets l->has_condition if data decide it. FALSE after a fault. */
static gboolean
find_condition (OnnxCtx *c, OnnxImport *scope, Loop *l, gboolean *another)
{
  const char *name = l->body->output[0]->name;
  const OnnxValue *value = onnx_value_of (scope, name);
  const LoomTensor *t = onnx_known (scope, name, FALSE, 0);

  if (value != NULL && value->failed)
    c->failed = TRUE;
  else if (t == NULL || t->count != 1)
    {
      l->has_condition = is_bounded (l);
      if (!l->has_condition)
        fail_unbounded (c, name);
    }
  *another = !c->failed && (t == NULL || loom_tensor_get (t, 0) != 0);
  return !c->failed;
}

/* A truth value as a tensor of rank 0, from that or from a row of one. */
static const OnnxWire *
single (OnnxCtx *c, const OnnxWire *x)
{
  if (x->type.shape.rank == 1)
    return onnx_emit (c, "squeeze", ONNX_IN (x), "dim", "0", NULL);
  if (x->type.shape.rank > 1)
    onnx_fail (c, "its condition is not a single bool.");
  return x;
}

/* The initial value of a carried value. */
static const OnnxValue *
first_value (OnnxCtx *c, const Loop *l, guint i)
{
  const OnnxValue *value = onnx_has (c, i + 2) ? onnx_reach (c, c->node->input[i + 2]) : NULL;

  if (value == NULL)
    onnx_fail (c, "its carried value “%s” has no initial value.", l->body->input[i + 2]->name);
  else if (value->failed)
    c->failed = TRUE;
  return c->failed ? NULL : value;
}

/* The result of an iteration. It is used only while the loop runs; after its end carried values do not change. */
static const OnnxWire *
while_condition (OnnxCtx *c, const OnnxWire *going, const OnnxWire *after, const OnnxWire *before)
{
  return going == NULL ? after : onnx_emit (c, "where", ONNX_IN (going, after, before), NULL);
}

/* The input of an iteration. After the end it is that of the first iteration, so that an index beyond the end is valid
 * again. */
static const OnnxWire *
while_condition_or_first (OnnxCtx *within, const OnnxWire *going, const OnnxWire *carried, const OnnxWire *first)
{
  return going == NULL ? carried
                       : while_condition (within, going, carried, onnx_scope_capture (within->all, "first", first));
}

/* If data decide, the condition is carried before the values that the model carries. */
static void
loop_as_scan (OnnxCtx *c, Loop *l)
{
  OnnxImport *scope = onnx_scope_new (c->all, c->node->name != NULL && *c->node->name ? c->node->name : "loop");
  OnnxCtx within = onnx_scope_ctx (c, scope);
  const gboolean has_condition = l->has_condition;
  const guint first = has_condition ? 2 : 1, n = l->n_carried + first;
  g_autofree const OnnxWire **in = g_new0 (const OnnxWire *, n), **carried = g_new0 (const OnnxWire *, n);
  g_autofree gboolean *is_sequence = g_new0 (gboolean, n);
  const LoomType step = { .dtype = LOOM_I64 }, truth = { .dtype = LOOM_BOOL };
  const OnnxWire *going = NULL;
  gboolean another;

  in[0] = onnx_count (c, l->steps);
  is_sequence[0] = TRUE;
  scope->module->step = onnx_scope_input (scope, l->body->input[0]->name, &step);
  scope->module->steps = l->steps;
  declare_constant (scope, l->body->input[1]->name, scalar (LOOM_BOOL, 1));
  if (!has_condition)
    declare_wire (scope, l->body->input[0], scope->module->step, 0);
  else
    {
      in[1]
          = onnx_has (c, 1) ? single (c, onnx_in (c, 1)) : onnx_tensor_wire (c, scalar (LOOM_BOOL, 1), "going", FALSE);
      going = onnx_scope_input (scope, "going", &truth);
    }
  for (guint i = 0; i < l->n_carried && !c->failed; i++)
    {
      in[i + first] = onnx_in (c, i + 2);
      carried[i] = onnx_scope_input (scope, l->body->input[i + 2]->name, &in[i + first]->type);
    }
  for (guint i = 0; i < l->n_carried && !c->failed; i++)
    declare_wire (scope, l->body->input[i + 2], while_condition_or_first (&within, going, carried[i], in[i + first]),
                  onnx_elem_type (c, i + 2));
  if (has_condition && !c->failed)
    declare_wire (scope, l->body->input[0],
                  while_condition (&within, going, scope->module->step,
                                   onnx_tensor_wire (&within, scalar (LOOM_I64, 0), "zero", FALSE)),
                  0);
  c->failed = c->failed || within.failed;
  if (c->failed)
    return;
  onnx_add_tensors (scope, l->body);
  onnx_map_nodes (scope, l->body);
  if (!find_condition (&within, scope, l, &another))
    {
      c->failed = TRUE;
      return;
    }
  if (l->has_condition && !has_condition)
    return;
  if (another && !l->has_trip)
    fail_endless (c, 1);
  if (!another && !loom_dim_equal (l->steps, loom_dim (1)))
    in[0] = onnx_count (c, loom_dim (1));
  if (has_condition)
    onnx_scope_output (&within, "goes_on",
                       onnx_binary (&within, "logical_and", going,
                                    single (&within, onnx_reach_wire (&within, l->body->output[0]->name))),
                       going);
  for (guint i = 1; i < l->body->n_output; i++)
    {
      const OnnxWire *out = onnx_reach_wire (&within, l->body->output[i]->name);

      if (i <= l->n_carried)
        onnx_scope_output (&within, l->body->output[i]->name, while_condition (&within, going, out, carried[i - 1]),
                           carried[i - 1]);
      else
        onnx_scope_output (&within, l->body->output[i]->name, out, NULL);
    }
  c->failed = c->failed || within.failed;
  const OnnxNode *node = onnx_emit_loop (c, scope, &(OnnxLoop){ .in = in, .is_sequence = is_sequence });
  for (guint i = first - 1; node != NULL && i < node->n_out; i++)
    onnx_out (c, i - (first - 1), &node->out[i]);
}

static gsize
count_nodes (const Onnx__GraphProto *graph)
{
  gsize n = graph->n_node;

  for (gsize i = 0; i < graph->n_node; i++)
    for (gsize k = 0; k < graph->node[i]->n_attribute; k++)
      if (graph->node[i]->attribute[k]->g != NULL)
        n += count_nodes (graph->node[i]->attribute[k]->g);
  return n;
}

/* Unrolls the iterations, whose numbers are then known. */
static void
loop_unrolled (OnnxCtx *c, Loop *l)
{
  OnnxImport *tensors = onnx_scope_new (c->all, NULL), *scope = NULL;
  g_autofree const OnnxValue **carried = g_new0 (const OnnxValue *, l->n_carried + 1);
  g_autoptr (GPtrArray) rows = g_ptr_array_new ();
  gboolean another = TRUE;
  gint64 most = l->has_trip ? l->steps.coef
                            : MIN (MAX_UNROLLED_STEPS, MAX_UNROLLED_NODES / MAX ((gint64)count_nodes (l->body), 1)),
         t = 0;

  for (guint i = 0; i < l->n_carried && !c->failed; i++)
    carried[i] = first_value (c, l, i);
  onnx_add_tensors (tensors, l->body);
  for (; t < most && another && onnx_has_room (c); t++)
    {
      scope = onnx_scope_new (tensors, NULL);
      OnnxCtx within = onnx_scope_ctx (c, scope);

      declare_constant (scope, l->body->input[0]->name, scalar (LOOM_I64, t));
      declare_constant (scope, l->body->input[1]->name, scalar (LOOM_BOOL, 1));
      for (guint i = 0; i < l->n_carried; i++)
        onnx_alias (scope, l->body->input[i + 2]->name, carried[i]);
      onnx_map_nodes (scope, l->body);
      find_condition (&within, scope, l, &another);
      for (guint i = 0; i < l->n_carried && !within.failed; i++)
        {
          carried[i] = onnx_reach (&within, l->body->output[i + 1]->name);
          if (carried[i] == NULL)
            onnx_fail (&within, "nothing makes “%s”.", l->body->output[i + 1]->name);
          else
            within.failed = within.failed || carried[i]->failed;
        }
      for (guint i = 0; i < l->n_stacked && !within.failed; i++)
        g_ptr_array_add (rows, (gpointer)onnx_reach_wire (&within, l->body->output[l->n_carried + 1 + i]->name));
      c->failed = within.failed;
    }
  if (another && !l->has_trip)
    fail_endless (c, t);
  for (guint i = 0; i < l->n_carried && !c->failed; i++)
    if (onnx_has_output (c, i))
      onnx_alias (c->all, c->node->output[i], carried[i]);
  for (guint i = 0; i < l->n_stacked && !c->failed; i++)
    {
      g_autofree const OnnxWire **in = g_new0 (const OnnxWire *, t + 1);
      for (gint64 k = 0; k < t; k++)
        in[k] = rows->pdata[k * l->n_stacked + i];
      if (t == 0 && onnx_has_output (c, l->n_carried + i))
        onnx_fail (c, "it has no steps, so its stacked outputs would be empty.");
      else if (t > 0)
        onnx_out (c, l->n_carried + i, onnx_emit (c, "stack", (guint)t, in, "dim", "0", NULL));
    }
}

static gboolean
is_short (const Loop *l)
{
  return loom_dim_is_known (l->steps) && l->steps.coef <= MAX_UNROLLED_STEPS
         && (gsize)l->steps.coef * count_nodes (l->body) <= MAX_UNROLLED_NODES;
}

/* Nodes of the first attempt remain unused and are left out. */
static void
draw_again (OnnxCtx *c, guint n_mapped)
{
  c->failed = FALSE;
  c->first_node = c->all->nodes->len;
  g_ptr_array_set_size (c->all->mapped, (int)n_mapped);
}

static void
map_loop (OnnxCtx *c)
{
  g_autoptr (LoomFaults) tried = loom_faults_new ();
  LoomFaults *faults = c->all->faults;
  guint n_mapped = c->all->mapped->len;
  Loop l = { 0 };
  gboolean asked;

  if (!read_loop (c, &l))
    return;
  asked = l.has_condition;
  if (!l.has_trip)
    l.steps = loom_dim (1); /* the body may contain it */
  if (loom_dim_is_known (l.steps) && l.steps.coef == 0)
    {
      loop_unrolled (c, &l);
      return;
    }
  c->all->faults = is_short (&l) && !l.has_condition ? tried : faults;
  loop_as_scan (c, &l);
  if (!c->failed && l.has_condition && !asked)
    {
      draw_again (c, n_mapped);
      loop_as_scan (c, &l);
    }
  c->all->faults = faults;
  if (!c->failed || !is_short (&l) || l.has_condition)
    return;
  draw_again (c, n_mapped);
  loop_unrolled (c, &l);
  c->first_node = c->all->nodes->len;
}

/* ---- Scan ------------------------------------------------------------------ */

static gint64
list_at (const gint64 *list, guint n, guint i)
{
  return i < n ? list[i] : 0;
}

static const OnnxWire *
flipped (OnnxCtx *c, const OnnxWire *x, int axis)
{
  return onnx_emit (c, "flip", ONNX_IN (x), "dims", onnx_text (c, "%d", axis), NULL);
}

/* Permutes dimension `from` to position `to`. */
static const OnnxWire *
moved (OnnxCtx *c, const OnnxWire *x, int from, int to)
{
  return from == to ? x
                    : onnx_emit (c, "movedim", ONNX_IN (x), "source", onnx_text (c, "%d", from), "destination",
                                 onnx_text (c, "%d", to), NULL);
}

typedef struct
{
  const Onnx__GraphProto *body;
  guint n_states, n_sequences, n_stacked;
  gint64 in_axis[64], in_dir[64], out_axis[64], out_dir[64];
  guint n_in_axis, n_in_dir, n_out_axis, n_out_dir;
  gboolean *is_kept; /* by input and output: a state that iterations pass on unchanged, so an outer value */
} Scan;

/* Operator set 8 cuts a batch into samples first, so a state is no outer value. */
static void
find_kept (OnnxCtx *c, Scan *s)
{
  g_autoptr (GHashTable) same = g_hash_table_new (g_str_hash, g_str_equal); /* result of an Identity → operand */

  s->is_kept = g_new0 (gboolean, MAX (s->body->n_input, s->body->n_output) + 1);
  g_ptr_array_add (c->all->memory, s->is_kept);
  for (gsize k = 0; k < s->body->n_node; k++)
    {
      const Onnx__NodeProto *node = s->body->node[k];

      if (g_strcmp0 (node->op_type, "Identity") == 0 && node->n_input == 1 && node->n_output == 1)
        g_hash_table_insert (same, node->output[0], node->input[0]);
    }
  for (guint i = 0; i < s->n_states && onnx_opset (c) >= 9; i++)
    {
      const char *name = s->body->output[i]->name, *operand = g_hash_table_lookup (same, name);

      s->is_kept[i] = g_str_equal (operand != NULL ? operand : name, s->body->input[i]->name);
    }
}

static gboolean
read_scan (OnnxCtx *c, Scan *s)
{
  guint first = onnx_opset (c) < 9 ? 1 : 0, n = onnx_n_inputs (c) - MIN (first, onnx_n_inputs (c));
  gint64 sequences = onnx_attr_int (c, "num_scan_inputs", 0);

  s->body = onnx_graph_of (c, "body");
  if (s->body == NULL)
    return FALSE;
  if (first && onnx_has (c, 0))
    onnx_fail (c, "the lengths of its sequences (“sequence_lens”, of operator set 8) are not supported.");
  if (sequences < 1 || sequences > n || s->body->n_input != n || s->body->n_output < n - (guint)sequences)
    onnx_fail (c, "its body has %u inputs and %u outputs, which does not fit %u inputs of which %d are sequences.",
               (guint)s->body->n_input, (guint)s->body->n_output, n, (int)CLAMP (sequences, -1, 9999));
  if (c->failed)
    return FALSE;
  s->n_sequences = (guint)sequences;
  s->n_states = n - s->n_sequences;
  s->n_stacked = (guint)s->body->n_output - s->n_states;
  find_kept (c, s);
  s->n_in_axis = onnx_attr_ints (c, "scan_input_axes", s->in_axis, 64);
  s->n_in_dir = onnx_attr_ints (c, first ? "directions" : "scan_input_directions", s->in_dir, 64);
  s->n_out_axis = onnx_attr_ints (c, "scan_output_axes", s->out_axis, 64);
  s->n_out_dir = onnx_attr_ints (c, "scan_output_directions", s->out_dir, 64);
  return !c->failed;
}

static gboolean
all_reversed (const Scan *s)
{
  for (guint i = 0; i < s->n_sequences; i++)
    if (list_at (s->in_dir, s->n_in_dir, i) != 1)
      return FALSE;
  return TRUE;
}

/* A row: the type without one of its dimensions. */
static LoomType
row_of (const LoomType *type, int axis)
{
  LoomType row = *type;

  row.shape.rank--;
  for (int d = axis; d < row.shape.rank; d++)
    row.shape.dim[d] = type->shape.dim[d + 1];
  return row;
}

/* in[]: states, then sequences with time at axis 0. out[]: receives the node's results. */
static void
scan_steps (OnnxCtx *c, const Scan *s, const OnnxWire **in, const OnnxWire **out)
{
  OnnxImport *scope = onnx_scope_new (c->all, c->node->name != NULL && *c->node->name ? c->node->name : "scan");
  OnnxCtx within = onnx_scope_ctx (c, scope);
  guint n = s->n_states + s->n_sequences;
  g_autofree gboolean *is_sequence = g_new0 (gboolean, n + 1);
  g_autofree const OnnxWire **inside = g_new0 (const OnnxWire *, n + 1), **outside = g_new0 (const OnnxWire *, n + 1);
  guint n_inputs = 0, n_outputs = 0;

  scope->kept = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < n && !c->failed; i++)
    {
      LoomType type;

      if (s->is_kept[i])
        {
          g_hash_table_insert (scope->kept, s->body->input[i]->name, c->node->input[i]);
          continue;
        }
      type = in[i]->type;
      is_sequence[n_inputs] = i >= s->n_states;
      if (is_sequence[n_inputs] && type.shape.rank == 0)
        onnx_fail (c, "its sequence “%s” is a single number.", s->body->input[i]->name);
      else if (is_sequence[n_inputs])
        type = row_of (&type, 0);
      outside[n_inputs++] = in[i];
      inside[i] = onnx_scope_input (scope, s->body->input[i]->name, &type);
      declare_wire (scope, s->body->input[i], inside[i], onnx_elem_type (c, i + (onnx_opset (c) < 9)));
    }
  if (c->failed)
    return;
  onnx_add_tensors (scope, s->body);
  onnx_map_nodes (scope, s->body);
  for (guint i = 0; i < s->body->n_output; i++)
    if (!s->is_kept[i])
      onnx_scope_output (&within, s->body->output[i]->name, onnx_reach_wire (&within, s->body->output[i]->name),
                         i < s->n_states ? inside[i] : NULL);
  c->failed = c->failed || within.failed;
  const OnnxNode *node = onnx_emit_loop (
      c, scope, &(OnnxLoop){ .in = outside, .is_sequence = is_sequence, .reverse = all_reversed (s) });
  for (guint i = 0; node != NULL && i < s->body->n_output; i++)
    if (!s->is_kept[i])
      out[i] = &node->out[n_outputs++];
}

/* ONNX reverses each sequence separately; the scan here reverses all, and stacks results in the order of inputs. So
 * sequences and results with another direction than the loop are reversed outside of it. */
static void
scan_reversed (OnnxCtx *c, const Scan *s, const OnnxWire **in, const OnnxWire **out)
{
  gboolean reverse = all_reversed (s);

  for (guint i = 0; i < s->n_sequences && !c->failed; i++)
    {
      const OnnxWire **x = &in[s->n_states + i];
      int axis = onnx_axis (c, list_at (s->in_axis, s->n_in_axis, i), (*x)->type.shape.rank);

      *x = moved (c, *x, axis, 0);
      if ((list_at (s->in_dir, s->n_in_dir, i) == 1) != reverse)
        *x = flipped (c, *x, 0);
    }
  scan_steps (c, s, in, out);
  for (guint i = 0; i < s->n_stacked && !c->failed; i++)
    {
      const OnnxWire **y = &out[s->n_states + i];

      if ((list_at (s->out_dir, s->n_out_dir, i) == 1) != reverse)
        *y = flipped (c, *y, 0);
      *y = moved (c, *y, 0, onnx_axis (c, list_at (s->out_axis, s->n_out_axis, i), (*y)->type.shape.rank));
    }
}

/* In operator set 8 a batch is the first dimension, and the body gets one sample: a loop over samples around the loop
 * over steps. */
static void
scan_batch (OnnxCtx *c, const Scan *s, const OnnxWire **in, const OnnxWire **out)
{
  OnnxImport *scope = onnx_scope_new (c->all, "samples");
  OnnxCtx within = onnx_scope_ctx (c, scope);
  guint n = s->n_states + s->n_sequences;
  g_autofree gboolean *is_sequence = g_new0 (gboolean, n + 1);
  g_autofree const OnnxWire **inside = g_new0 (const OnnxWire *, n + 1);

  for (guint i = 0; i < n; i++)
    {
      LoomType row;

      if (in[i]->type.shape.rank == 0)
        onnx_fail (c, "its input “%s” has no batch.", s->body->input[i]->name);
      if (c->failed)
        return;
      row = row_of (&in[i]->type, 0);
      is_sequence[i] = TRUE;
      inside[i] = onnx_scope_input (scope, s->body->input[i]->name, &row);
    }
  scan_reversed (&within, s, inside, out);
  for (guint i = 0; i < s->body->n_output && !within.failed; i++)
    onnx_scope_output (&within, s->body->output[i]->name, out[i], NULL);
  c->failed = c->failed || within.failed;
  const OnnxNode *node = onnx_emit_loop (c, scope, &(OnnxLoop){ .in = in, .is_sequence = is_sequence });
  for (guint i = 0; node != NULL && i < node->n_out; i++)
    out[i] = &node->out[i];
}

/* The last value of such a state is its first one. A size that depends on a dynamic one is emitted only if something
 * reads it. */
static void
set_kept (OnnxCtx *c, guint i)
{
  const OnnxValue *value = onnx_reach (c, c->node->input[i]);

  if (value == NULL)
    onnx_fail (c, "no earlier node computes its input “%s”.", c->node->input[i]);
  else if (value->failed)
    c->failed = TRUE;
  else
    onnx_alias (c->all, c->node->output[i], value);
}

static void
map_scan (OnnxCtx *c)
{
  Scan s = { 0 };
  gboolean has_batch = onnx_opset (c) < 9;

  if (!read_scan (c, &s))
    return;
  g_autofree const OnnxWire **in = g_new0 (const OnnxWire *, s.body->n_input + 1);
  g_autofree const OnnxWire **out = g_new0 (const OnnxWire *, s.body->n_output + 1);
  for (guint i = 0; i < s.body->n_input; i++)
    if (!s.is_kept[i])
      in[i] = onnx_in (c, i + has_batch);
  if (c->failed)
    return;
  if (has_batch)
    scan_batch (c, &s, in, out);
  else
    scan_reversed (c, &s, in, out);
  for (guint i = 0; i < s.body->n_output && !c->failed; i++)
    if (!s.is_kept[i])
      onnx_out (c, i, out[i]);
    else if (onnx_has_output (c, i))
      set_kept (c, i);
}

const OnnxMap onnx_map_control[] = {
  { "Loop", NULL, map_loop },
  { "Scan", NULL, map_scan },
  { NULL },
};
