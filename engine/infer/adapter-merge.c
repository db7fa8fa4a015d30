/* Adds the products of an adapter's factors to weights, and unties weights of which that changes one. */
#include "engine/infer/adapter-layers.h"
#include "engine/infer/adapter-private.h"

#include "engine/core/loom-refuse.h"
#include "engine/interop/loom-weights.h"

#include <math.h>
#include <string.h>

/* The norm of row o of y, f64 [out, in], or [in, out] if turned. */
static double
norm_of_row (const LoomTensor *y, gint64 o, gboolean turned)
{
  const gint64 out = y->dim[turned ? 1 : 0], in = y->dim[turned ? 0 : 1];
  const double *v = y->data;
  double square = 0;

  for (gint64 i = 0; i < in; i++)
    square += pow (v[turned ? i * out + o : o * in + i], 2);
  return MAX (sqrt (square), LOOM_DORA_LEAST);
}

/* Gives each row of y, f64 [out, in], or [in, out] if turned, the norm of DoRA (Liu et al. 2024, equation 5). */
static void
set_norms (LoomTensor *y, const LoomTensor *magnitude, gboolean turned)
{
  const gint64 out = magnitude->count, in = y->dim[turned ? 0 : 1];
  double *v = y->data;

  for (gint64 o = 0; o < out; o++)
    {
      const double factor = loom_tensor_get (magnitude, o) / norm_of_row (y, o, turned);

      for (gint64 i = 0; i < in; i++)
        v[turned ? i * out + o : o * in + i] *= factor;
    }
}

/* weight [out, in], or [in, out] if turned, plus scale · B A, with A [r, in] and B [out, r], in f64. */
static LoomTensor *
add_product (const LoomTensor *weight, const LoomTensor *a, const LoomTensor *b, double scale, gboolean turned,
             GError **error)
{
  const gint64 rank = a->dim[0], in = a->dim[1], out = b->dim[0];
  g_autoptr (LoomTensor) sum = loom_tensor_convert (weight, LOOM_F64, FALSE, error);
  g_autoptr (LoomTensor) first = loom_tensor_convert (a, LOOM_F64, FALSE, error);
  g_autoptr (LoomTensor) second = loom_tensor_convert (b, LOOM_F64, FALSE, error);

  if (sum == NULL || first == NULL || second == NULL)
    return NULL;
  double *y = sum->data;
  const double *x = first->data, *z = second->data;
  for (gint64 o = 0; o < out; o++)
    for (gint64 r = 0; r < rank; r++)
      for (gint64 i = 0; i < in; i++)
        y[turned ? i * out + o : o * in + i] += scale * z[o * rank + r] * x[r * in + i];
  return g_steal_pointer (&sum);
}

static double
scale_of (const LoomInfer *infer)
{
  return loom_infer_float (infer, "lora_alpha") / (double)loom_infer_int (infer, "lora_rank");
}

static gboolean
is_turned (const LoomInfer *infer)
{
  return g_str_equal (loom_infer_string (infer, "weight_layout"), "in_out");
}

gboolean
loom_adapter_begin_magnitudes (const LoomNet *net, guint node, LoomState *state, GError **error)
{
  static const char *const parts[] = { LOOM_LORA_A, LOOM_LORA_B };
  const LoomInfer *infer = loom_net_infer (net, node);
  const int at = loom_net_find_weight (net, node, LOOM_LORA_MAGNITUDE), base = adapter_find_base (net, node);
  g_autoptr (LoomTensor) weight = NULL, norms = NULL, sum = NULL;
  LoomTensor *factors[2] = { NULL, NULL };

  if (at < 0 || base < 0)
    return TRUE;
  weight = loom_state_get (state, loom_net_weight (net, (guint)base)->name, error);
  for (guint i = 0; weight != NULL && i < 2; i++)
    factors[i]
        = loom_state_get (state, loom_net_weight (net, (guint)loom_net_find_weight (net, node, parts[i]))->name, error);
  if (factors[0] != NULL && factors[1] != NULL)
    sum = add_product (weight, factors[0], factors[1], scale_of (infer), is_turned (infer), error);
  norms = sum != NULL ? loom_tensor_new (LOOM_F32, 1, &sum->dim[is_turned (infer) ? 1 : 0], error) : NULL;
  for (gint64 o = 0; norms != NULL && o < norms->count; o++)
    loom_tensor_set (norms, o, norm_of_row (sum, o, is_turned (infer)));
  g_clear_pointer (&factors[0], loom_tensor_unref);
  g_clear_pointer (&factors[1], loom_tensor_unref);
  return norms != NULL && loom_state_set (state, loom_net_weight (net, (guint)at)->name, norms, error);
}

typedef struct
{
  LoomAdapter *adapter; /* may be NULL */
  LoomTensorFile *weights;
  const char *path; /* of the weights */
} Sources;

