/* Bodies of loops: their borders, and the node that runs one. This file is for scan and the common part; net-visit.c
 * has the differences for switch and recurse.
 *
 * The body is a module whose nodes are in the net once, with the shapes of one iteration. A wire ends at its borders:
 * each input of the module is a node, typed as a row of a sequence, as a carried value, or as an invariant; and the
 * node that runs the loop waits for the module's outputs, in addition to its own inputs. So order, dependences and
 * paths of weights work as for all other nodes. net-lower-loop.c lowers it. */
#include "engine/net/net-private.h"

#include <glib/gi18n.h>

/* ---- ports of the module ------------------------------------------------------ */

int
net_find_port (const NetScope *module, gboolean is_input, const char *id)
{
  for (guint i = 0; i < (is_input ? module->n_inputs : module->n_outputs); i++)
    if (g_strcmp0 (net_port (module, is_input, i)->id, id) == 0)
      return (int)i;
  return -1;
}

static void
report_carry (LoomNet *net, const NetScope *scope, const NetLocal *output, const char *carry)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *near;
  LoomFault *fault;

  for (guint i = 0; i < scope->n_inputs; i++)
    g_ptr_array_add (names, (gpointer)net_port (scope, TRUE, i)->id);
  g_ptr_array_add (names, NULL);
  near = loom_nearest (carry, (const char *const *)names->pdata);
  fault = loom_net_fault (net, output->element, output->path, LOOM_ERROR_PORT, LOOM_CARRY,
                          "“%s” is carried to “%s” of the next step, but the module has no module_input of this name.",
                          output->id, carry);
  if (near != NULL)
    loom_fault_set_fix (fault, LOOM_CARRY, near, "Did you mean “%s”?", near);
}

/* Records the input to which an output is carried: the one of the same name or, for trees, one for each child: h0, h1
 * … */
static void
carry_to (LoomNet *net, NetScope *scope, guint o, int input, const char *carry)
{
  const NetLocal *output = net_port (scope, FALSE, o);

  if (scope->carrier[input] >= 0)
    loom_net_fault (net, output->element, output->path, LOOM_ERROR_PORT, LOOM_CARRY,
                    "“%s” and “%s” are both carried to “%s”, which can have only one value at the next step.",
                    net_port (scope, FALSE, (guint)scope->carrier[input])->id, output->id, carry);
  else
    scope->carrier[input] = (int)o;
}

void
loom_net_pair_carried (LoomNet *net, NetScope *scope)
{
  scope->carrier = loom_net_alloc (&net->arena, sizeof (int) * (scope->n_inputs + 1));
  for (guint i = 0; i < scope->n_inputs; i++)
    scope->carrier[i] = -1;
  for (guint o = 0; o < scope->n_outputs; o++)
    {
      const NetLocal *output = net_port (scope, FALSE, o);
      const char *carry = loom_element_get (output->element, LOOM_CARRY);
      int input = carry != NULL ? net_find_port (scope, TRUE, carry) : -1, child = -1;

      if (input >= 0)
        carry_to (net, scope, o, input, carry);
      for (guint k = 0; carry != NULL && input < 0 && (k == 0 || child >= 0); k++)
        {
          g_autofree char *name = g_strdup_printf ("%s%u", carry, k);

          child = net_find_port (scope, TRUE, name);
          if (child >= 0)
            carry_to (net, scope, o, child, name);
          else if (k == 0)
            report_carry (net, scope, output, carry);
        }
    }
}

gboolean
loom_net_begins_as_zeros (const NetLocal *local, guint input)
{
  const NetScope *module = local->module;

  if (input >= module->n_inputs)
    return loom_op_loop (local->op)->port_is_optional;
  if (loom_op_loop (local->op)->kind == LOOM_LOOP_SWITCH)
    return FALSE;
  return module->carrier[input] >= 0 && loom_element_get (net_port (module, TRUE, input)->element, "shape") != NULL;
}

gboolean
loom_net_is_from_children (const NetLocal *local, guint input)
{
  return loom_op_loop (local->op) != NULL && loom_op_loop (local->op)->kind == LOOM_LOOP_TREE
         && input < local->module->n_inputs && local->module->carrier[input] >= 0;
}

