/* The context menu of the palette: on the secondary button, the Menu key and Shift+F10. */
#pragma once

#include <gtk/gtk.h>

#include "engine/loom.h"

G_BEGIN_DECLS

/* The operator of a row; NULL of a module, and of what is no layer. */
typedef const LoomOp *(*StudioPaletteOp) (GtkListBoxRow *row);

/* Opens it at the rows of list, which is inside palette; "palette.add" is what its first entry does with the selected
 * row. */
void studio_palette_menu_setup (GtkWidget *palette, GtkWidget *list, StudioPaletteOp op_of);

G_END_DECLS
