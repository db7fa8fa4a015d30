/* Follows a wire back to the operator that computes its value, through the borders of modules and over muted ones. */
#include "engine/net/net-private.h"

#include <string.h>

#define WHOLE_NODE -2 /* in place of an output: the wire leads to the whole node */

/* The position of a wire that is being followed. */
typedef struct
{
  NetInstance *instance;
  guint local;
  int copy, output;
  const char *port;
} Step;

static gboolean
go_along (const NetWire *wire, NetInstance *instance, Step *step)
{
  if (wire == NULL)
    return FALSE;
  *step = (Step){ .instance = instance, .local = wire->from, .copy = -1, .output = wire->output, .port = wire->port };
  return TRUE;
}

/* Enters a module through an output. */
static gboolean
enter (NetInstance *inner, guint output, Step *step)
{
  if (inner == NULL || output >= inner->scope->n_outputs)
    return FALSE;
  return go_along (inner->scope->locals[inner->scope->outputs[output]].wires[0], inner, step);
}

/* Leaves a module through an input, or continues at the copy before it. */
static gboolean
leave (guint port, Step *step)
{
  NetInstance *inner = step->instance;
  const NetLocal *user;

  if (port == 0 && inner->copy > 0)
    return enter (inner->siblings[inner->copy - 1], 0, step);
  user = inner->parent->scope->locals + inner->local;
  return port < user->n_ports && go_along (user->wires[port], inner->parent, step);
}

static gboolean
is_muted (const NetLocal *local)
{
  return g_strcmp0 (loom_element_get (local->element, "mute"), "true") == 0;
}

/* Bypasses a muted module: continues at the source of its first wired input. */
static gboolean
pass_by (LoomNet *net, Step *step)
{
  NetInstance *instance = step->instance;
  const NetLocal *l = instance->scope->locals + step->local;

  for (guint i = 0; i < l->n_ports; i++)
    if (l->wires[i] != NULL)
      return go_along (l->wires[i], instance, step);
  if (net->faults != NULL)
    loom_fault_set_fix (loom_net_fault (net, l->element, loom_net_join (net, instance->path, l->id), LOOM_ERROR_PORT,
                                        "mute", "“%s” is muted, but has no wired input that could replace its output.",
                                        l->id),
                        "mute", NULL, "Unmute it.");
  return FALSE;
}

static void
report_ring (LoomNet *net, const NetInstance *instance, guint local)
{
  const NetLocal *l = instance->scope->locals + local;

  if (net->faults != NULL)
    loom_net_fault (net, l->element, loom_net_join (net, instance->path, l->id), LOOM_ERROR_CYCLE, NULL,
                    "The wires through “%s” form a cycle without a computation.", l->id);
}

static void
report_copy (LoomNet *net, const NetInstance *instance, const NetLocal *l, int copy, guint n)
{
  if (net->faults != NULL && n > 0)
    loom_net_fault (net, l->element, loom_net_join (net, instance->path, l->id), LOOM_ERROR_PORT, NULL,
                    "A wire names copy %d of “%s”, which has %u copies, numbered from 0.", copy, l->id, n);
}

/* Follows a name of a weight: through modules to its node, and from there along the wire that replaces it, if any.
 * *done: it is the node's own weight. */
static gboolean
go_to_weight (LoomNet *net, Step *step, int *index, gboolean *done)
{
  const NetLocal *l = step->instance->scope->locals + step->local, *inner;
  const NetSlot *slot = step->instance->slots + step->local;
  int copy;
  const char *way = loom_net_skip_copy (l, step->port, &copy);
  gsize n = strcspn (way, ".");

  *done = FALSE;
  if (net->faults != NULL)
    net->is_whole = TRUE;
  if (copy >= 0)
    step->copy = copy;
  if (copy >= 0 && (guint)copy >= slot->n)
    {
      report_copy (net, step->instance, l, copy, slot->n);
      return FALSE;
    }
  if (l->kind == NET_OP)
    {
      *index = loom_op_weight_index (l->op, way);
      for (guint i = 0; *index >= 0 && i < l->n_ports; i++)
        if (loom_op_is_weight_port (l->op, i) && strcmp (l->op->inputs[i].name, way) == 0)
          {
            if (l->wires[i] != NULL)
              return go_along (l->wires[i], step->instance, step);
            if (l->wrong[i])
              return FALSE;
          }
      *done = TRUE;
      return *index >= 0;
    }
  if (slot->n == 0 || way[n] == 0)
    return FALSE;
  step->instance = slot->copies[step->copy >= 0 ? (guint)step->copy : slot->n - 1];
  inner = loom_net_find_local (step->instance->scope, way, n);
  if (inner == NULL)
    return FALSE;
  *step = (Step){ .instance = step->instance,
                  .local = (guint)(inner - step->instance->scope->locals),
                  .copy = -1,
                  .output = -1,
                  .port = way + n + 1 };
  return TRUE;
}

/* TRUE if a wire ends here: at an output of a node that runs a loop, or at an input of its body. */
static gboolean
ends_at_loop (const NetLocal *l, const Step *step)
{
  if (l->kind == NET_INPUT)
    return step->instance->is_body;
  return l->kind == NET_MODULE && l->op != NULL && (step->output == WHOLE_NODE || (step->output >= 0 && !is_muted (l)));
}

static gboolean
find_loop (const LoomNet *net, const NetSlot *slot, const Step *step, LoomNetSource *source)
{
  const NetLocal *l = step->instance->scope->locals + step->local;
  guint which = step->copy >= 0 ? (guint)step->copy : slot->n - 1;

  if (slot->n == 0 || which >= slot->n)
    return FALSE;
  if (l->kind == NET_MODULE)
    *source = (LoomNetSource){ slot->copies[which]->loop->node, (guint)MAX (0, step->output) };
  else
    *source = (LoomNetSource){ net->order != NULL ? net->order[slot->first] : slot->first, 0 };
  return TRUE;
}

