/* The page covers the canvas, which must still receive drops and keys. So the page and its labels are not targets of
 * events; only its buttons are, and the gallery while nothing is dragged. A plain box would swallow a drop in the
 * middle of the window. */
#include "ui/start/studio-start-page.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/start/studio-gallery.h"

#define MOST_RUNS 5 /* of the list of runs; the Runs pane of a graph has all of its own */

struct _StudioStartPage
{
  GtkWidget parent_instance;
  GtkWidget *gallery_window, *text, *hint;
  GtkWidget *buttons, *first_buttons, *other_buttons; /* a row of two pairs */
  GtkWidget *runs_box, *runs;
  char **folders; /* of the runs that are listed; NULL: none yet */
};

G_DEFINE_TYPE (StudioStartPage, studio_start_page, GTK_TYPE_WIDGET)

static gboolean
start_page_contains (GtkWidget *widget, double x, double y)
{
  return FALSE;
}

static void
start_page_dispose (GObject *object)
{
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (object))) != NULL)
    gtk_widget_unparent (child);
  g_clear_pointer (&STUDIO_START_PAGE (object)->folders, g_strfreev);
  G_OBJECT_CLASS (studio_start_page_parent_class)->dispose (object);
}

static void
studio_start_page_class_init (StudioStartPageClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = start_page_dispose;
  widget_class->contains = start_page_contains;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BOX_LAYOUT);
  STUDIO_TEMPLATE (klass, "studio-start-page.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioStartPage, gallery_window, text, hint, runs_box, runs, buttons, first_buttons,
                            other_buttons);
}

static void
studio_start_page_init (StudioStartPage *self)
{
  g_type_ensure (STUDIO_TYPE_GALLERY);
  gtk_widget_init_template (GTK_WIDGET (self));
  GtkBoxLayout *layout = GTK_BOX_LAYOUT (gtk_widget_get_layout_manager (GTK_WIDGET (self)));
  gtk_orientable_set_orientation (GTK_ORIENTABLE (layout), GTK_ORIENTATION_VERTICAL);
  gtk_box_layout_set_spacing (layout, 12);
}

static void
drag_enter_cb (StudioStartPage *self)
{
  gtk_widget_set_can_target (self->gallery_window, FALSE);
}

static void
drag_leave_cb (StudioStartPage *self)
{
  gtk_widget_set_can_target (self->gallery_window, TRUE);
}

void
studio_start_page_watch_drags (StudioStartPage *self, GtkWidget *around)
{
  GtkEventController *motion = gtk_drop_controller_motion_new ();

  g_signal_connect_object (motion, "enter", G_CALLBACK (drag_enter_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (motion, "leave", G_CALLBACK (drag_leave_cb), self, G_CONNECT_SWAPPED);
  gtk_widget_add_controller (around, motion);
}

StudioStartPage *
studio_start_page_new (void)
{
  return g_object_new (STUDIO_TYPE_START_PAGE, NULL);
}

static GtkWidget *
new_run_button (const char *folder, const char *text)
{
  GtkWidget *button = gtk_button_new (), *content = adw_button_content_new ();

  adw_button_content_set_icon_name (ADW_BUTTON_CONTENT (content), "media-playback-start-symbolic");
  adw_button_content_set_label (ADW_BUTTON_CONTENT (content), text);
  gtk_button_set_child (GTK_BUTTON (button), content);
  gtk_widget_set_tooltip_text (button, folder);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "win.attach-run");
  gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", folder);
  return button;
}

void
studio_start_page_set_runs (StudioStartPage *self, const char *const *folders, const char *const *texts)
{
  GtkWidget *child;

  /* Buttons that stay keep the focus. */
  if (self->folders != NULL && g_strv_equal ((const char *const *)self->folders, folders))
    return;
  g_strfreev (self->folders);
  self->folders = g_strdupv ((char **)folders);
  while ((child = gtk_widget_get_first_child (self->runs)) != NULL)
    gtk_box_remove (GTK_BOX (self->runs), child);
  for (guint i = 0; folders[i] != NULL && i < MOST_RUNS; i++)
    {
      g_autofree char *text = g_strdup_printf (_ ("Attach %s"), texts[i]);
      gtk_box_append (GTK_BOX (self->runs), new_run_button (folders[i], text));
    }
  gtk_widget_set_visible (self->runs_box, folders[0] != NULL);
}

static void
set_upright (GtkWidget *box, gboolean upright)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (box),
                                  upright ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
}

/* The width of two buttons that fits in the smallest window, of 640 pixels. */
#define PAIR 616

/* The width of all buttons in one row. */
static int
natural_width (GtkWidget *box)
{
  int width;
  set_upright (box, FALSE);
  gtk_widget_measure (box, GTK_ORIENTATION_HORIZONTAL, -1, NULL, &width, NULL, NULL);
  return width;
}

void
studio_start_page_set_size_class (StudioStartPage *self, StudioSizeClass room)
{
  const gboolean is_tiny = room == STUDIO_SIZE_CLASS_TINY;
  const gboolean upright
      = is_tiny && MAX (natural_width (self->first_buttons), natural_width (self->other_buttons)) > PAIR;
  set_upright (self->buttons, room != STUDIO_SIZE_CLASS_WIDE);
  set_upright (self->first_buttons, upright);
  set_upright (self->other_buttons, upright);
  /* In a small window the examples are more useful than the text. */
  gtk_widget_set_visible (self->text, !is_tiny);
  gtk_widget_set_visible (self->hint, !is_tiny);
}
