/* Decodes pictures from files. The only user of gdk-pixbuf.
 *
 * An image library decodes bytes of red, green, blue and perhaps alpha; a net reads [C,H,W] in the range and at the
 * size of the pictures that it was trained on. */
#pragma once

#include <glib.h>

typedef enum
{
  LOOM_FIT_STRETCH, /* both sides get the requested size; proportions may change */
  LOOM_FIT_CROP,    /* the smaller side fits; the middle of the larger side is used */
  LOOM_FIT_PAD,     /* the larger side fits; the rest is filled with the colour of the border */
  LOOM_N_FITS
} LoomPictureFit;

extern const char *const loom_picture_fits[]; /* "stretch", "crop", "pad", NULL */

/* How a picture of a file becomes one of another size, in pixels: its part take_* is scaled to the part to_* of the
 * result; what is left of the result is padding. */
typedef struct
{
  int width, height; /* of the file's picture; 0: there is none */
  int take_x, take_y, take_width, take_height;
  int to_x, to_y, to_width, to_height;
} LoomPictureFrame;

/* TRUE for pixels of the result that are no padding. */
gboolean loom_picture_frame_has (const LoomPictureFrame *self, int x, int y);

typedef struct
{
  LoomPictureFit fit;
  gboolean invert;  /* black becomes white */
  double low, high; /* values of black and white */
} LoomPictureOptions;

/* Decodes a picture (PNG, JPEG, WebP and the formats of gdk-pixbuf) into to, [channels, height, width] with 1 channel
 * (grey, by the weights of ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B), 3 (RGB) or 4 (RGBA). The orientation that a
 * camera stored is applied, and transparent pixels are blended with white. *frame (may be NULL): its size, and how it
 * was resized. *border: the mean of the outermost pixels, from 0 to 1, after inversion. *note: what else was changed
 * ("resized from 640 × 480"), or NULL. DATA if it is no picture, or has more than 100 million pixels. name: for errors.
 */
gboolean
loom_picture_read (GBytes *bytes, const char *name, const LoomPictureOptions *options, gint64 channels, gint64 height,
                   gint64 width, float *to, LoomPictureFrame *frame, double *border, char **note, GError **error);

#define LOOM_MASK_OUTSIDE 255 /* the value of a mask's padding */

/* Reads a mask, a picture whose pixels are classes: a PNG with a palette (the index is the class), grey of up to 8 bits
 * (the value is the class), or colours that are grey. Its pixel nearest to the middle of each pixel of to, [height,
 * width], is taken (PIL's NEAREST). *frame: its size, and how it was resized. counts (may be NULL): the number of
 * pixels of each value in the whole mask is added. DATA if it has colours without a palette, 16 bits, or is no PNG. */
gboolean loom_picture_read_mask (GBytes *bytes, const char *name, LoomPictureFit fit, int height, int width, guint8 *to,
                                 LoomPictureFrame *frame, gint64 counts[256], GError **error);
/* A mask [.., width] of the result as one of the file's picture, [self->height, self->width], by the nearest pixel;
 * what was cut off is LOOM_MASK_OUTSIDE. (transfer full) */
guint8 *loom_picture_frame_invert (const LoomPictureFrame *self, const guint8 *mask, int width);
/* A PNG of a picture [3, height, width] with values from 0 to 1. NULL with IO. (transfer full) */
GBytes *loom_picture_write (const float *rgb, int height, int width, GError **error);
/* A PNG with a palette of classes, values [height, width]. NULL with IO. (transfer full) */
GBytes *loom_picture_write_mask (const guint8 *values, int height, int width, GError **error);
/* The colour of class k in the palette of masks, 0xRRGGBB: that of the PASCAL VOC development kit (VOClabelcolormap.m),
 * as torchvision's references use it; 0 is black. */
guint32 loom_picture_class_color (guint k);
