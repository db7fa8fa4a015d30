#include "ui/scene/studio-health.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/scene/studio-format.h"

/* Decades of |gradient| / |weight| on the bar. */
#define LEAST -9.0
#define MOST  3.0
/* Widths of wires, relative to the usual one: of the largest gradient, and of one that is DECADES smaller, or 0. */
#define WIDEST   3.0
#define THINNEST 0.4
#define DECADES  6.0

/* ---- cards ------------------------------------------------------------------ */

/* The norm of two parts of a vector; NaN: there is no such part. */
static double
join (double a, double b)
{
  return isnan (a) ? b : isnan (b) ? a : hypot (a, b);
}

static void
add_node (StudioCardHealth *card, const LoomHealthNode *node)
{
  if (!card->is_known)
    *card = (StudioCardHealth){ .is_known = TRUE, .weight = NAN, .gradient = NAN, .update = NAN, .saturated = NAN };
  card->weight = join (card->weight, node->weight);
  card->gradient = join (card->gradient, node->gradient);
  card->update = join (card->update, node->update);
  card->units += node->units;
  card->dead += node->dead;
  card->saturated = fmax (card->saturated, node->saturated);
  /* The first of the verdicts is the cause of the others. */
  if (node->verdict != LOOM_HEALTH_WELL && (card->verdict == LOOM_HEALTH_WELL || node->verdict < card->verdict))
    card->verdict = node->verdict;
}

StudioCardHealth
studio_health_of_node (const LoomHealthNode *node)
{
  StudioCardHealth card = { 0 };

  add_node (&card, node);
  return card;
}

/* The gradient of each port, by name. */
static GHashTable *
list_wires (const GPtrArray *nodes, double *largest)
{
  GHashTable *all = g_hash_table_new (g_str_hash, g_str_equal);

  *largest = 0;
  for (guint i = 0; i < nodes->len; i++)
    {
      const LoomHealthNode *node = nodes->pdata[i];

      for (guint k = 0; k < node->wires->len; k++)
        {
          LoomHealthWire *wire = &g_array_index (node->wires, LoomHealthWire, k);

          g_hash_table_insert (all, wire->port, &wire->gradient);
          if (isfinite (wire->gradient))
            *largest = fmax (*largest, wire->gradient);
        }
    }
  return all;
}

static double
width_of (double gradient, double largest)
{
  if (isnan (gradient))
    return 0;
  return largest > 0 && gradient > 0
             ? THINNEST + (WIDEST - THINNEST) * CLAMP (1 + log10 (gradient / largest) / DECADES, 0, 1)
             : THINNEST;
}

static void
set_wires (StudioScene *scene, const LoomNet *net, const GPtrArray *nodes)
{
  double largest;
  g_autoptr (GHashTable) wires = list_wires (nodes, &largest);

  for (guint i = 0; i < scene->n_links; i++)
    {
      StudioLink *link = &scene->link[i];
      const StudioPort *port = &scene->item[link->from].output[link->output];
      g_autofree char *name = port->typed && port->source.node < loom_net_n_nodes (net)
                                      && port->source.output < loom_net_node (net, port->source.node)->n_outputs
                                  ? loom_net_port_name (net, port->source.node, port->source.output)
                                  : NULL;
      const double *gradient = name != NULL ? g_hash_table_lookup (wires, name) : NULL;

      link->thickness = gradient != NULL ? width_of (*gradient, largest) : 0;
    }
}

void
studio_health_set (StudioScene *scene, const LoomNet *net, const GPtrArray *nodes)
{
  scene->has_health = nodes != NULL;
  for (guint i = 0; i < scene->n_items; i++)
    scene->item[i].health = (StudioCardHealth){ 0 };
  for (guint i = 0; i < scene->n_links; i++)
    scene->link[i].thickness = 0;
  if (nodes == NULL)
    return;
  for (guint i = 0; i < nodes->len; i++)
    {
      const LoomHealthNode *node = nodes->pdata[i];
      const guint card = studio_scene_card_of (scene, node->node);

      if (card < scene->n_items)
        add_node (&scene->item[card].health, node);
    }
  set_wires (scene, net, nodes);
}

/* ---- the bar ---------------------------------------------------------------- */

static gboolean
has_weights (const StudioCardHealth *health)
{
  return health->weight > 0 && !isnan (health->gradient);
}

/* The share of units or outputs that pass no gradient on. */
static double
share_of (const StudioCardHealth *health)
{
  return fmax (health->units > 0 ? (double)health->dead / (double)health->units : NAN, health->saturated);
}

static double
decade (double ratio)
{
  return ratio > 0 ? CLAMP ((log10 (ratio) - LEAST) / (MOST - LEAST), 0, 1) : 0;
}

gboolean
studio_health_bar (const StudioCardHealth *health, double *at)
{
  *at = has_weights (health) ? decade (health->gradient / health->weight) : share_of (health);
  return health->is_known && !isnan (*at);
}

