/* Actions for how the canvas shows the graph: its wires, their shapes and types, costs on cards, and the minimap. Their
 * states are stored in the settings. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/canvas/studio-minimap.h"

/* The map must not live longer than canvas and minimap. */
void view_actions_install (GActionMap *map, StudioCanvas *canvas, StudioMinimap *minimap);
