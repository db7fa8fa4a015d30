/* Text of parameters for the inspector. Plain C, tested without a display. */
#pragma once

#include "engine/loom.h"
#include "ui/document/studio-param-check.h"

/* "out_features" → "Out features". */
char *studio_param_title (const char *name);
/* For display: "61,706", "1.2 M". */
char *studio_count_text (double n);
typedef enum
{
  STUDIO_DRAG_PLAIN,
  STUDIO_DRAG_FINE,  /* a third of the speed */
  STUDIO_DRAG_COARSE /* ten times the speed */
} StudioDragSpeed;

/* The number after a drag of dx pixels; NULL if the text is no number or the parameter is not numeric (transfer full).
 */
char *studio_number_dragged (const LoomParamSpec *spec, const char *text, double dx, StudioDragSpeed speed);
