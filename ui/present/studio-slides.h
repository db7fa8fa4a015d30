/* The slides of the document, in order, with the one that is shown; every change of them is one step that can be
 * undone. */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_SLIDES (studio_slides_get_type ())
G_DECLARE_FINAL_TYPE (StudioSlides, studio_slides, STUDIO, SLIDES, GObject)

/* Signals: "changed" when a slide came, went, moved or says something else; "current-changed" when another is shown, or
 * the one that is shown has another content. */
StudioSlides *studio_slides_new (StudioDocument *document);

guint studio_slides_n (StudioSlides *self);
const LoomSlide *studio_slides_get (StudioSlides *self, guint i); /* until the next "changed" */
/* "The map", or "View 3" where it has no title (transfer full). */
char *studio_slides_dup_title (StudioSlides *self, guint i);
/* -1: none. */
int studio_slides_get_current (StudioSlides *self);
const LoomSlide *studio_slides_get_current_slide (StudioSlides *self); /* NULL: none */
void studio_slides_set_current (StudioSlides *self, int i);

/* Adds this slide (its serial does not count) behind the current one and shows it. */
void studio_slides_add (StudioSlides *self, const LoomSlide *slide);
void studio_slides_remove (StudioSlides *self, guint i);
/* Takes the slide to the place that another has now. */
void studio_slides_move (StudioSlides *self, guint i, guint to);
/* Changes of one attribute are one step until here: somebody comes to a field anew. */
void studio_slides_begin_visit (StudioSlides *self);
/* An attribute of <slide>, or its note; NULL or "" takes it away, but for an empty list of pins. */
void studio_slides_set (StudioSlides *self, guint i, const char *attribute, const char *value);
void studio_slides_set_text (StudioSlides *self, guint i, const char *text);
/* Another part of the canvas, in another scope perhaps. */
void studio_slides_set_part (StudioSlides *self, guint i, const LoomSlide *part);

G_END_DECLS
