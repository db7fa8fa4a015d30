/* Commands that add, move and remove the waypoints of wires, for pointer and keys. */
#pragma once

#include "ui/canvas/canvas-board.h"

/* Adds one at a point in canvas units; keys act on it then. */
void waypoints_add (CanvasBoard *board, guint64 wire, double x, double y);
/* Adds one in the middle of the selected wire, else of the first that leaves the card which keys act on. */
void waypoints_add_in_middle (CanvasBoard *board);
/* These act on the waypoint that keys act on; FALSE: there is none. */
gboolean waypoints_remove (CanvasBoard *board);
gboolean waypoints_move (CanvasBoard *board, double dx, double dy);
