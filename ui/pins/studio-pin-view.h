/* The widget that shows the value of a pin by a kind: picture, caption, and the cell under the pointer or the cursor.
 */
#pragma once

#include <gtk/gtk.h>

#include "ui/pins/studio-pin-kind.h"

#define STUDIO_TYPE_PIN_VIEW (studio_pin_view_get_type ())
G_DECLARE_FINAL_TYPE (StudioPinView, studio_pin_view, STUDIO, PIN_VIEW, GtkWidget)

/* Signal "choose"(gint64 element): an element of the axis before the last two was clicked. */
StudioPinView *studio_pin_view_new (const StudioPinKind *kind);
/* Another kind forgets the value and the earlier steps. */
void studio_pin_view_set_kind (StudioPinView *self, const StudioPinKind *kind);
const StudioPinKind *studio_pin_view_get_kind (StudioPinView *self);
/* Shows a value (transfer full). */
void studio_pin_view_take (StudioPinView *self, PinValue *value);
/* Shows only the caption, because no value is known; why: a sentence, or NULL. */
void studio_pin_view_clear (StudioPinView *self, const char *title, const char *why);
/* Forgets earlier steps, because a run begins. */
void studio_pin_view_forget (StudioPinView *self);
const PinValue *studio_pin_view_get_value (StudioPinView *self); /* NULL: none */
/* The natural size, in pixels at zoom 1 without the caption; -1: as large as its place. */
void studio_pin_view_set_size (StudioPinView *self, int width, int height);
void studio_pin_view_set_text_scale (StudioPinView *self, double scale);
void studio_pin_view_set_colors (StudioPinView *self, PinScale scale);
/* "conv1 · channel 3 of 16 · sample 1 · step 840". */
const char *studio_pin_view_get_caption (StudioPinView *self);
/* Moves the cursor to a neighbouring cell, the first one at the beginning; FALSE: there is none. */
gboolean studio_pin_view_move_cursor (StudioPinView *self, int across, int down);
/* What is said of the marked cell; NULL: none is marked. */
const char *studio_pin_view_get_cell_words (StudioPinView *self);
/* The row-major index of the marked cell in the whole tensor; -1: none is marked, or it is not of one element. */
gint64 studio_pin_view_get_element (StudioPinView *self);
/* A number that is higher the later its cell was marked. */
guint studio_pin_view_get_marked (StudioPinView *self);
/* The picture at zoom 1 with its caption, recorded by Cairo for another drawing, and its size in pixels. (transfer
 * full)
 */
cairo_surface_t *studio_pin_view_record (StudioPinView *self, gboolean dark, double *width, double *height);
/* By extension: .svg, .pdf, .png, or .csv with the values. Errors: DATA without a value, USAGE, IO. */
gboolean studio_pin_view_export (StudioPinView *self, const char *path, GError **error);
