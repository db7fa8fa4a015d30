/* Implements studio-host-field.h. A host is not part of the graph: it is the run's, as the number of ranks is. */
#include "ui/run/studio-host-field.h"

#include <glib/gi18n.h>

#include "engine/runs/loom-run-host.h"

/* What is no host stays with the run, so that it can be corrected. */
#define WRONG "gradloom-wrong-host"

/* The text without spaces at its ends; NULL: this machine. (transfer full) */
static char *
dup_host (GtkWidget *field)
{
  g_autofree char *text = g_strstrip (gtk_combo_box_text_get_active_text (GTK_COMBO_BOX_TEXT (field)));

  return text == NULL || *text == '\0' || g_str_equal (text, _ ("This machine")) ? NULL : g_steal_pointer (&text);
}

char *
studio_host_field_dup_fault (GtkWidget *field)
{
  g_autofree char *host = dup_host (field);

  return host == NULL || loom_run_host_is_name (host)
             ? NULL
             : g_strdup_printf (_ ("“%s” is not a host. Type user@host, or a name of ~/.ssh/config."), host);
}

static void
changed_cb (GtkWidget *field, StudioRun *run)
{
  g_autofree char *host = dup_host (field);

  const gboolean is_wrong = host != NULL && !loom_run_host_is_name (host);

  g_object_set_data_full (G_OBJECT (run), WRONG, is_wrong ? g_strdup (host) : NULL, g_free);
  studio_run_set_host (run, is_wrong ? NULL : host);
}

GtkWidget *
studio_host_field_new (StudioRun *run)
{
  GtkWidget *field = gtk_combo_box_text_new_with_entry (), *entry = gtk_combo_box_get_child (GTK_COMBO_BOX (field));
  const char *wrong = g_object_get_data (G_OBJECT (run), WRONG);
  const char *host = wrong != NULL ? wrong : studio_run_get_host (run);
  g_auto (GStrv) hosts = loom_run_host_list ();

  gtk_combo_box_text_append_text (GTK_COMBO_BOX_TEXT (field), _ ("This machine"));
  for (guint i = 0; hosts[i] != NULL; i++)
    gtk_combo_box_text_append_text (GTK_COMBO_BOX_TEXT (field), hosts[i]);
  gtk_editable_set_text (GTK_EDITABLE (entry), host != NULL ? host : _ ("This machine"));
  gtk_editable_set_width_chars (GTK_EDITABLE (entry), 18);
  gtk_entry_set_placeholder_text (GTK_ENTRY (entry), _ ("This machine"));
  gtk_widget_set_tooltip_text (entry, _ ("The machine of the next run: user@host or a name of ~/.ssh/config, which ssh "
                                         "reaches without a password, with the same version of Gradloom. Graph and "
                                         "data go there by content."));
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Host"), -1);
  g_signal_connect_object (field, "changed", G_CALLBACK (changed_cb), run, 0);
  return field;
}
