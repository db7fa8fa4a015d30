/* Computes the size and position of the bubbles with faults. */
#include <math.h>
#include <stdlib.h>

#include "ui/scene/studio-geometry.h"

#define MOST_LINES 5
#define LETTER     6.5
/* additional width of a wide bubble, which ends at the next card of the usual grid */
#define WIDER 56.0

static double
lines_in (const StudioItem *item, double width)
{
  return ceil (g_utf8_strlen (item->fault, -1) * LETTER / (width - 34));
}

/* A bubble as wide as the card cuts a long sentence or the label of its button. */
static gboolean
needs_space (const StudioItem *item)
{
  return lines_in (item, item->width) > MOST_LINES
         || (item->fix != NULL && g_utf8_strlen (item->fix, -1) * (LETTER + 1) > item->width - 24);
}

static StudioRect
fault_at (const StudioItem *item, StudioFaultPlace place)
{
  gboolean aside = place == STUDIO_FAULT_AT_RIGHT || place == STUDIO_FAULT_AT_LEFT;
  double lines, height, width;

  if (item->fault == NULL || place == STUDIO_FAULT_AS_SIGN)
    return (StudioRect){ item->x, item->y + item->height, 0, 0 };
  /* The height is estimated from the length of the sentence, so that hit testing needs no font: 6.5 units per letter at
   * the caption's size, at most five lines, the rest ellipsized. */
  width = aside ? STUDIO_CARD_WIDTH : MAX (item->width, item->fault_width);
  lines = CLAMP (lines_in (item, width), 1, MOST_LINES);
  height = 12 + 16 * lines + (item->fix != NULL ? 32 : 0);
  switch (place)
    {
    case STUDIO_FAULT_AT_RIGHT:
      return (StudioRect){ item->x + item->width + STUDIO_FAULT_GAP, item->y, STUDIO_CARD_WIDTH, height };
    case STUDIO_FAULT_AT_LEFT:
      return (StudioRect){ item->x - STUDIO_FAULT_GAP - STUDIO_CARD_WIDTH, item->y, STUDIO_CARD_WIDTH, height };
    case STUDIO_FAULT_ABOVE:
      return (StudioRect){ item->x, item->y - STUDIO_FAULT_GAP - height, width, height };
    default:
      return (StudioRect){ item->x, item->y + item->height + STUDIO_FAULT_GAP, width, height };
    }
}

StudioRect
studio_geometry_fault (const StudioItem *item)
{
  return fault_at (item, item->fault_place);
}

StudioRect
studio_geometry_fix_button (const StudioItem *item)
{
  StudioRect fault = studio_geometry_fault (item);

  if (item->fix == NULL || fault.height == 0)
    return (StudioRect){ item->x, item->y, 0, 0 };
  return (StudioRect){ fault.x + 8, fault.y + fault.height - 32, fault.width - 16, 24 };
}

/* ---- space for bubbles --------------------------------------------------- */

typedef struct
{
  const StudioItem *item;
  gboolean placed; /* its bubble is placed */
} Placed;

static int
compare_x (gconstpointer a, gconstpointer b)
{
  double x = ((const Placed *)a)->item->x, y = ((const Placed *)b)->item->x;

  return x < y ? -1 : x > y;
}

/* The distances from the card's left edge that a card and its bubble reach to the right and to the left, and from which
 * cards are clear of another's bubble. */
typedef struct
{
  double after, before, apart;
} Reach;

static Reach
reach_of (const StudioScene *scene)
{
  double widest = STUDIO_CARD_WIDTH;
  double aside = scene->flow == STUDIO_FLOW_DOWN ? STUDIO_FAULT_GAP + STUDIO_CARD_WIDTH : 0;

  for (guint i = 0; i < scene->n_items; i++)
    widest = MAX (widest, scene->item[i].width);
  return (Reach){ widest + MAX (aside, WIDER), aside, 2 * (widest + STUDIO_FAULT_GAP + STUDIO_CARD_WIDTH + WIDER) };
}

/* TRUE if a rectangle is clear of all cards and of the placed bubbles. */
static gboolean
is_clear (const Placed *all, guint n, Reach reach, const StudioItem *own, const StudioRect *r)
{
  guint low = 0, high = n;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (all[middle].item->x + reach.after <= r->x)
        low = middle + 1;
      else
        high = middle;
    }
  for (guint i = low; i < n && all[i].item->x < r->x + r->width + reach.before; i++)
    {
      StudioRect card = studio_geometry_card (all[i].item), bubble = studio_geometry_fault (all[i].item);

      if (all[i].item == own)
        continue;
      if (studio_rect_intersects (&card, r)
          || (all[i].placed && bubble.height > 0 && studio_rect_intersects (&bubble, r)))
        return FALSE;
    }
  return TRUE;
}

/* Places a bubble of this width (0: the card's) at the first free position. If there is none, returns FALSE, and the
 * fault is shown as an icon. */
static gboolean
find_place (const Placed *all, guint n, Reach reach, StudioItem *item, double width)
{
  /* Not where wires are connected. */
  static const StudioFaultPlace places[][2] = { [STUDIO_FLOW_RIGHT] = { STUDIO_FAULT_BELOW, STUDIO_FAULT_ABOVE },
                                                [STUDIO_FLOW_DOWN] = { STUDIO_FAULT_AT_RIGHT, STUDIO_FAULT_AT_LEFT } };

  item->fault_width = width;
  for (guint k = 0; k < G_N_ELEMENTS (places[0]); k++)
    {
      StudioRect r = fault_at (item, places[item->flow][k]);

      if (!is_clear (all, n, reach, item, &r))
        continue;
      item->fault_place = places[item->flow][k];
      return TRUE;
    }
  item->fault_place = STUDIO_FAULT_AS_SIGN;
  return FALSE;
}

void
studio_geometry_place_faults (StudioScene *scene)
{
  g_autofree Placed *all = NULL;
  double first = G_MAXDOUBLE, last = -G_MAXDOUBLE;
  guint n = 0;
  Reach reach;

  for (guint i = 0; i < scene->n_items; i++)
    if (scene->item[i].fault != NULL)
      {
        first = MIN (first, scene->item[i].x);
        last = MAX (last, scene->item[i].x);
      }
  if (first > last)
    return;
  reach = reach_of (scene);
  all = g_new0 (Placed, scene->n_items);
  for (guint i = 0; i < scene->n_items; i++)
    if (scene->item[i].x > first - reach.apart && scene->item[i].x < last + reach.apart)
      all[n++].item = &scene->item[i];
  qsort (all, n, sizeof (Placed), compare_x);
  for (guint i = 0; i < n; i++)
    {
      StudioItem *item = &scene->item[all[i].item - scene->item];

      if (item->fault == NULL)
        continue;
      item->fault_place = STUDIO_FAULT_AS_SIGN;
      for (guint wide = needs_space (item) && item->flow == STUDIO_FLOW_RIGHT ? 2 : 1; wide-- > 0;)
        if (find_place (all, n, reach, item, wide * (item->width + WIDER)))
          break;
      all[i].placed = TRUE;
    }
}
