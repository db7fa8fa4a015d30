/* The model of the document's slides, with the current one; every change is one undo step. */
#pragma once

#include "ui/document/studio-document.h"

#define STUDIO_TYPE_SLIDES (studio_slides_get_type ())
G_DECLARE_FINAL_TYPE (StudioSlides, studio_slides, STUDIO, SLIDES, GObject)

/* Signals: "changed": a slide was added, removed, moved or edited; "current-changed": another slide is current, or the
 * current one was edited. */
StudioSlides *studio_slides_new (StudioDocument *document);

guint studio_slides_n (StudioSlides *self);
const LoomSlide *studio_slides_get (StudioSlides *self, guint i); /* until the next "changed" */
/* "The map", or "View 3" for a slide without a title (transfer full). */
char *studio_slides_dup_title (StudioSlides *self, guint i);
/* -1: none. */
int studio_slides_get_current (StudioSlides *self);
const LoomSlide *studio_slides_get_current_slide (StudioSlides *self); /* NULL: none */
void studio_slides_set_current (StudioSlides *self, int i);

/* Adds a copy of this slide (its serial is ignored) after the current one and shows it. */
void studio_slides_add (StudioSlides *self, const LoomSlide *slide);
void studio_slides_remove (StudioSlides *self, guint i);
/* Moves slide i to position to. */
void studio_slides_move (StudioSlides *self, guint i, guint to);
/* Ends the undo step that merges changes of one attribute; call when an entry gets the focus. */
void studio_slides_begin_visit (StudioSlides *self);
/* An attribute of <slide>, or its note; NULL or "" removes it, except an empty list of pins. */
void studio_slides_set (StudioSlides *self, guint i, const char *attribute, const char *value);
void studio_slides_set_text (StudioSlides *self, guint i, const char *text);
/* Sets the slide's scope and region from part. */
void studio_slides_set_part (StudioSlides *self, guint i, const LoomSlide *part);
