/* Studio's own time for an edit: processor time of the main thread from the call until everything that follows from the
 * edit is done, which is inference, checks, scene, cards, panes, title and the question whether the file differs.
 *
 * bench-edit NODES [LIMIT [WORDS]]: first the document alone, then a whole window that is not shown, so that no frame
 * is drawn and hidden panes wait. Each row is the median of EDITS edits, and of the undos that take them back. Fails if
 * a median of the window is over LIMIT ms. WORDS: only the edits whose name contains them. With BENCH_SHOWN=1 the
 * window is shown, with its panes; layout and painting of its frames are not counted. */
#include <adwaita.h>
#include <glib/gstdio.h>
#include <time.h>

#include "tests/ui/bench-window.h"

enum
{
  EDITS = 15,
  COLUMNS = 50
};

/* Blocks of two linear layers, whose hidden width nothing else depends on, and a residual sum, on a grid. */
static char *
big_graph (guint n)
{
  GString *s = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                             "  <node id=\"data\" op=\"dataset\" source=\"spirals\"/>\n"
                             "  <node id=\"n0\" op=\"linear\" out_features=\"16\"/>\n");

  for (guint i = 1; i <= n; i++)
    switch (i % 4)
      {
      case 0:
        g_string_append_printf (s, "  <node id=\"n%u\" op=\"add\"/>\n", i);
        break;
      case 2:
        g_string_append_printf (s, "  <node id=\"n%u\" op=\"relu\"/>\n", i);
        break;
      default:
        g_string_append_printf (s, "  <node id=\"n%u\" op=\"linear\" out_features=\"16\"/>\n", i);
        break;
      }
  g_string_append (s, "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n"
                      "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                      "  <wire from=\"data.x\" to=\"n0\"/>\n");
  for (guint i = 1; i <= n; i++)
    {
      g_string_append_printf (s, "  <wire from=\"n%u\" to=\"n%u%s\"/>\n", i - 1, i, i % 4 == 0 ? ".input" : "");
      if (i % 4 == 0)
        g_string_append_printf (s, "  <wire from=\"n%u\" to=\"n%u.other\"/>\n", i - 4, i);
    }
  g_string_append_printf (s, "  <wire from=\"n%u\" to=\"head\"/>\n", n);
  g_string_append (s, "  <wire from=\"head\" to=\"loss.input\"/>\n"
                      "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                      "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.001\" batch_size=\"32\" epochs=\"1\"/>\n"
                      "  <layout>\n"
                      "    <place node=\"data\" x=\"-480\" y=\"0\"/>\n");
  for (guint i = 0; i <= n; i++)
    g_string_append_printf (s, "    <place node=\"n%u\" x=\"%u\" y=\"%u\"/>\n", i, i % COLUMNS * 240, i / COLUMNS * 96);
  g_string_append_printf (s,
                          "    <place node=\"head\" x=\"0\" y=\"%u\"/>\n    <place node=\"loss\" x=\"240\" y=\"%u\"/>\n"
                          "  </layout>\n</graph>\n",
                          (n / COLUMNS + 2) * 96, (n / COLUMNS + 2) * 96);
  return g_string_free (s, FALSE);
}

/* ---- the edits ------------------------------------------------------------ */

static guint64
serial_of (StudioDocument *document, const char *id)
{
  return loom_element_serial (loom_scope_find_node (studio_document_get_scope (document), id));
}

static void
set_parameter (StudioDocument *document, guint64 serial)
{
  studio_document_set_attribute (document, serial, "out_features", "24");
}

static void
rename_card (StudioDocument *document, guint64 serial)
{
  studio_document_rename (document, serial, "another_name", NULL);
}

static void
move_card (StudioDocument *document, guint64 serial)
{
  studio_document_move (document, &serial, 1, 24, 12);
}

static void
delete_wire (StudioDocument *document, guint64 serial)
{
  StudioScene *scene = studio_document_get_scene (document);

  studio_document_disconnect (document,
                              scene->link[scene->item[studio_scene_find (scene, serial)].input[0].link].serial);
}

static void
add_layer (StudioDocument *document, guint64 serial)
{
  studio_document_add_node (document, "relu", 1200, -400);
}

static void
delete_card (StudioDocument *document, guint64 serial)
{
  studio_document_select_only (document, serial);
  studio_document_delete_selection (document);
}

/* Adds a second wire, from a card's source to the next sum. */
static void
add_wire (StudioDocument *document, guint64 serial)
{
  StudioScene *scene = studio_document_get_scene (document);
  const guint i = studio_scene_find (scene, serial);
  const guint from = scene->link[scene->item[i].input[0].link].from;

  studio_document_connect (document, scene->item[from].serial, scene->item[from].output[0].name,
                           scene->item[i + 1].serial, scene->item[i + 1].input[0].name, NULL);
}

/* What two frames cost on their own. */
static void
change_nothing (StudioDocument *document, guint64 serial)
{
}

