/* A view of several runs: those in the charts, or all if there is none. */
#pragma once

#include "ui/runs/studio-runs.h"

#include <gtk/gtk.h>

typedef struct
{
  const char *name, *title;
  /* The widget follows runs, a reference to which it keeps. */
  GtkWidget *(*make) (StudioRuns *runs);
} RunsView;

extern const RunsView runs_view_table, runs_view_multiples, runs_view_pareto;
