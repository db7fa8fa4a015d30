/* Draws images in rows, each with its class and the predicted one; for models that output images, both images; if
 * pixels have classes, or objects have boxes, the image with the target over it, and that with the prediction. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/task/task-private.h"

#define CELL     86  /* minimum width */
#define PAIR     116 /* the same for a sample with a predicted image */
#define PAIR_GAP 2
#define GAP      8

typedef struct
{
  guint columns;
  double width, height, image; /* of a cell, and the side of the square that contains the image */
} Cells;

/* The net predicts as many numbers as an image has: an autoencoder. */
static gboolean
answers_images (const StudioTaskPicture *p)
{
  return p->answered && p->kind >= LOOM_ANSWER_YES && p->n_positions * p->n_classes == p->data->x_size;
}

static gboolean
answers_masks (const StudioTaskPicture *p)
{
  return p->answered && task_is_map (p) && p->n_positions == p->data->y_size;
}

static gboolean
answers_boxes (const StudioTaskPicture *p)
{
  return p->answered && task_has_boxes (p) && p->kind == LOOM_ANSWER_VALUES;
}

/* A predicted image is next to the sample, and both are smaller, so that two pairs fit into a narrow pane. */
static Cells
cells_of (const StudioTaskPicture *p, double width, double scale)
{
  const gboolean pairs = answers_images (p) || answers_masks (p) || answers_boxes (p);
  const double least = (pairs ? PAIR : CELL) * scale;
  Cells c;

  c.columns = (guint)MAX (1, floor ((width + GAP) / (least + GAP)));
  c.width = (width - GAP * (c.columns - 1)) / c.columns;
  c.image = pairs ? (c.width - PAIR_GAP) / 2 : c.width;
  c.height = c.image + (pairs ? 1 : 2) * task_line_height (scale) + GAP;
  return c;
}

#define OVER 0.55 /* of a class's colour over the image */

/* A colour of 0xRRGGBB with that of a class over it. */
static guint32
blend (const TaskDrawing *d, guint32 rgb, guint class)
{
  const StudioColor color = task_class_color (d, class);
  const double over[] = { color.red, color.green, color.blue };
  guint32 out = 0xff;

  for (int k = 0; k < 3; k++)
    {
      const double v = (rgb >> (16 - 8 * k) & 255) / 255.;

      out = out << 8 | (guint32)lround (255 * (v + OVER * (over[k] - v)));
    }
  return out;
}

/* mask: the class of each pixel, of which the first and ignored ones are not drawn; NULL: no mask. */
static void
draw_image (const TaskDrawing *d, const float *value, const float *mask, double x, double y, double side)
{
  const StudioTaskData *data = d->picture->data;
  const int channels = data->rank == 3 ? (int)data->dim[0] : 1;
  const int height = (int)data->dim[data->rank - 2], width = (int)data->dim[data->rank - 1];
  float least = INFINITY, most = -INFINITY;

  for (guint i = 0; i < data->x_size; i++)
    {
      least = MIN (least, value[i]);
      most = MAX (most, value[i]);
    }
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_RGB24, width, height);
  cairo_surface_flush (image);
  for (int r = 0; r < height; r++)
    {
      guint32 *line = (guint32 *)(void *)(cairo_image_surface_get_data (image)
                                          + (gsize)r * cairo_image_surface_get_stride (image));
      for (int c = 0; c < width; c++)
        {
          guint32 rgb = 0xff;
          for (int k = 0; k < 3; k++)
            {
              float v = value[((channels == 3 ? k : 0) * height + r) * width + c];
              rgb = rgb << 8 | (guint32)lroundf (most > least ? 255 * (v - least) / (most - least) : 0);
            }
          const float class = mask != NULL ? mask[r * width + c] : 0;
          line[c] = class >= 1 ? blend (d, rgb, (guint) class) : rgb;
        }
    }
  cairo_surface_mark_dirty (image);
  const double zoom = side / MAX (width, height);
  cairo_save (d->cr);
  cairo_translate (d->cr, x + (side - zoom * width) / 2, y + (side - zoom * height) / 2);
  cairo_scale (d->cr, zoom, zoom);
  cairo_set_source_surface (d->cr, image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (d->cr), CAIRO_FILTER_NEAREST);
  cairo_paint (d->cr);
  cairo_restore (d->cr);
  cairo_surface_destroy (image);
}

