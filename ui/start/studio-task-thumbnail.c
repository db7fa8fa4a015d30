/* Draws a task's samples once they are read. */
#include "ui/start/studio-task-thumbnail.h"

#include "ui/scene/studio-figure.h"
#include "ui/task/studio-task-picture.h"

typedef struct
{
  LoomGraph *alone; /* of the data set */
  StudioTaskQuery query;
  int width, height;
  gboolean dark;
} Reading;

static void
reading_free (gpointer data)
{
  Reading *reading = data;

  g_clear_pointer (&reading->alone, loom_graph_unref);
  g_free (reading);
}

static void
read_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Reading *reading = data;
  GError *error = NULL;
  StudioTaskData *samples = studio_task_data_read (reading->alone, &reading->query, &error);

  if (samples != NULL)
    g_task_return_pointer (task, samples, (GDestroyNotify)studio_task_data_free);
  else
    g_task_return_error (task, error);
}

/* The whole picture, as large as it fits, in the middle. */
static GdkTexture *
draw (const StudioTaskPicture *picture, PangoContext *context, const Reading *reading)
{
  const StudioTaskStyle style = { .dark = reading->dark, .scale = 1 };
  const double width = reading->width, height = studio_task_picture_height (picture, width, style.scale);
  const double by = MIN (1, reading->height / MAX (height, 1));
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, reading->width, reading->height);
  cairo_t *cr = cairo_create (surface);
  GdkTexture *texture;

  cairo_translate (cr, (width - by * width) / 2, (reading->height - by * height) / 2);
  cairo_scale (cr, by, by);
  studio_task_picture_draw (picture, cr, context, &style, width, height);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  g_autoptr (GBytes) bytes = g_bytes_new (cairo_image_surface_get_data (surface),
                                          (gsize)cairo_image_surface_get_stride (surface) * (gsize)reading->height);
  texture = gdk_memory_texture_new (reading->width, reading->height, GDK_MEMORY_DEFAULT, bytes,
                                    (gsize)cairo_image_surface_get_stride (surface));
  cairo_surface_destroy (surface);
  return texture;
}

static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GtkPicture) shown = data;
  StudioTaskData *samples = g_task_propagate_pointer (G_TASK (result), NULL);
  g_autoptr (StudioTaskPicture) picture = NULL;
  g_autoptr (GdkTexture) texture = NULL;

  if (samples == NULL)
    return;
  picture = studio_task_picture_new ();
  studio_task_picture_set_data (picture, samples);
  texture = draw (picture, gtk_widget_get_pango_context (GTK_WIDGET (shown)), g_task_get_task_data (G_TASK (result)));
  gtk_picture_set_paintable (shown, GDK_PAINTABLE (texture));
}

void
studio_task_thumbnail_show (GtkPicture *picture, const LoomGraph *graph, const LoomNet *net, int width, int height,
                            gboolean dark)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomTaskView) view = loom_task_view_new (net, spec);
  g_autoptr (GTask) task = NULL;
  Reading *reading;
  LoomElement *node;

  if (view->kind == LOOM_TASK_VIEW_NONE || !studio_task_kind_opens (view->kind))
    return;
  node = loom_graph_by_serial (graph, loom_net_node (net, view->data)->serial);
  if (node == NULL)
    return;
  reading = g_new0 (Reading, 1);
  *reading
      = (Reading){ studio_figure_sample_graph (node, graph),
                   { .kind = view->kind, .x = view->x, .y = view->y, .classes = view->classes, .split = LOOM_N_SPLITS },
                   width,
                   height,
                   dark };
  reading->query.n = studio_task_kind_samples (view->kind, &reading->query.spread);
  if (reading->alone == NULL)
    {
      reading_free (reading);
      return;
    }
  task = g_task_new (NULL, NULL, read_cb, g_object_ref (picture));
  g_task_set_task_data (task, reading, reading_free);
  g_task_run_in_thread (task, read_thread);
}
