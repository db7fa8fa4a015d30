/* The map from 0…1 to a colour: lightness rises evenly, so that it also reads in grey and for the colour blind. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* 0xffRRGGBB, as a Cairo image surface holds it; t is clamped, NaN gives the colour of "not a number". */
guint32 studio_colormap (double t);

G_END_DECLS
