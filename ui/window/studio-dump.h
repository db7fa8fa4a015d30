/* Prints where things of a window are, as lines on standard error, for tests. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* "geometry WHAT\tNAME\tX\tY\tWIDTH\tHEIGHT": a rectangle of a widget, in pixels of its window's surface, also if
 * it is in a popover. */
void studio_dump_rect (const char *what, const char *name, GtkWidget *from, const graphene_rect_t *rect);
/* All widgets with words that are seen in a window. */
void studio_dump_widgets (GtkNative *window);
/* SIGUSR2 prints the geometry of the application's active window, then "geometry end". Unlike a key, a signal is
 * answered while a menu or a dialog has the keyboard, and adds no modifiers to a drag. The answer shows the state after
 * all input that the X server sent before the signal, and after the frame that this input led to. */
void studio_dump_on_signal (GtkApplication *application);

G_END_DECLS
