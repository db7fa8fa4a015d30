/* Texts of reports are in the catalogue of Studio. */
#include "app/report/report-language.h"

#include <libintl.h>
#include <locale.h>

#include "engine/loom-run.h"
#include "ui/scene/studio-format.h"

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
report_language_init (void)
{
  g_autofree char *folder = find_folder ();
  const struct lconv *numbers;
  const char *charset;

  setlocale (LC_NUMERIC, "");
  numbers = localeconv ();
  g_get_charset (&charset);
  studio_format_set_locale_separators (numbers->decimal_point, numbers->thousands_sep, charset);
  setlocale (LC_NUMERIC, "C");
  if (folder == NULL)
    return;
  bindtextdomain (DOMAIN, folder);
  bind_textdomain_codeset (DOMAIN, "UTF-8");
  textdomain (DOMAIN);
  loom_faults_set_language (gettext);
}
