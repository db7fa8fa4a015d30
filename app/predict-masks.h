/* Writes the masks that a net predicts for pictures, as files. */
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
void predict_masks_clear (PredictMasks *self);
