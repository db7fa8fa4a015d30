/* The patterns of kinds of memory in bars and stacked pictures, which distinguish them without their colour. */
#pragma once

#include <cairo.h>
#include <glib.h>

/* The colour of memory. */
void studio_draw_owner_colour (cairo_t *cr, gboolean dark, double alpha);
/* Fills a part of the current clip. kind: a number, used cyclically. */
void studio_draw_owner_pattern (cairo_t *cr, gboolean dark, guint kind, double x, double y, double w, double h);
