/* The context in which a card or an annotation draws and describes itself: pictures, marks, ports, zoom and values. The
 * widgets only read it; their parent owns it. */
#pragma once

#include "ui/canvas/canvas-marks.h"
#include "ui/canvas/canvas-pictures.h"
#include "ui/canvas/canvas-ports.h"
#include "ui/canvas/canvas-view.h"
#include "ui/canvas/card-values.h"
#include "ui/scene/studio-measure.h"

/* The target under the pointer, in no gesture. */
typedef struct
{
  double x, y;      /* the pointer, in pixels; -1: it is elsewhere */
  guint item, link; /* STUDIO_NO_ITEM: none */
} CanvasHover;

typedef struct
{
  StudioDocument *document; /* its scene has the items */
  CanvasPictures *pictures;
  const CanvasView *view;
  const CardValues *values;
  const CanvasMarks *marks;
  const CanvasPorts *ports;
  const StudioGesture *gesture;
  const CanvasHover *hover;
  StudioMeasure measure; /* of the costs on cards */
  gboolean shows_health; /* on cards instead of costs */
} CardContext;
