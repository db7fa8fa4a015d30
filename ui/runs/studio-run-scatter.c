/* Implements studio-run-scatter.h.
 *
 * Points on the front, of which no other run is both better and cheaper, are filled and joined by a line; others are
 * rings, so that the front does not depend on colour. */
#include "ui/runs/studio-run-scatter.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-plot.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"
#include "ui/scene/studio-format.h"

#define RADIUS 4
#define MOST   1000 /* points */

typedef struct
{
  double x, y;
  gboolean is_front;
  int colour;
  char *name;
} Point;

struct _StudioRunScatter
{
  GtkWidget parent_instance;
  GArray *points; /* Point, by x */
  StudioRunCost cost;
  guint cursor;
  char *words;
};

G_DEFINE_FINAL_TYPE (StudioRunScatter, studio_run_scatter, GTK_TYPE_WIDGET)

static guint moved_signal;

static void
point_clear (gpointer point)
{
  g_free (((Point *)point)->name);
}

/* ---- words ------------------------------------------------------------------------------ */

static char *
cost_text (StudioRunScatter *self, double x)
{
  const gboolean is_time = self->cost == STUDIO_RUN_COST_TIME;
  g_autofree char *text = is_time ? studio_format_number (x) : studio_format_count (x);

  return g_strdup_printf (is_time ? _ ("%s s") : _ ("%s parameters"), text);
}

static void
say (StudioRunScatter *self)
{
  const Point *p = self->cursor < self->points->len ? &g_array_index (self->points, Point, self->cursor) : NULL;

  g_free (self->words);
  self->words = NULL;
  if (p != NULL)
    {
      g_autofree char *loss = studio_format_number (p->y), *cost = cost_text (self, p->x);

      /* Translators: name of a run, loss, and "12 s" or "100 parameters". */
      self->words = g_strdup_printf (p->is_front ? _ ("%1$s: loss %2$s, %3$s; no other is both better and cheaper")
                                                 : _ ("%1$s: loss %2$s, %3$s"),
                                     p->name, loss, cost);
    }
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  self->words != NULL ? self->words : _ ("no run with a loss"), -1);
  g_signal_emit (self, moved_signal, 0);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

const char *
studio_run_scatter_get_words (StudioRunScatter *self)
{
  return self->words;
}

/* ---- points ------------------------------------------------------------------------------- */

static int
compare_points (gconstpointer a, gconstpointer b)
{
  const Point *p = a, *q = b;

  return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

static void
find_front (StudioRunScatter *self)
{
  const guint n = self->points->len;
  g_autofree double *x = g_new (double, n + 1), *y = g_new (double, n + 1);
  g_autofree gboolean *is_front = g_new (gboolean, n + 1);

  for (guint i = 0; i < n; i++)
    {
      x[i] = g_array_index (self->points, Point, i).x;
      y[i] = g_array_index (self->points, Point, i).y;
    }
  loom_run_front (n, x, y, is_front);
  for (guint i = 0; i < n; i++)
    g_array_index (self->points, Point, i).is_front = is_front[i];
}

void
studio_run_scatter_set (StudioRunScatter *self, const GPtrArray *entries, StudioRunCost cost)
{
  self->cost = cost;
  g_array_set_size (self->points, 0);
  for (guint i = 0; i < MIN (entries->len, MOST); i++)
    {
      const LoomRunSummary *run = studio_run_entry_get (entries->pdata[i]);
      Point p = { .x = cost == STUDIO_RUN_COST_TIME ? loom_run_summary_seconds (run) : run->parameters,
                  .y = loom_run_summary_loss (run),
                  .colour = studio_run_entry_get_colour (entries->pdata[i]) };

      if (!isfinite (p.x) || !isfinite (p.y))
        continue;
      p.name = loom_text_printable (loom_run_summary_name (run), TRUE, 40);
      g_array_append_val (self->points, p);
    }
  g_array_sort (self->points, compare_points);
  find_front (self);
  self->cursor = MIN (self->cursor, self->points->len > 0 ? self->points->len - 1 : 0);
  say (self);
}

/* ---- drawing ---------------------------------------------------------------------------------- */

typedef struct
{
  double left, top, right, bottom, x0, x1, y0, y1;
} Frame;

/* The width of the longer of two losses. */
static int
loss_width (StudioRunScatter *self, double low, double high)
{
  const double values[] = { low, high };
  int most = 0;

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autofree char *text = studio_format_number (values[i]);
      g_autoptr (PangoLayout) layout = gtk_widget_create_pango_layout (GTK_WIDGET (self), text);
      int width;

      pango_layout_get_pixel_size (layout, &width, NULL);
      most = MAX (most, width);
    }
  return most;
}