void
studio_health_bands (const StudioCardHealth *health, double *low, double *high)
{
  if (has_weights (health))
    {
      *low = decade (loom_health_rule (LOOM_HEALTH_VANISHING)->limit);
      *high = decade (loom_health_rule (LOOM_HEALTH_EXPLODING)->limit);
      return;
    }
  *low = 0;
  *high = loom_health_rule (health->units > 0 ? LOOM_HEALTH_DEAD : LOOM_HEALTH_SATURATED)->limit;
}

/* ---- words ------------------------------------------------------------------ */

/* "0.0021", "3.2e-08" */
static char *
number (double value)
{
  g_autofree char *text = isinf (value) ? g_strdup ("∞") : g_strdup_printf ("%.2g", value);

  return studio_format_local (text);
}

char *
studio_health_figure (const StudioCardHealth *health)
{
  g_autofree char *ratio = has_weights (health) ? number (health->gradient / health->weight) : NULL;

  if (!health->is_known)
    return NULL;
  if (health->verdict == LOOM_HEALTH_HASTY && ratio != NULL)
    return g_strdup_printf (_ ("step %.0f %%"), 100 * health->update / health->weight);
  if (ratio != NULL)
    return g_strdup_printf ("∇ %s", ratio);
  if (health->units > 0 && (health->dead > 0 || isnan (health->saturated)))
    return g_strdup_printf (_ ("%1$d of %2$d dead"), (int)health->dead, (int)health->units);
  return isnan (health->saturated) ? NULL : g_strdup_printf (_ ("%.0f %% saturated"), 100 * health->saturated);
}

G_GNUC_PRINTF (2, 3)
static void
add (GString *words, const char *format, ...)
{
  va_list arguments;

  if (words->len > 0)
    g_string_append (words, "; ");
  va_start (arguments, format);
  g_string_append_vprintf (words, format, arguments);
  va_end (arguments);
}

/* A verdict alone, as a caption. */
static const char *const titles[LOOM_N_HEALTH] = {
  [LOOM_HEALTH_WELL] = N_ ("healthy"),
  [LOOM_HEALTH_NOT_FINITE] = N_ ("not finite"),
  [LOOM_HEALTH_DEAD] = N_ ("dead"),
  [LOOM_HEALTH_SATURATED] = N_ ("saturated"),
  [LOOM_HEALTH_EXPLODING] = N_ ("gradient explodes"),
  [LOOM_HEALTH_VANISHING] = N_ ("gradient vanishes"),
  [LOOM_HEALTH_HASTY] = N_ ("steps too large"),
};

char *
studio_health_words (const StudioCardHealth *health)
{
  GString *words;

  if (!health->is_known)
    return NULL;
  words = g_string_new (_ (titles[health->verdict]));
  if (has_weights (health))
    {
      g_autofree char *ratio = number (health->gradient / health->weight);

      add (words, _ ("gradient %s of the weights"), ratio);
    }
  if (health->weight > 0 && !isnan (health->update))
    {
      g_autofree char *ratio = number (health->update / health->weight);

      add (words, _ ("update %s of the weights"), ratio);
    }
  if (health->units > 0)
    add (words, _ ("%1$d of %2$d units dead"), (int)health->dead, (int)health->units);
  if (!isnan (health->saturated))
    add (words, _ ("%.0f %% of outputs saturated"), 100 * health->saturated);
  return g_string_free (words, FALSE);
}

char *
studio_health_complaint (const char *node, const StudioCardHealth *health)
{
  const double percent = 100 * health->update / health->weight;

  switch (health->verdict)
    {
    case LOOM_HEALTH_NOT_FINITE:
      return g_strdup_printf (_ ("%s: a gradient is infinite or not a number"), node);
    case LOOM_HEALTH_DEAD:
      return g_strdup_printf (
          ngettext ("%1$s: %2$d of %3$d unit is dead", "%1$s: %2$d of %3$d units are dead", (gulong)health->units),
          node, (int)health->dead, (int)health->units);
    case LOOM_HEALTH_SATURATED:
      return g_strdup_printf (_ ("%1$s: %2$.0f %% of the outputs are saturated"), node, 100 * health->saturated);
    case LOOM_HEALTH_EXPLODING:
      return g_strdup_printf (_ ("%s: the gradient explodes"), node);
    case LOOM_HEALTH_VANISHING:
      return g_strdup_printf (_ ("%s: the gradient vanishes"), node);
    case LOOM_HEALTH_HASTY:
      return g_strdup_printf (_ ("%1$s: each step changes the weights by %2$.0f %%"), node, percent);
    case LOOM_HEALTH_WELL:
    case LOOM_N_HEALTH:
      break;
    }
  return NULL;
}

const char *
studio_health_legend (const StudioScene *scene)
{
  return scene->has_health ? _ ("Bar: |gradient| ÷ |weight|, 1e−9 to 1e3; striped: too small, too large. "
                                "Thicker wire: larger gradient")
                           : _ ("Health is measured while the graph trains");
}
