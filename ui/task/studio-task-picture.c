#include "ui/task/studio-task-picture.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/drawing/studio-export.h"
#include "ui/scene/studio-format.h"
#include "ui/task/task-private.h"

#define GRID 64

static const TaskKind *const kinds[LOOM_N_TASK_VIEWS] = {
  [LOOM_TASK_VIEW_PLANE] = &task_plane,         [LOOM_TASK_VIEW_LINE] = &task_line,
  [LOOM_TASK_VIEW_IMAGES] = &task_images,       [LOOM_TASK_VIEW_ROWS] = &task_rows,
  [LOOM_TASK_VIEW_SEQUENCES] = &task_sequences,
};

static const TaskKind *
kind_of (const StudioTaskPicture *picture)
{
  return picture->data != NULL ? kinds[picture->data->kind] : NULL;
}

guint
studio_task_kind_samples (LoomTaskViewKind kind, gboolean *spread)
{
  *spread = kinds[kind] != NULL && kinds[kind]->spread;
  return kinds[kind] != NULL ? kinds[kind]->n_samples : 0;
}

gboolean
studio_task_kind_opens (LoomTaskViewKind kind)
{
  return kinds[kind] != NULL && kinds[kind]->opens;
}

/* ---- samples and answers --------------------------------------------------- */

StudioTaskPicture *
studio_task_picture_new (void)
{
  StudioTaskPicture *picture = g_new0 (StudioTaskPicture, 1);
  picture->column[1] = 1;
  picture->grid = GRID;
  picture->marked = -1;
  return picture;
}

void
studio_task_picture_free (StudioTaskPicture *picture)
{
  studio_task_data_free (picture->data);
  g_free (picture->value);
  g_free (picture);
}

void
studio_task_picture_forget_answers (StudioTaskPicture *picture)
{
  picture->answered = FALSE;
  g_clear_pointer (&picture->value, g_free);
}

void
studio_task_picture_set_data (StudioTaskPicture *picture, StudioTaskData *data)
{
  studio_task_picture_forget_answers (picture);
  studio_task_data_free (picture->data);
  picture->data = data;
  picture->marked = -1;
  for (guint k = 0; data != NULL && k < 2; k++)
    if (picture->column[k] >= data->x_size || data->kind != LOOM_TASK_VIEW_ROWS)
      picture->column[k] = k < data->x_size ? k : 0;
}

static gsize
n_grid (const StudioTaskPicture *picture, guint grid)
{
  const TaskKind *kind = kind_of (picture);
  return kind->n_grid != NULL ? kind->n_grid (picture, grid) : 0;
}

gsize
task_n_grid (const StudioTaskPicture *picture)
{
  return n_grid (picture, picture->answered_grid);
}

float *
studio_task_picture_inputs (const StudioTaskPicture *picture, gint64 shape[LOOM_SHAPE_MAX_RANK], int *rank, gsize *n)
{
  const StudioTaskData *data = picture->data;
  if (data == NULL)
    return NULL;
  const gsize grid = n_grid (picture, picture->grid);
  *rank = data->rank + 1;
  *n = (grid + data->n) * data->x_size;
  shape[0] = (gint64)(grid + data->n);
  memcpy (shape + 1, data->dim, (gsize)data->rank * sizeof *shape);
  float *x = g_new (float, *n);
  if (grid > 0)
    kind_of (picture)->fill_grid (picture, x);
  memcpy (x + grid * data->x_size, data->x, (gsize)data->n * data->x_size * sizeof *x);
  return x;
}

gboolean
studio_task_picture_take (StudioTaskPicture *picture, LoomAnswerKind kind, const gint64 shape[3], const float *value,
                          gsize n_values, gint64 step, gint64 epoch)
{
  if (picture->data == NULL || shape[0] != (gint64)(n_grid (picture, picture->grid) + picture->data->n) || n_values == 0
      || loom_dims_count (3, shape, n_values) != n_values)
    return FALSE;
  studio_task_picture_forget_answers (picture);
  picture->value = g_memdup2 (value, n_values * sizeof *value);
  picture->kind = kind;
  picture->answered_grid = picture->grid;
  picture->n_positions = (guint)shape[1];
  picture->n_classes = (guint)shape[2];
  picture->step = step;
  picture->epoch = epoch;
  picture->answered = TRUE;
  return TRUE;
}

