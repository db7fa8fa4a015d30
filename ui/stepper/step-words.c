/* Describes the chips and breakpoints of a card. */
#include "ui/stepper/step-words.h"

#include <string.h>

static void
add (GString *all, const char *before, char *words)
{
  if (words != NULL)
    g_string_append_printf (all, "%s%s%s%s", all->len > 0 ? "; " : "", before, *before != '\0' ? " " : "", words);
  g_free (words);
}

char *
step_words_of (const StudioItem *item, GHashTable *chips, StudioBreakpoints *breakpoints)
{
  g_autoptr (GString) all = g_string_new (NULL);
  const gsize length = strlen (item->path);

  for (guint o = 0; o < item->n_outputs; o++)
    add (all, item->n_outputs > 1 ? item->output[o].name : "",
         step_chip_words (step_chips_find (chips, &item->output[o].source)));
  for (guint i = 0; i < studio_breakpoints_n (breakpoints); i++)
    {
      const StudioBreakpoint *b = studio_breakpoints_get (breakpoints, i);

      if (g_str_equal (b->node, item->path))
        add (all, "", studio_breakpoint_words (b));
      else if (g_str_has_prefix (b->node, item->path) && b->node[length] == '.')
        add (all, b->node + length + 1, studio_breakpoint_words (b));
    }
  return all->len > 0 ? g_string_free (g_steal_pointer (&all), FALSE) : NULL;
}