/* The outlines of n boxes over an image of draw_image(): `size` numbers each, with x1, y1, x2, y2 from `first` on, and
 * the class at `class`; those of a class below 0 are left out. */
static void
draw_boxes (const TaskDrawing *d, const float *box, guint n, guint size, guint first, guint class, double x, double y,
            double side)
{
  const StudioTaskData *data = d->picture->data;
  const double height = (double)data->dim[data->rank - 2], width = (double)data->dim[data->rank - 1];
  const double zoom = side / MAX (width, height);

  cairo_save (d->cr);
  cairo_translate (d->cr, x + (side - zoom * width) / 2, y + (side - zoom * height) / 2);
  cairo_rectangle (d->cr, 0, 0, zoom * width, zoom * height);
  cairo_clip (d->cr);
  for (guint i = 0; i < n; i++, box += size)
    {
      const float *corner = box + first;

      if (!(box[class] >= 0))
        continue;
      /* Light around the colour, which may be that of the image. */
      const StudioColor halo = { 1, 1, 1, 0.7f }, color = task_class_color (d, (guint)box[class]);
      for (int k = 0; k < 2; k++)
        {
          cairo_rectangle (d->cr, corner[0] * zoom, corner[1] * zoom, (corner[2] - corner[0]) * zoom,
                           (corner[3] - corner[1]) * zoom);
          studio_color_set (k == 0 ? &halo : &color, d->cr);
          cairo_set_line_width (d->cr, (k == 0 ? 4 : 2) * d->scale);
          cairo_stroke (d->cr);
        }
    }
  cairo_restore (d->cr);
}

/* A tick or a cross, so that colour is not needed. */
static void
draw_verdict (const TaskDrawing *d, double x, double y, gboolean right)
{
  const double s = 4 * d->scale;
  StudioColor color = right ? task_class_color (d, 2) : d->theme.error;

  if (right)
    {
      cairo_move_to (d->cr, x - s, y);
      cairo_line_to (d->cr, x - s / 3, y + s * 0.8);
      cairo_line_to (d->cr, x + s, y - s * 0.8);
    }
  else
    {
      cairo_move_to (d->cr, x - s * 0.8, y - s * 0.8);
      cairo_line_to (d->cr, x + s * 0.8, y + s * 0.8);
      cairo_move_to (d->cr, x - s * 0.8, y + s * 0.8);
      cairo_line_to (d->cr, x + s * 0.8, y - s * 0.8);
    }
  studio_color_set (&color, d->cr);
  cairo_set_line_width (d->cr, 2 * d->scale);
  cairo_stroke (d->cr);
}

static void
draw_answer (const TaskDrawing *d, guint i, double x, double y, const Cells *cells)
{
  const StudioTaskPicture *p = d->picture;
  const float *answer = task_answer_of_sample (p, i);
  const double sign = 14 * d->scale;
  const int right = task_is_right (p, i);

  if (task_has_boxes (p) || (answers_masks (p) && isnan (task_share_right (p, i))))
    return;
  if (answers_masks (p))
    {
      g_autofree char *share = g_strdup_printf ("%.0f %%", 100 * task_share_right (p, i));

      task_text (d, share, x + cells->width, y, 1, 0, FALSE);
      return;
    }

  if (answer == NULL || p->n_positions != 1 || right < 0)
    return;
  const guint best = task_best (p, answer, 0);
  g_autofree char *name = task_class_name (p->data, best);
  g_autofree char *share = g_strdup_printf ("%.0f %%", 100 * task_probability (p, answer, best));
  double room = cells->width - sign;
  draw_verdict (d, x + 5 * d->scale, y, right);
  room -= task_text (d, share, x + cells->width, y, 1, 0, FALSE) + 4;
  if (!right)
    task_text (d, name, x + sign, y, 0, room, FALSE);
}

