/* The card below the canvas on the projector: single keys and their effects, and which view of a lecture is shown. */
#pragma once

#include <adwaita.h>

#include "ui/run/studio-run.h"

#define STUDIO_TYPE_KEY_CARD (studio_key_card_get_type ())
G_DECLARE_FINAL_TYPE (StudioKeyCard, studio_key_card, STUDIO, KEY_CARD, AdwBin)

/* Property "progress": "2 / 7", or "". */

/* The keys while there is no tool of the pen in use. */
void studio_key_card_show_keys (StudioKeyCard *self, StudioRunState state, gboolean has_views);
void studio_key_card_show_pen_keys (StudioKeyCard *self);
/* The card is visible in a presentation, unless the text is large and the window low: then the graph needs the height.
 */
void studio_key_card_set_presenting (StudioKeyCard *self, gboolean presenting);
