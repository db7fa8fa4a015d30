/* A card draws itself: border, bar, icon, name, summary, ports, rings, and the fault below.
 *
 * Drawing is in canvas units under one scale, so that texts are laid out once and serve every
 * zoom. Below the zoom where they could not be read, a card is drawn in screen pixels (draw-far). */
#include "ui/canvas/studio-node.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/canvas/canvas-style.h"
#include "ui/canvas/studio-node-words.h"
#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-cost.h"
#include "ui/drawing/draw-health.h"
#include "ui/drawing/draw-far.h"
#include "ui/drawing/draw-fault.h"

struct _StudioNode
{
  GtkWidget parent_instance;

  const CardContext *context;
  guint64 serial;
  guint item;
  guint digest, names_digest, targets_digest, accessible_states;
  char *words; /* the description for screen readers; NULL: none yet */
  gboolean selected;
  gboolean is_stale; /* the item may have changed since it was digested */
  StudioCardTexts *texts;
  double texts_scale;
  PangoLayout *port;
  cairo_surface_t *far; /* the picture below STUDIO_ZOOM_DETAIL, for far_zoom; NULL: it has to be drawn */
  double far_zoom;
};

G_DEFINE_FINAL_TYPE (StudioNode, studio_node, GTK_TYPE_WIDGET)

#define MARGIN STUDIO_CARD_MARGIN

static const StudioItem *
own_item (StudioNode *self)
{
  StudioScene *scene = studio_document_get_scene (self->context->document);

  return self->item < scene->n_items && scene->item[self->item].serial == self->serial ? &scene->item[self->item]
                                                                                       : NULL;
}

static double
zoom_of (StudioNode *self)
{
  return canvas_view_get (self->context->view)->zoom;
}

static const StudioTheme *
theme_of (StudioNode *self)
{
  return canvas_pictures_theme (self->context->pictures);
}

static gboolean
is_wiring (StudioNode *self)
{
  return self->context->gesture->state == STUDIO_GESTURE_WIRING;
}

static gboolean
is_lit (StudioNode *self, gboolean is_output, guint port)
{
  return canvas_ports_is_lit (self->context->ports, self->context->gesture, self->item, is_output, port);
}

static const char *
live_text (StudioNode *self, const StudioItem *item)
{
  return card_values_get_text (self->context->values, item->path);
}

static void
clear_texts (StudioNode *self)
{
  g_clear_pointer (&self->far, cairo_surface_destroy);
  g_clear_pointer (&self->texts, studio_card_texts_free);
}

/* ---- texts ---------------------------------------------------------------- */

static guint
mix (guint hash, const char *text)
{
  return hash * 31 + (text != NULL ? g_str_hash (text) : 7);
}

/* Of thousands of cards few differ, and each is digested at every edit. So no text is read that follows from another: a
 * path from the id, the name of the kind and of ports from the operator. */
static guint
item_digest (const StudioItem *item, const char *live)
{
  guint h = studio_node_names_digest (item);

  h = mix (h, item->summary);
  h = mix (h, item->badge) * 31 + item->is_device_missing;
  h = mix (mix (h, item->mark), item->split) * 31 + item->tint * 2 + item->in_stage;
  h = h * 31 + (item->figure != NULL ? item->figure->id : 0);
  h = h * 31 + item->flow * 2 + item->folded;
  h = h * 31 + item->frozen;
  h = h * 31 + item->muted;
  h = h * 31 + (guint)(item->cost * 1000);
  h = mix (h, item->repeat);
  h = mix (h, item->fault);
  h = mix (h, item->fault_port);
  h = mix (h, item->fix);
  h = mix (h, live);
  h = h * 31 + studio_item_tone (item) * 4 + item->fault_place;
  h = mix (h, item->waits_for);
  for (guint o = 0; o < 2; o++)
    {
      const StudioPort *port = o ? item->output : item->input;

      for (guint p = 0; p < (o ? item->n_outputs : item->n_inputs); p++)
        h = (item->has_table_ports ? h : mix (h, port[p].name)) * 31 + (port[p].n_links > 0) * 64 + port[p].typed * 32
            + (port[p].typed ? port[p].type.dtype : 0);
    }
  return h;
}

