/* The canvas and its document: one card for each node of the scene, kept through changes, selections and scopes. */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"
#include "ui/scene/studio-copies.h"
#include "ui/scene/studio-shapes.h"
#include "ui/scene/studio-partitions.h"

gboolean
studio_canvas_is_selected_cb (guint64 serial, gpointer data)
{
  return studio_document_is_selected (STUDIO_CANVAS (data)->document, serial);
}

void
studio_canvas_redraw_wires (StudioCanvas *self)
{
  g_clear_pointer (&self->wires, gsk_render_node_unref);
  g_clear_pointer (&self->pills, gsk_render_node_unref);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

StudioNode *
studio_canvas_node (StudioCanvas *self, guint64 serial)
{
  return g_hash_table_lookup (self->nodes, &serial);
}

static void
remove_node (StudioCanvas *self, GtkWidget *node)
{
  g_hash_table_remove (self->nodes, studio_node_peek_serial (STUDIO_NODE (node)));
  /* The focus must not fall out of the canvas with the card that had it. */
  if (gtk_widget_has_focus (node))
    gtk_widget_grab_focus (GTK_WIDGET (self));
  gtk_accessible_reset_relation (GTK_ACCESSIBLE (node), GTK_ACCESSIBLE_RELATION_FLOW_TO);
  gtk_widget_unparent (node);
}

/* Removes the cards that the scene does not have; all cards when scene is NULL. */
static void
remove_gone (StudioCanvas *self, const StudioScene *scene)
{
  GtkWidget *next;

  for (GtkWidget *child = gtk_widget_get_first_child (GTK_WIDGET (self)); child != NULL; child = next)
    {
      next = gtk_widget_get_next_sibling (child);
      if (STUDIO_IS_NODE (child)
          && (scene == NULL
              || studio_scene_find (scene, studio_node_get_serial (STUDIO_NODE (child))) == STUDIO_NO_ITEM))
        remove_node (self, child);
    }
}

/* More cards than this that come and go at once are a job for starting afresh. */
#define MANY_CARDS 200

/* GTK tells a screen reader at what index each child comes or goes, and counts the children before it to know. One by
 * one among 20,000 others that is a minute; the first child is none. So cards are made from the last to the first, and
 * where many change, all go, each as the first, and all are made anew. */
static gboolean
is_much_new (StudioCanvas *self, const StudioScene *scene)
{
  guint kept = 0, had = g_hash_table_size (self->nodes);

  for (guint i = 0; i < scene->n_items; i++)
    kept += g_hash_table_contains (self->nodes, &scene->item[i].serial);
  return had > 0 && (had - kept) + (scene->n_items - kept) > MANY_CARDS;
}

static void
sync_annotations (StudioCanvas *self, const StudioScene *scene)
{
  GHashTableIter iter;
  gpointer view;

  g_hash_table_iter_init (&iter, self->annotations);
  while (g_hash_table_iter_next (&iter, NULL, &view))
    if (studio_scene_find_annotation (scene, *studio_annotation_view_peek_serial (view)) == STUDIO_NO_ITEM)
      {
        if (gtk_widget_has_focus (view))
          gtk_widget_grab_focus (GTK_WIDGET (self));
        g_hash_table_iter_remove (&iter);
        gtk_widget_unparent (view);
      }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      guint64 serial = scene->annotation[i].serial;

      view = g_hash_table_lookup (self->annotations, &serial);
      if (view == NULL)
        {
          view = studio_annotation_view_new (self, serial);
          gtk_widget_set_parent (view, GTK_WIDGET (self));
          g_hash_table_insert (self->annotations, (gpointer)studio_annotation_view_peek_serial (view), view);
        }
      studio_annotation_view_update (view, scene, i, studio_document_is_selected (self->document, serial));
    }
}

void
studio_canvas_forget_moving (StudioCanvas *self)
{
  self->gesture.moving = NULL;
  g_clear_pointer (&self->moving_items, g_free);
  g_clear_pointer (&self->moving_annotations, g_free);
}

/* While cards are being placed they need not be told to be placed again, and asking then would leave the widgets
 * around the canvas without a size in the very frame that draws them. */
void
studio_canvas_place_again (StudioCanvas *self)
{
  if (!self->allocating)
    gtk_widget_queue_allocate (GTK_WIDGET (self));
}

static void
make_nodes (StudioCanvas *self, const StudioScene *scene)
{
  GtkWidget *next = NULL;

  for (guint i = scene->n_items; i-- > 0;)
    {
      StudioNode *node = studio_canvas_node (self, scene->item[i].serial);

      if (node == NULL)
        {
          node = studio_node_new (self, scene->item[i].serial);
          gtk_widget_insert_before (GTK_WIDGET (node), GTK_WIDGET (self), next);
          g_hash_table_insert (self->nodes, (gpointer)studio_node_peek_serial (node), node);
        }
      next = GTK_WIDGET (node);
      studio_node_update (node, scene, i, studio_document_is_selected (self->document, scene->item[i].serial));
      studio_canvas_light_card (self, GTK_WIDGET (node), scene, i);
    }
}

static void
select_cards (StudioCanvas *self, const StudioScene *scene)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioNode *node = studio_canvas_node (self, scene->item[i].serial);
      gboolean selected = studio_document_is_selected (self->document, scene->item[i].serial);

      if (node == NULL)
        continue;
      studio_node_update (node, scene, i, selected);
      gtk_accessible_update_state (GTK_ACCESSIBLE (node), GTK_ACCESSIBLE_STATE_SELECTED, selected, -1);
    }
}

