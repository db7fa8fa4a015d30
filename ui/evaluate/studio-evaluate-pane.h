/* The page Evaluate of the side pane: a choice of views over one evaluation, with its split, button and status. */
#pragma once

#include <gtk/gtk.h>

#include "ui/evaluate/studio-evaluation.h"

#define STUDIO_TYPE_EVALUATE_PANE (studio_evaluate_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioEvaluatePane, studio_evaluate_pane, STUDIO, EVALUATE_PANE, GtkBox)

GtkWidget *studio_evaluate_pane_new (StudioEvaluation *model);
void studio_evaluate_pane_focus (StudioEvaluatePane *self);
/* Shows a view by its name: "confusion", "mistakes", "classes", "calibration", "values", "own", "generate", "data". */
void studio_evaluate_pane_show (StudioEvaluatePane *self, const char *view);
/* A line for tests: the view, the number of evaluated samples and of records, the samples of the cell, the own input's
 * answer and the length of the generated text. (transfer full) */
char *studio_evaluate_pane_dump (StudioEvaluatePane *self);