/* Drops what was drawn if the card looks otherwise now. */
static gboolean
drop_old_texts (StudioNode *self, const StudioItem *item)
{
  const guint digest = item_digest (item, live_text (self, item));

  self->is_stale = FALSE;
  if (digest == self->digest)
    return FALSE;
  self->digest = digest;
  clear_texts (self);
  return TRUE;
}

static const StudioCardTexts *
ensure_texts (StudioNode *self, const StudioItem *item)
{
  PangoContext *context = gtk_widget_get_pango_context (GTK_WIDGET (self));
  double scale = studio_geometry_text_scale (zoom_of (self), studio_text_enlargement (context));

  if (self->texts != NULL && self->texts_scale != scale)
    g_clear_pointer (&self->texts, studio_card_texts_free);
  self->texts_scale = scale;
  if (self->texts == NULL)
    self->texts = studio_card_texts_new (context, item, live_text (self, item), scale);
  return self->texts;
}

static void
append_text (GtkSnapshot *snapshot, PangoLayout *layout, double x, double y, const StudioColor *color)
{
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (x, y));
  gtk_snapshot_append_layout (snapshot, layout, studio_rgba (color));
  gtk_snapshot_restore (snapshot);
}

static void
append_box (GtkSnapshot *snapshot, const graphene_rect_t *r, double radius, const StudioColor *fill, double width,
            const StudioColor *border)
{
  GskRoundedRect outline;

  gsk_rounded_rect_init_from_rect (&outline, r, radius);
  if (fill != NULL)
    {
      gtk_snapshot_push_rounded_clip (snapshot, &outline);
      gtk_snapshot_append_color (snapshot, studio_rgba (fill), r);
      gtk_snapshot_pop (snapshot);
    }
  if (border != NULL)
    {
      const float widths[4] = { width, width, width, width };
      const GdkRGBA color = *studio_rgba (border), colours[4] = { color, color, color, color };

      gtk_snapshot_append_border (snapshot, &outline, widths, colours);
    }
}

static void
snapshot_port (StudioNode *self, GtkSnapshot *snapshot, const StudioItem *item, gboolean is_output, guint p,
               const StudioTheme *theme, gboolean names)
{
  const StudioPort *port = is_output ? &item->output[p] : &item->input[p];
  gboolean wiring = is_wiring (self);
  gboolean lit = wiring && is_lit (self, is_output, p);
  StudioColor colour = *studio_port_color (item, port, is_output, theme);
  double x, y, r = STUDIO_PORT_RADIUS;
  gboolean offered = !is_output && p >= item->n_inputs;

  if (offered)
    r = 4;
  studio_geometry_port (item, is_output, p, &x, &y);
  x -= item->x;
  y -= item->y;
  if (wiring && !lit)
    colour.alpha = 0.25f;
  if (lit)
    {
      StudioColor halo = theme->accent;

      halo.alpha = 0.25f;
      append_box (snapshot, &GRAPHENE_RECT_INIT (x - 9, y - 9, 18, 18), 9, &halo, 0, NULL);
    }
  /* Hollow while it has no wire: what is missing shows without colour. */
  append_box (snapshot, &GRAPHENE_RECT_INIT (x - r, y - r, 2 * r, 2 * r), r, port->n_links > 0 ? &colour : &theme->card,
              2, lit ? &theme->accent : &colour);
  if (names && (!wiring || lit))
    {
      int w, h;

      if (self->port == NULL)
        self->port = studio_small_text_new (gtk_widget_get_pango_context (GTK_WIDGET (self)), "");
      pango_layout_set_text (self->port, port->name, -1);
      pango_layout_get_pixel_size (self->port, &w, &h);
      {
        double left = is_output ? x + 10 : x - 10 - w - 8;

        if (item->flow == STUDIO_FLOW_DOWN && offered)
          left = x + 10;
        else if (item->flow == STUDIO_FLOW_DOWN)
          {
            /* Above the card or below it, in steps as well. */
            left = x - 6;
            y += (is_output ? 1 : -1) * (12 + h / 2.0 + p * (h + 4));
          }
        else if (offered)
          {
            /* Below the port, and of several in steps, so that no name covers another. */
            left = x - 6;
            y += 10 + h / 2.0 + (p - item->n_inputs) * (h + 4);
          }
        append_box (snapshot, &GRAPHENE_RECT_INIT (left, y - h / 2.0 - 1, w + 8, h + 2), 4, &theme->background, 1,
                    &theme->shape_label);
        /* The one layout is drawn as it is now: a copy, because the snapshot keeps glyphs and not the layout. */
        append_text (snapshot, self->port, left + 4, y - h / 2.0, &theme->text);
      }
    }
}

