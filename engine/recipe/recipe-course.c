/* Reads initial weights, weight averaging (EMA) and early stopping. */
#include "engine/recipe/recipe-private.h"

#include <inttypes.h>
#include <string.h>

/* Optimisers that are not part of the program compute their step themselves. */
static void
check_driven (RecipeReading *r, const LoomTrainSpec *spec)
{
  if (spec->optimizer == NULL)
    return;
  if (spec->accumulate > 1 && (spec->optimizer->emit == NULL || spec->optimizer->takes_no_gradients))
    loom_fault_set_fix (recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "accumulate",
                                         "the optimiser “%s” takes a step from each batch and cannot accumulate "
                                         "gradients. Remove accumulate, or make batch_size larger.",
                                         spec->optimizer->name),
                        "accumulate", "1", "Set it to 1.");
  if (spec->ema > 0 && spec->optimizer->emit == NULL)
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "ema",
                     "an average over the steps of “%s” has no use, because each step already minimises the loss of "
                     "its batch. Remove ema.",
                     spec->optimizer->name);
}

/* Refuses features that a parameter server does not support. */
static void
check_server (RecipeReading *r, const LoomTrainSpec *spec)
{
  gboolean drives = spec->optimizer != NULL && (spec->optimizer->emit == NULL || spec->optimizer->takes_no_gradients);
  const char *what = !spec->parallel.server           ? NULL
                     : drives                         ? "optimizer"
                     : spec->accumulate > 1           ? "accumulate"
                     : spec->ema > 0                  ? "ema"
                     : spec->precision == LOOM_F16    ? "precision"
                     : spec->parallel.pipeline > 1    ? "pipeline"
                     : spec->parallel.sync_batch_norm ? "sync_batch_norm"
                                                      : NULL;

  if (what != NULL)
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, what,
                     "strategy=\"server\" takes a step from the gradients of each rank and does not support %s. "
                     "Remove that, or set another strategy.",
                     drives                            ? "an optimizer that evaluates the loss itself"
                     : g_str_equal (what, "precision") ? "f16, whose loss scale all ranks would have to share"
                                                       : what);
}

/* "loss", or a metric's name. */
static void
read_monitor (RecipeReading *r, LoomTrainSpec *spec)
{
  const char *name = loom_element_get (r->element, "monitor"), *near;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *list = NULL;
  LoomFault *fault;

  spec->monitor = -1;
  if (name == NULL || strcmp (name, "loss") == 0)
    return;
  g_ptr_array_add (names, (gpointer) "loss");
  for (guint i = 0; i < spec->metrics->len; i++)
    {
      const LoomMetricSpec *metric = spec->metrics->pdata[i];

      if (strcmp (metric->name, name) == 0 && metric->metric->is_matrix)
        {
          recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "monitor",
                           "monitor is “%s”, which is a table; it must name a metric with one number, such as the "
                           "loss or the accuracy.",
                           name);
          return;
        }
      if (strcmp (metric->name, name) == 0)
        {
          spec->monitor = (int)i;
          return;
        }
      if (!metric->metric->is_matrix)
        g_ptr_array_add (names, metric->name);
    }
  g_ptr_array_add (names, NULL);
  near = loom_nearest (name, (const char *const *)names->pdata);
  list = g_strjoinv (", ", (char **)names->pdata);
  fault = recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "monitor",
                           "monitor is “%s”, which is neither “loss” nor the name of a metric of this graph. It can "
                           "be: %s.",
                           name, list);
  if (near != NULL)
    loom_fault_set_fix (fault, "monitor", near, "Did you mean “%s”?", near);
}

static void
read_stopping (RecipeReading *r, LoomTrainSpec *spec)
{
  spec->keep_best
      = loom_element_get (r->element, "patience") != NULL || loom_element_get (r->element, "monitor") != NULL;
  spec->patience = (gint64)recipe_number (r, r->element, "patience");
  spec->min_delta = recipe_number (r, r->element, "min_delta");
  if (loom_element_get (r->element, "min_delta") != NULL && !spec->keep_best)
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "min_delta",
                     "min_delta is for early stopping, which is off. Set patience, the number of epochs without "
                     "improvement after which training ends.");
  read_monitor (r, spec);
}

static void
read_folds (RecipeReading *r, LoomTrainSpec *spec)
{
  const gboolean has_folds = loom_element_get (r->element, "folds") != NULL;
  const gboolean has_fold = loom_element_get (r->element, "fold") != NULL;

  spec->folds = has_folds ? (gint64)recipe_number (r, r->element, "folds") : 0;
  spec->fold = has_fold ? (gint64)recipe_number (r, r->element, "fold") : 1;
  if (has_fold && !has_folds)
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "fold",
                     "fold names the fold that validates, but folds is not set. Set folds, the number of folds.");
  else if (has_folds && spec->fold > spec->folds)
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "fold", "fold is %" PRId64 ", but folds is %" PRId64 ".",
                     spec->fold, spec->folds);
}

/* Every pattern must match a weight: a typing error would otherwise leave weights unchanged. */
static void
read_match (RecipeReading *r, LoomTrainSpec *spec)
{
  const char *text = loom_element_get (r->element, "match");
  g_auto (GStrv) pattern = g_strsplit (text != NULL ? text : "", ",", -1);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  spec->weights = g_strdup (loom_element_get (r->element, "weights"));
  spec->match = g_strdup (text);
  spec->adapter = g_strdup (loom_element_get (r->element, "adapter"));
  if (spec->weights != NULL && spec->weights[0] == 0)
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "weights", "weights is empty; it must name a safetensors file.");
  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    g_ptr_array_add (names, (gpointer)loom_net_weight (r->net, i)->name);
  for (guint k = 0; !r->partial && pattern[k] != NULL; k++)
    {
      const char *one = g_strstrip (pattern[k]), *near;
      LoomFault *fault;
      guint i = 0;

      while (i < names->len && !loom_train_pattern_matches (one, names->pdata[i]))
        i++;
      if (i < names->len)
        continue;
      g_ptr_array_add (names, NULL);
      near = loom_nearest (one, (const char *const *)names->pdata);
      g_ptr_array_set_size (names, (int)names->len - 1);
      fault = recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "match", "no weight's path matches “%s”.", one);
      if (near != NULL)
        loom_fault_set_fix (fault, "match", near, "Did you mean “%s”?", near);
    }
}

gboolean
loom_train_spec_takes (const LoomTrainSpec *spec, const char *path)
{
  g_auto (GStrv) pattern = g_strsplit (spec->match != NULL ? spec->match : "**", ",", -1);

  for (guint k = 0; pattern[k] != NULL; k++)
    if (loom_train_pattern_matches (g_strstrip (pattern[k]), path))
      return TRUE;
  return FALSE;
}

/* At 1 the average would stay at the initial weights. */
static double
read_ema (RecipeReading *r)
{
  const char *text = loom_element_get (r->element, "ema");
  char *end = NULL;

  if (text == NULL || g_ascii_strtod (text, &end) < 1 || end == text || *end != 0)
    return recipe_number (r, r->element, "ema");
  loom_fault_set_fix (recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "ema",
                                       "ema is %s; it must be at least 0 and less than 1.", text),
                      "ema", "0.999", "Set it to 0.999.");
  return 0;
}

void
recipe_read_course (RecipeReading *r, LoomTrainSpec *spec)
{
  spec->ema = read_ema (r);
  check_driven (r, spec);
  check_server (r, spec);
  read_stopping (r, spec);
  read_folds (r, spec);
  read_match (r, spec);
}
