/* The contrast of text with its background: each label of an open window is drawn, and its strongest pixel is compared
 * with its most frequent one by the formula of WCAG 2 (4.5 : 1), in light and in dark. Disabled widgets may be pale. */
#include <adwaita.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "ui/window/studio-application.h"
#include "ui/page/studio-page-private.h"
#include "ui/window/studio-window-private.h"
#include "tests/test-program.h"
#include "tests/ui/settle.h"

/* Antialiasing makes thin strokes paler than their colour, so 4.5 measures as at least 4.2. */
#define LEAST 4.2

/* ---- pixels ------------------------------------------------------------------------------- */

static double
linear (guint32 byte)
{
  const double v = byte / 255.0;
  return v <= 0.04045 ? v / 12.92 : pow ((v + 0.055) / 1.055, 2.4);
}

static double
luminance (guint32 pixel)
{
  return 0.2126 * linear (pixel >> 16 & 255) + 0.7152 * linear (pixel >> 8 & 255) + 0.0722 * linear (pixel & 255);
}

static double
contrast (double a, double b)
{
  return (MAX (a, b) + 0.05) / (MIN (a, b) + 0.05);
}

/* A window with a pending layout is not drawn. */
static GskRenderNode *
snapshot (GtkWidget *window)
{
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (window);
  GskRenderNode *node = NULL;
  for (int i = 0; node == NULL && i < 20; i++)
    {
      GtkSnapshot *snapshot = gtk_snapshot_new ();
      settle (150);
      gdk_paintable_snapshot (paintable, snapshot, gtk_widget_get_width (window), gtk_widget_get_height (window));
      node = gtk_snapshot_free_to_node (snapshot);
    }
  return node;
}

/* All of a window as it is drawn. */
static cairo_surface_t *
draw (GtkWidget *window)
{
  g_autoptr (GskRenderNode) node = snapshot (window);
  cairo_surface_t *surface
      = cairo_image_surface_create (CAIRO_FORMAT_RGB24, gtk_widget_get_width (window), gtk_widget_get_height (window));
  cairo_t *cr = cairo_create (surface);
  g_assert_nonnull (node);
  gsk_render_node_draw (node, cr);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  return surface;
}

/* The contrast of the pixels in a rectangle; 0 if it is outside. */
static double
measure (cairo_surface_t *surface, const graphene_rect_t *rect)
{
  const int x0 = MAX ((int)ceilf (rect->origin.x), 0), y0 = MAX ((int)ceilf (rect->origin.y), 0);
  const int x1 = MIN ((int)(rect->origin.x + rect->size.width), cairo_image_surface_get_width (surface));
  const int y1 = MIN ((int)(rect->origin.y + rect->size.height), cairo_image_surface_get_height (surface));
  const int stride = cairo_image_surface_get_stride (surface) / 4;
  const guint32 *data = (const guint32 *)cairo_image_surface_get_data (surface);
  g_autoptr (GHashTable) count = g_hash_table_new (NULL, NULL);
  guint32 common = 0;
  guint most = 0;
  double best = 0;
  for (int y = y0; y < y1; y++)
    for (int x = x0; x < x1; x++)
      {
        const guint32 pixel = data[y * stride + x] & 0xffffff;
        const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (count, GUINT_TO_POINTER (pixel))) + 1;
        g_hash_table_insert (count, GUINT_TO_POINTER (pixel), GUINT_TO_POINTER (n));
        if (n > most)
          {
            most = n;
            common = pixel;
          }
      }
  for (int y = y0; y < y1; y++)
    for (int x = x0; x < x1; x++)
      best = MAX (best, contrast (luminance (data[y * stride + x]), luminance (common)));
  return best;
}

/* ---- widgets ------------------------------------------------------------------------------ */

static guint n_seen;

/* A label that is scrolled out of sight is not drawn, and one that is half out of it may have lost its strokes. */
static gboolean
is_whole (GtkWidget *label, const graphene_rect_t *rect, GtkWidget *window)
{
  for (GtkWidget *w = gtk_widget_get_parent (label); w != NULL && w != window; w = gtk_widget_get_parent (w))
    {
      graphene_rect_t outer;
      if (GTK_IS_VIEWPORT (w) || GTK_IS_LIST_VIEW (w) || GTK_IS_SCROLLED_WINDOW (w))
        if (!gtk_widget_compute_bounds (w, window, &outer) || !graphene_rect_contains_rect (&outer, rect))
          return FALSE;
    }
  return TRUE;
}

static void
check (GtkWidget *widget, GtkWidget *window, cairo_surface_t *surface, const char *where)
{
  graphene_rect_t rect;
  if (!gtk_widget_get_mapped (widget) || !gtk_widget_is_sensitive (widget) || GTK_IS_POPOVER (widget))
    return;
  if (GTK_IS_LABEL (widget) && gtk_label_get_text (GTK_LABEL (widget))[0] != '\0'
      && gtk_widget_compute_bounds (widget, window, &rect) && is_whole (widget, &rect, window))
    {
      const double found = measure (surface, &rect);
      n_seen++;
      if (found > 0 && found < LEAST)
        {
          g_test_message ("%s: %.2f : 1, “%s” in %s", where, found, gtk_label_get_text (GTK_LABEL (widget)),
                          G_OBJECT_TYPE_NAME (gtk_widget_get_parent (widget)));
          g_test_fail ();
        }
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    check (child, window, surface, where);
}

static void
look (GtkWidget *window, const char *where)
{
  cairo_surface_t *surface = draw (window);
  check (window, window, surface, where);
  cairo_surface_destroy (surface);
}

/* ---- the walk ----------------------------------------------------------------------------- */

/* Gives the run its points and its progress without a worker. */
static void
feed (StudioRun *run)
{
  const char *const names[] = { "accuracy", NULL };
  GVariantBuilder b;
  g_variant_builder_init (&b, G_VARIANT_TYPE ("a(xxddad)"));
  for (int i = 1; i <= 40; i++)
    {
      const double accuracy = 1 - 1.0 / i;
      g_variant_builder_add (&b, "(xxdd@ad)", (gint64)i, (gint64)1, 2.3 / i, 0.01,
                             g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, &accuracy, 1, sizeof (double)));
    }
  g_autoptr (GVariant) points = g_variant_ref_sink (g_variant_builder_end (&b));
  studio_run_take_metrics (run, names, points, 1);
  studio_run_take_progress (run, 40, 3000, 1, 3, 1900, 30);
}

