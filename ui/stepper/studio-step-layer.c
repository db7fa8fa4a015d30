/* Draws chips, the current card and breakpoints over the canvas; see the header. */
#include "ui/stepper/studio-step-layer.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-hash.h"
#include "ui/canvas/canvas-style.h"
#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-wires.h"
#include "ui/stepper/chip-places.h"
#include "ui/stepper/step-words.h"

#define BREAK_RADIUS 7.0
#define MARK_RADIUS  7.0
#define MARK_POINTS  32   /* of the line along a wire */
#define LEAST_TYPE   10.0 /* pixels */

struct _StudioStepLayer
{
  GtkWidget parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas; /* weak */
  StudioStepper *stepper;
  StudioBreakpoints *breakpoints;
  StudioInstant *instant;
  GHashTable *layouts; /* texts of shape labels */
  ChipPlace *place;    /* of the chips, by outputs of the scene; NULL: not placed yet */
  guint64 placed;      /* what they were placed for */
  guint n_places;
  ChipPlace *shown; /* the same, but within the view `seen` */
  StudioRect seen;
  guint idle; /* cards are described for screen readers */
  gboolean has_words;
};

G_DEFINE_FINAL_TYPE (StudioStepLayer, studio_step_layer, GTK_TYPE_WIDGET)

/* What a drawing needs. */
typedef struct
{
  const StudioScene *scene;
  StudioView view;
  StudioTheme theme;
  PangoContext *context;
  PangoLayout *layout;
  double grow; /* chips are larger than the canvas by this factor */
} Picture;

/* Type never falls below what can be read; in a few steps, so that chips stay where they are during a small zoom. */
static double
chip_growth (const Picture *p)
{
  const double size = STUDIO_SMALL_TEXT * STUDIO_USUAL_TEXT * studio_text_enlargement (p->context) * p->view.zoom;

  return MAX (1, ceil (8 * LEAST_TYPE / size) / 8);
}

static gboolean
picture_init (StudioStepLayer *self, Picture *p)
{
  GtkWidget *canvas = GTK_WIDGET (self->canvas);

  if (self->canvas == NULL)
    return FALSE;
  p->scene = studio_document_get_scene (self->document);
  if (p->scene == NULL)
    return FALSE;
  studio_canvas_get_view (self->canvas, &p->view.x, &p->view.y, &p->view.zoom);
  p->view.width = gtk_widget_get_width (canvas);
  p->view.height = gtk_widget_get_height (canvas);
  studio_theme_load (&p->theme, canvas);
  p->context = gtk_widget_get_pango_context (canvas);
  p->layout = studio_small_text_new (p->context, "");
  p->grow = chip_growth (p);
  return TRUE;
}

/* ---- chips ------------------------------------------------------------ */

/* Those of the step, else of a graph without data. */
static GHashTable *
chips_of (StudioStepLayer *self)
{
  return studio_stepper_is_on (self->stepper) ? studio_stepper_get_chips (self->stepper)
                                              : studio_instant_get_chips (self->instant);
}

/* Calls func with each chip that has a place. */
typedef void (*ChipFunc) (StudioStepLayer *self, const Picture *p, const StudioItem *item, const StudioPort *port,
                          const StepChip *chip, const StudioRect *rect, gpointer data);

/* A number for what places depend on but the chips: cards, labels and the size of text. */
static guint64
layout_key (const Picture *p)
{
  const guint font[]
      = { pango_context_get_serial (p->context), p->scene->id, p->scene->n_items, (guint)p->scene->shapes };
  guint64 key = loom_hash_bytes (loom_hash_bytes (LOOM_HASH_EMPTY, font, sizeof font), &p->grow, sizeof p->grow);

  for (guint i = 0; i < p->scene->n_items; i++)
    {
      const StudioItem *item = &p->scene->item[i];
      const double at[] = { item->x, item->y, item->width, item->height, item->hanging, item->hanging_width };

      key = loom_hash_bytes (key, at, sizeof at);
    }
  return key;
}

/* In canvas units. */
static void
chip_size (const Picture *p, const StudioChip *chip, double *width, double *height)
{
  studio_chip_size (chip, p->layout, width, height);
  *width *= p->grow;
  *height *= p->grow;
}

