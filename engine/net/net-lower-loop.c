/* Lowers a loop: its body to a program of its own, and the instruction that runs that program in each iteration.
 *
 * The nodes of the body are lowered like all others, but to a scratch program. Bodies have no state, so slots that the
 * scratch program reads become invariant operands, and a buffer that it updates (running statistics) is carried. A
 * wanted port of the body is an additional stacked result. Random numbers depend on the slot that counts training
 * steps: the body gets that number combined with the iteration, so that each iteration draws other numbers. */
#include "engine/net/lower-region.h"

typedef struct
{
  NetRegion r;
  LoomProgram *body;
  gint64 steps;
  const LoomCarry *carry; /* NULL: carried values are reset in each run */
  LoomBodyCall part[3];   /* by NetBorderKind, with carried values and stacked results */
  GArray *commit;         /* int: the slot of the outer program that receives carried value k; -1: none */
} Loop;

/* kind: NET_CARRIED for the next value, NET_SEQUENCE for a stacked result. */
static void
add_result (Loop *p, NetBorderKind kind, LoomValue v)
{
  v = net_region_copy (p->body, v);
  g_array_append_val (p->part[kind].out[0], v);
}

/* Permutes dimension `from` to position `to`. */
static LoomValue
move_axis (LoomProgram *p, LoomValue v, int from, int to)
{
  int rank = value_desc (p, v)->rank, perm[LOOM_MAX_RANK], k = 0;

  if (from == to)
    return v;
  for (int d = 0; d < rank; d++)
    {
      if (k == from)
        k++;
      perm[d] = d == to ? from : k++;
    }
  return loom_permute (p, v, perm);
}

/* Indices of the iterations, 0, 1, 2 …, i64. */
static LoomValue
count_steps (Loop *p)
{
  LoomIotaTo attrs = { .kernel = { .axis = 0, .start = 0, .step = 1 }, .dtype = LOOM_I64, .to = { 1, { p->steps } } };

  return loom_emit (p->r.outer, loom_prim ("iota"), &attrs, 0, NULL, NULL);
}

/* ---- operands ----------------------------------------------------------------- */

static guint
border_node (const Loop *p, guint input)
{
  return loom_net_border (p->r.l->net, p->r.loop, 0, input);
}

/* The id of one of the module's inputs. */
static const char *
input_name (const Loop *p, guint input)
{
  return p->r.module->locals[p->r.module->inputs[input]].id;
}

/* The operand of a loop's input, in the outer program. */
static LoomValue
operand_of (Loop *p, guint input)
{
  LoomValue operand = net_region_input (&p->r, input);
  const LoomNetNode *border = loom_net_node (p->r.l->net, border_node (p, input));
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  if (operand != 0)
    return operand;
  loom_shape_get (&border->output[0].shape, dims);
  return loom_fill (p->r.outer, program_dtype (p->r.l, border->output[0].dtype), border->output[0].shape.rank, dims, 0);
}

static void
add_inputs (Loop *p)
{
  for (guint i = 0; i < p->r.module->n_inputs; i++)
    {
      guint node = border_node (p, i);
      LoomValue operand = operand_of (p, i);
      const LoomTensorDesc *d;
      gboolean is_sequence = p->r.loop->kind[i] == NET_SEQUENCE;

      if (p->carry != NULL && p->r.loop->kind[i] == NET_CARRIED)
        operand = loom_carry_begin (p->r.outer, p->carry, p->r.runner->path, input_name (p, i), operand);

      if (is_sequence)
        operand = move_axis (p->r.outer, operand, (int)p->r.loop->axis, 0);
      d = value_desc (p->r.outer, operand);
      if (is_sequence)
        p->steps = d->dim[0];
      p->r.l->value[node][0] = loom_program_input (p->body, loom_net_node (p->r.l->net, node)->path, d->dtype,
                                                   d->rank - is_sequence, d->dim + is_sequence);
      loom_body_call_add (&p->part[p->r.loop->kind[i]], p->r.l->value[node][0], operand);
    }
}

