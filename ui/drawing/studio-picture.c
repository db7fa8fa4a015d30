/* Draws the same as the canvas in the same order (frames and notes, wires, cards, shape labels), at zoom 1 and without
 * focus, selection and pointer. */
#include "ui/drawing/studio-picture.h"

#include <glib/gi18n.h>
#include <math.h>
#include <pango/pangocairo.h>

#include "gradloom-icons.h"
#include "ui/scene/studio-partitions.h"
#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-fault.h"
#include "ui/drawing/draw-icon.h"
#include "ui/drawing/draw-annotation.h"
#include "ui/drawing/draw-wires.h"
#include "ui/drawing/studio-export.h"
#include "ui/layout/studio-layout.h"

#define MARGIN 24.0
#define FAR    2000.0 /* no drawing reaches further beyond the cards */

typedef struct
{
  const StudioScene *scene;
  const StudioPictureOptions *options;
  StudioTheme theme;
  gboolean background;
  StudioRect bounds;
} Picture;

static Picture
picture_of (const StudioScene *scene, const StudioPictureOptions *options)
{
  Picture picture = { .scene = scene, .options = options, .background = !options->transparent };

  if (gradloom_icons_get_resource () == NULL)
    gradloom_icons_register_resource ();
  studio_theme_init (&picture.theme, options->dark, FALSE);
  return picture;
}

/* A file needs the data that the canvas shows after reading it in the background. */
static void
read_samples (const LoomGraph *graph, const LoomElement *scope)
{
  const char *folder = loom_graph_get_folder (graph);

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);
      g_autofree char *key = loom_element_tag (e) == LOOM_TAG_NODE ? studio_figure_sample_key (e, folder) : NULL;
      g_autoptr (LoomGraph) alone = key != NULL ? studio_figure_sample_graph (e, graph) : NULL;

      if (alone != NULL)
        studio_figure_unref (studio_figure_sample_read (alone, key));
    }
}

StudioScene *
studio_picture_scene (const LoomGraph *graph, const char *module, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  const LoomElement *scope = loom_graph_root (graph);
  StudioScene *scene;

  if (module != NULL)
    scope = loom_graph_find_module (graph, module);
  if (scope == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, _ ("The graph has no module “%s”."), module);
      return NULL;
    }
  read_samples (graph, scope);
  scene = studio_scene_new (graph, scope, module != NULL ? module : "", net, faults, NULL, NULL);
  if (net != NULL)
    studio_scene_add_shards (scene, graph, net);
  studio_layout_fill (scene);
  return scene;
}

static void
show_text (PangoLayout *layout, double x, double y, const StudioColor *color, gpointer cr)
{
  cairo_move_to (cr, x, y);
  studio_color_set (color, cr);
  pango_cairo_show_layout (cr, layout);
}

static void
draw_card (cairo_t *cr, const Picture *picture, const StudioItem *item, PangoContext *context)
{
  const StudioFrameStyle look = { .ports = TRUE, .icon = studio_draw_own_icon };
  StudioCardTexts *texts = studio_card_texts_new (context, item, NULL, studio_text_enlargement (context));
  double x, y;

  cairo_save (cr);
  cairo_translate (cr, item->x, item->y);
  studio_draw_card_frame (cr, item, &picture->theme, studio_card_texts_head (texts, item), &look);
  studio_card_texts_put (texts, item, &picture->theme, show_text, cr);
  if (item->frozen)
    {
      studio_card_texts_frozen_at (texts, item, &x, &y);
      cairo_translate (cr, x, y);
      studio_draw_frozen (cr, &picture->theme.dim);
      cairo_translate (cr, -x, -y);
    }
  if (item->fault != NULL)
    studio_draw_fault (cr, item, texts, &picture->theme);
  cairo_restore (cr);
  studio_card_texts_free (texts);
}

/* A card outside the spotlight is one translucent layer, so that its parts do not show through each other. */
static void
draw_lit (cairo_t *cr, const Picture *picture, guint i, PangoContext *context)
{
  const StudioSceneSpotlight *spotlight = picture->options->spotlight;
  const StudioScene *scene = picture->scene;
  const double opacity = spotlight != NULL ? studio_scene_spotlight_opacity (spotlight, scene->path, scene, i) : 1;

  if (opacity < 1)
    cairo_push_group (cr);
  draw_card (cr, picture, &scene->item[i], context);
  if (opacity < 1)
    {
      cairo_pop_group_to_source (cr);
      cairo_paint_with_alpha (cr, opacity);
    }
}

