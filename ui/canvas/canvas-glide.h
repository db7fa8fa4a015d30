/* Animates cards to the positions that a command gave them, so that the eye can follow.
 *
 * The document has the new positions at once; only the scene, which is what is drawn, follows during a fifth of a
 * second. A gesture or a change of the graph ends the glide at once. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-scene.h"

typedef struct _CanvasGlide CanvasGlide;

typedef struct
{
  StudioScene *(*scene) (gpointer data); /* as it is now */
  void (*moved) (gpointer data);         /* its cards have other positions */
  gpointer data;
} CanvasGlideOwner;

/* widget: the one whose frames are counted; it must outlive the glide. */
CanvasGlide *canvas_glide_new (GtkWidget *widget, CanvasGlideOwner owner);
void canvas_glide_free (CanvasGlide *self);

/* The positions of the cards before a command (transfer full). */
GArray *canvas_glide_note (const CanvasGlide *self);
/* Lets the cards glide from there (transfer full) to where they are now, if animations are on. */
void canvas_glide_start (CanvasGlide *self, GArray *before);
/* The cards are where they belong, at once. */
void canvas_glide_finish (CanvasGlide *self);
/* The scene is another one: there is nothing to finish. */
void canvas_glide_drop (CanvasGlide *self);
