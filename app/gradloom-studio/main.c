/* gradloom-studio: opens the window, and files that are named. */
#include <glib.h>

#include "ui/window/studio-application.h"
#include "ui/window/studio-language.h"

int
main (int argc, char **argv)
{
  studio_language_init (NULL);
  g_set_application_name ("Gradloom Studio");
  g_set_prgname ("org.gradloom.Studio");
  g_autoptr (StudioApplication) application = studio_application_new ();
  return g_application_run (G_APPLICATION (application), argc, argv);
}
