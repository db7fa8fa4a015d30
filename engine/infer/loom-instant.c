/* Computes a graph without data; see the header. The eager executor is exact enough for a picture and needs no plan. */
#include "engine/infer/loom-instant.h"

#include "engine/core/loom-refuse.h"
#include "engine/infer/derivative-chain.h"
#include "engine/net/loom-net.h"
#include "engine/run/loom-eager.h"

#define DEVICE         "cpu"
#define MAX_OPERATIONS 1e8 /* of all nodes: some hundredths of a second */

static gboolean
is_computable (const LoomNet *net)
{
  double operations = 0;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      if (node->op == NULL || node->op->role == LOOM_ROLE_DATASET || node->op->role == LOOM_ROLE_INPUT || !node->typed)
        return FALSE;
      operations += node->cost.flops + node->cost.bytes + node->cost.parameters;
    }
  return loom_net_n_nodes (net) > 0 && operations <= MAX_OPERATIONS;
}

/* Every output outside of loops. */
static GArray *
wanted_of (const LoomNet *net)
{
  GArray *wanted = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint o = 0; loom_net_node (net, i)->loop == G_MAXUINT && o < loom_net_node (net, i)->n_outputs; o++)
      {
        const LoomNetSource source = { i, o };

        g_array_append_val (wanted, source);
      }
  return wanted;
}

static gboolean
is_read (const LoomNet *net, const LoomNetSource *source)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint k = 0; k < loom_net_node (net, i)->n_inputs; k++)
      if (loom_net_node (net, i)->input[k].node == source->node
          && loom_net_node (net, i)->input[k].output == source->output)
        return TRUE;
  return FALSE;
}

/* The index of the loss among the wanted ports; -1: none, or several. */
static int
find_loss (const LoomGraph *graph, const LoomNet *net, const LoomProgram *p, const GArray *wanted,
           const LoomValue *value)
{
  const LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  const char *loss = train != NULL ? loom_element_get (train, "loss") : NULL;
  guint output;
  int node = loss != NULL ? loom_net_find_port (net, loss, &output, NULL) : -1, found = -1;

  for (guint i = 0; i < wanted->len; i++)
    {
      const LoomNetSource *source = &g_array_index (wanted, LoomNetSource, i);
      const LoomTensorDesc *desc = &loom_value_info (p, value[i])->desc;

      if (node >= 0 && source->node == (guint)node && source->output == output)
        return (int)i;
      if (node >= 0 || loom_desc_count (desc) != 1 || !loom_dtype_is_float (desc->dtype) || is_read (net, source))
        continue;
      if (found >= 0)
        return -1;
      found = (int)i;
    }
  return found;
}

/* Records gradients as ports (loom_differentiate()); a loss without one leaves the program as it is. */
static void
append_gradients (LoomProgram *p, LoomValue loss)
{
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autofree LoomValue *grads = NULL;

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    if (loom_program_get_slot (p, i)->kind == LOOM_SLOT_PARAMETER && loom_program_get_slot (p, i)->read != 0)
      g_array_append_val (wrt, loom_program_get_slot (p, i)->read);
  grads = g_new0 (LoomValue, wrt->len + 1);
  if (wrt->len > 0)
    loom_differentiate (p, loss, 0, wrt->len, (const LoomValue *)wrt->data, grads, NULL);
}

static guint64
seed_of (const LoomGraph *graph)
{
  const LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  const char *seed = train != NULL ? loom_element_get (train, "seed") : NULL;

  return seed != NULL ? g_ascii_strtoull (seed, NULL, 10) : 0;
}

static LoomLowerOptions
lower_options (const LoomGraph *graph)
{
  return (LoomLowerOptions){ .float_dtype = LOOM_F32, .seed = seed_of (graph) };
}