/* A tensor of the adapter, else of the weights; NULL without an error if neither has it. */
static LoomTensor *
take (const Sources *from, const char *name, GError **error)
{
  int at = from->adapter != NULL ? adapter_find_tensor (from->adapter, name) : -1;

  if (at >= 0)
    return loom_adapter_tensor (from->adapter, (guint)at, error);
  at = loom_tensor_file_find (from->weights, name);
  return at >= 0 ? loom_tensor_file_tensor (from->weights, (guint)at, error) : NULL;
}

static gboolean
has_dims (const LoomTensor *t, gint64 rows, gint64 columns)
{
  return t->rank == 2 && t->dim[0] == rows && t->dim[1] == columns;
}

/* The merged weight of a node; NULL with an error, or without one if it has no factors. */
static LoomTensor *
merge_node (const Sources *from, const LoomNet *net, guint node, GError **error)
{
  g_autofree char *path = adapter_layer_name (net, node);
  const LoomInfer *infer = loom_net_infer (net, node);
  const int base = adapter_find_base (net, node);
  const char *name = base >= 0 ? loom_net_weight (net, (guint)base)->name : "";
  g_autofree char *name_a = g_strconcat (path, "." LOOM_LORA_A, NULL),
                  *name_b = g_strconcat (path, "." LOOM_LORA_B, NULL),
                  *name_m = g_strconcat (path, "." LOOM_LORA_MAGNITUDE, NULL);
  const gboolean has_magnitude = loom_infer_bool (infer, "use_dora"), turned = is_turned (infer);
  const gint64 rank = loom_infer_is_set (infer, "lora_rank") ? loom_infer_int (infer, "lora_rank") : 0;
  GError *local = NULL;

  if (rank == 0)
    return NULL;
  g_autoptr (LoomTensor) weight = take (from, name, &local);
  g_autoptr (LoomTensor) a = local == NULL ? take (from, name_a, &local) : NULL;
  g_autoptr (LoomTensor) b = local == NULL ? take (from, name_b, &local) : NULL;
  g_autoptr (LoomTensor) m = local == NULL && has_magnitude ? take (from, name_m, &local) : NULL;
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return NULL;
    }
  /* Of the copies of a layer, an adapter may have factors for some. */
  if (from->adapter != NULL && weight != NULL && a == NULL && b == NULL && m == NULL)
    return NULL;
  if (weight == NULL || a == NULL || b == NULL || (has_magnitude && m == NULL))
    return loom_refuse_null (error, LOOM_ERROR_DATA, "The weights in %s have no %s.", from->path,
                             weight == NULL ? name
                             : a == NULL    ? name_a
                             : b == NULL    ? name_b
                                            : name_m);
  if (weight->rank != 2 || !has_dims (a, rank, weight->dim[turned ? 0 : 1])
      || !has_dims (b, weight->dim[turned ? 1 : 0], rank) || (m != NULL && m->count != b->dim[0]))
    return loom_refuse_null (error, LOOM_ERROR_DATA, "The factors of “%s” do not fit its weight.", path);
  g_autoptr (LoomTensor) sum = add_product (weight, a, b, scale_of (infer), turned, error);
  if (sum != NULL && m != NULL)
    set_norms (sum, m, turned);
  return sum != NULL ? loom_tensor_convert (sum, weight->dtype, FALSE, error) : NULL;
}

static void
put (GPtrArray *tensors, const char *name, LoomTensor *tensor)
{
  for (guint i = 0; i < tensors->len; i++)
    if (g_str_equal (((LoomNamedTensor *)tensors->pdata[i])->name, name))
      {
        loom_named_tensor_free (tensors->pdata[i]);
        tensors->pdata[i] = loom_named_tensor_new (name, tensor);
        return;
      }
  g_ptr_array_add (tensors, loom_named_tensor_new (name, tensor));
}

/* All tensors of the weights' file, then of the adapter, but no factors. names: the net's weights that are none. */
static GPtrArray *
read_whole (const Sources *from, const GPtrArray *names, GError **error)
{
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  g_autoptr (GHashTable) whole = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < names->len; i++)
    g_hash_table_add (whole, names->pdata[i]);
  for (guint i = 0; i < loom_tensor_file_count (from->weights); i++)
    {
      const char *name = loom_tensor_file_name (from->weights, i);
      g_autoptr (LoomTensor) tensor = NULL;

      if (adapter_is_factor (name) && !g_hash_table_contains (whole, name))
        continue;
      tensor = loom_tensor_file_tensor (from->weights, i, error);
      if (tensor == NULL)
        return NULL;
      g_ptr_array_add (tensors, loom_named_tensor_new (name, tensor));
    }
  for (guint i = 0; from->adapter != NULL && i < loom_adapter_count (from->adapter); i++)
    {
      const char *name = loom_adapter_name (from->adapter, i);
      g_autoptr (LoomTensor) tensor = NULL;

      if (adapter_is_factor (name) && !g_hash_table_contains (whole, name))
        continue;
      tensor = loom_adapter_tensor (from->adapter, i, error);
      if (tensor == NULL)
        return NULL;
      put (tensors, name, tensor);
    }
  return g_steal_pointer (&tensors);
}

