/* Implements own-ports.h. */
#include "ui/evaluate/own-ports.h"

#include <glib/gi18n.h>
#include <math.h>

char *
own_numbers_to_text (const float *value, guint n, char *const *names)
{
  g_autoptr (GString) line = g_string_new (NULL);
  const guint n_names = names != NULL ? g_strv_length ((char **)names) : 0;

  for (guint i = 0; i < n; i++)
    {
      char number[G_ASCII_DTOSTR_BUF_SIZE];
      const gboolean named = value[i] >= 0 && value[i] < (float)n_names && names[(guint)value[i]][0] != '\0';

      g_string_append (line, i > 0 ? " " : "");
      g_string_append (line, named ? names[(guint)value[i]]
                                   : g_ascii_formatd (number, sizeof number, "%.7g", (double)value[i]));
    }
  return g_string_free (g_steal_pointer (&line), FALSE);
}

/* Keyboards have no signs of multiplication and subtraction. */
static gboolean
is_name (const char *name, const char *word)
{
  return g_str_equal (name, word) || (g_str_equal (name, "×") && g_str_equal (word, "*"))
         || (g_str_equal (name, "−") && g_str_equal (word, "-"));
}

static gboolean
read_word (const char *word, char *const *names, float *value)
{
  char *end;
  double number;

  for (guint k = 0; names != NULL && names[k] != NULL; k++)
    if (is_name (names[k], word))
      {
        *value = (float)k;
        return TRUE;
      }
  number = g_ascii_strtod (word, &end);
  *value = (float)number;
  return names == NULL && end != word && *end == '\0' && isfinite (*value);
}

gboolean
own_numbers_read (const char *line, const char *what, char *const *names, guint n, float *value, char **why)
{
  g_auto (GStrv) word = g_strsplit_set (line, " \t,;", -1);
  guint found = 0;

  for (guint i = 0; word[i] != NULL; i++)
    {
      float number;

      if (*word[i] == '\0')
        continue;
      if (!read_word (word[i], names, &number))
        {
          *why = g_strdup_printf (names != NULL ? _ ("“%1$s” is not a symbol of “%2$s”.")
                                                : _ ("“%1$s” is not a number, as “%2$s” needs."),
                                  word[i], what);
          return FALSE;
        }
      if (found < n)
        value[found] = number;
      found++;
    }
  if (found != n)
    *why = g_strdup_printf (
        ngettext ("“%1$s” needs %2$u value, but has %3$u.", "“%1$s” needs %2$u values, but has %3$u.", n), what, n,
        found);
  return found == n;
}

void
own_ports_fill (GtkGrid *grid, const StudioTaskData *data, GCallback changed, gpointer owner)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (grid))) != NULL)
    gtk_grid_remove (grid, child);
  for (guint i = 0; data != NULL && i < data->n_others; i++)
    {
      GtkWidget *label = gtk_label_new (data->other[i].name), *entry = gtk_entry_new ();

      gtk_label_set_xalign (GTK_LABEL (label), 0);
      gtk_widget_set_hexpand (entry, TRUE);
      gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL, data->other[i].name, -1);
      g_signal_connect_swapped (entry, "changed", changed, owner);
      gtk_grid_attach (grid, label, 0, (int)i, 1, 1);
      gtk_grid_attach (grid, entry, 1, (int)i, 1, 1);
    }
}

void
own_ports_show (GtkGrid *grid, const StudioTaskData *data, guint sample)
{
  for (guint i = 0; i < data->n_others && sample < data->n; i++)
    {
      const StudioTaskPort *port = &data->other[i];
      g_autofree char *line = own_numbers_to_text (port->value + (gsize)sample * port->size, port->size, NULL);

      gtk_editable_set_text (GTK_EDITABLE (gtk_grid_get_child_at (grid, 1, (int)i)), line);
    }
}

GVariant *
own_ports_read (GtkGrid *grid, const StudioTaskData *data, const char *path, char **why)
{
  GVariantBuilder all;

  g_variant_builder_init (&all, G_VARIANT_TYPE ("a(saxay)"));
  for (guint i = 0; data != NULL && i < data->n_others; i++)
    {
      const StudioTaskPort *port = &data->other[i];
      const char *line = gtk_editable_get_text (GTK_EDITABLE (gtk_grid_get_child_at (grid, 1, (int)i)));
      g_autofree char *name = g_strdup_printf ("%s.%s", path, port->name);
      g_autofree float *value = g_new0 (float, port->size);
      gint64 shape[LOOM_SHAPE_MAX_RANK + 1] = { 1 };

      if (!own_numbers_read (line, port->name, NULL, port->size, value, why))
        {
          g_variant_builder_clear (&all);
          return NULL;
        }
      memcpy (shape + 1, port->dim, (gsize)port->rank * sizeof *shape);
      g_variant_builder_add (
          &all, "(s@ax@ay)", name,
          g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, shape, (gsize)port->rank + 1, sizeof *shape),
          g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, value, port->size * sizeof *value, 1));
    }
  return g_variant_builder_end (&all);
}
