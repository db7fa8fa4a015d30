/* Declares the entry for arbitrary bytes of weights. */
#pragma once

#include <glib.h>

/* Reads bytes as a file of weights, and as a pickle, and reads every tensor. Asserts that a refusal has a sentence. */
void fuzz_weights (const guint8 *data, gsize size);
