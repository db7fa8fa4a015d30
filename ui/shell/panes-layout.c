/* Implements panes-layout.h: the size class of a window, and the rectangles of panes, drawers and content. */
#include "ui/shell/panes-layout.h"

#include <math.h>

/* The width next to an open drawer, where a click closes it. */
#define FREE_EMS 3
/* The width of the content between the panes, as long as these can shrink. */
#define CONTENT_EMS 20

/* Narrower windows are in the next smaller size class. */
#define NARROW_EMS 64
#define TINY_EMS   40

StudioSizeClass
panes_size_class (int width, double em)
{
  return width >= NARROW_EMS * em ? STUDIO_SIZE_CLASS_WIDE
         : width >= TINY_EMS * em ? STUDIO_SIZE_CLASS_NARROW
                                  : STUDIO_SIZE_CLASS_TINY;
}

/* Shrinks both panes as far as their minimum allows. */
static void
shrink (int width[N_PANES], const int least[N_PANES], int too_much)
{
  int slack[N_PANES], all = 0;
  for (int i = 0; i < N_PANES; i++)
    all += slack[i] = MAX (width[i] - least[i], 0);
  if (too_much <= 0 || all == 0)
    return;
  too_much = MIN (too_much, all);
  for (int i = 0; i < N_PANES; i++)
    width[i] -= (int)ceil ((double)too_much * slack[i] / all);
  for (int i = 0; i < N_PANES; i++)
    width[i] = MAX (width[i], slack[i] > 0 ? least[i] : width[i]);
}

static void
place_drawers (PanesPlaces *places, const PanesRequest *request, int width, double em)
{
  places->content = (PanesSpan){ 0, width };
  for (int i = 0; i < N_PANES; i++)
    {
      int w = MIN (request->natural[i], (int)(width - FREE_EMS * em));
      w = MAX (w, request->least[i]);
      int seen = (int)round (w * request->shown[i]);
      places->pane[i] = (PanesSpan){ i == STUDIO_PANE_START ? seen - w : width - seen, w };
      if (w > 0)
        places->scrim = MAX (places->scrim, request->shown[i]);
    }
}

static void
place_docked (PanesPlaces *places, const PanesRequest *request, int width, double em)
{
  int w[N_PANES] = { request->natural[STUDIO_PANE_START], request->natural[STUDIO_PANE_END] }, seen[N_PANES];
  shrink (w, request->least, w[STUDIO_PANE_START] + w[STUDIO_PANE_END] + (int)(CONTENT_EMS * em) - width);
  for (int i = 0; i < N_PANES; i++)
    seen[i] = (int)round (w[i] * request->shown[i]);
  places->pane[STUDIO_PANE_START] = (PanesSpan){ seen[STUDIO_PANE_START] - w[STUDIO_PANE_START], w[STUDIO_PANE_START] };
  places->pane[STUDIO_PANE_END] = (PanesSpan){ width - seen[STUDIO_PANE_END], w[STUDIO_PANE_END] };
  places->content
      = (PanesSpan){ seen[STUDIO_PANE_START], MAX (width - seen[STUDIO_PANE_START] - seen[STUDIO_PANE_END], 0) };
}

void
panes_place (PanesPlaces *places, const PanesRequest *request, int width, double em)
{
  *places = (PanesPlaces){ .narrow = panes_size_class (width, em) != STUDIO_SIZE_CLASS_WIDE };
  if (places->narrow)
    place_drawers (places, request, width, em);
  else
    place_docked (places, request, width, em);
}
