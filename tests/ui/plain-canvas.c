/* Implements plain-canvas.h. */
#include "tests/ui/plain-canvas.h"

#include "ui/canvas/canvas-commands.h"
#include "ui/canvas/canvas-menu.h"

#define TYPE_PLAIN (plain_get_type ())
G_DECLARE_FINAL_TYPE (Plain, plain, , PLAIN, GtkWidget)

struct _Plain
{
  GtkWidget parent_instance;
};

G_DEFINE_FINAL_TYPE (Plain, plain, GTK_TYPE_WIDGET)

static void
plain_dispose (GObject *object)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (object))) != NULL)
    gtk_widget_unparent (child);
  G_OBJECT_CLASS (plain_parent_class)->dispose (object);
}

static void
plain_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
}

static void
plain_class_init (PlainClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = plain_dispose;
  GTK_WIDGET_CLASS (klass)->snapshot = plain_snapshot;
  canvas_commands_install (GTK_WIDGET_CLASS (klass));
  canvas_menu_install (GTK_WIDGET_CLASS (klass));
}

static void
plain_init (Plain *self)
{
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
}

void
rest (void)
{
  gint64 end = g_get_monotonic_time () + 60 * 1000;

  while (g_get_monotonic_time () < end)
    {
      while (g_main_context_iteration (NULL, FALSE))
        ;
      g_usleep (2000);
    }
}

void
set_up (Fixture *f, gconstpointer data)
{
  f->document = document_load (chain);
  studio_document_get_net (f->document);
  f->scene = studio_document_get_scene (f->document);
  f->widget = g_object_new (TYPE_PLAIN, NULL);
  f->window = gtk_window_new ();
  gtk_window_set_default_size (GTK_WINDOW (f->window), 600, 400);
  gtk_window_set_child (GTK_WINDOW (f->window), f->widget);
  gtk_window_present (GTK_WINDOW (f->window));
  rest ();
}

void
tear_down (Fixture *f, gconstpointer data)
{
  gtk_window_destroy (GTK_WINDOW (f->window));
  rest ();
  g_assert_finalize_object (f->document);
}

guint
item (Fixture *f, const char *id)
{
  return studio_scene_find_id (f->scene, id);
}

guint64
serial (Fixture *f, const char *id)
{
  return document_serial (f->document, id);
}

gboolean
draws (GtkSnapshot *snapshot)
{
  GskRenderNode *node = gtk_snapshot_free_to_node (snapshot);
  gboolean any = node != NULL;

  g_clear_pointer (&node, gsk_render_node_unref);
  return any;
}

void
changed_cb (gboolean zoomed, gpointer data)
{
  Changes *changes = data;

  changes->n++;
  changes->n_zoomed += zoomed ? 1 : 0;
}
