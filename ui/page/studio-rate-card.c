/* Implements studio-rate-card.h. */
#include "ui/page/studio-rate-card.h"

#include <math.h>

#include "ui/charts/studio-template.h"

struct _StudioRateCard
{
  GtkBox parent_instance;
  GtkWidget *entry;
  GtkWidget *previous_focus; /* weak */
};

G_DEFINE_FINAL_TYPE (StudioRateCard, studio_rate_card, GTK_TYPE_BOX)

static guint entered_signal;

static void
activate_cb (GtkEntry *entry, StudioRateCard *self)
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
  g_signal_emit (self, entered_signal, 0, value);
}

void
studio_rate_card_open (StudioRateCard *self, double rate)
{
  g_autofree char *text = isnan (rate) ? g_strdup ("") : g_strdup_printf ("%g", rate);
  g_set_weak_pointer (&self->previous_focus, gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self))));
  gtk_editable_set_text (GTK_EDITABLE (self->entry), text);
  gtk_widget_set_visible (GTK_WIDGET (self), TRUE);
  gtk_widget_grab_focus (self->entry);
  gtk_editable_select_region (GTK_EDITABLE (self->entry), 0, -1);
}

void
studio_rate_card_close (StudioRateCard *self, GtkWidget *otherwise)
{
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  gtk_widget_grab_focus (self->previous_focus != NULL ? self->previous_focus : otherwise);
  g_clear_weak_pointer (&self->previous_focus);
}

gboolean
studio_rate_card_is_open (StudioRateCard *self)
{
  return gtk_widget_get_visible (GTK_WIDGET (self));
}

static void
rate_card_dispose (GObject *object)
{
  g_clear_weak_pointer (&STUDIO_RATE_CARD (object)->previous_focus);
  G_OBJECT_CLASS (studio_rate_card_parent_class)->dispose (object);
}

static void
studio_rate_card_class_init (StudioRateCardClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = rate_card_dispose;
  entered_signal = studio_signal_new ("entered", STUDIO_TYPE_RATE_CARD, 1, G_TYPE_DOUBLE);
  STUDIO_TEMPLATE (klass, "studio-rate-card.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioRateCard, entry);
  STUDIO_TEMPLATE_CALLBACKS (klass, activate_cb);
}

static void
studio_rate_card_init (StudioRateCard *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}
