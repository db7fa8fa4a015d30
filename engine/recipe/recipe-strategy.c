/* --strategy: its words, and the attributes of <parallel> that each sets. */
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

static gint64
number_of (const LoomElement *parallel, const char *name)
{
  const char *text = loom_element_get (parallel, name);

  return text != NULL ? CLAMP (g_ascii_strtoll (text, NULL, 10), 0, G_MAXINT16) : 0;
}

/* TRUE if `ranks` ranks are two or more replicas of a pipeline or of sharded weights: the strategy then shards among
 * the replicas. Otherwise (only one replica, or a run that is resumed with another number of ranks) the batch is
 * divided among all ranks that do not shard weights. */
static gboolean
keeps_mesh (const LoomElement *parallel, const char *word, int ranks)
{
  const gint64 data = number_of (parallel, "data"), stages = MAX (number_of (parallel, "pipeline"), 1);
  const gint64 tensor = MAX (number_of (parallel, "tensor"), 1);

  /* The parameter server is an additional rank; the workers have the whole net. */
  if (g_str_equal (word, "server"))
    return stages == 1 && (data == 0 || data + 1 == ranks);
  if (data > 1)
    return number_of (parallel, "tensor") > 0 ? data * stages * tensor == ranks : ranks % (data * stages) == 0;
  return data == 0 && ranks % (stages * tensor) == 0 && ranks >= 2 * stages * tensor;
}

void
loom_strategy_apply (LoomGraph *graph, LoomElement *train, const char *word, int ranks, LoomStrategySet set,
                     gpointer data)
{
  const gboolean has_kind = g_str_equal (word, "gpipe") || g_str_equal (word, "1f1b");
  const gboolean cuts = has_kind || g_str_equal (word, "pipeline"), splits = g_str_equal (word, "tensor");
  g_autofree char *number = g_strdup_printf ("%d", ranks);
  LoomElement *parallel = loom_element_find (train, LOOM_TAG_PARALLEL);

  if (parallel == NULL)
    {
      loom_edit_free (loom_graph_apply (graph, loom_edit_insert (train, loom_element_n_children (train),
                                                                 loom_element_new (LOOM_TAG_PARALLEL, NULL))));
      parallel = loom_element_find (train, LOOM_TAG_PARALLEL);
    }
  const gboolean keeps = !cuts && !splits && keeps_mesh (parallel, word, ranks);
  const struct
  {
    const char *name, *value;
    gboolean counts;
  } attribute[] = {
    { "strategy", cuts || splits ? NULL : word, TRUE },   { "data", NULL, !keeps },
    { "pipeline", cuts ? number : NULL, !keeps },         { "schedule", word, has_kind },
    { "tensor", splits ? number : NULL, cuts || splits }, { "staleness", NULL, !g_str_equal (word, "server") },
  };

  for (guint i = 0; i < G_N_ELEMENTS (attribute); i++)
    if (attribute[i].counts && (attribute[i].value != NULL || loom_element_get (parallel, attribute[i].name) != NULL))
      {
        if (set != NULL)
          set (parallel, attribute[i].name, attribute[i].value, data);
        loom_edit_free (loom_graph_apply (graph, loom_edit_set (parallel, attribute[i].name, attribute[i].value)));
      }
}
