#include "ui/scene/studio-measure.h"

#include <glib/gi18n.h>

#include "ui/scene/studio-format.h"

static const struct
{
  const char *name, *title, *unit, *legend; /* legend: the fractions that the cards' bars show */
} measures[STUDIO_N_MEASURES] = {
  [STUDIO_MEASURE_NONE] = { "none", N_ ("Nothing"), "", "" },
  [STUDIO_MEASURE_PARAMETERS] = { "parameters", N_ ("Parameters"), "", N_ ("Share of %s parameters") },
  [STUDIO_MEASURE_OPERATIONS] = { "operations", N_ ("Operations"), "FLOP", N_ ("Share of %s per sample") },
  [STUDIO_MEASURE_ACTIVATIONS]
  = { "activations", N_ ("Activations"), NULL, N_ ("Share of %s of activations per sample") },
  [STUDIO_MEASURE_TIME] = { "time", N_ ("Time"), "s", N_ ("Share of %s for 32 samples, node by node") },
};

const char *
studio_measure_name (StudioMeasure measure)
{
  return measures[measure].name;
}

const char *
studio_measure_title (StudioMeasure measure)
{
  return _ (measures[measure].title);
}

StudioMeasure
studio_measure_find (const char *name)
{
  for (guint i = 0; i < STUDIO_N_MEASURES; i++)
    if (g_strcmp0 (measures[i].name, name) == 0)
      return (StudioMeasure)i;
  return STUDIO_MEASURE_NONE;
}

static double
cost_of (const LoomCost *cost, double seconds, StudioMeasure measure)
{
  switch (measure)
    {
    case STUDIO_MEASURE_PARAMETERS:
      return cost->parameters;
    case STUDIO_MEASURE_OPERATIONS:
      return cost->flops;
    case STUDIO_MEASURE_ACTIVATIONS:
      return cost->bytes;
    case STUDIO_MEASURE_TIME:
      return seconds;
    case STUDIO_MEASURE_NONE:
    case STUDIO_N_MEASURES:
      break;
    }
  return 0;
}

double
studio_measure_of (const StudioItem *item, StudioMeasure measure)
{
  return cost_of (&item->costs, item->seconds, measure);
}

double
studio_measure_total (const StudioScene *scene, StudioMeasure measure)
{
  return cost_of (&scene->costs, scene->seconds, measure);
}

double
studio_measure_share (const StudioScene *scene, const StudioItem *item, StudioMeasure measure)
{
  double total = studio_measure_total (scene, measure);

  return total > 0 ? studio_measure_of (item, measure) / total : 0;
}

void
studio_measure_set_times (StudioScene *scene, GHashTable *seconds)
{
  GHashTableIter iter;
  gpointer path, value;

  scene->seconds = 0;
  for (guint i = 0; i < scene->n_items; i++)
    scene->item[i].seconds = 0;
  if (seconds == NULL)
    return;
  g_hash_table_iter_init (&iter, seconds);
  while (g_hash_table_iter_next (&iter, &path, &value))
    {
      /* Costs of a node inside a module, and of all copies of a repeat, count for the card. */
      const guint card = studio_scene_card_of (scene, path);

      scene->seconds += *(double *)value;
      if (card != STUDIO_NO_ITEM)
        scene->item[card].seconds += *(double *)value;
    }
}

/* "1.2 ms": in the unit that needs no leading zeros. */
static char *
seconds_text (double seconds)
{
  g_autofree char *text = seconds >= 1      ? g_strdup_printf ("%.3g s", seconds)
                          : seconds >= 1e-3 ? g_strdup_printf ("%.3g ms", seconds * 1e3)
                                            : g_strdup_printf ("%.3g µs", seconds * 1e6);
  return studio_format_local (text);
}

char *
studio_measure_text (StudioMeasure measure, double value)
{
  static const char *const scale[] = { "", "k", "M", "G", "T" };
  const char *unit = measures[measure].unit;
  guint s = 0;

  if (measure == STUDIO_MEASURE_TIME)
    return seconds_text (value);
  if (unit == NULL)
    return loom_bytes_to_string (value);
  for (; value >= 999.5 && s + 1 < G_N_ELEMENTS (scale); s++)
    value /= 1000;
  g_autofree char *text = g_strchomp (g_strdup_printf ("%.3g %s%s", value, scale[s], unit));
  return studio_format_local (text);
}

char *
studio_measure_legend (const StudioScene *scene, StudioMeasure measure)
{
  double total = studio_measure_total (scene, measure);
  g_autofree char *all = studio_measure_text (measure, total);

  if (measure == STUDIO_MEASURE_TIME && total <= 0)
    return g_strdup (_ ("Times are measured while it trains"));
  return measure != STUDIO_MEASURE_NONE ? g_strdup_printf (_ (measures[measure].legend), all) : g_strdup ("");
}
