/* The view is made when it is first opened, and removed when it is closed: a closed dock requests nothing. */
#include "ui/page/studio-timeline-dock.h"

#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/timeline/studio-timeline-view.h"

#define HEIGHT 240

struct _StudioTimelineDock
{
  GtkWidget *box, *dock; /* dock NULL: closed */
  StudioRun *run;
};

static GtkWidget *
new_dock (StudioTimelineDock *self)
{
  GtkWidget *scroller = studio_template_new ("studio-timeline-dock.ui");
  const double scale = CLAMP (studio_text_scale (self->box), 1, 1.6);

  gtk_box_append (g_object_get_data (G_OBJECT (scroller), "dock"), GTK_WIDGET (studio_timeline_view_new (self->run)));
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scroller), (int)(HEIGHT * scale));
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