static void
snapshot_fault (GtkSnapshot *snapshot, const StudioItem *item, const StudioCardTexts *texts, const StudioTheme *theme)
{
  StudioRect r = studio_geometry_fault (item);

  if (r.height <= 0)
    return;

  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (r.x - item->x - 1, r.y - item->y - 1, r.width + 2, r.height + 2));

  studio_draw_fault (cr, item, texts, theme);
  cairo_destroy (cr);
}

static void
snapshot_cost (StudioNode *self, GtkSnapshot *snapshot, const StudioItem *item, const StudioTheme *theme)
{
  const StudioScene *scene = studio_document_get_scene (self->context->document);
  cairo_t *cr;

  if (self->port == NULL)
    self->port = studio_small_text_new (gtk_widget_get_pango_context (GTK_WIDGET (self)), "");
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, item->height - 16, item->width, 56));
  studio_draw_cost (cr, scene, item, self->context->measure, item->width, item->height, STUDIO_CARD_RADIUS, theme,
                    self->port);
  cairo_destroy (cr);
}

static void
snapshot_health (StudioNode *self, GtkSnapshot *snapshot, const StudioItem *item, const StudioTheme *theme)
{
  cairo_t *cr;

  if (self->port == NULL)
    self->port = studio_small_text_new (gtk_widget_get_pango_context (GTK_WIDGET (self)), "");
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (-60, item->height - 16, item->width + 60, 56));
  studio_draw_health (cr, item, item->width, item->height, STUDIO_CARD_RADIUS, theme, self->port);
  cairo_destroy (cr);
}

static void
snapshot_frozen (GtkSnapshot *snapshot, const StudioItem *item, const StudioCardTexts *texts, const StudioTheme *theme)
{
  double x, y;
  cairo_t *cr;

  studio_card_texts_frozen_at (texts, item, &x, &y);
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (x, y, STUDIO_FROZEN_SIZE, STUDIO_FROZEN_SIZE));
  cairo_translate (cr, x, y);
  studio_draw_frozen (cr, &theme->dim);
  cairo_destroy (cr);
}

/* A StudioDrawIcon: from the desktop's theme, which has our icons, too. */
static gboolean
draw_icon (cairo_t *cr, const char *name, const StudioColor *color, gpointer data)
{
  StudioNode *self = data;
  const StudioTheme *theme = theme_of (self);
  GdkPaintable *icon = canvas_pictures_icon (self->context->pictures, name);
  const GdkRGBA colours[4] = { *studio_rgba (color), *studio_rgba (&theme->error), *studio_rgba (&theme->accent),
                               *studio_rgba (&theme->accent) };
  GtkSnapshot *snapshot;
  GskRenderNode *node;

  if (icon == NULL || !GTK_IS_SYMBOLIC_PAINTABLE (icon))
    return FALSE;
  snapshot = gtk_snapshot_new ();
  gtk_symbolic_paintable_snapshot_symbolic (GTK_SYMBOLIC_PAINTABLE (icon), snapshot, 16, 16, colours, 4);
  node = gtk_snapshot_free_to_node (snapshot);
  if (node != NULL)
    {
      gsk_render_node_draw (node, cr);
      gsk_render_node_unref (node);
    }
  return TRUE;
}

