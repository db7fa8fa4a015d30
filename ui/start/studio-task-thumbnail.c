/* Draws a task's samples once they are read, and the answers, or a map, once the net is trained.
 *
 * One thread trains all pictures, one after another, and only graphs with few parameters, each for at most SECONDS. The
 * threads hold no reference to a picture, so that closing the window ends its training. A frame is drawn when it is
 * shown first. */
#include "ui/start/studio-task-thumbnail.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "engine/train/loom-rehearsal.h"
#include "ui/charts/studio-colormap.h"
#include "ui/scene/studio-figure.h"
#include "ui/task/studio-task-picture.h"

#define FRAMES  20
#define SECONDS 2.0 /* of processor time, at most, for one loop */
#define PERIOD  120 /* milliseconds of a frame */
#define GRID    32
#define MAP     112 /* rows and columns of a map, at most */
#define KEY     "gradloom-loop"

/* The answers after some steps, or a map: the first matrix of a tensor. */
typedef struct
{
  gboolean is_map;
  LoomAnswerKind kind;
  gint64 shape[3], step, epoch; /* shape of a map: 1, rows, columns */
  float *value;
  GdkTexture *texture; /* NULL: not drawn yet */
} Frame;

/* Belongs to its GtkPicture. */
typedef struct
{
  GtkPicture *shown;          /* not owned */
  StudioTaskPicture *picture; /* with the samples */
  int width, height;
  gboolean dark;
  GPtrArray *frames; /* Frame; empty: not trained yet */
  guint at, timer;
  GCancellable *gone;
} Loop;

/* What the threads work on. */
typedef struct
{
  LoomGraph *graph, *alone; /* alone: of the data set */
  StudioTaskQuery query;
  char *map;          /* the tensor to show; NULL: the answers */
  LoomTensor *inputs; /* NULL: samples are to be read */
  GPtrArray *frames;
  GCancellable *gone;
} Work;

static void
frame_free (gpointer data)
{
  Frame *frame = data;

  g_clear_object (&frame->texture);
  g_free (frame->value);
  g_free (frame);
}

static void
loop_free (gpointer data)
{
  Loop *loop = data;

  g_cancellable_cancel (loop->gone);
  g_object_unref (loop->gone);
  g_clear_handle_id (&loop->timer, g_source_remove);
  g_ptr_array_unref (loop->frames);
  studio_task_picture_free (loop->picture);
  g_free (loop);
}

/* What a thread's answer goes to. */
static GWeakRef *
weak_new (GtkPicture *picture)
{
  GWeakRef *ref = g_new0 (GWeakRef, 1);

  g_weak_ref_init (ref, picture);
  return ref;
}

/* Frees the reference. NULL: the picture is gone. (transfer full) */
static GtkPicture *
weak_take (GWeakRef *ref)
{
  GtkPicture *picture = g_weak_ref_get (ref);

  g_weak_ref_clear (ref);
  g_free (ref);
  return picture;
}

static void
work_free (gpointer data)
{
  Work *work = data;

  g_clear_pointer (&work->graph, loom_graph_unref);
  g_clear_pointer (&work->alone, loom_graph_unref);
  g_clear_pointer (&work->inputs, loom_tensor_unref);
  g_clear_pointer (&work->frames, g_ptr_array_unref);
  g_object_unref (work->gone);
  g_free (work->map);
  g_free (work);
}

/* ---- drawing ------------------------------------------------------------------ */

/* The whole picture, as large as it fits, in the middle. */
static void
draw_task (const Loop *loop, cairo_t *cr)
{
  const StudioTaskStyle style = { .dark = loop->dark, .scale = 1 };
  const double width = loop->width, height = studio_task_picture_height (loop->picture, width, style.scale);
  const double by = MIN (1, loop->height / MAX (height, 1));

  cairo_translate (cr, (width - by * width) / 2, (loop->height - by * height) / 2);
  cairo_scale (cr, by, by);
  studio_task_picture_draw (loop->picture, cr, gtk_widget_get_pango_context (GTK_WIDGET (loop->shown)), &style, width,
                            height);
}

