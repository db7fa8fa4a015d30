/* The parts of a canvas that belong to a widget, each on a plain widget instead of a canvas: pictures, wires, view,
 * glide, marks, landing, hints, pins and popovers. */
#include <math.h>
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/plain-canvas.h"
#include "ui/canvas/studio-node-words.h"
#include "ui/canvas/annotation-edit.h"
#include "ui/canvas/canvas-board.h"
#include "ui/canvas/canvas-clipboard.h"
#include "ui/canvas/canvas-commands.h"
#include "ui/canvas/canvas-drawing.h"
#include "ui/canvas/canvas-flight.h"
#include "ui/canvas/canvas-hints.h"
#include "ui/canvas/canvas-keys.h"
#include "ui/canvas/canvas-menu.h"
#include "ui/canvas/canvas-pointer.h"
#include "ui/canvas/connect-chooser.h"
#include "ui/canvas/gesture-commands.h"
#include "ui/canvas/quick-add.h"
#include "ui/canvas/swap-chooser.h"
#include "ui/canvas/waypoints.h"
#include "ui/charts/studio-icon.h"

static void
test_pictures (Fixture *f, gconstpointer data)
{
  CanvasPictures *pictures = canvas_pictures_new (f->widget);
  cairo_surface_t *frame = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, 1, 1);
  PangoLayout *text = canvas_pictures_far_text (pictures);

  g_assert_cmpfloat (canvas_pictures_theme (pictures)->background.alpha, >, 0);
  g_assert_true (canvas_pictures_far_text (pictures) == text);
  g_assert_nonnull (canvas_pictures_icon (pictures, "edit-find-symbolic"));
  g_assert_null (canvas_pictures_icon (pictures, "no-such-icon"));
  g_assert_null (canvas_pictures_get_frame (pictures, "a"));
  canvas_pictures_put_frame (pictures, "a", frame);
  g_assert_true (canvas_pictures_get_frame (pictures, "a") == frame);
  g_hash_table_insert (canvas_pictures_shape_labels (pictures), g_strdup ("B × 4"), g_object_ref (text));
  canvas_pictures_forget_style (pictures, FALSE);
  g_assert_null (canvas_pictures_get_frame (pictures, "a"));
  g_assert_cmpuint (g_hash_table_size (canvas_pictures_shape_labels (pictures)), ==, 1);
  canvas_pictures_forget_style (pictures, TRUE);
  g_assert_cmpuint (g_hash_table_size (canvas_pictures_shape_labels (pictures)), ==, 0);
  canvas_pictures_forget_icons (pictures);
  canvas_pictures_free (pictures);
}

/* ---- view ------------------------------------------------------------------ */

static gboolean
shows (const CanvasView *view, const StudioScene *scene)
{
  StudioRect visible = studio_view_visible (canvas_view_get (view)), all = studio_geometry_bounds_with_pins (scene);

  return all.x >= visible.x && all.y >= visible.y && all.x + all.width <= visible.x + visible.width
         && all.y + all.height <= visible.y + visible.height;
}

static void
test_view (Fixture *f, gconstpointer data)
{
  Changes changes = { 0, 0 };
  CanvasView *view = canvas_view_new (f->widget, changed_cb, &changes);
  StudioRect far_away = { 5000, 5000, 10, 10 };
  double x, y;

  g_assert_true (canvas_view_needs_fit (view));
  canvas_view_fit (view, f->scene); /* there is no size yet */
  g_assert_cmpuint (changes.n, ==, 0);
  g_assert_true (canvas_view_set_size (view, 1200, 800));
  g_assert_false (canvas_view_set_size (view, 1200, 800));
  canvas_view_fit (view, f->scene);
  g_assert_true (!canvas_view_needs_fit (view) && shows (view, f->scene));
  /* It is fitted again at another size, until it is moved. */
  canvas_view_set_size (view, 600, 800);
  g_assert_true (canvas_view_needs_fit (view));
  canvas_view_fit_again (view, f->scene);
  g_assert_true (shows (view, f->scene));
  changes = (Changes){ 0, 0 };
  x = canvas_view_get (view)->x;
  canvas_view_pan (view, 10, 0);
  g_assert_cmpfloat_with_epsilon (canvas_view_get (view)->x, x + 10 / canvas_view_get (view)->zoom, 1e-9);
  g_assert_true (changes.n == 1 && changes.n_zoomed == 0);
  canvas_view_set_size (view, 900, 800);
  g_assert_false (canvas_view_needs_fit (view));

  canvas_view_zoom_at (view, 2, 0, 0);
  g_assert_true (changes.n == 2 && changes.n_zoomed == 1);
  canvas_view_center (view, 30, 40);
  canvas_view_get_center (view, &x, &y);
  g_assert_true (fabs (x - 30) < 1e-9 && fabs (y - 40) < 1e-9);
  canvas_view_reveal (view, &far_away);
  g_assert_true (far_away.x < studio_view_visible (canvas_view_get (view)).x + canvas_view_get (view)->width);
  /* Each scope has a view. */
  g_assert_false (canvas_view_enter_scope (view, "b1"));
  x = canvas_view_get (view)->x;
  canvas_view_move_to (view, 1, 2);
  g_assert_true (canvas_view_enter_scope (view, ""));
  g_assert_cmpfloat (canvas_view_get (view)->x, ==, x);
  g_assert_true (canvas_view_set_presented (view, TRUE) && !canvas_view_set_presented (view, TRUE));
  canvas_view_free (view);
}