/* Adds the slots that the body reads as invariants, except the step number and slots that it updates. */
static void
add_slots (Loop *p)
{
  for (guint k = 0; k < loom_program_n_slots (p->body); k++)
    {
      const LoomSlot *slot = loom_program_get_slot (p->body, k);
      LoomValue read = loom_program_read (p->body, (int)k), now, next = slot->commit;
      int outer;

      now = net_region_read (p->r.outer, slot, &outer);
      if (net_region_is_step (&p->r, slot->name))
        {
          now = net_region_scale_step (&p->r, now);
          loom_body_call_add (&p->part[NET_SEQUENCE], read,
                              loom_binary (p->r.outer, LOOM_SCALAR_ADD, count_steps (p), now));
        }
      else if (next != 0)
        {
          loom_body_call_add (&p->part[NET_CARRIED], read, now);
          g_array_append_val (p->part[NET_CARRIED].out[0], next);
          g_array_append_val (p->commit, outer);
        }
      else
        loom_body_call_add (&p->part[NET_WHOLE], read, now);
    }
}

/* ---- wanted ports of the body ------------------------------------------------- */

static const NetNode *
net_node (const Loop *p, guint i)
{
  return p->r.l->net->nodes->pdata[i];
}

/* TRUE if wanted port k is in a loop, or in a loop inside it. */
static gboolean
is_in_loop (const Loop *p, guint k, const NetLoop *of)
{
  const LoomNetSource *want = &p->r.l->options->wanted[k];
  const NetLoop *loop = loom_net_is_weight (p->r.l->net, want) ? NULL : net_node (p, want->node)->loop;

  while (loop != NULL && loop != of)
    loop = loop->outer;
  return loop != NULL;
}

/* Adds the probe of port k to the body's inputs; outside it is a sequence of zeros. */
static void
add_probe_input (Loop *p, guint k, LoomValue probe)
{
  const LoomTensorDesc *d = value_desc (p->body, probe);
  gint64 dims[LOOM_MAX_RANK] = { p->steps };

  for (int r = 0; r < d->rank; r++)
    dims[r + 1] = d->dim[r];
  p->r.l->probe[k] = p->r.loop->outer != NULL ? loom_program_input (p->r.outer, "probe", d->dtype, d->rank + 1, dims)
                                              : loom_fill (p->r.outer, d->dtype, d->rank + 1, dims, 0);
  loom_body_call_add (&p->part[NET_SEQUENCE], probe, p->r.l->probe[k]);
}

static void
add_probe (Loop *p, guint k)
{
  const LoomNetSource *want = &p->r.l->options->wanted[k];
  LoomValue *value = &p->r.l->value[want->node][want->output], probe;
  const LoomTensorDesc *d = value_desc (p->body, *value);

  if (!loom_dtype_is_float (d->dtype))
    return;
  probe = loom_program_input (p->body, "probe", d->dtype, d->rank, d->dim);
  *value = loom_binary (p->body, LOOM_SCALAR_ADD, *value, probe);
  add_probe_input (p, k, probe);
}

/* Called when a node of the body is lowered: adds probes to its wanted values. Probes of an inner loop are inputs of
 * this one too. */
static void
add_probes (gpointer data, guint node)
{
  Loop *p = data;
  const LoomLowerOptions *options = p->r.l->options;

  for (guint k = 0; options->probe_of != NULL && k < options->n_wanted; k++)
    if (options->wanted[k].node == node && is_in_loop (p, k, p->r.loop))
      add_probe (p, k);
    else if (net_node (p, node)->runs != NULL && is_in_loop (p, k, net_node (p, node)->runs) && p->r.l->probe[k] != 0)
      add_probe_input (p, k, p->r.l->probe[k]);
}

/* ---- results ------------------------------------------------------------------- */

