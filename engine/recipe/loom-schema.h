/* The RELAX NG schema of the graph file. */
#pragma once

#include <glib.h>

char *loom_schema (void); /* XML syntax (transfer full) */
