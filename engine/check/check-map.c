/* A map of a memory space: the contents of each byte, as pieces in the order of addresses, divided where accesses begin
 * and end. */
#include "engine/check/check-private.h"

struct _CheckMap
{
  GPtrArray *pieces; /* CheckBytes, disjoint, ascending */
  guint n_lanes;
};

CheckMap *
check_map_new (guint n_lanes)
{
  CheckMap *map = g_new0 (CheckMap, 1);

  map->pieces = g_ptr_array_new_with_free_func (g_free);
  map->n_lanes = n_lanes;
  return map;
}

void
check_map_free (CheckMap *map)
{
  g_ptr_array_unref (map->pieces);
  g_free (map);
}

static CheckBytes *
piece_at (const CheckMap *map, guint i)
{
  return g_ptr_array_index (map->pieces, i);
}

static CheckBytes *
new_piece (const CheckMap *map, gsize begin, gsize end, const CheckBytes *like)
{
  const gsize size = sizeof (CheckBytes) + map->n_lanes * sizeof (guint);
  CheckBytes *piece = like != NULL ? g_memdup2 (like, size) : g_malloc0 (size);

  piece->begin = begin;
  piece->end = end;
  if (like == NULL)
    piece->value = piece->writer = G_MAXUINT;
  return piece;
}

/* The first piece that ends after an address. */
static guint
find (const CheckMap *map, gsize address)
{
  guint low = 0, high = map->pieces->len;

  while (low < high)
    {
      const guint middle = (low + high) / 2;

      if (piece_at (map, middle)->end > address)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

/* Divides the piece that contains the address, unless it begins there. */
static void
divide (CheckMap *map, gsize address)
{
  const guint i = find (map, address);
  CheckBytes *piece = i < map->pieces->len ? piece_at (map, i) : NULL;

  if (piece == NULL || piece->begin >= address)
    return;
  g_ptr_array_insert (map->pieces, (int)i + 1, new_piece (map, address, piece->end, piece));
  piece->end = address;
}

CheckBytes **
check_map_cut (CheckMap *map, gsize begin, gsize end, guint *n)
{
  guint first, i;
  gsize at = begin;

  divide (map, begin);
  divide (map, end);
  first = find (map, begin);
  for (i = first; at < end; i++)
    {
      CheckBytes *piece = i < map->pieces->len ? piece_at (map, i) : NULL;

      if (piece == NULL || piece->begin > at)
        {
          piece = new_piece (map, at, piece != NULL ? MIN (piece->begin, end) : end, NULL);
          g_ptr_array_insert (map->pieces, (int)i, piece);
        }
      at = piece->end;
    }
  *n = i - first;
  return (CheckBytes **)map->pieces->pdata + first;
}

void
check_map_write (CheckMap *map, gsize begin, gsize end, guint value, guint writer)
{
  CheckBytes *piece;
  guint n;

  if (begin >= end)
    return;
  check_map_cut (map, begin, end, &n);
  const guint first = find (map, begin);

  if (n > 1)
    g_ptr_array_remove_range (map->pieces, first + 1, n - 1);
  piece = piece_at (map, first);
  piece->end = end;
  piece->value = value;
  piece->start = begin;
  piece->writer = writer;
  for (guint l = 0; l < map->n_lanes; l++)
    piece->read[l] = 0;
}
