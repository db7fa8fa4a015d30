/* Elements of the SVG pictures that commands draw. */
#pragma once

#include <glib.h>

/* Appends <text> at x, y, in user units; style is attributes ("text-anchor=\"middle\""). The formatted text is escaped.
 */
void svg_add_text (GString *to, double x, double y, const char *style, const char *format, ...) G_GNUC_PRINTF (5, 6);
/* Writes a coordinate with at most two decimals into buffer, of G_ASCII_DTOSTR_BUF_SIZE, and returns it. */
const char *svg_coordinate (double value, char *buffer);
