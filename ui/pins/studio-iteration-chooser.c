/* The row with two buttons that selects an iteration of a loop for a pin.
 *
 * In nested loops the index counts through all iterations in the order of computation; the innermost loop changes
 * fastest. */
#include "ui/pins/studio-iteration-chooser.h"

#include <glib/gi18n.h>

struct _StudioIterationChooser
{
  void (*changed) (gpointer data);
  gpointer data;
  gint64 chosen, total; /* total is 0 until a tensor has arrived */
  gint64 *dims;         /* [n_dims] */
  gsize n_dims;
  GtkWidget *row, *words, *back, *forth;
};

static void
show (StudioIterationChooser *self)
{
  g_autofree char *text = g_strdup_printf (_ ("iteration %d of %d"), (int)self->chosen + 1, (int)self->total);
  gtk_label_set_text (GTK_LABEL (self->words), text);
  gtk_widget_set_visible (self->row, self->total > 1);
  gtk_widget_set_sensitive (self->back, self->chosen > 0);
  gtk_widget_set_sensitive (self->forth, self->chosen + 1 < self->total);
}

void
studio_iteration_chooser_select (StudioIterationChooser *self, gint64 iteration)
{
  gint64 before = self->chosen;
  self->chosen = CLAMP (iteration, 0, MAX (0, self->total - 1));
  show (self);
  if (self->chosen != before)
    self->changed (self->data);
}

static void
back_cb (StudioIterationChooser *self)
{
  studio_iteration_chooser_select (self, self->chosen - 1);
}

static void
forth_cb (StudioIterationChooser *self)
{
  studio_iteration_chooser_select (self, self->chosen + 1);
}

static GtkWidget *
add_button (StudioIterationChooser *self, const char *icon, const char *words, GCallback clicked)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, words);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, words, -1);
  g_signal_connect_swapped (button, "clicked", clicked, self);
  gtk_box_append (GTK_BOX (self->row), button);
  return button;
}

StudioIterationChooser *
studio_iteration_chooser_new (void (*changed) (gpointer data), gpointer data)
{
  StudioIterationChooser *self = g_new0 (StudioIterationChooser, 1);
  self->changed = changed;
  self->data = data;
  self->row = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0));
  gtk_widget_add_css_class (self->row, "iterations");
  self->back = add_button (self, "go-previous-symbolic", _ ("Previous Iteration"), G_CALLBACK (back_cb));
  self->words = gtk_label_new (NULL);
  gtk_widget_set_hexpand (self->words, TRUE);
  gtk_box_append (GTK_BOX (self->row), self->words);
  self->forth = add_button (self, "go-next-symbolic", _ ("Next Iteration"), G_CALLBACK (forth_cb));
  show (self);
  return self;
}

void
studio_iteration_chooser_free (StudioIterationChooser *self)
{
  g_signal_handlers_disconnect_by_data (self->back, self);
  g_signal_handlers_disconnect_by_data (self->forth, self);
  g_object_unref (self->row);
  g_free (self->dims);
  g_free (self);
}

GtkWidget *
studio_iteration_chooser_get_widget (StudioIterationChooser *self)
{
  return self->row;
}

gsize
studio_iteration_chooser_set_shape (StudioIterationChooser *self, guint n_loops, GVariant *full_shape)
{
  gsize rank;
  const gint64 *full = g_variant_get_fixed_array (full_shape, &rank, sizeof (gint64));
  self->n_dims = MIN ((gsize)n_loops, rank > 2 ? rank - 2 : 0);
  g_free (self->dims);
  self->dims = g_memdup2 (full, self->n_dims * sizeof *full);
  self->total = self->n_dims > 0 ? 1 : 0;
  for (gsize d = 0; d < self->n_dims; d++)
    self->total *= MAX (1, full[d]);
  self->chosen = CLAMP (self->chosen, 0, MAX (0, self->total - 1));
  show (self);
  return self->n_dims;
}

GVariant *
studio_iteration_chooser_get_index (StudioIterationChooser *self)
{
  g_autofree gint64 *index = g_new0 (gint64, self->n_dims + 1);
  gint64 rest = self->chosen;
  for (gsize d = self->n_dims; d > 0; d--)
    {
      index[d - 1] = rest % MAX (1, self->dims[d - 1]);
      rest /= MAX (1, self->dims[d - 1]);
    }
  return g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, index, self->n_dims, sizeof *index);
}

gint64
studio_iteration_chooser_get_selected (StudioIterationChooser *self)
{
  return self->chosen;
}
