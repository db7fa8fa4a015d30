/* The learning rate, asked for over the canvas on the projector and in the run panel else. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/page/studio-page-private.h"

void
studio_page_close_learning_rate (StudioPage *self)
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
    studio_page_toast (self, _ ("Nothing is training. Set the learning rate in the training settings."));
  studio_page_close_learning_rate (self);
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

void
studio_page_setup_learning_rate (StudioPage *self)
{
  g_signal_connect (self->lr_card_entry, "activate", G_CALLBACK (lr_activate_cb), self);
}
