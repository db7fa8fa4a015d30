/* The field for the learning rate over the canvas on the projector. */
#pragma once

#include <gtk/gtk.h>

#define STUDIO_TYPE_RATE_CARD (studio_rate_card_get_type ())
G_DECLARE_FINAL_TYPE (StudioRateCard, studio_rate_card, STUDIO, RATE_CARD, GtkBox)

/* Signal "entered" (double): a positive number was entered; a handler closes the card. */

/* Opens the card with this learning rate, or empty for NAN, and focuses its field. */
void studio_rate_card_open (StudioRateCard *self, double rate);
/* Hides it, and focuses the widget that had the focus before, or this one. */
void studio_rate_card_close (StudioRateCard *self, GtkWidget *otherwise);
gboolean studio_rate_card_is_open (StudioRateCard *self);
