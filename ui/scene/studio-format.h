#pragma once

#include <glib.h>

/* Sets the separators of the user's locale for the functions below; NULL: points, and commas between thousands. Files,
 * formulas and entries use the C locale instead. */
void studio_format_set_separators (const char *decimal_point, const char *group_separator);
/* The same from strings in the locale's encoding ("ISO-8859-1"); a string that cannot be converted keeps the default.
 */
void studio_format_set_locale_separators (const char *decimal_point, const char *group_separator, const char *charset);
/* Takes the output of printf() and gives it a true minus sign and the user's decimal point. */
char *studio_format_local (const char *number);
/* The label of an axis tick, with enough decimals for a distance of `step`. */
char *studio_format_tick (double value, double step);
/* Four significant figures without trailing zeros. */
char *studio_format_number (double value);
/* With separators: 61,706. */
char *studio_format_count (double count);
