/* One number, large: a loss, an accuracy, a scalar that is watched. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_TYPE_SCALAR_PIN (studio_scalar_pin_get_type ())
G_DECLARE_FINAL_TYPE (StudioScalarPin, studio_scalar_pin, STUDIO, SCALAR_PIN, GtkWidget)

/* caption: "loss"; it stands small above the figure. */
StudioScalarPin *studio_scalar_pin_new (const char *caption);
/* figure: formatted text, NULL for "–". detail: what stands behind it in small ("of 4,690"), may be NULL. */
void studio_scalar_pin_set (StudioScalarPin *self, const char *figure, const char *detail);
/* The figure takes the room of at least so many characters. */
void studio_scalar_pin_set_width (StudioScalarPin *self, int characters);
void studio_scalar_pin_set_caption (StudioScalarPin *self, const char *caption);
const char *studio_scalar_pin_get_figure (StudioScalarPin *self);

G_END_DECLS
