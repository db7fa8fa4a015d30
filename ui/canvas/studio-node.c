/* A card draws itself: border, bar, icon, name, summary, ports, rings, and the fault below.
 *
 * Drawing is in canvas units under one scale, so that texts are laid out once and serve every
 * zoom. Below the zoom where they could not be read, a card is three plain rectangles. */
#include "ui/canvas/studio-node.h"

#include <math.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"

struct _StudioNode
{
  GtkWidget parent_instance;

  StudioCanvas *canvas; /* the parent; never outlived */
  guint64 serial;
  guint item;
  guint digest, flow_digest;
  gboolean selected;
  char *live_shown;
  PangoLayout *name, *summary, *badge, *fault, *fix, *port;
};

G_DEFINE_FINAL_TYPE (StudioNode, studio_node, GTK_TYPE_WIDGET)

#define FROZEN_SIZE 12.0
#define MARGIN      8.0 /* studio_geometry_extent's */

static const StudioItem *
own_item (StudioNode *self)
{
  StudioScene *scene = studio_document_get_scene (studio_canvas_get_document (self->canvas));

  return self->item < scene->n_items && scene->item[self->item].serial == self->serial ? &scene->item[self->item]
                                                                                       : NULL;
}

static const char *
live_text (StudioNode *self, const StudioItem *item)
{
  return g_hash_table_lookup (self->canvas->live, item->path);
}

static PangoLayout *
make_layout (StudioNode *self, const char *text, double scale, int weight, double width, int lines)
{
  PangoLayout *layout = gtk_widget_create_pango_layout (GTK_WIDGET (self), text);
  PangoAttrList *attributes = pango_attr_list_new ();

  if (scale != 1)
    pango_attr_list_insert (attributes, pango_attr_scale_new (scale));
  if (weight != PANGO_WEIGHT_NORMAL)
    pango_attr_list_insert (attributes, pango_attr_weight_new (weight));
  pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum=1"));
  pango_layout_set_attributes (layout, attributes);
  pango_attr_list_unref (attributes);
  if (width > 0)
    {
      pango_layout_set_width (layout, width * PANGO_SCALE);
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
    }
  if (lines > 1)
    {
      pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
      pango_layout_set_height (layout, -lines);
    }
  return layout;
}

static void
clear_texts (StudioNode *self)
{
  g_clear_object (&self->name);
  g_clear_object (&self->summary);
  g_clear_object (&self->badge);
  g_clear_object (&self->fault);
  g_clear_object (&self->fix);
}

static void
ensure_texts (StudioNode *self, const StudioItem *item)
{
  double room = item->width - 36 - 12;
  const char *live = live_text (self, item);

  if (self->name != NULL)
    return;
  if (item->badge != NULL || item->repeat != NULL)
    {
      g_autofree char *text = g_strjoin (" ", item->repeat != NULL ? item->repeat : item->badge,
                                         item->repeat != NULL ? item->badge : NULL, NULL);
      int w;

      self->badge = make_layout (self, text, 0.82, PANGO_WEIGHT_NORMAL, 0, 1);
      pango_layout_get_pixel_size (self->badge, &w, NULL);
      room -= w + 6;
    }
  if (item->frozen)
    room -= FROZEN_SIZE + 6;
  self->name = make_layout (self, item->title, 1, PANGO_WEIGHT_SEMIBOLD, MAX (room, 24), 1);
  self->summary
      = make_layout (self,
                     live != NULL               ? live
                     : item->summary[0] != '\0' ? item->summary
                                                : studio_item_title (item),
                     0.86, live != NULL ? PANGO_WEIGHT_MEDIUM : PANGO_WEIGHT_NORMAL, item->width - 14 - 12, 1);
  if (item->fault != NULL)
    {
      StudioRect r = studio_geometry_fault (item);

      self->fault = make_layout (self, item->fault, 0.86, PANGO_WEIGHT_NORMAL, r.width - 34,
                                 (int)((r.height - 12 - (item->fix != NULL ? 32 : 0)) / 16));
      if (item->fix != NULL)
        self->fix = make_layout (self, item->fix, 0.9, PANGO_WEIGHT_SEMIBOLD, r.width - 28, 1);
    }
}

