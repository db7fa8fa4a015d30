#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The separators of the user's locale, for all numbers below; NULL: points, and groups of thousands by commas. Numbers
 * in files, formulas and fields are none of these: they have the C locale's points in every language. */
void studio_format_set_separators (const char *decimal_point, const char *group_separator);
/* The same from a locale's own words, in its encoding ("ISO-8859-1"); what cannot be converted is left at the default.
 */
void studio_format_set_locale_separators (const char *decimal_point, const char *group_separator, const char *charset);
/* A number that printf() wrote, with a true minus sign and the user's decimal point. */
char *studio_format_local (const char *number);
/* The value of a tick: as many decimals as tell it from the next, `step` away. */
char *studio_format_tick (double value, double step);
/* A number for people: four significant figures, no trailing noise. */
char *studio_format_number (double value);
/* 61,706: counts for people. */
char *studio_format_count (double count);

G_END_DECLS
