/* The option --adapter; see the header. */
#include "app/shared/adapter-option.h"

gboolean
command_merge_adapter (LoomGraph *graph, const char *path, const char *weights, gboolean all, GPtrArray **values,
                       GError **error)
{
  g_autoptr (LoomAdapter) adapter = NULL;

  *values = NULL;
  if (path == NULL && !(all && loom_adapter_is_in (graph)))
    return TRUE;
  if (path != NULL && weights == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "--adapter adds to trained weights, but none are named. Name them with --weights.");
      return FALSE;
    }
  adapter = path != NULL ? loom_adapter_open (path, error) : NULL;
  if (path != NULL && adapter == NULL)
    return FALSE;
  if (weights == NULL)
    {
      loom_adapter_detach (graph);
      return TRUE;
    }
  *values = loom_adapter_merge (adapter, graph, weights, error);
  return *values != NULL;
}

static const LoomTensor *
find (const GPtrArray *values, const char *name)
{
  for (guint i = 0; i < values->len; i++)
    {
      const LoomNamedTensor *value = values->pdata[i];

      if (g_str_equal (value->name, name))
        return value->tensor;
    }
  return NULL;
}

gboolean
command_set_values (LoomState *state, const GPtrArray *values, GError **error)
{
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      LoomSlotKind kind;
      const LoomTensor *value;

      loom_state_slot (state, i, &name, &kind, NULL);
      if (kind != LOOM_SLOT_PARAMETER && kind != LOOM_SLOT_BUFFER)
        continue;
      value = find (values, name);
      if (value == NULL)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The weights have no “%s”.", name);
          return FALSE;
        }
      if (!loom_state_set (state, name, value, error))
        return FALSE;
    }
  return TRUE;
}
