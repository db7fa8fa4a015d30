/* Compiles a graph's programs for listings; see the header. */
#include "app/shared/listing.h"

/* Open ends: outputs without a wire. */
static GArray *
open_ends (const LoomNet *net)
{
  GArray *ends = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));
  const guint n = loom_net_n_nodes (net);
  g_autofree gboolean *is_used = g_new0 (gboolean, n);

  for (guint i = 0; i < n; i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      for (guint j = 0; j < node->n_inputs; j++)
        if (node->input[j].node < n && !loom_net_is_weight (net, &node->input[j]))
          is_used[node->input[j].node] = TRUE;
    }
  for (guint i = 0; i < n; i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      const LoomNetSource end = { i, 0 };

      /* The readers of a muted node read its inputs. */
      if (!is_used[i] && node->n_outputs > 0 && !node->muted && node->loop == G_MAXUINT)
        g_array_append_val (ends, end);
    }
  return ends;
}

static gboolean
append_gradients (LoomProgram *p, LoomValue of, GError **error)
{
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      if (slot->kind == LOOM_SLOT_PARAMETER && slot->trainable && slot->read)
        {
          g_array_append_val (wrt, slot->read);
          g_ptr_array_add (names, slot->name);
        }
    }
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomProgramInput *input = loom_program_get_input (p, i);
      if (loom_dtype_is_float (loom_value_info (p, input->value)->desc.dtype))
        {
          g_array_append_val (wrt, input->value);
          g_ptr_array_add (names, input->name);
        }
    }
  if (wrt->len == 0)
    return TRUE;
  g_autofree LoomValue *grads = g_new0 (LoomValue, wrt->len);
  if (!loom_differentiate (p, of, 0, wrt->len, (const LoomValue *)wrt->data, grads, error))
    return FALSE;
  for (guint i = 0; i < wrt->len; i++)
    if (grads[i])
      {
        g_autofree char *name = g_strdup_printf ("grad:%s", (char *)names->pdata[i]);
        loom_program_output (p, name, grads[i]);
      }
  return TRUE;
}

/* net must outlive the program, which may borrow initial values from it. */
static LoomProgram *
program_of_ends (const LoomGraph *graph, const LoomBinding *binding, gboolean gradients, LoomNet **net, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  *net = loom_net_new (graph, binding, faults);
  if (!loom_faults_to_error (faults, NULL, error))
    return NULL;
  g_autoptr (GArray) ends = open_ends (*net);
  if (ends->len == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "The graph has no node with an output.");
      return NULL;
    }
  g_autofree LoomValue *value = g_new0 (LoomValue, ends->len);
  LoomLowerOptions options
      = { .float_dtype = LOOM_F32, .n_wanted = ends->len, .wanted = (const LoomNetSource *)ends->data };
  g_autoptr (LoomProgram) lowered = loom_lower (*net, &options, value, error);
  if (lowered == NULL)
    return NULL;
  g_autoptr (LoomProgram) p = loom_program_hoist (lowered, ends->len, value);

  LoomValue of = 0;
  for (guint i = 0; i < ends->len; i++)
    {
      const LoomNetSource *end = &g_array_index (ends, LoomNetSource, i);
      g_autofree char *name = loom_net_port_name (*net, end->node, end->output);
      const LoomTensorDesc *desc = &loom_value_info (p, value[i])->desc;
      loom_program_output (p, name, value[i]);
      if (!of && loom_desc_count (desc) == 1 && loom_dtype_is_float (desc->dtype))
        of = value[i];
    }
  if (of && gradients && !append_gradients (p, of, error))
    return NULL;
  return g_steal_pointer (&p);
}

void
listing_clear (Listing *l)
{
  if (l->step == NULL)
    g_clear_pointer (&l->program, loom_program_unref);
  loom_step_free (l->step);
  loom_step_free (l->keeping);
  loom_net_free (l->net);
  g_free (l->device);
}
gboolean
listing_build_ends (const LoomGraph *graph, const LoomBinding *binding, gboolean gradients, Listing *l, GError **error)
{
  l->strict_devices = loom_graph_strict_devices (graph);
  l->program = program_of_ends (graph, binding, gradients, &l->net, error);
  return l->program != NULL;
}

gboolean
listing_build_step (const LoomGraph *graph, LoomTrainSpec *spec, gint64 batch, gboolean training, Listing *l,
                    GError **error)
{
  l->strict_devices = loom_graph_strict_devices (graph);
  l->device = g_strdup (spec->device);
  l->step = loom_step_new (spec, batch, training, error);
  l->program = l->step != NULL ? l->step->program : NULL;
  return l->program != NULL;
}
