/* How large the user wants text: what is drawn grows with it as labels do. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* 1 where the desktop's font is 10 pt at 96 dots an inch, for which the sizes in drawings are made. */
double studio_text_scale (GtkWidget *widget);
/* How much larger still what is drawn is for a projector: text that the user has large already stays as it is. */
double studio_presentation_scale (GtkWidget *widget);

/* Gives a dialog this size for usual text, as much more for large text, and no more than the window has that it is for.
 */
void studio_text_scale_window (GtkWindow *window, GtkWindow *parent, int width, int height);

G_END_DECLS
