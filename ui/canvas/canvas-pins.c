#include "ui/canvas/canvas-pins.h"

#include <math.h>
#include <string.h>

struct _CanvasPins
{
  GtkWidget *parent;
  GHashTable *pins; /* path → widget */
};

CanvasPins *
canvas_pins_new (GtkWidget *parent)
{
  CanvasPins *self = g_new0 (CanvasPins, 1);

  self->parent = parent;
  self->pins = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

void
canvas_pins_free (CanvasPins *self)
{
  g_hash_table_unref (self->pins);
  g_free (self);
}

GtkWidget *
canvas_pins_get (const CanvasPins *self, const char *path)
{
  return g_hash_table_lookup (self->pins, path);
}

gboolean
canvas_pins_set (CanvasPins *self, const char *path, GtkWidget *pin)
{
  GtkWidget *old = g_hash_table_lookup (self->pins, path);

  if (old == pin)
    return FALSE;
  if (old != NULL)
    {
      g_hash_table_remove (self->pins, path);
      gtk_widget_unparent (old);
    }
  if (pin != NULL)
    {
      gtk_widget_set_parent (pin, self->parent);
      g_hash_table_insert (self->pins, g_strdup (path), pin);
    }
  return TRUE;
}

/* FALSE: out of sight. */
static gboolean
allocate_pin (const StudioView *view, GtkWidget *pin, const StudioItem *item)
{
  StudioRect fault = studio_geometry_fault (item), visible = studio_view_visible (view);
  StudioPoint corner = { item->x, item->y + item->height + STUDIO_FAULT_GAP };
  double x, y;
  int width, minimum, natural, height;
  GskTransform *transform;
  StudioRect rect;

  gtk_widget_measure (pin, GTK_ORIENTATION_HORIZONTAL, -1, &minimum, &natural, NULL, NULL);
  if (item->flow == STUDIO_FLOW_DOWN)
    corner = (StudioPoint){ item->x + item->width + STUDIO_FAULT_GAP, item->y };
  if (fault.height > 0 && (item->fault_place == STUDIO_FAULT_BELOW || item->fault_place == STUDIO_FAULT_AT_RIGHT))
    corner.y += fault.height + STUDIO_FAULT_GAP;
  width = MAX (minimum, (int)(MAX (STUDIO_CARD_WIDTH, natural) * view->zoom));
  gtk_widget_measure (pin, GTK_ORIENTATION_VERTICAL, width, NULL, &height, NULL, NULL);
  rect = (StudioRect){ corner.x, corner.y, width / view->zoom, height / view->zoom };
  if (view->zoom < STUDIO_ZOOM_DETAIL || !studio_rect_intersects (&rect, &visible))
    return FALSE;
  studio_view_to_screen (view, corner.x, corner.y, &x, &y);
  transform = gsk_transform_translate (NULL, &GRAPHENE_POINT_INIT (floor (x), floor (y)));
  gtk_widget_set_child_visible (pin, TRUE);
  gtk_widget_allocate (pin, width, height, -1, transform);
  return TRUE;
}

/* A pin is shown at the card of its node or, if that is inside a module, at the module's card, unless that has its own:
 * of several the first by name. */
void
canvas_pins_allocate (CanvasPins *self, const StudioScene *scene, const StudioView *view)
{
  g_autoptr (GHashTable) inner = g_hash_table_new (NULL, NULL), placed = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer path, pin, card;

  g_hash_table_iter_init (&iter, self->pins);
  while (g_hash_table_iter_next (&iter, &path, &pin))
    {
      guint i = studio_scene_card_of (scene, path);
      const char *other;

      if (i == STUDIO_NO_ITEM)
        continue;
      if (strcmp (scene->item[i].path, path) == 0)
        {
          if (allocate_pin (view, pin, &scene->item[i]))
            g_hash_table_add (placed, pin);
        }
      else if (!g_hash_table_contains (self->pins, scene->item[i].path))
        {
          other = g_hash_table_lookup (inner, GUINT_TO_POINTER (i));
          if (other == NULL || strcmp (path, other) < 0)
            g_hash_table_replace (inner, GUINT_TO_POINTER (i), path);
        }
    }
  g_hash_table_iter_init (&iter, inner);
  while (g_hash_table_iter_next (&iter, &card, &path))
    {
      pin = g_hash_table_lookup (self->pins, path);
      if (allocate_pin (view, pin, &scene->item[GPOINTER_TO_UINT (card)]))
        g_hash_table_add (placed, pin);
    }
  /* Only at the end, because a pin that is hidden for a moment loses the focus. */
  g_hash_table_iter_init (&iter, self->pins);
  while (g_hash_table_iter_next (&iter, &path, &pin))
    if (!g_hash_table_contains (placed, pin))
      gtk_widget_set_child_visible (pin, FALSE);
}
