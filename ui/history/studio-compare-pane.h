/* The pane that lists the differences between a document and another graph; activating one shows it on the canvas. */
#pragma once

#include <adwaita.h>

#include "ui/document/studio-comparison.h"

#define STUDIO_TYPE_COMPARE_PANE (studio_compare_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioComparePane, studio_compare_pane, STUDIO, COMPARE_PANE, AdwBin)

/* Signals: "follow"(const LoomDifference *) when a line is activated, "close". action and label make a button that
 * opens the other graph, or are NULL. */
StudioComparePane *studio_compare_pane_new (StudioComparison *comparison, const char *action, const char *label);
void studio_compare_pane_focus (StudioComparePane *self);