static void
append_text (GtkSnapshot *snapshot, PangoLayout *layout, double x, double y, const GdkRGBA *colour)
{
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (x, y));
  gtk_snapshot_append_layout (snapshot, layout, colour);
  gtk_snapshot_restore (snapshot);
}

static void
append_box (GtkSnapshot *snapshot, const graphene_rect_t *r, double radius, const GdkRGBA *fill, double width,
            const GdkRGBA *border)
{
  GskRoundedRect outline;

  gsk_rounded_rect_init_from_rect (&outline, r, radius);
  if (fill != NULL)
    {
      gtk_snapshot_push_rounded_clip (snapshot, &outline);
      gtk_snapshot_append_color (snapshot, fill, r);
      gtk_snapshot_pop (snapshot);
    }
  if (border != NULL)
    {
      const float widths[4] = { width, width, width, width };
      const GdkRGBA colours[4] = { *border, *border, *border, *border };

      gtk_snapshot_append_border (snapshot, &outline, widths, colours);
    }
}

/* Far away: three rectangles. */
static void
snapshot_plain (StudioNode *self, GtkSnapshot *snapshot, const StudioItem *item, const StudioTheme *theme, double zoom)
{
  double x = floor (MARGIN * zoom + 0.5), w = MAX (2, floor (item->width * zoom)),
         h = MAX (2, floor (item->height * zoom));
  gboolean fault = item->fault != NULL && !item->fault_is_warning;
  const GdkRGBA *border = fault ? &theme->error : self->selected ? &theme->accent : &theme->dim;
  double line = self->selected || fault ? 2 : 1;

  gtk_snapshot_append_color (snapshot, border, &GRAPHENE_RECT_INIT (x, x, w, h));
  gtk_snapshot_append_color (snapshot, &theme->card,
                             &GRAPHENE_RECT_INIT (x + line, x + line, MAX (0, w - 2 * line), MAX (0, h - 2 * line)));
  gtk_snapshot_append_color (snapshot, studio_theme_category (theme, item),
                             &GRAPHENE_RECT_INIT (x, x, MAX (2, floor (5 * zoom)), h));
  if (gtk_widget_has_visible_focus (GTK_WIDGET (self)))
    append_box (snapshot, &GRAPHENE_RECT_INIT (x - 4, x - 4, w + 8, h + 8), 3, NULL, 2, &theme->accent);
}

static void
snapshot_port (StudioNode *self, GtkSnapshot *snapshot, const StudioItem *item, gboolean is_output, guint p,
               const StudioTheme *theme, gboolean names)
{
  const StudioPort *port = is_output ? &item->output[p] : &item->input[p];
  gboolean wiring = studio_canvas_is_wiring (self->canvas);
  gboolean lit = wiring && studio_canvas_port_is_lit (self->canvas, self->item, is_output, p);
  gboolean bad
      = item->fault != NULL && !item->fault_is_warning && !is_output && g_strcmp0 (item->fault_port, port->name) == 0;
  GdkRGBA colour = bad ? theme->error : port->typed ? theme->dtype[port->type.dtype] : theme->untyped;
  double x, y, r = STUDIO_PORT_RADIUS;
  gboolean offered = !is_output && p >= item->n_inputs;

  if (offered)
    r = 4;
  studio_geometry_port (item, is_output, p, &x, &y);
  x -= item->x;
  y -= item->y;
  if (wiring && !lit)
    colour.alpha = 0.25;
  if (lit)
    {
      GdkRGBA halo = theme->accent;

      halo.alpha = 0.25;
      append_box (snapshot, &GRAPHENE_RECT_INIT (x - 9, y - 9, 18, 18), 9, &halo, 0, NULL);
    }
  /* Hollow while nothing is wired: what is missing shows without colour. */
  append_box (snapshot, &GRAPHENE_RECT_INIT (x - r, y - r, 2 * r, 2 * r), r, port->n_links > 0 ? &colour : &theme->card,
              2, lit ? &theme->accent : &colour);
  if (names && (!wiring || lit))
    {
      int w, h;

      if (self->port == NULL)
        self->port = make_layout (self, "", 0.82, PANGO_WEIGHT_NORMAL, 0, 1);
      pango_layout_set_text (self->port, port->name, -1);
      pango_layout_get_pixel_size (self->port, &w, &h);
      {
        double left = is_output ? x + 10 : x - 10 - w - 8;

        if (offered)
          {
            /* Below the port, and of several in steps, so that no name covers another. */
            left = x - 6;
            y += 10 + h / 2.0 + (p - item->n_inputs) * (h + 4);
          }
        append_box (snapshot, &GRAPHENE_RECT_INIT (left, y - h / 2.0 - 1, w + 8, h + 2), 4, &theme->background, 1,
                    &theme->pill);
        /* The one layout is drawn as it is now: a copy, because the snapshot keeps glyphs and not the layout. */
        append_text (snapshot, self->port, left + 4, y - h / 2.0, &theme->text);
      }
    }
}

