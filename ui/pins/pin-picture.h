/* The pins of a canvas in a picture of it, under their cards. */
#pragma once

#include "ui/drawing/studio-picture.h"
#include "ui/pins/studio-pin.h"

/* The number of pins that have a value. */
guint pin_picture_count (StudioPins *pins);
/* Reserves their places in a scene of the document, and sets draw_more and data: the values as they are now, which any
 * thread can draw. *free_data frees them. */
void pin_picture_add (StudioPins *pins, StudioDocument *document, StudioScene *scene, StudioPictureOptions *options,
                      GDestroyNotify *free_data);
