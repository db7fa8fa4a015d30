/* Values for tests of pins, and images that pins draw onto. */
#pragma once

#include "ui/pins/studio-pin-kind.h"

#define PIN_SAMPLE_MAX 20000

/* A value with numbers on both sides of zero, at most PIN_SAMPLE_MAX. (transfer full) */
PinValue *pin_sample_new (gint64 step, gsize rank, const gint64 *dims);

/* An image, and the drawing of a value onto it. */
typedef struct
{
  cairo_surface_t *surface;
  PinDrawing drawing;
} PinImage;

/* The picture has this margin. */
void pin_image_init (PinImage *self, PinValue *value, const PinHistory *history, int width, int height, int margin);
void pin_image_clear (PinImage *self);
/* Draws a value and returns the pixels, row by row. */
const guint32 *pin_image_draw (PinImage *self, const StudioPinKind *kind);
