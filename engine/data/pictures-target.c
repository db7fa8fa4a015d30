/* Implements pictures-target.h. */
#include "engine/data/pictures-target.h"

#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-os.h"

static gboolean
check_values (const char *path, const gint64 class_of[256], const gint64 counts[256], GError **error)
{
  guint n = 0;

  for (guint v = 0; v < 256; v++)
    n += class_of[v] >= 0 ? 1 : 0;
  for (guint v = 0; v < 256; v++)
    if (counts[v] > 0 && class_of[v] < LOOM_TARGET_IGNORED)
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                     "The mask “%s” has the value %u, which is none of the %u classes. Add a class, or set "
                     "ignore=\"%u\" if such pixels have none.",
                     path, v, n, v);
        return FALSE;
      }
  return TRUE;
}

gboolean
pictures_mask_read (const char *path, const char *picture, LoomPictureFit fit, int size, const gint64 class_of[256],
                    const LoomPictureFrame *frame, guint8 *to, GError **error)
{
  g_autofree char *content = NULL;
  g_autoptr (GError) cause = NULL;
  gint64 counts[256] = { 0 };
  LoomPictureFrame own;
  gsize length;

  if (!loom_path_read (path, &content, &length, &cause))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
      return FALSE;
    }
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_steal_pointer (&content), length);
  if (!loom_picture_read_mask (bytes, path, fit, size, size, to, &own, counts, error))
    return FALSE;
  for (int i = 0; i < size * size; i++)
    if (loom_picture_frame_has (&own, i % size, i / size))
      to[i] = class_of[to[i]] < 0 ? LOOM_MASK_OUTSIDE : (guint8)class_of[to[i]];
  if (own.width == frame->width && own.height == frame->height)
    return check_values (path, class_of, counts, error);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
               "The mask “%s” has %d × %d pixels, but its picture “%s” has %d × %d.", path, own.width, own.height,
               picture, frame->width, frame->height);
  return FALSE;
}

void
pictures_boxes_place (const float *boxes, guint n, const LoomPictureFrame *frame, gint64 size, gint64 most, float *to)
{
  const double sx = (double)frame->to_width / frame->take_width, sy = (double)frame->to_height / frame->take_height;
  gint64 kept = 0;

  for (guint i = 0; i < n; i++)
    {
      const float *from = boxes + i * LOOM_BOX_NUMBERS;
      const double box[] = { ((double)from[1] - frame->take_x) * sx + frame->to_x,
                             ((double)from[2] - frame->take_y) * sy + frame->to_y,
                             ((double)from[3] - frame->take_x) * sx + frame->to_x,
                             ((double)from[4] - frame->take_y) * sy + frame->to_y };

      kept += loom_boxes_set (to, kept, (gint64)from[0], box, size, size) ? 1 : 0;
    }
  memset (to + kept * LOOM_BOX_NUMBERS, 0, (gsize)(most - kept) * LOOM_BOX_NUMBERS * sizeof *to);
  for (gint64 i = kept; i < most; i++)
    to[i * LOOM_BOX_NUMBERS] = LOOM_BOX_NONE;
}
