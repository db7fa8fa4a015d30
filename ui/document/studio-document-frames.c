/* Frames that collapse to a card: their nodes are hidden, and reappear where they were, or where the card was moved.
 *
 * The frame's attribute "collapsed" lists its nodes. Their positions would not be sufficient, because cards may be
 * placed inside the frame's border while it is collapsed. Notes and frames inside have no names; they are marked
 * "hidden", and stay within the border. */
#include "ui/document/document-edit.h"
#include "ui/document/studio-document-arrange.h"

#include <glib/gi18n.h>
#include <string.h>

#define FRAME_PREFIX "frame:"

static LoomElement *
frame_at (StudioDocument *self, guint64 serial)
{
  LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self), serial);

  return e != NULL && loom_element_tag (e) == LOOM_TAG_FRAME ? e : NULL;
}

static const char *
title_of (const LoomElement *frame)
{
  const char *title = loom_element_get (frame, "title");

  return title != NULL && title[0] != '\0' ? title : _ ("Frame");
}

static void
apply_edits (StudioDocument *self, GPtrArray *edits)
{
  for (guint i = 0; i < edits->len; i++)
    studio_document_edit (self, g_steal_pointer (&edits->pdata[i]));
}

gboolean
studio_document_place_frame (StudioDocument *self, const LoomElement *scope, const char *id, double x, double y)
{
  LoomElement *frame = NULL;
  g_autoptr (GPtrArray) edits = g_ptr_array_new ();

  if (g_str_has_prefix (id, FRAME_PREFIX))
    frame = frame_at (self, g_ascii_strtoull (id + strlen (FRAME_PREFIX), NULL, 10));
  if (frame == NULL)
    return FALSE;
  studio_layout_move_frame (edits, scope, frame, x, y);
  apply_edits (self, edits);
  return TRUE;
}

/* ---- closing --------------------------------------------------------------------- */

/* The nodes of an item: itself, or those of a collapsed frame. */
static void
append_nodes (const StudioScene *scene, const LoomElement *frame, const StudioItem *item, GString *ids)
{
  const char *inner = item->is_frame ? loom_element_get (frame, "collapsed") : NULL;

  g_string_append_printf (ids, "%s%s", ids->len > 0 ? " " : "", inner != NULL ? inner : item->id);
}

static void
hide (StudioDocument *self, const StudioScene *scene, guint annotation, GPtrArray *hidden)
{
  g_ptr_array_add (hidden,
                   loom_graph_by_serial (studio_document_get_graph (self), scene->annotation[annotation].serial));
}

/* FALSE: the frame contains no card. */
static gboolean
collapse (StudioDocument *self, const StudioScene *scene, const StudioAnnotation *frame)
{
  LoomElement *element = loom_graph_by_serial (studio_document_get_graph (self), frame->serial);
  g_autoptr (GString) ids = g_string_new (NULL);
  g_autoptr (GPtrArray) hidden = g_ptr_array_new ();

  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];

      if (!studio_geometry_is_within (frame, item->x, item->y, item->width, item->height))
        continue;
      append_nodes (scene, loom_graph_by_serial (studio_document_get_graph (self), item->serial), item, ids);
      if (item->is_frame)
        g_ptr_array_add (hidden, loom_graph_by_serial (studio_document_get_graph (self), item->serial));
    }
  if (ids->len == 0)
    return FALSE;
  for (guint a = 0; a < scene->n_annotations; a++)
    {
      const StudioAnnotation *inner = &scene->annotation[a];

      if (inner != frame && studio_geometry_is_within (frame, inner->x, inner->y, inner->width, inner->height))
        hide (self, scene, a, hidden);
    }
  studio_document_put (self, element, "collapsed", ids->str);
  for (guint i = 0; i < hidden->len; i++)
    studio_document_put (self, hidden->pdata[i], "hidden", "true");
  return TRUE;
}

/* ---- opening ----------------------------------------------------------------------- */

static StudioRect
border_of (const LoomElement *frame)
{
  double v[4] = { 0 };
  static const char *const names[] = { "x", "y", "width", "height" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const char *text = loom_element_get (frame, names[i]);

      v[i] = text != NULL ? g_ascii_strtod (text, NULL) : 0;
    }
  return (StudioRect){ v[0], v[1], v[2], v[3] };
}

/* TRUE if a card that stays would be inside the expanded frame. */
static gboolean
is_taken (const StudioScene *scene, guint box, const StudioRect *border)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioRect card = studio_geometry_card (&scene->item[i]);

      if (i != box && studio_rect_intersects (&card, border))
        return TRUE;
    }
  return FALSE;
}

/* Cards after the card, in either direction, move by the difference in size between frame and card. */
static void
make_space (StudioDocument *self, const StudioScene *scene, guint box, const StudioRect *border)
{
  const StudioRect card = studio_geometry_card (&scene->item[box]);
  const double wider = MAX (border->width - card.width, 0), higher = MAX (border->height - card.height, 0);

  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      const gboolean right = item->x >= card.x + card.width, below = item->y >= card.y + card.height;

      if (i != box && (right || below))
        studio_document_place (self, item->id, item->x + (right ? wider : 0), item->y + (below && !right ? higher : 0));
    }
}

