#include "ui/start/studio-start-rows.h"

#include <glib/gi18n.h>

#include "ui/drawing/draw-figure.h"

/* ---- a sample -------------------------------------------------------------------- */

static void
draw_cb (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  StudioFigure *figure = g_object_get_data (G_OBJECT (area), "figure");
  const StudioRect room = { 0, 0, width, height };
  StudioTheme theme;

  if (figure == NULL)
    return;
  studio_theme_init (&theme, adw_style_manager_get_dark (adw_style_manager_get_default ()), FALSE);
  studio_draw_figure (cr, figure, &room, &theme, &theme.category[LOOM_CATEGORY_DATA]);
}

GtkWidget *
studio_sample_new (int width, int height)
{
  GtkWidget *area = gtk_drawing_area_new ();

  gtk_widget_set_size_request (area, width, height);
  gtk_widget_set_valign (area, GTK_ALIGN_CENTER);
  gtk_widget_set_halign (area, GTK_ALIGN_CENTER);
  gtk_accessible_update_state (GTK_ACCESSIBLE (area), GTK_ACCESSIBLE_STATE_HIDDEN, TRUE, -1);
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (area), draw_cb, NULL, NULL);
  return area;
}

void
studio_sample_set (GtkWidget *sample, StudioFigure *figure)
{
  g_object_set_data_full (G_OBJECT (sample), "figure", figure != NULL ? studio_figure_ref (figure) : NULL,
                          (GDestroyNotify)studio_figure_unref);
  gtk_widget_queue_draw (sample);
}

/* ---- a path ---------------------------------------------------------------------- */

static void
response_cb (GtkNativeDialog *dialog, int response, GtkWidget *row)
{
  g_autoptr (GFile) file = NULL;
  g_autofree char *path = NULL;

  if (response != GTK_RESPONSE_ACCEPT)
    return;
  file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  path = file != NULL ? g_file_get_path (file) : NULL;
  if (path != NULL)
    gtk_editable_set_text (GTK_EDITABLE (row), path);
}

static void
destroy_dialog (gpointer dialog)
{
  gtk_native_dialog_destroy (dialog);
  g_object_unref (dialog);
}

static void
choose_cb (GtkWidget *button, GtkWidget *row)
{
  GtkFileChooserNative *dialog
      = gtk_file_chooser_native_new (_ ("Choose a File"), GTK_WINDOW (gtk_widget_get_root (button)),
                                     GTK_FILE_CHOOSER_ACTION_OPEN, _ ("_Choose"), _ ("_Cancel"));

  g_signal_connect (dialog, "response", G_CALLBACK (response_cb), row);
  /* The chooser is cancelled when the button, and its row, is destroyed. */
  g_object_set_data_full (G_OBJECT (button), "dialog", dialog, destroy_dialog);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

void
studio_path_row_add_button (GtkWidget *row)
{
  GtkWidget *button = gtk_button_new_from_icon_name ("document-open-symbolic");
  g_autofree char *label
      = g_strdup_printf (_ ("Choose a file for %s"), adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)));

  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  g_signal_connect (button, "clicked", G_CALLBACK (choose_cb), row);
  adw_entry_row_add_suffix (ADW_ENTRY_ROW (row), button);
}

/* ---- kinds of networks -------------------------------------------------------------- */

static void
toggled_cb (GtkCheckButton *check, StudioKinds *self)
{
  if (gtk_check_button_get_active (check))
    self->chosen = g_object_get_data (G_OBJECT (check), "kind");
}

void
studio_kinds_init (StudioKinds *self)
{
  self->group = adw_preferences_group_new ();
  self->rows = g_ptr_array_new ();
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (self->group), _ ("Network"));
}

void
studio_kinds_clear (StudioKinds *self)
{
  g_clear_pointer (&self->rows, g_ptr_array_unref);
}

void
studio_kinds_set (StudioKinds *self, const LoomTemplateKind *const *kinds)
{
  const char *before = self->chosen;
  GtkCheckButton *first = NULL;

  for (guint i = 0; i < self->rows->len; i++)
    adw_preferences_group_remove (ADW_PREFERENCES_GROUP (self->group), self->rows->pdata[i]);
  g_ptr_array_set_size (self->rows, 0);
  self->chosen = NULL;
  for (guint i = 0; kinds != NULL && kinds[i] != NULL; i++)
    {
      GtkWidget *row = adw_action_row_new (), *check = gtk_check_button_new ();

      adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), kinds[i]->title);
      adw_action_row_set_subtitle (ADW_ACTION_ROW (row), kinds[i]->doc);
      gtk_widget_set_valign (check, GTK_ALIGN_CENTER);
      gtk_accessible_update_property (GTK_ACCESSIBLE (check), GTK_ACCESSIBLE_PROPERTY_LABEL, kinds[i]->title, -1);
      g_object_set_data (G_OBJECT (check), "kind", (gpointer)kinds[i]->name);
      gtk_check_button_set_group (GTK_CHECK_BUTTON (check), first);
      if (first == NULL)
        first = GTK_CHECK_BUTTON (check);
      g_signal_connect (check, "toggled", G_CALLBACK (toggled_cb), self);
      adw_action_row_add_prefix (ADW_ACTION_ROW (row), check);
      adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row), check);
      adw_preferences_group_add (ADW_PREFERENCES_GROUP (self->group), row);
      g_ptr_array_add (self->rows, row);
      if (i == 0 || g_strcmp0 (before, kinds[i]->name) == 0)
        gtk_check_button_set_active (GTK_CHECK_BUTTON (check), TRUE);
    }
  gtk_widget_set_visible (self->group, self->rows->len > 0);
}
