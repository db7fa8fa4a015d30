/* Prints where things of a window are, as lines on standard error, for tests. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* "geometry WHAT\tNAME\tX\tY\tWIDTH\tHEIGHT": a rectangle of a widget, in pixels of its window's surface. */
void studio_dump_rect (const char *what, const char *name, GtkWidget *from, const graphene_rect_t *rect);
/* All widgets with words that are seen in a window. */
void studio_dump_widgets (GtkNative *window);
/* The same by the keys by which the main window does it. */
void studio_dump_on_keys (GtkWidget *window);

G_END_DECLS
