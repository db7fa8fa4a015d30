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

/* Below this many ems of text there is no room for panes beside the content. */
#define PANES_NARROW_EMS 60

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
} PanesWish;

gboolean panes_are_narrow (int width, double em);
void panes_place (PanesPlaces *places, const PanesWish *wish, int width, double em);

G_END_DECLS
