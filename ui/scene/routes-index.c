/* A spatial index of cards: a grid with about one card per cell, rebuilt in the time of one pass over the cards. */
#include "ui/scene/routes-private.h"

#include <math.h>
#include <string.h>

/* A wire that passes more cards than this is not routed: the search takes time proportional to the number of lines
 * between the cards, and a wire across hundreds of cards is not readable anyway. */
#define MOST_CARDS 640u

static guint
cell_at (double v, guint n)
{
  return v <= 0 ? 0 : v >= n ? n - 1 : (guint)v;
}

void
route_index_cells (const RouteIndex *index, const StudioRect *r, guint *c0, guint *r0, guint *c1, guint *r1)
{
  double scale = 1 / index->cell;

  *c0 = cell_at ((r->x - index->x) * scale, index->columns);
  *c1 = cell_at ((r->x + r->width - index->x) * scale, index->columns);
  *r0 = cell_at ((r->y - index->y) * scale, index->rows);
  *r1 = cell_at ((r->y + r->height - index->y) * scale, index->rows);
}

gboolean
route_index_is_small (const RouteIndex *index, const StudioRect *rect)
{
  guint c0, r0, c1, r1, n = 0;

  route_index_cells (index, rect, &c0, &r0, &c1, &r1);
  /* The cells of a row are adjacent, and so are their entries. */
  for (guint r = r0; r <= r1 && n <= MOST_CARDS; r++)
    n += index->first[r * index->columns + c1 + 1] - index->first[r * index->columns + c0];
  return n <= MOST_CARDS;
}

void
route_index_init (RouteIndex *index, const StudioRect *card, guint n)
{
  StudioRect all = n > 0 ? card[0] : (StudioRect){ 0, 0, 0, 0 };
  guint c0, r0, c1, r1;

  memset (index, 0, sizeof *index);
  for (guint i = 1; i < n; i++)
    all = studio_rect_union (all, card[i]);
  index->card = card;
  index->n_cards = n;
  index->x = all.x;
  index->y = all.y;
  /* About one card per cell, so that few cells are empty or full. */
  index->cell = MAX (192, sqrt (all.width * all.height / MAX (n, 1)));
  index->cell = MAX (index->cell, MAX (all.width, all.height) / (16.0 * sqrt (n + 1.0)));
  index->columns = (guint)(all.width / index->cell) + 1;
  index->rows = (guint)(all.height / index->cell) + 1;
  index->first = g_new0 (guint, (gsize)index->columns * index->rows + 2);
  index->asked = g_new0 (guint, n + 1);
  index->found = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint pass = 0; pass < 2; pass++)
    {
      for (guint i = 0; i < n; i++)
        {
          route_index_cells (index, &card[i], &c0, &r0, &c1, &r1);
          for (guint r = r0; r <= r1; r++)
            for (guint c = c0; c <= c1; c++)
              {
                guint cell = r * index->columns + c;

                if (pass == 0)
                  index->first[cell + 2]++;
                else
                  index->entry[index->first[cell + 1]++] = i;
              }
        }
      if (pass == 0)
        {
          for (guint cell = 2; cell < index->columns * index->rows + 2; cell++)
            index->first[cell] += index->first[cell - 1];
          index->entry = g_new (guint, index->first[index->columns * index->rows + 1] + 1);
        }
    }
}

void
route_index_clear (RouteIndex *index)
{
  g_free (index->first);
  g_free (index->entry);
  g_free (index->asked);
  g_array_unref (index->found);
}

const guint *
route_index_find (RouteIndex *index, const StudioRect *rect, guint *n)
{
  guint c0, r0, c1, r1;

  index->question++;
  g_array_set_size (index->found, 0);
  route_index_cells (index, rect, &c0, &r0, &c1, &r1);
  for (guint r = r0; r <= r1 && index->n_cards > 0; r++)
    for (guint c = c0; c <= c1; c++)
      for (guint k = index->first[r * index->columns + c]; k < index->first[r * index->columns + c + 1]; k++)
        {
          guint i = index->entry[k];

          if (index->asked[i] == index->question)
            continue;
          index->asked[i] = index->question;
          if (studio_rect_intersects (&index->card[i], rect))
            g_array_append_val (index->found, i);
        }
  *n = index->found->len;
  return (const guint *)(gpointer)index->found->data;
}
