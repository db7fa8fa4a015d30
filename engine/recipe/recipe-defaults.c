/* Defaults of <train>: those of its own table, and those of the optimiser that it names. */
#include "engine/recipe/loom-attributes.h"

#include <math.h>

const LoomHyper *
loom_train_hyper (const LoomElement *train, const char *name)
{
  const char *which = loom_element_get (train, "optimizer");
  const LoomOptimizer *optimizer
      = loom_optimizer (which != NULL ? which : loom_attribute (LOOM_TAG_TRAIN, "optimizer")->spec.def);
  int k = optimizer != NULL ? loom_optimizer_find (optimizer, name) : -1;

  return k >= 0 ? optimizer->hyper + k : NULL;
}

const char *
loom_default_text (double value, const char *const *words, gboolean is_bool)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (value))
    return NULL;
  if (words != NULL)
    return words[(guint)value];
  if (is_bool)
    return value != 0 ? "true" : "false";
  return g_intern_string (g_ascii_formatd (text, sizeof text, "%.15g", value));
}

const char *
loom_train_default (const LoomElement *train, const char *name)
{
  const LoomHyper *hyper = loom_train_hyper (train, name);
  const LoomAttribute *attribute = loom_attribute (LOOM_TAG_TRAIN, name);

  if (hyper != NULL)
    return loom_default_text (hyper->value, hyper->choices, hyper->is_bool);
  return attribute != NULL && attribute->spec.def != NULL && attribute->spec.def[0] != '\0' ? attribute->spec.def
                                                                                            : NULL;
}
