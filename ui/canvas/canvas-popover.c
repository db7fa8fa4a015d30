#include "ui/canvas/canvas-popover.h"

struct _CanvasPopover
{
  GtkWidget *parent, *open;
};

CanvasPopover *
canvas_popover_new (GtkWidget *parent)
{
  CanvasPopover *self = g_new0 (CanvasPopover, 1);

  self->parent = parent;
  return self;
}

void
canvas_popover_free (CanvasPopover *self)
{
  g_free (self);
}

GtkWidget *
canvas_popover_get (const CanvasPopover *self)
{
  return self->open;
}

void
canvas_popover_close (CanvasPopover *self)
{
  if (self->open != NULL)
    gtk_popover_popdown (GTK_POPOVER (self->open));
}

gboolean
canvas_popover_release (CanvasPopover *self, GtkWidget *popover)
{
  if (self->open != popover)
    return FALSE;
  self->open = NULL;
  return TRUE;
}

/* GTK still uses the popover after "closed". */
static gboolean
unparent_cb (gpointer popover)
{
  gtk_widget_unparent (popover);
  g_object_unref (popover);
  return G_SOURCE_REMOVE;
}

static void
closed_cb (GtkWidget *popover, CanvasPopover *self)
{
  canvas_popover_release (self, popover);
  if (gtk_widget_get_parent (popover) != NULL)
    g_idle_add (unparent_cb, g_object_ref (popover));
}

void
canvas_popover_take (CanvasPopover *self, GtkWidget *popover)
{
  canvas_popover_close (self);
  gtk_widget_set_parent (popover, self->parent);
  g_signal_connect_after (popover, "closed", G_CALLBACK (closed_cb), self);
  self->open = popover;
}

void
canvas_popover_point_at (const CanvasPopover *self, GtkWidget *popover, double x, double y)
{
  GdkRectangle at = { (int)CLAMP (x, 0, gtk_widget_get_width (self->parent)),
                      (int)CLAMP (y, 0, gtk_widget_get_height (self->parent)), 1, 1 };

  gtk_popover_set_pointing_to (GTK_POPOVER (popover), &at);
}

void
canvas_popover_forget (CanvasPopover *self)
{
  self->open = NULL;
}

void
canvas_popover_present (const CanvasPopover *self)
{
  if (self->open != NULL)
    gtk_popover_present (GTK_POPOVER (self->open));
}
