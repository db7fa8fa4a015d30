/* Implements studio-queue-box.h. */
#include "ui/runs/studio-queue-box.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"

struct _StudioQueueBox
{
  GtkBox parent_instance;
  StudioRunQueue *queue;
  GtkWidget *title, *list;
};

G_DEFINE_FINAL_TYPE (StudioQueueBox, studio_queue_box, GTK_TYPE_BOX)

#define MOST 12 /* rows; a longer queue shows its first */

static void
remove_cb (GtkWidget *button, StudioQueueBox *self)
{
  studio_run_queue_remove (self->queue, GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "index")));
}

static void
add_row (StudioQueueBox *self, guint i)
{
  const LoomQueuedRun *run = studio_run_queue_get (self->queue, i);
  g_autofree char *name = loom_text_printable (run->name != NULL ? run->name : run->title, TRUE, 60);
  g_autofree char *spoken = g_strdup_printf (_ ("Remove %s from the queue"), name);
  GtkWidget *row = studio_template_new ("queue-row.ui"), *button = g_object_get_data (G_OBJECT (row), "remove");

  gtk_label_set_text (g_object_get_data (G_OBJECT (row), "name"), name);
  gtk_widget_set_tooltip_text (button, spoken);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, spoken, -1);
  g_object_set_data (G_OBJECT (button), "index", GUINT_TO_POINTER (i));
  g_signal_connect (button, "clicked", G_CALLBACK (remove_cb), self);
  gtk_box_append (GTK_BOX (self->list), row);
}

/* The row that has the focus, or -1. */
static int
focused_row (StudioQueueBox *self)
{
  int i = 0;

  for (GtkWidget *row = gtk_widget_get_first_child (self->list); row != NULL; row = gtk_widget_get_next_sibling (row))
    {
      if ((gtk_widget_get_state_flags (row) & GTK_STATE_FLAG_FOCUS_WITHIN) != 0)
        return i;
      i++;
    }
  return -1;
}

/* The focus stays at its row, or goes to the widget after the box. */
static void
changed_cb (StudioQueueBox *self)
{
  const int focused = focused_row (self);
  const guint n = studio_run_queue_n (self->queue);
  g_autofree char *title = g_strdup_printf (ngettext ("%u run waits", "%u runs wait", n), n);
  GtkWidget *child;

  if (focused >= 0 && n == 0)
    gtk_widget_child_focus (GTK_WIDGET (gtk_widget_get_root (GTK_WIDGET (self))), GTK_DIR_TAB_FORWARD);
  gtk_widget_set_visible (GTK_WIDGET (self), n > 0);
  gtk_label_set_text (GTK_LABEL (self->title), title);
  while ((child = gtk_widget_get_first_child (self->list)) != NULL)
    gtk_box_remove (GTK_BOX (self->list), child);
  for (guint i = 0; i < MIN (n, MOST); i++)
    add_row (self, i);
  child = gtk_widget_get_first_child (self->list);
  for (int i = 0; focused >= 0 && child != NULL; i++, child = gtk_widget_get_next_sibling (child))
    if (i == focused || gtk_widget_get_next_sibling (child) == NULL)
      {
        gtk_widget_grab_focus (gtk_widget_get_last_child (child));
        break;
      }
}

static void
queue_box_dispose (GObject *object)
{
  g_clear_object (&STUDIO_QUEUE_BOX (object)->queue);
  G_OBJECT_CLASS (studio_queue_box_parent_class)->dispose (object);
}

static void
studio_queue_box_class_init (StudioQueueBoxClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = queue_box_dispose;
  STUDIO_TEMPLATE (klass, "studio-queue-box.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioQueueBox, title, list);
}

static void
studio_queue_box_init (StudioQueueBox *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
studio_queue_box_new (StudioRunQueue *queue)
{
  StudioQueueBox *self = g_object_new (STUDIO_TYPE_QUEUE_BOX, NULL);

  self->queue = g_object_ref (queue);
  g_signal_connect_object (queue, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  changed_cb (self);
  return GTK_WIDGET (self);
}
