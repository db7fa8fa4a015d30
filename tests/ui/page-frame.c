#include "tests/ui/page-frame.h"

#include "tests/ui/document-test.h"
#include "ui/shell/studio-toasts.h"

static void
said_cb (gpointer data)
{
  ((Frame *)data)->said++;
}

void
count_cb (guint *count)
{
  (*count)++;
}

void
settle (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

void
frame_begin (Frame *self, const char *graph)
{
  *self = (Frame){ .document = document_load (graph), .run = studio_run_new () };
  self->canvas = studio_canvas_new (self->document);
  self->toasts = adw_toast_overlay_new ();
  self->panes = g_object_new (STUDIO_TYPE_PANES, NULL);
  GTK_BUILDABLE_GET_IFACE (self->panes)->add_child (GTK_BUILDABLE (self->panes), NULL, G_OBJECT (self->canvas), NULL);
  studio_panes_add_page (self->panes, STUDIO_PANE_END, gtk_label_new ("parameters"), "inspector", "Parameters");
  adw_toast_overlay_set_child (ADW_TOAST_OVERLAY (self->toasts), GTK_WIDGET (self->panes));
  self->window = g_object_ref (GTK_WINDOW (gtk_window_new ()));
  gtk_window_set_child (self->window, self->toasts);
  studio_toasts_set_said_func (self->toasts, said_cb, self);
}

void
frame_end (Frame *self)
{
  gtk_window_destroy (self->window);
  g_object_unref (self->window);
  g_object_unref (self->run);
  g_object_unref (self->document);
  settle ();
}

void
release (gpointer part)
{
  g_object_add_weak_pointer (part, &part);
  g_object_unref (part);
  g_assert_null (part);
}