static gboolean
sees (const CanvasView *view, const StudioRect *r)
{
  const StudioRect seen = studio_view_visible (canvas_view_get (view));

  return r->x >= seen.x && r->y >= seen.y && r->x + r->width <= seen.x + seen.width
         && r->y + r->height <= seen.y + seen.height;
}

/* In a window that is too small for a readable graph, everything is shown only if it was asked for, also when the
 * window gets another size. */
static void
test_fit (Fixture *f, gconstpointer data)
{
  Changes changes = { 0, 0 };
  CanvasView *view = canvas_view_new (f->widget, changed_cb, &changes);
  const StudioRect chips = { -400, -300, 100, 40 };
  double all;

  canvas_view_set_size (view, 300, 100);
  canvas_view_fit (view, f->scene);
  all = canvas_view_get (view)->zoom;
  g_assert_true (shows (view, f->scene));
  canvas_view_fit_readable (view, f->scene);
  g_assert_cmpfloat (canvas_view_get (view)->zoom, >, 1.2 * all);
  canvas_view_set_size (view, 304, 100);
  canvas_view_fit_again (view, f->scene);
  g_assert_cmpfloat (canvas_view_get (view)->zoom, >, 1.2 * all);
  canvas_view_fit (view, f->scene);
  canvas_view_set_size (view, 300, 100);
  canvas_view_fit_again (view, f->scene);
  g_assert_true (canvas_view_get (view)->zoom == all && shows (view, f->scene));
  /* Chips next to cards belong to everything. */
  canvas_view_set_chips (view, &chips);
  canvas_view_fit (view, f->scene);
  g_assert_true (shows (view, f->scene) && sees (view, &chips));
  canvas_view_set_chips (view, &(StudioRect){ 0, 0, 0, 0 });
  canvas_view_fit (view, f->scene);
  g_assert_true (canvas_view_get (view)->zoom == all);
  /* Above a legend, however high it is. */
  const StudioRect cards = studio_geometry_bounds_with_pins (f->scene);
  canvas_view_set_size (view, 3000, cards.height + 100);
  canvas_view_set_legend (view, 60);
  canvas_view_fit (view, f->scene);
  const StudioRect visible = studio_view_visible (canvas_view_get (view));
  g_assert_cmpfloat (cards.y + cards.height, <=, visible.y + visible.height - 60 / canvas_view_get (view)->zoom);
  canvas_view_set_legend (view, 1000);
  canvas_view_fit (view, f->scene);
  g_assert_true (shows (view, f->scene));
  canvas_view_free (view);
}

/* What is kept in sight stays there when the canvas shrinks, fitted or not, until the user moves the view. */
static void
test_in_sight (Fixture *f, gconstpointer data)
{
  Changes changes = { 0, 0 };
  CanvasView *view = canvas_view_new (f->widget, changed_cb, &changes);
  const StudioRect card = { 500, 300, 90, 60 };

  for (guint is_fitted = 0; is_fitted < 2; is_fitted++)
    {
      canvas_view_set_size (view, 600, 400);
      canvas_view_fit_readable (view, f->scene);
      if (!is_fitted)
        canvas_view_move_to (view, -2000, -2000);
      canvas_view_keep_in_sight (view, &card);
      g_assert_true (sees (view, &card));
      canvas_view_set_size (view, 200, 120);
      if (canvas_view_needs_fit (view))
        canvas_view_fit_again (view, f->scene);
      g_assert_true (sees (view, &card));
    }
  canvas_view_move_to (view, -2000, -2000);
  canvas_view_set_size (view, 300, 200);
  g_assert_false (sees (view, &card));
  canvas_view_free (view);
}