static void
get_frame (StudioRunScatter *self, double width, double height, double scale, Frame *f)
{
  *f = (Frame){
    8 * scale, 8 * scale, width - 8 * scale, height - 22 * scale, INFINITY, -INFINITY, INFINITY, -INFINITY
  };
  for (guint i = 0; i < self->points->len; i++)
    {
      const Point *p = &g_array_index (self->points, Point, i);

      f->x0 = MIN (f->x0, p->x);
      f->x1 = MAX (f->x1, p->x);
      f->y0 = MIN (f->y0, p->y);
      f->y1 = MAX (f->y1, p->y);
    }
  f->left += loss_width (self, f->y0, f->y1);
  if (f->x1 <= f->x0)
    f->x1 = f->x0 + 1;
  if (f->y1 <= f->y0)
    f->y1 = f->y0 + 1;
}

static void
to_pixels (const Frame *f, const Point *p, double *x, double *y)
{
  *x = f->left + (p->x - f->x0) / (f->x1 - f->x0) * (f->right - f->left);
  *y = f->bottom - (p->y - f->y0) / (f->y1 - f->y0) * (f->bottom - f->top);
}

static void
draw_front (StudioRunScatter *self, cairo_t *cr, const Frame *f, double ink)
{
  double x, y;

  for (guint i = 0; i < self->points->len; i++)
    if (g_array_index (self->points, Point, i).is_front)
      {
        to_pixels (f, &g_array_index (self->points, Point, i), &x, &y);
        cairo_line_to (cr, x, y);
      }
  cairo_set_source_rgba (cr, ink, ink, ink, 0.4);
  cairo_set_line_width (cr, 1);
  cairo_stroke (cr);
}

static void
draw_points (StudioRunScatter *self, cairo_t *cr, const Frame *f, gboolean dark, double scale)
{
  const double ink = dark ? 1 : 0.14;
  double x, y, rgb[3] = { ink, ink, ink };

  for (guint i = 0; i < self->points->len; i++)
    {
      const Point *p = &g_array_index (self->points, Point, i);

      if (p->colour >= 0)
        studio_plot_get_colour ((guint)p->colour, dark, rgb);
      to_pixels (f, p, &x, &y);
      cairo_new_path (cr);
      cairo_arc (cr, x, y, RADIUS * scale, 0, 2 * G_PI);
      cairo_set_source_rgba (cr, rgb[0], rgb[1], rgb[2], 0.8);
      cairo_set_line_width (cr, 1.5);
      if (p->is_front)
        cairo_fill_preserve (cr);
      cairo_stroke (cr);
      if (i != self->cursor || !gtk_widget_has_focus (GTK_WIDGET (self)))
        continue;
      cairo_arc (cr, x, y, (RADIUS + 4) * scale, 0, 2 * G_PI);
      cairo_set_source_rgb (cr, ink, ink, ink);
      cairo_set_line_width (cr, 2);
      cairo_stroke (cr);
    }
}

static void
draw_text (StudioRunScatter *self, GtkSnapshot *snapshot, const char *text, double x, double y, double align,
           double ink)
{
  g_autoptr (PangoLayout) layout = gtk_widget_create_pango_layout (GTK_WIDGET (self), text);
  int width, height;

  pango_layout_get_pixel_size (layout, &width, &height);
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT ((float)(x - align * width), (float)y));
  gtk_snapshot_append_layout (snapshot, layout, &(GdkRGBA){ (float)ink, (float)ink, (float)ink, 0.75f });
  gtk_snapshot_restore (snapshot);
}