static void
place_chips (StudioStepLayer *self, const Picture *p, GHashTable *chips)
{
  LoomNet *net = studio_document_get_net (self->document);
  ChipPlace *place;
  guint all = 0, n = 0;

  for (guint i = 0; i < p->scene->n_items; i++)
    all += p->scene->item[i].n_outputs;
  g_free (self->place);
  g_clear_pointer (&self->shown, g_free);
  place = self->place = g_new0 (ChipPlace, all + 1);
  self->n_places = all;
  for (guint i = 0; i < p->scene->n_items; i++)
    for (guint o = 0; o < p->scene->item[i].n_outputs; o++, n++)
      {
        const StepChip *chip = step_chips_find (chips, &p->scene->item[i].output[o].source);
        const StudioChip *both[] = { chip != NULL ? chip->value : NULL, chip != NULL ? chip->gradient : NULL };

        if (net != NULL)
          place[n].rank = chip_rank (net, &p->scene->item[i].output[o], both[1] != NULL);
        for (guint k = 0; k < 2; k++)
          if (both[k] != NULL)
            {
              double width, height;

              chip_size (p, both[k], &width, &height);
              place[n].rect.width = MAX (place[n].rect.width, width);
              place[n].rect.height += height + (place[n].rect.height > 0 ? 2 : 0);
            }
      }
  chip_places (p->scene, studio_drawn_shape_labels (p->scene, p->context, self->layouts), place);
  StudioRect bounds = { 0, 0, 0, 0 };
  for (guint i = 0; i < all; i++)
    if (place[i].rect.width > 0)
      bounds = bounds.width > 0 ? studio_rect_union (bounds, place[i].rect) : place[i].rect;
  studio_canvas_set_chips (
      self->canvas, &GRAPHENE_RECT_INIT ((float)bounds.x, (float)bounds.y, (float)bounds.width, (float)bounds.height));
}

/* Chips keep their places while only the view moves, but for those that its edge would cut. */
static void
for_each_chip (StudioStepLayer *self, const Picture *p, ChipFunc func, gpointer data)
{
  GHashTable *chips = chips_of (self);
  const StudioRect seen = studio_view_visible (&p->view);
  const guint64 key = layout_key (p);
  guint n = 0;

  if (g_hash_table_size (chips) == 0)
    return;
  if (self->place == NULL || self->placed != key)
    place_chips (self, p, chips);
  self->placed = key;
  if (self->shown == NULL || memcmp (&seen, &self->seen, sizeof seen) != 0)
    {
      g_free (self->shown);
      self->shown = g_memdup2 (self->place, self->n_places * sizeof *self->place);
      self->seen = seen;
      chip_places_within (p->scene, studio_drawn_shape_labels (p->scene, p->context, self->layouts), self->shown,
                          &seen);
    }
  for (guint i = 0; i < p->scene->n_items; i++)
    for (guint o = 0; o < p->scene->item[i].n_outputs; o++, n++)
      if (self->shown[n].rect.width > 0)
        func (self, p, &p->scene->item[i], &p->scene->item[i].output[o],
              step_chips_find (chips, &p->scene->item[i].output[o].source), &self->shown[n].rect, data);
}

static void
draw_chip (StudioStepLayer *self, const Picture *p, const StudioItem *item, const StudioPort *port,
           const StepChip *chip, const StudioRect *rect, gpointer data)
{
  cairo_t *cr = data;
  const StudioChip *both[] = { chip->value, chip->gradient };
  double y = rect->y;

  for (guint k = 0; k < 2; k++)
    if (both[k] != NULL)
      {
        double width, height, sx, sy;

        chip_size (p, both[k], &width, &height);
        studio_view_to_screen (&p->view, rect->x + (rect->width - width) / 2, y, &sx, &sy);
        studio_draw_chip (cr, both[k], k == 1, floor (sx), floor (sy), p->view.zoom * p->grow, &p->theme, p->layout);
        y += height + 2;
      }
}

/* ---- cards ------------------------------------------------------------ */

