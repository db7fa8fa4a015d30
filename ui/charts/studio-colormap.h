/* A perceptual colour map from 0…1. Lightness rises linearly, so that it is readable in grey and by colour-blind users.
 */
#pragma once

#include <glib.h>

/* Returns 0xffRRGGBB, as in a Cairo image surface. t is clamped; NaN has a colour of its own. */
guint32 studio_colormap (double t);
/* For values of both signs, from -1…1: white at 0, blue below, orange above. */
guint32 studio_colormap_signed (double t);