/* Square cells in the colours of a pin. */
static void
draw_map (const Loop *loop, const Frame *frame, cairo_t *cr)
{
  const int rows = (int)frame->shape[1], columns = (int)frame->shape[2];
  const double zoom = MIN (loop->width / (double)columns, loop->height / (double)rows);
  cairo_surface_t *cells = cairo_image_surface_create (CAIRO_FORMAT_RGB24, columns, rows);
  float least = INFINITY, most = -INFINITY;

  for (int i = 0; i < rows * columns; i++)
    {
      least = MIN (least, frame->value[i]);
      most = MAX (most, frame->value[i]);
    }
  const float end = MAX (most, -least);
  cairo_surface_flush (cells);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++)
      {
        const float v = frame->value[r * columns + c];
        guint8 *line = cairo_image_surface_get_data (cells) + r * cairo_image_surface_get_stride (cells);

        ((guint32 *)(void *)line)[c] = least < 0 && most > 0 ? studio_colormap_signed (v / end)
                                       : most > least        ? studio_colormap ((v - least) / (most - least))
                                                             : studio_colormap (0.5);
      }
  cairo_surface_mark_dirty (cells);
  cairo_translate (cr, (loop->width - zoom * columns) / 2, (loop->height - zoom * rows) / 2);
  cairo_scale (cr, zoom, zoom);
  cairo_set_source_surface (cr, cells, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_surface_destroy (cells);
}

/* map: NULL for the task. */
static GdkTexture *
draw (const Loop *loop, const Frame *map)
{
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, loop->width, loop->height);
  cairo_t *cr = cairo_create (surface);
  GdkTexture *texture;

  if (map != NULL)
    draw_map (loop, map, cr);
  else
    draw_task (loop, cr);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  g_autoptr (GBytes) bytes = g_bytes_new (cairo_image_surface_get_data (surface),
                                          (gsize)cairo_image_surface_get_stride (surface) * (gsize)loop->height);
  texture = gdk_memory_texture_new (loop->width, loop->height, GDK_MEMORY_DEFAULT, bytes,
                                    (gsize)cairo_image_surface_get_stride (surface));
  cairo_surface_destroy (surface);
  return texture;
}

static void
show_frame (Loop *loop, guint at)
{
  Frame *frame = loop->frames->pdata[at];

  loop->at = at;
  if (frame->texture == NULL)
    {
      if (!frame->is_map)
        studio_task_picture_take (loop->picture, frame->kind, frame->shape, frame->value,
                                  (gsize)(frame->shape[0] * frame->shape[1] * frame->shape[2]), frame->step,
                                  frame->epoch);
      frame->texture = draw (loop, frame->is_map ? frame : NULL);
      g_clear_pointer (&frame->value, g_free);
    }
  gtk_picture_set_paintable (loop->shown, GDK_PAINTABLE (frame->texture));
}

static gboolean
play_cb (gpointer data)
{
  Loop *loop = data;

  if (gtk_widget_get_mapped (GTK_WIDGET (loop->shown)))
    show_frame (loop, loop->at + 1);
  if (loop->at + 1 < loop->frames->len && gtk_widget_get_mapped (GTK_WIDGET (loop->shown)))
    return G_SOURCE_CONTINUE;
  loop->timer = 0;
  return G_SOURCE_REMOVE;
}

static void
play (Loop *loop)
{
  gboolean moves = TRUE;

  if (loop->frames->len == 0 || loop->timer != 0)
    return;
  g_object_get (gtk_widget_get_settings (GTK_WIDGET (loop->shown)), "gtk-enable-animations", &moves, NULL);
  if (!moves || loop->frames->len == 1)
    {
      show_frame (loop, loop->frames->len - 1);
      return;
    }
  show_frame (loop, 0);
  loop->timer = g_timeout_add (PERIOD, play_cb, loop);
}

/* ---- training ----------------------------------------------------------------- */