/* A part is shown with or without a flight, and kept if that is wanted. */
static void
test_part (Fixture *f, gconstpointer data)
{
  Changes changes = { 0, 0 };
  CanvasView *view = canvas_view_new (f->widget, changed_cb, &changes);
  const graphene_rect_t part = GRAPHENE_RECT_INIT (100, 50, 300, 200);

  g_object_set (gtk_widget_get_settings (f->widget), "gtk-enable-animations", data != NULL, NULL);
  canvas_view_set_size (view, 600, 400);
  canvas_view_show_part (view, &part, TRUE, f->scene);
  while (fabs (canvas_view_get (view)->zoom - 2) > 1e-6)
    {
      g_assert_nonnull (data);
      g_main_context_iteration (NULL, TRUE);
    }
  g_assert_cmpfloat_with_epsilon (canvas_view_get (view)->x, 100, 1e-3);
  g_assert_cmpuint (changes.n, >=, data != NULL ? 3 : 1);
  canvas_view_set_size (view, 300, 200);
  g_assert_true (canvas_view_needs_fit (view));
  canvas_view_fit_again (view, f->scene);
  g_assert_cmpfloat_with_epsilon (canvas_view_get (view)->zoom, 1, 1e-6);
  /* The user moves on during a flight. */
  canvas_view_show_part (view, NULL, TRUE, f->scene);
  canvas_view_move_to (view, -7, -7);
  rest ();
  g_assert_cmpfloat (canvas_view_get (view)->x, ==, -7);
  canvas_view_forget_fit (view);
  canvas_view_stop (view);
  canvas_view_free (view);
  g_object_set (gtk_widget_get_settings (f->widget), "gtk-enable-animations", FALSE, NULL);
}

static StudioScene *
scene_cb (gpointer data)
{
  return ((Fixture *)data)->scene;
}

static void
moved_cb (gpointer data)
{
}

/* During a glide the scene follows the document's positions, and ends at them. */
static void
test_glide (Fixture *f, gconstpointer data)
{
  CanvasGlide *glide = canvas_glide_new (f->widget, (CanvasGlideOwner){ scene_cb, moved_cb, f });
  double *x = &f->scene->item[0].x, before = *x;
  GArray *places;

  g_object_set (gtk_widget_get_settings (f->widget), "gtk-enable-animations", TRUE, NULL);
  places = canvas_glide_note (glide);
  *x += 100;
  canvas_glide_start (glide, places);
  g_assert_cmpfloat (*x, ==, before);
  while (*x != before + 100)
    g_main_context_iteration (NULL, TRUE);
  places = canvas_glide_note (glide);
  *x += 100;
  canvas_glide_start (glide, places);
  canvas_glide_finish (glide);
  g_assert_cmpfloat (*x, ==, before + 200);
  places = canvas_glide_note (glide);
  *x += 100;
  canvas_glide_start (glide, places);
  canvas_glide_drop (glide);
  canvas_glide_finish (glide);
  g_assert_cmpfloat (*x, ==, before + 200);
  g_object_set (gtk_widget_get_settings (f->widget), "gtk-enable-animations", FALSE, NULL);
  *x = before;
  canvas_glide_start (glide, canvas_glide_note (glide));
  canvas_glide_free (glide);
}

/* ---- pictures over and below the cards --------------------------------------- */