/* The frame is moved to its card, with the cards in it. */
static void
expand (StudioDocument *self, const StudioScene *scene, LoomElement *frame)
{
  const guint box = studio_scene_find (scene, loom_element_serial (frame));
  const StudioRect border = border_of (frame);
  LoomElement *layout = loom_element_parent (frame);
  StudioAnnotation outer = { .x = border.x, .y = border.y, .width = border.width, .height = border.height };

  if (box != STUDIO_NO_ITEM && is_taken (scene, box, &border))
    make_space (self, scene, box, &border);
  studio_document_put (self, frame, "collapsed", NULL);
  for (guint i = 0; i < loom_element_n_children (layout); i++)
    {
      LoomElement *e = loom_element_child (layout, i);
      const StudioRect inner = border_of (e);
      /* A collapsed frame is where its card is, whatever its expanded size. */
      const gboolean closed = loom_element_get (e, "collapsed") != NULL;

      if (e != frame && loom_element_get (e, "hidden") != NULL
          && studio_geometry_is_within (&outer, inner.x, inner.y, closed ? 0 : inner.width, closed ? 0 : inner.height))
        studio_document_put (self, e, "hidden", NULL);
    }
}

/* ---- commands ------------------------------------------------------------------------ */

gboolean
studio_document_selects_frame (StudioDocument *self)
{
  for (guint i = 0; i < studio_document_n_selected (self); i++)
    if (frame_at (self, studio_document_get_selected (self, i)) != NULL)
      return TRUE;
  return FALSE;
}

/* The selected frames that are collapsed, or those that are open. */
static GPtrArray *
selected_frames (StudioDocument *self, const StudioScene *scene, gboolean closed)
{
  GPtrArray *frames = g_ptr_array_new ();

  for (guint i = 0; i < studio_document_n_selected (self); i++)
    {
      const guint64 serial = studio_document_get_selected (self, i);
      LoomElement *frame = frame_at (self, serial);

      if (frame != NULL && (studio_scene_find (scene, serial) != STUDIO_NO_ITEM) == closed)
        g_ptr_array_add (frames, frame);
    }
  return frames;
}

gboolean
studio_document_fold_frames (StudioDocument *self)
{
  StudioScene *scene = studio_document_get_scene (self);
  g_autoptr (GPtrArray) open = selected_frames (self, scene, FALSE), closed = selected_frames (self, scene, TRUE);
  GPtrArray *frames = open->len > 0 ? open : closed;
  g_autofree char *name = NULL;
  gboolean done = frames == closed && closed->len > 0;

  if (frames->len == 0)
    return FALSE;
  name = g_strdup_printf (frames == open ? _ ("Collapse %s") : _ ("Expand %s"), title_of (frames->pdata[0]));
  studio_document_begin (self, name);
  for (guint i = 0; i < frames->len; i++)
    {
      scene = studio_document_get_scene (self);
      if (frames == closed)
        expand (self, scene, frames->pdata[i]);
      else
        {
          const guint a = studio_scene_find_annotation (scene, loom_element_serial (frames->pdata[i]));

          done |= a != STUDIO_NO_ITEM && collapse (self, scene, &scene->annotation[a]);
        }
      studio_document_refresh_scene (self);
    }
  studio_document_end (self);
  return done;
}

GPtrArray *
studio_document_selected_nodes (StudioDocument *self)
{
  StudioScene *scene = studio_document_get_scene (self);
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 0; i < scene->n_items; i++)
    {
      LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self), scene->item[i].serial);
      const char *list = scene->item[i].is_frame ? loom_element_get (e, "collapsed") : NULL;
      g_auto (GStrv) ids = g_strsplit (list != NULL ? list : "", " ", -1);

      if (!studio_document_is_selected (self, scene->item[i].serial))
        continue;
      if (list == NULL)
        g_ptr_array_add (nodes, e);
      for (guint k = 0; ids[k] != NULL; k++)
        if ((e = loom_scope_find_node (studio_document_get_scope (self), ids[k])) != NULL)
          g_ptr_array_add (nodes, e);
    }
  return nodes;
}

GPtrArray *
studio_document_open_selected (StudioDocument *self)
{
  StudioScene *scene = studio_document_get_scene (self);
  GPtrArray *closed = selected_frames (self, scene, TRUE);
  g_autoptr (GArray) selection = g_array_new (FALSE, FALSE, sizeof (guint64));
  LoomElement *scope = studio_document_get_scope (self);

  for (guint i = 0; i < studio_document_n_selected (self); i++)
    {
      const guint64 serial = studio_document_get_selected (self, i);

      g_array_append_val (selection, serial);
    }
  for (guint f = 0; f < closed->len; f++)
    {
      g_auto (GStrv) id = g_strsplit (loom_element_get (closed->pdata[f], "collapsed"), " ", -1);

      for (guint k = 0; id[k] != NULL; k++)
        {
          const LoomElement *node = loom_scope_find_node (scope, id[k]);
          const guint64 serial = node != NULL ? loom_element_serial (node) : 0;

          if (node != NULL)
            g_array_append_val (selection, serial);
        }
      studio_document_put (self, closed->pdata[f], "collapsed", NULL);
    }
  studio_document_refresh_scene (self);
  studio_document_select (self, (const guint64 *)(gpointer)selection->data, selection->len);
  return closed;
}

void
studio_document_show_node (StudioDocument *self, const char *id)
{
  LoomElement *layout = loom_element_find (studio_document_get_scope (self), LOOM_TAG_LAYOUT);

  for (guint i = 0; layout != NULL && i < loom_element_n_children (layout); i++)
    {
      LoomElement *e = loom_element_child (layout, i);
      const char *list = loom_element_tag (e) == LOOM_TAG_FRAME ? loom_element_get (e, "collapsed") : NULL;
      g_auto (GStrv) ids = g_strsplit (list != NULL ? list : "", " ", -1);
      g_autofree char *name = NULL;

      if (loom_element_get (e, "hidden") != NULL || !g_strv_contains ((const char *const *)ids, id))
        continue;
      name = g_strdup_printf (_ ("Expand %s"), title_of (e));
      studio_document_begin (self, name);
      expand (self, studio_document_get_scene (self), e);
      studio_document_end (self);
      studio_document_show_node (self, id); /* it may be in a frame inside this one */
      return;
    }
}