static void
take_map (Frame *frame, const LoomTensor *value)
{
  const gint64 across = value->rank >= 1 ? value->dim[value->rank - 1] : 1;
  const gint64 rows = MIN (value->rank >= 2 ? value->dim[value->rank - 2] : 1, MAP), columns = MIN (across, MAP);

  frame->is_map = TRUE;
  frame->shape[0] = 1;
  frame->shape[1] = rows;
  frame->shape[2] = columns;
  frame->value = g_new (float, rows *columns);
  for (gint64 i = 0; i < rows * columns; i++)
    frame->value[i] = (float)loom_tensor_get (value, i / columns * across + i % columns);
}

static void
take_answers (Frame *frame, const GPtrArray *answers)
{
  const LoomAnswer *first = answers->pdata[0];
  const gsize each = (gsize)(first->n_positions * first->n_classes);

  frame->kind = first->kind;
  frame->shape[0] = answers->len;
  frame->shape[1] = first->n_positions;
  frame->shape[2] = first->n_classes;
  frame->value = g_new (float, answers->len *each);
  for (guint i = 0; i < answers->len; i++)
    for (gsize k = 0; k < each; k++)
      frame->value[i * each + k] = (float)((LoomAnswer *)answers->pdata[i])->value[k];
}

static gboolean
frame_cb (const GPtrArray *answers, const LoomTensor *value, gint64 step, gint64 epoch, gpointer data)
{
  Work *work = data;

  if (value != NULL && value->count == 0)
    return FALSE;
  Frame *frame = g_new0 (Frame, 1);
  if (value != NULL)
    take_map (frame, value);
  else
    take_answers (frame, answers);
  frame->step = step;
  frame->epoch = epoch;
  g_ptr_array_add (work->frames, frame);
  return !g_cancellable_is_cancelled (work->gone);
}

static void
train (gpointer data, gpointer user_data)
{
  g_autoptr (GTask) task = data;
  Work *work = g_task_get_task_data (task);

  /* Of this thread alone. */
  setpriority (PRIO_PROCESS, 0, 10);
  if (!g_cancellable_is_cancelled (work->gone))
    loom_rehearsal_run (work->graph, work->inputs, work->map, FRAMES, SECONDS, frame_cb, work, NULL);
  g_task_return_boolean (task, TRUE);
}

/* A graph that cannot be trained here keeps the picture of its samples. */
static void
trained_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GtkPicture) shown = weak_take (data);
  Work *work = g_task_get_task_data (G_TASK (result));
  Loop *loop = shown != NULL ? g_object_get_data (G_OBJECT (shown), KEY) : NULL;

  if (g_cancellable_is_cancelled (work->gone) || loop == NULL || loop->gone != work->gone || work->frames->len == 0)
    return;
  g_ptr_array_unref (loop->frames);
  loop->frames = g_steal_pointer (&work->frames);
  play (loop);
}

static void
begin_training (Loop *loop, Work *read)
{
  static GThreadPool *pool; /* lives as long as the program */
  gint64 shape[LOOM_SHAPE_MAX_RANK];
  int rank;
  gsize n;
  g_autofree float *x = studio_task_picture_inputs (loop->picture, shape, &rank, &n);
  Work *work = g_new0 (Work, 1);
  GTask *task = g_task_new (NULL, NULL, trained_cb, weak_new (loop->shown));

  work->graph = loom_graph_ref (read->graph);
  work->map = g_strdup (read->map);
  work->gone = g_object_ref (loop->gone);
  work->frames = g_ptr_array_new_with_free_func (frame_free);
  work->inputs = loom_tensor_new (LOOM_F32, rank, shape, NULL);
  g_task_set_task_data (task, work, work_free);
  if (work->inputs == NULL)
    {
      g_task_return_boolean (task, FALSE);
      g_object_unref (task);
      return;
    }
  memcpy (work->inputs->data, x, n * sizeof *x);
  if (pool == NULL)
    pool = g_thread_pool_new (train, NULL, 1, TRUE, NULL);
  g_thread_pool_push (pool, task, NULL);
}

