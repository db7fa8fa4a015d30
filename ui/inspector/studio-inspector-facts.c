/* The rows of values that are not edited: types of outputs, costs, and the ends of a wire. Their labels change with the
 * net, and the rows stay. */
#include "ui/inspector/studio-inspector-private.h"

#include <adwaita.h>
#include <string.h>

/* A value that is not edited. */
typedef struct
{
  GtkWidget *row, *label;
  char *doc;
} InspectorFact;

void
inspector_fact_free (gpointer data)
{
  InspectorFact *fact = data;

  g_free (fact->doc);
  g_free (fact);
}

static void
add_fact (GtkWidget *group, GPtrArray *rows, const char *title, const char *value, const char *doc)
{
  InspectorFact *fact = g_new (InspectorFact, 1);
  GtkWidget *row = adw_action_row_new (), *label = gtk_label_new (value);

  *fact = (InspectorFact){ row, label, g_strdup (doc) };
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_label_set_justify (GTK_LABEL (label), GTK_JUSTIFY_RIGHT);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_width_chars (GTK_LABEL (label), MIN (18, (int)g_utf8_strlen (value, -1)));
  gtk_widget_add_css_class (label, "numeric");
  gtk_widget_set_can_focus (label, FALSE);
  inspector_explain (row, doc);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), label);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
  g_ptr_array_add (rows, fact);
}

void
inspector_clear_facts (GtkWidget *group, GPtrArray *rows, guint from)
{
  for (guint i = from; i < rows->len; i++)
    adw_preferences_group_remove (ADW_PREFERENCES_GROUP (group), ((InspectorFact *)rows->pdata[i])->row);
  g_ptr_array_set_size (rows, (int)MIN (from, rows->len));
}

void
inspector_put_fact (GtkWidget *group, GPtrArray *rows, guint at, const char *title, const char *value, const char *doc)
{
  const InspectorFact *fact = at < rows->len ? rows->pdata[at] : NULL;

  if (fact == NULL || g_strcmp0 (fact->doc, doc) != 0)
    {
      inspector_clear_facts (group, rows, at);
      add_fact (group, rows, title, value, doc);
      return;
    }
  if (strcmp (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (fact->row)), title) != 0)
    adw_preferences_row_set_title (ADW_PREFERENCES_ROW (fact->row), title);
  if (strcmp (gtk_label_get_text (GTK_LABEL (fact->label)), value) == 0)
    return;
  gtk_label_set_text (GTK_LABEL (fact->label), value);
  gtk_label_set_width_chars (GTK_LABEL (fact->label), MIN (18, (int)g_utf8_strlen (value, -1)));
}