gboolean
studio_task_picture_draws_over (const StudioTaskPicture *picture)
{
  return picture->data != NULL && (task_is_map (picture) || task_has_boxes (picture));
}

char *
studio_task_picture_describe_prediction (const StudioTaskPicture *picture)
{
  return task_prediction_text (picture, 0);
}

/* ---- texts ----------------------------------------------------------------- */

static const char *
split_words (LoomSplit split)
{
  static const char *const words[] = { N_ ("training samples"), N_ ("validation samples"), N_ ("test samples") };
  return split < G_N_ELEMENTS (words) ? _ (words[split]) : "";
}

/* The accuracy on the shown samples; NULL if it is not known. */
static char *
dup_score (const StudioTaskPicture *picture)
{
  const double accuracy = studio_task_picture_accuracy (picture), error = studio_task_picture_error (picture);

  if (!isnan (accuracy))
    return g_strdup_printf (_ ("accuracy on shown samples %.0f %%"), 100 * accuracy);
  if (isnan (error))
    return NULL;
  g_autofree char *number = studio_format_number (error);
  return g_strdup_printf (_ ("mean error on shown samples %s"), number);
}

char *
studio_task_picture_feature_name (const StudioTaskPicture *picture, guint column)
{
  return task_feature_name (picture->data, column);
}

char *
studio_task_picture_describe (const StudioTaskPicture *picture)
{
  const TaskKind *kind = kind_of (picture);
  GString *text;

  if (kind == NULL)
    return g_strdup (_ ("no samples yet"));
  g_autofree char *score = dup_score (picture), *n = studio_format_count (picture->data->n);
  g_autofree char *all = studio_format_count ((double)picture->data->n_all[picture->data->split]);
  text = g_string_new (score);
  if (score != NULL)
    g_string_append (text, ", ");
  /* the kind of samples, their number, the total, and the split */
  g_string_append_printf (text, _ ("%1$s: %2$s of %3$s %4$s"),
                          task_is_map (picture)      ? _ ("images with a class at each pixel")
                          : task_has_boxes (picture) ? _ ("images with boxes of objects")
                                                     : _ (kind->words),
                          n, all, split_words (picture->data->split));
  if (!picture->answered)
    g_string_append (text, _ (", nothing is predicted yet"));
  else
    {
      g_autofree char *step = studio_format_count ((double)picture->step);
      g_autofree char *epoch = studio_format_count ((double)picture->epoch);
      g_string_append_printf (text, _ (", after step %1$s, epoch %2$s"), step, epoch);
    }
  return g_string_free (text, FALSE);
}

char *
studio_task_picture_describe_sample (const StudioTaskPicture *picture, int sample)
{
  const TaskKind *kind = kind_of (picture);

  return kind != NULL && sample >= 0 && sample < (int)picture->data->n ? kind->describe_sample (picture, (guint)sample)
                                                                       : NULL;
}

/* ---- drawing ---------------------------------------------------------------- */

#define CAPTIONS    2
#define LEAST_LINES 4 /* height of a plot in lines, below which it has no captions */

static gboolean
has_legend (const StudioTaskPicture *picture)
{
  return kind_of (picture)->legend || task_is_map (picture) || task_has_boxes (picture);
}

static void
start (TaskDrawing *d, const StudioTaskPicture *picture, cairo_t *cr, PangoContext *context,
       const StudioTaskStyle *style, double width, double height)
{
  *d = (TaskDrawing){ .picture = picture, .context = context, .scale = style->scale, .dark = style->dark };
  studio_theme_init (&d->theme, style->dark, style->high_contrast);
  const double legend = has_legend (picture) ? task_legend (d, 0, 0, width) : 0;
  const double line = task_line_height (style->scale);
  double captions = CAPTIONS * line;
  d->room = (TaskRect){ 0, legend + (legend > 0 ? 4 : 0), width, 0 };
  /* In a low drawing the samples matter more. */
  if (!kind_of (picture)->list && height - d->room.y - captions < LEAST_LINES * line)
    captions = 0;
  d->has_captions = captions > 0;
  d->room.height = MAX (height - d->room.y - captions, 20);
  if (kind_of (picture)->list)
    d->room.y += captions;
  d->cr = cr;
}