const char *
loom_net_why_unwired (const NetLocal *local, guint input)
{
  if (local->kind == NET_MODULE && loom_net_is_from_children (local, input))
    return N_ ("The input “%s” comes from the children of a node, but its module_input has no shape for the zeros that "
               "leaves read.");
  if (local->kind == NET_MODULE && local->op != NULL && input < local->module->n_inputs
      && loom_op_loop (local->op)->kind == LOOM_LOOP_SCAN && local->module->carrier[input] >= 0)
    return N_ ("The input “%s” is not wired, and its module_input has no shape for initial zeros.");
  return N_ ("The input “%s” is not wired.");
}

guint
loom_net_border (const LoomNet *net, const NetLoop *loop, guint body, guint input)
{
  const NetInstance *b = loop->bodies[body];
  guint node = b->slots[b->scope->inputs[loop->local->bodies[body].input[input]]].first;

  return net->order != NULL ? net->order[node] : node;
}

guint
loom_net_loop_output (const NetInstance *body, guint output)
{
  const NetLoop *loop = body->loop;

  for (guint b = 0; b < loop->n_bodies; b++)
    for (guint o = 0; loop->bodies[b] == body && o < body->scope->n_outputs; o++)
      if (loop->local->bodies[b].output[o] == output)
        return o;
  return output;
}

/* ---- the node that runs a loop -------------------------------------------------- */

int
loom_net_carried_input (const NetScope *module, guint output)
{
  for (guint i = 0; i < module->n_inputs; i++)
    if (module->carrier[i] == (int)output)
      return (int)i;
  return -1;
}

static void
add_sequence (NetNode *n, const char *name)
{
  NetLoop *loop = n->runs;
  int input = net_find_port (loop->body->scope, TRUE, name);

  if (input < 0)
    loom_infer_fault (&n->infer, LOOM_ERROR_PORT, "sequence", "sequence names “%s”, but “%s” has no such input.", name,
                      loop->body->scope->name);
  else if (loop->kind[input] == NET_CARRIED)
    loom_infer_fault (&n->infer, LOOM_ERROR_PORT, "sequence",
                      "sequence names “%s”, which is carried from step to step and therefore is not a sequence.", name);
  else
    loop->kind[input] = NET_SEQUENCE;
}

/* Finds the inputs that are sequences: those that an attribute names, else the first that is not carried. */
static void
find_sequences (NetNode *n)
{
  const NetScope *module = n->runs->body->scope;
  const char *text = loom_infer_is_set (&n->infer, "sequence") ? loom_infer_string (&n->infer, "sequence") : NULL;
  g_auto (GStrv) names = text != NULL ? g_strsplit (text, ",", -1) : NULL;

  for (guint k = 0; names != NULL && names[k] != NULL; k++)
    add_sequence (n, g_strstrip (names[k]));
  for (guint i = 0; names == NULL && i < module->n_inputs; i++)
    if (n->runs->kind[i] == NET_WHOLE)
      {
        n->runs->kind[i] = NET_SEQUENCE;
        return;
      }
  if (names == NULL)
    loom_infer_fault (&n->infer, LOOM_ERROR_PORT, NULL,
                      "“%s” has only carried inputs, so the number of steps is not known.", module->name);
}

/* Refuses inputs for each child, which only trees have. */
static void
check_carried_names (NetNode *n)
{
  const NetScope *module = n->runs->body->scope;

  for (guint i = 0; i < module->n_inputs; i++)
    {
      const NetLocal *output = module->carrier[i] >= 0 ? net_port (module, FALSE, (guint)module->carrier[i]) : NULL;

      if (output != NULL
          && g_strcmp0 (loom_element_get (output->element, LOOM_CARRY), net_port (module, TRUE, i)->id) != 0)
        {
          loom_infer_fault (&n->infer, LOOM_ERROR_PORT, LOOM_BODY,
                            "“%s” of “%s” is carried to “%s”, but “%s” has another name: only recurse has an input "
                            "for each child.",
                            output->id, module->name, loom_element_get (output->element, LOOM_CARRY),
                            net_port (module, TRUE, i)->id);
          return;
        }
    }
}

