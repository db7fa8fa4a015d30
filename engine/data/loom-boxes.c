/* Implements loom-boxes.h. */
#include "engine/data/loom-boxes.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"

#define OVERLAP 0.7 /* IoU that a box moved by the radius still has, as in the paper's code */

gboolean
loom_boxes_describe (const LoomBoxes *self, const LoomDatasetClass *klass, const gint64 dims[3], LoomDatasetInfo *info,
                     GError **error)
{
  const gint64 boxes[] = { self->most, LOOM_BOX_NUMBERS };
  const gint64 heat[] = { self->n_classes, dims[1] / self->stride, dims[2] / self->stride };
  const gint64 size[] = { LOOM_BOX_NUMBERS, heat[1], heat[2] };

  if (dims[1] % self->stride != 0 || dims[2] % self->stride != 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   "The data set %s has pictures of %" G_GINT64_FORMAT " × %" G_GINT64_FORMAT
                   ", which cells of %" G_GINT64_FORMAT " pixels do not divide. Set size to a multiple of stride.",
                   klass->name, dims[2], dims[1], self->stride);
      return FALSE;
    }
  loom_info_add_port (info, "y", LOOM_F32, 2, boxes);
  loom_info_add_port (info, "heat", LOOM_F32, 3, heat);
  loom_info_add_port (info, "size", LOOM_F32, 3, size);
  return TRUE;
}

gboolean
loom_boxes_set (float *boxes, gint64 at, gint64 klass, const double box[4], gint64 width, gint64 height)
{
  const double x1 = CLAMP (box[0], 0, (double)width), y1 = CLAMP (box[1], 0, (double)height);
  const double x2 = CLAMP (box[2], 0, (double)width), y2 = CLAMP (box[3], 0, (double)height);
  const float row[] = { (float)klass, (float)x1, (float)y1, (float)x2, (float)y2 };

  if (!(x2 - x1 >= 1) || !(y2 - y1 >= 1))
    return FALSE;
  memcpy (boxes + at * LOOM_BOX_NUMBERS, row, sizeof row);
  return TRUE;
}

/* The largest shift of both corners, outwards or inwards, after which a box of these sides overlaps the first with an
 * IoU of at least OVERLAP (Law and Deng, "CornerNet", 2018, section 3.2): the smallest root of three quadratic
 * equations. */
static double
radius_of (double width, double height)
{
  const double sum = width + height, area = width * height, o = OVERLAP;
  const double one = (sum - sqrt (sum * sum - 4 * area * (1 - o) / (1 + o))) / 2;
  const double two = (2 * sum - sqrt (4 * sum * sum - 16 * area * (1 - o))) / 8;
  const double three = (-2 * o * sum + sqrt (4 * o * o * sum * sum + 16 * o * area * (1 - o))) / (8 * o);

  return MIN (one, MIN (two, three));
}

/* A peak of 1 at a cell; where peaks meet, the larger value stays. */
static void
draw_peak (float *plane, gint64 height, gint64 width, gint64 column, gint64 row, double radius)
{
  const gint64 reach = (gint64)MAX (radius, 0);
  const double sigma = (2 * (double)reach + 1) / 6;

  for (gint64 y = MAX (row - reach, 0); y <= MIN (row + reach, height - 1); y++)
    for (gint64 x = MAX (column - reach, 0); x <= MIN (column + reach, width - 1); x++)
      {
        const double d2 = (double)((x - column) * (x - column) + (y - row) * (y - row));
        float *value = plane + y * width + x;

        *value = MAX (*value, (float)exp (-d2 / (2 * sigma * sigma)));
      }
}

void
loom_boxes_draw (const LoomBoxes *self, const float *boxes, gint64 height, gint64 width, float *heat, float *size)
{
  const gint64 h = height / self->stride, w = width / self->stride, area = h * w;
  const float s = (float)self->stride;

  memset (heat, 0, (gsize)(self->n_classes * area) * sizeof *heat);
  memset (size, 0, (gsize)(LOOM_BOX_NUMBERS * area) * sizeof *size);
  for (gint64 i = 0; i < self->most; i++)
    {
      const float *box = boxes + i * LOOM_BOX_NUMBERS;
      const float bw = (box[3] - box[1]) / s, bh = (box[4] - box[2]) / s;
      const float cx = (box[1] + box[3]) / (2 * s), cy = (box[2] + box[4]) / (2 * s);
      const gint64 column = CLAMP ((gint64)cx, 0, w - 1), row = CLAMP ((gint64)cy, 0, h - 1);
      const float values[] = { cx - (float)column, cy - (float)row, bw, bh, 1 };

      if (box[0] < 0 || box[0] >= (float)self->n_classes)
        continue;
      draw_peak (heat + (gint64)box[0] * area, h, w, column, row, radius_of (bw, bh));
      for (gint64 k = 0; k < LOOM_BOX_NUMBERS; k++)
        size[k * area + row * w + column] = values[k];
    }
}
