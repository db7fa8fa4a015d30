/* Declares how values of attributes are written, for parameters of nodes and attributes of <train>. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

gboolean loom_param_parse_bool (const char *text, gboolean *value);
gboolean loom_param_parse_int (const char *text, gint64 *value);
/* Decimal and finite: neither hexadecimal nor “inf”. */
gboolean loom_param_parse_float (const char *text, double *value);

G_END_DECLS
