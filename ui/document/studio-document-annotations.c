/* Frames and notes of the layout: adding them, and what moves when they move. */
#include "ui/document/document-edit.h"

#include <glib/gi18n.h>

#include "ui/scene/studio-geometry.h"

#define FRAME_MARGIN 24.0

static guint64
add_annotation (StudioDocument *self, const char *name, LoomElement *annotation)
{
  LoomElement *scope = studio_document_get_scope (self), *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);
  guint64 serial;

  studio_document_begin (self, name);
  if (layout == NULL)
    layout = studio_document_insert (self, scope, loom_element_new (LOOM_TAG_LAYOUT, NULL));
  serial = loom_element_serial (studio_document_insert (self, layout, annotation));
  studio_document_end (self);
  studio_document_select_only (self, serial);
  return serial;
}

guint64
studio_document_add_note (StudioDocument *self, const char *text, double x, double y)
{
  g_autofree char *sx = NULL, *sy = NULL;

  /* Behind a card it would not be readable. */
  studio_geometry_free_place (studio_document_get_scene (self), &x, &y);
  sx = studio_document_coordinate (x);
  sy = studio_document_coordinate (y);
  return add_annotation (self, _ ("Add note"), loom_element_new (LOOM_TAG_NOTE, "x", sx, "y", sy, "text", text, NULL));
}

guint64
studio_document_add_frame (StudioDocument *self, const char *title, double x, double y)
{
  StudioScene *scene = studio_document_get_scene (self);
  StudioRect r = { x - 180, y - 108, 360, 216 };
  gboolean any = FALSE;
  g_autofree char *sx = NULL, *sy = NULL, *sw = NULL, *sh = NULL;

  for (guint i = 0; i < scene->n_items; i++)
    if (studio_document_is_selected (self, scene->item[i].serial))
      {
        StudioRect card = studio_geometry_with_pins (&scene->item[i]);

        r = any ? studio_rect_union (r, card) : card;
        any = TRUE;
      }
  if (any)
    {
      r.x -= FRAME_MARGIN;
      r.y -= FRAME_MARGIN + STUDIO_FRAME_TITLE;
      r.width += 2 * FRAME_MARGIN;
      r.height += 2 * FRAME_MARGIN + STUDIO_FRAME_TITLE;
    }
  sx = studio_document_coordinate (r.x);
  sy = studio_document_coordinate (r.y);
  sw = studio_document_coordinate (r.width);
  sh = studio_document_coordinate (r.height);
  return add_annotation (
      self, _ ("Add frame"),
      loom_element_new (LOOM_TAG_FRAME, "title", title, "x", sx, "y", sy, "width", sw, "height", sh, NULL));
}

/* A frame moves everything that is completely inside it. */
void
studio_document_moving (StudioDocument *self, const guint64 *serials, guint n, gboolean *items, gboolean *annotations)
{
  StudioScene *scene = studio_document_get_scene (self);

  for (guint k = 0; k < n; k++)
    {
      guint i = studio_scene_find (scene, serials[k]), r;

      if (i != STUDIO_NO_ITEM)
        items[i] = TRUE;
      else if ((r = studio_scene_find_annotation (scene, serials[k])) != STUDIO_NO_ITEM)
        annotations[r] = TRUE;
    }
  for (guint f = 0; f < scene->n_annotations; f++)
    {
      const StudioAnnotation *frame = &scene->annotation[f];

      if (!annotations[f] || frame->is_note)
        continue;
      for (guint i = 0; i < scene->n_items; i++)
        items[i] |= studio_geometry_is_within (frame, scene->item[i].x, scene->item[i].y, scene->item[i].width,
                                               scene->item[i].height);
      for (guint r = 0; r < scene->n_annotations; r++)
        annotations[r] |= r != f
                          && studio_geometry_is_within (frame, scene->annotation[r].x, scene->annotation[r].y,
                                                        scene->annotation[r].width, scene->annotation[r].height);
    }
}
