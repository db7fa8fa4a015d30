/* The values of a layer that is typed in one line: “conv 6 5x5 pad 2”. */
#pragma once

#include "engine/loom.h"

/* The words of a line before its first value: the layer's name (transfer full). *values: the rest of the line (transfer
 * full); NULL: there is none. The first word is always part of the name, and so is “2d”. */
char *studio_typed_layer_split (const char *text, char **values);

/* The parameters of an operator that these values set: names and values in turn, ending with NULL, each as it is
 * written in a file. A number sets the next required parameter, then the next optional one, in the order of the
 * operator's table; a word is a parameter's name or its beginning, with the value after it (“pad 2”, “stride=2”), and
 * alone or after “no” it sets a switch (“no bias”). NULL with a sentence in *wrong (transfer full): they do not fit. */
char **studio_typed_layer_parse (const LoomOp *op, const char *values, char **wrong);

/* Whether a text that is typed where this parameter is asked for begins another layer: a letter is no number. */
gboolean studio_typed_layer_begins_name (const LoomParamSpec *spec, const char *text);