static gboolean
card_rect (StudioStepLayer *self, const char *path, graphene_rect_t *rect)
{
  const StudioScene *scene = studio_document_get_scene (self->document);
  const guint item = studio_scene_card_of (scene, path);

  return item != STUDIO_NO_ITEM && studio_canvas_get_card_rect (self->canvas, scene->item[item].path, rect);
}

/* A frame around the card and an arrow at its upper edge, so that it does not depend on colour. */
static void
draw_current (StudioStepLayer *self, const Picture *p, cairo_t *cr)
{
  const StudioStepPlace *place = studio_stepper_get_place (self->stepper);
  const gboolean is_backward = place != NULL && g_str_equal (place->phase, "backward");
  graphene_rect_t r;

  if (place == NULL || place->node[0] == '\0' || !card_rect (self, place->node, &r))
    return;
  const StudioColor *color = is_backward ? &p->theme.dtype[LOOM_I64] : &p->theme.accent;
  const double x = r.origin.x, y = r.origin.y, w = r.size.width, middle = x + w / 2, tip = is_backward ? -9 : 9;

  studio_draw_box (cr, x - 5, y - 5, w + 10, r.size.height + 10, 14, NULL, 3, color);
  cairo_move_to (cr, middle + tip, y - 14);
  cairo_line_to (cr, middle - tip, y - 21);
  cairo_line_to (cr, middle - tip, y - 7);
  cairo_close_path (cr);
  studio_color_set (color, cr);
  cairo_fill (cr);
}

/* ---- a chain of derivatives -------------------------------------------- */

/* The item and the output of the scene at which a port of the net is. */
static gboolean
find_output (StudioStepLayer *self, const StudioScene *scene, const char *port, guint *item, guint *output)
{
  LoomNet *net = studio_document_get_net (self->document);
  LoomNetSource source;
  const int node = net != NULL ? loom_net_find_port (net, port, &source.output, NULL) : -1;

  for (*item = 0; node >= 0 && *item < scene->n_items; (*item)++)
    for (*output = 0; *output < scene->item[*item].n_outputs; (*output)++)
      {
        const StudioPort *p = &scene->item[*item].output[*output];

        if (p->typed && p->source.node == (guint)node && p->source.output == source.output)
          return TRUE;
      }
  return FALSE;
}

/* Calls func with the position of each marked port on the canvas, and with the one before it. */
typedef void (*MarkFunc) (StudioStepLayer *self, const Picture *p, const char *port, guint item, guint output,
                          guint before, gpointer data);

static void
for_each_mark (StudioStepLayer *self, const Picture *p, MarkFunc func, gpointer data)
{
  const GPtrArray *ports = studio_stepper_get_marked (self->stepper);
  guint before = STUDIO_NO_ITEM; /* a wire */

  for (guint i = 0; ports != NULL && i < ports->len; i++)
    {
      guint item, output, link = STUDIO_NO_ITEM;

      if (!find_output (self, p->scene, ports->pdata[i], &item, &output))
        continue;
      for (guint k = before; k != STUDIO_NO_ITEM && link == STUDIO_NO_ITEM; k = p->scene->link[k].next_out)
        if (p->scene->link[k].to == item)
          link = k;
      func (self, p, ports->pdata[i], item, output, link, data);
      before = p->scene->item[item].output[output].link;
    }
}

static void
mark_point (const Picture *p, guint item, guint output, double *x, double *y)
{
  studio_geometry_port (&p->scene->item[item], TRUE, output, x, y);
  studio_view_to_screen (&p->view, *x, *y, x, y);
}

/* A ring around the port, and a line along the wire that leads to its card. */
static void
draw_mark (StudioStepLayer *self, const Picture *p, const char *port, guint item, guint output, guint before,
           gpointer data)
{
  cairo_t *cr = data;
  double x, y;

  studio_color_set (&p->theme.dtype[LOOM_I64], cr);
  cairo_set_line_width (cr, 4);
  for (guint k = 0; before != STUDIO_NO_ITEM && k <= MARK_POINTS; k++)
    {
      studio_route_at (&studio_scene_routes (p->scene)[before], (double)k / MARK_POINTS, &x, &y);
      studio_view_to_screen (&p->view, x, y, &x, &y);
      cairo_line_to (cr, x, y);
    }
  cairo_stroke (cr);
  mark_point (p, item, output, &x, &y);
  cairo_arc (cr, x, y, MARK_RADIUS, 0, 2 * G_PI);
  cairo_stroke (cr);
}

