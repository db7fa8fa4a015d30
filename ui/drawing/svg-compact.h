/* Makes the SVG that Cairo writes small. */
#pragma once

#include <glib.h>

/* Writes what repeats in the drawing once, and coordinates with two decimals: the same picture in a tenth of the bytes.
 * svg itself if it is not as Cairo writes it. (transfer full) */
GBytes *studio_svg_compact (GBytes *svg);
