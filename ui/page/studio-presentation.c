/* Implements studio-presentation.h. The window's part, the full screen, is ui/window/studio-window.c. */
#include "ui/page/studio-presentation.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/page/caption-text.h"
#include "ui/page/graph-walk.h"
#include "ui/present/studio-slide-show.h"
#include "ui/shell/studio-toasts.h"

struct _StudioPresentation
{
  GObject parent_instance;
  StudioPresentationParts part; /* document, run and slides are owned */
  gboolean on;
};

STUDIO_DEFINE_TYPE (StudioPresentation, studio_presentation, G_TYPE_OBJECT)

enum
{
  CHANGED,
  STEP,
  LEARNING_RATE,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* ---- caption and keys ------------------------------------------------------------------------ */

/* Of the selected layer, else the title of the view, else of the graph. */
static void
show_caption (StudioPresentation *self)
{
  StudioDocument *document = self->part.document;
  /* The caption is hidden at other times; a selection in the middle of an edit would make a scene for nothing. */
  StudioScene *scene = self->on ? studio_document_get_scene (document) : NULL;
  guint item = self->on && studio_document_n_selected (document) == 1
                   ? studio_scene_find (scene, studio_document_get_selected (document, 0))
                   : STUDIO_NO_ITEM;
  if (item != STUDIO_NO_ITEM)
    {
      g_autofree char *markup = caption_text_new (scene, item);
      studio_caption_set_markup (self->part.caption, markup);
      return;
    }
  const int view = self->on ? studio_slides_get_current (self->part.slides) : -1;
  g_autofree char *title
      = view >= 0 ? studio_slides_dup_title (self->part.slides, (guint)view) : studio_document_dup_title (document);
  studio_caption_set_title (self->part.caption, title);
}

static void
show_keys (StudioPresentation *self)
{
  if (studio_present_layer_get_tool (self->part.layer) != STUDIO_TOOL_NONE)
    studio_key_card_show_pen_keys (self->part.keys);
  else
    studio_key_card_show_keys (self->part.keys, studio_run_get_state (self->part.run),
                               studio_slides_n (self->part.slides) > 0);
}

void
studio_presentation_fit (StudioPresentation *self, int height)
{
  /* During the change to full screen the window may have been lower. */
  studio_key_card_set_presenting (self->part.keys, self->on);
  studio_caption_fit_notes (self->part.caption, height);
}

/* ---- views ---------------------------------------------------------------------------------- */

static void
show_current (StudioPresentation *self)
{
  StudioSlides *slides = self->part.slides;
  StudioDocument *document = self->part.document;
  const int i = studio_slides_get_current (slides);
  const guint n = studio_slides_n (slides);
  if (!self->on)
    return;
  const LoomSlide *slide = studio_slides_get_current_slide (slides);
  /* Numbers alone have no direction: among words from right to left it would be "7 / 2". */
  g_autofree char *progress = g_strdup_printf ("\u200e%d / %u", i + 1, n);
  g_object_set (self->part.keys, "progress", slide != NULL ? progress : "", NULL);
  if (slide != NULL)
    studio_caption_show_note (self->part.caption, i);
  studio_present_layer_clear (self->part.layer);
  studio_document_select_only (document, 0);
  studio_pins_set_shown (self->part.pins, slide != NULL ? (const char *const *)slide->pins : NULL);
  studio_slide_show (document, self->part.canvas, slide, TRUE);
  studio_document_select_only (document, 0);
  show_caption (self);
}

static void
move_view (StudioPresentation *self, int by)
{
  StudioSlides *slides = self->part.slides;
  const int i = studio_slides_get_current (slides) + by, n = (int)studio_slides_n (slides);
  if (i < 0 || i >= n)
    {
      /* Beyond the views of a graph is the next one of the lecture, if there is one. */
      if (self->on)
        gtk_widget_activate_action (GTK_WIDGET (self->part.canvas), by > 0 ? "win.next-stop" : "win.previous-stop",
                                    NULL);
      return;
    }
  studio_slides_set_current (slides, i);
  if (!self->on)
    studio_slide_show (self->part.document, self->part.canvas, studio_slides_get_current_slide (slides), FALSE);
}

void
studio_presentation_next_view (StudioPresentation *self)
{
  move_view (self, 1);
}

void
studio_presentation_previous_view (StudioPresentation *self)
{
  move_view (self, -1);
}

static void
fill_notes (StudioPresentation *self)
{
  studio_caption_set_notes (self->part.caption, self->on ? self->part.slides : NULL);
}

static void
end_views (StudioPresentation *self)
{
  studio_present_layer_set_tool (self->part.layer, STUDIO_TOOL_NONE);
  studio_present_layer_set_spotlight (self->part.layer, FALSE);
  studio_present_layer_clear (self->part.layer);
  studio_pins_set_shown (self->part.pins, NULL);
  g_object_set (self->part.keys, "progress", "", NULL);
  studio_canvas_set_spotlight (self->part.canvas, "", NULL);
  studio_canvas_show_part (self->part.canvas, NULL, FALSE);
}

static void
begin_views (StudioPresentation *self)
{
  StudioSlides *slides = self->part.slides;
  if (studio_slides_get_current (slides) < 0)
    studio_slides_set_current (slides, 0);
  if (studio_slides_n (slides) > 0)
    show_current (self);
}

static void
slides_changed_cb (StudioPresentation *self)
{
  if (self->on)
    fill_notes (self);
}

/* ---- spotlight and pen ------------------------------------------------------------------------ */

static gboolean
drop_pen (StudioPresentation *self)
{
  if (studio_present_layer_get_tool (self->part.layer) == STUDIO_TOOL_NONE)
    return FALSE;
  studio_present_layer_set_tool (self->part.layer, STUDIO_TOOL_NONE);
  return TRUE;
}

static void
toggle_tool (StudioPresentation *self, StudioTool tool)
{
  const gboolean used = studio_present_layer_get_tool (self->part.layer) == tool;
  studio_present_layer_set_tool (self->part.layer, used ? STUDIO_TOOL_NONE : tool);
}

void
studio_presentation_toggle_pen (StudioPresentation *self)
{
  toggle_tool (self, STUDIO_TOOL_PEN);
}

void
studio_presentation_toggle_eraser (StudioPresentation *self)
{
  toggle_tool (self, STUDIO_TOOL_ERASER);
}

void
studio_presentation_toggle_spotlight (StudioPresentation *self)
{
  studio_present_layer_set_spotlight (self->part.layer, !studio_present_layer_get_spotlight (self->part.layer));
}

void
studio_presentation_clear_drawing (StudioPresentation *self)
{
  studio_present_layer_clear (self->part.layer);
}

/* A colour selects the pen too. */
static void
select_colour (StudioPresentation *self, guint colour)
{
  studio_present_layer_set_colour (self->part.layer, colour);
  studio_present_layer_set_tool (self->part.layer, STUDIO_TOOL_PEN);
}

/* ---- the learning rate ------------------------------------------------------------------------ */

static void
close_rate (StudioPresentation *self)
{
  studio_rate_card_close (self->part.rate, GTK_WIDGET (self->part.canvas));
}

static void
rate_entered_cb (StudioRateCard *card, double rate, StudioPresentation *self)
{
  if (studio_run_is_live (self->part.run))
    studio_run_set_hyper (self->part.run, "lr", rate);
  else
    studio_toasts_say (self->part.toasts, _ ("Nothing is training. Set the learning rate in the training settings."));
  close_rate (self);
}

void
studio_presentation_ask_learning_rate (StudioPresentation *self)
{
  if (!self->on)
    {
      g_signal_emit (self, signals[LEARNING_RATE], 0);
      return;
    }
  studio_rate_card_open (self->part.rate, studio_run_get_progress (self->part.run)->lr);
}

/* ---- single keys ------------------------------------------------------------------------------ */

static void
walk (StudioPresentation *self, int by)
{
  StudioDocument *document = self->part.document;
  StudioScene *scene = studio_document_get_scene (document);
  const gboolean one = studio_document_n_selected (document) == 1;
  guint at = one ? studio_scene_find (scene, studio_document_get_selected (document, 0)) : STUDIO_NO_ITEM;
  guint next = graph_walk_next (scene, at, by);
  if (next != STUDIO_NO_ITEM)
    studio_canvas_focus_path (self->part.canvas, scene->item[next].path);
}

static void
step (StudioPresentation *self)
{
  g_signal_emit (self, signals[STEP], 0);
}

/* Data flow to the right also in locales that are written from right to left. */
static void
walk_right (StudioPresentation *self)
{
  walk (self, 1);
}

static void
walk_left (StudioPresentation *self)
{
  walk (self, -1);
}

static const struct
{
  guint key; /* of a lower-case letter */
  void (*run) (StudioPresentation *self);
} keys[] = {
  { GDK_KEY_space, step },
  { GDK_KEY_Right, walk_right },
  { GDK_KEY_Left, walk_left },
  { GDK_KEY_Page_Down, studio_presentation_next_view },
  { GDK_KEY_Page_Up, studio_presentation_previous_view },
  { GDK_KEY_KP_Page_Down, studio_presentation_next_view },
  { GDK_KEY_KP_Page_Up, studio_presentation_previous_view },
  { GDK_KEY_l, studio_presentation_ask_learning_rate },
  { GDK_KEY_s, studio_presentation_toggle_spotlight },
  { GDK_KEY_p, studio_presentation_toggle_pen },
  { GDK_KEY_e, studio_presentation_toggle_eraser },
  { GDK_KEY_c, studio_presentation_clear_drawing },
};

static gboolean
is_typing (StudioPresentation *self)
{
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self->part.canvas)));
  return focus != NULL && (GTK_IS_EDITABLE (focus) || GTK_IS_TEXT_VIEW (focus));
}

