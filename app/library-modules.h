/* The modules that ship with the program (graphs/library), for `gradloom ops`. */
#pragma once

#include "engine/loom-run.h"

/* The text of the graph file that shows a module. NULL: there is no module of this name. (transfer full) */
char *library_module_text (const char *name);
/* What the module computes, its arguments and its ports. (transfer full) */
char *library_module_help (const char *name);