/* Lists the node's ports: the module's inputs, the loop's own port and the bodies' outputs. */
static LoomPortSpec *
list_ports (LoomNet *net, const NetLoop *loop, gboolean outputs_only)
{
  const NetScope *module = loop->body->scope;
  guint n_bodies = outputs_only ? 1 : loop->n_bodies, n = loom_net_body_output (module, n_bodies, 0), k = 0;
  LoomPortSpec *spec = loom_net_alloc (&net->arena, sizeof (LoomPortSpec) * (n + 1));

  for (guint i = 0; !outputs_only && i < module->n_inputs; i++)
    spec[k++].name = net_port (module, TRUE, i)->id;
  if (!outputs_only)
    spec[k++]
        = (LoomPortSpec){ .name = loop->spec->port, .flags = loop->spec->port_is_optional ? LOOM_PORT_OPTIONAL : 0 };
  for (guint b = 0; b < n_bodies; b++)
    for (guint o = 0; o < module->n_outputs; o++)
      spec[k++].name = net_port (module, FALSE, o)->id;
  return spec;
}

void
loom_net_prepare_loop (LoomNet *net, NetNode *n)
{
  NetLoop *loop = n->runs;
  const NetScope *module = loop->body->scope;

  loop->kind = loom_net_alloc (&net->arena, sizeof (NetBorderKind) * (module->n_inputs + 1));
  for (guint i = 0; i < module->n_inputs; i++)
    loop->kind[i] = module->carrier[i] >= 0 ? NET_CARRIED : NET_WHOLE;
  n->infer.n_inputs = loom_net_body_output (module, loop->n_bodies, 0);
  n->infer.input_spec = list_ports (net, loop, FALSE);
  n->infer.output_spec = list_ports (net, loop, TRUE);
  if (n->infer.has_fault || loop->spec->kind == LOOM_LOOP_SWITCH)
    return;
  if (loop->spec->kind == LOOM_LOOP_TREE)
    {
      loom_net_prepare_tree (net, n);
      return;
    }
  check_carried_names (n);
  loop->axis = (guint)loom_infer_int (&n->infer, "axis");
  find_sequences (n);
}

void
loom_net_collect_members (LoomNet *net)
{
  for (guint i = 0; i < net->loops->len; i++)
    {
      NetLoop *loop = net->loops->pdata[i];

      loop->node = net->order[loop->node];
    }
  for (guint i = 0; i < net->nodes->len; i++)
    {
      NetNode *n = net->nodes->pdata[i];

      if (n->loop == NULL)
        continue;
      n->node.loop = n->loop->node;
      n->loop->n_members++;
    }
  for (guint i = 0; i < net->loops->len; i++)
    {
      NetLoop *loop = net->loops->pdata[i];

      loop->members = loom_net_alloc (&net->arena, sizeof (guint) * (loop->n_members + 1));
      loop->n_members = 0;
    }
  for (guint i = 0; i < net->nodes->len; i++)
    {
      NetLoop *loop = ((NetNode *)net->nodes->pdata[i])->loop;

      if (loop != NULL)
        loop->members[loop->n_members++] = i;
    }
}

double
loom_net_count_runs (const NetNode *n, const LoomBinding *ones)
{
  double runs = 1;

  for (const NetLoop *loop = n->loop; loop != NULL; loop = loop->outer)
    if (loop->spec->kind == LOOM_LOOP_SCAN)
      runs *= (double)MAX (1, loom_dim_value (loop->steps, ones));
    else
      runs /= loop->n_bodies;
  return runs;
}

/* ---- types ------------------------------------------------------------------------ */

static NetNode *
runner_of (const LoomNet *net, const NetLoop *loop)
{
  return net->nodes->pdata[loop->node];
}

