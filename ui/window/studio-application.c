/* The application is not unique on the session bus: two Studios in two terminals are two processes, so that in a
 * classroom with a shared session no window ends up in another user's process. */
#include "ui/window/studio-application.h"

#include <glib/gi18n.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "ui/shell/studio-commands.h"
#include "ui/page/studio-dump.h"
#include "ui/window/studio-shutdown.h"
#include "ui/window/studio-window.h"

struct _StudioApplication
{
  AdwApplication parent_instance;
};

G_DEFINE_TYPE (StudioApplication, studio_application, ADW_TYPE_APPLICATION)

static void
about_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  StudioApplication *self = data;
  static const char *const developers[] = { "The Gradloom authors", NULL };
  adw_show_about_window (gtk_application_get_active_window (GTK_APPLICATION (self)), "application-name",
                         "Gradloom Studio", "application-icon", "org.gradloom.Studio", "version", LOOM_VERSION,
                         "developer-name", "The Gradloom authors", "developers", developers, "license-type",
                         GTK_LICENSE_APACHE_2_0, "comments", _ ("Draw a network, watch it learn, run it anywhere."),
                         NULL);
}

static void
quit_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  /* Each window closes itself, because it asks about unsaved changes. */
  g_autoptr (GList) windows = g_list_copy (gtk_application_get_windows (GTK_APPLICATION (data)));
  for (GList *l = windows; l != NULL; l = l->next)
    if (STUDIO_IS_WINDOW (l->data))
      gtk_window_close (l->data);
}

static const GActionEntry app_actions[] = {
  { .name = "about", .activate = about_cb },
  { .name = "quit", .activate = quit_cb },
};

static void
label_cb (GtkWidget *button)
{
  gtk_accessible_reset_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL);
}

/* GTK 4.8 names a button with a mnemonic twice, “_Next Next”: by its text with the underscore, and by its label.
 * A button with a name of its own has no mnemonic. */
static gboolean
mapped_cb (GSignalInvocationHint *hint, guint n, const GValue *values, gpointer data)
{
  GtkWidget *widget = g_value_get_object (values);

  if (GTK_IS_BUTTON (widget) && gtk_button_get_use_underline (GTK_BUTTON (widget)))
    {
      label_cb (widget);
      g_signal_handlers_disconnect_by_func (widget, label_cb, NULL);
      g_signal_connect (widget, "notify::label", G_CALLBACK (label_cb), NULL);
    }
  return TRUE;
}

static void
application_startup (GApplication *application)
{
  G_APPLICATION_CLASS (studio_application_parent_class)->startup (application);
  gtk_window_set_default_icon_name ("org.gradloom.Studio");
  g_action_map_add_action_entries (G_ACTION_MAP (application), app_actions, G_N_ELEMENTS (app_actions), application);
  studio_window_add_commands ();
  studio_commands_set_keys (GTK_APPLICATION (application));
  studio_dump_on_signal (GTK_APPLICATION (application));
  g_type_class_unref (g_type_class_ref (GTK_TYPE_WIDGET)); /* makes its signals */
  g_signal_add_emission_hook (g_signal_lookup ("map", GTK_TYPE_WIDGET), 0, mapped_cb, NULL, NULL);
}

static StudioWindow *
new_window (GApplication *application)
{
  StudioWindow *window = studio_window_new (ADW_APPLICATION (application));
  gtk_window_present (GTK_WINDOW (window));
  return window;
}

static void
application_activate (GApplication *application)
{
  GtkWindow *window = gtk_application_get_active_window (GTK_APPLICATION (application));
  if (window != NULL)
    gtk_window_present (window);
  else
    new_window (application);
}

/* Opens all files in the most recently used window. */
static void
application_open (GApplication *application, GFile **files, int n_files, const char *hint)
{
  GtkWindow *window = gtk_application_get_active_window (GTK_APPLICATION (application));
  StudioWindow *studio = STUDIO_IS_WINDOW (window) ? STUDIO_WINDOW (window) : new_window (application);
  for (int i = 0; i < n_files; i++)
    studio_window_take_file (studio, files[i]);
}

static void
application_window_removed (GtkApplication *application, GtkWindow *window)
{
  GTK_APPLICATION_CLASS (studio_application_parent_class)->window_removed (application, window);
  studio_shutdown_begin (application);
}

static void
studio_application_class_init (StudioApplicationClass *klass)
{
  GApplicationClass *application_class = G_APPLICATION_CLASS (klass);

  /* Once, however many applications a test starts: newer GLib registers nothing twice. */
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  application_class->startup = application_startup;
  application_class->activate = application_activate;
  application_class->open = application_open;
  GTK_APPLICATION_CLASS (klass)->window_removed = application_window_removed;
}

static void
studio_application_init (StudioApplication *self)
{
}

StudioApplication *
studio_application_new (void)
{
  return g_object_new (STUDIO_TYPE_APPLICATION, "application-id", "org.gradloom.Studio", "resource-base-path",
                       "/org/gradloom/Studio", "flags", G_APPLICATION_HANDLES_OPEN | G_APPLICATION_NON_UNIQUE, NULL);
}