/* A wire to a port that ties weights, to be removed. */
typedef struct
{
  guint64 serial; /* of the node that it ends at */
  const char *port;
} Tie;

static void
cut_ties (LoomGraph *graph, const GArray *ties)
{
  for (guint i = 0; i < ties->len; i++)
    {
      const Tie *tie = &g_array_index (ties, Tie, i);
      LoomElement *node = loom_graph_by_serial (graph, tie->serial), *scope = loom_element_parent (node);
      g_autofree char *end = g_strdup_printf ("%s.%s", loom_element_get (node, "id"), tie->port);

      for (guint k = loom_element_n_children (scope); k-- > 0;)
        {
          const LoomElement *wire = loom_element_child (scope, k);

          if (loom_element_tag (wire) == LOOM_TAG_WIRE && g_strcmp0 (loom_element_get (wire, "to"), end) == 0)
            loom_edit_free (loom_graph_apply (graph, loom_edit_remove (wire)));
        }
    }
}

/* The other readers of a node's own weight, which was `whole`, keep it under their own names. */
static gboolean
untie_readers (const LoomNet *net, guint node, LoomTensor *whole, GPtrArray *tensors, GArray *ties, GError **error)
{
  const int own = loom_net_find_weight (net, node, "weight");

  for (guint i = 0; own >= 0 && i < loom_net_n_nodes (net); i++)
    for (guint k = 0; k < loom_net_node (net, i)->n_inputs; k++)
      {
        const LoomNetNode *reader = loom_net_node (net, i);
        const char *port = (reader->n_inputs > 0 && reader->input_spec[0].flags & LOOM_PORT_VARIADIC) == 0
                               ? reader->input_spec[k].name
                               : NULL;
        g_autofree char *layer = adapter_layer_name (net, i);
        g_autofree char *name = g_strdup_printf ("%s.%s", layer, port != NULL ? port : "");

        if (adapter_find_read (net, i, k) != own)
          continue;
        if (port == NULL || (reader->input_spec[k].flags & LOOM_PORT_WEIGHT) == 0)
          return loom_refuse (error, LOOM_ERROR_DATA,
                              "The factors of “%s” cannot be added to its weight, which “%s” reads too.",
                              loom_net_node (net, node)->path, reader->path);
        g_array_append_val (ties, ((Tie){ reader->serial, port }));
        if (!adapter_is_linear (reader) || !loom_infer_is_set (loom_net_infer (net, i), "lora_rank"))
          put (tensors, name, whole);
      }
  return TRUE;
}

GPtrArray *
loom_adapter_merge (LoomAdapter *self, LoomGraph *graph, const char *weights, GError **error)
{
  g_autoptr (LoomTensorFile) file = NULL;
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (GPtrArray) tensors = NULL, names = g_ptr_array_new ();
  g_autofree Adaptable *can = NULL;
  g_autoptr (GArray) ties = g_array_new (FALSE, FALSE, sizeof (Tie));
  Sources from = { .adapter = self, .path = weights };

  if (self != NULL && !adapter_attach_merged (self, graph, error))
    return NULL;
  net = loom_net_new (graph, NULL, NULL);
  can = adapter_find_layers (net);
  from.weights = file = loom_tensor_file_open (weights, error);
  if (file == NULL)
    return NULL;
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    if (!loom_net_weight (net, i)->is_factor)
      g_ptr_array_add (names, loom_net_weight (net, i)->name);
  g_free (loom_weights_fit_names (file, (const char *const *)names->pdata, names->len));
  tensors = read_whole (&from, names, error);
  if (tensors == NULL)
    return NULL;
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      g_autoptr (GError) local = NULL;
      g_autoptr (LoomTensor) merged
          = adapter_is_linear (loom_net_node (net, i)) ? merge_node (&from, net, i, &local) : NULL;
      g_autofree char *layer = adapter_layer_name (net, i), *name = g_strconcat (layer, ".weight", NULL);

      if (local != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return NULL;
        }
      if (merged == NULL)
        continue;
      if (can[i] == ADAPT_TIED && loom_net_find_weight (net, i, "weight") < 0)
        g_array_append_val (ties, ((Tie){ loom_net_node (net, i)->serial, "weight" }));
      else if (can[i] == ADAPT_TIED)
        {
          g_autoptr (LoomTensor) whole = take (&from, name, error);

          if (whole == NULL || !untie_readers (net, i, whole, tensors, ties, error))
            return NULL;
        }
      put (tensors, name, merged);
    }
  cut_ties (graph, ties);
  loom_adapter_detach (graph);
  return g_steal_pointer (&tensors);
}
