/* The cards of a canvas, their agreement with the document, and the board, on a plain widget instead of a canvas. */
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

/* What cards need, without a canvas. */
typedef struct
{
  Changes changes;
  StudioGesture gesture;
  CanvasHover hover;
  CardValues *values;
  CanvasMarks *marks;
  CanvasPorts *ports;
  StudioSceneSpotlight *spotlight;
  CardContext context;
  CanvasCards *cards;
} Cards;

static void
cards_set_up (Cards *c, Fixture *f)
{
  *c = (Cards){ .values = card_values_new (),
                .marks = canvas_marks_new (f->widget),
                .ports = canvas_ports_new (f->document),
                .spotlight = studio_scene_spotlight_new () };
  studio_gesture_init (&c->gesture);
  c->hover.item = c->hover.link = STUDIO_NO_ITEM;
  c->context = (CardContext){ .document = f->document,
                              .pictures = canvas_pictures_new (f->widget),
                              .view = canvas_view_new (f->widget, changed_cb, &c->changes),
                              .values = c->values,
                              .marks = c->marks,
                              .ports = c->ports,
                              .gesture = &c->gesture,
                              .hover = &c->hover };
  c->cards = canvas_cards_new (f->widget, &c->context, c->spotlight);
}

static void
cards_tear_down (Cards *c, Fixture *f)
{
  GtkWidget *child;

  canvas_cards_forget (c->cards);
  while ((child = gtk_widget_get_first_child (f->widget)) != NULL)
    gtk_widget_unparent (child);
  canvas_cards_free (c->cards);
  canvas_view_free ((CanvasView *)c->context.view);
  canvas_pictures_free (c->context.pictures);
  studio_scene_spotlight_free (c->spotlight);
  canvas_ports_free (c->ports);
  canvas_marks_free (c->marks);
  card_values_free (c->values);
}

static guint
n_children (GtkWidget *widget)
{
  guint n = 0;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n++;
  return n;
}

/* A card for each item, in the scene's order, which stays if the item does. */
static void
test_cards (Fixture *f, gconstpointer data)
{
  const StudioView view = { 1, -1000, -1000, 3000, 3000 }, nowhere = { 1, 90000, 90000, 100, 100 };
  const char *const lit[] = { "fc", NULL };
  guint64 fc = serial (f, "fc"), act = serial (f, "act"), note;
  GtkSnapshot *snapshot;
  GtkWidget *kept;
  Cards c;

  cards_set_up (&c, f);
  canvas_cards_sync (c.cards, f->scene);
  g_assert_cmpuint (n_children (f->widget), ==, f->scene->n_items);
  kept = GTK_WIDGET (canvas_cards_find (c.cards, fc));
  g_assert_cmpuint (studio_node_get_item (STUDIO_NODE (kept)), ==, item (f, "fc"));
  gtk_test_accessible_assert_role (kept, GTK_ACCESSIBLE_ROLE_LIST_ITEM);
  gtk_widget_grab_focus (kept);
  g_assert_true (canvas_cards_get_focused (c.cards) == STUDIO_NODE (kept));
  g_assert_cmpuint (canvas_cards_get_last_focus (c.cards), ==, fc);
  g_assert_cmpuint (canvas_cards_get_current (c.cards, f->scene), ==, item (f, "fc"));

  canvas_cards_allocate (c.cards, f->scene, &view, 0);
  g_assert_true (gtk_widget_get_child_visible (kept));
  g_assert_cmpint (gtk_widget_get_width (kept), >=, (int)STUDIO_CARD_WIDTH);
  snapshot = gtk_snapshot_new ();
  canvas_cards_snapshot (c.cards, snapshot);
  g_assert_true (draws (snapshot));
  /* The focused card and the one that a drag holds are kept out of sight. */
  canvas_cards_allocate (c.cards, f->scene, &nowhere, act);
  g_assert_true (gtk_widget_get_child_visible (kept));
  g_assert_true (gtk_widget_get_child_visible (GTK_WIDGET (canvas_cards_find (c.cards, act))));
  g_assert_false (gtk_widget_get_child_visible (GTK_WIDGET (canvas_cards_find (c.cards, serial (f, "x")))));

  studio_scene_spotlight_set (c.spotlight, "", lit);
  canvas_cards_light (c.cards, f->scene);
  g_assert_cmpfloat (gtk_widget_get_opacity (kept), ==, 1);
  g_assert_cmpfloat (gtk_widget_get_opacity (GTK_WIDGET (canvas_cards_find (c.cards, act))), <, 0.5);

  note = studio_document_add_note (f->document, "A note", 0, 0);
  studio_document_select_only (f->document, act);
  studio_document_delete_selection (f->document);
  studio_document_select_only (f->document, note);
  f->scene = studio_document_get_scene (f->document);
  canvas_cards_sync (c.cards, f->scene);
  canvas_cards_sync_annotations (c.cards, f->scene);
  g_assert_true (GTK_WIDGET (canvas_cards_find (c.cards, fc)) == kept);
  g_assert_null (canvas_cards_find (c.cards, act));
  g_assert_nonnull (canvas_cards_find_annotation (c.cards, note));
  canvas_cards_allocate (c.cards, f->scene, &view, 0);
  snapshot = gtk_snapshot_new ();
  canvas_cards_snapshot_annotations (c.cards, f->scene, snapshot);
  g_assert_true (draws (snapshot));
  gtk_widget_grab_focus (GTK_WIDGET (canvas_cards_find_annotation (c.cards, note)));
  g_assert_cmpuint (canvas_cards_get_current_annotation (c.cards, f->scene), ==, 0);
  canvas_cards_set_last_focus (c.cards, 0);
  canvas_cards_select (c.cards);
  canvas_cards_place_faults (c.cards, f->scene);
  canvas_cards_restyle (c.cards, TRUE);
  canvas_cards_redraw (c.cards);
  canvas_cards_redraw_visible (c.cards);
  cards_tear_down (&c, f);
}

