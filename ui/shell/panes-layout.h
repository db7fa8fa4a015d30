/* Computes the rectangles of the two side panes and of the content between them. Arithmetic without widgets, so that it
 * is tested without a display.
 *
 * In a wide window the panes are next to the content; in a narrow one they are drawers over it. Positions are counted
 * from the start side; callers mirror them for right-to-left locales. */
#pragma once

#include <glib.h>

typedef enum
{
  STUDIO_PANE_START, /* the left one in left-to-right locales */
  STUDIO_PANE_END
} StudioPaneSide;
#define N_PANES 2

/* The size class of a window. Widths are measured in em, so a wide window with large text is narrow. */
typedef enum
{
  STUDIO_SIZE_CLASS_WIDE,
  STUDIO_SIZE_CLASS_NARROW, /* panes are drawers; the header keeps frequent actions */
  STUDIO_SIZE_CLASS_TINY    /* the header keeps only the essential actions */
} StudioSizeClass;

typedef struct
{
  int at, width;
} PanesSpan;

typedef struct
{
  gboolean narrow;
  PanesSpan content, pane[N_PANES];
  double scrim; /* opacity of the shade under a drawer: 0 to 1 */
} PanesPlaces;

typedef struct
{
  int least[N_PANES], natural[N_PANES]; /* widths; 0: no such pane */
  double shown[N_PANES];                /* 0: folded, 1: unfolded, in between: animating */
} PanesRequest;

StudioSizeClass panes_size_class (int width, double em);
void panes_place (PanesPlaces *places, const PanesRequest *request, int width, double em);
