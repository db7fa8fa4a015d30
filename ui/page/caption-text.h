/* The caption of a layer on the projector: its equation with the names on the canvas, its shape, its formula. */
#pragma once

#include "ui/scene/studio-scene.h"

/* Pango markup (transfer full). item: its index in the scene. */
char *caption_text_new (const StudioScene *scene, guint item);
