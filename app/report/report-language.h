/* The language of a report: that of the user, as in Studio, which starts this program. */
#pragma once

#include <glib.h>

/* Finds the translations of the build, or of the installation that the program runs from. Numbers get the separators of
 * the user's locale. */
void report_language_init (void);
