/* The page of the end pane with the graph as a file for PyTorch, opened and closed by a command. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_PYTORCH_TAB (studio_pytorch_tab_get_type ())
G_DECLARE_FINAL_TYPE (StudioPytorchTab, studio_pytorch_tab, STUDIO, PYTORCH_TAB, GObject)

StudioPytorchTab *studio_pytorch_tab_new (StudioDocument *document, StudioCanvas *canvas, StudioPanes *panes);
/* Shows the page, or removes it if it is visible and focuses the canvas. */
void studio_pytorch_tab_toggle (StudioPytorchTab *self);