/* TRUE if an output is stacked. The others are carried, or have no reader and take no memory. */
static gboolean
is_stacked (const Loop *p, guint output)
{
  return loom_net_carried_input (p->r.module, output) < 0 && loom_net_is_requested (p->r.l, p->r.node, output);
}

/* Selects `now` for samples that have not ended, else `before`. counts: bool [samples]. */
static LoomValue
while_counting (Loop *p, LoomValue counts, LoomValue now, LoomValue before)
{
  const LoomTensorDesc *d = value_desc (p->body, now);
  gint64 dims[LOOM_MAX_RANK] = { d->dim[0], 1, 1, 1, 1, 1, 1, 1 };

  if (counts == 0)
    return now;
  return loom_ternary (p->body, LOOM_SCALAR_SELECT, loom_reshape (p->body, counts, d->rank, dims), now, before);
}

/* By sample: TRUE if this iteration is within its length. 0: all are. */
static LoomValue
count_samples (Loop *p)
{
  LoomValue lengths, operand = net_region_input (&p->r, p->r.module->n_inputs), index;

  if (operand == 0)
    return 0;
  lengths = loom_program_input (p->body, p->r.loop->spec->port, LOOM_I64, 1, value_desc (p->r.outer, operand)->dim);
  index = loom_program_input (p->body, "index", LOOM_I64, 0, NULL);
  loom_body_call_add (&p->part[NET_WHOLE], lengths, operand);
  loom_body_call_add (&p->part[NET_SEQUENCE], index, count_steps (p));
  return loom_binary (p->body, LOOM_SCALAR_LT, index, lengths);
}

static void
add_outputs (Loop *p)
{
  LoomValue counts = count_samples (p);

  for (guint i = 0; i < p->r.module->n_inputs; i++)
    if (p->r.loop->kind[i] == NET_CARRIED)
      {
        LoomValue before = p->r.l->value[border_node (p, i)][0];
        LoomValue now = net_region_input (&p->r, loom_net_body_output (p->r.module, 0, (guint)p->r.module->carrier[i]));
        LoomValue v = while_counting (p, counts, now, before);
        int none = -1;

        add_result (p, NET_CARRIED, v);
        g_array_append_val (p->commit, none);
      }
  for (guint o = 0; o < p->r.module->n_outputs; o++)
    {
      LoomValue v = net_region_input (&p->r, loom_net_body_output (p->r.module, 0, o));

      if (!is_stacked (p, o))
        continue;
      v = while_counting (p, counts, v, loom_const (p->body, value_desc (p->body, v)->dtype, 0));
      add_result (p, NET_SEQUENCE, v);
    }
  for (guint k = 0; k < p->r.l->options->n_wanted; k++)
    if (is_in_loop (p, k, p->r.loop))
      {
        const LoomNetSource *want = &p->r.l->options->wanted[k];

        add_result (p, NET_SEQUENCE,
                    net_node (p, want->node)->loop == p->r.loop ? p->r.l->value[want->node][want->output]
                                                                : p->r.l->inside[k]);
      }
}

/* ---- the instruction ------------------------------------------------------------- */

/* Records the ports of the body, for the debugger and pins. */
static void
record_ports (Loop *p)
{
  for (guint k = 0; k < p->r.loop->n_members; k++)
    {
      guint m = p->r.loop->members[k];

      for (guint o = 0; o < loom_net_node (p->r.l->net, m)->n_outputs; o++)
        if (p->r.l->value[m][o] != 0)
          {
            g_autofree char *name = loom_net_port_name (p->r.l->net, m, o);

            loom_program_set_port (p->body, name, p->r.l->value[m][o]);
          }
    }
}