static void
scatter_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioRunScatter *self = STUDIO_RUN_SCATTER (widget);
  const double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  const double scale = studio_text_scale (widget);
  const gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  const double ink = dark ? 1 : 0.14;
  Frame f;

  if (self->points->len == 0)
    return;
  get_frame (self, width, height, scale, &f);
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float)width, (float)height));
  cairo_set_source_rgba (cr, ink, ink, ink, 0.25);
  cairo_set_line_width (cr, 1);
  cairo_move_to (cr, f.left - 4.5, f.top);
  cairo_line_to (cr, f.left - 4.5, f.bottom + 4.5);
  cairo_line_to (cr, f.right, f.bottom + 4.5);
  cairo_stroke (cr);
  draw_front (self, cr, &f, ink);
  draw_points (self, cr, &f, dark, scale);
  cairo_destroy (cr);
  g_autofree char *low = cost_text (self, f.x0), *high = cost_text (self, f.x1);
  g_autofree char *best = studio_format_number (f.y0), *worst = studio_format_number (f.y1);
  draw_text (self, snapshot, worst, f.left - 8, f.top - 8, 1, ink);
  draw_text (self, snapshot, best, f.left - 8, f.bottom - 10 * scale, 1, ink);
  draw_text (self, snapshot, low, f.left, f.bottom + 5, 0, ink);
  draw_text (self, snapshot, high, f.right, f.bottom + 5, 1, ink);
}

static void
scatter_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                 int *minimum_baseline, int *natural_baseline)
{
  const double scale = studio_text_scale (widget);

  *minimum = *natural = (int)((orientation == GTK_ORIENTATION_HORIZONTAL ? 140 : 180) * scale);
}

/* ---- keys and pointer --------------------------------------------------------------------------- */

static void
move_to (StudioRunScatter *self, guint i)
{
  self->cursor = MIN (i, self->points->len > 0 ? self->points->len - 1 : 0);
  say (self);
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioRunScatter *self)
{
  if ((state & gtk_accelerator_get_default_mod_mask ()) != 0)
    return FALSE;
  if (key == GDK_KEY_Left)
    move_to (self, self->cursor > 0 ? self->cursor - 1 : 0);
  else if (key == GDK_KEY_Right)
    move_to (self, self->cursor + 1);
  else if (key == GDK_KEY_Home)
    move_to (self, 0);
  else if (key == GDK_KEY_End)
    move_to (self, G_MAXUINT - 1);
  else
    return FALSE;
  return TRUE;
}

static void
pressed_cb (GtkGestureClick *click, int n, double x, double y, StudioRunScatter *self)
{
  double nearest = INFINITY;
  guint found = self->cursor;
  Frame f;

  gtk_widget_grab_focus (GTK_WIDGET (self));
  get_frame (self, gtk_widget_get_width (GTK_WIDGET (self)), gtk_widget_get_height (GTK_WIDGET (self)),
             studio_text_scale (GTK_WIDGET (self)), &f);
  for (guint i = 0; i < self->points->len; i++)
    {
      double px, py;

      to_pixels (&f, &g_array_index (self->points, Point, i), &px, &py);
      if (hypot (px - x, py - y) < nearest)
        {
          nearest = hypot (px - x, py - y);
          found = i;
        }
    }
  move_to (self, found);
}

/* ---- object ------------------------------------------------------------------------------------------ */

static void
run_scatter_finalize (GObject *object)
{
  StudioRunScatter *self = STUDIO_RUN_SCATTER (object);

  g_array_unref (self->points);
  g_free (self->words);
  G_OBJECT_CLASS (studio_run_scatter_parent_class)->finalize (object);
}

static void
studio_run_scatter_class_init (StudioRunScatterClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = run_scatter_finalize;
  widget_class->snapshot = scatter_snapshot;
  widget_class->measure = scatter_measure;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  moved_signal = studio_signal_new ("moved", STUDIO_TYPE_RUN_SCATTER, 0);
}

static void
studio_run_scatter_init (StudioRunScatter *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();
  GtkGesture *click = gtk_gesture_click_new ();

  self->points = g_array_new (FALSE, TRUE, sizeof (Point));
  g_array_set_clear_func (self->points, point_clear);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Loss and cost of the runs"),
                                  -1);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
}

StudioRunScatter *
studio_run_scatter_new (void)
{
  return g_object_new (STUDIO_TYPE_RUN_SCATTER, NULL);
}