/* From afar cards are small and many are visible: each is drawn once for a zoom, and then copied. */
static void
snapshot_far (StudioNode *self, GtkSnapshot *snapshot, const StudioItem *item, const StudioTheme *theme, double zoom)
{
  int x = (int)floor (MARGIN * zoom + 0.5), w = MAX (2, (int)floor (item->width * zoom)),
      h = MAX (2, (int)floor (item->height * zoom));
  int factor = gtk_widget_get_scale_factor (GTK_WIDGET (self));
  cairo_t *cr;

  if (self->far == NULL || self->far_zoom != zoom)
    {
      const StudioFrameStyle look = { self->selected, FALSE, draw_icon, self };

      g_clear_pointer (&self->far, cairo_surface_destroy);
      self->far_zoom = zoom;
      self->far = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, (w + 8) * factor, (h + 8) * factor);
      cairo_surface_set_device_scale (self->far, factor, factor);
      cr = cairo_create (self->far);
      cairo_translate (cr, 4, 4);
      studio_draw_card_far (cr, item, theme, zoom, w, h, canvas_pictures_far_text (self->context->pictures), &look);
      if (self->context->measure != STUDIO_MEASURE_NONE)
        studio_draw_cost (cr, studio_document_get_scene (self->context->document), item, self->context->measure, w, h,
                          0, theme, NULL);
      if (self->context->shows_health)
        studio_draw_health (cr, item, w, h, 0, theme, NULL);
      cairo_destroy (cr);
    }
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (x - 4, x - 4, w + 8, h + 8));
  cairo_set_source_surface (cr, self->far, x - 4, x - 4);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_destroy (cr);
  if (gtk_widget_has_visible_focus (GTK_WIDGET (self)))
    append_box (snapshot, &GRAPHENE_RECT_INIT (x - 4, x - 4, w + 8, h + 8), 3, NULL, 2, &theme->accent);
}

/* ---- the picture below the texts ------------------------------------------ */

static void
port_key (GString *key, const StudioItem *item, const StudioPort *port, gboolean is_output)
{
  g_string_append_c (key, studio_item_blames (item, port, is_output) ? '!'
                          : port->typed                              ? 'a' + (char)port->type.dtype
                                                                     : '?');
  g_string_append_c (key, port->n_links > 0 ? '+' : '-');
}

/* Without a graphics card, drawing spends its time on curves, and most cards differ only in their texts: the frame is
 * rasterised once per appearance and zoom, and then copied. */
static cairo_surface_t *
frame_picture (StudioNode *self, const StudioItem *item, const StudioTheme *theme, StudioCardHead head, double zoom,
               int factor)
{
  g_autoptr (GString) key = g_string_new (NULL);
  gboolean wiring = is_wiring (self);
  cairo_surface_t *surface;

  g_string_printf (key, "%s %d %d %d %g %g %d %d %d %d %d %d %g %u %u %d|", item->op != NULL ? item->op->name : "",
                   item->is_module, item->flow, item->folded, head.icon_y, head.height, studio_item_tone (item),
                   item->fault_place, item->waits_for != NULL || item->muted, self->selected, factor, wiring,
                   item->figure_height, item->figure != NULL ? item->figure->id : 0, item->tint, item->split != NULL);
  for (guint p = 0; p < item->n_inputs; p++)
    port_key (key, item, &item->input[p], FALSE);
  g_string_append_c (key, '|');
  for (guint p = 0; p < item->n_outputs; p++)
    port_key (key, item, &item->output[p], TRUE);

  surface = canvas_pictures_get_frame (self->context->pictures, key->str);
  if (surface == NULL)
    {
      int width = ceil ((item->width + 2 * MARGIN) * zoom) * factor;
      int height = ceil ((item->height + 2 * MARGIN) * zoom) * factor;
      const StudioFrameStyle look = { self->selected, !wiring, draw_icon, self };
      cairo_t *cr;

      surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, width, height);
      cr = cairo_create (surface);
      cairo_scale (cr, zoom * factor, zoom * factor);
      cairo_translate (cr, MARGIN, MARGIN);
      studio_draw_card_frame (cr, item, theme, head, &look);
      cairo_destroy (cr);
      cairo_surface_set_device_scale (surface, factor, factor);
      canvas_pictures_put_frame (self->context->pictures, key->str, surface);
    }
  return surface;
}

static void
put_text (PangoLayout *layout, double x, double y, const StudioColor *color, gpointer snapshot)
{
  append_text (snapshot, layout, x, y, color);
}

