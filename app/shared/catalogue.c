/* Finds the catalogue next to the program, so that a build and an unpacked archive have their own. */
#include "app/shared/catalogue.h"

#include <libintl.h>

#include "engine/loom-run.h"

#define DOMAIN "gradloom"

static char *
find_folder (void)
{
  static const char *const places[] = { "../data/po", "../share/locale", "../../share/locale" };
  g_autofree char *self = loom_path_link ("/proc/self/exe");
  g_autofree char *program_folder = self != NULL ? g_path_get_dirname (self) : NULL;

  for (guint i = 0; i < G_N_ELEMENTS (places) && program_folder != NULL; i++)
    {
      g_autofree char *folder = g_build_filename (program_folder, places[i], NULL);

      if (loom_path_is_folder (folder))
        return g_canonicalize_filename (folder, NULL);
    }
  return NULL;
}

void
catalogue_bind (void)
{
  g_autofree char *folder = find_folder ();

  if (folder == NULL)
    return;
  bindtextdomain (DOMAIN, folder);
  bind_textdomain_codeset (DOMAIN, "UTF-8");
  textdomain (DOMAIN);
  loom_faults_set_language (gettext);
}