static void
test_marks (Fixture *f, gconstpointer data)
{
  CanvasMarks *marks = canvas_marks_new (f->widget);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomGraph *before = loom_graph_read_data (chain, strlen (chain), "chain", faults, NULL);
  g_autoptr (StudioComparison) comparison = NULL;
  const StudioView view = { 1, -1000, -1000, 3000, 3000 };
  StudioTheme theme;
  g_autofree char *words = NULL;
  GtkSnapshot *snapshot = gtk_snapshot_new ();

  studio_theme_init (&theme, FALSE, FALSE);
  g_assert_null (canvas_marks_dup_words (marks, "fc"));
  canvas_marks_snapshot (marks, snapshot, f->scene, &view, &theme);
  canvas_marks_snapshot_ghosts (marks, snapshot, f->scene, &view, &theme);
  g_assert_false (draws (snapshot));
  studio_document_set_attribute (f->document, serial (f, "fc"), "out_features", "5");
  studio_document_select_only (f->document, serial (f, "b2"));
  studio_document_delete_selection (f->document);
  f->scene = studio_document_get_scene (f->document);
  comparison = studio_comparison_new (f->document, before, "before");
  g_assert_true (canvas_marks_set (marks, comparison));
  g_assert_false (canvas_marks_set (marks, comparison));
  words = canvas_marks_dup_words (marks, "fc");
  g_assert_nonnull (words);
  g_assert_null (canvas_marks_dup_words (marks, "x"));
  snapshot = gtk_snapshot_new ();
  canvas_marks_snapshot (marks, snapshot, f->scene, &view, &theme);
  g_assert_true (draws (snapshot));
  snapshot = gtk_snapshot_new ();
  canvas_marks_snapshot_ghosts (marks, snapshot, f->scene, &view, &theme);
  g_assert_true (draws (snapshot));
  canvas_marks_free (marks);
}

/* An operator over a wire goes into it, and so does a card that fits there. */
static void
test_landing (Fixture *f, gconstpointer data)
{
  CanvasLanding *landing = canvas_landing_new (f->widget, f->document);
  const StudioView view = { 1, -1000, -1000, 3000, 3000 };
  StudioDragOp *drag = studio_drag_op_new ("tanh", FALSE);
  const StudioRoute *route = studio_scene_routes (f->scene);
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  StudioTheme theme;
  StudioAddPlace place;
  double x, y, below;
  guint64 added;
  guint at;

  studio_theme_init (&theme, FALSE, FALSE);
  canvas_landing_snapshot (landing, snapshot, f->scene, &view, &theme);
  g_assert_false (draws (snapshot));
  place = canvas_landing_find_place (landing, drag, f->scene, &view, 2990, 2990);
  g_assert_cmpint (place.kind, ==, STUDIO_ADD_AT);
  studio_route_at (&route[0], 0.5, &x, &y);
  studio_view_to_screen (&view, x, y, &x, &y);
  place = canvas_landing_find_place (landing, drag, f->scene, &view, x, y);
  g_assert_cmpint (place.kind, ==, STUDIO_ADD_ON_WIRE);
  g_assert_cmpuint (place.serial, ==, f->scene->link[0].serial);
  g_assert_true (canvas_landing_show (landing, drag, &place, &below));
  snapshot = gtk_snapshot_new ();
  canvas_landing_snapshot (landing, snapshot, f->scene, &view, &theme);
  g_assert_true (draws (snapshot));
  canvas_landing_forget (landing);
  snapshot = gtk_snapshot_new ();
  canvas_landing_snapshot (landing, snapshot, f->scene, &view, &theme);
  g_assert_false (draws (snapshot));
  g_boxed_free (STUDIO_TYPE_DRAG_OP, drag);

  g_assert_false (canvas_landing_land (landing, 0, 0));
  added = studio_document_add_node (f->document, "tanh", 3000, 3000);
  studio_document_select_only (f->document, added);
  studio_document_get_net (f->document);
  f->scene = studio_document_get_scene (f->document);
  at = studio_scene_find (f->scene, added);
  studio_route_at (&studio_scene_routes (f->scene)[0], 0.5, &x, &y);
  f->scene->item[at].x = x - f->scene->item[at].width / 2;
  f->scene->item[at].y = y - f->scene->item[at].height / 2;
  canvas_landing_aim (landing, f->scene);
  g_assert_true (canvas_landing_land (landing, 24, 24));
  f->scene = studio_document_get_scene (f->document);
  g_assert_cmpuint (f->scene->item[studio_scene_find (f->scene, added)].output[0].n_links, ==, 1);
  canvas_landing_show_fix (landing, 0);
  canvas_landing_free (landing);
}

