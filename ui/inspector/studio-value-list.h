/* Several values that are typed into the field of a number, "16, 32, 64", each to be trained with once. */
#pragma once

#include "ui/inspector/studio-value.h"

/* The values as they are written to the file. NULL: the text is no list, or a value of it is invalid; then *wrong is a
 * sentence. A parameter that is no single number has no list. (transfer full) */
char **studio_value_list_read (const LoomParamSpec *spec, const char *text, char **wrong);