/* NULL: the card is described as it is in the scene. */
static char *
check_words (Fixture *f, Cards *c, guint64 serial)
{
  g_autofree char *words = studio_node_words (f->scene, studio_scene_find (f->scene, serial), NULL);

  return gtk_test_accessible_check_property (GTK_ACCESSIBLE (canvas_cards_find (c->cards, serial)),
                                             GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, words);
}

/* A card out of sight is described within the next frames, or when it gets the focus. */
static void
test_words (Fixture *f, gconstpointer data)
{
  const StudioView nowhere = { 1, 90000, 90000, 100, 100 };
  const guint64 fc = serial (f, "fc"), act = serial (f, "act");
  char *other;
  Cards c;

  cards_set_up (&c, f);
  canvas_cards_sync (c.cards, f->scene);
  g_assert_null (check_words (f, &c, fc));
  canvas_cards_allocate (c.cards, f->scene, &nowhere, 0);
  studio_document_select_only (f->document, act);
  studio_document_delete_selection (f->document);
  studio_document_get_net (f->document);
  f->scene = studio_document_get_scene (f->document);
  canvas_cards_sync (c.cards, f->scene);
  while ((other = check_words (f, &c, fc)) != NULL)
    {
      g_free (other);
      g_main_context_iteration (NULL, TRUE);
    }
  studio_document_undo (f->document);
  studio_document_get_net (f->document);
  f->scene = studio_document_get_scene (f->document);
  canvas_cards_sync (c.cards, f->scene);
  gtk_widget_grab_focus (GTK_WIDGET (canvas_cards_find (c.cards, fc)));
  g_assert_null (check_words (f, &c, fc));
  cards_tear_down (&c, f);
}

typedef struct
{
  guint n_synced;
  double dx, dy;
} Synced;

static void
shift_cb (double dx, double dy, gpointer data)
{
  ((Synced *)data)->dx = dx;
  ((Synced *)data)->dy = dy;
}

static void
synced_cb (gpointer data)
{
  ((Synced *)data)->n_synced++;
}

/* Cards agree when the scene is read, or before the next frame; a displacement goes over to the new scene. */
static void
test_sync (Fixture *f, gconstpointer data)
{
  Synced synced = { 0, 0, 0 };
  CanvasOptions *options = canvas_options_new ();
  CanvasShift *shift = canvas_shift_new (f->document);
  guint64 fc = serial (f, "fc");
  CanvasSync *sync;
  Cards c;

  cards_set_up (&c, f);
  sync = canvas_sync_new (f->widget, f->document, c.cards, options, shift,
                          (CanvasSyncOwner){ shift_cb, synced_cb, &synced });
  canvas_sync_now (sync);
  g_assert_cmpuint (synced.n_synced, ==, 1);
  g_assert_true (canvas_sync_scene (sync) == f->scene && !canvas_sync_is_stale (sync));
  studio_document_select_only (f->document, fc);
  g_assert_true (canvas_sync_select (sync));
  canvas_shift_to (shift, 30, 0);
  studio_document_delete_selection (f->document);
  canvas_sync_later (sync);
  g_assert_true (canvas_sync_is_stale (sync));
  g_assert_false (canvas_sync_select (sync));
  g_assert_nonnull (canvas_cards_find (c.cards, fc));
  f->scene = canvas_sync_scene (sync);
  g_assert_null (canvas_cards_find (c.cards, fc));
  g_assert_cmpuint (synced.n_synced, ==, 2);
  g_assert_cmpfloat (synced.dx, ==, 30);
  studio_document_undo (f->document);
  canvas_sync_later (sync);
  while (canvas_sync_is_stale (sync))
    g_main_context_iteration (NULL, TRUE);
  g_assert_nonnull (canvas_cards_find (c.cards, fc));
  canvas_sync_later (sync);
  canvas_sync_stop (sync);
  canvas_sync_free (sync);
  cards_tear_down (&c, f);
  canvas_shift_free (shift);
  canvas_options_free (options);
}

