#include "tests/ui/bench-window.h"

#include "gradloom-icons.h"
#include "gradloom-resources.h"

StudioWindow *
bench_window_open (int argc, char **argv)
{
  static AdwApplication *application; /* lives as long as the program */
  g_autoptr (GError) error = NULL;
  StudioWindow *window;

  if (argc < 2)
    {
      g_printerr ("%s GRAPH\n", argv[0]);
      exit (2);
    }
  if (g_getenv ("GRADLOOM_WORKER") == NULL)
    {
      g_autofree char *worker = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
      g_setenv ("GRADLOOM_WORKER", worker, TRUE);
    }
  g_set_application_name ("Gradloom Studio");
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  application = adw_application_new ("org.gradloom.Studio", G_APPLICATION_NON_UNIQUE);
  g_application_register (G_APPLICATION (application), NULL, NULL);
  window = studio_window_new (application);
  if (!studio_document_open (studio_window_get_document (window), argv[1], &error))
    {
      g_printerr ("%s\n", error->message);
      exit (1);
    }
  return window;
}

static gboolean
end_cb (gpointer data)
{
  *(gboolean *)data = TRUE;
  return G_SOURCE_REMOVE;
}

void
bench_run_for (guint ms)
{
  gboolean over = FALSE;

  g_timeout_add (ms, end_cb, &over);
  while (!over)
    g_main_context_iteration (NULL, TRUE);
}
