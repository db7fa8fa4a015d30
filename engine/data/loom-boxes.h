/* Boxes of objects in pictures, and the maps that a detector without anchors learns from them.
 *
 * A data set with boxes has the ports x; y, f32 [B,M,5]: class, x1, y1, x2, y2 in pixels of x, where the left edge of
 * the first pixel is 0, then crowds (LOOM_BOX_CROWD), difficult objects and rows of class −1; heat, f32 [B,C,H/s,W/s]:
 * 1 at the cell with an object's centre, falling around it; and size, f32 [B,5,H/s,W/s]: at those cells the centre
 * within the cell and the width and height, all in cells, then 1; 0 elsewhere (Zhou, Wang and Krähenbühl, "Objects as
 * points", 2019). */
#pragma once

#include "engine/data/loom-augment.h"

#define LOOM_BOX_NUMBERS 5 /* of a box */
#define LOOM_BOX_NONE    (-1.0f)
/* The class in a row of boxes that is an object hard to recognise: nothing is learnt of it, and detections of it do not
 * count. Its own inverse. */
#define LOOM_BOX_DIFFICULT(klass) (LOOM_BOX_MOST_CROWD - (klass))
#define LOOM_BOX_MOST_CROWD       (-1000000)

/* clang-format off */
#define LOOM_BOXES_PARAMS                                                                                      \
  { .name = "stride", .type = LOOM_DATASET_INT, .def = "4", .minimum = 1, .maximum = 64,                       \
    .doc = "With boxes: the side in pixels of a cell of the ports heat and size." }
/* clang-format on */

/* Adds y, heat and size. dims: C, H, W of x. SCHEMA if the stride does not divide
 * the sides. */
gboolean loom_boxes_describe (const LoomBoxes *self, const LoomDatasetClass *klass, const gint64 dims[3],
                              LoomDatasetInfo *info, GError **error);
/* Writes a box into row `at` of the boxes [M,5] of a sample, which is cut at the picture's edges. FALSE if less than a
 * pixel's width or height is left. */
gboolean loom_boxes_set (float *boxes, gint64 at, gint64 klass, const double box[4], gint64 width, gint64 height);
/* Fills heat [C,h,w] and size [5,h,w] of a sample from its boxes [M,5]. */
void loom_boxes_draw (const LoomBoxes *self, const float *boxes, gint64 height, gint64 width, float *heat, float *size);
