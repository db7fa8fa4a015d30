/* The table of pin kinds, and words for those that have none of their own. */
#include "ui/pins/studio-pin-kind.h"

#include <glib/gi18n.h>

#include "ui/pins/pin-kinds.h"
#include "ui/scene/studio-format.h"

/* In the order of the menu for kinds that suit a tensor equally. */
static const StudioPinKind *const kinds[] = {
  &pin_number,  &pin_matrix,    &pin_montage, &pin_kernels, &pin_units,      &pin_heads,     &pin_threads, &pin_arcs,
  &pin_classes, &pin_text_kind, &pin_scatter, &pin_surface, &pin_components, &pin_histogram, &pin_norms,
};

guint
studio_pin_n_kinds (void)
{
  return G_N_ELEMENTS (kinds);
}

const StudioPinKind *
studio_pin_kind (guint i)
{
  g_return_val_if_fail (i < G_N_ELEMENTS (kinds), NULL);
  return kinds[i];
}

const StudioPinKind *
studio_pin_kind_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_strcmp0 (kinds[i]->name, name) == 0)
      return kinds[i];
  return &pin_matrix;
}

static int
compare_fits (gconstpointer a, gconstpointer b, gpointer data)
{
  const StudioPinKind *const *one = a, *const *two = b;

  return (*two)->fits (data) - (*one)->fits (data);
}

GPtrArray *
studio_pin_kinds_for (const PinSubject *subject)
{
  GPtrArray *list = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (kinds[i]->fits (subject) > 0)
      g_ptr_array_add (list, (gpointer)kinds[i]);
  /* A stable order: GLib sorts arrays of pointers by merging. */
  g_ptr_array_sort_with_data (list, compare_fits, (gpointer)subject);
  return list;
}

/* ---- cells -------------------------------------------------------------------- */

gsize
studio_pin_n_cells (const StudioPinKind *kind, const PinDrawing *d)
{
  gsize across;

  if (kind->cell_at == NULL)
    return 0;
  if (kind->n_cells != NULL)
    return kind->n_cells (d, &across);
  return kind->remembers ? d->history->step->len : d->value->n_values;
}

gsize
studio_pin_cells_across (const StudioPinKind *kind, const PinDrawing *d)
{
  gsize across;

  if (kind->n_cells != NULL)
    {
      kind->n_cells (d, &across);
      return across;
    }
  return kind->remembers ? 1 : pin_value_columns (d->value);
}

/* "channel 3" or, of an axis with tokens, "source “der”". */
static char *
name_place (const PinValue *v, gsize from_last, gsize at)
{
  const char *label = from_last == 0   ? pin_value_column_label (v, at)
                      : from_last == 1 ? pin_value_row_label (v, at)
                                       : NULL;
  const gsize axis = pin_value_axis (v, from_last);
  const char *name = v->axis[axis] != NULL ? v->axis[axis] : "";
  const gint64 whole = MAX (v->full[axis], 1), n = v->dims[v->rank - 1 - from_last], span = (whole + n - 1) / n;

  if (label != NULL)
    return g_strdup_printf (_ ("%1$s “%2$s”"), name, label);
  if (span > 1)
    return g_strdup_printf ("%s %" G_GINT64_FORMAT "–%" G_GINT64_FORMAT, name, (gint64)at * span + 1,
                            MIN (((gint64)at + 1) * span, whole));
  return g_strdup_printf ("%s %zu", name, at + 1);
}

char *
studio_pin_describe_cell (const StudioPinKind *kind, const PinDrawing *d, gsize cell)
{
  const PinValue *v = d->value;
  g_autoptr (GString) text = g_string_new (NULL);
  gsize stride = v->n_values;

  if (kind->describe_cell != NULL)
    return kind->describe_cell (d, cell);
  for (gsize k = 0; k < v->rank; k++)
    {
      stride /= (gsize)v->dims[k];
      g_autofree char *place = name_place (v, v->rank - 1 - k, cell / stride % (gsize)v->dims[k]);
      g_string_append_printf (text, "%s%s", k > 0 ? ", " : "", place);
    }
  g_autofree char *number = studio_format_number (v->values[cell]), *origin = pin_value_origin (v, cell);
  g_string_append_printf (text, "%s%s · %s", v->rank > 0 ? ": " : "", number, origin);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
studio_pin_describe (const StudioPinKind *kind, const PinDrawing *d)
{
  const PinValue *v = d->value;
  double least, most;
  gsize n_bad;

  if (kind->describe != NULL)
    return kind->describe (d);
  const gsize n_rows = pin_value_rows (v), n_columns = pin_value_columns (v), n_tiles = pin_value_tiles (v);
  g_autofree char *rows = g_strdup_printf (ngettext ("%u row", "%u rows", n_rows), (guint)n_rows);
  g_autofree char *columns = g_strdup_printf (ngettext ("%u column", "%u columns", n_columns), (guint)n_columns);
  pin_value_range (v, &least, &most, &n_bad);
  g_autofree char *low = studio_format_number (least), *high = studio_format_number (most);
  /* Translators: "3 rows, 4 columns, from 0 to 1"; read aloud. */
  g_autofree char *words = g_strdup_printf (_ ("%1$s, %2$s, from %3$s to %4$s"), rows, columns, low, high);
  g_autofree char *all = n_tiles > 1 ? g_strdup_printf (ngettext ("%u picture of %s", "%u pictures of %s", n_tiles),
                                                        (guint)n_tiles, words)
                                     : g_strdup (words);
  if (n_bad == 0)
    return g_steal_pointer (&all);
  return g_strdup_printf (ngettext ("%s, %u cell is not a number", "%s, %u cells are not numbers", n_bad), all,
                          (guint)n_bad);
}
