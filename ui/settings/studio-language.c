/* Sets the locale for translations and keeps numbers in the C locale. */
#include "ui/settings/studio-language.h"

#include <gtk/gtk.h>
#include <libintl.h>
#include <locale.h>

#include "engine/loom.h"
#include "ui/scene/studio-format.h"

/* TRUE if a folder has a translation of Studio into one of the user's languages. */
static gboolean
has_words (const char *folder)
{
  const char *const *languages = g_get_language_names ();
  for (guint i = 0; languages[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (folder, languages[i], "LC_MESSAGES", STUDIO_TEXT_DOMAIN ".mo", NULL);
      if (g_file_test (path, G_FILE_TEST_EXISTS))
        return TRUE;
    }
  return FALSE;
}

/* Prefers the build folder, then the installation that the program runs from, which may have been moved. */
static char *
find_folder (void)
{
  static const char *const places[] = { "../../data/po", "../share/locale" };
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *program_folder = self != NULL ? g_path_get_dirname (self) : NULL;
  for (guint i = 0; i < G_N_ELEMENTS (places) && program_folder != NULL; i++)
    {
      g_autofree char *folder = g_build_filename (program_folder, places[i], NULL);
      if (has_words (folder))
        return g_steal_pointer (&folder);
    }
  return g_strdup (STUDIO_LOCALE_FOLDER);
}

void
studio_language_init (const char *folder)
{
  /* GTK would set the whole locale, including LC_NUMERIC. */
  gtk_disable_setlocale ();
  setlocale (LC_ALL, "");
  const struct lconv *numbers = localeconv ();
  const char *charset;
  g_get_charset (&charset);
  studio_format_set_locale_separators (numbers->decimal_point, numbers->thousands_sep, charset);
  setlocale (LC_NUMERIC, "C");

  g_autofree char *found = folder != NULL ? g_strdup (folder) : find_folder ();
  bindtextdomain (STUDIO_TEXT_DOMAIN, found);
  bind_textdomain_codeset (STUDIO_TEXT_DOMAIN, "UTF-8");
  textdomain (STUDIO_TEXT_DOMAIN);
  loom_faults_set_language (gettext);
}
