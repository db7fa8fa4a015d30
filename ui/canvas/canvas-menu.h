/* Context menus of cards, ports, wires, frames and the canvas: on the secondary button, the Menu key and Shift+F10. */
#pragma once

#include "ui/canvas/canvas-board.h"

/* Installs "menu.open", which opens the menu of what has the focus, and the actions of entries that depend on the
 * position of the press. */
void canvas_menu_install (GtkWidgetClass *klass);
/* Adds the menu to the board's widget, of such a class. */
void canvas_menu_add (CanvasBoard *board);
