/* The pane with the graph as a Python file for PyTorch, a row for each line. The lines of selected nodes are marked;
 * activating a line, by a click or Enter, selects its node. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"

#define STUDIO_TYPE_PYTORCH_PANE (studio_pytorch_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioPytorchPane, studio_pytorch_pane, STUDIO, PYTORCH_PANE, GtkBox)

StudioPytorchPane *studio_pytorch_pane_new (StudioDocument *document);
void studio_pytorch_pane_focus (StudioPytorchPane *self);

/* For tests. The number of lines, 0 if the graph cannot be written; whether a line
 * is marked; and what activating it does. */
guint studio_pytorch_pane_n_lines (StudioPytorchPane *self);
gboolean studio_pytorch_pane_is_marked (StudioPytorchPane *self, guint line);
void studio_pytorch_pane_activate (StudioPytorchPane *self, guint line);
/* The first line that contains this text; G_MAXUINT: none. */
guint studio_pytorch_pane_find (StudioPytorchPane *self, const char *text);
