/* Where the two side panes and what lies between them stand, as arithmetic without widgets.
 *
 * A wide window has its panes beside the content. In a narrow one they are drawers that lie over it. Places are counted
 * from the side where reading begins; whoever shows them from right to left mirrors them. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  STUDIO_PANE_START, /* the left one where one reads from left to right */
  STUDIO_PANE_END
} StudioPaneSide;
#define N_PANES 2

/* How much there is room for: measured in text, so that a wide window of large text is a narrow one. */
typedef enum
{
  STUDIO_ROOM_WIDE,
  STUDIO_ROOM_NARROW, /* panes are drawers, and the header has what one needs often */
  STUDIO_ROOM_TINY    /* the header has what one cannot do without */
} StudioRoom;

typedef struct
{
  int at, width;
} PanesSpan;

typedef struct
{
  gboolean narrow;
  PanesSpan content, pane[N_PANES];
  double scrim; /* how far what lies under a drawer is shaded: 0 to 1 */
} PanesPlaces;

typedef struct
{
  int least[N_PANES], natural[N_PANES]; /* widths; 0 where there is no such pane */
  double shown[N_PANES];                /* 0: folded, 1: there, between: on its way */
} PanesRequest;

StudioRoom panes_room (int width, double em);
void panes_place (PanesPlaces *places, const PanesRequest *request, int width, double em);

G_END_DECLS