static gboolean
escape (StudioPresentation *self)
{
  if (!studio_rate_card_is_open (self->part.rate))
    return drop_pen (self);
  close_rate (self);
  return TRUE;
}

gboolean
studio_presentation_key (StudioPresentation *self, guint key, GdkModifierType state)
{
  const guint lower = gdk_keyval_to_lower (key);
  if ((state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return FALSE;
  if (key == GDK_KEY_Escape)
    return escape (self);
  if (is_typing (self))
    return FALSE;
  /* Shift with an arrow key extends a selection. */
  if ((key == GDK_KEY_Right || key == GDK_KEY_Left) && (state & GDK_SHIFT_MASK) != 0)
    return FALSE;
  if (key >= GDK_KEY_1 && key <= GDK_KEY_4)
    {
      select_colour (self, key - GDK_KEY_1);
      return TRUE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (lower == keys[i].key)
      {
        keys[i].run (self);
        return TRUE;
      }
  return FALSE;
}

/* ---- object --------------------------------------------------------------------------------- */

gboolean
studio_presentation_is_on (StudioPresentation *self)
{
  return self->on;
}

void
studio_presentation_set_on (StudioPresentation *self, gboolean on)
{
  self->on = on;
  if (!on)
    gtk_widget_set_visible (GTK_WIDGET (self->part.rate), FALSE);
  studio_canvas_set_presentation (self->part.canvas, on);
  g_signal_emit (self, signals[CHANGED], 0);
  studio_key_card_set_presenting (self->part.keys, on);
  show_keys (self);
  studio_caption_set_shown (self->part.caption, on);
  show_caption (self);
  fill_notes (self);
  if (on)
    begin_views (self);
  else
    end_views (self);
}

static void
presentation_dispose (GObject *object)
{
  StudioPresentation *self = STUDIO_PRESENTATION (object);
  g_clear_object (&self->part.slides);
  g_clear_object (&self->part.run);
  g_clear_object (&self->part.document);
  G_OBJECT_CLASS (studio_presentation_parent_class)->dispose (object);
}

static void
studio_presentation_class_init (StudioPresentationClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = presentation_dispose;
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (((const char *const[]){ "changed", "step", "learning-rate" })[i],
                               STUDIO_TYPE_PRESENTATION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

StudioPresentation *
studio_presentation_new (const StudioPresentationParts *parts)
{
  StudioPresentation *self = g_object_new (STUDIO_TYPE_PRESENTATION, NULL);
  self->part = *parts;
  g_object_ref (parts->document);
  g_object_ref (parts->run);
  g_object_ref (parts->slides);
  g_signal_connect_object (parts->document, "selection-changed", G_CALLBACK (show_caption), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (parts->run, "state-changed", G_CALLBACK (show_keys), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (parts->slides, "changed", G_CALLBACK (slides_changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (parts->slides, "current-changed", G_CALLBACK (show_current), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (parts->layer, "changed", G_CALLBACK (show_keys), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (parts->rate, "entered", G_CALLBACK (rate_entered_cb), self, 0);
  g_signal_connect_object (parts->caption, "follow", G_CALLBACK (studio_canvas_focus_path), parts->canvas,
                           G_CONNECT_SWAPPED);
  return self;
}
