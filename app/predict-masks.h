/* Writes the masks and boxes that a net predicts for pictures, as files. */
#pragma once

#include "app/commands.h"

/* The files of one `predict`. */
typedef struct
{
  char *folder;     /* NULL: none are written */
  GHashTable *used; /* names without endings */
} PredictMasks;

/* Writes NAME-mask.png, with a palette and in the size of the picture, and NAME-over.png, the picture with the mask
 * over it, into the folder, which is made if need be. file, bytes, frame: the picture. answer: its prediction. Returns
 * the mask's path, to be freed. SHAPE if the prediction has no class at every pixel; IO. */
char *predict_masks_write (PredictMasks *self, const char *file, GBytes *bytes, const LoomPictureFrame *frame,
                           const LoomAnswer *answer, GError **error);
/* The four corners of a detection, in pixels of the file's picture. */
void predict_box (const LoomPictureFrame *frame, const double *detection, double box[4]);
/* Writes NAME-over.png, the picture with the boxes of detections with a score of at least `least`, and returns its
 * path. Errors as above. */
char *predict_boxes_write (PredictMasks *self, const char *file, GBytes *bytes, const LoomPictureFrame *frame,
                           const LoomAnswer *answer, double least, GError **error);
void predict_masks_clear (PredictMasks *self);
