/* --strategy: the words that it takes, and what each of them writes into <parallel>. */
#include "engine/recipe/recipe-private.h"

static const char *const words[] = { RECIPE_STRATEGIES, "tensor", "pipeline", "gpipe", "1f1b", NULL };

const char *const *
loom_strategies (void)
{
  return words;
}

const char *
loom_strategies_text (void)
{
  static gsize text;

  if (g_once_init_enter (&text))
    {
      const guint last = G_N_ELEMENTS (words) - 2;
      g_autoptr (GString) s = g_string_new (words[0]);

      for (guint i = 1; i <= last; i++)
        g_string_append_printf (s, "%s%s", i < last ? ", " : " or ", words[i]);
      g_once_init_leave (&text, (gsize)g_intern_string (s->str));
    }
  return (const char *)text;
}

void
loom_strategy_apply (LoomGraph *graph, LoomElement *train, const char *word, int ranks, LoomStrategySet set,
                     gpointer data)
{
  const gboolean has_kind = g_str_equal (word, "gpipe") || g_str_equal (word, "1f1b");
  const gboolean cuts = has_kind || g_str_equal (word, "pipeline"), splits = g_str_equal (word, "tensor");
  g_autofree char *number = g_strdup_printf ("%d", ranks);
  const struct
  {
    const char *name, *value;
    gboolean counts;
  } attribute[] = {
    { "strategy", cuts || splits ? NULL : word, TRUE },   { "data", NULL, TRUE },
    { "pipeline", cuts ? number : NULL, TRUE },           { "schedule", word, has_kind },
    { "tensor", splits ? number : NULL, cuts || splits }, { "staleness", NULL, !g_str_equal (word, "server") },
  };
  LoomElement *parallel = loom_element_find (train, LOOM_TAG_PARALLEL);

  if (parallel == NULL)
    {
      loom_edit_free (loom_graph_apply (graph, loom_edit_insert (train, loom_element_n_children (train),
                                                                 loom_element_new (LOOM_TAG_PARALLEL, NULL))));
      parallel = loom_element_find (train, LOOM_TAG_PARALLEL);
    }
  for (guint i = 0; i < G_N_ELEMENTS (attribute); i++)
    if (attribute[i].counts && (attribute[i].value != NULL || loom_element_get (parallel, attribute[i].name) != NULL))
      {
        if (set != NULL)
          set (parallel, attribute[i].name, attribute[i].value, data);
        loom_edit_free (loom_graph_apply (graph, loom_edit_set (parallel, attribute[i].name, attribute[i].value)));
      }
}
