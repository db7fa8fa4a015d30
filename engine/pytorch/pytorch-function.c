/* Writes a custom_function, which has its own backward formulas, as a torch.autograd.Function. */
#include "engine/pytorch/pytorch-private.h"

#include <string.h>

static gboolean
has_input (const LoomNetNode *node, const char *name)
{
  for (guint i = 0; node->input_spec[i].name != NULL; i++)
    if (g_str_equal (node->input_spec[i].name, name))
      return TRUE;
  return FALSE;
}

/* Writes the statements of a formula as lines; names: name → expression, to which those of the statements are added.
 * Returns the result, or NULL after a fault. */
static char *
write_statements (PyScope *s, const LoomNetLocal *local, const char *text, GHashTable *names, GHashTable *used,
                  GPtrArray *lines, guint indent)
{
  g_auto (GStrv) statements = g_strsplit (text, ";", -1);
  char *result = NULL;

  for (guint i = 0; statements[i] != NULL; i++)
    {
      char *equal = strchr (statements[i], '=');
      g_autofree char *name
          = equal != NULL ? g_strstrip (g_strndup (statements[i], (gsize)(equal - statements[i]))) : g_strdup ("");
      g_autofree char *why = NULL;
      g_autofree char *formula = equal != NULL ? loom_pytorch_formula (equal + 1, names, &why) : NULL;

      if (*g_strstrip (statements[i]) == 0)
        continue;
      if (formula == NULL || !loom_id_is_valid (name))
        {
          loom_pytorch_refuse (s->w, s->instance, local, "its formula cannot be written: %s",
                               why != NULL ? why : "a statement has no name");
          g_free (result);
          return NULL;
        }
      g_free (result);
      result = loom_pytorch_identifier (used, name);
      loom_pytorch_add_line (lines, indent, loom_element_serial (local->element),
                             g_strdup_printf ("%s = %s", result, formula));
      g_hash_table_insert (names, g_strdup (name), g_strdup (result));
    }
  return result;
}

void
loom_pytorch_write_function (PyScope *s, const LoomNetLocal *local, const LoomNetNode *node, const LoomInfer *infer,
                             const char *class_name)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GHashTable) back = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GHashTable) used = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) targets = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) list = g_string_new (NULL), kept = g_string_new (NULL), gradients = g_string_new (NULL);
  g_auto (GStrv) statements = g_strsplit (loom_infer_string (infer, "backward"), ";", -1);
  g_autofree char *result = NULL, *last = NULL;
  guint64 serial = loom_element_serial (local->element);
  GPtrArray *lines = s->w->functions;
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_add (used, g_strdup ("ctx"));
  g_hash_table_add (used, g_strdup ("grad"));
  for (guint i = 0; node->input_spec[i].name != NULL; i++)
    {
      char *name = loom_pytorch_identifier (used, node->input_spec[i].name);
      g_ptr_array_add (inputs, name);
      g_string_append_printf (list, ", %s", name);
      g_hash_table_insert (names, g_strdup (node->input_spec[i].name), g_strdup (name));
    }
  loom_pytorch_add_line (lines, 0, serial, g_strdup_printf ("class %s(torch.autograd.Function):", class_name));
  loom_pytorch_add_line (lines, 1, serial, g_strdup ("@staticmethod"));
  loom_pytorch_add_line (lines, 1, serial, g_strdup_printf ("def forward(ctx%s):", list->str));
  result = write_statements (s, local, loom_infer_string (infer, "forward"), names, used, lines, 2);
  if (result == NULL)
    return;
  g_hash_table_iter_init (&iter, names);
  while (g_hash_table_iter_next (&iter, &key, &value))
    g_hash_table_insert (back, g_strdup (key), g_strdup (value));
  /* The names of the forward pass, in the order of the alphabet: a file is always the same. */
  g_autoptr (GList) sorted = g_list_sort (g_hash_table_get_values (names), (GCompareFunc)strcmp);
  for (GList *l = sorted; l != NULL; l = l->next)
    g_string_append_printf (kept, "%s%s", l == sorted ? "" : ", ", (char *)l->data);
  loom_pytorch_add_line (lines, 2, serial, g_strdup_printf ("ctx.save_for_backward(%s)", kept->str));
  loom_pytorch_add_line (lines, 2, serial, g_strdup_printf ("return %s", result));
  loom_pytorch_add_line (lines, 0, serial, g_strdup (""));
  loom_pytorch_add_line (lines, 1, serial, g_strdup ("@staticmethod"));
  loom_pytorch_add_line (lines, 1, serial, g_strdup ("def backward(ctx, grad):"));
  loom_pytorch_add_line (lines, 2, serial,
                         g_strdup_printf ("%s%s = ctx.saved_tensors", kept->str, sorted->next == NULL ? "," : ""));
  g_hash_table_insert (back, g_strdup ("grad"), g_strdup ("grad"));
  g_hash_table_iter_init (&iter, names);
  while (g_hash_table_iter_next (&iter, &key, &value))
    if (strcmp (value, result) == 0)
      g_hash_table_insert (back, g_strdup_printf ("grad_%s", (char *)key), g_strdup ("grad"));
  for (guint i = 0; statements[i] != NULL; i++)
    {
      char *equal = strchr (statements[i], '=');
      g_autofree char *name
          = equal != NULL ? g_strstrip (g_strndup (statements[i], (gsize)(equal - statements[i]))) : NULL;
      g_autofree char *why = NULL, *formula = NULL, *wanted = NULL;
      char *variable;

      if (name == NULL)
        continue;
      formula = loom_pytorch_formula (equal + 1, back, &why);
      if (formula == NULL || !loom_id_is_valid (name))
        {
          loom_pytorch_refuse (s->w, s->instance, local, "its backward formula cannot be written: %s",
                               why != NULL ? why : "a statement has no name");
          return;
        }
      wanted = has_input (node, name) ? g_strdup_printf ("d_%s", name) : g_strdup (name);
      variable = loom_pytorch_identifier (used, wanted);
      loom_pytorch_add_line (lines, 2, serial, g_strdup_printf ("%s = %s", variable, formula));
      /* The name of an input on the right is still the input. */
      g_hash_table_insert (has_input (node, name) ? targets : back, g_strdup (name), variable);
    }
  for (guint i = 0; i < inputs->len; i++)
    {
      const char *variable = g_hash_table_lookup (targets, node->input_spec[i].name);
      g_string_append_printf (gradients, "%s(%s + torch.zeros_like(grad)).sum_to_size(%s.shape)", i > 0 ? ", " : "",
                              variable != NULL ? variable : "0", (char *)inputs->pdata[i]);
    }
  loom_pytorch_add_line (lines, 2, serial, g_strdup_printf ("return %s", gradients->str));
  loom_pytorch_add_line (lines, 0, 0, g_strdup (""));
  loom_pytorch_add_line (lines, 0, 0, g_strdup (""));
}
