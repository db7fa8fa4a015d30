/* Formulas of operators as Pango markup. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Raised and lowered letters and digits of Unicode, which few fonts have all of, become ordinary ones between <sup> or
 * <sub>; the rest is escaped. (transfer full) */
char *studio_formula_markup (const char *formula);

G_END_DECLS
