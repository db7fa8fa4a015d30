/* Declares how values of attributes are written, for parameters of nodes and attributes of <train>. */
#pragma once

#include <glib.h>

#include "engine/core/loom-range.h"

gboolean loom_param_parse_bool (const char *text, gboolean *value);
gboolean loom_param_parse_int (const char *text, gint64 *value);
/* Decimal and finite: neither hexadecimal nor “inf”. */
gboolean loom_param_parse_float (const char *text, double *value);

/* The first fields of a LoomParamSpec: { LOOM_PARAM ("dim", INT, "-1"), LOOM_RANGE (-8, 7), .doc = "…" }. DEFAULT is its
 * `def`; in the second form a required parameter has the value FRESH in a new node. */
#define LOOM_PARAM(NAME, TYPE, DEFAULT)     .name = NAME, .type = LOOM_PARAM_##TYPE, .def = DEFAULT
#define LOOM_PARAM_FRESH(NAME, TYPE, FRESH) .name = NAME, .type = LOOM_PARAM_##TYPE, .fresh = FRESH