/* Sequences are wired to the node that runs the loop, so faults of a border are reported there. */
/* Types a row: the sequence without the axis of the iterations. */
static void
infer_row (LoomNet *net, NetNode *n)
{
  NetLoop *loop = n->loop;
  const NetNode *runner = runner_of (net, loop);
  const LoomType *type = n->infer.input[0];
  const char *name = net_port (loop->body->scope, TRUE, (guint)n->border)->id;
  LoomShape row = { .rank = type->shape.rank - 1 };
  LoomDim steps;

  if ((int)loop->axis >= type->shape.rank)
    {
      g_autofree char *shape = loom_shape_to_string (&type->shape);

      net_complain (net, runner, LOOM_ERROR_SHAPE, name,
                    "“%s” is divided into steps along dimension %u, counted from 0, but its value is %s.", name,
                    loop->axis, shape);
      return;
    }
  steps = type->shape.dim[loop->axis];
  if (loom_dim_is_known (steps) && steps.coef == 0)
    {
      net_complain (net, runner, LOOM_ERROR_SHAPE, name, "“%s” needs at least one step.", name);
      return;
    }
  for (int d = 0; d < row.rank; d++)
    row.dim[d] = type->shape.dim[d < (int)loop->axis ? d : d + 1];
  if (loom_dim_is_unknown (loop->steps))
    loop->steps = steps;
  else if (!loom_dim_compatible (loop->steps, steps))
    {
      g_autofree char *first = loom_shape_to_string (&(LoomShape){ .rank = 1, .dim = { loop->steps } });
      g_autofree char *own = loom_shape_to_string (&(LoomShape){ .rank = 1, .dim = { steps } });

      net_complain (
          net, runner, LOOM_ERROR_SHAPE, name,
          "All sequences of a loop need the same number of steps, but “%s” has %s and another sequence has %s.", name,
          own, first);
      return;
    }
  loom_infer_output (&n->infer, 0, type->dtype, &row);
}

void
loom_net_infer_border (LoomNet *net, NetNode *n)
{
  const LoomType *type = n->infer.input[0];

  if (n->loop->spec->kind == LOOM_LOOP_TREE)
    {
      loom_net_infer_tree_border (net, n);
      return;
    }
  if (n->loop->spec->kind == LOOM_LOOP_SWITCH)
    {
      loom_infer_output (&n->infer, 0, type->dtype, &type->shape);
      return;
    }
  /* Only a carried value has no type yet; other missing types were reported. */
  if (type == NULL)
    {
      LoomShape shape = loom_infer_shape (&n->infer, "shape");

      loom_infer_output (&n->infer, 0, loom_infer_dtype (&n->infer, "dtype"), &shape);
    }
  else if (n->loop->kind[n->border] == NET_SEQUENCE)
    infer_row (net, n);
  else
    loom_infer_output (&n->infer, 0, type->dtype, &type->shape);
}

char *
loom_net_type_to_string (const LoomType *type)
{
  g_autofree char *shape = loom_shape_to_string (&type->shape);

  return g_strdup_printf ("%s %s", loom_dtype_name (type->dtype), shape);
}

gboolean
loom_net_check_carried (LoomNet *net, NetNode *n, guint output, guint input, const LoomType *after)
{
  const NetScope *module = n->runs->body->scope;
  const NetNode *border = net->nodes->pdata[loom_net_border (net, n->runs, 0, input)];
  const LoomType *before = border->node.output;
  g_autofree char *was = NULL, *is = NULL;

  if (before->dtype == after->dtype && loom_shape_compatible (&before->shape, &after->shape))
    return TRUE;
  was = loom_net_type_to_string (before);
  is = loom_net_type_to_string (after);
  net_complain (
      net, n, LOOM_ERROR_SHAPE, net_port (module, TRUE, input)->id,
      "“%s” is %s before the first step, but %s after a step (“%s”). A carried value must have the same type at "
      "every step.",
      net_port (module, TRUE, input)->id, was, is, net_port (module, FALSE, output)->id);
  return FALSE;
}

/* Checks the lengths: one number for each sample; the samples are the rows of all results of an iteration. */
static gboolean
check_lengths (LoomNet *net, NetNode *n, const LoomType *lengths, const char *name, const LoomType *made)
{
  g_autofree char *given = NULL, *type = NULL;

  if (lengths == NULL)
    return TRUE;
  given = loom_net_type_to_string (lengths);
  if (lengths->dtype != LOOM_I64 || lengths->shape.rank != 1)
    {
      net_complain (net, n, LOOM_ERROR_SHAPE, n->runs->spec->port,
                    "lengths must be one integer (i64) for each sample, but is %s.", given);
      return FALSE;
    }
  if (made->shape.rank > 0 && loom_dim_compatible (made->shape.dim[0], lengths->shape.dim[0]))
    return TRUE;
  type = loom_net_type_to_string (made);
  net_complain (net, n, LOOM_ERROR_SHAPE, n->runs->spec->port,
                "lengths is %s, one number for each sample, but “%s” is %s at each step, without samples as its first "
                "dimension.",
                given, name, type);
  return FALSE;
}

