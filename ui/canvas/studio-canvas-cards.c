/* Attachments of cards (pins, live values, progress, tooltips), where cards are, and which of them has the focus. */
#include <glib/gi18n.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"

#define QUIET (1500 * G_TIME_SPAN_MILLISECOND)

/* ---- what hangs on cards -------------------------------------------------- */

static void
refresh_path (StudioCanvas *self, const char *path)
{
  StudioScene *scene = studio_canvas_scene (self);

  for (guint i = 0; i < scene->n_items; i++)
    if (strcmp (scene->item[i].path, path) == 0)
      {
        StudioNode *node = studio_canvas_node (self, scene->item[i].serial);

        studio_node_refresh (node, TRUE);
        return;
      }
}

void
studio_canvas_set_pin_widget (StudioCanvas *self, const char *node_path, GtkWidget *widget)
{
  GtkWidget *old = g_hash_table_lookup (self->pins, node_path);

  if (old == widget)
    return;
  if (old != NULL)
    {
      g_hash_table_remove (self->pins, node_path);
      gtk_widget_unparent (old);
    }
  if (widget != NULL)
    {
      gtk_widget_set_parent (widget, GTK_WIDGET (self));
      g_hash_table_insert (self->pins, g_strdup (node_path), widget);
    }
  gtk_widget_queue_allocate (GTK_WIDGET (self));
}

void
studio_canvas_set_live (StudioCanvas *self, const char *node_path, const char *text)
{
  if (g_strcmp0 (g_hash_table_lookup (self->live, node_path), text) == 0)
    return;
  if (text != NULL)
    g_hash_table_replace (self->live, g_strdup (node_path), g_strdup (text));
  else
    g_hash_table_remove (self->live, node_path);
  refresh_path (self, node_path);
}

void
studio_canvas_set_times (StudioCanvas *self, GHashTable *seconds)
{
  if (self->times == NULL && seconds == NULL)
    return;
  g_clear_pointer (&self->times, g_hash_table_unref);
  self->times = seconds != NULL ? g_hash_table_ref (seconds) : NULL;
  studio_measure_set_times (studio_canvas_scene (self), self->times);
  studio_canvas_restyle (self, FALSE);
}

void
studio_canvas_set_progress (StudioCanvas *self, const char *node_path, double fraction)
{
  if (fraction >= 0)
    {
      double clamped = MIN (fraction, 1);

      g_hash_table_replace (self->progress, g_strdup (node_path), g_memdup2 (&clamped, sizeof clamped));
    }
  else if (!g_hash_table_remove (self->progress, node_path))
    return;
  refresh_path (self, node_path);
}

static guint
find_path (const StudioScene *scene, const char *path)
{
  for (guint i = 0; i < scene->n_items; i++)
    if (strcmp (scene->item[i].path, path) == 0 || strcmp (scene->item[i].id, path) == 0)
      return i;
  return STUDIO_NO_ITEM;
}

gboolean
studio_canvas_get_card_rect (StudioCanvas *self, const char *node_path, graphene_rect_t *rect)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint i = find_path (scene, node_path);
  double x, y;

  if (i == STUDIO_NO_ITEM)
    return FALSE;
  studio_view_to_screen (&self->view, scene->item[i].x, scene->item[i].y, &x, &y);
  graphene_rect_init (rect, x, y, scene->item[i].width * self->view.zoom, scene->item[i].height * self->view.zoom);
  return TRUE;
}

gboolean
studio_canvas_get_card_at (StudioCanvas *self, double x, double y, graphene_rect_t *rect)
{
  StudioScene *scene = studio_canvas_scene (self);
  StudioHit hit = studio_geometry_hit (scene, &self->view, x, y);

  return hit.kind != STUDIO_HIT_NOTHING && hit.kind != STUDIO_HIT_LINK && hit.kind != STUDIO_HIT_ANNOTATION
         && studio_canvas_get_card_rect (self, scene->item[hit.item].path, rect);
}

gboolean
studio_canvas_get_port_point (StudioCanvas *self, const char *node_path, gboolean output, const char *port,
                              graphene_point_t *point)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint i = find_path (scene, node_path), p;
  double x, y;

  if (i == STUDIO_NO_ITEM || (p = studio_item_find_port (&scene->item[i], output, port)) == STUDIO_NO_ITEM)
    return FALSE;
  studio_geometry_port (&scene->item[i], output, p, &x, &y);
  studio_view_to_screen (&self->view, x, y, &x, &y);
  graphene_point_init (point, x, y);
  return TRUE;
}

void
studio_canvas_quiet (StudioCanvas *self)
{
  self->quiet_until = g_get_monotonic_time () + QUIET;
}

/* ---- focus --------------------------------------------------------------- */

StudioNode *
studio_canvas_focused (StudioCanvas *self)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;

  return focus != NULL && STUDIO_IS_NODE (focus) && gtk_widget_get_parent (focus) == GTK_WIDGET (self)
             ? STUDIO_NODE (focus)
             : NULL;
}

guint
studio_canvas_current (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  StudioNode *node = studio_canvas_focused (self);

  if (node != NULL)
    return studio_node_get_item (node);
  if (studio_document_n_selected (self->document) == 1)
    return studio_scene_find (scene, studio_document_get_selected (self->document, 0));
  return STUDIO_NO_ITEM;
}

