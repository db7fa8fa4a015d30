/* The widget that shows one large number: a loss, an accuracy, or a pinned scalar. */
#pragma once

#include <gtk/gtk.h>

#define STUDIO_TYPE_SCALAR_PIN (studio_scalar_pin_get_type ())
G_DECLARE_FINAL_TYPE (StudioScalarPin, studio_scalar_pin, STUDIO, SCALAR_PIN, GtkWidget)

/* caption: small text above the number, such as "loss". */
StudioScalarPin *studio_scalar_pin_new (const char *caption);
/* figure: formatted text, NULL for "–". detail: small text after it ("of 4,690"), or NULL. */
void studio_scalar_pin_set (StudioScalarPin *self, const char *figure, const char *detail);
/* Sets the minimum width of the number in characters. */
void studio_scalar_pin_set_width (StudioScalarPin *self, int characters);
void studio_scalar_pin_set_caption (StudioScalarPin *self, const char *caption);
