/* The outline: a list of all nodes (order, name, shape, fault), the alternative to the canvas for screen readers. */
#pragma once

#include <adwaita.h>

#include "ui/document/studio-document.h"

#define STUDIO_TYPE_OUTLINE (studio_outline_get_type ())
G_DECLARE_FINAL_TYPE (StudioOutline, studio_outline, STUDIO, OUTLINE, AdwBin)

/* Signal "activated"(const char *path): Enter or a double click on a row. Selecting a row selects the node in the
 * document. */
StudioOutline *studio_outline_new (StudioDocument *document);
void studio_outline_focus_search (StudioOutline *self); /* Ctrl+F */
