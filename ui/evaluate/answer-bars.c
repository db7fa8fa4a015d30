/* Implements answer-bars.h. */
#include "ui/evaluate/answer-bars.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/scene/studio-format.h"

#define MOST_BARS   10
#define MOST_VALUES 16

static char *
name_of (char *const *names, guint k)
{
  return names != NULL && k < g_strv_length ((char **)names) ? g_strdup (names[k]) : g_strdup_printf ("%u", k);
}

static void
add_bar (GtkGrid *grid, int row, const char *name, double fraction)
{
  g_autofree char *percent = g_strdup_printf ("%.1f %%", 100 * fraction);
  GtkWidget *label = gtk_label_new (name), *number = gtk_label_new (percent), *bar = gtk_progress_bar_new ();

  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 14);
  gtk_label_set_xalign (GTK_LABEL (number), 1);
  gtk_widget_add_css_class (number, "numeric");
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (bar), CLAMP (isnan (fraction) ? 0 : fraction, 0, 1));
  gtk_widget_set_hexpand (bar, TRUE);
  gtk_widget_set_valign (bar, GTK_ALIGN_CENTER);
  gtk_accessible_update_property (GTK_ACCESSIBLE (bar), GTK_ACCESSIBLE_PROPERTY_LABEL, name,
                                  GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT, percent, -1);
  gtk_grid_attach (grid, label, 0, row, 1, 1);
  gtk_grid_attach (grid, bar, 1, row, 1, 1);
  gtk_grid_attach (grid, number, 2, row, 1, 1);
}

static int
compare (gconstpointer a, gconstpointer b, gpointer data)
{
  const float *value = data;
  const guint i = *(const guint *)a, k = *(const guint *)b;

  return value[i] > value[k] ? -1 : value[i] < value[k] ? 1 : i < k ? -1 : i > k;
}

static char *
fill_classes (GtkGrid *grid, gboolean has_probabilities, gint64 n, const float *value, char *const *names)
{
  g_autofree guint *order = g_new (guint, n);

  for (guint k = 0; k < n; k++)
    order[k] = k;
  g_qsort_with_data (order, (int)n, sizeof *order, compare, (gpointer)value);
  g_autofree char *best = name_of (names, order[0]);
  if (!has_probabilities)
    return g_strdup_printf (_ ("Predicted: %s"), best);
  /* Few classes stay in their order, so that bars can be followed while a sample changes. */
  for (guint i = 0; i < MIN (n, MOST_BARS); i++)
    {
      const guint k = n <= MOST_BARS ? i : order[i];
      g_autofree char *name = name_of (names, k);

      add_bar (grid, (int)i, name, value[k]);
    }
  return g_strdup_printf (_ ("Predicted: %1$s, %2$.1f %%"), best, 100 * value[order[0]]);
}

/* A class for each position. */
static char *
list_positions (gint64 n_positions, gint64 n, const float *value, char *const *names)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (gint64 p = 0; p < n_positions; p++)
    {
      guint best = 0;

      for (guint k = 1; k < n; k++)
        best = value[p * n + k] > value[p * n + best] ? k : best;
      g_autofree char *name = name_of (names, best);
      g_string_append_printf (text, "%s%s", p > 0 ? " " : "", name);
    }
  return g_strdup_printf (_ ("Predicted: %s"), text->str);
}

static char *
list_values (gint64 n, const float *value)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (gint64 i = 0; i < MIN (n, MOST_VALUES); i++)
    {
      g_autofree char *number = studio_format_number (value[i]);
      g_string_append_printf (text, "%s%s", i > 0 ? "  " : "", number);
    }
  return g_strdup_printf (_ ("Predicted: %s"), text->str);
}

char *
answer_bars_fill (GtkGrid *grid, LoomAnswerKind kind, gint64 n_positions, gint64 n_classes, const float *value,
                  char *const *names)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (grid))) != NULL)
    gtk_grid_remove (grid, child);
  if (kind == LOOM_ANSWER_VALUES)
    return list_values (n_positions * n_classes, value);
  if (n_positions > 1)
    return list_positions (n_positions, n_classes, value, names);
  if (kind != LOOM_ANSWER_YES || n_classes != 1)
    return fill_classes (grid, kind != LOOM_ANSWER_LOGITS, n_classes, value, names);
  const float both[] = { 1 - value[0], value[0] };
  return fill_classes (grid, TRUE, 2, both, names);
}
