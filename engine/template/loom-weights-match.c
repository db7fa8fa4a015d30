#include "engine/template/loom-weights-match.h"

#include "engine/interop/loom-weights.h"

static void
match_weight (LoomWeightsMatch *self, LoomTensorFile *file, const LoomNetWeight *weight)
{
  const LoomType want = { .dtype = weight->dtype, .shape = weight->shape };
  g_autofree char *here = NULL, *there = NULL;

  switch (loom_weight_fit (file, weight->name, &want, NULL, &here, &there))
    {
    case LOOM_WEIGHT_FITS:
      self->n_fit++;
      self->n_numbers += loom_dim_value (loom_shape_count (&weight->shape), NULL);
      return;
    case LOOM_WEIGHT_DIFFERS:
      g_ptr_array_add (self->differs, loom_weight_mismatch (weight->name, here, there));
      return;
    case LOOM_WEIGHT_MISSING:
      g_ptr_array_add (self->missing, loom_weight_mismatch (weight->name, here, NULL));
    }
}

LoomWeightsMatch *
loom_weights_match_new (LoomTensorFile *file, const LoomNet *net)
{
  LoomWeightsMatch *self = g_new0 (LoomWeightsMatch, 1);
  g_autofree gboolean *used = g_new0 (gboolean, loom_tensor_file_count (file) + 1);

  self->differs = g_ptr_array_new_with_free_func (g_free);
  self->missing = g_ptr_array_new_with_free_func (g_free);
  self->unused = g_ptr_array_new_with_free_func (g_free);
  g_autofree const char **names = g_new (const char *, loom_net_n_weights (net) + 1);
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    names[i] = loom_net_weight (net, i)->name;
  g_free (loom_weights_fit_names (file, names, loom_net_n_weights (net)));
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      match_weight (self, file, loom_net_weight (net, i));
      int at = loom_tensor_file_find (file, loom_net_weight (net, i)->name);
      if (at >= 0)
        used[at] = TRUE;
    }
  for (guint i = 0; i < loom_tensor_file_count (file); i++)
    if (!used[i])
      g_ptr_array_add (self->unused, g_strdup (loom_tensor_file_name (file, i)));
  return self;
}

void
loom_weights_match_free (LoomWeightsMatch *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->differs, g_ptr_array_unref);
  g_clear_pointer (&self->missing, g_ptr_array_unref);
  g_clear_pointer (&self->unused, g_ptr_array_unref);
  g_free (self);
}