static const struct
{
  const char *name;
  void (*edit) (StudioDocument *document, guint64 serial);
} edits[] = {
  { "nothing", change_nothing },    { "set a parameter", set_parameter }, { "rename a card", rename_card },
  { "move a card", move_card },     { "delete a wire", delete_wire },     { "add a layer", add_layer },
  { "delete a card", delete_card }, { "wire two cards", add_wire },
};

/* ---- measuring ------------------------------------------------------------ */

static double
thread_ms (void)
{
  struct timespec t;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return x < y ? -1 : x > y;
}

static GdkFrameClock *frames;         /* of a window that is shown, while it is measured; NULL: none */
static double drawing, drawing_since; /* ms: layout and painting so far, and when they began */

static void
begin_drawing_cb (void)
{
  drawing_since = thread_ms ();
}

static void
end_drawing_cb (void)
{
  drawing += thread_ms () - drawing_since;
}

static GdkFrameClock *
show_window (StudioWindow *window)
{
  GdkFrameClock *clock;

  gtk_window_present (GTK_WINDOW (window));
  bench_run_for (1500);
  clock = gtk_widget_get_frame_clock (GTK_WIDGET (window));
  g_signal_connect (clock, "before-paint", G_CALLBACK (begin_drawing_cb), NULL);
  g_signal_connect_after (clock, "update", G_CALLBACK (begin_drawing_cb), NULL);
  g_signal_connect_after (clock, "after-paint", G_CALLBACK (end_drawing_cb), NULL);
  return clock;
}

/* What is shown may change before and after a frame. */
static void
draw_frame (void)
{
  const gint64 before = gdk_frame_clock_get_frame_counter (frames);

  gdk_frame_clock_request_phase (frames, GDK_FRAME_CLOCK_PHASE_PAINT);
  while (gdk_frame_clock_get_frame_counter (frames) == before)
    g_main_context_iteration (NULL, TRUE);
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
settle_document (StudioDocument *document)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
  for (guint i = 0; frames != NULL && i < 2; i++)
    draw_frame ();
  studio_document_get_scene (document);
}

static double
own_ms (void)
{
  return thread_ms () - drawing;
}

typedef struct
{
  double edit, undo; /* ms */
} Times;

static Times
measure (StudioDocument *document, guint which, const char *id)
{
  double edit[EDITS], undo[EDITS];

  for (guint i = 0; i < EDITS; i++)
    {
      double begin;

      settle_document (document);
      begin = own_ms ();
      edits[which].edit (document, serial_of (document, id));
      settle_document (document);
      edit[i] = own_ms () - begin;
      begin = own_ms ();
      studio_document_undo (document);
      settle_document (document);
      undo[i] = own_ms () - begin;
    }
  qsort (edit, EDITS, sizeof edit[0], compare);
  qsort (undo, EDITS, sizeof undo[0], compare);
  return (Times){ edit[EDITS / 2], undo[EDITS / 2] };
}

int
main (int argc, char **argv)
{
  const guint n = argc > 1 ? (guint)g_ascii_strtoull (argv[1], NULL, 10) : 2000;
  const double limit = argc > 2 ? g_ascii_strtod (argv[2], NULL) : G_MAXDOUBLE;
  const char *words = argc > 3 ? argv[3] : "";
  const gboolean alone = g_getenv ("BENCH_DOCUMENT_ONLY") != NULL;
  g_autofree char *text = big_graph (n), *path = NULL, *id = g_strdup_printf ("n%u", n / 8 * 4 + 1);
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (GError) error = NULL;
  int file = g_file_open_tmp ("bench-edit-XXXXXX.xml", &path, &error), status = 0;
  StudioWindow *window = NULL;
  GdkFrameClock *shown = NULL;

  if (file < 0 || !g_close (file, &error) || !g_file_set_contents (path, text, -1, &error)
      || !studio_document_open (document, path, &error))
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }
  if (!alone)
    {
      window = bench_window_open (2, (char *[]){ argv[0], path, NULL });
      bench_run_for (1500);
      if (g_getenv ("BENCH_SHOWN") != NULL)
        shown = show_window (window);
    }
  for (guint i = 0; i < G_N_ELEMENTS (edits); i++)
    {
      Times t;

      if (strstr (edits[i].name, words) == NULL)
        continue;
      t = measure (document, i, id);
      g_print ("%-18s document %7.2f ms, undo %7.2f", edits[i].name, t.edit, t.undo);
      if (!alone)
        {
          frames = shown;
          t = measure (studio_window_get_document (window), i, id);
          frames = NULL;
          g_print ("   window %7.2f ms, undo %7.2f", t.edit, t.undo);
          status |= t.edit > limit;
        }
      g_print ("   %u nodes\n", n);
    }
  if (!alone)
    {
      gtk_window_destroy (GTK_WINDOW (window));
      bench_run_for (100);
    }
  g_unlink (path);
  return status;
}