static void
snapshot_fault (StudioNode *self, GtkSnapshot *snapshot, const StudioItem *item, const StudioTheme *theme)
{
  StudioRect r = studio_geometry_fault (item), b = studio_geometry_fix_button (item);
  double x = r.x - item->x, y = r.y - item->y;
  cairo_t *cr;

  append_box (snapshot, &GRAPHENE_RECT_INIT (x, y, r.width, r.height), 8, &theme->background, 1, NULL);
  append_box (snapshot, &GRAPHENE_RECT_INIT (x, y, r.width, r.height), 8, &theme->error_background, 1, &theme->error);
  /* A triangle with a stroke: the sign that does not need colour. */
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (x + 8, y + 6, 16, 16));
  cairo_move_to (cr, x + 16, y + 7);
  cairo_line_to (cr, x + 23.5, y + 20.5);
  cairo_line_to (cr, x + 8.5, y + 20.5);
  cairo_close_path (cr);
  gdk_cairo_set_source_rgba (cr, &theme->error);
  cairo_fill (cr);
  gdk_cairo_set_source_rgba (cr, &theme->background);
  cairo_rectangle (cr, x + 15.25, y + 11.5, 1.5, 4.5);
  cairo_rectangle (cr, x + 15.25, y + 17.2, 1.5, 1.6);
  cairo_fill (cr);
  cairo_destroy (cr);
  append_text (snapshot, self->fault, x + 28, y + 6, &theme->text);
  if (self->fix != NULL)
    {
      GdkRGBA fill = theme->error;
      int w, h;

      fill.alpha = 0.16;
      x = b.x - item->x;
      y = b.y - item->y;
      append_box (snapshot, &GRAPHENE_RECT_INIT (x, y, b.width, b.height), 6, &fill, 1, NULL);
      pango_layout_set_alignment (self->fix, PANGO_ALIGN_CENTER);
      pango_layout_get_pixel_size (self->fix, &w, &h);
      append_text (snapshot, self->fix, x + (b.width - pango_layout_get_width (self->fix) / (double)PANGO_SCALE) / 2,
                   y + (b.height - h) / 2.0, &theme->text);
    }
}

/* A snowflake: six arms with a fork each. */
static void
snapshot_frozen (GtkSnapshot *snapshot, double x, double y, const GdkRGBA *colour)
{
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (x, y, FROZEN_SIZE, FROZEN_SIZE));
  double r = FROZEN_SIZE / 2;

  cairo_translate (cr, x + r, y + r);
  gdk_cairo_set_source_rgba (cr, colour);
  cairo_set_line_width (cr, 1.1);
  for (int arm = 0; arm < 6; arm++)
    {
      cairo_move_to (cr, 0, 0);
      cairo_line_to (cr, 0, 0.5 - r);
      cairo_move_to (cr, -2, 1.2 - r);
      cairo_line_to (cr, 0, 3.2 - r);
      cairo_line_to (cr, 2, 1.2 - r);
      cairo_rotate (cr, G_PI / 3);
    }
  cairo_stroke (cr);
  cairo_destroy (cr);
}

static void
snapshot_icon (StudioNode *self, GtkSnapshot *snapshot, const StudioItem *item, const StudioTheme *theme, double x,
               double y)
{
  const char *name = item->is_module ? "view-grid-symbolic" : item->op != NULL ? item->op->icon : NULL;
  GdkPaintable *icon = name != NULL ? studio_canvas_icon (self->canvas, name) : NULL;
  const GdkRGBA *colour = studio_theme_category (theme, item);

  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (x, y));
  if (icon != NULL && GTK_IS_SYMBOLIC_PAINTABLE (icon))
    {
      const GdkRGBA colours[4] = { *colour, theme->error, theme->accent, theme->accent };

      gtk_symbolic_paintable_snapshot_symbolic (GTK_SYMBOLIC_PAINTABLE (icon), snapshot, 16, 16, colours, 4);
    }
  else
    append_box (snapshot, &GRAPHENE_RECT_INIT (2, 2, 12, 12), 3, NULL, 2, colour);
  gtk_snapshot_restore (snapshot);
}

