/* A difference in words: what `gradloom diff` prints and Studio lists. */
#include "engine/diff/loom-diff.h"

#include <string.h>

static char *
as_it_is (const char *text)
{
  return g_strdup (text);
}

static char *
shown (const char *text, LoomPrintable printable)
{
  return (printable != NULL ? printable : as_it_is) (text != NULL ? text : "");
}

/* ASCII, as in a patch, so that a terminal's output can be searched; Studio has signs of its own in addition to its
 * colours. */
const char *
loom_difference_sign (LoomDifferenceKind kind)
{
  static const char *const signs[] = { "+", "-", "~", ">" };

  return signs[kind];
}

static void
append_value (GString *s, const char *value, gboolean is_default, LoomPrintable printable)
{
  g_autofree char *text = shown (value, printable);
  gboolean quote = value != NULL && (!*value || strchr (value, ' ') != NULL);

  if (value == NULL)
    g_string_append (s, "(none)");
  else
    g_string_append_printf (s, "%s%s%s%s", quote ? "“" : "", text, quote ? "”" : "", is_default ? " (default)" : "");
}

/* "kernel_size 3 → 5, padding 0 (default) → 2"; of what was added or removed "kernel_size 3, padding 2". */
static void
append_changes (GString *s, const LoomDifference *d, LoomPrintable printable)
{
  gboolean whole = d->kind == LOOM_DIFFERENCE_ADDED || d->kind == LOOM_DIFFERENCE_REMOVED;

  for (guint i = 0; i < d->changes->len; i++)
    {
      const LoomAttributeChange *change = d->changes->pdata[i];
      g_autofree char *attribute = shown (change->attribute, printable);

      g_string_append (s, i > 0 ? ", " : ": ");
      /* An operator in the place of another stands without its attribute's name. */
      if (strcmp (d->what, "node") != 0 || strcmp (attribute, "op") != 0)
        g_string_append_printf (s, "%s ", attribute);
      if (!whole)
        {
          append_value (s, change->before, change->before_is_default, printable);
          g_string_append (s, " → ");
        }
      append_value (s, d->kind == LOOM_DIFFERENCE_REMOVED ? change->before : change->after,
                    !whole && change->after_is_default, printable);
    }
}

static void
append_wire (GString *s, const LoomDifference *d, LoomPrintable printable)
{
  const LoomAttributeChange *change = d->changes->pdata[0];
  g_autofree char *to = shown (d->name, printable), *before = shown (change->before, printable),
                  *after = shown (change->after, printable);

  if (d->kind == LOOM_DIFFERENCE_CHANGED)
    g_string_append_printf (s, "wire into %s: from %s → from %s", to, before, after);
  else
    g_string_append_printf (s, "wire %s → %s", d->kind == LOOM_DIFFERENCE_ADDED ? after : before, to);
}

static gboolean
is_operator_change (const LoomDifference *d)
{
  return d->changes->len == 1 && strcmp (((LoomAttributeChange *)d->changes->pdata[0])->attribute, "op") == 0;
}

char *
loom_difference_to_string (const LoomDifference *d, LoomPrintable printable)
{
  GString *s = g_string_new (NULL);

  if (strcmp (d->what, "wire") == 0)
    append_wire (s, d, printable);
  else
    {
      g_autofree char *name = shown (d->name, printable), *old = shown (d->old_name, printable);
      g_autofree char *type = shown (d->type, printable);

      g_string_append_printf (s, "%s%s%s%s%s%s", d->what, d->old_name != NULL ? " " : "", old,
                              d->old_name != NULL ? " →" : "", d->name != NULL ? " " : "", name);
      if (d->type != NULL && !is_operator_change (d))
        g_string_append_printf (s, " (%s)", type);
      append_changes (s, d, printable);
    }
  return g_string_free (s, FALSE);
}

char *
loom_difference_section (const LoomDifference *d, LoomPrintable printable)
{
  static const char *const train[] = { "train", "group", "schedule", "clip", "parallel", "metric", NULL };
  const char *module = d->scope != NULL ? d->scope : strcmp (d->what, "module") == 0 ? d->name : NULL;
  g_autofree char *name = shown (module, printable);

  if (module != NULL)
    return g_strdup_printf ("module %s", name);
  return g_strdup (g_strv_contains (train, d->what) ? "train" : "graph");
}