static void
record_results (Loop *p, const LoomValue *out)
{
  LoomValue *value = p->r.l->value[p->r.node];
  guint n_stacked = 0, k = 0;

  for (guint i = 0; i < p->r.module->n_inputs; i++)
    if (p->r.loop->kind[i] == NET_CARRIED)
      {
        value[p->r.module->carrier[i]] = out[k++];
        if (p->carry != NULL)
          loom_carry_end (p->r.outer, p->carry, p->r.runner->path, input_name (p, i), out[k - 1]);
      }
  for (; k < p->part[NET_CARRIED].out[0]->len; k++)
    loom_program_commit (p->r.outer, g_array_index (p->commit, int, k), out[k]);
  for (guint o = 0; o < p->r.module->n_outputs; o++)
    if (is_stacked (p, o))
      value[o] = move_axis (p->r.outer, out[k + n_stacked++], 0, (int)p->r.loop->axis);
  for (guint w = 0; w < p->r.l->options->n_wanted; w++)
    if (is_in_loop (p, w, p->r.loop))
      p->r.l->inside[w] = out[k + n_stacked++];
}

static void
emit (Loop *p)
{
  static const NetBorderKind order[] = { NET_CARRIED, NET_SEQUENCE, NET_WHOLE };
  g_autofree LoomValue *out = NULL;
  g_auto (LoomBodyCall) call;
  LoomScanAttrs attrs = { .length = p->steps,
                          .n_carried = p->part[NET_CARRIED].in[0]->len,
                          .n_sequences = p->part[NET_SEQUENCE].in[0]->len,
                          .n_stacked = p->part[NET_SEQUENCE].out[0]->len,
                          .reverse = loom_infer_bool (loom_net_infer (p->r.l->net, p->r.node), "reverse"),
                          .recompute = loom_net_is_recomputed (p->r.l, p->r.runner->path),
                          .no_hoist = !loom_infer_bool (loom_net_infer (p->r.l->net, p->r.node), "hoist") };

  loom_body_call_init (&call, 1);
  call.from[0] = loom_program_ref (p->body);
  for (guint k = 0; k < G_N_ELEMENTS (order); k++)
    loom_body_call_append (&call, &p->part[order[k]]);
  out = loom_body_call_emit (&call, p->r.outer, loom_prim ("scan"), &attrs, call.out[0]->len);
  record_results (p, out);
}

/* TRUE if a loop passes its state to the next run: it is in no other loop, and reads each sample forwards to its
 * end. */
static gboolean
passes_state (const Loop *p)
{
  return p->r.runner->loop == G_MAXUINT && p->r.runner->input[p->r.module->n_inputs].node == G_MAXUINT
         && !loom_infer_bool (loom_net_infer (p->r.l->net, p->r.node), "reverse");
}

gboolean
loom_net_lower_loop (NetLowering *l, guint i)
{
  const NetNode *n = l->net->nodes->pdata[i];
  Loop p = { .r = net_region (l, i) };
  gboolean ok;

  if (loom_carry_is_requested (&l->options->carry, loom_net_infer (l->net, i)) && passes_state (&p))
    p.carry = &l->options->carry;
  p.body = net_region_new_body (&p.r);
  for (guint k = 0; k < G_N_ELEMENTS (p.part); k++)
    loom_body_call_init (&p.part[k], 1);
  p.commit = g_array_new (FALSE, FALSE, sizeof (int));
  net_region_set_origin (&p.r, p.r.outer);
  add_inputs (&p);
  ok = net_region_lower_body (&p.r, 0, p.body, add_probes, &p);
  if (ok)
    {
      net_region_set_origin (&p.r, p.r.outer);
      loom_program_set_recomputed (p.r.outer, n->loop != NULL && loom_net_is_recomputed (l, n->node.path));
      net_region_set_origin (&p.r, p.body);
      loom_program_set_recomputed (p.body, FALSE);
      add_outputs (&p);
      add_slots (&p);
      record_ports (&p);
      emit (&p);
    }
  for (guint k = 0; k < G_N_ELEMENTS (p.part); k++)
    loom_body_call_clear (&p.part[k]);
  g_array_unref (p.commit);
  loom_program_unref (p.body);
  return ok;
}
