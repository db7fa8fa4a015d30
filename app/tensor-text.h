/* A tensor's numbers as text, as print() of PyTorch and NumPy shows them. */
#pragma once

#include "engine/loom-run.h"

/* "[[1.5, −2.0],\n [0.0, 3.0]]": nested brackets, numbers of one width, four decimals of floats or powers of ten where
 * these would hide them. Of a dimension of a tensor with more than 1,000 elements the first and last three entries.
 * indent: the column in which it begins. (transfer full) */
char *tensor_to_text (const LoomTensor *t, guint indent);
/* An f64 tensor of a number or of nested lists, "[[1, 2.5], [-3, 4]]"; i64 if all numbers are integers. NULL without an
 * error if the text begins with neither; DATA if rows differ in length or it is not complete. */
LoomTensor *tensor_from_text (const char *text, GError **error);
