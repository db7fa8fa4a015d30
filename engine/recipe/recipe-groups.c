/* Reads <group>: parameters selected by a pattern over their paths, with their own learning rate and weight decay, or
 * frozen. */
#include "engine/recipe/recipe-private.h"

#include <string.h>

void
recipe_group_free (gpointer data)
{
  LoomTrainGroup *group = data;

  g_free (group->match);
  g_free (group->prefix);
  g_free (group->hyper);
  g_free (group);
}

/* `*` matches characters without a point, `**` any characters, `?` one character except a point. Everything below a
 * match matches as well, so a node's or a module's path is enough. reached[i]: the pattern read so far can match the
 * first i characters of the path; the work is the product of both lengths for any pattern. */
gboolean
loom_train_pattern_matches (const char *pattern, const char *path)
{
  gsize n = strlen (path);
  g_autofree gboolean *reached = g_new0 (gboolean, n + 2);

  reached[0] = TRUE;
  for (const char *c = pattern; *c != '\0'; c++)
    {
      if (*c == '*')
        {
          gboolean deep = c[1] == '*';

          for (gsize i = 0; i < n; i++)
            reached[i + 1] = reached[i + 1] || (reached[i] && (deep || path[i] != '.'));
          while (c[1] == '*')
            c++;
          continue;
        }
      for (gsize i = n; i > 0; i--)
        reached[i] = reached[i - 1] && (*c == '?' ? path[i - 1] != '.' : path[i - 1] == *c);
      reached[0] = FALSE;
    }
  for (gsize i = 0; i <= n; i++)
    {
      if (reached[i] && (i == n || path[i] == '.'))
        return TRUE;
    }
  return FALSE;
}

guint
loom_train_spec_group_of (const LoomTrainSpec *spec, const char *path)
{
  for (guint i = 0; i < spec->groups->len; i++)
    {
      if (loom_train_pattern_matches (((const LoomTrainGroup *)spec->groups->pdata[i])->match, path))
        return i + 1;
    }
  return 0;
}

gboolean
loom_train_spec_is_factor (const LoomTrainSpec *spec, const char *path)
{
  return spec->factors != NULL && g_hash_table_contains (spec->factors, path);
}

gboolean
loom_train_spec_freezes (const LoomTrainSpec *spec, const char *path)
{
  const guint group = loom_train_spec_group_of (spec, path);

  if (group > 0)
    return ((const LoomTrainGroup *)spec->groups->pdata[group - 1])->frozen;
  return spec->factors != NULL && !loom_train_spec_is_factor (spec, path);
}

/* A pattern that matches no weight is a fault, because a misspelt one would train weights that should be frozen. */
static void
check_match (RecipeReading *r, const LoomElement *e, const char *match)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *near;
  LoomFault *fault;

  if (r->partial)
    return;
  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      char *name;

      if (weight->is_buffer)
        continue;
      if (loom_train_pattern_matches (match, weight->name))
        return;
      /* The pattern of the node, and that of the weight. */
      name = g_strdup (weight->name);
      if (strrchr (name, '.') != NULL)
        *strrchr (name, '.') = '\0';
      g_ptr_array_add (names, name);
      g_ptr_array_add (names, g_strdup (weight->name));
    }
  g_ptr_array_add (names, NULL);
  near = loom_nearest (match, (const char *const *)names->pdata);
  fault = recipe_complain (r, e, LOOM_ERROR_SCHEMA, "match", "no weight's path matches “%s”.", match);
  if (near != NULL)
    loom_fault_set_fix (fault, "match", near, "Did you mean “%s”?", near);
}

static void
read_own (RecipeReading *r, const LoomElement *e, const LoomTrainSpec *spec, LoomTrainGroup *group, const char *name)
{
  int k = loom_optimizer_find (spec->optimizer, name);
  const LoomHyper *hyper;

  if (loom_element_get (e, name) == NULL)
    return;
  if (k < 0 || spec->optimizer->emit == NULL)
    {
      recipe_complain (r, e, LOOM_ERROR_SCHEMA, name, "the optimiser “%s” has no %s for groups; remove it.",
                       spec->optimizer->name, name);
      return;
    }
  hyper = &spec->optimizer->hyper[k];
  group->hyper[k] = hyper->is_bool ? recipe_flag_or (r, e, name, FALSE) : recipe_hyper (r, e, hyper);
  if (strcmp (name, "lr") == 0)
    group->hyper[k] *= spec->lr_scale;
  group->own |= (guint64)1 << k;
}

void
recipe_read_group (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec)
{
  g_autoptr (GPtrArray) known = recipe_names (LOOM_TAG_GROUP, 0);
  const char *match = loom_element_get (e, "match");
  LoomTrainGroup *group;
  guint n = 0;

  recipe_check_names (r, e, known, NULL);
  if (match == NULL || spec->optimizer == NULL)
    return; /* already reported */
  while (spec->optimizer->hyper[n].name != NULL)
    n++;
  group = g_new0 (LoomTrainGroup, 1);
  g_ptr_array_add (spec->groups, group);
  group->match = g_strdup (match);
  group->prefix = g_strdup_printf ("group%u.", spec->groups->len);
  group->hyper = g_memdup2 (spec->hyper, (n + 1) * sizeof *spec->hyper);
  group->frozen = recipe_flag (r, e, "frozen");
  read_own (r, e, spec, group, "lr");
  read_own (r, e, spec, group, "weight_decay");
  read_own (r, e, spec, group, "adamw");
  check_match (r, e, match);
}
