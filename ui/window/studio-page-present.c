/* The projector: panes gone, text larger, keys shown, and a few single keys that only count here. The window's own part
 * of it, the whole screen, is studio-window-present.c. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/window/studio-page-private.h"

#define HINTS                                                                                                          \
  N_ ("<b>→</b> next   <b>Space</b> %1$s   <b>Ctrl Enter</b> %2$s   <b>L</b> learning rate   <b>Esc</b> leave")

static void
show_keys (StudioPage *self)
{
  StudioRunState state = studio_run_get_state (self->run);
  gboolean running = state == STUDIO_RUN_RUNNING || state == STUDIO_RUN_STARTING;
  g_autofree char *text
      = g_strdup_printf (_ (HINTS), running ? _ ("pause") : _ ("step"), running ? _ ("pause") : C_ ("verb", "train"));
  gtk_label_set_markup (GTK_LABEL (self->key_label), text);
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
  self->caption_room = 0;
  gtk_widget_set_size_request (self->caption_label, -1, -1);
  /* Where the text is large and the screen low, the map needs the room. */
  gtk_widget_set_visible (self->key_card, on && !is_crowded (self));
  studio_page_update_layout (self);
  show_keys (self);
  studio_page_show_caption (self);
  studio_page_focus (self);
  studio_page_fit_soon (self);
}

/* ---- the learning rate ------------------------------------------------------------------------- */

static void
close_lr_card (StudioPage *self)
{
  gtk_widget_set_visible (self->lr_card, FALSE);
  gtk_widget_grab_focus (self->lr_return != NULL ? self->lr_return : GTK_WIDGET (self->canvas));
  g_clear_weak_pointer (&self->lr_return);
}

static void
lr_activate_cb (GtkEntry *entry, StudioPage *self)
{
  char *end;
  const char *text = gtk_editable_get_text (GTK_EDITABLE (entry));
  double value = g_ascii_strtod (text, &end);
  if (*text == '\0' || *end != '\0' || !isfinite (value) || value <= 0)
    {
      gtk_widget_add_css_class (GTK_WIDGET (entry), "error");
      return;
    }
  gtk_widget_remove_css_class (GTK_WIDGET (entry), "error");
  if (studio_run_is_live (self->run))
    studio_run_set_hyper (self->run, "lr", value);
  else
    studio_page_toast (self, _ ("Nothing trains now: the learning rate is in the training settings."));
  close_lr_card (self);
}

void
studio_page_ask_learning_rate (StudioPage *self)
{
  if (!self->presenting)
    {
      studio_page_show_panel (self);
      studio_run_panel_focus_learning_rate (self->run_panel);
      return;
    }
  g_set_weak_pointer (&self->lr_return, gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self))));
  double lr = studio_run_get_lr (self->run);
  g_autofree char *text = isnan (lr) ? g_strdup ("") : g_strdup_printf ("%g", lr);
  gtk_editable_set_text (GTK_EDITABLE (self->lr_card_entry), text);
  gtk_widget_set_visible (self->lr_card, TRUE);
  gtk_widget_grab_focus (self->lr_card_entry);
  gtk_editable_select_region (GTK_EDITABLE (self->lr_card_entry), 0, -1);
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
    close_lr_card (self);
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
    return FALSE;
  return TRUE;
}

void
studio_page_setup_presentation (StudioPage *self)
{
  g_signal_connect (self->lr_card_entry, "activate", G_CALLBACK (lr_activate_cb), self);
  g_signal_connect_swapped (self->document, "selection-changed", G_CALLBACK (studio_page_show_caption), self);
  g_signal_connect_swapped (self->run, "state-changed", G_CALLBACK (show_keys), self);
}
