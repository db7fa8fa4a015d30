/* The widget that draws a trace as lanes of boxes, and handles zoom, scrolling and selection.
 *
 * Lane names are at the left and times at the top. Every span is a box: filled for computing, striped for exchanging,
 * and empty with a dashed border for waiting, so that nothing depends on colour alone. The wheel zooms at the pointer
 * and dragging scrolls; the arrow keys select a span, plus and minus zoom. */
#include "ui/timeline/studio-timeline.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/charts/studio-type.h"
#include "ui/drawing/chart-text.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/timeline/timeline-text.h"

#define ROW               26
#define AXIS              24
#define GAP               10
#define MIN_TICK_DISTANCE 90 /* minimum distance of two tick labels, pixels */
#define MIN_NAME_WIDTH    24 /* minimum width of a box with a name, pixels */
#define DEEPEST           1e-3

typedef struct
{
  char *name;
  guint first, end; /* spans */
  gboolean opens;   /* begins a rank */
} Lane;

struct _StudioTimeline
{
  GtkWidget parent_instance;
  GArray *spans, *lanes;
  double length;                /* nanoseconds */
  double from, shown;           /* the visible part, as fractions of the length */
  double pointer, height, held; /* x and y of the pointer; from at the start of a drag */
  gboolean points;              /* the pointer is over the lanes and no key has selected a span since it moved */
  int chosen;                   /* index of the selected span; -1: none */
};

G_DEFINE_FINAL_TYPE (StudioTimeline, studio_timeline, GTK_TYPE_WIDGET)

static guint described_signal;

static double
scale_of (StudioTimeline *self)
{
  return studio_text_scale (GTK_WIDGET (self));
}

static LoomTraceSpan *
span_at (StudioTimeline *self, guint i)
{
  return &g_array_index (self->spans, LoomTraceSpan, i);
}

/* ---- geometry --------------------------------------------------------------------- */

static PangoLayout *
layout_of (StudioTimeline *self, const char *text, gboolean strong)
{
  return chart_text_layout (gtk_widget_get_pango_context (GTK_WIDGET (self)), scale_of (self), strong, text);
}

static double
names_width (StudioTimeline *self)
{
  double width = 0;

  for (guint i = 0; i < self->lanes->len; i++)
    {
      g_autoptr (PangoLayout) layout = layout_of (self, g_array_index (self->lanes, Lane, i).name, TRUE);
      int w;

      pango_layout_get_pixel_size (layout, &w, NULL);
      width = MAX (width, w);
    }
  return width + GAP * scale_of (self);
}

static double
x_of (StudioTimeline *self, double left, double ns)
{
  return left + ((ns / self->length - self->from) / self->shown) * (gtk_widget_get_width (GTK_WIDGET (self)) - left);
}

static double
y_of (StudioTimeline *self, guint lane)
{
  return (AXIS + ROW * lane) * scale_of (self);
}

/* Returns the span at a point, or -1. Short spans are hit within two pixels. */
static int
find (StudioTimeline *self, double x, double y)
{
  double left = names_width (self), away = 2.5;
  int found = -1;

  for (guint l = 0; l < self->lanes->len; l++)
    {
      const Lane *lane = &g_array_index (self->lanes, Lane, l);

      if (y < y_of (self, l) || y >= y_of (self, l + 1) || x < left)
        continue;
      for (guint i = lane->first; i < lane->end; i++)
        {
          double begin = x_of (self, left, (double)span_at (self, i)->begin);
          double end = x_of (self, left, (double)span_at (self, i)->end);
          double distance = x < begin ? begin - x : x > end ? x - end : 0;

          if (distance < away)
            {
              away = MAX (distance, 1e-9);
              found = (int)i;
            }
        }
    }
  return found;
}