void
studio_canvas_focus_item (StudioCanvas *self, guint item, gboolean select)
{
  StudioScene *scene = studio_canvas_scene (self);
  StudioRect rect;
  StudioNode *node;

  if (item >= scene->n_items)
    return;
  rect = studio_geometry_extent (&scene->item[item]);
  node = studio_canvas_node (self, scene->item[item].serial);
  if (self->view.width > 0 && studio_view_reveal (&self->view, &rect))
    studio_canvas_view_changed (self);
  gtk_widget_set_child_visible (GTK_WIDGET (node), TRUE);
  self->last_focus = scene->item[item].serial;
  gtk_widget_grab_focus (GTK_WIDGET (node));
  if (select)
    studio_document_select_only (self->document, self->last_focus);
}

void
studio_canvas_focus_annotation (StudioCanvas *self, guint index)
{
  StudioScene *scene = studio_canvas_scene (self);
  StudioRect rect;
  GtkWidget *view;

  if (index >= scene->n_annotations)
    {
      gtk_widget_grab_focus (GTK_WIDGET (self));
      return;
    }
  rect = (StudioRect){ scene->annotation[index].x, scene->annotation[index].y, scene->annotation[index].width,
                       scene->annotation[index].height };
  view = g_hash_table_lookup (self->annotations, &scene->annotation[index].serial);
  if (self->view.width > 0 && studio_view_reveal (&self->view, &rect))
    studio_canvas_view_changed (self);
  gtk_widget_set_child_visible (view, TRUE);
  gtk_widget_grab_focus (view);
  studio_document_select_only (self->document, scene->annotation[index].serial);
}

guint
studio_canvas_current_annotation (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  GtkWidget *focus = gtk_widget_get_focus_child (GTK_WIDGET (self));

  if (focus != NULL && STUDIO_IS_ANNOTATION_VIEW (focus) && gtk_widget_has_focus (focus))
    return studio_annotation_view_get_index (STUDIO_ANNOTATION_VIEW (focus));
  if (studio_canvas_focused (self) == NULL && studio_document_n_selected (self->document) == 1)
    return studio_scene_find_annotation (scene, studio_document_get_selected (self->document, 0));
  return STUDIO_NO_ITEM;
}

void
studio_canvas_add_note (StudioCanvas *self, double x, double y)
{
  guint64 serial = studio_document_add_note (self->document, _ ("Note"), x, y);
  guint index = studio_scene_find_annotation (studio_canvas_scene (self), serial);

  studio_canvas_focus_annotation (self, index);
  studio_annotation_edit (self, index);
}

void
studio_canvas_add_frame (StudioCanvas *self)
{
  double x, y;
  guint64 serial;
  guint index;

  studio_canvas_get_centre (self, &x, &y);
  serial = studio_document_add_frame (self->document, _ ("Frame"), x, y);
  index = studio_scene_find_annotation (studio_canvas_scene (self), serial);
  studio_canvas_focus_annotation (self, index);
  studio_annotation_edit (self, index);
}

gboolean
studio_canvas_focus_path (StudioCanvas *self, const char *path)
{
  guint shown = find_path (studio_canvas_scene (self), path);

  /* The card of a collapsed frame has a path of no node. */
  if (shown != STUDIO_NO_ITEM && studio_canvas_scene (self)->item[shown].is_frame)
    {
      studio_canvas_focus_item (self, shown, TRUE);
      return TRUE;
    }
  if (!studio_document_reveal (self->document, path))
    return FALSE;
  studio_canvas_focus_item (
      self, studio_scene_find (studio_canvas_scene (self), studio_document_get_selected (self->document, 0)), FALSE);
  return TRUE;
}

/* One Tab stop: coming in leads to the card that had the focus, and Tab leads out. */
gboolean
studio_canvas_focus_vfunc (GtkWidget *widget, GtkDirectionType direction)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  GtkWidget *child = gtk_widget_get_focus_child (widget);
  StudioScene *scene;
  guint item;

  /* In a menu the arrow keys go from entry to entry. */
  if (child != NULL && GTK_IS_POPOVER (child))
    return gtk_widget_child_focus (child, direction);
  if (child != NULL || gtk_widget_has_focus (widget))
    return FALSE;
  scene = studio_canvas_scene (self);
  item = studio_scene_find (scene, self->last_focus);
  if (item == STUDIO_NO_ITEM && scene->n_items > 0)
    item = 0;
  if (item == STUDIO_NO_ITEM)
    return gtk_widget_grab_focus (widget);
  studio_canvas_focus_item (self, item, FALSE);
  return TRUE;
}

void
studio_canvas_add (StudioCanvas *self, const char *name, gboolean is_module)
{
  StudioAddPlace place;
  g_autofree char *said = NULL;
  double x, y;
  guint64 serial;

  studio_canvas_get_centre (self, &x, &y);
  studio_canvas_add_place (self, x, y, &place);
  serial = studio_document_add (self->document, name, is_module, NULL, &place, &said);
  if (said != NULL)
    studio_canvas_say (self, said);
  if (serial != 0)
    studio_canvas_focus_item (self, studio_scene_find (studio_canvas_scene (self), serial), FALSE);
}