static void
walk (StudioWindow *self)
{
  static const char *const panes[] = { "win.history", "win.show-slides", "win.task", "win.write-lesson", NULL };
  look (GTK_WIDGET (self), "start");
  studio_opener_open_example (self->opener, "models/fashion-lenet");
  look (GTK_WIDGET (self), "a graph");
  studio_document_select_only (studio_window_get_page (self)->document,
                               studio_document_get_scene (studio_window_get_page (self)->document)->item[0].serial);
  look (GTK_WIDGET (self), "a layer");
  studio_window_show_panel (self);
  feed (studio_page_get_run (studio_window_get_page (self)));
  look (GTK_WIDGET (self), "a run");
  studio_opener_open_example (self->opener, "lessons/spirals");
  look (GTK_WIDGET (self), "a lesson");
  for (guint i = 0; panes[i] != NULL; i++)
    {
      gtk_widget_activate_action (GTK_WIDGET (self), panes[i], NULL);
      look (GTK_WIDGET (self), panes[i]);
    }
}

/* Other windows: help, data, shortcuts. */
static void
look_at_others (StudioWindow *self)
{
  static const char *const actions[] = { "win.help", "win.keys", "win.new-from-data", NULL };
  for (guint i = 0; actions[i] != NULL; i++)
    {
      gtk_widget_activate_action (GTK_WIDGET (self), actions[i], NULL);
      settle (150);
      g_autoptr (GList) windows = gtk_window_list_toplevels ();
      for (GList *l = windows; l != NULL; l = l->next)
        if (l->data != self && gtk_widget_get_mapped (l->data))
          {
            look (l->data, actions[i]);
            gtk_widget_set_visible (l->data, FALSE);
          }
    }
}

/* The tables of parameters and memory need a worker; without rows their headings are the same. */
static void
look_at_table (void)
{
  GListModel *nothing = G_LIST_MODEL (gtk_string_list_new (NULL));
  GtkWidget *window = gtk_window_new ();
  GtkWidget *table = gtk_column_view_new (GTK_SELECTION_MODEL (gtk_no_selection_new (nothing)));
  g_autoptr (GtkColumnViewColumn) column = gtk_column_view_column_new ("Planned", gtk_signal_list_item_factory_new ());
  gtk_column_view_append_column (GTK_COLUMN_VIEW (table), column);
  gtk_window_set_child (GTK_WINDOW (window), table);
  gtk_window_present (GTK_WINDOW (window));
  settle (150);
  look (window, "a table");
  gtk_window_destroy (GTK_WINDOW (window));
}

static void
activate_cb (GtkApplication *application, gpointer data)
{
  StudioWindow *self = studio_window_new (ADW_APPLICATION (application));
  gtk_window_present (GTK_WINDOW (self));
  walk (self);
  look_at_others (self);
  look_at_table ();
  /* Windows are put away, not taken apart: their icons may still be loading. */
  studio_document_close (studio_window_get_page (self)->document);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  g_application_quit (G_APPLICATION (application));
}

static void
run (AdwColorScheme scheme)
{
  g_autoptr (StudioApplication) application = studio_application_new ();
  n_seen = 0;
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
  adw_style_manager_set_color_scheme (adw_style_manager_get_default (), scheme);
  g_signal_connect (application, "activate", G_CALLBACK (activate_cb), NULL);
  g_assert_cmpint (g_application_run (G_APPLICATION (application), 0, NULL), ==, 0);
  g_test_message ("%u labels", n_seen);
  g_assert_cmpuint (n_seen, >, 400);
}

static void
test_light (void)
{
  run (ADW_COLOR_SCHEME_FORCE_LIGHT);
}

static void
test_dark (void)
{
  run (ADW_COLOR_SCHEME_FORCE_DARK);
}

TEST_FILE (argc, argv)
{
  g_autofree char *home = g_dir_make_tmp ("gradloom-contrast-XXXXXX", NULL);
  g_setenv ("XDG_STATE_HOME", home, TRUE);
  g_setenv ("XDG_DATA_HOME", home, TRUE);
  g_setenv ("GTK_A11Y", "none", TRUE);
  g_setenv ("GRADLOOM_WORKER", "/nonexistent/gradloom", TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  g_test_add_func ("/contrast/light", test_light);
  g_test_add_func ("/contrast/dark", test_dark);
  const int status = g_test_run ();

  /* Without the destructors of libraries, in which a process has once ended by a signal after its last case. */
  fflush (NULL);
  _exit (status);
}