static void
draw (cairo_t *cr, double width, double height, gpointer data)
{
  const Picture *picture = data;
  const StudioScene *scene = picture->scene;
  const StudioView view = { 1, picture->bounds.x, picture->bounds.y, width, height };
  PangoContext *context = studio_export_context_new ();
  g_autoptr (GHashTable) shape_labels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);

  if (picture->background)
    {
      studio_color_set (&picture->theme.background, cr);
      cairo_paint (cr);
    }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *annotation = &scene->annotation[i];
      PangoLayout *text = studio_annotation_text_new (context, annotation);

      cairo_save (cr);
      cairo_translate (cr, annotation->x - view.x, annotation->y - view.y);
      studio_draw_annotation (cr, annotation, text, &picture->theme, 1, FALSE);
      cairo_restore (cr);
      g_object_unref (text);
    }
  studio_draw_wires (cr, scene, &view, &picture->theme, 0, NULL, NULL);
  cairo_save (cr);
  cairo_translate (cr, -view.x, -view.y);
  for (guint i = 0; i < scene->n_items; i++)
    draw_lit (cr, picture, i, context);
  if (picture->options->draw_more != NULL)
    picture->options->draw_more (cr, picture->options->data);
  cairo_restore (cr);
  studio_draw_shape_labels (cr, scene, &view, &picture->theme, STUDIO_NO_ITEM, context, shape_labels);
  g_object_unref (context);
}

/* The extent of the drawing, with a margin. It is drawn once without output, because the positions of shape labels
 * depend on the space; without spotlight, because a translucent layer has no extent of its own. */
static StudioRect
bounds_of (const Picture *picture)
{
  StudioPictureOptions lit = *picture->options;
  Picture bare = *picture;
  cairo_surface_t *surface = cairo_recording_surface_create (CAIRO_CONTENT_COLOR_ALPHA, NULL);
  cairo_t *cr = cairo_create (surface);
  StudioRect r = studio_geometry_bounds (picture->scene);
  double x, y, width, height;

  lit.spotlight = NULL;
  bare.options = &lit;
  bare.background = FALSE;
  bare.bounds = (StudioRect){ r.x - FAR, r.y - FAR, r.width + 2 * FAR, r.height + 2 * FAR };
  draw (cr, bare.bounds.width, bare.bounds.height, &bare);
  cairo_recording_surface_ink_extents (surface, &x, &y, &width, &height);
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  return (StudioRect){ floor (bare.bounds.x + x - MARGIN), floor (bare.bounds.y + y - MARGIN),
                       ceil (width + 2 * MARGIN), ceil (height + 2 * MARGIN) };
}

StudioRect
studio_picture_bounds (const StudioScene *scene, const StudioPictureOptions *options)
{
  const Picture picture = picture_of (scene, options);

  return options->area != NULL ? *options->area : bounds_of (&picture);
}

void
studio_picture_draw (const StudioScene *scene, const StudioPictureOptions *options, const StudioRect *bounds,
                     cairo_t *cr)
{
  Picture picture = picture_of (scene, options);

  picture.bounds = *bounds;
  cairo_save (cr);
  cairo_rectangle (cr, 0, 0, bounds->width, bounds->height);
  cairo_clip (cr);
  draw (cr, bounds->width, bounds->height, &picture);
  cairo_restore (cr);
}

gboolean
studio_picture_write (const StudioScene *scene, const char *path, const StudioPictureOptions *options, GError **error)
{
  Picture picture = picture_of (scene, options);
  double scale = options->scale;

  if (scene->n_items == 0 && scene->n_annotations == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, _ ("There is nothing to draw: the graph has no nodes."));
      return FALSE;
    }
  picture.bounds = studio_picture_bounds (scene, options);
  /* A surface has whole pixels, and none beyond the last one for a rounded sum. */
  if (options->pixels > 0)
    scale = (options->pixels - 1e-6) / MAX (picture.bounds.width, picture.bounds.height);
  if (scale > 0)
    return studio_export_drawing_scaled (path, picture.bounds.width, picture.bounds.height, scale, draw, &picture,
                                         error);
  return studio_export_drawing (path, picture.bounds.width, picture.bounds.height, draw, &picture, error);
}

cairo_surface_t *
studio_picture_thumbnail (const StudioScene *scene, int width, int height, gboolean dark)
{
  const StudioPictureOptions options = { .dark = dark, .transparent = TRUE };
  cairo_surface_t *surface;
  StudioRect bounds;
  cairo_t *cr;
  double scale;

  if (scene->n_items == 0 && scene->n_annotations == 0)
    return NULL;
  bounds = studio_picture_bounds (scene, &options);
  scale = MIN (width / bounds.width, height / bounds.height);
  surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, width, height);
  cr = cairo_create (surface);
  cairo_translate (cr, (width - bounds.width * scale) / 2, (height - bounds.height * scale) / 2);
  cairo_scale (cr, scale, scale);
  studio_picture_draw (scene, &options, &bounds, cr);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  return surface;
}