static LoomProgram *
make_program (const LoomGraph *graph, const LoomNet *net, LoomNetSource *of, GError **error)
{
  g_autoptr (GArray) wanted = wanted_of (net);
  g_autofree LoomValue *value = g_new0 (LoomValue, wanted->len + 1);
  LoomLowerOptions options = lower_options (graph);
  LoomProgram *p;
  int loss;

  options.n_wanted = wanted->len;
  options.wanted = (const LoomNetSource *)wanted->data;
  p = loom_lower (net, &options, value, error);
  if (p == NULL)
    return NULL;
  loss = find_loss (graph, net, p, wanted, value);
  if (loss >= 0)
    append_gradients (p, value[loss]);
  *of = loss >= 0 ? g_array_index (wanted, LoomNetSource, loss) : (LoomNetSource){ G_MAXUINT, 0 };
  return p;
}

typedef struct
{
  LoomNet *net;
  LoomProgram *program;
  LoomNetSource loss; /* its node is G_MAXUINT: there is none */
  LoomDevices *devices;
  LoomState *state;
  LoomEager *eager;
} Computed;

static void
computed_clear (Computed *self)
{
  g_clear_pointer (&self->eager, loom_eager_free);
  g_clear_pointer (&self->state, loom_state_unref);
  g_clear_pointer (&self->devices, loom_devices_unref);
  g_clear_pointer (&self->program, loom_program_unref);
  g_clear_pointer (&self->net, loom_net_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Computed, computed_clear)

static gboolean
compute (const LoomGraph *graph, Computed *self, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  self->net = loom_net_new (graph, NULL, faults);
  if (!loom_faults_to_error (faults, NULL, error))
    return FALSE;
  if (!is_computable (self->net))
    return loom_refuse (error, LOOM_ERROR_DATA, "The graph needs data, or is too large to compute at each edit.");
  self->program = make_program (graph, self->net, &self->loss, error);
  if (self->program == NULL)
    return FALSE;
  self->devices = loom_devices_new (1);
  self->state = loom_state_new (self->devices, DEVICE, seed_of (graph));
  self->eager = loom_eager_new (self->program, self->state, self->devices, DEVICE, error);
  return self->eager != NULL && loom_eager_run (self->eager, FALSE, NULL, NULL, error);
}

static LoomTensor *
port_of (gpointer data, const char *port, double *scale, GError **error)
{
  const Computed *self = data;
  const LoomValue v = loom_program_find_port (self->program, port);

  *scale = 1;
  return v != 0 ? loom_eager_value (self->eager, v, error) : NULL;
}

static gboolean
trains (gpointer data, int slot)
{
  return loom_program_get_slot (((const Computed *)data)->program, (guint)slot)->kind == LOOM_SLOT_PARAMETER;
}

gboolean
loom_instant_compute (const LoomGraph *graph, guint n, const char *const *port, LoomPortSummary *value, GError **error)
{
  g_auto (Computed) computed = { 0 };
  double scale;

  if (!compute (graph, &computed, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (LoomTensor) tensor = port_of (&computed, port[i], &scale, NULL);

      value[i] = (LoomPortSummary){ 0 };
      if (tensor != NULL)
        loom_port_summary_set (&value[i], tensor, scale);
    }
  return TRUE;
}

GArray *
loom_instant_derivatives (const LoomGraph *graph, const char *port, gint64 element, double *value, double *gradient,
                          GError **error)
{
  g_auto (Computed) computed = { 0 };
  DerivativeStep step;

  if (!compute (graph, &computed, error))
    return NULL;
  if (computed.loss.node == G_MAXUINT)
    {
      loom_refuse (error, LOOM_ERROR_PORT,
                   "There are gradients only of one number: name it as the loss, or leave one that no node reads.");
      return NULL;
    }
  step = (DerivativeStep){ .net = computed.net,
                           .program = computed.program,
                           .eager = computed.eager,
                           .loss = computed.loss,
                           .options = lower_options (graph),
                           .state = computed.state,
                           .devices = computed.devices,
                           .device = DEVICE,
                           .trains = trains,
                           .port = port_of,
                           .data = &computed };
  return derivative_chain_new (&step, port, element, value, gradient, error);
}
