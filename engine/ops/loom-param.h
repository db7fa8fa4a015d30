/* How the values of attributes are written: what a node's parameters and the attributes of <train> have in common. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

gboolean loom_param_parse_bool (const char *text, gboolean *value);
gboolean loom_param_parse_int (const char *text, gint64 *value);
/* Decimal and finite: no hexadecimal, no “inf”. */
gboolean loom_param_parse_float (const char *text, double *value);

G_END_DECLS
