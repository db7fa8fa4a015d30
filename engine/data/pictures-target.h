/* Masks and boxes of pictures, resized as their pictures are. */
#pragma once

#include "engine/data/loom-boxes.h"
#include "engine/data/loom-picture.h"

/* Reads the mask of a picture into to, [size, size]: the class of each pixel, LOOM_MASK_OUTSIDE for none. class_of: as
 * loom_pictures_set_values(). frame: of the picture, which must have the mask's size. DATA, IO. */
gboolean pictures_mask_read (const char *path, const char *picture, LoomPictureFit fit, int size,
                             const gint64 class_of[256], const LoomPictureFrame *frame, guint8 *to, GError **error);
/* Moves n boxes [n,5] from pixels of a file's picture to those of the result, to [most,5]; those of which too little is
 * left are left out, and rows without a box have LOOM_BOX_NONE and zeros. */
void
pictures_boxes_place (const float *boxes, guint n, const LoomPictureFrame *frame, gint64 size, gint64 most, float *to);