/* ---- the picture below the texts ------------------------------------------ */

static void
port_key (GString *key, const StudioItem *item, const StudioPort *port, gboolean is_output)
{
  gboolean bad
      = item->fault != NULL && !item->fault_is_warning && !is_output && g_strcmp0 (item->fault_port, port->name) == 0;

  g_string_append_c (key, bad ? '!' : port->typed ? 'a' + (char)port->type.dtype : '?');
  g_string_append_c (key, port->n_links > 0 ? '+' : '-');
}

/* Everything that cards of one kind have in common: frame, bar, icon, ports. */
static void
snapshot_frame (StudioNode *self, GtkSnapshot *snapshot, const StudioItem *item, const StudioTheme *theme,
                gboolean fault, double icon_y)
{
  graphene_rect_t card = GRAPHENE_RECT_INIT (0, 0, item->width, item->height);
  GskRoundedRect outline;

  gsk_rounded_rect_init_from_rect (&outline, &card, STUDIO_CARD_RADIUS);
  gtk_snapshot_push_rounded_clip (snapshot, &outline);
  gtk_snapshot_append_color (snapshot, &theme->card, &card);
  gtk_snapshot_append_color (snapshot, studio_theme_category (theme, item),
                             &GRAPHENE_RECT_INIT (0, 0, 4, item->height));
  gtk_snapshot_pop (snapshot);
  /* A module is a stack of cards: a second line above says so. */
  if (item->is_module)
    {
      cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, -5, item->width, 5));

      gdk_cairo_set_source_rgba (cr, &theme->border);
      cairo_set_line_width (cr, 1.2);
      cairo_move_to (cr, 10, -3);
      cairo_line_to (cr, item->width - 10, -3);
      cairo_stroke (cr);
      cairo_destroy (cr);
    }
  append_box (snapshot, &card, STUDIO_CARD_RADIUS, NULL, fault || self->selected ? 2 : 1,
              fault            ? &theme->error
              : self->selected ? &theme->accent
                               : &theme->border);
  if (fault && self->selected)
    append_box (snapshot, &GRAPHENE_RECT_INIT (2, 2, item->width - 4, item->height - 4), STUDIO_CARD_RADIUS - 2, NULL,
                2, &theme->accent);
  snapshot_icon (self, snapshot, item, theme, 14, icon_y);
  if (studio_canvas_is_wiring (self->canvas))
    return;
  for (guint p = 0; p < item->n_inputs; p++)
    snapshot_port (self, snapshot, item, FALSE, p, theme, FALSE);
  for (guint p = 0; p < item->n_outputs; p++)
    snapshot_port (self, snapshot, item, TRUE, p, theme, FALSE);
}

/* Curves are what drawing without a graphics card spends its time on, and most cards differ in their texts alone: so
 * the frame is rasterised once per look and zoom, and then copied. */
static cairo_surface_t *
frame_picture (StudioNode *self, const StudioItem *item, const StudioTheme *theme, gboolean fault, double icon_y,
               double zoom, int factor)
{
  g_autoptr (GString) key = g_string_new (NULL);
  GHashTable *sprites = self->canvas->sprites;
  gboolean wiring = studio_canvas_is_wiring (self->canvas);
  cairo_surface_t *surface;

  g_string_printf (key, "%s %d %g %d %d %d %d|", item->op != NULL ? item->op->name : "", item->is_module, icon_y, fault,
                   self->selected, factor, wiring);
  for (guint p = 0; p < item->n_inputs; p++)
    port_key (key, item, &item->input[p], FALSE);
  g_string_append_c (key, '|');
  for (guint p = 0; p < item->n_outputs; p++)
    port_key (key, item, &item->output[p], TRUE);

  surface = g_hash_table_lookup (sprites, key->str);
  if (surface == NULL)
    {
      int width = ceil ((item->width + 2 * MARGIN) * zoom) * factor;
      int height = ceil ((item->height + 2 * MARGIN) * zoom) * factor;
      GtkSnapshot *snapshot = gtk_snapshot_new ();
      GskRenderNode *node;
      cairo_t *cr;

      surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, width, height);
      cr = cairo_create (surface);
      gtk_snapshot_scale (snapshot, zoom * factor, zoom * factor);
      gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (MARGIN, MARGIN));
      snapshot_frame (self, snapshot, item, theme, fault, icon_y);
      node = gtk_snapshot_free_to_node (snapshot);
      if (node != NULL)
        {
          gsk_render_node_draw (node, cr);
          gsk_render_node_unref (node);
        }
      cairo_destroy (cr);
      cairo_surface_set_device_scale (surface, factor, factor);
      g_hash_table_insert (sprites, g_strdup (key->str), surface);
    }
  return surface;
}

