/* Reads which weights are sharded along the mesh's axis `tensor`: from split="…" of nodes, and from the patterns of
 * <parallel>. */
#include "engine/recipe/recipe-private.h"

#include "engine/core/loom-refuse.h"
#include "engine/net/loom-net-since.h"
#include "engine/ops/loom-reserved.h"

#include <string.h>

void
recipe_split_free (gpointer data)
{
  LoomTrainSplit *self = data;

  g_free (self->split.weight);
  g_free (self);
}

/* "PATTERN=WAY" */
typedef struct
{
  char *pattern, *how;
  gboolean fits, splits; /* matches a node; matches a node that can be split so */
} Rule;

static void
rule_free (gpointer data)
{
  Rule *rule = data;

  g_free (rule->pattern);
  g_free (rule->how);
  g_free (rule);
}

static GPtrArray *
read_rules (RecipeReading *r, const LoomElement *e)
{
  const char *text = e != NULL ? loom_element_get (e, "split") : NULL;
  g_auto (GStrv) words = g_strsplit (text != NULL ? text : "", ",", -1);
  GPtrArray *rules = g_ptr_array_new_with_free_func (rule_free);

  for (guint i = 0; words[i] != NULL && text != NULL && text[0] != '\0'; i++)
    {
      char *equals = strchr (words[i], '='), *how = equals != NULL ? g_strstrip (equals + 1) : NULL;
      Rule *rule;

      if (equals != NULL)
        *equals = '\0';
      g_strstrip (words[i]);
      if (how == NULL || words[i][0] == '\0' || !g_strv_contains (loom_reserved_find ("split")->spec.choices, how))
        {
          recipe_complain (r, e, LOOM_ERROR_SCHEMA, "split",
                           "split must be a list of PATTERN=WAY, separated by commas, with WAY one of column, row, "
                           "heads and vocabulary, but contains “%s%s%s”.",
                           words[i], how != NULL ? "=" : "", how != NULL ? how : "");
          continue;
        }
      rule = g_new0 (Rule, 1);
      rule->pattern = g_strdup (words[i]);
      rule->how = g_strdup (how);
      g_ptr_array_add (rules, rule);
    }
  return rules;
}

static const LoomWeightSplit *
find_way (const LoomNetWeight *weight, const char *how)
{
  for (const LoomWeightSplit *s = weight->splits; s != NULL && s->how != NULL; s++)
    if (g_str_equal (s->how, how))
      return s;
  return NULL;
}

/* The node's own split, else that of the first pattern that matches and that its weights support. */
static const LoomWeightSplit *
way_of (const LoomNetNode *node, const LoomNetWeight *weight, GPtrArray *rules)
{
  const char *own = loom_element_get (node->element, "split");

  if (own != NULL && own[0] != '\0')
    return find_way (weight, own);
  for (guint i = 0; i < rules->len; i++)
    {
      Rule *rule = rules->pdata[i];

      if (!loom_train_pattern_matches (rule->pattern, node->path))
        continue;
      rule->fits = TRUE;
      if (find_way (weight, rule->how) == NULL)
        continue;
      rule->splits = TRUE;
      return find_way (weight, rule->how);
    }
  return NULL;
}

static void
add_split (LoomTrainSpec *spec, const LoomNetNode *node, const LoomNetWeight *weight, const LoomWeightSplit *way)
{
  LoomTrainSplit *self = g_new0 (LoomTrainSplit, 1);
  gint64 size = weight->shape.dim[way->axis].coef, blocks = MAX (way->blocks, 1);

  self->split
      = (LoomSplitWeight){ .weight = g_strdup (weight->name), .axis = way->axis, .size = size, .blocks = blocks };
  self->node = node->path;
  self->how = way->how;
  self->what = way->what;
  self->units = way->count != NULL ? weight->split_count : size / blocks;
  g_ptr_array_add (spec->parallel.splits, self);
}

static void
check_rules (RecipeReading *r, const LoomElement *e, const GPtrArray *rules)
{
  for (guint i = 0; i < rules->len && !r->partial; i++)
    {
      const Rule *rule = rules->pdata[i];

      if (!rule->fits)
        recipe_complain (r, e, LOOM_ERROR_SCHEMA, "split",
                         "no node with weights that can be split has a path that matches “%s”.", rule->pattern);
      else if (!rule->splits)
        recipe_complain (r, e, LOOM_ERROR_SCHEMA, "split", "none of the nodes that match “%s” can be split by “%s”.",
                         rule->pattern, rule->how);
    }
}