/* ---- the board ------------------------------------------------------------------- */

typedef struct
{
  char *sentence;
  guint n_inspected, n_viewed, n_changed;
} Reports;

static void
say_cb (const char *sentence, gpointer data)
{
  g_free (((Reports *)data)->sentence);
  ((Reports *)data)->sentence = g_strdup (sentence);
}

static void
inspect_cb (gpointer data)
{
  ((Reports *)data)->n_inspected++;
}

static void
describe_cb (const char *path, gpointer data)
{
}

static void
viewed_cb (gpointer data)
{
  ((Reports *)data)->n_viewed++;
}

static void
possible_cb (gpointer data)
{
  ((Reports *)data)->n_changed++;
}

static CanvasBoard *
new_board (Fixture *f, Reports *reports)
{
  CanvasBoardOwner owner = { say_cb, inspect_cb, describe_cb, viewed_cb, possible_cb, reports };
  CanvasBoard *board = canvas_board_new (f->widget, f->document, owner);

  canvas_sync_now (board->sync);
  canvas_view_set_size (board->view, 600, 400);
  canvas_board_fit (board);
  canvas_cards_allocate (board->cards, canvas_board_scene (board), canvas_board_view (board), 0);
  return board;
}

static void
close_board (CanvasBoard *board, Reports *reports)
{
  canvas_board_close (board);
  canvas_board_free (board);
  g_free (reports->sentence);
}

static void
act (Fixture *f, const char *action)
{
  g_assert_true (gtk_widget_activate_action (f->widget, action, NULL));
}

/* A board on any widget has focus, selection, view and gestures; commands find it by the widget. */
static void
test_board (Fixture *f, gconstpointer data)
{
  Reports reports = { 0 };
  CanvasBoard *board = new_board (f, &reports);
  CanvasCommands *commands = canvas_commands_new (f->widget, f->document);
  StudioAddPlace place;
  GtkSnapshot *snapshot;
  double zoom, x, y;

  g_assert_true (canvas_board_of (f->widget) == board);
  g_assert_true (reports.n_viewed > 0 && reports.n_changed > 0);
  g_assert_true (canvas_board_focus_path (board, "fc"));
  g_assert_cmpuint (canvas_board_current (board), ==, item (f, "fc"));
  canvas_board_add_place (board, 0, 0, &place);
  g_assert_cmpint (place.kind, !=, STUDIO_ADD_AT);
  act (f, "canvas.next");
  g_assert_cmpuint (studio_document_get_selected (f->document, 0), ==, serial (f, "act"));
  act (f, "canvas.inspect");
  g_assert_cmpuint (reports.n_inspected, ==, 1);
  zoom = canvas_board_view (board)->zoom;
  act (f, "canvas.zoom-in");
  g_assert_cmpfloat (canvas_board_view (board)->zoom, >, zoom);
  act (f, "canvas.zoom-to-selection");
  canvas_commands_update (commands);
  g_assert_true (canvas_commands_can (commands, "canvas.copy"));
  studio_document_select_only (f->document, 0);
  canvas_commands_update (commands);
  g_assert_false (canvas_commands_can (commands, "canvas.copy"));
  canvas_board_focus_annotation (board, STUDIO_NO_ITEM);
  g_assert_true (gtk_widget_has_focus (f->widget));
  act (f, "canvas.swap");
  g_assert_cmpstr (reports.sentence, ==, "Select the layer to replace first.");
  board->hover.x = board->hover.y = -1;
  canvas_board_where_to_add (board, &x, &y);
  g_assert_true (x == 300);
  snapshot = gtk_snapshot_new ();
  canvas_drawing_snapshot (board, snapshot);
  g_assert_true (draws (snapshot));
  canvas_commands_free (commands);
  close_board (board, &reports);
}

