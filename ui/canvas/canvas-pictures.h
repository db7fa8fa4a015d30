/* A cache for drawing cards, frames and wires: colours, icons, pictures of card frames and laid-out text.
 *
 * Each is made on first use in the style of one widget and kept until that style, the zoom or the icon theme changes.
 */
#pragma once

#include <gtk/gtk.h>

#include "ui/drawing/studio-theme.h"

typedef struct _CanvasPictures CanvasPictures;

/* widget: the source of style, fonts and scale factor; it must outlive the pictures. */
CanvasPictures *canvas_pictures_new (GtkWidget *widget);
void canvas_pictures_free (CanvasPictures *self);

const StudioTheme *canvas_pictures_theme (CanvasPictures *self);
/* The symbolic icon of this name, 16 pixels; NULL if the icon theme has none. */
GdkPaintable *canvas_pictures_icon (CanvasPictures *self, const char *name);
/* A layout in the widget's font for one drawing: the caller sets its text. */
PangoLayout *canvas_pictures_far_text (CanvasPictures *self);
/* The layouts of shape labels, text → PangoLayout; drawing adds to them. */
GHashTable *canvas_pictures_shape_labels (CanvasPictures *self);
/* The picture of a card's frame with this key; NULL: it has to be drawn. */
cairo_surface_t *canvas_pictures_get_frame (CanvasPictures *self, const char *key);
void canvas_pictures_put_frame (CanvasPictures *self, const char *key, cairo_surface_t *frame); /* transfer full */

/* After a change of the style; text: also of the font. */
void canvas_pictures_forget_style (CanvasPictures *self, gboolean text);
/* After a change of the zoom. */
void canvas_pictures_forget_frames (CanvasPictures *self);
/* After a change of the icon theme. */
void canvas_pictures_forget_icons (CanvasPictures *self);
