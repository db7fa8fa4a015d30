/* Checks whether typed text is a value of a parameter. */
#pragma once

#include "engine/loom.h"

/* NULL if the text is a value of this parameter, an expression, or empty and there is a default; else a sentence. */
char *studio_param_check (const LoomParamSpec *spec, const char *text);

/* Whether its value is a number or several: also the padding of a convolution, which is a text since it may be “same”.
 */
gboolean studio_param_takes_numbers (const LoomParamSpec *spec);