static void
test_hints (Fixture *f, gconstpointer data)
{
  const StudioView view = { 1, -1000, -1000, 3000, 3000 };
  StudioTheme theme;
  CanvasFrame frame = { NULL, f->scene, &view, &theme };
  StudioGesture gesture;

  studio_theme_init (&theme, FALSE, FALSE);
  studio_gesture_init (&gesture);
  frame.snapshot = gtk_snapshot_new ();
  canvas_hints_draw_wire (&frame, &gesture);
  canvas_hints_draw_drag (&frame, &gesture);
  canvas_hints_draw_lines (&frame, &gesture);
  g_assert_false (draws (frame.snapshot));
  for (StudioGestureState state = STUDIO_GESTURE_BOXING; state <= STUDIO_GESTURE_CUTTING; state++)
    {
      gesture.state = state;
      gesture.from_output = TRUE;
      gesture.fixed_item = item (f, "fc");
      gesture.box = (StudioRect){ 0, 0, 50, 50 };
      gesture.x = gesture.y = 70;
      frame.snapshot = gtk_snapshot_new ();
      canvas_hints_draw_wire (&frame, &gesture);
      canvas_hints_draw_drag (&frame, &gesture);
      canvas_hints_draw_lines (&frame, &gesture);
      g_assert_true (draws (frame.snapshot));
    }
  frame.snapshot = gtk_snapshot_new ();
  canvas_hints_draw_refusal (&frame, "It would be a cycle.", gtk_widget_get_pango_context (f->widget), 2995, 2995);
  g_assert_true (draws (frame.snapshot));
}

static gboolean
none_selected (guint64 wire, gpointer n_calls)
{
  ++*(guint *)n_calls;
  return FALSE;
}

/* Wires are rendered once until they are forgotten. */
static void
test_wire_cache (Fixture *f, gconstpointer data)
{
  const StudioView view = { 1, -1000, -1000, 3000, 3000 };
  CanvasWireCache *cache = canvas_wire_cache_new ();
  CanvasPictures *pictures = canvas_pictures_new (f->widget);
  const StudioTheme *theme = canvas_pictures_theme (pictures);
  GHashTable *labels = canvas_pictures_shape_labels (pictures);
  guint n_calls = 0, once;

  for (guint i = 0; i < 3; i++)
    {
      GtkSnapshot *snapshot = gtk_snapshot_new ();

      canvas_wire_cache_snapshot (cache, snapshot, f->scene, &view, theme, 0, none_selected, &n_calls);
      g_assert_true (draws (snapshot));
      once = i == 0 ? n_calls : once;
      g_assert_cmpuint (n_calls, ==, i < 2 ? once : 2 * once);
      if (i == 1)
        canvas_wire_cache_forget (cache);
      snapshot = gtk_snapshot_new ();
      canvas_wire_cache_snapshot_labels (cache, snapshot, f->scene, &view, theme, STUDIO_NO_ITEM,
                                         gtk_widget_get_pango_context (f->widget), labels);
      g_assert_true (draws (snapshot));
      g_assert_cmpuint (g_hash_table_size (labels), >, 0);
      canvas_wire_cache_forget_labels (cache);
    }
  canvas_pictures_free (pictures);
  canvas_wire_cache_free (cache);
}

/* ---- children ------------------------------------------------------------------ */

static void
test_pins (Fixture *f, gconstpointer data)
{
  CanvasPins *pins = canvas_pins_new (f->widget);
  GtkWidget *own = gtk_label_new ("own"), *inner = gtk_label_new ("inner"), *other = gtk_label_new ("other");
  StudioView view = { 1, -1000, -1000, 3000, 3000 };

  g_assert_false (canvas_pins_set (pins, "fc", NULL));
  g_assert_true (canvas_pins_set (pins, "fc", own));
  g_assert_false (canvas_pins_set (pins, "fc", own));
  g_assert_true (canvas_pins_set (pins, "b1.fc", inner));
  g_assert_true (canvas_pins_set (pins, "b1.out", other));
  canvas_pins_allocate (pins, f->scene, &view);
  g_assert_true (gtk_widget_get_child_visible (own));
  g_assert_true (gtk_widget_get_child_visible (inner)); /* the first by name at the module's card */
  g_assert_false (gtk_widget_get_child_visible (other));
  view.zoom = 0.3;
  canvas_pins_allocate (pins, f->scene, &view);
  g_assert_false (gtk_widget_get_child_visible (own));
  g_assert_true (canvas_pins_set (pins, "fc", NULL));
  canvas_pins_free (pins);
}