/* ---- samples ------------------------------------------------------------------ */

/* One after another, because a data set may be large. */
static void
read_samples (gpointer data, gpointer user_data)
{
  g_autoptr (GTask) task = data;
  const Work *work = g_task_get_task_data (task);

  if (g_cancellable_is_cancelled (work->gone))
    g_task_return_pointer (task, NULL, NULL);
  else
    studio_task_data_return (task, work->alone, &work->query);
}

/* Of a list as much as fits, but a whole row. */
static void
shorten (Loop *loop)
{
  StudioTaskData *data = loop->picture->data;
  const guint n = data->n;

  if (!studio_task_picture_is_list (loop->picture))
    return;
  data->n = 1;
  const double room = MAX (loop->height, studio_task_picture_height (loop->picture, loop->width, 1));
  for (data->n = n; data->n > 1 && studio_task_picture_height (loop->picture, loop->width, 1) > room;)
    data->n--;
}

static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GtkPicture) shown = weak_take (data);
  Work *work = g_task_get_task_data (G_TASK (result));
  StudioTaskData *samples = g_task_propagate_pointer (G_TASK (result), NULL);
  Loop *loop = shown != NULL ? g_object_get_data (G_OBJECT (shown), KEY) : NULL;

  if (samples == NULL || loop == NULL || loop->gone != work->gone)
    {
      studio_task_data_free (samples);
      return;
    }
  studio_task_picture_set_data (loop->picture, samples);
  shorten (loop);
  g_autoptr (GdkTexture) texture = draw (loop, NULL);
  gtk_picture_set_paintable (shown, GDK_PAINTABLE (texture));
  begin_training (loop, work);
}

void
studio_task_thumbnail_show (GtkPicture *picture, const LoomGraph *graph, const LoomNet *net, const char *map, int width,
                            int height, gboolean dark)
{
  static GThreadPool *pool; /* lives as long as the program */
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomTaskView) view = loom_task_view_new (net, spec);
  LoomElement *node;

  if (view->kind == LOOM_TASK_VIEW_NONE)
    return;
  node = loom_graph_by_serial (graph, loom_net_node (net, view->data)->serial);
  LoomGraph *alone = node != NULL ? studio_figure_sample_graph (node, graph) : NULL;
  if (alone == NULL)
    return;
  Loop *loop = g_new0 (Loop, 1);
  *loop = (Loop){ picture, studio_task_picture_new (), width, height, dark };
  loop->picture->grid = GRID;
  loop->frames = g_ptr_array_new_with_free_func (frame_free);
  loop->gone = g_cancellable_new ();
  Work *work = g_new0 (Work, 1);
  work->graph = loom_graph_copy (graph);
  work->alone = alone;
  work->map = g_strdup (map);
  work->gone = g_object_ref (loop->gone);
  work->query = (StudioTaskQuery){ .kind = view->kind,
                                   .x = view->x,
                                   .y = view->y,
                                   .classes = view->classes,
                                   .boxes = view->boxes,
                                   .split = LOOM_N_SPLITS };
  work->query.n = studio_task_kind_samples (view->kind, &work->query.spread);
  g_object_set_data_full (G_OBJECT (picture), KEY, loop, loop_free);
  GTask *task = g_task_new (NULL, NULL, read_cb, weak_new (picture));
  g_task_set_task_data (task, work, work_free);
  if (pool == NULL)
    pool = g_thread_pool_new (read_samples, NULL, 1, TRUE, NULL);
  g_thread_pool_push (pool, task, NULL);
}

void
studio_task_thumbnail_play (GtkPicture *picture)
{
  Loop *loop = g_object_get_data (G_OBJECT (picture), KEY);

  if (loop != NULL)
    play (loop);
}

guint
studio_task_thumbnail_n_frames (GtkPicture *picture, guint *at)
{
  const Loop *loop = g_object_get_data (G_OBJECT (picture), KEY);

  *at = loop != NULL ? loop->at : 0;
  return loop != NULL ? loop->frames->len : 0;
}
