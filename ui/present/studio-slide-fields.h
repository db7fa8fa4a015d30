/* The widget that edits the current view of a presentation: title, note, highlighted nodes, pins. */
#pragma once

#include <adwaita.h>

#include "ui/present/studio-slides.h"

#define STUDIO_TYPE_SLIDE_FIELDS (studio_slide_fields_get_type ())
G_DECLARE_FINAL_TYPE (StudioSlideFields, studio_slide_fields, STUDIO, SLIDE_FIELDS, AdwBin)

StudioSlideFields *studio_slide_fields_new (StudioDocument *document, StudioSlides *slides);
void studio_slide_fields_focus_title (StudioSlideFields *self);
