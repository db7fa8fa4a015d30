/* Values of a Summary, as TensorBoard draws them: numbers, histograms, pictures. */
#pragma once

#include "app/board-file.h"

/* Append a value with a tag to a Summary. A tensor without finite elements has no histogram. */
void board_add_scalar (GByteArray *summary, const char *tag, double value);
void board_add_histogram (GByteArray *summary, const char *tag, const LoomTensor *t);
/* One picture of a tensor [N,C,H,W]: up to four samples side by side, in colour if C is 3, else its channels below each
 * other in grey; the least element is black, the greatest white. FALSE, and nothing is added, for other tensors. */
gboolean board_add_picture (GByteArray *summary, const char *tag, const LoomTensor *t);