static void
limit (StudioTimeline *self)
{
  self->shown = CLAMP (self->shown, DEEPEST, 1);
  self->from = CLAMP (self->from, 0, 1 - self->shown);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* about: the fraction of the visible part that stays fixed. */
static void
zoom (StudioTimeline *self, double factor, double about)
{
  double fixed = self->from + about * self->shown;

  self->shown = CLAMP (self->shown * factor, DEEPEST, 1);
  self->from = fixed - about * self->shown;
  limit (self);
}

/* ---- description -------------------------------------------------------------------- */

static void
emit_described (StudioTimeline *self, int i)
{
  g_autofree char *text = i >= 0 ? timeline_describe (span_at (self, (guint)i)) : NULL;

  g_signal_emit (self, described_signal, 0, text);
}

/* Emits the description again after spans have moved under a still pointer, which causes no event. */
static void
notify_again (StudioTimeline *self)
{
  if (self->spans != NULL)
    emit_described (self, self->points ? find (self, self->pointer, self->height) : self->chosen);
}

gboolean
studio_timeline_is_held (StudioTimeline *self)
{
  return self->points || self->chosen >= 0;
}

char *
studio_timeline_summary (StudioTimeline *self)
{
  return self->spans != NULL && self->spans->len > 0 ? timeline_summary (self->spans, self->length) : NULL;
}

/* ---- drawing ------------------------------------------------------------------------- */

static void
set_ink (cairo_t *cr, gboolean dark, double alpha)
{
  double ink = dark ? 1 : 0.14;

  cairo_set_source_rgba (cr, ink, ink, ink, alpha);
}

/* Of the passes of a step, on light and on dark ground; 0 for a span of none. */
static const guint32 colours[LOOM_N_TRACE_PHASES][2] = { [LOOM_TRACE_NO_PHASE] = { 0x1a5fb4, 0x99c1f1 },
                                                         [LOOM_TRACE_FORWARD] = { 0x1a5fb4, 0x99c1f1 },
                                                         [LOOM_TRACE_BACKWARD] = { 0x813d9c, 0xdc8add },
                                                         [LOOM_TRACE_UPDATE] = { 0x0b6e69, 0x5bc8af } };

guint32
studio_timeline_colour (int phase, gboolean dark)
{
  return colours[phase > 0 && phase < LOOM_N_TRACE_PHASES ? phase : LOOM_TRACE_NO_PHASE][dark];
}

static void
set_kind (cairo_t *cr, gboolean dark, int kind, int phase, double alpha)
{
  const guint32 colour = studio_timeline_colour (phase, dark);

  if (kind == LOOM_TRACE_COMPUTE)
    cairo_set_source_rgba (cr, (colour >> 16) / 255.0, (colour >> 8 & 0xff) / 255.0, (colour & 0xff) / 255.0, alpha);
  else if (kind == LOOM_TRACE_EXCHANGE)
    cairo_set_source_rgba (cr, dark ? 1.00 : 0.64, dark ? 0.64 : 0.28, dark ? 0.28 : 0.00, alpha);
  else
    set_ink (cr, dark, alpha * 0.6);
}

/* width: draws an ellipsis beyond it; negative: no limit. */
static void
draw_layout (cairo_t *cr, PangoLayout *layout, double x, double middle, double limit)
{
  int h;

  if (limit >= 0)
    {
      pango_layout_set_width (layout, (int)(limit * PANGO_SCALE));
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
    }
  pango_layout_get_pixel_size (layout, NULL, &h);
  cairo_move_to (cr, floor (x), floor (middle - h / 2.0));
  pango_cairo_show_layout (cr, layout);
}

static void
draw_text (StudioTimeline *self, cairo_t *cr, const char *text, gboolean strong, double x, double middle)
{
  g_autoptr (PangoLayout) layout = layout_of (self, text, strong);

  draw_layout (cr, layout, x, middle, -1);
}

/* Draws the name of a box if it fits. A node's name may get an ellipsis; the beginning of a sentence would not be
 * understandable. */
static void
draw_name (StudioTimeline *self, cairo_t *cr, const LoomTraceSpan *span, double x, double middle, double limit)
{
  g_autoptr (PangoLayout) layout = layout_of (self, span->node, FALSE);
  int w;

  pango_layout_get_pixel_size (layout, &w, NULL);
  if (w <= limit)
    draw_text (self, cr, span->node, FALSE, x, middle);
  else if (strchr (span->node, ' ') == NULL)
    draw_layout (cr, layout, x, middle, limit);
  else
    {
      g_autoptr (PangoLayout) kind = layout_of (self, timeline_kind (span->kind), FALSE);

      pango_layout_get_pixel_size (kind, &w, NULL);
      if (w <= limit)
        draw_text (self, cr, timeline_kind (span->kind), FALSE, x, middle);
    }
}

/* A line along the lower edge for backward and along the upper edge for the update, for eyes that see no colours. */
static void
mark_phase (StudioTimeline *self, cairo_t *cr, gboolean dark, const LoomTraceSpan *span, double x, double y, double w,
            double h)
{
  const double thick = 3 * scale_of (self);

  if (span->kind != LOOM_TRACE_COMPUTE || span->phase <= LOOM_TRACE_FORWARD)
    return;
  set_ink (cr, !dark, 0.55);
  cairo_rectangle (cr, x, span->phase == LOOM_TRACE_BACKWARD ? y + h - thick - 1 : y + 1, w, thick);
  cairo_fill (cr);
}

static void
draw_box (StudioTimeline *self, cairo_t *cr, gboolean dark, int i, double x, double y, double w, double h)
{
  const LoomTraceSpan *span = span_at (self, (guint)i);
  const double dash[] = { 3, 3 };

  cairo_save (cr);
  cairo_rectangle (cr, x, y, MAX (w, 1), h);
  cairo_clip_preserve (cr);
  set_kind (cr, dark, span->kind, span->phase,
            span->kind == LOOM_TRACE_COMPUTE    ? 0.85
            : span->kind == LOOM_TRACE_EXCHANGE ? 0.25
                                                : 0.08);
  cairo_fill (cr);
  set_kind (cr, dark, span->kind, span->phase, 1);
  cairo_set_line_width (cr, 1.5);
  if (span->kind == LOOM_TRACE_EXCHANGE)
    {
      for (double at = x - h; at < x + w; at += 5)
        {
          cairo_move_to (cr, at, y + h);
          cairo_line_to (cr, at + h, y);
        }
      cairo_stroke (cr);
    }
  if (span->kind == LOOM_TRACE_WAIT)
    cairo_set_dash (cr, dash, 2, 0);
  /* A gap between adjacent boxes. */
  if (w > 3)
    {
      if (span->kind == LOOM_TRACE_COMPUTE)
        cairo_set_source_rgba (cr, dark ? 0.14 : 1, dark ? 0.14 : 1, dark ? 0.14 : 1, 1);
      cairo_rectangle (cr, x, y, w, h);
      cairo_stroke (cr);
    }
  mark_phase (self, cr, dark, span, x, y, w, h);
  if (w > MIN_NAME_WIDTH * scale_of (self) && span->kind != LOOM_TRACE_EXCHANGE)
    {
      if (span->kind == LOOM_TRACE_COMPUTE)
        cairo_set_source_rgb (cr, dark ? 0.08 : 1, dark ? 0.08 : 1, dark ? 0.08 : 1);
      else
        set_ink (cr, dark, 0.9);
      draw_name (self, cr, span, MAX (x, 0) + 4, y + h / 2, w - (MAX (x, 0) - x) - 8);
    }
  cairo_restore (cr);
  if (i == self->chosen)
    {
      set_ink (cr, dark, 1);
      cairo_set_line_width (cr, 2);
      cairo_rectangle (cr, x - 1, y - 1, MAX (w, 1) + 2, h + 2);
      cairo_stroke (cr);
    }
}

static void
draw_axis (StudioTimeline *self, cairo_t *cr, gboolean dark, double left, double width)
{
  double seen = self->length * self->shown, least = seen * MIN_TICK_DISTANCE * scale_of (self) / MAX (width - left, 1);
  double step = pow (10, floor (log10 (least)));
  double bottom = y_of (self, self->lanes->len), taken = left;

  step *= step >= least ? 1 : 2 * step >= least ? 2 : 5 * step >= least ? 5 : 10;
  for (double at = ceil (self->from * self->length / step) * step; at <= (self->from + self->shown) * self->length;
       at += step)
    {
      double x = floor (x_of (self, left, at)) + 0.5;
      g_autofree char *text = at > 0 ? timeline_duration (at) : g_strdup ("0");
      g_autoptr (PangoLayout) layout = layout_of (self, text, FALSE);
      int w;

      pango_layout_get_pixel_size (layout, &w, NULL);
      /* A label that would be clipped at the right edge is drawn left of its tick, or not at all, because a clipped
       * number would be read as another one. */
      double from = x + 3 + w <= width ? x + 3 : x - 3 - w;
      set_ink (cr, dark, 0.15);
      cairo_set_line_width (cr, 1);
      cairo_move_to (cr, x, AXIS * scale_of (self));
      cairo_line_to (cr, x, bottom);
      cairo_stroke (cr);
      set_ink (cr, dark, 0.8);
      if (from >= taken)
        draw_layout (cr, layout, from, AXIS * scale_of (self) / 2, -1);
      taken = MAX (taken, from + w + GAP * scale_of (self) / 2);
    }
}

static void
timeline_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioTimeline *self = STUDIO_TIMELINE (widget);
  double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget), s = scale_of (self);
  gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  double left;
  cairo_t *cr;

  if (self->spans == NULL || self->spans->len == 0 || width <= 0)
    return;
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float)width, (float)height));
  left = names_width (self);
  for (guint l = 0; l < self->lanes->len; l++)
    {
      const Lane *lane = &g_array_index (self->lanes, Lane, l);

      set_ink (cr, dark, 0.9);
      draw_text (self, cr, lane->name, lane->opens, 0, y_of (self, l) + ROW * s / 2);
      if (lane->opens && l > 0)
        {
          set_ink (cr, dark, 0.25);
          cairo_set_line_width (cr, 1);
          cairo_move_to (cr, 0, y_of (self, l) + 0.5);
          cairo_line_to (cr, width, y_of (self, l) + 0.5);
          cairo_stroke (cr);
        }
    }
  cairo_rectangle (cr, left, 0, width - left, height);
  cairo_clip (cr);
  draw_axis (self, cr, dark, left, width);
  for (guint l = 0; l < self->lanes->len; l++)
    {
      const Lane *lane = &g_array_index (self->lanes, Lane, l);

      for (guint i = lane->first; i < lane->end; i++)
        {
          double begin = x_of (self, left, (double)span_at (self, i)->begin);
          double end = x_of (self, left, (double)span_at (self, i)->end);

          if (end >= left && begin <= width)
            draw_box (self, cr, dark, (int)i, MAX (begin, left - 8), y_of (self, l) + 3 * s,
                      MIN (end, width + 8) - MAX (begin, left - 8), (ROW - 6) * s);
        }
    }
  cairo_destroy (cr);
}

