/* The page Evaluate of the end pane, by command: what the net gets wrong, own inputs, generated texts, and samples. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/evaluate/studio-evaluation.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_EVALUATE_TAB (studio_evaluate_tab_get_type ())
G_DECLARE_FINAL_TYPE (StudioEvaluateTab, studio_evaluate_tab, STUDIO, EVALUATE_TAB, GObject)

StudioEvaluateTab *
studio_evaluate_tab_new (StudioDocument *document, StudioRun *run, StudioCanvas *canvas, StudioPanes *panes);
/* Shows the page, or removes it if it is visible and focuses the canvas. */
void studio_evaluate_tab_toggle (StudioEvaluateTab *self);
/* Show one of its views. */
void studio_evaluate_tab_show_own (StudioEvaluateTab *self);
void studio_evaluate_tab_show_generate (StudioEvaluateTab *self);
void studio_evaluate_tab_show_data (StudioEvaluateTab *self);
/* For tests; NULL: there is no page. (transfer full) */
char *studio_evaluate_tab_dump (StudioEvaluateTab *self);
