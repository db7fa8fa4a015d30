/* How the work of the window grows with the graph: eight times the nodes may cost little more than eight times the CPU
 * time.
 *
 * Only the quotient of two times is compared, both taken in one process shortly after each other: quadratic work gives
 * 64. The accessibility tree is on, because updating it is part of the work. With an argument, the number of nodes,
 * prints the times of one size instead. */
#include <adwaita.h>
#include <stdlib.h>
#include <time.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "ui/window/studio-window-private.h"
#include "tests/test-program.h"

enum
{
  SMALL = 700,
  FACTOR = 8,
  BOUND = FACTOR * 3 / 2,
  TRIES = 3
};

/* ---- graphs ------------------------------------------------------------------------- */

typedef enum
{
  CHAIN,   /* each node feeds the next */
  PLACED,  /* the same, with positions */
  HUB,     /* one output feeds all */
  SKIPS,   /* each output feeds the next node and one at the other end of the list */
  LOOSE,   /* nothing is wired: a fault for each node */
  CONCAT,  /* all feed one node, through an input each */
  MODULES, /* a module for every 20 of its instances */
  N_KINDS
} Kind;

static const char *const kind_names[] = { "chain", "placed", "hub", "skips", "loose", "concat", "modules" };

static char *
new_graph (Kind kind, guint n)
{
  GString *s = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n");

  for (guint m = 0; kind == MODULES && m <= n / 20; m++)
    g_string_append_printf (s,
                            "<module name=\"m%u\"><node id=\"a\" op=\"module_input\"/><node id=\"r\" op=\"relu\"/>"
                            "<node id=\"z\" op=\"module_output\"/><wire from=\"a\" to=\"r\"/>"
                            "<wire from=\"r\" to=\"z\"/></module>\n",
                            m);
  g_string_append (s, "<node id=\"n0\" op=\"input\" shape=\"B,4\"/>\n");
  for (guint i = 1; i < n; i++)
    if (kind == MODULES)
      g_string_append_printf (s, "<node id=\"n%u\" module=\"m%u\"/>\n", i, i / 20);
    else
      g_string_append_printf (s, "<node id=\"n%u\" op=\"%s\"/>\n", i, kind == SKIPS ? "add" : "relu");
  if (kind == CONCAT)
    g_string_append (s, "<node id=\"all\" op=\"concat\" dim=\"1\"/>\n");
  for (guint i = 1; i < n && kind != LOOSE; i++)
    if (kind == HUB || kind == CONCAT)
      g_string_append_printf (s, "<wire from=\"n0\" to=\"n%u\"/>\n", i);
    else
      g_string_append_printf (s, "<wire from=\"n%u\" to=\"n%u%s\"/>\n", i - 1, i, kind == SKIPS ? ".input" : "");
  for (guint i = 1; i < n && kind == SKIPS; i++)
    g_string_append_printf (s, "<wire from=\"n%u\" to=\"n%u.other\"/>\n", (n - i) < i ? n - i : 0, i);
  for (guint i = 1; i < n && kind == CONCAT; i++)
    g_string_append_printf (s, "<wire from=\"n%u\" to=\"all.%u\"/>\n", i, i - 1);
  if (kind == PLACED)
    {
      g_string_append (s, "<layout>\n");
      for (guint i = 0; i < n; i++)
        g_string_append_printf (s, "<place node=\"n%u\" x=\"%u\" y=\"%u\"/>\n", i, i % 50 * 240, i / 50 * 96);
      g_string_append (s, "</layout>\n");
    }
  g_string_append (s, "</graph>\n");
  return g_string_free (s, FALSE);
}

/* ---- measuring ------------------------------------------------------------------------ */

enum
{
  OPEN,
  REOPEN,
  SELECT,
  DELETE,
  UNDO,
  LEAVE,
  N_STEPS
};

static const char *const step_names[]
    = { "open", "open over it", "select all", "delete half", "undo", "close the graph" };

