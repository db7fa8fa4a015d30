/* The sentences of a check of gradients. */
#pragma once

#include <glib.h>

/* The result for the layers that were compared, of which n_wrong differ, and those that were left out. worst: about the
 * first layer that differs, a sentence. (transfer full) */
char *gradient_text_result (guint n_compared, guint n_wrong, guint n_left, const char *worst);
