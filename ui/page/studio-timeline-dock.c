/* The view is made when it is first opened, and removed when it is closed: a closed dock requests nothing. */
#include "ui/page/studio-timeline-dock.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/timeline/studio-timeline-view.h"

#define HEIGHT 240

struct _StudioTimelineDock
{
  GtkWidget *box, *dock; /* dock NULL: closed */
  StudioRun *run;
};

static GtkWidget *
new_button (const char *icon, const char *words, const char *action)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, words);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, words, -1);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  return button;
}

static GtkWidget *
new_head (void)
{
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *title = gtk_label_new (_ ("Timeline of a Step"));

  gtk_widget_add_css_class (title, "heading");
  gtk_widget_set_hexpand (title, TRUE);
  gtk_label_set_xalign (GTK_LABEL (title), 0);
  gtk_widget_set_margin_start (head, 12);
  gtk_widget_set_margin_end (head, 6);
  gtk_box_append (GTK_BOX (head), title);
  gtk_box_append (GTK_BOX (head),
                  new_button ("window-new-symbolic", _ ("The timeline in a window (Ctrl+Shift+T)"), "win.timeline"));
  gtk_box_append (GTK_BOX (head),
                  new_button ("window-close-symbolic", _ ("Close the timeline (F8)"), "win.dock-timeline"));
  return head;
}

/* In a low window it scrolls as a whole and needs no height of its own, so that a large text does not make the window
 * higher than the screen. */
static GtkWidget *
new_dock (StudioTimelineDock *self)
{
  GtkWidget *dock = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *scroller = gtk_scrolled_window_new ();
  StudioTimelineView *view = studio_timeline_view_new (self->run);
  const double scale = CLAMP (studio_text_scale (self->box), 1, 1.6);

  gtk_box_append (GTK_BOX (dock), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (dock), new_head ());
  gtk_box_append (GTK_BOX (dock), GTK_WIDGET (view));
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scroller), TRUE);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scroller), (int)(HEIGHT * scale));
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), dock);
  gtk_widget_add_css_class (scroller, "timeline-dock");
  return scroller;
}

void
studio_timeline_dock_toggle (StudioTimelineDock *self)
{
  if (self->dock != NULL)
    {
      gtk_box_remove (GTK_BOX (self->box), self->dock);
      self->dock = NULL;
      return;
    }
  self->dock = new_dock (self);
  gtk_box_append (GTK_BOX (self->box), self->dock);
}

StudioTimelineDock *
studio_timeline_dock_new (GtkWidget *box, StudioRun *run)
{
  StudioTimelineDock *self = g_new0 (StudioTimelineDock, 1);

  self->box = box;
  self->run = g_object_ref (run);
  return self;
}

void
studio_timeline_dock_free (StudioTimelineDock *self)
{
  g_object_unref (self->run);
  g_free (self);
}
