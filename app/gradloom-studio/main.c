/* gradloom-studio: opens a window for each file on the command line. */
#include <glib.h>

#include "app/shared/truncated.h"
#include "engine/loom.h"
#include "ui/window/studio-application.h"
#include "ui/settings/studio-language.h"

int
main (int argc, char **argv)
{
  g_autoptr (GError) truncated = g_error_new_literal (LOOM_ERROR, LOOM_ERROR_IO, "");
  truncated_exit_with ("gradloom-studio", loom_error_exit_status (truncated));
  studio_language_init (NULL);
  g_set_application_name ("Gradloom Studio");
  g_set_prgname ("org.gradloom.Studio");
  g_autoptr (StudioApplication) application = studio_application_new ();
  return g_application_run (G_APPLICATION (application), argc, argv);
}
