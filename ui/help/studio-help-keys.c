/* The help page with all shortcuts, searchable: every action with its keys, and keys that belong to no action. */
#include <glib/gi18n.h>
#include <string.h>

#include "ui/shell/studio-commands.h"
#include "ui/help/studio-help.h"

static const struct
{
  const char *group, *title, *keys;
} others[] = {
  { N_ ("Go"), N_ ("Follow the Wires"), "Left Right" },
  { N_ ("Go"), N_ ("Go to the Card Above or Below"), "Up Down" },
  { N_ ("Arrange"), N_ ("Move the Selected Cards"), "<alt>Left <alt>Right" },
  { N_ ("Pins"), N_ ("Another Kind of Picture"), "1...9" },
  { N_ ("Pins"), N_ ("Another Head, Channel or Sample"), "Left Right" },
  { N_ ("Pins"), N_ ("Along the Second Chosen Axis"), "Up Down" },
  { N_ ("Pins"), N_ ("Along the Third Chosen Axis"), "Page_Up Page_Down" },
  { N_ ("Pins"), N_ ("Along the Fourth Chosen Axis"), "Home End" },
  { N_ ("Pins"), N_ ("Read the Cells"), "<shift>Left <shift>Right <shift>Up <shift>Down" },
  { N_ ("Pins"), N_ ("Fill the Canvas, and Back"), "Return" },
  { N_ ("Pins"), N_ ("Menu of the Pin"), "<shift>F10" },
  { N_ ("Pins"), N_ ("Close the Pin"), "Delete" },
  { N_ ("Presentation"), N_ ("Move Along the Computation"), "Left Right" },
  { N_ ("Presentation"), N_ ("Pause, or Train One Batch"), "space" },
  { N_ ("Presentation"), N_ ("Change the Learning Rate"), "l" },
  { N_ ("Presentation"), N_ ("Leave the Presentation"), "Escape" },
};

static void
add_row (GtkWidget *list, const char *group, const char *title, const char *keys)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *label = gtk_label_new (title);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_box_append (GTK_BOX (box), label);
  if (keys != NULL)
    gtk_box_append (GTK_BOX (box), gtk_shortcut_label_new (keys));
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), FALSE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, keys != NULL ? keys : "", -1);
  g_object_set_data (G_OBJECT (row), "group", (gpointer)group);
  g_object_set_data_full (G_OBJECT (row), "words", g_utf8_casefold (title, -1), g_free);
  gtk_list_box_append (GTK_LIST_BOX (list), row);
}

static void
add_group (GtkWidget *list, const char *group, const StudioCommand *all, guint n)
{
  for (guint i = 0; i < n; i++)
    if (all[i].title != NULL && g_strcmp0 (all[i].group, group) == 0)
      {
        g_autofree char *title = studio_command_dup_title (&all[i]);
        add_row (list, group, title, all[i].keys[0]);
      }
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (g_str_equal (others[i].group, group))
      add_row (list, group, _ (others[i].title), others[i].keys);
}

static void
header_cb (GtkListBoxRow *row, GtkListBoxRow *before, gpointer data)
{
  const char *group = g_object_get_data (G_OBJECT (row), "group");
  GtkWidget *label;
  if (before != NULL && g_strcmp0 (group, g_object_get_data (G_OBJECT (before), "group")) == 0)
    {
      gtk_list_box_row_set_header (row, NULL);
      return;
    }
  label = gtk_label_new (_ (group));
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "heading");
  gtk_widget_set_margin_top (label, 18);
  gtk_widget_set_margin_bottom (label, 6);
  gtk_list_box_row_set_header (row, label);
}

static gboolean
filter_cb (GtkListBoxRow *row, gpointer entry)
{
  g_autofree char *typed = g_utf8_casefold (gtk_editable_get_text (GTK_EDITABLE (entry)), -1);
  return strstr (g_object_get_data (G_OBJECT (row), "words"), g_strstrip (typed)) != NULL;
}

GtkWidget *
studio_help_keys_new (void)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *entry = gtk_search_entry_new ();
  GtkWidget *list = gtk_list_box_new ();
  guint n;
  const StudioCommand *all = studio_commands (&n);
  const char *group = NULL;
  for (guint i = 0; i < n && all[i].group != NULL; i++)
    if (g_strcmp0 (group, all[i].group) != 0)
      add_group (list, group = all[i].group, all, n);
  add_group (list, "Pins", all, n);
  add_group (list, "Presentation", all, n);
  gtk_widget_add_css_class (list, "key-list");
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_list_box_set_header_func (GTK_LIST_BOX (list), header_cb, NULL, NULL);
  gtk_list_box_set_filter_func (GTK_LIST_BOX (list), filter_cb, entry, NULL);
  g_object_set (entry, "placeholder-text", _ ("Search keys and actions"), NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Search keys and actions"),
                                  -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (list), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Keys and actions"), -1);
  g_signal_connect_swapped (entry, "search-changed", G_CALLBACK (gtk_list_box_invalidate_filter), list);
  gtk_box_append (GTK_BOX (box), entry);
  gtk_box_append (GTK_BOX (box), list);
  return box;
}
