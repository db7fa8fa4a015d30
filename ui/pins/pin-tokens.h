/* Finds the tokens along an axis of a tensor, in the ports of data sets from which it is computed. */
#pragma once

#include "ui/pins/pin-subject.h"

/* The port of a data set with a row of tokens for each sample, B × T, whose tokens are along this axis, counted from
 * the last one; of several the nearest in the graph. For weights of attention rows are found from the queries, columns
 * from the keys. NULL: the axis counts no tokens. (transfer full) */
char *pin_tokens_port (const LoomNet *net, const char *tensor, const PinSubject *subject, gsize from_last);
/* All tokens of the vocabulary that an embedding looks up. (transfer full) */
char *pin_tokens_vocabulary (const LoomNet *net, const char *tensor);