static void
draw_captions (const TaskDrawing *d, double width, double height)
{
  const StudioTaskPicture *p = d->picture;
  const double line = task_line_height (d->scale);
  g_autofree char *score = dup_score (p), *when = NULL;

  if (p->answered)
    {
      g_autofree char *step = studio_format_count ((double)p->step);
      g_autofree char *epoch = studio_format_count ((double)p->epoch);
      when = g_strdup_printf (_ ("after step %1$s · epoch %2$s"), step, epoch);
    }
  else
    {
      g_autofree char *n = studio_format_count (p->data->n);
      g_autofree char *all = studio_format_count ((double)p->data->n_all[p->data->split]);
      when = g_strdup_printf (_ ("%1$s of %2$s %3$s"), n, all, split_words (p->data->split));
    }
  g_autofree char *marked = studio_task_picture_describe_sample (p, p->marked);
  /* Above samples that may be higher than the view. */
  const double top = kind_of (p)->list ? 0 : height - CAPTIONS * line;
  task_text (d, when, 0, top + 0.5 * line, 0, width, FALSE);
  task_text (d, marked != NULL ? marked : score != NULL ? score : "", 0, top + 1.5 * line, 0, width, FALSE);
}

gboolean
studio_task_picture_is_list (const StudioTaskPicture *picture)
{
  return kind_of (picture) != NULL && kind_of (picture)->list;
}

double
studio_task_picture_height (const StudioTaskPicture *picture, double width, double scale)
{
  const TaskKind *kind = kind_of (picture);
  const double captions = CAPTIONS * task_line_height (scale);

  if (kind == NULL)
    return width;
  return kind->height (picture, width, scale) + captions + (has_legend (picture) ? task_line_height (scale) + 4 : 0);
}

void
studio_task_picture_draw (const StudioTaskPicture *picture, cairo_t *cr, PangoContext *context,
                          const StudioTaskStyle *style, double width, double height)
{
  const TaskKind *kind = kind_of (picture);
  TaskDrawing d;

  if (kind == NULL)
    return;
  start (&d, picture, cr, context, style, width, height);
  if (has_legend (picture))
    task_legend (&d, 0, 0, width);
  kind->draw (&d);
  if (d.has_captions)
    draw_captions (&d, width, height);
}

int
studio_task_picture_sample_at (const StudioTaskPicture *picture, PangoContext *context, const StudioTaskStyle *style,
                               double width, double height, double x, double y)
{
  TaskDrawing d;

  if (kind_of (picture) == NULL)
    return -1;
  start (&d, picture, NULL, context, style, width, height);
  return kind_of (picture)->sample_at (&d, x, y);
}

char *
studio_task_picture_describe_place (const StudioTaskPicture *picture, PangoContext *context,
                                    const StudioTaskStyle *style, double width, double height, double x, double y)
{
  TaskDrawing d;

  if (kind_of (picture) == NULL || kind_of (picture)->describe_place == NULL)
    return NULL;
  start (&d, picture, NULL, context, style, width, height);
  return kind_of (picture)->describe_place (&d, x, y);
}

guint
studio_task_picture_grid (const StudioTaskPicture *picture)
{
  const TaskKind *kind = kind_of (picture);

  return kind != NULL && kind->cell_at != NULL && picture->answered ? picture->answered_grid : 0;
}

gint64
studio_task_picture_cell_at (const StudioTaskPicture *picture, PangoContext *context, const StudioTaskStyle *style,
                             double width, double height, double x, double y)
{
  TaskDrawing d;

  if (studio_task_picture_grid (picture) == 0)
    return -1;
  start (&d, picture, NULL, context, style, width, height);
  return kind_of (picture)->cell_at (&d, x, y);
}

gboolean
studio_task_picture_cell_rect (const StudioTaskPicture *picture, PangoContext *context, const StudioTaskStyle *style,
                               double width, double height, gsize cell, double *x, double *y, double *w, double *h)
{
  TaskDrawing d;
  TaskRect rect;

  if (studio_task_picture_grid (picture) == 0)
    return FALSE;
  start (&d, picture, NULL, context, style, width, height);
  kind_of (picture)->cell_rect (&d, cell, &rect);
  *x = rect.x;
  *y = rect.y;
  *w = rect.width;
  *h = rect.height;
  return TRUE;
}

