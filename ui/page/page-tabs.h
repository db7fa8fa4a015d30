/* Pages of the end pane that a command opens and closes: the history, the graph in PyTorch, the steps of the plan, and
 * the gradient check. */
#pragma once

#include "ui/page/studio-comparing.h"
#include "ui/page/studio-exporter.h"

typedef struct _PageTabKind PageTabKind;
extern const PageTabKind page_tab_history, page_tab_pytorch, page_tab_steps, page_tab_gradients;

/* One page, and what the four are made with, not owned. */
typedef struct
{
  const PageTabKind *kind;
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioRun *run;
  StudioPanes *panes;
  StudioComparing *comparing;     /* compares the graph with an entry of the history */
  const StudioExporter *exporter; /* writes the memory along a step */
  GtkWidget *pane;                /* NULL: it is not there */
} PageTab;

/* Shows the page, or removes it if it is visible and focuses the canvas. */
void page_tab_toggle (PageTab *self);
/* Shows the page of gradients and checks those of the selected layers, or of all. */
void page_tab_check_gradients (PageTab *self);
/* Writes the memory along a step: "svg", "png" or "csv". */
void page_tab_export_memory (PageTab *self, const char *suffix);
