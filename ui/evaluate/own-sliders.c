/* Implements own-sliders.h. */
#include "ui/evaluate/own-sliders.h"

#include <math.h>

#define MOST 12

static GtkRange *
range_of (GtkWidget *row)
{
  return GTK_RANGE (gtk_widget_get_last_child (row));
}

static void
add (GtkBox *box, const StudioTaskData *data, guint column, GCallback moved, gpointer owner)
{
  GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  g_autofree char *name = data->feature_names != NULL && column < g_strv_length (data->feature_names)
                              ? g_strdup (data->feature_names[column])
                              : g_strdup_printf ("x%u", column + 1);
  double low = INFINITY, high = -INFINITY;

  for (guint k = 0; k < data->n; k++)
    {
      low = MIN (low, data->x[(gsize)k * data->x_size + column]);
      high = MAX (high, data->x[(gsize)k * data->x_size + column]);
    }
  if (!(low < high))
    {
      low = isfinite (low) ? low - 1 : -1;
      high = low + 2;
    }
  GtkWidget *scale = gtk_scale_new_with_range (GTK_ORIENTATION_HORIZONTAL, low, high, (high - low) / 100);
  gtk_scale_set_draw_value (GTK_SCALE (scale), TRUE);
  gtk_scale_set_digits (GTK_SCALE (scale), 2);
  gtk_scale_set_value_pos (GTK_SCALE (scale), GTK_POS_RIGHT);
  gtk_range_set_value (GTK_RANGE (scale), (low + high) / 2);
  gtk_widget_set_hexpand (scale, TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (scale), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  g_signal_connect_swapped (scale, "value-changed", moved, owner);
  gtk_box_append (GTK_BOX (row), gtk_label_new (name));
  gtk_box_append (GTK_BOX (row), scale);
  gtk_box_append (box, row);
}

void
own_sliders_fill (GtkBox *box, const StudioTaskData *data, GCallback moved, gpointer owner)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (box))) != NULL)
    gtk_box_remove (box, child);
  for (guint i = 0; i < MIN (data->x_size, MOST); i++)
    add (box, data, i, moved, owner);
}

void
own_sliders_set (GtkBox *box, const StudioTaskData *data, const float *x)
{
  guint i = 0;

  for (GtkWidget *row = gtk_widget_get_first_child (GTK_WIDGET (box)); row != NULL && i < data->x_size;
       row = gtk_widget_get_next_sibling (row))
    gtk_range_set_value (range_of (row), (double)x[i++]);
}

float *
own_sliders_read (GtkBox *box, const StudioTaskData *data)
{
  float *x = g_new0 (float, data->x_size);
  guint i = 0;

  for (GtkWidget *row = gtk_widget_get_first_child (GTK_WIDGET (box)); row != NULL && i < data->x_size;
       row = gtk_widget_get_next_sibling (row))
    x[i++] = (float)gtk_range_get_value (range_of (row));
  for (; i < data->x_size; i++)
    for (guint k = 0; k < data->n; k++)
      x[i] += data->x[(gsize)k * data->x_size + i] / (float)data->n;
  return x;
}