static double
seconds (void)
{
  struct timespec t;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits until the work after a change (inference, a layout, a frame or two) is done, so that it is not counted in the
 * next step. */
static void
settle (void)
{
  gint64 end = g_get_monotonic_time () + 20 * G_TIME_SPAN_SECOND, quiet = g_get_monotonic_time () + 60 * 1000;

  while (g_get_monotonic_time () < MIN (quiet, end))
    if (g_main_context_iteration (NULL, FALSE))
      quiet = g_get_monotonic_time () + 60 * 1000;
    else
      g_usleep (500);
}

static void
select_half (StudioDocument *document)
{
  StudioScene *scene = studio_document_get_scene (document);
  g_autofree guint64 *serials = g_new (guint64, scene->n_items);
  guint n = 0;

  for (guint i = 1; i < scene->n_items; i += 2)
    serials[n++] = scene->item[i].serial;
  studio_document_select (document, serials, n);
}

static void
measure (StudioWindow *window, const char *path, double *times)
{
  StudioPage *page = studio_window_get_page (window);
  StudioDocument *document = studio_page_get_document (page);
  g_autoptr (GFile) file = g_file_new_for_path (path);

  for (guint step = 0; step < N_STEPS; step++)
    {
      double start;

      if (step == DELETE)
        {
          select_half (document);
          settle ();
        }
      start = seconds ();
      switch (step)
        {
        case OPEN:
        case REOPEN:
          g_assert_true (studio_page_open_file (page, file, NULL));
          break;
        case SELECT:
          studio_document_select_all (document);
          break;
        case DELETE:
          studio_document_delete_selection (document);
          break;
        case UNDO:
          g_assert_true (studio_document_undo (document));
          break;
        case LEAVE:
          studio_page_reset (page);
          break;
        }
      settle ();
      times[step] = MIN (times[step], seconds () - start);
    }
}

static StudioWindow *window;
static char *folder;

/* The growth of a step that costs less than a fraction of a frame is ignored. */
static double
growth_of (const double *small, const double *large, guint step)
{
  return large[step] / MAX (small[step], 5e-3);
}

/* Opens the graph up to `tries` times and keeps each step's minimum. With `small`, stops as soon as every step is
 * within the bound, because a large graph is slow to open and another try only helps if other programs interfered. */
static void
measure_kind (Kind kind, guint n, guint tries, double *times, const double *small)
{
  g_autofree char *text = new_graph (kind, n), *path = g_build_filename (folder, "graph.xml", NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  for (guint i = 0; i < N_STEPS; i++)
    times[i] = G_MAXDOUBLE;
  for (guint i = 0; i < tries; i++)
    {
      gboolean is_within = small != NULL;

      measure (window, path, times);
      for (guint step = 0; is_within && step < N_STEPS; step++)
        is_within = growth_of (small, times, step) < BOUND;
      if (is_within)
        break;
    }
}

static void
test_growth (gconstpointer data)
{
  Kind kind = GPOINTER_TO_UINT (data);
  double small[N_STEPS], large[N_STEPS];

  measure_kind (kind, SMALL, TRIES, small, NULL);
  measure_kind (kind, SMALL * FACTOR, TRIES, large, small);
  for (guint step = 0; step < N_STEPS; step++)
    {
      double growth = growth_of (small, large, step);

      g_test_message ("%s: %s: %.1f times the time of %d nodes for %d times as many", kind_names[kind],
                      step_names[step], growth, SMALL, FACTOR);
      g_assert_cmpfloat (growth, <, BOUND);
    }
}

static void
print_times (guint n)
{
  g_print ("%u nodes, ms:", n);
  for (guint step = 0; step < N_STEPS; step++)
    g_print (" %12s", step_names[step]);
  for (guint kind = 0; kind < N_KINDS; kind++)
    {
      double times[N_STEPS];

      measure_kind (kind, n, 1, times, NULL);
      g_print ("\n%16s", kind_names[kind]);
      for (guint step = 0; step < N_STEPS; step++)
        g_print (" %12.0f", times[step] * 1e3);
    }
  g_print ("\n");
}

static int status;

static void
activate_cb (GtkApplication *application, const char *size)
{
  window = studio_window_new (ADW_APPLICATION (application));
  gtk_window_present (GTK_WINDOW (window));
  settle ();
  if (size != NULL)
    print_times ((guint)atoi (size));
  else
    status = g_test_run ();
  gtk_window_destroy (GTK_WINDOW (window));
}

TEST_FILE (argc, argv)
{
  g_autoptr (AdwApplication) application = NULL;

  folder = g_dir_make_tmp ("gradloom-growth-XXXXXX", NULL);
  g_setenv ("XDG_STATE_HOME", folder, TRUE);
  g_setenv ("XDG_DATA_HOME", folder, TRUE);
  g_unsetenv ("GTK_A11Y");
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  for (guint kind = 0; kind < N_KINDS; kind++)
    {
      g_autofree char *name = g_strdup_printf ("/growth/%s", kind_names[kind]);

      g_test_add_data_func (name, GUINT_TO_POINTER (kind), test_growth);
    }
  application = adw_application_new ("org.gradloom.Test", G_APPLICATION_NON_UNIQUE);
  g_signal_connect (application, "activate", G_CALLBACK (activate_cb), argc > 1 ? argv[1] : NULL);
  g_application_run (G_APPLICATION (application), 0, NULL);
  g_free (folder);
  return status;
}
