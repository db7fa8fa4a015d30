/* Boxes of objects in the task view: drawn over the picture, as target and as prediction, and as text. */
#include <pango/pangocairo.h>

#include "tests/test-program.h"
#include "ui/drawing/studio-export.h"
#include "ui/task/studio-task-picture.h"

#define SIDE 8

static StudioTaskPicture *
picture_new (float klass, float score)
{
  static const char *const names[] = { "circle", "square", NULL };
  const float y[] = { klass, 2, 2, 6, 6, -1, 0, 0, 0, 0 };
  const float found[] = { 0, 0, 4, 4, score, 0, 1, 1, 2, 2, 0.2f, 1 };
  StudioTaskPicture *picture = studio_task_picture_new ();
  StudioTaskData *data = g_new0 (StudioTaskData, 1);

  data->kind = LOOM_TASK_VIEW_IMAGES;
  data->boxes = TRUE;
  data->split = LOOM_SPLIT_TEST;
  data->n_all[LOOM_SPLIT_TEST] = data->n = 1;
  data->x_size = SIDE * SIDE;
  data->y_size = G_N_ELEMENTS (y);
  data->rank = 3;
  data->dim[0] = 1;
  data->dim[1] = data->dim[2] = SIDE;
  data->x = g_new0 (float, SIDE *SIDE);
  data->y = g_memdup2 (y, sizeof y);
  data->class_names = g_strdupv ((char **)names);
  data->n_classes = 2;
  studio_task_picture_set_data (picture, data);
  g_assert_true (studio_task_picture_draws_over (picture));
  g_assert_true (studio_task_picture_take (picture, LOOM_ANSWER_VALUES, (const gint64[]){ 1, 1, G_N_ELEMENTS (found) },
                                           found, G_N_ELEMENTS (found), 7, 1));
  return picture;
}

/* The number of pixels that are neither black nor grey. */
static guint
count_colored (const StudioTaskPicture *picture)
{
  const StudioTaskStyle style = { .scale = 1 };
  const int width = 240, height = 200;
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, width, height);
  cairo_t *cr = cairo_create (surface);
  PangoContext *context = studio_export_context_new ();
  guint n = 0;

  studio_task_picture_draw (picture, cr, context, &style, width, height);
  cairo_surface_flush (surface);
  for (int i = 0; i < width * height; i++)
    {
      const guint32 pixel = ((const guint32 *)(const void *)cairo_image_surface_get_data (surface))[i] & 0xffffff;
      const int red = pixel >> 16, green = pixel >> 8 & 255, blue = pixel & 255;

      n += ABS (red - green) > 40 || ABS (green - blue) > 40;
    }
  g_object_unref (context);
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  return n;
}

static void
test_boxes (void)
{
  g_autoptr (StudioTaskPicture) both = picture_new (1, 0.81f), target = picture_new (1, 0.3f),
                                none = picture_new (-1, 0.3f);
  g_autofree char *one = studio_task_picture_describe_sample (both, 0);
  g_autofree char *missed = studio_task_picture_describe_sample (target, 0);
  g_autofree char *empty = studio_task_picture_describe_sample (none, 0);
  g_autofree char *all = studio_task_picture_describe (both), *found = studio_task_picture_describe_prediction (both);

  g_assert_cmpstr (one, ==, "square · found: circle 81 %");
  g_assert_cmpstr (missed, ==, "square · found: nothing");
  g_assert_cmpstr (empty, ==, "no objects · found: nothing");
  g_assert_cmpstr (found, ==, "found: circle 81 %");
  g_assert_nonnull (strstr (all, "images with boxes of objects"));
  /* The same legend, with an outline less each. */
  g_assert_cmpuint (count_colored (both), >, count_colored (target) + 50);
  g_assert_cmpuint (count_colored (target), >, count_colored (none) + 50);
}

/* A sample of the user's own has no target. */
static void
test_alone (void)
{
  g_autoptr (StudioTaskPicture) like = picture_new (1, 0.81f), own = studio_task_picture_new ();
  const float x[SIDE * SIDE] = { 1 };
  g_autofree char *text = NULL;

  studio_task_picture_set_data (own, studio_task_data_alone (like->data, x));
  g_assert_true (studio_task_picture_draws_over (own));
  text = studio_task_picture_describe_sample (own, 0);
  g_assert_cmpstr (text, ==, "no objects");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/task-boxes/drawn", test_boxes);
  g_test_add_func ("/task-boxes/alone", test_alone);
  return g_test_run ();
}