static void
print_mark (StudioStepLayer *self, const Picture *p, const char *port, guint item, guint output, guint before,
            gpointer data)
{
  StudioStepLayerPrint print = *(StudioStepLayerPrint *)data;
  graphene_rect_t r;
  double x, y;

  mark_point (p, item, output, &x, &y);
  graphene_rect_init (&r, (float)x - MARK_RADIUS, (float)y - MARK_RADIUS, 2 * MARK_RADIUS, 2 * MARK_RADIUS);
  print ("chain", port, GTK_WIDGET (self), &r);
}

/* An octagon at the upper left corner. */
static void
draw_breakpoint (StudioStepLayer *self, const Picture *p, cairo_t *cr, const char *path)
{
  graphene_rect_t r;

  if (!card_rect (self, path, &r))
    return;
  for (int k = 0; k < 8; k++)
    cairo_line_to (cr, r.origin.x + BREAK_RADIUS * cos ((k + 0.5) * G_PI / 4),
                   r.origin.y + BREAK_RADIUS * sin ((k + 0.5) * G_PI / 4));
  cairo_close_path (cr);
  studio_color_set (&p->theme.error, cr);
  cairo_fill_preserve (cr);
  studio_color_set (&p->theme.background, cr);
  cairo_set_line_width (cr, 1.5);
  cairo_stroke (cr);
}

static void
layer_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioStepLayer *self = STUDIO_STEP_LAYER (widget);
  const guint n_breakpoints = studio_breakpoints_n (self->breakpoints);
  Picture p = { 0 };
  cairo_t *cr;

  if ((!studio_stepper_is_on (self->stepper) && n_breakpoints == 0 && g_hash_table_size (chips_of (self)) == 0
       && studio_stepper_get_marked (self->stepper) == NULL)
      || !picture_init (self, &p))
    return;
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float)gtk_widget_get_width (widget),
                                                                 (float)gtk_widget_get_height (widget)));
  if (p.view.zoom >= STUDIO_ZOOM_DETAIL)
    for_each_chip (self, &p, draw_chip, cr);
  for_each_mark (self, &p, draw_mark, cr);
  draw_current (self, &p, cr);
  for (guint i = 0; i < n_breakpoints; i++)
    draw_breakpoint (self, &p, cr, studio_breakpoints_get (self->breakpoints, i)->node);
  cairo_destroy (cr);
  g_object_unref (p.layout);
}

/* ---- words ------------------------------------------------------------ */

/* Later than the change, because cards follow the document before the next frame. */
static gboolean
describe_cb (gpointer data)
{
  StudioStepLayer *self = data;
  const StudioScene *scene = self->canvas != NULL ? studio_document_get_scene (self->document) : NULL;
  GHashTable *chips = chips_of (self);
  const gboolean has_words = g_hash_table_size (chips) > 0 || studio_breakpoints_n (self->breakpoints) > 0;
  gboolean is_other = FALSE;

  self->idle = 0;
  if (scene == NULL || !(has_words || self->has_words))
    return G_SOURCE_REMOVE;
  self->has_words = has_words;
  for (guint i = 0; i < scene->n_items; i++)
    {
      g_autofree char *words = step_words_of (&scene->item[i], chips, self->breakpoints);

      is_other = studio_canvas_set_words (self->canvas, scene->item[i].path, words) || is_other;
    }
  if (is_other)
    studio_canvas_describe (self->canvas);
  return G_SOURCE_REMOVE;
}

static void
describe_later (StudioStepLayer *self)
{
  gtk_widget_queue_draw (GTK_WIDGET (self));
  if (self->idle == 0)
    self->idle = g_idle_add (describe_cb, self);
}

/* ---- printing --------------------------------------------------------- */

