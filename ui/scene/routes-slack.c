/* Computes the space between cards in which a segment can shift, and its middle. */
#include "ui/scene/routes-private.h"

#define TRACK_CLEAR 4.0  /* from cards, in a crowded channel */
#define TRACK_MIDST 32.0 /* segments are centred in channels up to twice this width */
#define TRACK_SIDE  20.0 /* otherwise this far from the neighbouring card */

#define corner(array, k) (&g_array_index (array, RoutePoint, k))

void
route_slack (RouteIndex *index, const GArray *corners, guint k, double *low, double *high)
{
  const RoutePoint *p = corner (corners, k), *q = p + 1;
  gboolean upright = k % 2 == 1;
  double at = upright ? p->x : p->y;
  double a = upright ? MIN (p->y, q->y) : MIN (p->x, q->x), b = upright ? MAX (p->y, q->y) : MAX (p->x, q->x);
  StudioRect strip = upright ? (StudioRect){ at - ROUTE_SLIDE, a, 2 * ROUTE_SLIDE, b - a }
                             : (StudioRect){ a, at - ROUTE_SLIDE, b - a, 2 * ROUTE_SLIDE };
  const guint *near;
  guint n;

  strip.x -= TRACK_CLEAR;
  strip.y -= TRACK_CLEAR;
  strip.width += 2 * TRACK_CLEAR;
  strip.height += 2 * TRACK_CLEAR;
  *low = at - ROUTE_SLIDE;
  *high = at + ROUTE_SLIDE;
  near = route_index_find (index, &strip, &n);
  for (guint i = 0; i < n; i++)
    {
      const StudioRect *card = &index->card[near[i]];
      double first = upright ? card->x : card->y, last = first + (upright ? card->width : card->height);

      if ((first + last) / 2 < at)
        *low = MAX (*low, MIN (last + TRACK_CLEAR, at));
      else
        *high = MIN (*high, MAX (first - TRACK_CLEAR, at));
    }
}

gboolean
route_is_fixed (const GArray *corners, guint k)
{
  /* A route that leaves a waypoint vertically begins with a horizontal segment of length 0. */
  return k == 0 || k + 2 >= corners->len
         || (k == 1 && corner (corners, 0)->x == corner (corners, 1)->x
             && corner (corners, 0)->y == corner (corners, 1)->y);
}

void
route_centre (RouteIndex *index, GArray *corners)
{
  /* Vertical segments first, because they determine the ends of the horizontal ones. */
  for (guint pass = 0; pass < 2; pass++)
    for (guint k = 1; k + 2 < corners->len; k++)
      {
        RoutePoint *p = corner (corners, k), *q = p + 1;
        double *at = k % 2 == 1 ? &p->x : &p->y, *other = k % 2 == 1 ? &q->x : &q->y, low, high;
        gboolean open_low, open_high;

        if (k % 2 != 1 - pass || route_is_fixed (corners, k))
          continue;
        route_slack (index, corners, k, &low, &high);
        open_low = low <= *at - ROUTE_SLIDE;
        open_high = high >= *at + ROUTE_SLIDE;
        if (open_low && open_high)
          continue;
        if (!open_low && !open_high && high - low <= 2 * TRACK_MIDST)
          *at = (low + high) / 2;
        else if (open_high || (!open_low && *at - low < high - *at))
          *at = low + MIN ((high - low) / 2, TRACK_SIDE);
        else
          *at = high - MIN ((high - low) / 2, TRACK_SIDE);
        *other = *at;
      }
}