/* The reason why n ranks cannot shard these weights; NULL: they can. */
static char *
cannot_split (const LoomTrainSpec *spec, gint64 ranks)
{
  if (ranks < 2)
    return NULL;
  if (spec->parallel.server)
    return g_strdup ("with strategy=\"server\" each rank needs all weights. Remove tensor, or use another strategy.");
  if (spec->parallel.splits->len == 0)
    return g_strdup_printf ("tensor divides weights among %" G_GINT64_FORMAT " ranks, but no node has a split. Set "
                            "split on nodes, such as split=\"column\", or patterns of nodes in split of <parallel>.",
                            ranks);
  if (spec->optimizer != NULL && spec->optimizer->emit == NULL && !spec->optimizer->takes_no_gradients)
    return g_strdup_printf ("“%s” needs all weights on each rank, but tensor divides some of them. Use another "
                            "optimizer, or remove tensor.",
                            spec->optimizer->name);
  for (guint i = 0; i < spec->parallel.splits->len; i++)
    {
      const LoomTrainSplit *split = spec->parallel.splits->pdata[i];

      if (split->units % ranks != 0)
        return g_strdup_printf ("“%s” is split by %s, but %" G_GINT64_FORMAT
                                " ranks cannot divide its %" G_GINT64_FORMAT " %s equally.",
                                split->node, split->how, ranks, split->units, split->what);
    }
  return NULL;
}

void
recipe_read_splits (RecipeReading *r, LoomTrainSpec *spec)
{
  const LoomElement *e = loom_element_find (r->element, LOOM_TAG_PARALLEL);
  g_autoptr (GPtrArray) rules = read_rules (r, e);
  g_autofree char *why = NULL;

  for (guint i = 0; (rules->len > 0 || loom_net_may_split (r->net)) && i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      const LoomNetNode *node = loom_net_node (r->net, weight->node);
      const LoomWeightSplit *way = weight->splits != NULL ? way_of (node, weight, rules) : NULL;

      if (way != NULL)
        add_split (spec, node, weight, way);
    }
  if (e == NULL)
    return;
  check_rules (r, e, rules);
  why = r->partial ? NULL : cannot_split (spec, spec->parallel.tensor);
  if (why != NULL)
    recipe_complain (r, e, LOOM_ERROR_SHAPE, "tensor", "%s", why);
}

/* The error if n ranks do not fill the mesh of batch shards, stages and shards of weights. */
static void
refuse_ranks (const LoomParallel *parallel, int ranks, gint64 data, gint64 tensor, GError **error)
{
  const struct
  {
    gint64 n;
    const char *what;
  } factor[] = { { data, "parts of a batch" }, { parallel->pipeline, "stages" }, { tensor, "parts of weights" } };
  g_autoptr (GString) factors = g_string_new (NULL);
  gint64 all = data * MAX (parallel->pipeline, 1) * tensor, least = parallel->data > 0 ? all : all / data;

  for (guint i = parallel->data == 0; i < G_N_ELEMENTS (factor); i++)
    if (factor[i].n > 1)
      g_string_append_printf (factors, "%s%" G_GINT64_FORMAT " %s", factors->len > 0 ? " × " : "", factor[i].n,
                              factor[i].what);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
               "<parallel> needs %s%" G_GINT64_FORMAT
               " ranks (%s), but the run has %d. Start the run with --ranks %" G_GINT64_FORMAT
               ", or change <parallel>.",
               parallel->data > 0 ? "" : "a multiple of ", least, factors->str, ranks, all);
}

gboolean
loom_train_spec_mesh (const LoomTrainSpec *spec, int ranks, int size[LOOM_MESH_AXES], GError **error)
{
  const LoomParallel *parallel = &spec->parallel;
  gint64 data = parallel->data, tensor = parallel->tensor;
  int stages = MAX (parallel->pipeline, 1);
  g_autofree char *why = NULL;

  if (parallel->server)
    {
      size[LOOM_MESH_DATA] = ranks;
      size[LOOM_MESH_PIPELINE] = size[LOOM_MESH_TENSOR] = 1;
      if (data == 0 || data + 1 == ranks)
        return TRUE;
      return loom_refuse (error, LOOM_ERROR_USAGE,
                          "<parallel> needs %" G_GINT64_FORMAT
                          " ranks that train and one that serves, but the run has %d "
                          "ranks. Start the run with --ranks %" G_GINT64_FORMAT ", or remove data=\"…\".",
                          data, ranks, data + 1);
    }
  if (tensor == 0)
    tensor = data > 0 && data * stages < ranks && parallel->splits->len > 0 ? ranks / (data * stages) : 1;
  if (data == 0)
    data = MAX (ranks / (tensor * stages), 1);
  if (data * stages * tensor != ranks)
    refuse_ranks (parallel, ranks, data, tensor, error);
  else if ((why = cannot_split (spec, tensor)) != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "%s", why);
  else
    {
      size[LOOM_MESH_DATA] = (int)data;
      size[LOOM_MESH_PIPELINE] = stages;
      size[LOOM_MESH_TENSOR] = (int)tensor;
      return TRUE;
    }
  return FALSE;
}