static void
print_chip (StudioStepLayer *self, const Picture *p, const StudioItem *item, const StudioPort *port,
            const StepChip *chip, const StudioRect *rect, gpointer data)
{
  StudioStepLayerPrint print = *(StudioStepLayerPrint *)data;
  g_autofree char *words = step_chip_words (chip), *name = g_strdup_printf ("%s.%s %s", item->path, port->name, words);
  double x, y;
  graphene_rect_t r;

  studio_view_to_screen (&p->view, rect->x, rect->y, &x, &y);
  graphene_rect_init (&r, (float)x, (float)y, (float)(rect->width * p->view.zoom),
                      (float)(rect->height * p->view.zoom));
  print ("chip", name, GTK_WIDGET (self), &r);
}

void
studio_step_layer_print (StudioStepLayer *self, StudioStepLayerPrint print)
{
  const StudioStepPlace *place = studio_stepper_get_place (self->stepper);
  g_autofree char *text = studio_stepper_dup_text (self->stepper);
  graphene_rect_t r = { 0 };
  Picture p = { 0 };

  if (!picture_init (self, &p))
    return;
  for_each_chip (self, &p, print_chip, &print);
  for_each_mark (self, &p, print_mark, &print);
  for (guint i = 0; i < studio_breakpoints_n (self->breakpoints); i++)
    {
      const StudioBreakpoint *b = studio_breakpoints_get (self->breakpoints, i);
      g_autofree char *words = studio_breakpoint_words (b), *name = g_strdup_printf ("%s %s", b->node, words);

      card_rect (self, b->node, &r);
      print ("breakpoint", name, GTK_WIDGET (self), &r);
    }
  if (place != NULL)
    {
      card_rect (self, place->node, &r);
      print ("current", text, GTK_WIDGET (self), &r);
    }
  g_object_unref (p.layout);
}

/* ---- widget ----------------------------------------------------------- */

static void
layer_dispose (GObject *object)
{
  StudioStepLayer *self = STUDIO_STEP_LAYER (object);

  g_clear_handle_id (&self->idle, g_source_remove);
  g_clear_weak_pointer (&self->canvas);
  g_clear_object (&self->document);
  g_clear_object (&self->stepper);
  g_clear_object (&self->breakpoints);
  g_clear_object (&self->instant);
  g_clear_pointer (&self->layouts, g_hash_table_unref);
  g_clear_pointer (&self->place, g_free);
  g_clear_pointer (&self->shown, g_free);
  G_OBJECT_CLASS (studio_step_layer_parent_class)->dispose (object);
}

static void
studio_step_layer_class_init (StudioStepLayerClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = layer_dispose;
  GTK_WIDGET_CLASS (klass)->snapshot = layer_snapshot;
}

static void
studio_step_layer_init (StudioStepLayer *self)
{
  self->layouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  gtk_widget_set_can_target (GTK_WIDGET (self), FALSE);
  gtk_widget_set_can_focus (GTK_WIDGET (self), FALSE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
}

static void
changed_cb (StudioStepLayer *self)
{
  if (self->canvas != NULL && g_hash_table_size (chips_of (self)) == 0)
    studio_canvas_set_chips (self->canvas, NULL);
  g_clear_pointer (&self->place, g_free);
  describe_later (self);
}

StudioStepLayer *
studio_step_layer_new (StudioDocument *document, StudioCanvas *canvas, StudioStepper *stepper,
                       StudioBreakpoints *breakpoints, StudioInstant *instant)
{
  StudioStepLayer *self = g_object_new (STUDIO_TYPE_STEP_LAYER, NULL);

  self->document = g_object_ref (document);
  self->stepper = g_object_ref (stepper);
  self->breakpoints = g_object_ref (breakpoints);
  self->instant = g_object_ref (instant);
  g_set_weak_pointer (&self->canvas, canvas);
  g_signal_connect_object (canvas, "view-changed", G_CALLBACK (gtk_widget_queue_draw), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "scope-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (stepper, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (stepper, "marked", G_CALLBACK (gtk_widget_queue_draw), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (instant, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (breakpoints, "changed", G_CALLBACK (describe_later), self, G_CONNECT_SWAPPED);
  describe_later (self);
  return self;
}