/* One popover is open at a time; it goes from its parent after it is closed. */
static void
test_popover (Fixture *f, gconstpointer data)
{
  CanvasPopover *popover = canvas_popover_new (f->widget);
  GtkWidget *first = g_object_ref_sink (gtk_popover_new ()), *second = g_object_ref_sink (gtk_popover_new ());

  g_assert_null (canvas_popover_get (popover));
  canvas_popover_take (popover, first);
  canvas_popover_point_at (popover, first, 5000, -3);
  gtk_popover_popup (GTK_POPOVER (first));
  g_assert_true (canvas_popover_get (popover) == first && gtk_widget_get_parent (first) == f->widget);
  canvas_popover_take (popover, second);
  g_assert_true (canvas_popover_get (popover) == second);
  rest ();
  g_assert_null (gtk_widget_get_parent (first));
  g_assert_false (canvas_popover_release (popover, first));
  gtk_popover_popup (GTK_POPOVER (second));
  canvas_popover_present (popover);
  canvas_popover_close (popover);
  g_assert_null (canvas_popover_get (popover));
  rest ();
  g_assert_null (gtk_widget_get_parent (second));
  canvas_popover_forget (popover);
  g_object_unref (first);
  g_object_unref (second);
  canvas_popover_free (popover);
}

/* An icon outlives the row that shows it, although the theme's own cache has no room for it: the thread that loads
 * icons must not be the one that drops it. */
static void
test_icon (Fixture *f, gconstpointer data)
{
  GtkIconTheme *theme = gtk_icon_theme_get_for_display (gtk_widget_get_display (f->window));
  GtkWidget *row = g_object_ref_sink (studio_icon_image_new (f->window, "list-add-symbolic"));
  GdkPaintable *icon = gtk_image_get_paintable (GTK_IMAGE (row));
  g_autofree char *name = NULL;
  gboolean is_named;

  g_object_get (icon, "icon-name", &name, "is-symbolic", &is_named, NULL);
  g_assert_true (is_named && g_str_has_prefix (name, "list-add"));
  g_object_add_weak_pointer (G_OBJECT (icon), (gpointer *)&icon);
  g_object_unref (row);
  for (int size = 1; size <= 128; size++)
    g_object_unref (gtk_icon_theme_lookup_icon (theme, "list-add", NULL, size, 1, GTK_TEXT_DIR_LTR, 0));
  g_assert_nonnull (icon);
  row = g_object_ref_sink (studio_icon_image_new (f->window, "list-add-symbolic"));
  g_assert_true (gtk_image_get_paintable (GTK_IMAGE (row)) == icon);
  g_object_unref (row);
  g_signal_emit_by_name (theme, "changed");
  row = g_object_ref_sink (studio_icon_image_new (f->window, "list-add-symbolic"));
  g_assert_nonnull (gtk_image_get_paintable (GTK_IMAGE (row)));
  g_object_unref (row);
  g_clear_weak_pointer (&icon);
}

TEST_FILE (argc, argv)
{
  gtk_test_init (&argc, &argv, NULL);
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
  g_test_add ("/canvas-widgets/pictures", Fixture, NULL, set_up, test_pictures, tear_down);
  g_test_add ("/canvas-widgets/view", Fixture, NULL, set_up, test_view, tear_down);
  g_test_add ("/canvas-widgets/fit", Fixture, NULL, set_up, test_fit, tear_down);
  g_test_add ("/canvas-widgets/in-sight", Fixture, NULL, set_up, test_in_sight, tear_down);
  g_test_add ("/canvas-widgets/part", Fixture, NULL, set_up, test_part, tear_down);
  g_test_add ("/canvas-widgets/flight", Fixture, "animated", set_up, test_part, tear_down);
  g_test_add ("/canvas-widgets/glide", Fixture, NULL, set_up, test_glide, tear_down);
  g_test_add ("/canvas-widgets/marks", Fixture, NULL, set_up, test_marks, tear_down);
  g_test_add ("/canvas-widgets/landing", Fixture, NULL, set_up, test_landing, tear_down);
  g_test_add ("/canvas-widgets/hints", Fixture, NULL, set_up, test_hints, tear_down);
  g_test_add ("/canvas-widgets/wire-cache", Fixture, NULL, set_up, test_wire_cache, tear_down);
  g_test_add ("/canvas-widgets/pins", Fixture, NULL, set_up, test_pins, tear_down);
  g_test_add ("/canvas-widgets/popover", Fixture, NULL, set_up, test_popover, tear_down);
  g_test_add ("/canvas-widgets/icon", Fixture, NULL, set_up, test_icon, tear_down);
  return g_test_run ();
}
