/* Reads <train sample_weights>: the sampling weights of an epoch. */
#include "engine/data/loom-sample-weights.h"
#include "engine/recipe/recipe-private.h"

void
recipe_read_sampling (RecipeReading *r, LoomTrainSpec *spec)
{
  const char *text = loom_element_get (r->element, "sample_weights");

  if (text == NULL || *text == '\0')
    return;
  if (!loom_sample_weights_are_valid (text))
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "sample_weights",
                     "sample_weights is “%s”; it must be “%s”, “%s”, or a number for each class, such as “1,1,5”: none "
                     "negative, not all of them 0.",
                     text, LOOM_SAMPLE_WEIGHTS_BALANCED, LOOM_SAMPLE_WEIGHTS_OWN);
  spec->sample_weights = g_strdup (text);
}