/* The predicted mask of a sample. */
static float *
predicted_mask (const StudioTaskPicture *p, guint i)
{
  const float *answer = task_answer_of_sample (p, i);
  float *mask = g_new (float, p->n_positions);

  for (guint k = 0; k < p->n_positions; k++)
    mask[k] = (float)task_best (p, answer, k);
  return mask;
}

static void
draw_cell (const TaskDrawing *d, guint i, double x, double y, const Cells *cells)
{
  const StudioTaskPicture *p = d->picture;
  const StudioTaskData *data = p->data;
  const double line = task_line_height (d->scale);

  const float *image = data->x + (gsize)i * data->x_size;
  const gboolean is_map = task_is_map (p);
  g_autofree float *predicted = answers_masks (p) ? predicted_mask (p, i) : NULL;

  draw_image (d, image, is_map ? data->y + (gsize)i * data->y_size : NULL, x, y, cells->image);
  if (task_has_boxes (p))
    draw_boxes (d, data->y + (gsize)i * data->y_size, data->y_size / TASK_BOX_NUMBERS, TASK_BOX_NUMBERS, 1, 0, x, y,
                cells->image);
  if (predicted != NULL)
    draw_image (d, image, predicted, x + cells->width - cells->image, y, cells->image);
  else if (answers_boxes (p))
    {
      guint n;
      g_autofree float *found = task_detections (p, i, &n);

      draw_image (d, image, NULL, x + cells->width - cells->image, y, cells->image);
      draw_boxes (d, found, n, LOOM_DETECTION_NUMBERS, 0, LOOM_DETECTION_NUMBERS - 1, x + cells->width - cells->image,
                  y, cells->image);
    }
  else if (answers_images (p))
    draw_image (d, task_answer_of_sample (p, i), NULL, x + cells->width - cells->image, y, cells->image);
  if ((task_is_right (p, i) == 0 && !is_map) || (int)i == p->marked)
    {
      studio_color_set ((int)i == p->marked ? &d->theme.text : &d->theme.error, d->cr);
      cairo_set_line_width (d->cr, 2 * d->scale);
      cairo_rectangle (d->cr, x, y, cells->width, cells->image);
      cairo_stroke (d->cr);
    }
  if (data->y_size == 1 && data->classes)
    {
      g_autofree char *name = task_class_name (data, (guint)MAX (data->y[i], 0));
      task_text (d, name, x, y + cells->image + line / 2, 0, cells->width, FALSE);
    }
  draw_answer (d, i, x, y + cells->image + (is_map ? 0.5 : 1.5) * line, cells);
}

static void
images_draw (const TaskDrawing *d)
{
  const Cells cells = cells_of (d->picture, d->room.width, d->scale);

  for (guint i = 0; i < d->picture->data->n; i++)
    {
      const double x = d->room.x + (i % cells.columns) * (cells.width + GAP);
      const double y = d->room.y + (i / cells.columns) * cells.height;
      /* If there is little space, for example under a card, whole rows are omitted. */
      if (y + cells.height <= d->room.y + d->room.height + GAP + 1)
        draw_cell (d, i, x, y, &cells);
    }
}

static int
images_sample_at (const TaskDrawing *d, double x, double y)
{
  const Cells cells = cells_of (d->picture, d->room.width, d->scale);
  const int column = (int)floor ((x - d->room.x) / (cells.width + GAP)),
            row = (int)floor ((y - d->room.y) / cells.height);
  const int i = row * (int)cells.columns + column;

  return column >= 0 && column < (int)cells.columns && row >= 0 && i < (int)d->picture->data->n ? i : -1;
}

static double
images_height (const StudioTaskPicture *picture, double width, double scale)
{
  const Cells cells = cells_of (picture, width, scale);
  return ((picture->data->n + cells.columns - 1) / cells.columns) * cells.height;
}

const TaskKind task_images = {
  .words = N_ ("images with their classes"),
  .n_samples = 24,
  .list = TRUE,
  .height = images_height,
  .draw = images_draw,
  .sample_at = images_sample_at,
  .describe_sample = task_sample_text,
};
