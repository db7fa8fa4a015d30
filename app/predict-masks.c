/* Implements predict-masks.h. */
#include "app/predict-masks.h"

#include <errno.h>
#include <glib/gstdio.h>

#define FRACTION 0.5f /* of a class's colour over the picture */

void
predict_masks_clear (PredictMasks *self)
{
  g_clear_pointer (&self->folder, g_free);
  g_clear_pointer (&self->used, g_hash_table_unref);
}

/* The path of a picture's files without "-mask.png"; of pictures with one name the later ones get a number. */
static char *
name_files (PredictMasks *self, const char *file)
{
  g_autofree char *base = g_path_get_basename (file);
  char *dot = strrchr (base, '.'), *name;

  if (dot != NULL && dot != base)
    *dot = '\0';
  if (self->used == NULL)
    self->used = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  name = g_strdup (base);
  for (guint i = 2; !g_hash_table_add (self->used, g_strdup (name)); i++)
    {
      g_free (name);
      name = g_strdup_printf ("%s-%u", base, i);
    }
  char *path = g_build_filename (self->folder, name, NULL);
  g_free (name);
  return path;
}

static char *
write_file (const char *name, const char *ending, GBytes *bytes, GError **error)
{
  g_autofree char *path = g_strconcat (name, ending, NULL);
  gsize n = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &n) : NULL;

  if (data == NULL || !loom_file_replace (path, data, n, error))
    return NULL;
  return g_steal_pointer (&path);
}

/* The picture as floats [3, height, width]; NULL with DATA. */
static float *
read_picture (GBytes *bytes, const char *file, const LoomPictureFrame *frame, GError **error)
{
  const LoomPictureOptions options = { .fit = LOOM_FIT_STRETCH, .low = 0, .high = 1 };
  g_autofree float *rgb = g_new (float, 3 * (gsize)frame->width * (gsize)frame->height);
  g_autofree char *note = NULL;
  double border;

  if (!loom_picture_read (bytes, file, &options, 3, frame->height, frame->width, rgb, NULL, &border, &note, error))
    return NULL;
  return g_steal_pointer (&rgb);
}

/* Blends pixel i of a picture of `area` pixels with the colour of a class. */
static void
paint (float *rgb, gsize area, gsize i, guint klass, float fraction)
{
  for (gsize c = 0; c < 3; c++)
    {
      const float color = (float)(loom_picture_class_color (klass) >> (16 - 8 * c) & 255) / 255;

      rgb[c * area + i] += fraction * (color - rgb[c * area + i]);
    }
}

/* The picture with the colours of the classes over it, but those of class 0 and of what was cut off. */
static GBytes *
draw_over (GBytes *bytes, const char *file, const LoomPictureFrame *frame, const guint8 *mask, GError **error)
{
  const gsize area = (gsize)frame->width * (gsize)frame->height;
  g_autofree float *rgb = read_picture (bytes, file, frame, error);

  for (gsize i = 0; rgb != NULL && i < area; i++)
    if (mask[i] != 0 && mask[i] != LOOM_MASK_OUTSIDE)
      paint (rgb, area, i, mask[i], FRACTION);
  return rgb != NULL ? loom_picture_write (rgb, frame->height, frame->width, error) : NULL;
}

static gboolean
make_folder (const PredictMasks *self, GError **error)
{
  if (loom_path_make_folder (self->folder, 0777))
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be made: %s.", self->folder, g_strerror (errno));
  return FALSE;
}

char *
predict_masks_write (PredictMasks *self, const char *file, GBytes *bytes, const LoomPictureFrame *frame,
                     const LoomAnswer *answer, GError **error)
{
  int height = 0, width = 0;
  g_autofree guint8 *small = loom_answer_mask (answer, &height, &width);
  g_autofree guint8 *mask = NULL;
  g_autofree char *name = NULL, *over = NULL, *path = NULL;
  g_autoptr (GBytes) of_mask = NULL, of_over = NULL;

  if (small == NULL || frame->width == 0 || frame->to_x + frame->to_width > width
      || frame->to_y + frame->to_height > height)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "“%s” has no mask: --masks is for pictures, and for nets with a class at each of their pixels.",
                   file);
      return NULL;
    }
  if (!make_folder (self, error))
    return NULL;
  mask = loom_picture_frame_invert (frame, small, width);
  name = name_files (self, file);
  of_mask = loom_picture_write_mask (mask, frame->height, frame->width, error);
  of_over = of_mask != NULL ? draw_over (bytes, file, frame, mask, error) : NULL;
  over = write_file (name, "-over.png", of_over, error);
  path = over != NULL ? write_file (name, "-mask.png", of_mask, error) : NULL;
  return g_steal_pointer (&path);
}

/* ---- boxes ------------------------------------------------------------------- */

#define LINE 2 /* pixels */

void
predict_box (const LoomPictureFrame *frame, const double *detection, double box[4])
{
  const double sx = (double)frame->take_width / frame->to_width, sy = (double)frame->take_height / frame->to_height;

  for (int k = 0; k < 4; k++)
    box[k] = k % 2 == 0 ? (detection[k] - frame->to_x) * sx + frame->take_x
                        : (detection[k] - frame->to_y) * sy + frame->take_y;
}

/* The outline of a box, inside of it. */
static void
draw_box (float *rgb, const LoomPictureFrame *frame, const double box[4], guint klass)
{
  const int x1 = (int)CLAMP (box[0], 0, frame->width), y1 = (int)CLAMP (box[1], 0, frame->height);
  const int x2 = (int)CLAMP (box[2], 0, frame->width), y2 = (int)CLAMP (box[3], 0, frame->height);

  for (int y = y1; y < y2; y++)
    for (int x = x1; x < x2; x++)
      if (x < x1 + LINE || x >= x2 - LINE || y < y1 + LINE || y >= y2 - LINE)
        paint (rgb, (gsize)frame->width * (gsize)frame->height, (gsize)y * (gsize)frame->width + (gsize)x, klass, 1);
}

char *
predict_boxes_write (PredictMasks *self, const char *file, GBytes *bytes, const LoomPictureFrame *frame,
                     const LoomAnswer *answer, double least, GError **error)
{
  g_autofree float *rgb = NULL;
  g_autofree char *name = NULL;
  g_autoptr (GBytes) out = NULL;

  if (frame->width == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "“%s” is not a picture, so boxes cannot be drawn over it.",
                   file);
      return NULL;
    }
  rgb = make_folder (self, error) ? read_picture (bytes, file, frame, error) : NULL;
  for (gint64 k = 0; rgb != NULL && k < loom_dim_value (answer->shape.dim[0], NULL); k++)
    {
      const double *detection = answer->value + k * LOOM_DETECTION_NUMBERS;
      double box[4];

      predict_box (frame, detection, box);
      if (loom_answer_is_box (detection) && detection[4] >= least)
        draw_box (rgb, frame, box, (guint)CLAMP (detection[5], 0, 254) + 1);
    }
  out = rgb != NULL ? loom_picture_write (rgb, frame->height, frame->width, error) : NULL;
  name = out != NULL ? name_files (self, file) : NULL;
  return name != NULL ? write_file (name, "-over.png", out, error) : NULL;
}
