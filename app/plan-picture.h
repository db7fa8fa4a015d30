/* `gradloom plan --steps --picture FILE`: the memory along a step as a stacked picture, or as a table. */
#pragma once

#include <glib.h>

/* events: the lines of listing_append_steps(). file: .svg, .pdf, .png or .csv. Errors: IO if the program that draws is
 * missing; it prints its own errors, whose status *status receives. */
gboolean plan_picture_write (const GString *events, const char *file, int *status, GError **error);