static void
studio_node_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioNode *self = STUDIO_NODE (widget);
  const StudioItem *item = own_item (self);
  const StudioTheme *theme;
  cairo_surface_t *frame;
  cairo_t *cr;
  const StudioCardTexts *texts;
  const double *progress;
  double zoom;
  gboolean names, wiring;
  int factor;

  if (item == NULL)
    return;
  if (self->is_stale)
    drop_old_texts (self, item);
  theme = theme_of (self);
  zoom = zoom_of (self);
  if (zoom < STUDIO_ZOOM_DETAIL)
    {
      snapshot_far (self, snapshot, item, theme, zoom);
      return;
    }
  texts = ensure_texts (self, item);
  wiring = is_wiring (self);
  names = wiring || self->context->hover->item == self->item;
  factor = gtk_widget_get_scale_factor (widget);
  frame = frame_picture (self, item, theme, studio_card_texts_head (texts, item), zoom, factor);
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, ceil ((item->width + 2 * MARGIN) * zoom),
                                                                 ceil ((item->height + 2 * MARGIN) * zoom)));
  cairo_set_source_surface (cr, frame, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_destroy (cr);
  gtk_snapshot_scale (snapshot, zoom, zoom);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (MARGIN, MARGIN));
  progress = card_values_get_progress (self->context->values, item->path);
  if (progress != NULL)
    gtk_snapshot_append_color (
        snapshot, studio_rgba (&theme->accent),
        &GRAPHENE_RECT_INIT (STUDIO_CARD_RADIUS, 0, (item->width - 2 * STUDIO_CARD_RADIUS) * *progress, 3));
  if (gtk_widget_has_visible_focus (widget))
    append_box (snapshot, &GRAPHENE_RECT_INIT (-5, -5, item->width + 10, item->height + 10), STUDIO_CARD_RADIUS + 5,
                NULL, 2, &theme->accent);

  studio_card_texts_put (texts, item, theme, put_text, snapshot);
  if (item->frozen)
    snapshot_frozen (snapshot, item, texts, theme);

  /* Ports that are named or lit are drawn over those of the frame. */
  if (names)
    {
      for (guint p = 0; p < item->n_inputs; p++)
        snapshot_port (self, snapshot, item, FALSE, p, theme, TRUE);
      for (guint p = 0; p < item->n_outputs; p++)
        snapshot_port (self, snapshot, item, TRUE, p, theme, TRUE);
      for (guint p = item->n_inputs; wiring && p < item->n_offered; p++)
        if (is_lit (self, FALSE, p))
          snapshot_port (self, snapshot, item, FALSE, p, theme, TRUE);
    }
  if (self->context->measure != STUDIO_MEASURE_NONE)
    snapshot_cost (self, snapshot, item, theme);
  if (self->context->shows_health)
    snapshot_health (self, snapshot, item, theme);
  if (item->fault != NULL)
    snapshot_fault (snapshot, item, texts, theme);
}

/* ---- content -------------------------------------------------------------- */

