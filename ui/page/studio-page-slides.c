/* The views of a lecture: their list beside the canvas, the walk through them on the projector, spotlight and pen. */
#include <glib/gi18n.h>

#include "ui/lesson/studio-markdown.h"
#include "ui/present/studio-slide-show.h"
#include "ui/page/studio-page-private.h"

#define PAGE "slides"
/* Notes may take this much of the page; longer ones scroll. */
#define NOTE_SHARE 0.22

/* ---- the list -------------------------------------------------------------------------- */

/* Its tab is there while there are views, and once somebody has asked for it. */
static void
show_tab (StudioPage *self)
{
  if (self->slides_tab)
    return;
  studio_panes_add_page (self->panes, STUDIO_PANE_END, GTK_WIDGET (self->slides_pane), PAGE, _ ("Views"));
  self->slides_tab = TRUE;
}

void
studio_page_show_slides (StudioPage *self)
{
  if (self->presenting)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.present", NULL);
  show_tab (self);
  studio_panes_show_page (self->panes, PAGE);
  gtk_widget_child_focus (GTK_WIDGET (self->slides_pane), GTK_DIR_TAB_FORWARD);
}

void
studio_page_add_slide (StudioPage *self)
{
  /* The slide is captured first: leaving the presentation may show another part. */
  g_autoptr (LoomSlide) slide = studio_slide_capture (self->document, self->canvas);
  studio_page_show_slides (self);
  studio_slides_pane_add_slide (self->slides_pane, slide);
}

/* ---- notes ------------------------------------------------------------------------------ */

static gboolean
is_node_cb (const char *name, gpointer data)
{
  return FALSE;
}

static void
follow_cb (const char *address, gpointer data)
{
  StudioPage *self = data;
  if (g_str_has_prefix (address, "node:"))
    studio_canvas_focus_path (self->canvas, address + strlen ("node:"));
}

/* A scrolled window asks its child for a height without saying how wide it is: lines that wrap would be cut off. */
void
studio_page_fit_notes (StudioPage *self)
{
  const int width = gtk_widget_get_width (self->note_scroller), most = gtk_widget_get_height (self->split);
  int height;
  if (!self->presenting || width <= 0 || most <= 0)
    return;
  gtk_widget_measure (self->notes, GTK_ORIENTATION_VERTICAL, width, NULL, &height, NULL, NULL);
  height = MIN (height, (int)(NOTE_SHARE * most));
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (self->note_scroller), height);
  gtk_scrolled_window_set_min_content_height (GTK_SCROLLED_WINDOW (self->note_scroller), height);
}

/* All notes lie in one stack, which is as high as the highest of them: the graph does not jump from view to view. */
static void
fill_notes (StudioPage *self)
{
  GtkWidget *child;
  gboolean any = FALSE;
  while ((child = gtk_widget_get_first_child (self->notes)) != NULL)
    gtk_stack_remove (GTK_STACK (self->notes), child);
  for (guint i = 0; self->presenting && i < studio_slides_n (self->slides); i++)
    {
      const char *text = studio_slides_get (self->slides, i)->text;
      g_autofree char *name = g_strdup_printf ("%u", i);
      gtk_stack_add_named (GTK_STACK (self->notes), studio_markdown_new (text, is_node_cb, follow_cb, self), name);
      any |= text[0] != '\0';
    }
  gtk_widget_set_visible (self->note_scroller, any);
  studio_page_fit_notes (self);
}

/* ---- the view that is shown ---------------------------------------------------------------- */

static void
show_current (StudioPage *self)
{
  const int i = studio_slides_get_current (self->slides);
  const guint n = studio_slides_n (self->slides);
  if (!self->presenting)
    return;
  const LoomSlide *slide = studio_slides_get_current_slide (self->slides);
  /* Numbers alone have no direction: among words from right to left it would be "7 / 2". */
  g_autofree char *name = g_strdup_printf ("%d", i), *where = g_strdup_printf ("\u200e%d / %u", i + 1, n);
  gtk_label_set_text (GTK_LABEL (self->slide_label), slide != NULL ? where : "");
  if (slide != NULL)
    gtk_stack_set_visible_child_name (GTK_STACK (self->notes), name);
  studio_present_layer_clear (self->present_layer);
  studio_document_select_only (self->document, 0);
  studio_pins_set_shown (self->pins, slide != NULL ? (const char *const *)slide->pins : NULL);
  studio_slide_show (self->document, self->canvas, slide, TRUE);
  studio_document_select_only (self->document, 0);
  studio_page_show_caption (self);
}

void
studio_page_walk_slides (StudioPage *self, int by)
{
  const int i = studio_slides_get_current (self->slides) + by, n = (int)studio_slides_n (self->slides);
  if (i < 0 || i >= n)
    return;
  studio_slides_set_current (self->slides, i);
  if (!self->presenting)
    studio_slide_show (self->document, self->canvas, studio_slides_get_current_slide (self->slides), FALSE);
}

