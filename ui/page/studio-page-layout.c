/* Which parts of a page are seen, and how high: the start page, the run panel, and the graph fitted into what they
 * leave. */
#include "ui/charts/studio-text-scale.h"
#include "ui/page/studio-page-private.h"

#define PANEL_HEIGHT 240
#define PANEL_SHARE  0.45
/* On the projector a map has two fifths of the height, and caption and keys have theirs. */
#define PRESENTED_SHARE 0.32

char *
studio_page_dup_selected_path (StudioPage *self)
{
  if (studio_document_n_selected (self->document) != 1)
    return NULL;
  guint64 serial = studio_document_get_selected (self->document, 0);
  LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self->document), serial);
  return e != NULL && loom_element_tag (e) == LOOM_TAG_NODE ? studio_document_dup_node_path (self->document, serial)
                                                            : NULL;
}

/* ---- what is seen -------------------------------------------------------------------- */

/* A pane that came or went changes the canvas's size only in the next frame or two. */
#define SETTLE_FRAMES 3

/* TRUE when the panel of a window that was not shown before has got its height just now. */
static gboolean
place_panel (StudioPage *self)
{
  int height = gtk_widget_get_height (self->split);
  double large = CLAMP (studio_text_scale (GTK_WIDGET (self)), 1, 1.6);
  int wanted = (int)(PANEL_HEIGHT * (self->presenting ? MAX (large, 1.25) : large));
  /* Most of a small window is for the graph. */
  wanted = MIN (wanted, (int)((self->presenting ? PRESENTED_SHARE : PANEL_SHARE) * height));
  if (!self->panel_unplaced || height <= wanted)
    return FALSE;
  self->panel_unplaced = FALSE;
  gtk_paned_set_position (GTK_PANED (self->split), height - wanted);
  return TRUE;
}

static gboolean
fit_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  StudioPage *self = STUDIO_PAGE (data);
  if (gtk_widget_get_width (widget) <= 1 || --self->fit_frames > 0)
    return G_SOURCE_CONTINUE;
  if (place_panel (self))
    {
      self->fit_frames = SETTLE_FRAMES;
      return G_SOURCE_CONTINUE;
    }
  self->fit_frames = 0;
  /* On the way to the whole screen the window may have been lower. */
  studio_page_show_key_card (self);
  studio_page_fit_notes (self);
  studio_canvas_fit_again (self->canvas);
  return G_SOURCE_REMOVE;
}

void
studio_page_fit_soon (StudioPage *self)
{
  if (self->fit_frames == 0)
    gtk_widget_add_tick_callback (GTK_WIDGET (self->canvas), fit_cb, self, NULL);
  self->fit_frames = SETTLE_FRAMES;
}

/* GTK 4.8 takes what is pressed where the handle was last, all across the window, although the handle is hidden with
 * the panel below it. */
static void
mind_handle (StudioPage *self, gboolean shown)
{
  static const char key[] = "phase";
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (self->split);
  guint n = g_list_model_get_n_items (controllers);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GtkEventController) c = g_list_model_get_item (controllers, i);

      if (!GTK_IS_GESTURE (c))
        continue;
      if (g_object_get_data (G_OBJECT (c), key) == NULL)
        g_object_set_data (G_OBJECT (c), key, GINT_TO_POINTER (gtk_event_controller_get_propagation_phase (c)));
      gtk_event_controller_set_propagation_phase (c, shown ? GPOINTER_TO_INT (g_object_get_data (G_OBJECT (c), key))
                                                           : GTK_PHASE_NONE);
    }
}

void
studio_page_update_layout (StudioPage *self)
{
  gboolean empty = studio_document_is_empty (self->document);
  if (!empty)
    self->start_empty = FALSE;
  gboolean start = empty && !self->start_empty;
  gtk_widget_set_visible (self->start_page, start && !self->presenting);
  studio_canvas_set_bare (self->canvas, start && !self->presenting);
  studio_page_update_panes (self);
  gtk_widget_set_visible (self->status_line, !self->presenting);
  gtk_widget_set_visible (GTK_WIDGET (self->run_panel), self->panel_shown && !self->panel_folded);
  mind_handle (self, self->panel_shown && !self->panel_folded);
}

void
studio_page_show_panel (StudioPage *self)
{
  if (self->panel_shown && !self->panel_folded)
    return;
  self->panel_folded = FALSE;
  self->panel_shown = TRUE;
  studio_page_update_layout (self);
  self->panel_unplaced = TRUE;
  place_panel (self);
  studio_page_fit_soon (self);
}