static void
studio_node_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioNode *self = STUDIO_NODE (widget);
  const StudioItem *item = own_item (self);
  const StudioTheme *theme;
  cairo_surface_t *frame;
  cairo_t *cr;
  double zoom, *progress, text_y;
  gboolean fault, names, wiring;
  int h1, h2, factor, badge = 0;

  if (item == NULL)
    return;
  theme = studio_canvas_theme (self->canvas);
  zoom = self->canvas->view.zoom;
  if (zoom < STUDIO_ZOOM_DETAIL)
    {
      snapshot_plain (self, snapshot, item, theme, zoom);
      return;
    }
  ensure_texts (self, item);
  fault = item->fault != NULL && !item->fault_is_warning;
  wiring = studio_canvas_is_wiring (self->canvas);
  names = wiring || self->canvas->hover == self->item;
  factor = gtk_widget_get_scale_factor (widget);
  pango_layout_get_pixel_size (self->name, NULL, &h1);
  pango_layout_get_pixel_size (self->summary, NULL, &h2);
  text_y = floor ((item->height - h1 - h2 - 3) / 2);

  frame = frame_picture (self, item, theme, fault, text_y + floor ((h1 - 16) / 2.0), zoom, factor);
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, ceil ((item->width + 2 * MARGIN) * zoom),
                                                                 ceil ((item->height + 2 * MARGIN) * zoom)));
  cairo_set_source_surface (cr, frame, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_destroy (cr);
  gtk_snapshot_scale (snapshot, zoom, zoom);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (MARGIN, MARGIN));
  progress = g_hash_table_lookup (self->canvas->progress, item->path);
  if (progress != NULL)
    gtk_snapshot_append_color (
        snapshot, &theme->accent,
        &GRAPHENE_RECT_INIT (STUDIO_CARD_RADIUS, 0, (item->width - 2 * STUDIO_CARD_RADIUS) * *progress, 3));
  if (self->canvas->show_cost && item->cost > 0)
    {
      GskRoundedRect outline;

      gsk_rounded_rect_init_from_rect (&outline, &GRAPHENE_RECT_INIT (0, 0, item->width, item->height),
                                       STUDIO_CARD_RADIUS);
      gtk_snapshot_push_rounded_clip (snapshot, &outline);
      gtk_snapshot_append_color (snapshot, &theme->pill, &GRAPHENE_RECT_INIT (0, item->height - 3, item->width, 3));
      gtk_snapshot_append_color (snapshot, &theme->accent,
                                 &GRAPHENE_RECT_INIT (0, item->height - 3, MAX (item->width * item->cost, 4), 3));
      gtk_snapshot_pop (snapshot);
    }
  if (gtk_widget_has_visible_focus (widget))
    append_box (snapshot, &GRAPHENE_RECT_INIT (-5, -5, item->width + 10, item->height + 10), STUDIO_CARD_RADIUS + 5,
                NULL, 2, &theme->accent);

  append_text (snapshot, self->name, 36, text_y, &theme->text);
  if (self->badge != NULL)
    {
      int h;

      pango_layout_get_pixel_size (self->badge, &badge, &h);
      append_text (snapshot, self->badge, item->width - 14 - badge, text_y + (h1 - h) / 2.0, &theme->dim);
      badge += 6;
    }
  if (item->frozen)
    snapshot_frozen (snapshot, item->width - 14 - badge - FROZEN_SIZE, text_y + floor ((h1 - FROZEN_SIZE) / 2),
                     &theme->dim);
  append_text (snapshot, self->summary, 14, text_y + h1 + 3,
               live_text (self, item) != NULL ? &theme->text : &theme->dim);

  /* Ports that are named or lit are drawn over those of the frame. */
  if (names)
    {
      for (guint p = 0; p < item->n_inputs; p++)
        snapshot_port (self, snapshot, item, FALSE, p, theme, TRUE);
      for (guint p = 0; p < item->n_outputs; p++)
        snapshot_port (self, snapshot, item, TRUE, p, theme, TRUE);
      for (guint p = item->n_inputs; wiring && p < item->n_offered; p++)
        if (studio_canvas_port_is_lit (self->canvas, self->item, FALSE, p))
          snapshot_port (self, snapshot, item, FALSE, p, theme, TRUE);
    }
  if (item->fault != NULL)
    snapshot_fault (self, snapshot, item, theme);
}

