/* Texts of parameters for the inspector: plain C, tested without a display. */
#pragma once

#include "engine/loom.h"
#include "ui/document/studio-param-check.h"

G_BEGIN_DECLS

/* "out_features" → "Out features". */
char *studio_param_title (const char *name);
/* "61,706", "1.2 M": for people. */
char *studio_count_text (double n);
typedef enum
{
  STUDIO_DRAG_PLAIN,
  STUDIO_DRAG_FINE,  /* a third as fast */
  STUDIO_DRAG_COARSE /* ten times as fast */
} StudioDragSpeed;

/* The number after a drag of dx pixels; NULL where the text is no number, or the parameter is of another kind (transfer
 * full). */
char *studio_number_dragged (const LoomParamSpec *spec, const char *text, double dx, StudioDragSpeed speed);

G_END_DECLS
