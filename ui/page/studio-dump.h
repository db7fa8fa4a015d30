/* Prints the positions of widgets to standard error, for tests/e2e. */
#pragma once

#include <gtk/gtk.h>

/* Appends to what the next studio_dump_end () prints: thousands of small writes would take longer than the frame. */
void studio_dump_print (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Ends with the line "geometry end", and prints all. */
void studio_dump_end (void);
/* "geometry WHAT\tNAME\tX\tY\tWIDTH\tHEIGHT": a rectangle of a widget, in pixels of its window's surface, also if
 * it is in a popover. */
void studio_dump_rect (const char *what, const char *name, GtkWidget *from, const graphene_rect_t *rect);
/* Prints every visible widget of a window that has text, and the one that has the focus as "focus", by its type. */
void studio_dump_widgets (GtkNative *window);
/* SIGUSR2 prints the geometry of the application's active window, then "geometry end". Unlike a key, a signal also
 * works while a menu or a dialog has the keyboard, and adds no modifiers to a drag. The output shows the state after
 * all input that the X server sent before the signal, and after the next frame. */
void studio_dump_on_signal (GtkApplication *application);