/* Adds the axis of the iterations. FALSE after a fault. */
static gboolean
stack (LoomNet *net, NetNode *n, const char *name, const LoomType *row, LoomShape *stacked)
{
  int axis = (int)n->runs->axis;

  if (axis > row->shape.rank || row->shape.rank == LOOM_SHAPE_MAX_RANK)
    {
      g_autofree char *type = loom_net_type_to_string (row);

      net_complain (net, n, LOOM_ERROR_SHAPE, name,
                    "“%s” is %s at each step, and cannot be stacked along dimension %d, counted from 0.", name, type,
                    axis);
      return FALSE;
    }
  stacked->rank = row->shape.rank + 1;
  for (int d = 0; d < stacked->rank; d++)
    stacked->dim[d] = d == axis ? n->runs->steps : row->shape.dim[d < axis ? d : d - 1];
  return TRUE;
}

void
loom_net_infer_loop (LoomNet *net, NetNode *n)
{
  const NetScope *module = n->runs->body->scope;
  const LoomType *lengths = n->infer.input[module->n_inputs];
  gboolean reverse;

  if (n->runs->spec->kind != LOOM_LOOP_SCAN)
    {
      (n->runs->spec->kind == LOOM_LOOP_TREE ? loom_net_infer_tree : loom_net_infer_switch) (net, n);
      return;
    }
  reverse = loom_infer_bool (&n->infer, "reverse");
  if (loom_infer_bool (&n->infer, LOOM_STATEFUL) && (reverse || lengths != NULL || n->loop != NULL))
    {
      net_complain (net, n, LOOM_ERROR_SCHEMA, LOOM_STATEFUL,
                    "stateful=\"true\" continues from the state after the previous window, but %s. Remove it.",
                    reverse           ? "reverse=\"true\" reads the next window first"
                    : lengths != NULL ? "with lengths each sample ends at another step"
                                      : "a nested loop has no windows");
      return;
    }
  for (guint o = 0; o < module->n_outputs; o++)
    {
      const LoomType *row = n->infer.input[module->n_inputs + 1 + o];
      const char *name = net_port (module, FALSE, o)->id;
      int input = loom_net_carried_input (module, o);
      LoomShape shape = row->shape;

      if (!check_lengths (net, n, lengths, name, row)
          || (input >= 0 ? !loom_net_check_carried (net, n, o, (guint)input, row) : !stack (net, n, name, row, &shape)))
        return;
      loom_infer_output (&n->infer, o, row->dtype, &shape);
    }
}

/* ---- restrictions of bodies --------------------------------------------------- */

gboolean
loom_net_cannot_loop (LoomNet *net, const NetNode *n)
{
  const NetNode *runner = runner_of (net, n->loop);
  const LoomOp *op = n->node.op;

  if (n->border >= 0 || n->runs != NULL)
    return FALSE;
  if (op->lower == NULL)
    net_complain (net, n, LOOM_ERROR_UNKNOWN_OP, NULL,
                  "“%s” is not allowed in the body of a loop: outer values enter it through a module_input.", op->name);
  else if (op->has_effect)
    net_complain (net, n, LOOM_ERROR_UNKNOWN_OP, NULL,
                  "“%s” is not allowed in the body of a loop: a state is updated once in a training step, not at each "
                  "step of the loop.",
                  op->name);
  else if (op->count_size != NULL)
    net_complain (net, n, LOOM_ERROR_UNKNOWN_OP, NULL,
                  "“%s” is not allowed in the body of a loop: its size would differ from step to step.", op->name);
  else if (loom_op_has_param (op, LOOM_STATEFUL) && !n->infer.has_fault && loom_infer_bool (&n->infer, LOOM_STATEFUL))
    net_complain (net, n, LOOM_ERROR_SCHEMA, LOOM_STATEFUL,
                  "“%s” with stateful=\"true\" is not allowed in the body of a loop, which has no windows.", op->name);
  else if (g_strcmp0 (n->node.device, runner->node.device) != 0)
    net_complain (net, n, LOOM_ERROR_DEVICE, "device", "A loop runs on one device, that of “%s”. Remove device.",
                  runner->node.path);
  else
    return FALSE;
  return TRUE;
}
