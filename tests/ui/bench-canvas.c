/* How long a frame of the canvas takes at 2,000 nodes and 3,000 wires, rasterising included.
 *
 * Each frame is a pan by a few pixels (and, in a second column, a zoom): allocation, snapshot and the Cairo
 * renderer's work into an image, which append_cairo alone would only record. Run with tests/ui/with-display.sh;
 * prints the median and the spread of FRAMES frames. With an argument, fails when a median is over that many ms. */
#include <adwaita.h>
#include <stdlib.h>

#include "ui/canvas/canvas-board.h"
#include "ui/canvas/studio-canvas.h"
#include "ui/canvas/studio-canvas.h"

enum
{
  NODES = 2000,
  WIRES = 3000,
  COLUMNS = 50,
  FRAMES = 41,
  WIDTH = 1270,
  HEIGHT = 743
};

static char *
big_graph (void)
{
  GString *s = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n");

  g_string_append (s, "  <node id=\"n0\" op=\"input\" shape=\"B,16\"/>\n");
  for (guint i = 1; i < NODES; i++)
    g_string_append_printf (s, "  <node id=\"n%u\" op=\"%s\"/>\n", i, i % 2 == 0 ? "add" : "relu");
  for (guint i = 1; i < NODES; i++)
    {
      g_string_append_printf (s, "  <wire from=\"n%u\" to=\"n%u%s\"/>\n", i - 1, i, i % 2 == 0 ? ".input" : "");
      if (i % 2 == 0)
        g_string_append_printf (s, "  <wire from=\"n%u\" to=\"n%u.other\"/>\n", i >= COLUMNS ? i - COLUMNS : 0, i);
    }
  g_string_append (s, "  <layout>\n");
  for (guint i = 0; i < NODES; i++)
    g_string_append_printf (s, "    <place node=\"n%u\" x=\"%u\" y=\"%u\"/>\n", i, i % COLUMNS * 240, i / COLUMNS * 96);
  g_string_append (s, "  </layout>\n</graph>\n");
  return g_string_free (s, FALSE);
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return x < y ? -1 : x > y;
}

/* One frame: what GTK does between two of them, into an image of the window's size. */
static double
frame (StudioCanvas *canvas, GdkPaintable *paintable, cairo_surface_t *surface)
{
  gint64 start = g_get_monotonic_time ();
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  GskRenderNode *node;
  cairo_t *cr;

  gtk_widget_allocate (GTK_WIDGET (canvas), WIDTH, HEIGHT, -1, NULL);
  GTK_WIDGET_GET_CLASS (canvas)->snapshot (GTK_WIDGET (canvas), snapshot);
  node = gtk_snapshot_free_to_node (snapshot);
  cr = cairo_create (surface);
  gsk_render_node_draw (node, cr);
  cairo_destroy (cr);
  gsk_render_node_unref (node);
  return (g_get_monotonic_time () - start) / 1000.0;
}

int
main (int argc, char **argv)
{
  static const double zooms[] = { 1, 0.5, 0.49, 0.25 };
  g_autoptr (StudioDocument) document = NULL;
  g_autofree char *text = big_graph ();
  g_autoptr (GError) error = NULL;
  GtkWidget *window;
  StudioCanvas *canvas;
  CanvasBoard *board;
  GdkPaintable *paintable;
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, WIDTH, HEIGHT);
  double limit = argc > 1 ? g_ascii_strtod (argv[1], NULL) : G_MAXDOUBLE, times[FRAMES];
  gint64 start;
  int status = 0;

  adw_init ();
  document = studio_document_new ();
  start = g_get_monotonic_time ();
  if (!studio_document_open_text (document, text, -1, NULL, &error))
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }
  g_print ("open and infer            %7.1f ms\n", (g_get_monotonic_time () - start) / 1000.0);
  start = g_get_monotonic_time ();
  canvas = studio_canvas_new (document);
  g_print ("create the cards          %7.1f ms\n", (g_get_monotonic_time () - start) / 1000.0);
  window = gtk_window_new ();
  gtk_window_set_default_size (GTK_WINDOW (window), WIDTH, HEIGHT);
  gtk_window_set_child (GTK_WINDOW (window), GTK_WIDGET (canvas));
  gtk_window_present (GTK_WINDOW (window));
  for (guint i = 0; i < 200; i++)
    {
      g_main_context_iteration (NULL, FALSE);
      g_usleep (2000);
    }
  board = canvas_board_of (GTK_WIDGET (canvas));
  paintable = gtk_widget_paintable_new (GTK_WIDGET (canvas));

  for (guint z = 0; z < G_N_ELEMENTS (zooms); z++)
    {
      studio_canvas_zoom_at (canvas, zooms[z], WIDTH / 2.0, HEIGHT / 2.0);
      canvas_view_move_to (board->view, 2000, 400);
      frame (canvas, paintable, surface);
      for (guint i = 0; i < FRAMES; i++)
        {
          canvas_view_pan (board->view, 7, 3);
          times[i] = frame (canvas, paintable, surface);
        }
      qsort (times, FRAMES, sizeof times[0], compare);
      g_print ("pan at zoom %.2f          %7.1f ms a frame (%.1f to %.1f)\n", zooms[z], times[FRAMES / 2],
               times[FRAMES / 10], times[FRAMES * 9 / 10]);
      if (times[FRAMES / 2] > limit)
        status = 1;
    }

  /* A card is dragged: the wires that it touches are routed again, and all get their lanes and shape labels. */
  studio_canvas_zoom_at (canvas, 1, WIDTH / 2.0, HEIGHT / 2.0);
  studio_document_select_only (document, studio_document_get_scene (document)->item[410].serial);
  canvas_view_move_to (board->view, studio_document_get_scene (document)->item[410].x - WIDTH / 2.0,
                       studio_document_get_scene (document)->item[410].y - HEIGHT / 2.0);
  frame (canvas, paintable, surface);
  for (guint i = 0; i < FRAMES; i++)
    {
      start = g_get_monotonic_time ();
      canvas_board_shift (board, 12 * (i + 1), 3 * i);
      times[i] = (g_get_monotonic_time () - start) / 1000.0 + frame (canvas, paintable, surface);
    }
  canvas_board_shift (board, 0, 0);
  qsort (times, FRAMES, sizeof times[0], compare);
  g_print ("drag a card               %7.1f ms a frame (%.1f to %.1f)\n", times[FRAMES / 2], times[FRAMES / 10],
           times[FRAMES * 9 / 10]);
  if (times[FRAMES / 2] > limit)
    status = 1;

  {
    StudioScene *scene = studio_document_get_scene (document);
    guint64 serial = scene->item[1000].serial;

    for (guint i = 0; i < 11; i++)
      {
        start = g_get_monotonic_time ();
        studio_document_move (document, &serial, 1, 12, 0);
        studio_document_get_net (document);
        canvas_board_scene (board);
        times[i] = (g_get_monotonic_time () - start) / 1000.0;
      }
    qsort (times, 11, sizeof times[0], compare);
    g_print ("an edit, with inference   %7.1f ms\n", times[5]);
  }
  g_object_unref (paintable);
  gtk_window_destroy (GTK_WINDOW (window));
  cairo_surface_destroy (surface);
  return status;
}
