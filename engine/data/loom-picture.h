/* Decodes pictures from files. The only user of gdk-pixbuf.
 *
 * An image library decodes bytes of red, green, blue and perhaps alpha; a net reads [C,H,W] in the range and at the
 * size of the pictures that it was trained on. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  LOOM_FIT_STRETCH, /* both sides get the requested size; proportions may change */
  LOOM_FIT_CROP,    /* the smaller side fits; the middle of the larger side is used */
  LOOM_FIT_PAD,     /* the larger side fits; the rest is filled with the colour of the border */
  LOOM_N_FITS
} LoomPictureFit;

extern const char *const loom_picture_fits[]; /* "stretch", "crop", "pad", NULL */

typedef struct
{
  LoomPictureFit fit;
  gboolean invert;  /* black becomes white */
  double low, high; /* values of black and white */
} LoomPictureOptions;

/* Decodes a picture (PNG, JPEG, WebP and the formats of gdk-pixbuf) into to, [channels, height, width] with 1 channel
 * (grey, by the weights of ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B), 3 (RGB) or 4 (RGBA). The orientation that a
 * camera stored is applied, and transparent pixels are blended with white. *border: the mean of the outermost pixels,
 * from 0 to 1, after inversion. *note: what else was changed ("resized from 640 × 480"), or NULL. DATA if it is no
 * picture, or has more than 100 million pixels. name: for errors. */
gboolean loom_picture_read (GBytes *bytes, const char *name, const LoomPictureOptions *options, gint64 channels,
                            gint64 height, gint64 width, float *to, double *border, char **note, GError **error);

G_END_DECLS
