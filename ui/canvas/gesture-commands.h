/* The effects of gestures: carries out what the state machine of canvas-gesture returns. */
#pragma once

#include "ui/canvas/canvas-board.h"

void gesture_commands_run (CanvasBoard *board, const StudioCommand *command);