void
studio_page_present_slides (StudioPage *self)
{
  fill_notes (self);
  if (!self->presenting)
    {
      studio_present_layer_set_tool (self->present_layer, STUDIO_TOOL_NONE);
      studio_present_layer_set_spotlight (self->present_layer, FALSE);
      studio_present_layer_clear (self->present_layer);
      studio_pins_set_shown (self->pins, NULL);
      gtk_label_set_text (GTK_LABEL (self->slide_label), "");
      studio_canvas_set_spotlight (self->canvas, "", NULL);
      studio_canvas_show_part (self->canvas, NULL, FALSE);
      return;
    }
  if (studio_slides_get_current (self->slides) < 0)
    studio_slides_set_current (self->slides, 0);
  if (studio_slides_n (self->slides) > 0)
    show_current (self);
}

static void
slides_changed_cb (StudioPage *self)
{
  if (studio_slides_n (self->slides) > 0)
    show_tab (self);
  if (self->presenting)
    fill_notes (self);
}

/* ---- spotlight and pen ------------------------------------------------------------------------ */

gboolean
studio_page_put_pen_away (StudioPage *self)
{
  if (studio_present_layer_get_tool (self->present_layer) == STUDIO_TOOL_NONE)
    return FALSE;
  studio_present_layer_set_tool (self->present_layer, STUDIO_TOOL_NONE);
  return TRUE;
}

static void
toggle_tool (StudioPage *self, StudioTool tool)
{
  const gboolean held = studio_present_layer_get_tool (self->present_layer) == tool;
  studio_present_layer_set_tool (self->present_layer, held ? STUDIO_TOOL_NONE : tool);
}

void
studio_page_toggle_pen (StudioPage *self)
{
  toggle_tool (self, STUDIO_TOOL_PEN);
}

void
studio_page_toggle_eraser (StudioPage *self)
{
  toggle_tool (self, STUDIO_TOOL_ERASER);
}

void
studio_page_toggle_spotlight (StudioPage *self)
{
  studio_present_layer_set_spotlight (self->present_layer, !studio_present_layer_get_spotlight (self->present_layer));
}

void
studio_page_clear_drawing (StudioPage *self)
{
  studio_present_layer_clear (self->present_layer);
}

/* A colour takes the pen in the hand. */
static void
take_colour (StudioPage *self, guint colour)
{
  studio_present_layer_set_colour (self->present_layer, colour);
  studio_present_layer_set_tool (self->present_layer, STUDIO_TOOL_PEN);
}

gboolean
studio_page_slide_key (StudioPage *self, guint key)
{
  static const struct
  {
    guint key;
    void (*run) (StudioPage *self);
  } keys[] = { { GDK_KEY_s, studio_page_toggle_spotlight },
               { GDK_KEY_p, studio_page_toggle_pen },
               { GDK_KEY_e, studio_page_toggle_eraser },
               { GDK_KEY_c, studio_page_clear_drawing } };
  if (key == GDK_KEY_Page_Down || key == GDK_KEY_Page_Up || key == GDK_KEY_KP_Page_Down || key == GDK_KEY_KP_Page_Up)
    {
      studio_page_walk_slides (self, key == GDK_KEY_Page_Down || key == GDK_KEY_KP_Page_Down ? 1 : -1);
      return TRUE;
    }
  if (key >= GDK_KEY_1 && key <= GDK_KEY_4)
    {
      take_colour (self, key - GDK_KEY_1);
      return TRUE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (gdk_keyval_to_lower (key) == keys[i].key)
      {
        keys[i].run (self);
        return TRUE;
      }
  return FALSE;
}

/* ---- parts ----------------------------------------------------------------------------------------- */

void
studio_page_setup_slides (StudioPage *self)
{
  self->slides = studio_slides_new (self->document);
  self->slides_pane = g_object_ref_sink (studio_slides_pane_new (self->document, self->canvas, self->slides));
  self->present_layer = studio_present_layer_new (self->canvas);
  gtk_overlay_add_overlay (GTK_OVERLAY (self->canvas_overlay), GTK_WIDGET (self->present_layer));
  g_signal_connect_swapped (self->slides, "changed", G_CALLBACK (slides_changed_cb), self);
  g_signal_connect_swapped (self->slides, "current-changed", G_CALLBACK (show_current), self);
  g_signal_connect_swapped (self->present_layer, "changed", G_CALLBACK (studio_page_show_keys), self);
}

void
studio_page_dispose_slides (StudioPage *self)
{
  if (self->slides != NULL)
    g_signal_handlers_disconnect_by_data (self->slides, self);
  g_clear_object (&self->slides_pane);
  g_clear_object (&self->slides);
}
