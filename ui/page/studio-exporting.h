/* The command Export: opens the dialog for the document, its canvas, pins and run. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/pins/studio-pin.h"
#include "ui/run/studio-run.h"

typedef struct
{
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioPins *pins;
  StudioRun *run;
  GtkWidget *toasts;
} StudioExporting;

/* It must outlive the dialog, which is modal for its window. */
void studio_exporting_open (StudioExporting *self);