static void
show_selected (StudioNode *self, gboolean selected)
{
  if (selected == self->selected)
    return;
  g_clear_pointer (&self->far, cairo_surface_destroy);
  self->selected = selected;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_node_set_item (StudioNode *self, guint item)
{
  self->item = item;
}

void
studio_node_update (StudioNode *self, const StudioScene *scene, guint item, gboolean selected)
{
  self->item = item;
  show_selected (self, selected);
  self->is_stale = TRUE;
  /* A card out of sight waits until it is drawn: an edit may change thousands. */
  if (gtk_widget_get_mapped (GTK_WIDGET (self)) && drop_old_texts (self, &scene->item[item]))
    gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* The states are bits of `accessible_states`. */
static void
update_states (StudioNode *self, gboolean selected, gboolean fault)
{
  const guint states = 4 + (guint)selected * 2 + (guint)fault; /* 0: none is set yet */

  if (states == self->accessible_states)
    return;
  self->accessible_states = states;
  gtk_accessible_update_state (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_STATE_SELECTED, selected,
                               GTK_ACCESSIBLE_STATE_INVALID,
                               fault ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
}

void
studio_node_select (StudioNode *self, gboolean selected)
{
  if (selected == self->selected)
    return;
  show_selected (self, selected);
  update_states (self, selected, (self->accessible_states & 1) != 0);
}

void
studio_node_hide (StudioNode *self)
{
  gtk_widget_set_child_visible (GTK_WIDGET (self), FALSE);
  g_clear_pointer (&self->far, cairo_surface_destroy);
}

void
studio_node_refresh (StudioNode *self, gboolean texts)
{
  g_clear_pointer (&self->far, cairo_surface_destroy);
  if (texts)
    {
      clear_texts (self);
      g_clear_object (&self->port);
    }
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* Marks of a comparison, and values of a step. */
static char *
dup_marks (const StudioNode *self, const StudioItem *item)
{
  g_autofree char *mark = canvas_marks_dup_words (self->context->marks, item->id);
  const char *words = card_values_get_words (self->context->values, item->path);

  return mark != NULL && words != NULL ? g_strdup_printf ("%s; %s", mark, words)
                                       : g_strdup (mark != NULL ? mark : words);
}

/* The serials of the cards that read this one's outputs, and their order. */
static guint
targets_digest (const StudioScene *scene, const StudioItem *item)
{
  guint h = 1; /* 0: there is no relation yet */

  for (guint p = 0; p < item->n_outputs; p++)
    for (guint i = item->output[p].link; i != STUDIO_NO_ITEM; i = scene->link[i].next_out)
      h = h * 31 + (guint)scene->item[scene->link[i].to].serial;
  return h;
}

void
studio_node_update_targets (StudioNode *self, const StudioScene *scene, GHashTable *nodes)
{
  const GtkAccessibleRelation relation = GTK_ACCESSIBLE_RELATION_FLOW_TO;
  const StudioItem *item = &scene->item[self->item];
  const guint digest = targets_digest (scene, item);
  g_autoptr (GHashTable) known = NULL;
  g_auto (GValue) value = G_VALUE_INIT;
  GList *targets = NULL;

  if (digest == self->targets_digest)
    return;
  self->targets_digest = digest;
  known = g_hash_table_new (NULL, NULL);
  for (guint p = 0; p < item->n_outputs; p++)
    for (guint i = item->output[p].link; i != STUDIO_NO_ITEM; i = scene->link[i].next_out)
      {
        StudioNode *to = g_hash_table_lookup (nodes, &scene->item[scene->link[i].to].serial);

        if (to != NULL && g_hash_table_add (known, to))
          targets = g_list_prepend (targets, to);
      }
  if (targets == NULL)
    {
      gtk_accessible_reset_relation (GTK_ACCESSIBLE (self), relation);
      return;
    }
  gtk_accessible_relation_init_value (relation, &value);
  /* The relation keeps the list. */
  g_value_set_pointer (&value, g_list_reverse (targets));
  gtk_accessible_update_relation_value (GTK_ACCESSIBLE (self), 1, (GtkAccessibleRelation[]){ relation }, &value);
}

static void
update_label (StudioNode *self, const StudioItem *item)
{
  const gboolean titled = strcmp (item->title, item->id) != 0;
  const guint digest = studio_node_names_digest (item) * 2 + (guint)item->is_frame;
  g_autofree char *label = NULL;

  if (digest == self->names_digest)
    return;
  self->names_digest = digest;
  label = item->is_frame ? g_strdup_printf (_ ("Frame %s"), item->title)
                         : g_strdup_printf ("%s%s%s%s, %s", item->id, titled ? " (" : "", titled ? item->title : "",
                                            titled ? ")" : "", studio_item_title (item));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

void
studio_node_describe (StudioNode *self, const StudioScene *scene, gboolean selected)
{
  const StudioItem *item = &scene->item[self->item];
  g_autofree char *mark = dup_marks (self, item);
  g_autofree char *words = studio_node_words (scene, self->item, mark);

  update_states (self, selected, studio_item_tone (item) == STUDIO_TONE_ERROR);
  update_label (self, item);
  if (g_strcmp0 (words, self->words) == 0)
    return;
  g_free (self->words);
  self->words = g_steal_pointer (&words);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, self->words, -1);
}

/* ---- widget ------------------------------------------------------------- */

static void
studio_node_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                     int *minimum_baseline, int *natural_baseline)
{
  *minimum = *natural = 0;
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
studio_node_finalize (GObject *object)
{
  g_free (STUDIO_NODE (object)->words);
  G_OBJECT_CLASS (studio_node_parent_class)->finalize (object);
}

static void
studio_node_class_init (StudioNodeClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_node_dispose;
  G_OBJECT_CLASS (klass)->finalize = studio_node_finalize;
  widget_class->snapshot = studio_node_snapshot;
  widget_class->measure = studio_node_measure;
  gtk_widget_class_set_css_name (widget_class, "studionode");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST_ITEM);
}

static void
studio_node_init (StudioNode *self)
{
  gtk_widget_set_direction (GTK_WIDGET (self), GTK_TEXT_DIR_LTR);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  g_signal_connect (self, "notify::has-focus", G_CALLBACK (gtk_widget_queue_draw), NULL);
}

StudioNode *
studio_node_new (const CardContext *context, guint64 serial)
{
  StudioNode *self = g_object_new (STUDIO_TYPE_NODE, NULL);

  self->context = context;
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