/* ---- what it shows ------------------------------------------------------ */

static guint
mix (guint hash, const char *text)
{
  return hash * 31 + (text != NULL ? g_str_hash (text) : 7);
}

static guint
item_digest (const StudioItem *item, const char *live)
{
  guint h = 17;

  h = mix (h, item->id);
  h = mix (h, item->kind);
  h = mix (h, item->path);
  h = mix (h, item->summary);
  h = mix (h, item->title);
  h = mix (h, item->badge);
  h = h * 31 + item->frozen;
  h = h * 31 + (guint)(item->cost * 1000);
  h = mix (h, item->repeat);
  h = mix (h, item->fault);
  h = mix (h, item->fault_port);
  h = mix (h, item->fix);
  h = mix (h, live);
  h = h * 31 + item->fault_is_warning;
  for (guint o = 0; o < 2; o++)
    {
      const StudioPort *port = o ? item->output : item->input;

      for (guint p = 0; p < (o ? item->n_outputs : item->n_inputs); p++)
        h = mix (h, port[p].name) * 31 + (port[p].n_links > 0) * 64 + port[p].typed * 32
            + (port[p].typed ? port[p].type.dtype : 0);
    }
  return h;
}

void
studio_node_update (StudioNode *self, const StudioScene *scene, guint item, gboolean selected)
{
  guint digest = item_digest (&scene->item[item], live_text (self, &scene->item[item]));

  self->item = item;
  if (digest == self->digest && selected == self->selected)
    return;
  if (digest != self->digest)
    clear_texts (self);
  self->digest = digest;
  self->selected = selected;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_node_refresh (StudioNode *self, gboolean texts)
{
  if (texts)
    {
      clear_texts (self);
      g_clear_object (&self->port);
    }
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* More names than this say nothing to anybody who hears them. */
#define MAX_NAMES 12

static guint
next_link (const StudioScene *scene, guint link, gboolean outgoing)
{
  return outgoing ? scene->link[link].next_out : scene->link[link].next_in;
}

static void
add_neighbours (GString *s, const StudioScene *scene, guint item, gboolean outgoing)
{
  guint n = 0, all = 0;

  for (guint p = 0; p < (outgoing ? scene->item[item].n_outputs : scene->item[item].n_inputs); p++)
    {
      const StudioPort *port = outgoing ? &scene->item[item].output[p] : &scene->item[item].input[p];

      all += port->n_links;
      for (guint i = port->link; i != STUDIO_NO_ITEM && n < MAX_NAMES; i = next_link (scene, i, outgoing))
        g_string_append_printf (s, "%s%s", n++ == 0 ? (outgoing ? "; to " : "; from ") : ", ",
                                scene->item[outgoing ? scene->link[i].to : scene->link[i].from].id);
    }
  if (all > n)
    g_string_append_printf (s, " and %u more", all - n);
}

void
studio_node_update_accessible (StudioNode *self, const StudioScene *scene, gboolean selected)
{
  const StudioItem *item = &scene->item[self->item];
  GtkAccessible *accessible = GTK_ACCESSIBLE (self);
  gboolean titled = strcmp (item->title, item->id) != 0;
  g_autofree char *label = g_strdup_printf ("%s%s%s%s, %s", item->id, titled ? " (" : "", titled ? item->title : "",
                                            titled ? ")" : "", studio_item_title (item));
  g_autoptr (GString) description = g_string_new (NULL);
  gboolean fault = item->fault != NULL && !item->fault_is_warning;
  g_autoptr (GHashTable) known = NULL;
  GList *targets = NULL;
  guint digest;

  for (guint p = 0; p < item->n_outputs; p++)
    if (item->output[p].typed)
      {
        g_autofree char *shape = loom_shape_to_string (&item->output[p].type.shape);

        g_string_append_printf (description, "%s%s", description->len > 0 ? ", " : "", shape);
      }
  if (description->len == 0)
    g_string_append (description, "shape not known");
  if (item->badge != NULL)
    g_string_append_printf (description, "; on %s", item->badge);
  if (item->frozen)
    g_string_append (description, "; frozen");
  if (item->fault != NULL)
    g_string_append_printf (description, "; %s: %s", fault ? "fault" : "warning", item->fault);
  add_neighbours (description, scene, self->item, FALSE);
  add_neighbours (description, scene, self->item, TRUE);

  digest = mix (mix (selected + 2 * fault, label), description->str);
  known = g_hash_table_new (NULL, NULL);
  for (guint p = 0; p < item->n_outputs; p++)
    for (guint i = item->output[p].link; i != STUDIO_NO_ITEM; i = scene->link[i].next_out)
      {
        StudioNode *to = studio_canvas_node (self->canvas, scene->item[scene->link[i].to].serial);

        digest = digest * 31 + (guint)scene->item[scene->link[i].to].serial;
        if (to != NULL && g_hash_table_add (known, to))
          targets = g_list_prepend (targets, to);
      }
  targets = g_list_reverse (targets);
  if (digest == self->flow_digest)
    {
      g_list_free (targets);
      return;
    }
  self->flow_digest = digest;
  gtk_accessible_update_property (accessible, GTK_ACCESSIBLE_PROPERTY_LABEL, label, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  description->str, -1);
  gtk_accessible_update_state (accessible, GTK_ACCESSIBLE_STATE_SELECTED, selected, GTK_ACCESSIBLE_STATE_INVALID,
                               fault ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
  if (targets != NULL)
    {
      GtkAccessibleRelation relation = GTK_ACCESSIBLE_RELATION_FLOW_TO;
      g_auto (GValue) value = G_VALUE_INIT;

      gtk_accessible_relation_init_value (relation, &value);
      g_value_set_pointer (&value, targets);
      gtk_accessible_update_relation_value (accessible, 1, &relation, &value);
    }
  else
    gtk_accessible_reset_relation (accessible, GTK_ACCESSIBLE_RELATION_FLOW_TO);
  /* The relation keeps the list that it was given. */
}

/* ---- widget ------------------------------------------------------------- */

static void
studio_node_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                     int *minimum_baseline, int *natural_baseline)
{
  *minimum = *natural = 0;
}

static void
focus_cb (GtkWidget *widget)
{
  StudioNode *self = STUDIO_NODE (widget);

  gtk_widget_queue_draw (widget);
  if (gtk_widget_has_focus (widget) && self->canvas != NULL)
    self->canvas->last_focus = self->serial;
}

static void
studio_node_dispose (GObject *object)
{
  StudioNode *self = STUDIO_NODE (object);

  clear_texts (self);
  g_clear_object (&self->port);
  G_OBJECT_CLASS (studio_node_parent_class)->dispose (object);
}

static void
studio_node_class_init (StudioNodeClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_node_dispose;
  widget_class->snapshot = studio_node_snapshot;
  widget_class->measure = studio_node_measure;
  gtk_widget_class_set_css_name (widget_class, "studionode");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST_ITEM);
}

static void
studio_node_init (StudioNode *self)
{
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  g_signal_connect (self, "notify::has-focus", G_CALLBACK (focus_cb), NULL);
}

StudioNode *
studio_node_new (StudioCanvas *canvas, guint64 serial)
{
  StudioNode *self = g_object_new (STUDIO_TYPE_NODE, NULL);

  self->canvas = canvas;
  self->serial = serial;
  self->item = STUDIO_NO_ITEM;
  return self;
}

guint64
studio_node_get_serial (StudioNode *self)
{
  return self->serial;
}

const guint64 *
studio_node_peek_serial (StudioNode *self)
{
  return &self->serial;
}

guint
studio_node_get_item (StudioNode *self)
{
  return self->item;
}
