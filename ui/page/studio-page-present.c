/* The projector: panes gone, text larger, keys shown, and a few single keys that only count here. The window's own part
 * of it, the whole screen, is studio-window-present.c. */
#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/page/studio-page-private.h"

/* "<b>S</b> spotlight": a key and what it does now. */
static void
append_key (GString *text, const char *key, const char *does)
{
  g_string_append_printf (text, "%s<b>%s</b> %s", text->len > 0 ? "   " : "", key, does);
}

static void
append_pen_keys (GString *text)
{
  append_key (text, "1 – 4", _ ("colours"));
  append_key (text, "E", _ ("eraser"));
  append_key (text, "C", _ ("clear"));
  append_key (text, "Esc", _ ("put the pen away"));
}

static void
append_keys (StudioPage *self, GString *text)
{
  StudioRunState state = studio_run_get_state (self->run);
  gboolean running = state == STUDIO_RUN_RUNNING || state == STUDIO_RUN_STARTING;
  if (studio_slides_n (self->slides) > 0)
    append_key (text, "Page Down", _ ("next view"));
  append_key (text, "→", _ ("next"));
  append_key (text, "Space", running ? _ ("pause") : _ ("step"));
  append_key (text, "Ctrl Enter", running ? _ ("pause") : C_ ("verb", "train"));
  append_key (text, "L", _ ("learning rate"));
  append_key (text, "S", _ ("spotlight"));
  append_key (text, "P", _ ("pen"));
  append_key (text, "Esc", _ ("leave"));
}

void
studio_page_show_keys (StudioPage *self)
{
  g_autoptr (GString) text = g_string_new (NULL);
  if (studio_present_layer_get_tool (self->present_layer) != STUDIO_TOOL_NONE)
    append_pen_keys (text);
  else
    append_keys (self, text);
  gtk_label_set_markup (GTK_LABEL (self->key_label), text->str);
}

/* From here on the text is large enough for the back row as it is. */
#define LARGE_TEXT     1.5
#define CROWDED_PIXELS 500

/* Of the window: a page that becomes a tab just now has no height yet. */
static gboolean
is_crowded (StudioPage *self)
{
  GtkWindow *window = studio_page_get_window (self);
  return window != NULL
         && gtk_widget_get_height (GTK_WIDGET (window)) < CROWDED_PIXELS * studio_text_scale (GTK_WIDGET (window));
}

void
studio_page_show_key_card (StudioPage *self)
{
  gtk_widget_set_visible (self->key_card, self->presenting && !is_crowded (self));
}

void
studio_page_set_presenting (StudioPage *self, gboolean on)
{
  if (self->presenting == on)
    return;
  self->presenting = on;
  if (on)
    {
      if (studio_text_scale (GTK_WIDGET (self)) < LARGE_TEXT)
        gtk_widget_add_css_class (GTK_WIDGET (self), "presentation");
    }
  else
    {
      gtk_widget_remove_css_class (GTK_WIDGET (self), "presentation");
      gtk_widget_set_visible (self->lr_card, FALSE);
    }
  studio_canvas_set_presentation (self->canvas, on);
  studio_run_panel_set_presentation (self->run_panel, on);
  studio_pins_set_presentation (self->pins, on ? self->stage : NULL);
  studio_page_present_task (self, on);
  self->caption_room = 0;
  gtk_widget_set_size_request (self->caption_label, -1, -1);
  studio_page_show_key_card (self);
  studio_page_update_layout (self);
  studio_page_show_keys (self);
  studio_page_show_caption (self);
  studio_page_present_slides (self);
  studio_page_update_actions (self);
  studio_page_focus (self);
  studio_page_fit_soon (self);
}

/* ---- the walk ------------------------------------------------------------------------------------ */

/* Weights and constants are not computed: they are named where they are used. */
static gboolean
is_station (const StudioItem *item)
{
  for (guint i = 0; i < item->n_inputs; i++)
    if (item->input[i].link != STUDIO_NO_ITEM)
      return TRUE;
  return item->op == NULL || item->op->role == LOOM_ROLE_DATASET || item->op->role == LOOM_ROLE_INPUT
         || item->op->role == LOOM_ROLE_MODULE_INPUT;
}

static gboolean
comes_before (const StudioScene *scene, guint a, guint b)
{
  const StudioItem *p = &scene->item[a], *q = &scene->item[b];
  return p->order != q->order ? p->order < q->order : a < b;
}

/* The station after (by 1) or before (by -1) the item at; the first or the last where at is none. */
static guint
next_station (const StudioScene *scene, guint at, int by)
{
  guint best = STUDIO_NO_ITEM;
  for (guint i = 0; i < scene->n_items; i++)
    {
      if (i == at || !is_station (&scene->item[i]))
        continue;
      if (at != STUDIO_NO_ITEM && (by > 0 ? comes_before (scene, i, at) : comes_before (scene, at, i)))
        continue;
      if (best == STUDIO_NO_ITEM || (by > 0 ? comes_before (scene, i, best) : comes_before (scene, best, i)))
        best = i;
    }
  return best;
}

static void
walk (StudioPage *self, int by)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  gboolean one = studio_document_n_selected (self->document) == 1;
  guint at = one ? studio_scene_find (scene, studio_document_get_selected (self->document, 0)) : STUDIO_NO_ITEM;
  guint next = next_station (scene, at, by);
  if (next != STUDIO_NO_ITEM)
    studio_canvas_focus_path (self->canvas, scene->item[next].path);
}

/* ---- single keys --------------------------------------------------------------------------------- */

static gboolean
is_typing (StudioPage *self)
{
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self)));
  return focus != NULL && (GTK_IS_EDITABLE (focus) || GTK_IS_TEXT_VIEW (focus));
}

gboolean
studio_page_presenting_key (StudioPage *self, guint keyval, GdkModifierType state)
{
  if ((state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return FALSE;
  if (keyval == GDK_KEY_Escape && gtk_widget_get_visible (self->lr_card))
    studio_page_close_learning_rate (self);
  else if (keyval == GDK_KEY_Escape)
    return studio_page_put_pen_away (self);
  else if (is_typing (self))
    return FALSE;
  else if (keyval == GDK_KEY_space)
    studio_page_step (self);
  /* Data flow to the right, wherever one reads from. */
  else if ((keyval == GDK_KEY_Right || keyval == GDK_KEY_Left) && (state & GDK_SHIFT_MASK) == 0)
    walk (self, keyval == GDK_KEY_Right ? 1 : -1);
  else if (keyval == GDK_KEY_l || keyval == GDK_KEY_L)
    studio_page_ask_learning_rate (self);
  else
    return studio_page_slide_key (self, keyval);
  return TRUE;
}

void
studio_page_setup_presentation (StudioPage *self)
{
  studio_page_setup_learning_rate (self);
  g_signal_connect_swapped (self->document, "selection-changed", G_CALLBACK (studio_page_show_caption), self);
  g_signal_connect_swapped (self->run, "state-changed", G_CALLBACK (studio_page_show_keys), self);
}
