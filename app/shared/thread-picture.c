/* Draws blocks as rows: in each the first threads and the last one, and below a thread the numbers of its elements. A
 * thread beyond the end of the data has none, and is drawn hollow. */
#include "app/shared/thread-picture.h"

#include "app/shared/svg.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_THREADS 3  /* at the beginning of a block */
#define SHOWN_BLOCKS  2  /* at the beginning of the grid */
#define CELL          46 /* the width of an element */
#define GAP           26 /* between threads */
#define LABEL         80 /* for the block's name */
#define ROW           96
#define HEAD          48

gboolean
thread_grid_read (const char *source, const LoomKernelSpec *spec, ThreadGrid *grid)
{
  const char *at = strstr (source, "blockIdx.x * ");

  if (at == NULL || sscanf (at, "blockIdx.x * %d + threadIdx.x) * %d", &grid->threads, &grid->vector) != 2
      || spec->n_out < 1)
    return FALSE;
  grid->count = loom_desc_count (&spec->out[0]);
  return grid->threads > 0 && grid->vector > 0;
}

gint64
thread_grid_blocks (const ThreadGrid *grid)
{
  const gint64 elements = (gint64)grid->threads * grid->vector;

  return (grid->count + elements - 1) / elements;
}

/* A thread with its elements, from x to the right. Returns its width. */
static int
draw_thread (GString *s, const ThreadGrid *grid, gint64 block, int thread, int x, int y)
{
  const gint64 first = (block * grid->threads + thread) * grid->vector;
  const int width = MAX (CELL * grid->vector, 64);
  const gboolean works = first < grid->count;

  g_string_append_printf (
      s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"24\" rx=\"6\" fill=\"%s\" stroke=\"#0072b2\"/>\n", x, y, width,
      works ? "#d6e8f5" : "none");
  svg_add_text (s, x + width / 2, y + 17, "text-anchor=\"middle\"", works ? "thread %d" : "thread %d: none", thread);
  for (int k = 0; k < grid->vector && first + k < grid->count; k++)
    {
      g_string_append_printf (
          s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"24\" fill=\"#fff3d6\" stroke=\"#b37400\"/>\n", x + k * CELL,
          y + 32, CELL);
      svg_add_text (s, x + k * CELL + CELL / 2, y + 49, "text-anchor=\"middle\" font-size=\"11\"", "%" G_GINT64_FORMAT,
                    first + k);
    }
  return width;
}

static void
draw_block (GString *s, const ThreadGrid *grid, gint64 block, int y)
{
  int x = LABEL;

  svg_add_text (s, 12, y + 17, "font-weight=\"bold\"", "block %" G_GINT64_FORMAT, block);
  for (int t = 0; t < MIN (SHOWN_THREADS, grid->threads); t++)
    x += draw_thread (s, grid, block, t, x, y) + GAP;
  if (grid->threads <= SHOWN_THREADS)
    return;
  if (grid->threads > SHOWN_THREADS + 1)
    svg_add_text (s, x - 8, y + 17, "text-anchor=\"middle\"", "…");
  draw_thread (s, grid, block, grid->threads - 1, x + 8, y);
}

char *
thread_grid_draw (const ThreadGrid *grid, const char *title)
{
  const gint64 blocks = thread_grid_blocks (grid);
  const int n = (int)MIN (blocks, SHOWN_BLOCKS + 1), threads = MIN (SHOWN_THREADS + 1, grid->threads);
  const int width = LABEL + threads * (MAX (CELL * grid->vector, 64) + GAP), height = HEAD + n * ROW;
  GString *s = g_string_new (NULL);

  g_string_append_printf (
      s,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
      width, height, width, height, width, height);
  svg_add_text (s, 12, 28, "font-size=\"15\"",
                "%s: %" G_GINT64_FORMAT " elements, %" G_GINT64_FORMAT " blocks of %d threads", title, grid->count,
                blocks, grid->threads);
  for (int row = 0; row < n; row++)
    {
      const gint64 block = row < SHOWN_BLOCKS ? row : blocks - 1;

      if (row == SHOWN_BLOCKS && blocks > SHOWN_BLOCKS + 1)
        svg_add_text (s, 12, HEAD + row * ROW - 12, "", "…");
      draw_block (s, grid, block, HEAD + row * ROW);
    }
  g_string_append (s, "</svg>\n");
  return g_string_free (s, FALSE);
}
