/* Decodes TIFF with libtiff, for picture-decode.c.
 *
 * gdk-pixbuf reads neither tiles nor files above 4 GiB (BigTIFF), and takes the first of several pages without a
 * word. */
#pragma once

#include "engine/data/picture-decode.h"

/* TRUE if the bytes begin as those of a TIFF, in either byte order. */
gboolean picture_is_tiff (const guint8 *bytes, gsize n);
/* As picture_decode(). Values of 16 bits are scaled to 8, CMYK becomes RGB; floats, several pages and channels that are
 * neither colours nor transparency are refused. */
char *picture_decode_tiff (const guint8 *bytes, gsize n, PictureRaster *out, PictureReserve reserve, gpointer data);
