/* Pictures as PNG files in memory, of grey or RGB bytes. */
#pragma once

#include <glib.h>

/* The bytes of a file. channels: 1 (grey) or 3 (RGB); rows: of each line a zero (no filter) and its pixels. (transfer
 * full) */
GByteArray *png_new (guint width, guint height, guint channels, const GByteArray *rows);
