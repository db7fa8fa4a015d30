/* Draws a matrix as cells from white, its least number, to dark blue, its largest; what is not finite is grey. */
#include "app/run-map.h"
#include "app/shared/png.h"
#include "app/shared/svg.h"

#include <math.h>
#include <string.h>

#define MOST     1024 /* rows and columns of a picture */
#define LEGIBLE  12   /* columns with printed numbers */
#define WIDE     64   /* a cell with its number */
#define HIGH     28
#define NARROW   16 /* a cell without */
#define MARGIN   40
#define PNG_CELL 16

typedef struct
{
  const LoomTensor *t;
  gint64 rows, columns;
  double low, high; /* of the finite numbers */
} Map;

static gboolean
has_suffix (const char *name, const char *suffix)
{
  const char *dot = strrchr (name, '.');

  return dot != NULL && g_ascii_strcasecmp (dot, suffix) == 0;
}

gboolean
run_map_is_name (const char *name)
{
  return has_suffix (name, ".csv") || has_suffix (name, ".svg") || has_suffix (name, ".png");
}

static double
at (const Map *map, gint64 row, gint64 column)
{
  return loom_tensor_get (map->t, row * map->columns + column);
}

static void
find_limits (Map *map)
{
  map->low = INFINITY;
  map->high = -INFINITY;
  for (gint64 i = 0; i < map->rows * map->columns; i++)
    {
      const double value = loom_tensor_get (map->t, i);

      if (!isfinite (value))
        continue;
      map->low = MIN (map->low, value);
      map->high = MAX (map->high, value);
    }
}

/* Where a number is between the least, 0, and the largest, 1; -1: not finite. */
static double
level_of (const Map *map, double value)
{
  if (!isfinite (value))
    return -1;
  return map->high > map->low ? (value - map->low) / (map->high - map->low) : 0;
}

static void
color_of (double level, guint8 rgb[3])
{
  static const guint8 dark[3] = { 8, 48, 107 };

  for (int k = 0; k < 3; k++)
    rgb[k] = level < 0 ? 160 : (guint8)lround (255 + level * (dark[k] - 255));
}

static char *
to_csv (const Map *map)
{
  GString *s = g_string_new (NULL);
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  for (gint64 i = 0; i < map->rows; i++)
    for (gint64 j = 0; j < map->columns; j++)
      g_string_append_printf (s, "%s%c", g_ascii_formatd (text, sizeof text, "%.9g", at (map, i, j)),
                              j + 1 < map->columns ? ',' : '\n');
  return g_string_free (s, FALSE);
}

/* The numbers of rows and columns, from 1; of many only some. */
static void
add_numbers (GString *s, const Map *map, int width, int height)
{
  const gint64 each_row = 1 + (map->rows - 1) / 32, each_column = 1 + (map->columns - 1) / 32;

  for (gint64 i = 0; i < map->rows; i += each_row)
    {
      g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, i + 1);

      svg_add_text (s, MARGIN - 6, MARGIN + (int)i * height + height / 2 + 4, "text-anchor=\"end\"", "%s", text);
    }
  for (gint64 j = 0; j < map->columns; j += each_column)
    {
      g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, j + 1);

      svg_add_text (s, MARGIN + (int)j * width + width / 2, MARGIN - 6, "text-anchor=\"middle\"", "%s", text);
    }
}

static void
add_cell (GString *s, const Map *map, gint64 i, gint64 j, int width, int height)
{
  const double value = at (map, i, j), level = level_of (map, value);
  const int x = MARGIN + (int)j * width, y = MARGIN + (int)i * height;
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  guint8 rgb[3];

  color_of (level, rgb);
  g_string_append_printf (s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#%02x%02x%02x\"/>\n", x, y,
                          width, height, rgb[0], rgb[1], rgb[2]);
  if (map->columns > LEGIBLE)
    return;
  g_ascii_formatd (text, sizeof text, "%.3g", value);
  svg_add_text (s, x + width / 2, y + height / 2 + 4,
                level > 0.5 ? "text-anchor=\"middle\" fill=\"#fff\"" : "text-anchor=\"middle\"", "%s", text);
}

static char *
to_svg (const Map *map, const char *title)
{
  const int width = map->columns > LEGIBLE ? NARROW : WIDE, height = map->columns > LEGIBLE ? NARROW : HIGH;
  const int right = MAX (2 * MARGIN + width * (int)map->columns, 320), bottom = 2 * MARGIN + height * (int)map->rows;
  GString *s = g_string_new (NULL);
  char low[G_ASCII_DTOSTR_BUF_SIZE], high[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *legend
      = g_strdup_printf ("%s: white %s, dark %s", title, g_ascii_formatd (low, sizeof low, "%.4g", map->low),
                         g_ascii_formatd (high, sizeof high, "%.4g", map->high));

  g_string_append_printf (
      s,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
      right, bottom, right, bottom, right, bottom);
  for (gint64 i = 0; i < map->rows; i++)
    for (gint64 j = 0; j < map->columns; j++)
      add_cell (s, map, i, j, width, height);
  add_numbers (s, map, width, height);
  g_string_append_printf (s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>\n",
                          MARGIN, MARGIN, width * (int)map->columns, height * (int)map->rows);
  svg_add_text (s, MARGIN, bottom - 14, "", "%s", legend);
  g_string_append (s, "</svg>\n");
  return g_string_free (s, FALSE);
}

/* ---- PNG ------------------------------------------------------------------------- */

/* Lines of RGB bytes, each after a zero for "no filter". */
static GByteArray *
draw_lines (const Map *map)
{
  GByteArray *lines = g_byte_array_new ();
  const guint8 none = 0;
  guint8 rgb[3];

  for (int y = 0; y < (int)map->rows * PNG_CELL; y++)
    {
      g_byte_array_append (lines, &none, 1);
      for (int x = 0; x < (int)map->columns * PNG_CELL; x++)
        {
          color_of (level_of (map, at (map, y / PNG_CELL, x / PNG_CELL)), rgb);
          g_byte_array_append (lines, rgb, sizeof rgb);
        }
    }
  return lines;
}

/* Cells without numbers. */
static gboolean
write_png (const Map *map, const char *path, GError **error)
{
  g_autoptr (GByteArray) lines = draw_lines (map), png = NULL;

  png = png_new ((guint)map->columns * PNG_CELL, (guint)map->rows * PNG_CELL, 3, lines);
  return loom_file_replace (path, (const char *)png->data, png->len, error);
}

gboolean
run_map_write (const LoomTensor *t, const char *title, const char *name, const char *path, GError **error)
{
  Map map = { t, t->rank > 1 ? t->dim[t->rank - 2] : 1, t->rank > 0 ? t->dim[t->rank - 1] : 1 };
  g_autofree char *text = NULL;

  if (t->count == 0 || (!has_suffix (name, ".csv") && (map.rows > MOST || map.columns > MOST)))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "%s has %" G_GINT64_FORMAT " × %" G_GINT64_FORMAT
                   " elements; a picture has 1 to %d rows and columns. "
                   "Write it as .npy or .csv.",
                   title, map.rows, map.columns, MOST);
      return FALSE;
    }
  find_limits (&map);
  if (has_suffix (name, ".png"))
    return write_png (&map, path, error);
  text = has_suffix (name, ".csv") ? to_csv (&map) : to_svg (&map, title);
  return loom_file_replace (path, text, strlen (text), error);
}
