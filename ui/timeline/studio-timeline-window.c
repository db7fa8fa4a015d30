/* The window of a timeline: that of a run, with the losses of its ranks on a second page, or that of a file. */
#include "ui/timeline/studio-timeline-window.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-tool-window.h"
#include "ui/timeline/studio-rank-losses.h"
#include "ui/timeline/studio-timeline-view.h"

#define WIDTH  900
#define HEIGHT 360

/* run: NULL for a file. The losses of a run's ranks are a second page. */
static GtkWidget *
new_window (GtkWindow *parent, const char *title, GtkWidget *view, StudioRun *run)
{
  GtkWidget *pages = run != NULL ? gtk_stack_new () : NULL;
  const double scale = studio_text_scale (GTK_WIDGET (parent));

  if (pages != NULL)
    {
      gtk_stack_add_titled (GTK_STACK (pages), view, "step", _ ("Step"));
      gtk_stack_add_titled (GTK_STACK (pages), GTK_WIDGET (studio_rank_losses_new (run)), "losses",
                            _ ("Loss of Each Rank"));
    }
  return studio_tool_window_new (parent, title, (int)(WIDTH * MIN (scale, 1.3)), (int)(HEIGHT * MIN (scale, 1.5)),
                                 pages, pages != NULL ? pages : view);
}

void
studio_timeline_window_present (GtkWindow *parent, GtkWidget **window, StudioRun *run)
{
  if (*window == NULL)
    g_set_weak_pointer (
        window, new_window (parent, _ ("Timeline of a Step"), GTK_WIDGET (studio_timeline_view_new (run)), run));
  gtk_window_present (GTK_WINDOW (*window));
}

GtkWidget *
studio_timeline_window_open (GtkWindow *parent, const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  GtkWidget *window = new_window (parent, name, GTK_WIDGET (studio_timeline_view_new_for_file (path)), NULL);

  gtk_window_present (GTK_WINDOW (window));
  return window;
}
