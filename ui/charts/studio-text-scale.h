/* The user's text size as a factor, so that drawings scale like labels. */
#pragma once

#include <gtk/gtk.h>

/* 1 for a font of 10 pt at 96 dpi, which sizes in drawings assume. */
double studio_text_scale (GtkWidget *widget);
/* An additional factor for presentations; smaller if the user's text is already large. */
double studio_presentation_scale (GtkWidget *widget);

/* Sets the default size of a dialog, scaled with the text and limited to the size of the parent. */
void studio_text_scale_window (GtkWindow *window, GtkWindow *parent, int width, int height);
