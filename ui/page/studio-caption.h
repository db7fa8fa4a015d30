/* The card above the canvas on the projector: a caption of the selected layer or the title of a view, and the notes of
 * the view. Its height only grows, so that the graph does not move during a walk. */
#pragma once

#include <adwaita.h>

#include "ui/present/studio-slides.h"

#define STUDIO_TYPE_CAPTION (studio_caption_get_type ())
G_DECLARE_FINAL_TYPE (StudioCaption, studio_caption, STUDIO, CAPTION, AdwBin)

/* Signal "follow" (const char *path): a link to a node in a note was activated. */

/* Shows or hides the card, and forgets its height. */
void studio_caption_set_shown (StudioCaption *self, gboolean shown);
void studio_caption_set_title (StudioCaption *self, const char *title);
void studio_caption_set_markup (StudioCaption *self, const char *markup);
/* The notes of these views; NULL: none. */
void studio_caption_set_notes (StudioCaption *self, StudioSlides *slides);
void studio_caption_show_note (StudioCaption *self, int view);
/* Gives the notes the height that they need in their width, up to a share of this height. */
void studio_caption_fit_notes (StudioCaption *self, int height);
