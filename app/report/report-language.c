/* Texts of reports are in the catalogue of Studio. */
#include "app/report/report-language.h"

#include <locale.h>

#include "app/shared/catalogue.h"
#include "ui/scene/studio-format.h"

void
report_language_init (void)
{
  const struct lconv *numbers;
  const char *charset;

  setlocale (LC_NUMERIC, "");
  numbers = localeconv ();
  g_get_charset (&charset);
  studio_format_set_locale_separators (numbers->decimal_point, numbers->thousands_sep, charset);
  setlocale (LC_NUMERIC, "C");
  catalogue_bind ();
}
