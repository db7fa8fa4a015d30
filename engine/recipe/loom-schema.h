/* The RELAX NG schema of the graph file. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

char *loom_schema (void); /* XML syntax (transfer full) */

G_END_DECLS