gboolean
loom_net_follow (LoomNet *net, NetInstance *instance, guint local, int copy, int output, const char *port,
                 LoomNetSource *source)
{
  Step step = { .instance = instance, .local = local, .copy = copy, .output = output, .port = port };
  Step mark = step;
  guint64 steps = 0, limit = 1024;

  for (;;)
    {
      const NetLocal *l = step.instance->scope->locals + step.local;
      const NetSlot *slot = step.instance->slots + step.local;
      int weight = -1;
      gboolean done = TRUE;

      /* A name that is no output's is a weight's. */
      if (step.output == -1 && step.port != NULL
          && (l->kind == NET_MODULE
              || (l->kind == NET_OP && l->op->dynamic_outputs == NULL
                  && loom_op_output_index (l->op->outputs, loom_op_count_ports (l->op->outputs), step.port) < 0)))
        {
          if (!go_to_weight (net, &step, &weight, &done))
            return FALSE;
        }
      if (done && ends_at_loop (l, &step))
        return find_loop (net, slot, &step, source);
      if (done && l->kind == NET_OP)
        {
          const NetNode *n;
          guint which = step.copy >= 0 ? (guint)step.copy : slot->n - 1;

          if (slot->n == 0 || which >= slot->n)
            return FALSE;
          /* Slots count nodes in the order of the file; a finished net has them in topological order. */
          source->node = slot->first + which;
          if (net->order != NULL)
            source->node = net->order[source->node];
          n = net->nodes->pdata[source->node];
          if (step.output == WHOLE_NODE)
            {
              source->output = 0;
              return TRUE;
            }
          if (weight >= 0)
            {
              source->output = n->infer.n_outputs + (guint)weight;
              return TRUE;
            }
          if (step.output == -1)
            step.output = loom_op_output_index (n->infer.output_spec, n->infer.n_outputs, step.port);
          source->output = (guint)step.output;
          return step.output >= 0 && (guint)step.output < n->infer.n_outputs;
        }
      else if (done && l->kind == NET_MODULE && step.output >= 0 && is_muted (l))
        {
          if (!pass_by (net, &step))
            return FALSE;
        }
      else if (done && l->kind == NET_MODULE)
        {
          guint which = step.copy >= 0 ? (guint)step.copy : slot->n - 1;

          if (slot->n == 0 || which >= slot->n || step.output < 0
              || !enter (slot->copies[which], (guint)step.output, &step))
            return FALSE;
        }
      else if (done && (l->kind != NET_INPUT || !leave (l->port, &step)))
        return FALSE;

      /* Modules that only pass on a value can form a cycle without any operator. Brent's algorithm finds it. */
      if (step.instance == mark.instance && step.local == mark.local && step.output == mark.output
          && g_strcmp0 (step.port, mark.port) == 0)
        {
          report_ring (net, step.instance, step.local);
          return FALSE;
        }
      if (++steps == limit)
        {
          mark = step;
          limit *= 2;
        }
    }
}

/* Finds the source of an output as if its module were not muted, and the source that replaces it. */
static gboolean
find_both (LoomNet *net, NetInstance *instance, guint local, guint output, LoomNetSource *within, LoomNetSource *around)
{
  const NetSlot *slot = instance->slots + local;
  Step step = { .instance = instance, .local = local };

  if (slot->n > 0 && instance->scope->locals[local].op != NULL)
    {
      *within = (LoomNetSource){ slot->copies[slot->n - 1]->loop->node, output };
      return loom_net_follow (net, instance, local, -1, (int)output, NULL, around);
    }
  return slot->n > 0 && enter (slot->copies[slot->n - 1], output, &step)
         && loom_net_follow (net, step.instance, step.local, -1, step.output, step.port, within)
         && loom_net_follow (net, instance, local, -1, (int)output, NULL, around);
}

static const LoomType *
type_of_source (const LoomNet *net, const LoomNetSource *source)
{
  const NetNode *n = net->nodes->pdata[source->node];

  return n->node.typed && n->infer.output_is_set[source->output] ? n->node.output + source->output : NULL;
}

static void
check_muted_module (LoomNet *net, NetInstance *instance, guint k)
{
  const NetLocal *local = instance->scope->locals + k;

  for (guint output = 0; output < local->module->n_outputs; output++)
    {
      LoomNetSource within, around;
      const LoomType *inner, *outer;

      if (!find_both (net, instance, k, output, &within, &around))
        continue;
      inner = type_of_source (net, &within);
      outer = type_of_source (net, &around);
      if (inner != NULL && outer != NULL && !loom_type_equal (inner, outer))
        loom_net_fault_muted (net, local->element, loom_net_join (net, instance->path, local->id), local->id, inner);
    }
}

void
loom_net_check_muted (LoomNet *net, NetInstance *instance)
{
  for (guint k = 0; k < instance->scope->n_locals; k++)
    {
      const NetLocal *local = instance->scope->locals + k;

      if (local->kind != NET_MODULE)
        continue;
      if (is_muted (local))
        check_muted_module (net, instance, k);
      else
        for (guint copy = 0; copy < instance->slots[k].n; copy++)
          loom_net_check_muted (net, instance->slots[k].copies[copy]);
    }
}

gboolean
loom_net_follow_wire (LoomNet *net, NetInstance *instance, const NetWire *wire, LoomNetSource *source)
{
  Step step;

  return go_along (wire, instance, &step)
         && loom_net_follow (net, instance, step.local, -1, step.output, step.port, source);
}
