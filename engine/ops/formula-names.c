/* Resolves the names of a formula while it is parsed, and finds which of them are ports of a node.
 *
 * Free names are found without parsing, so that a node keeps its ports while the user is still typing a word. */
#include "engine/ops/formula-private.h"

#include "engine/graph/loom-expr.h"

#include <string.h>

void
formula_fault_clear (FormulaFault *fault)
{
  g_clear_pointer (&fault->message, g_free);
  g_clear_pointer (&fault->fix, g_free);
  g_clear_pointer (&fault->text, g_free);
}

void
formula_scope_init (FormulaScope *scope)
{
  scope->names = g_ptr_array_new_with_free_func (g_free);
  scope->registers = g_array_new (FALSE, FALSE, sizeof (guint8));
}

void
formula_scope_clear (FormulaScope *scope)
{
  g_clear_pointer (&scope->names, g_ptr_array_unref);
  g_clear_pointer (&scope->registers, g_array_unref);
}

void
formula_scope_add (FormulaScope *scope, const char *name, guint8 reg)
{
  g_ptr_array_add (scope->names, g_strdup (name));
  g_array_append_val (scope->registers, reg);
}

/* The latest definition of a name counts: a statement may define a name again. */
int
formula_scope_find (const FormulaScope *scope, const char *name)
{
  for (guint i = scope->names->len; i-- > 0;)
    if (strcmp (scope->names->pdata[i], name) == 0)
      return g_array_index (scope->registers, guint8, i);
  return -1;
}

/* ---- ports ------------------------------------------------------------ */

static gboolean
has_name (const GPtrArray *names, const char *name)
{
  for (guint i = 0; i < names->len; i++)
    if (strcmp (names->pdata[i], name) == 0)
      return TRUE;
  return FALSE;
}

/* The name that a statement defines, or NULL; *s then points after the "=". */
static char *
take_target (const char **s)
{
  const char *at = *s;
  gsize n;
  char *name;

  while (g_ascii_isspace (*at))
    at++;
  n = formula_name_length (at);
  name = g_strndup (at, n);
  at += n;
  while (g_ascii_isspace (*at))
    at++;
  if (n > 0 && at[0] == '=' && at[1] != '=')
    {
      *s = at + 1;
      return name;
    }
  g_free (name);
  return NULL;
}

GPtrArray *
formula_free_names (const char *text)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) given = g_ptr_array_new_with_free_func (g_free);
  const char *s = text;
  char *target = take_target (&s);

  for (; *s != 0 && names->len < LOOM_FORMULA_MAX_IN && s - text <= MAX_LENGTH;)
    {
      gboolean is_int;
      gsize n = loom_expr_number_length (s, &is_int);
      const char *after;
      g_autofree char *name = NULL;

      if (*s == ';')
        {
          s++;
          if (target != NULL)
            g_ptr_array_add (given, g_steal_pointer (&target));
          target = take_target (&s);
          continue;
        }
      if (n > 0)
        {
          s += n;
          continue;
        }
      n = formula_name_length (s);
      if (n == 0)
        {
          s++;
          continue;
        }
      name = g_strndup (s, n);
      after = s += n;
      while (g_ascii_isspace (*after))
        after++;
      if (*after != '(' && n <= MAX_NAME && !formula_is_keyword (name) && !formula_constant (name, NULL)
          && !has_name (names, name) && !has_name (given, name))
        g_ptr_array_add (names, g_steal_pointer (&name));
    }
  g_free (target);
  return names;
}

/* Lists of ports are never freed, because a net, Studio and events point to their names. There is one list for each
 * different set of names, however often a formula changes. */
const LoomPortSpec *
formula_ports (const char *text)
{
  static GHashTable *known;
  static GMutex mutex;
  g_autoptr (GPtrArray) names = formula_free_names (text);
  g_autoptr (GString) key = g_string_new (NULL);
  LoomPortSpec *ports;

  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (key, "%s ", (char *)names->pdata[i]);
  g_mutex_lock (&mutex);
  if (known == NULL)
    known = g_hash_table_new (g_str_hash, g_str_equal);
  ports = g_hash_table_lookup (known, key->str);
  if (ports == NULL)
    {
      ports = g_new0 (LoomPortSpec, names->len + 1);
      for (guint i = 0; i < names->len; i++)
        {
          ports[i].name = g_intern_string (names->pdata[i]);
          ports[i].doc = "The value of a name in the formula.";
        }
      g_hash_table_insert (known, g_strdup (key->str), ports);
    }
  g_mutex_unlock (&mutex);
  return ports;
}
