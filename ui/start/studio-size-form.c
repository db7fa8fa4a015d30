#include "ui/start/studio-size-form.h"

GtkWidget *
studio_size_form_new (const char *const *names)
{
  GtkWidget *list = gtk_list_box_new ();

  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (list, "boxed-list");
  for (guint i = 0; names[i] != NULL; i++)
    {
      GtkWidget *row = adw_entry_row_new ();

      adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
      adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), names[i]);
      adw_entry_row_set_input_purpose (ADW_ENTRY_ROW (row), GTK_INPUT_PURPOSE_DIGITS);
      adw_entry_row_set_activates_default (ADW_ENTRY_ROW (row), TRUE);
      gtk_list_box_append (GTK_LIST_BOX (list), row);
    }
  return list;
}

char **
studio_size_form_get_sizes (GtkWidget *form)
{
  GPtrArray *sizes = g_ptr_array_new ();

  for (GtkWidget *row = gtk_widget_get_first_child (form); row != NULL; row = gtk_widget_get_next_sibling (row))
    {
      const char *name = adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row));
      g_autofree char *text = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (row))));

      if (*text != '\0')
        g_ptr_array_add (sizes, g_strdup_printf ("%s=%s", name, text));
    }
  g_ptr_array_add (sizes, NULL);
  return (char **)g_ptr_array_free (sizes, FALSE);
}
