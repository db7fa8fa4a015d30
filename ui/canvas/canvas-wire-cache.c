#include "ui/canvas/canvas-wire-cache.h"

struct _CanvasWireCache
{
  GskRenderNode *wires, *labels;
};

CanvasWireCache *
canvas_wire_cache_new (void)
{
  return g_new0 (CanvasWireCache, 1);
}

void
canvas_wire_cache_free (CanvasWireCache *self)
{
  canvas_wire_cache_forget (self);
  g_free (self);
}

void
canvas_wire_cache_forget (CanvasWireCache *self)
{
  g_clear_pointer (&self->wires, gsk_render_node_unref);
  canvas_wire_cache_forget_labels (self);
}

void
canvas_wire_cache_forget_labels (CanvasWireCache *self)
{
  g_clear_pointer (&self->labels, gsk_render_node_unref);
}

void
canvas_wire_cache_snapshot (CanvasWireCache *self, GtkSnapshot *snapshot, const StudioScene *scene,
                            const StudioView *view, const StudioTheme *theme, guint64 hidden,
                            StudioIsSelected is_selected, gpointer data)
{
  if (self->wires == NULL)
    self->wires = studio_wires_render (scene, view, theme, hidden, is_selected, data);
  if (self->wires != NULL)
    gtk_snapshot_append_node (snapshot, self->wires);
}

void
canvas_wire_cache_snapshot_labels (CanvasWireCache *self, GtkSnapshot *snapshot, const StudioScene *scene,
                                   const StudioView *view, const StudioTheme *theme, guint named, PangoContext *context,
                                   GHashTable *layouts)
{
  if (self->labels == NULL)
    self->labels = studio_wires_render_shape_labels (scene, view, theme, named, context, layouts);
  if (self->labels != NULL)
    gtk_snapshot_append_node (snapshot, self->labels);
}
