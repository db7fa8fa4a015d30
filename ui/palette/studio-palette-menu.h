/* The context menu of the palette: right click, the Menu key and Shift+F10. */
#pragma once

#include <gtk/gtk.h>

#include "engine/loom.h"

/* The operator of a row; NULL: a module, or no layer. */
typedef const LoomOp *(*StudioPaletteOp) (GtkListBoxRow *row);

/* Adds the menu to the rows of list, a descendant of palette; its first item activates "palette.add" on the selected
 * row. */
void studio_palette_menu_setup (GtkWidget *palette, GtkWidget *list, StudioPaletteOp op_of);