/* A gesture moves cards once it ends, and nothing if it is ended. */
static void
test_board_gestures (Fixture *f, gconstpointer data)
{
  Reports reports = { 0 };
  CanvasBoard *board = new_board (f, &reports);
  StudioScene *scene = canvas_board_scene (board);
  StudioCommand move = { STUDIO_DO_MOVE, .dx = 24, .dy = 0 }, select = { STUDIO_DO_SELECT }, pan = { STUDIO_DO_PAN };
  double x = scene->item[item (f, "fc")].x, view_x = canvas_board_view (board)->x;
  guint64 fc = serial (f, "fc");

  select.serial = fc;
  gesture_commands_run (board, &select);
  g_assert_cmpuint (canvas_cards_get_last_focus (board->cards), ==, fc);
  board->gesture.state = STUDIO_GESTURE_MOVING;
  canvas_board_shift (board, 50, 0);
  g_assert_cmpfloat (scene->item[item (f, "fc")].x, ==, x + 50);
  canvas_board_end_gesture (board);
  g_assert_cmpfloat (scene->item[item (f, "fc")].x, ==, x);
  g_assert_cmpint (board->gesture.state, ==, STUDIO_GESTURE_IDLE);
  gesture_commands_run (board, &move);
  scene = canvas_board_scene (board);
  g_assert_cmpfloat (scene->item[studio_scene_find (scene, fc)].x, ==, x + 24);
  pan.dx = 10;
  gesture_commands_run (board, &pan);
  g_assert_cmpfloat (canvas_board_view (board)->x, <, view_x);
  /* Waypoints. */
  waypoints_add (board, scene->link[0].serial, 10, 20);
  g_assert_true (waypoints_move (board, 5, 0));
  scene = canvas_board_scene (board);
  g_assert_cmpfloat (scene->link[0].point[0].x, ==, 15);
  g_assert_true (waypoints_remove (board));
  g_assert_false (waypoints_remove (board));
  close_board (board, &reports);
}

static void
test_board_popovers (Fixture *f, gconstpointer data)
{
  Reports reports = { 0 };
  CanvasBoard *board = new_board (f, &reports);
  CanvasPointer *pointer = canvas_pointer_new (board);
  GtkWidget *opened[6];

  canvas_keys_add (board);
  canvas_menu_add (board);
  g_assert_true (canvas_board_focus_path (board, "fc"));
  quick_add_open (board, "re", 10, 10, NULL);
  opened[0] = canvas_popover_get (board->popover);
  connect_chooser_open (board, item (f, "fc"));
  opened[1] = canvas_popover_get (board->popover);
  swap_chooser_open (board);
  opened[2] = canvas_popover_get (board->popover);
  g_assert_false (quick_add_prompt (board, serial (f, "fc"), "nothing"));
  g_assert_true (quick_add_prompt (board, serial (f, "fc"), "out_features"));
  opened[3] = canvas_popover_get (board->popover);
  act (f, "canvas.menu");
  opened[4] = canvas_popover_get (board->popover);
  annotation_edit_add_note (board, 0, 0);
  opened[5] = canvas_popover_get (board->popover);
  for (guint i = 0; i < G_N_ELEMENTS (opened); i++)
    g_assert_true (opened[i] != NULL && (i == 0 || opened[i] != opened[i - 1]));
  canvas_popover_close (board->popover);
  g_assert_cmpuint (canvas_board_scene (board)->n_annotations, ==, 1);
  canvas_clipboard_copy (board);
  rest ();
  canvas_pointer_stop (pointer);
  canvas_board_close (board);
  gtk_window_set_child (GTK_WINDOW (f->window), NULL); /* with its controllers */
  canvas_pointer_free (pointer);
  canvas_board_free (board);
  g_free (reports.sentence);
}

TEST_FILE (argc, argv)
{
  gtk_test_init (&argc, &argv, NULL);
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
  g_test_add ("/canvas-board/cards", Fixture, NULL, set_up, test_cards, tear_down);
  g_test_add ("/canvas-board/words", Fixture, NULL, set_up, test_words, tear_down);
  g_test_add ("/canvas-board/sync", Fixture, NULL, set_up, test_sync, tear_down);
  g_test_add ("/canvas-board/board", Fixture, NULL, set_up, test_board, tear_down);
  g_test_add ("/canvas-board/gestures", Fixture, NULL, set_up, test_board_gestures, tear_down);
  g_test_add ("/canvas-board/popovers", Fixture, NULL, set_up, test_board_popovers, tear_down);
  return g_test_run ();
}