char *
studio_task_picture_describe_cell (const StudioTaskPicture *picture, gsize cell)
{
  g_return_val_if_fail (studio_task_picture_grid (picture) > 0, NULL);
  return kind_of (picture)->describe_cell (picture, cell);
}

/* Of a cell: probabilities of classes, or values. */
static double
answer_of (const StudioTaskPicture *picture, gsize cell, guint k)
{
  const float *answer = task_answer (picture, cell);

  return picture->data->classes ? task_probability (picture, answer, k) : answer[k];
}

char *
studio_task_picture_to_csv (const StudioTaskPicture *picture)
{
  StudioTaskPicture answered = *picture;
  const guint grid = answered.grid = studio_task_picture_grid (picture);
  const guint each = picture->data->classes ? task_n_classes (picture) : picture->n_positions * picture->n_classes;
  const gsize n = (gsize)grid * grid;
  g_autofree float *place = g_new0 (float, 2 * n + 1);
  g_autofree char *x = task_feature_name (picture->data, picture->column[0]);
  g_autofree char *y = task_feature_name (picture->data, picture->column[1]);
  GString *text = g_string_new (NULL);

  loom_text_append_csv (text, x);
  g_string_append_c (text, ',');
  loom_text_append_csv (text, y);
  for (guint k = 0; k < each; k++)
    {
      g_autofree char *name
          = picture->data->classes ? task_class_name (picture->data, k) : g_strdup_printf ("prediction %u", k + 1);

      g_string_append_c (text, ',');
      loom_text_append_csv (text, name);
    }
  g_string_append_c (text, '\n');
  if (n > 0)
    kind_of (picture)->fill_grid (&answered, place);
  for (gsize i = 0; i < n; i++)
    {
      for (guint k = 0; k < 2 + each; k++)
        {
          char number[G_ASCII_DTOSTR_BUF_SIZE];

          g_ascii_formatd (number, sizeof number, "%.9g", k < 2 ? place[2 * i + k] : answer_of (picture, i, k - 2));
          g_string_append_printf (text, "%s%s", k > 0 ? "," : "", number);
        }
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

gboolean
studio_task_picture_range (const StudioTaskPicture *picture, double low[2], double high[2])
{
  if (kind_of (picture) == NULL || kind_of (picture)->range == NULL)
    return FALSE;
  kind_of (picture)->range (picture, low, high);
  return TRUE;
}

gboolean
studio_task_picture_point_at (const StudioTaskPicture *picture, PangoContext *context, const StudioTaskStyle *style,
                              double width, double height, double x, double y, double point[2])
{
  TaskDrawing d;

  if (kind_of (picture) == NULL || kind_of (picture)->point_at == NULL)
    return FALSE;
  start (&d, picture, NULL, context, style, width, height);
  kind_of (picture)->point_at (&d, x, y, point);
  return TRUE;
}

/* ---- files ------------------------------------------------------------------ */

#define EXPORT_WIDTH 480
#define EXPORT_AIR   12

static void
draw_file (cairo_t *cr, double width, double height, gpointer data)
{
  PangoContext *context = studio_export_context_new ();
  const StudioTaskStyle style = { .scale = 1 };

  cairo_translate (cr, EXPORT_AIR, EXPORT_AIR);
  studio_task_picture_draw (data, cr, context, &style, width - 2 * EXPORT_AIR, height - 2 * EXPORT_AIR);
  g_object_unref (context);
}

gboolean
studio_task_picture_export (const StudioTaskPicture *picture, const char *path, GError **error)
{
  if (picture->data == NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA, _ ("There is no picture of the task to save."));
      return FALSE;
    }
  const double height = studio_task_picture_height (picture, EXPORT_WIDTH - 2 * EXPORT_AIR, 1) + 2 * EXPORT_AIR;
  return studio_export_drawing (path, EXPORT_WIDTH, height, draw_file, (gpointer)picture, error);
}
