/* Values of a Summary; see the header. Fields are those of summary.proto and histogram.proto. */
#include "app/board-summary.h"
#include "app/shared/png.h"

#include <math.h>

#define BUCKETS      30
#define MOST_SAMPLES 4
#define MOST_ROWS    16 /* channels of a picture */
#define MOST_SIDE    4096

/* Appends a Value whose content is a message; frees it. */
static void
add_value (GByteArray *summary, const char *tag, guint field, GByteArray *content)
{
  GByteArray *value = g_byte_array_new ();

  board_put_string (value, 1, tag);
  board_put_message (value, field, content);
  board_put_message (summary, 1, value);
}

void
board_add_scalar (GByteArray *summary, const char *tag, double number)
{
  GByteArray *value = g_byte_array_new ();

  board_put_string (value, 1, tag);
  board_put_float (value, 2, (float)number);
  board_put_message (summary, 1, value);
}

/* ---- histograms --------------------------------------------------------- */

/* The finite elements' range; FALSE if there are none. */
static gboolean
range_of (const LoomTensor *t, double *least, double *most)
{
  *least = INFINITY;
  *most = -INFINITY;
  for (gint64 i = 0; i < t->count; i++)
    {
      const double x = loom_tensor_get (t, i);

      if (!isfinite (x))
        continue;
      *least = fmin (*least, x);
      *most = fmax (*most, x);
    }
  return *least <= *most;
}

void
board_add_histogram (GByteArray *summary, const char *tag, const LoomTensor *t)
{
  double least, most, n = 0, sum = 0, squares = 0, limit[BUCKETS], count[BUCKETS] = { 0 };
  GByteArray *message;

  if (!range_of (t, &least, &most))
    return;
  for (gint64 i = 0; i < t->count; i++)
    {
      const double x = loom_tensor_get (t, i);
      const double place = most > least ? (x - least) / (most - least) * BUCKETS : 0;

      if (!isfinite (x))
        continue;
      n++;
      sum += x;
      squares += x * x;
      count[CLAMP ((int)place, 0, BUCKETS - 1)]++;
    }
  for (int i = 0; i < BUCKETS; i++)
    limit[i] = least + (most - least) * (i + 1) / BUCKETS;
  message = g_byte_array_new ();
  board_put_double (message, 1, least);
  board_put_double (message, 2, most);
  board_put_double (message, 3, n);
  board_put_double (message, 4, sum);
  board_put_double (message, 5, squares);
  board_put_doubles (message, 6, most > least ? BUCKETS : 1, limit);
  board_put_doubles (message, 7, most > least ? BUCKETS : 1, count);
  add_value (summary, tag, 5, message);
}

/* ---- pictures ----------------------------------------------------------- */

gboolean
board_add_picture (GByteArray *summary, const char *tag, const LoomTensor *t)
{
  double least, most;

  if (t->rank != 4 || !range_of (t, &least, &most))
    return FALSE;
  const gint64 h = t->dim[2], w = t->dim[3], n = MIN (t->dim[0], MOST_SAMPLES);
  const gint64 colours = t->dim[1] == 3 ? 3 : 1, tiles = colours == 3 ? 1 : MIN (t->dim[1], MOST_ROWS);
  const double scale = most > least ? 255 / (most - least) : 0;
  g_autoptr (GByteArray) rows = g_byte_array_new (), png = NULL;
  GByteArray *image;

  if (h > MOST_SIDE / tiles || w > MOST_SIDE / n)
    return FALSE;
  for (gint64 y = 0; y < tiles * h; y++)
    {
      const guint8 none = 0;

      g_byte_array_append (rows, &none, 1);
      for (gint64 x = 0; x < n * w; x++)
        for (gint64 c = 0; c < colours; c++)
          {
            const gint64 channel = colours == 3 ? c : y / h;
            const double v = loom_tensor_get (t, ((x / w * t->dim[1] + channel) * h + y % h) * w + x % w);
            const guint8 shade = isfinite (v) ? (guint8)((v - least) * scale + 0.5) : 0;

            g_byte_array_append (rows, &shade, 1);
          }
    }
  png = png_new ((guint)(n * w), (guint)(tiles * h), (guint)colours, rows);
  image = g_byte_array_new ();
  board_put_int (image, 1, tiles * h);
  board_put_int (image, 2, n * w);
  board_put_int (image, 3, colours);
  board_put_bytes (image, 4, png->data, png->len);
  add_value (summary, tag, 4, image);
  return TRUE;
}