static void
timeline_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                  int *minimum_baseline, int *natural_baseline)
{
  StudioTimeline *self = STUDIO_TIMELINE (widget);

  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    *minimum = *natural = (int)(names_width (self) + 160 * scale_of (self));
  else
    *minimum = *natural = (int)y_of (self, self->lanes->len) + 2;
}

/* ---- pointer and keys ------------------------------------------------------------------ */

static void
motion_cb (GtkEventControllerMotion *motion, double x, double y, StudioTimeline *self)
{
  self->pointer = x;
  self->height = y;
  self->points = TRUE;
  notify_again (self);
}

static void
leave_cb (GtkEventControllerMotion *motion, StudioTimeline *self)
{
  self->points = FALSE;
  notify_again (self);
}

static double
fraction_at (StudioTimeline *self, double x)
{
  double left = names_width (self);

  return CLAMP ((x - left) / MAX (gtk_widget_get_width (GTK_WIDGET (self)) - left, 1), 0, 1);
}

static gboolean
scroll_cb (GtkEventControllerScroll *scroll, double dx, double dy, StudioTimeline *self)
{
  if (self->spans == NULL)
    return FALSE;
  if (fabs (dx) > fabs (dy))
    {
      self->from += dx * 0.05 * self->shown;
      limit (self);
    }
  else
    zoom (self, pow (1.2, dy), fraction_at (self, self->pointer));
  notify_again (self);
  return TRUE;
}