/* Makes the cards of a scene, and removes those that it does not have. */
static void
sync_cards (StudioCanvas *self, StudioScene *scene)
{
  guint64 focused = 0;
  g_autofree char *description = NULL, *nodes = NULL, *wires = NULL;

  studio_routes_set_right_angles (scene->routes, self->right_angles);
  studio_scene_set_shapes (scene, self->shapes);
  studio_scene_mark_missing_devices (scene, (const char *const *)self->devices);
  studio_scene_set_stages (scene, self->stages);
  if (is_much_new (self, scene))
    {
      focused = studio_canvas_focused (self) != NULL ? self->last_focus : 0;
      remove_gone (self, NULL);
    }
  make_nodes (self, scene);
  if (studio_canvas_node (self, focused) != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (studio_canvas_node (self, focused)));
  for (guint i = 0; i < scene->n_items; i++)
    studio_node_update_accessible (studio_canvas_node (self, scene->item[i].serial), scene,
                                   studio_document_is_selected (self->document, scene->item[i].serial));
  remove_gone (self, scene);
  nodes = g_strdup_printf (ngettext ("%u node", "%u nodes", scene->n_items), scene->n_items);
  wires = g_strdup_printf (ngettext ("%u wire", "%u wires", scene->n_links), scene->n_links);
  description = g_strdup_printf ("%s, %s", nodes, wires);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, description, -1);
  if (self->times != NULL)
    studio_measure_set_times (scene, self->times);
  studio_canvas_read_samples (self, scene);
  self->synced_scene = scene->id;
}

static void
sync_scene (StudioCanvas *self)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  double dx = self->shift_dx, dy = self->shift_dy;

  self->stale = FALSE;
  self->shift_dx = self->shift_dy = 0;
  studio_canvas_forget_moving (self);
  /* In a scene that is there already only positions are others. */
  if (scene->id != self->synced_scene)
    sync_cards (self, scene);
  else
    studio_canvas_place_faults (self, scene);
  if (self->reselect)
    select_cards (self, scene);
  self->reselect = FALSE;
  sync_annotations (self, scene);
  if (dx != 0 || dy != 0)
    studio_canvas_shift (self, dx, dy);
  studio_canvas_update_actions (self);
  studio_canvas_light_wires (self);
  studio_canvas_place_again (self);
}

StudioScene *
studio_canvas_scene (StudioCanvas *self)
{
  if (self->stale)
    sync_scene (self);
  return studio_document_get_scene (self->document);
}

/* Before the frame's layout: cards that go ask for a layout, which is too late in the middle of one. */
static gboolean
sync_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  self->sync_tick = 0;
  studio_canvas_scene (self);
  return G_SOURCE_REMOVE;
}

static void
changed_cb (StudioCanvas *self)
{
  studio_canvas_drop_glide (self);
  /* The scene has the positions of the graph again, so a drag has nothing to take back. */
  self->shift_dx = self->shift_dy = 0;
  self->bent = NULL;
  studio_canvas_forget_moving (self);
  /* A wire that is being drawn holds indices into the scene that is gone. */
  studio_canvas_end_gesture (self);
  self->stale = TRUE;
  self->hover = self->hover_link = STUDIO_NO_ITEM;
  self->fitted = FALSE;
  studio_canvas_quiet (self);
  if (self->sync_tick == 0)
    self->sync_tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), sync_cb, NULL, NULL);
  gtk_widget_queue_allocate (GTK_WIDGET (self));
}

void
studio_canvas_set_stages (StudioCanvas *self, GHashTable *stages)
{
  if (self->stages == stages)
    return;
  g_clear_pointer (&self->stages, g_hash_table_unref);
  self->stages = stages != NULL ? g_hash_table_ref (stages) : NULL;
  /* Marks of the old ones, and cards that a drag has moved, stay with the old scene. */
  studio_document_refresh_scene (self->document);
  sync_scene (self);
}

static void
net_changed_cb (StudioCanvas *self)
{
  sync_scene (self);
}

static void
selection_changed_cb (StudioCanvas *self)
{
  StudioScene *scene;

  /* Cards are made with their selection, once for several changes. */
  if (self->stale)
    {
      self->reselect = TRUE;
      studio_canvas_update_actions (self);
      return;
    }
  scene = studio_canvas_scene (self);
  select_cards (self, scene);
  sync_annotations (self, scene);
  studio_canvas_update_actions (self);
  studio_canvas_redraw_wires (self);
}

static void
scope_changed_cb (StudioCanvas *self)
{
  const char *path = studio_document_get_scope_path (self->document);
  StudioView *view;

  studio_canvas_drop_glide (self);
  studio_canvas_drop_flight (self);
  studio_canvas_end_gesture (self);
  if (self->scope_path != NULL)
    g_hash_table_replace (self->views, g_strdup (self->scope_path), g_memdup2 (&self->view, sizeof self->view));
  view = g_strcmp0 (path, self->scope_path) != 0 ? g_hash_table_lookup (self->views, path) : NULL;
  g_free (self->scope_path);
  self->scope_path = g_strdup (path);
  sync_scene (self);
  if (view != NULL)
    {
      double width = self->view.width, height = self->view.height;

      self->view = *view;
      self->view.width = width;
      self->view.height = height;
      studio_canvas_zoomed (self, -1);
    }
  else
    studio_canvas_fit_readable (self);
}

void
studio_canvas_follow_document (StudioCanvas *self)
{
  g_signal_connect_swapped (self->document, "changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (self->document, "net-changed", G_CALLBACK (net_changed_cb), self);
  g_signal_connect_swapped (self->document, "selection-changed", G_CALLBACK (selection_changed_cb), self);
  g_signal_connect_swapped (self->document, "scope-changed", G_CALLBACK (scope_changed_cb), self);
  sync_scene (self);
}
