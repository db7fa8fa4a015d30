#include "ui/stepper/step-chips.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/scene/studio-format.h"

#define GRADIENT "grad:" /* before a port's name on the bus */

static guint
hash_source (gconstpointer key)
{
  const LoomNetSource *s = key;

  return s->node * 31 + s->output;
}

static gboolean
is_same_source (gconstpointer a, gconstpointer b)
{
  const LoomNetSource *x = a, *y = b;

  return x->node == y->node && x->output == y->output;
}

static void
chip_free (StudioChip *chip)
{
  if (chip == NULL)
    return;
  g_free (chip->text);
  g_free (chip);
}

static void
step_chip_free (gpointer data)
{
  StepChip *chip = data;

  chip_free (chip->value);
  chip_free (chip->gradient);
  g_free (chip);
}

GHashTable *
step_chips_new (void)
{
  return g_hash_table_new_full (hash_source, is_same_source, g_free, step_chip_free);
}

char **
step_chips_ports (const StudioScene *scene, const LoomNet *net, GArray **sources)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GArray *all = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));

  for (guint i = 0; i < scene->n_items; i++)
    for (guint o = 0; o < scene->item[i].n_outputs; o++)
      {
        const StudioPort *port = &scene->item[i].output[o];

        if (!port->typed || port->source.node >= loom_net_n_nodes (net) || loom_net_is_weight (net, &port->source))
          continue;
        g_array_append_val (all, port->source);
        g_ptr_array_add (names, loom_net_port_name (net, port->source.node, port->source.output));
      }
  for (guint i = 0; i < all->len; i++)
    g_ptr_array_add (names, g_strconcat (GRADIENT, names->pdata[i], NULL));
  g_ptr_array_add (names, NULL);
  *sources = all;
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

static StudioChip *
read_chip (GVariant *value)
{
  g_autoptr (GVariant) shape = NULL, bins = NULL;
  gint64 count, bad;
  double first, mean, deviation, least, greatest, norm;
  gboolean is_known;
  StudioChip *chip;
  gsize n;

  g_variant_get (value, "(b@axxxdddddd@au)", &is_known, &shape, &count, &bad, &first, &mean, &deviation, &least,
                 &greatest, &norm, &bins);
  if (!is_known || count == 0)
    return NULL;
  chip = g_new0 (StudioChip, 1);
  chip->has_bars = count > 1 && bad == 0;
  if (bad > 0)
    chip->text = count == 1 ? g_strdup (_ ("not finite"))
                            : g_strdup_printf (ngettext ("%d not finite", "%d not finite", (gulong)bad), (int)bad);
  else if (count == 1)
    chip->text = studio_format_number (first);
  else
    {
      g_autofree char *middle = studio_format_number (mean), *spread = studio_format_number (deviation);

      chip->text = g_strdup_printf ("%s ± %s", middle, spread);
    }
  const guint32 *bin = g_variant_get_fixed_array (bins, &n, sizeof (guint32));
  memcpy (chip->bar, bin, MIN (n, STUDIO_CHIP_BARS) * sizeof (guint32));
  return chip;
}

void
step_chips_fill (GHashTable *chips, const GArray *sources, GVariant *values)
{
  const gsize n = g_variant_n_children (values);

  g_hash_table_remove_all (chips);
  for (guint i = 0; i < sources->len && sources->len + i < n; i++)
    {
      g_autoptr (GVariant) value = g_variant_get_child_value (values, i);
      g_autoptr (GVariant) gradient = g_variant_get_child_value (values, sources->len + i);
      const StepChip chip = { read_chip (value), read_chip (gradient) };

      if (chip.value != NULL || chip.gradient != NULL)
        g_hash_table_insert (chips, g_memdup2 (&g_array_index (sources, LoomNetSource, i), sizeof (LoomNetSource)),
                             g_memdup2 (&chip, sizeof chip));
    }
}

const StepChip *
step_chips_find (GHashTable *chips, const LoomNetSource *source)
{
  return g_hash_table_lookup (chips, source);
}

char *
step_chip_words (const StepChip *chip)
{
  if (chip == NULL)
    return NULL;
  if (chip->value == NULL || chip->gradient == NULL)
    return chip->value != NULL ? g_strdup_printf (_ ("value %s"), chip->value->text)
                               : g_strdup_printf (_ ("gradient %s"), chip->gradient->text);
  return g_strdup_printf (_ ("value %1$s, gradient %2$s"), chip->value->text, chip->gradient->text);
}