/* For screen readers: the chosen box, then the step. */
static void
speak (StudioTimeline *self)
{
  g_autofree char *summary = studio_timeline_summary (self), *box = NULL, *all = NULL;

  if (self->chosen >= 0)
    box = timeline_describe (span_at (self, (guint)self->chosen));
  all = g_strconcat (box != NULL ? box : "", box != NULL ? ". " : "", summary != NULL ? summary : "", NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Timeline"),
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, all, -1);
}

/* -1: no box. */
static void
set_chosen (StudioTimeline *self, int i)
{
  self->chosen = i;
  speak (self);
  emit_described (self, i);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
drag_begin_cb (GtkGestureDrag *drag, double x, double y, StudioTimeline *self)
{
  self->held = self->from;
  gtk_widget_grab_focus (GTK_WIDGET (self));
  if (self->spans == NULL)
    return;
  set_chosen (self, find (self, x, y));
}

static void
drag_update_cb (GtkGestureDrag *drag, double dx, double dy, StudioTimeline *self)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self)) - names_width (self);

  self->from = self->held - dx / MAX (width, 1) * self->shown;
  limit (self);
}

/* Selects a span and scrolls to it. */
static void
choose (StudioTimeline *self, int i)
{
  const int chosen = CLAMP (i, 0, (int)self->spans->len - 1);
  const double begin = (double)span_at (self, (guint)chosen)->begin / self->length;
  const double end = (double)span_at (self, (guint)chosen)->end / self->length;

  if (begin < self->from || end > self->from + self->shown)
    self->from = (begin + end) / 2 - self->shown / 2;
  limit (self);
  self->points = FALSE;
  set_chosen (self, chosen);
}

