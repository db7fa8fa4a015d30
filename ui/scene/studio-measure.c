#include "ui/scene/studio-measure.h"

#include <string.h>

static const struct
{
  const char *name, *title, *unit, *what;
} measures[STUDIO_N_MEASURES] = {
  [STUDIO_MEASURE_NONE] = { "none", "Nothing", "", "" },
  [STUDIO_MEASURE_PARAMETERS] = { "parameters", "Parameters", "", "parameters" },
  [STUDIO_MEASURE_OPERATIONS] = { "operations", "Operations", "FLOP", "a sample" },
  [STUDIO_MEASURE_ACTIVATIONS] = { "activations", "Activations", NULL, "of activations a sample" },
};

const char *
studio_measure_name (StudioMeasure measure)
{
  return measures[measure].name;
}

const char *
studio_measure_title (StudioMeasure measure)
{
  return measures[measure].title;
}

StudioMeasure
studio_measure_find (const char *name)
{
  for (guint i = 0; i < STUDIO_N_MEASURES; i++)
    if (g_strcmp0 (measures[i].name, name) == 0)
      return (StudioMeasure)i;
  return STUDIO_MEASURE_NONE;
}

double
studio_measure_of (const LoomCost *cost, StudioMeasure measure)
{
  switch (measure)
    {
    case STUDIO_MEASURE_PARAMETERS:
      return cost->parameters;
    case STUDIO_MEASURE_OPERATIONS:
      return cost->flops;
    case STUDIO_MEASURE_ACTIVATIONS:
      return cost->bytes;
    case STUDIO_MEASURE_NONE:
    case STUDIO_N_MEASURES:
      break;
    }
  return 0;
}

double
studio_measure_share (const StudioScene *scene, const StudioItem *item, StudioMeasure measure)
{
  double total = studio_measure_of (&scene->costs, measure);

  return total > 0 ? studio_measure_of (&item->costs, measure) / total : 0;
}

char *
studio_measure_text (StudioMeasure measure, double value)
{
  static const char *const scale[] = { "", "k", "M", "G", "T" };
  const char *unit = measures[measure].unit;
  guint s = 0;

  if (unit == NULL)
    return loom_bytes_to_string (value);
  for (; value >= 999.5 && s + 1 < G_N_ELEMENTS (scale); s++)
    value /= 1000;
  return g_strchomp (g_strdup_printf ("%.3g %s%s", value, scale[s], unit));
}

char *
studio_measure_legend (const StudioScene *scene, StudioMeasure measure)
{
  g_autofree char *all = studio_measure_text (measure, studio_measure_of (&scene->costs, measure));

  return g_strdup_printf ("Share of %s %s", all, measures[measure].what);
}
