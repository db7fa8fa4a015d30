/* Converts formulas of operators to Pango markup. */
#pragma once

#include <glib.h>

/* Superscript and subscript characters of Unicode become ordinary ones in <sup> or <sub>; the rest is escaped.
 * (transfer full) */
char *studio_formula_markup (const char *formula);
