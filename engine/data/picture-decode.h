/* Decodes PNG, JPEG, WebP and TIFF by their own libraries. Other formats are gdk-pixbuf's.
 *
 * From 2.44.1 on, gdk-pixbuf decodes in a sandbox that containers refuse; it ignores the orientation in PNG, and reads
 * WebP with a loader in another package. */
#pragma once

#include <glib.h>

typedef struct
{
  guint8 *pixels; /* rows of width · (3 or 4) bytes; g_free */
  int width, height;
  gboolean has_alpha;
  int orientation; /* of EXIF, 1 to 8; 0: there is none */
} PictureRaster;

/* Is called with the size before anything of it is allocated; FALSE ends decoding. */
typedef gboolean (*PictureReserve) (int width, int height, gpointer data);

/* TRUE if the bytes have one of these formats. */
gboolean picture_is_decoded_here (const guint8 *bytes, gsize n);
/* NULL, or why the picture is not read, the end of a sentence: "is truncated". (transfer full) Also if reserve() ended
 * it. */
char *picture_decode (const guint8 *bytes, gsize n, PictureRaster *out, PictureReserve reserve, gpointer data);

/* The same for a PNG whose pixels are values: out->pixels has one byte each, the index of a palette or the value of
 * grey. Colours that are all grey are values too. */
char *picture_decode_values (const guint8 *bytes, gsize n, PictureRaster *out, PictureReserve reserve, gpointer data);
/* Appends a PNG of values, one byte each, with a palette of 256 colours of three bytes; palette NULL: of colours, three
 * bytes each. NULL, or why not. */
char *picture_encode (const guint8 *pixels, int width, int height, const guint8 *palette, GByteArray *out);
