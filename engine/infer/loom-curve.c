/* Computes operators of one input with the operators themselves; see the header. */
#include "engine/infer/loom-curve.h"

#include <string.h>

#include "engine/net/loom-net.h"
#include "engine/run/loom-eager.h"

#define DEVICE "ref"

/* The input operator, and its parameter for the shape. */
static const LoomOp *
given_op (const char **shape)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    if ((*op)->role == LOOM_ROLE_INPUT)
      for (const LoomParamSpec *p = (*op)->params; p != NULL && p->name != NULL; p++)
        if (p->type == LOOM_PARAM_SHAPE)
          {
            *shape = p->name;
            return *op;
          }
  return NULL;
}

static gboolean
takes_one_input (const LoomOp *op)
{
  guint n = 0;

  for (const LoomPortSpec *p = op->inputs; p != NULL && p->name != NULL; p++)
    n += (p->flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT)) == 0;
  return n == 1 && op->lower != NULL && (op->inputs[0].flags & LOOM_PORT_VARIADIC) == 0;
}

/* Parameters as written, except those that depend on a module's instance. */
static const char *
param_text (const LoomElement *node, const LoomParamSpec *p)
{
  const char *text = node != NULL ? loom_element_get (node, p->name) : NULL;

  return text != NULL && strchr (text, '{') == NULL ? text : NULL;
}

static void
append (LoomGraph *graph, LoomElement *e)
{
  LoomElement *root = loom_graph_root (graph);

  loom_edit_free (
      loom_graph_apply (graph, loom_edit_insert (root, loom_element_place_for (root, loom_element_tag (e)), e)));
}

static LoomGraph *
graph_new (const LoomOp *op, const LoomElement *node, guint n)
{
  const char *shape_name;
  const LoomOp *given = given_op (&shape_name);
  g_autofree char *shape = g_strdup_printf ("%u", n);
  LoomGraph *graph = loom_graph_new (NULL);
  LoomElement *e;

  if (given == NULL)
    return graph;
  append (graph, loom_element_new (LOOM_TAG_NODE, "id", "x", "op", given->name, shape_name, shape, NULL));
  e = loom_element_new (LOOM_TAG_NODE, "id", "f", "op", op->name, NULL);
  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    if (param_text (node, p) != NULL)
      loom_element_set_detached (e, p->name, param_text (node, p));
  append (graph, e);
  append (graph, loom_element_new (LOOM_TAG_WIRE, "from", "x", "to", "f", NULL));
  return graph;
}

char *
loom_curve_key (const LoomOp *op, const LoomElement *node)
{
  GString *key = g_string_new (op->name);

  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    if (param_text (node, p) != NULL)
      g_string_append_printf (key, " %s=%s", p->name, param_text (node, p));
  return g_string_free (key, FALSE);
}

LoomTensor *
loom_curve_evaluate (const LoomOp *op, const LoomElement *node, const float *x, guint n)
{
  if (!takes_one_input (op))
    return NULL;
  g_autoptr (LoomGraph) graph = graph_new (op, node, n);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomProgram) program = NULL;
  g_autoptr (LoomDevices) devices = NULL;
  g_autoptr (LoomState) state = NULL;
  g_autoptr (LoomEager) eager = NULL;
  LoomNetSource wanted = { 0, 0 };
  LoomLowerOptions options = { .float_dtype = LOOM_F32, .n_wanted = 1, .wanted = &wanted };
  LoomValue value;
  LoomTensor *y;
  int f = loom_net_find (net, "f");

  if (loom_faults_count (faults) > 0 || f < 0 || loom_net_node (net, (guint)f)->n_outputs != 1)
    return NULL;
  wanted.node = (guint)f;
  program = loom_lower (net, &options, &value, NULL);
  if (program == NULL || loom_program_n_inputs (program) != 1)
    return NULL;
  devices = loom_devices_new (1);
  state = loom_state_new (devices, DEVICE, 1);
  if (!loom_state_add_slots (state, program, NULL))
    return NULL;
  eager = loom_eager_new (program, state, devices, DEVICE, NULL);
  if (eager == NULL)
    return NULL;
  loom_eager_feed (eager, 0, x);
  if (!loom_eager_run (eager, FALSE, NULL, NULL, NULL))
    return NULL;
  y = loom_eager_value (eager, value, NULL);
  if (y != NULL && (y->count != n || y->dtype != LOOM_F32))
    g_clear_pointer (&y, loom_tensor_unref);
  return y;
}