/* Selects the span of the neighbouring lane at the start of the selected one. */
static void
choose_lane (StudioTimeline *self, int by)
{
  gint64 at = self->chosen >= 0 ? span_at (self, (guint)self->chosen)->begin : 0;
  int lane = 0;

  for (guint l = 0; l < self->lanes->len; l++)
    if (self->chosen >= (int)g_array_index (self->lanes, Lane, l).first)
      lane = (int)l;
  lane = CLAMP (lane + by, 0, (int)self->lanes->len - 1);
  const Lane *to = &g_array_index (self->lanes, Lane, (guint)lane);
  guint i = to->first;
  while (i + 1 < to->end && span_at (self, i + 1)->begin <= at)
    i++;
  choose (self, (int)i);
}

static gboolean
key_cb (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType mods, StudioTimeline *self)
{
  if (self->spans == NULL || self->spans->len == 0 || (mods & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return FALSE;
  switch (key)
    {
    case GDK_KEY_Left:
      choose (self, self->chosen - 1);
      return TRUE;
    case GDK_KEY_Right:
      choose (self, self->chosen + 1);
      return TRUE;
    case GDK_KEY_Up:
      choose_lane (self, -1);
      return TRUE;
    case GDK_KEY_Down:
      choose_lane (self, 1);
      return TRUE;
    case GDK_KEY_Escape:
      if (self->chosen < 0)
        return FALSE;
      set_chosen (self, -1);
      return TRUE;
    case GDK_KEY_plus:
    case GDK_KEY_KP_Add:
    case GDK_KEY_minus:
    case GDK_KEY_KP_Subtract:
      zoom (self, key == GDK_KEY_plus || key == GDK_KEY_KP_Add ? 0.7 : 1 / 0.7, 0.5);
      notify_again (self);
      return TRUE;
    case GDK_KEY_Home:
      self->from = 0;
      self->shown = 1;
      limit (self);
      notify_again (self);
      return TRUE;
    default:
      return FALSE;
    }
}

/* ---- object -------------------------------------------------------------------------------- */

static void
lane_clear (gpointer data)
{
  g_free (((Lane *)data)->name);
}

static void
make_lanes (StudioTimeline *self)
{
  const LoomTraceSpan *before = NULL;

  g_array_set_size (self->lanes, 0);
  self->length = 1;
  for (guint i = 0; i < self->spans->len; i++)
    {
      const LoomTraceSpan *span = span_at (self, i);

      self->length = MAX (self->length, (double)span->end);
      if (before == NULL || before->rank != span->rank || !g_str_equal (before->lane, span->lane))
        {
          Lane lane = { .first = i, .opens = before == NULL || before->rank != span->rank };
          const char *name = g_str_equal (span->lane, "exchange") ? _ ("exchange") : span->lane;

          lane.name
              = lane.opens ? g_strdup_printf (_ ("rank %d · %s"), span->rank, name) : g_strdup_printf ("  %s", name);
          g_array_append_val (self->lanes, lane);
        }
      g_array_index (self->lanes, Lane, self->lanes->len - 1).end = i + 1;
      before = span;
    }
}

/* Returns the span of another step with the same rank, lane, kind, label and node; of several, the one with the nearest
 * index. −1: none. */
static int
find_same (GArray *spans, const LoomTraceSpan *span, int index)
{
  int found = -1;

  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *other = &g_array_index (spans, LoomTraceSpan, i);

      if (other->rank == span->rank && other->kind == span->kind && g_str_equal (other->lane, span->lane)
          && g_str_equal (other->label, span->label) && g_str_equal (other->node, span->node)
          && (found < 0 || abs ((int)i - index) < abs (found - index)))
        found = (int)i;
    }
  return found;
}

void
studio_timeline_set_spans (StudioTimeline *self, GArray *spans)
{
  if (self->chosen >= 0)
    self->chosen = find_same (spans, span_at (self, (guint)self->chosen), self->chosen);
  g_clear_pointer (&self->spans, g_array_unref);
  self->spans = g_array_ref (spans);
  make_lanes (self);
  speak (self);
  gtk_widget_queue_resize (GTK_WIDGET (self));
  /* The description has times of the previous step. */
  notify_again (self);
}

static void
studio_timeline_finalize (GObject *object)
{
  StudioTimeline *self = STUDIO_TIMELINE (object);

  g_clear_pointer (&self->spans, g_array_unref);
  g_array_unref (self->lanes);
  G_OBJECT_CLASS (studio_timeline_parent_class)->finalize (object);
}

static void
studio_timeline_class_init (StudioTimelineClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = studio_timeline_finalize;
  widget_class->snapshot = timeline_snapshot;
  widget_class->measure = timeline_measure;
  gtk_widget_class_set_css_name (widget_class, "timeline");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  described_signal = studio_signal_new ("described", STUDIO_TYPE_TIMELINE, 1, G_TYPE_STRING);
}

static void
studio_timeline_init (StudioTimeline *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new (), *keys = gtk_event_controller_key_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
  GtkGesture *drag = gtk_gesture_drag_new ();

  self->lanes = g_array_new (FALSE, TRUE, sizeof (Lane));
  g_array_set_clear_func (self->lanes, lane_clear);
  self->shown = 1;
  self->chosen = -1;
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), self);
  g_signal_connect (scroll, "scroll", G_CALLBACK (scroll_cb), self);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  gtk_widget_add_controller (GTK_WIDGET (self), scroll);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
}
