/* The lesson pane: pages, check marks, answers, stored progress, and the editor. */
#include <adwaita.h>
#include <string.h>

#include "gradloom-resources.h"
#include "ui/lesson/studio-lesson-pane.h"
#include "ui/lesson/studio-markdown.h"
#include "ui/page/studio-handing-in.h"
#include "engine/runs/loom-hand-in.h"
#include "tests/test-program.h"

#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"taught\"><doc>About *it*: `act`.</doc>"                    \
  "<node id=\"x\" op=\"input\" shape=\"B,4\"/><node id=\"act\" op=\"relu\"/><wire from=\"x\" to=\"act\"/>"             \
  "<lesson title=\"First\" hand_in=\"true\"><page title=\"Read\">Words.</page><page title=\"Ask\" goal=\"answer 4\" "  \
  "hint=\"Two "                                                                                                        \
  "twice.\">"                                                                                                          \
  "2 + 2?</page><page title=\"Do\" goal=\"no relu\">Take it out.</page></lesson></graph>"

typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  StudioLesson *lesson;
} Fixture;

static Fixture
fixture_new (void)
{
  Fixture f = { .document = studio_document_new (), .run = studio_run_new () };
  g_autoptr (GError) error = NULL;

  g_assert_true (studio_document_open_text (f.document, GRAPH, -1, NULL, &error));
  f.lesson = studio_lesson_new (f.document, f.run);
  studio_lesson_opened (f.lesson);
  return f;
}

static void
fixture_clear (Fixture *f)
{
  g_object_unref (f->lesson);
  g_object_unref (f->run);
  g_object_unref (f->document);
}

static void
count_cb (guint *n)
{
  ++*n;
}

static void
test_pages (void)
{
  Fixture f = fixture_new ();
  guint completed = 0;

  g_signal_connect_swapped (f.lesson, "completed", G_CALLBACK (count_cb), &completed);
  g_assert_cmpuint (studio_lesson_n_pages (f.lesson), ==, 3);
  g_assert_false (studio_lesson_is_done (f.lesson, 0));
  studio_lesson_show_page (f.lesson, 1);
  g_assert_true (studio_lesson_is_done (f.lesson, 0)); /* it was read */
  studio_lesson_answer (f.lesson, "5");
  g_assert_false (studio_lesson_is_done (f.lesson, 1));
  studio_lesson_answer (f.lesson, "4");
  g_assert_true (studio_lesson_is_done (f.lesson, 1));
  studio_lesson_answer (f.lesson, "5");
  g_assert_true (studio_lesson_is_done (f.lesson, 1)); /* and stays */
  studio_lesson_show_page (f.lesson, 2);
  g_assert_false (studio_lesson_clause_holds (f.lesson, 0));
  LoomElement *act = loom_scope_find_node (loom_graph_root (studio_document_get_graph (f.document)), "act");
  studio_document_set_attribute (f.document, loom_element_serial (act), "op", "tanh");
  studio_document_get_net (f.document);
  g_assert_true (studio_lesson_is_done (f.lesson, 2));
  g_assert_cmpuint (completed, ==, 1);

  /* Another window finds what was done. */
  StudioLesson *again = studio_lesson_new (f.document, f.run);
  studio_lesson_opened (again);
  g_assert_cmpuint (studio_lesson_n_done (again), ==, 3);
  g_object_unref (again);

  /* And what was typed, although it is wrong. */
  again = studio_lesson_new (f.document, f.run);
  studio_lesson_opened (again);
  g_assert_cmpstr (studio_lesson_get_answer (again, 1), ==, "5");
  g_assert_cmpuint (studio_lesson_n_answers (again), ==, 1);
  g_assert_cmpuint (studio_lesson_n_done (again), ==, 3);
  studio_lesson_set_learner (again, "Ada");
  g_object_unref (again);
  g_autofree char *learner = studio_lesson_dup_learner (f.lesson);
  g_assert_cmpstr (learner, ==, "Ada");

  studio_lesson_start_again (f.lesson);
  g_assert_cmpuint (studio_lesson_n_answers (f.lesson), ==, 0);
  g_assert_cmpuint (studio_lesson_n_done (f.lesson), ==, 0);
  g_assert_cmpuint (studio_lesson_page_index (f.lesson), ==, 0);
  act = loom_scope_find_node (loom_graph_root (studio_document_get_graph (f.document)), "act");
  g_assert_cmpstr (loom_element_get (act, "op"), ==, "relu");
  g_assert_true (studio_document_undo (f.document));
  act = loom_scope_find_node (loom_graph_root (studio_document_get_graph (f.document)), "act");
  g_assert_cmpstr (loom_element_get (act, "op"), ==, "tanh");
  studio_lesson_start_again (f.lesson);
  fixture_clear (&f);
}

/* The run has reached a step, and its numbers are shown, which is otherwise limited in rate. */
static void
reach (StudioRun *run, gint64 step)
{
  studio_run_take_progress (run, step, 100, 1, 3, 0, 0);
  g_signal_emit_by_name (run, "numbers");
}

/* What a run computed before a page was shown does not tick it, steps after that do, and so do those of a new run,
 * which begins at step 0. */
static void
test_earlier_run (void)
{
  static const char graph[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" "
                              "shape=\"B,4\"/><lesson title=\"Twice\"><page title=\"First\" goal=\"step above 20\">"
                              "Train.</page><page title=\"Second\" goal=\"step above 20\">Again.</page><page "
                              "title=\"Third\" goal=\"step above 20\">And again.</page></lesson></graph>";
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (StudioRun) run = studio_run_new ();
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;
  g_autoptr (GError) error = NULL;

  g_setenv ("GRADLOOM_WORKER", "/nothing-here/gradloom", TRUE);
  g_assert_true (studio_document_open_text (document, graph, -1, NULL, &error));
  g_autoptr (StudioLesson) lesson = studio_lesson_new (document, run);
  studio_lesson_opened (lesson);
  studio_document_mark_run (document);
  studio_run_start (run, graph, NULL, "lesson", &options);
  reach (run, 30);
  g_assert_true (studio_lesson_is_done (lesson, 0));

  studio_lesson_show_page (lesson, 1);
  g_assert_false (studio_lesson_is_done (lesson, 1));
  reach (run, 30);
  g_assert_false (studio_lesson_is_done (lesson, 1));
  reach (run, 31);
  g_assert_true (studio_lesson_is_done (lesson, 1));

  studio_lesson_show_page (lesson, 2);
  studio_run_take_begin (run);
  reach (run, 0);
  g_assert_false (studio_lesson_is_done (lesson, 2));
  reach (run, 25);
  g_assert_true (studio_lesson_is_done (lesson, 2));
  while (studio_run_is_live (run))
    g_main_context_iteration (NULL, TRUE);
}

/* The first widget of this type at or below one. */
static GtkWidget *
find (GtkWidget *widget, GType type, const char *text)
{
  if (g_type_is_a (G_OBJECT_TYPE (widget), type)
      && (text == NULL || (GTK_IS_LABEL (widget) && strstr (gtk_label_get_text (GTK_LABEL (widget)), text) != NULL)
          || (GTK_IS_ENTRY (widget) && g_strcmp0 (gtk_entry_get_placeholder_text (GTK_ENTRY (widget)), text) == 0)))
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find (child, type, text);

      if (found != NULL)
        return found;
    }
  return NULL;
}

static void
test_pane (void)
{
  Fixture f = fixture_new ();
  GtkWidget *pane = g_object_ref_sink (GTK_WIDGET (studio_lesson_pane_new (f.document, f.lesson)));

  g_assert_true (studio_lesson_pane_has_text (STUDIO_LESSON_PANE (pane)));
  g_assert_nonnull (find (pane, GTK_TYPE_LABEL, "Words."));
  g_assert_nonnull (find (pane, GTK_TYPE_EXPANDER, NULL)); /* about this graph */
  studio_lesson_show_page (f.lesson, 1);
  g_assert_null (find (pane, GTK_TYPE_LABEL, "Words."));
  GtkWidget *entry = find (pane, GTK_TYPE_ENTRY, "Your answer, then Enter");
  gtk_editable_set_text (GTK_EDITABLE (entry), "5");
  g_assert_null (find (pane, GTK_TYPE_LABEL, "too large"));
  g_signal_emit_by_name (entry, "activate");
  GtkWidget *reply = find (pane, GTK_TYPE_LABEL, "5 is too large.");
  g_assert_true (reply != NULL && gtk_widget_get_visible (reply));
  gtk_editable_set_text (GTK_EDITABLE (entry), "4");
  g_assert_false (gtk_widget_get_visible (reply));
  g_signal_emit_by_name (entry, "activate");
  g_assert_false (gtk_widget_get_visible (reply));
  g_assert_true (studio_lesson_is_done (f.lesson, 1));
  g_assert_true (gtk_widget_get_visible (find (pane, GTK_TYPE_LABEL, "Done.")));
  studio_lesson_start_again (f.lesson);
  g_object_unref (pane);
  fixture_clear (&f);
}

/* The first button with this action at or below a widget. */
static GtkWidget *
find_button (GtkWidget *widget, const char *action)
{
  GtkWidget *found
      = GTK_IS_BUTTON (widget) && g_strcmp0 (gtk_actionable_get_action_name (GTK_ACTIONABLE (widget)), action) == 0
            ? widget
            : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL && found == NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_button (child, action);
  return found;
}

/* The last page of a lesson that asks for it has a button, and the file has the graph and what was typed. */
static void
test_hand_in (void)
{
  Fixture f = fixture_new ();
  GtkWidget *pane = GTK_WIDGET (studio_lesson_pane_new (f.document, f.lesson)), *window = gtk_window_new ();
  g_autoptr (StudioHandingIn) handing_in = studio_handing_in_new (f.document, f.run, f.lesson, NULL, NULL);
  g_autofree char *path = g_build_filename (g_get_user_state_dir (), "hand-in.gradloom", NULL);
  g_autoptr (GError) error = NULL;
  guint wanted = 0;

  gtk_window_set_child (GTK_WINDOW (window), pane);
  g_signal_connect_swapped (pane, "hand-in", G_CALLBACK (count_cb), &wanted);
  studio_lesson_show_page (f.lesson, 1);
  g_assert_null (find_button (pane, "lesson.hand-in"));
  studio_lesson_answer (f.lesson, "5");
  studio_lesson_show_page (f.lesson, 2);
  GtkWidget *button = find_button (pane, "lesson.hand-in");
  g_assert_nonnull (button);
  g_assert_true (gtk_widget_activate_action (button, "lesson.hand-in", NULL));
  g_assert_cmpuint (wanted, ==, 1);
  studio_lesson_show_page (f.lesson, 1);
  GtkWidget *entry = find (pane, GTK_TYPE_ENTRY, "Your answer, then Enter");
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==, "5");

  studio_lesson_set_learner (f.lesson, "Ada");
  g_assert_true (studio_handing_in_write (handing_in, path, &error));
  g_assert_no_error (error);
  g_autoptr (LoomHandIn) hand_in = loom_hand_in_read (path, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (hand_in->name, ==, "Ada");
  g_assert_false (hand_in->has_run);
  g_assert_nonnull (strstr (hand_in->graph, "id=\"act\""));
  g_assert_null (strstr (hand_in->graph, "2 + 2?"));
  g_assert_cmpuint (hand_in->answers->len, ==, 1);
  const LoomHandInAnswer *answer = hand_in->answers->pdata[0];
  g_assert_cmpint (answer->page, ==, 2);
  g_assert_cmpstr (answer->title, ==, "Ask");
  g_assert_cmpstr (answer->text, ==, "5");
  studio_lesson_start_again (f.lesson);
  gtk_window_destroy (GTK_WINDOW (window));
  fixture_clear (&f);
}

static void
test_editor (void)
{
  Fixture f = fixture_new ();
  GtkWidget *pane = g_object_ref_sink (GTK_WIDGET (studio_lesson_pane_new (f.document, f.lesson)));

  studio_lesson_pane_edit (STUDIO_LESSON_PANE (pane));
  guint steps = studio_document_n_steps (f.document);
  GtkEditable *goal = GTK_EDITABLE (find (pane, GTK_TYPE_ENTRY, "val_loss below 0.2, chain linear relu"));
  gtk_editable_set_text (goal, "chain rel");
  GtkWidget *fault = find (pane, GTK_TYPE_LABEL, "there is no operator “rel”");
  g_assert_nonnull (fault);
  g_assert_true (gtk_widget_get_visible (fault));
  gtk_editable_set_text (goal, "chain relu");
  g_assert_false (gtk_widget_get_visible (fault));
  g_assert_cmpuint (studio_document_n_steps (f.document), ==, steps + 1); /* typing is one step */
  g_assert_cmpstr (studio_lesson_page (f.lesson)->goal_text, ==, "chain relu");
  GtkTextView *text = GTK_TEXT_VIEW (find (pane, GTK_TYPE_TEXT_VIEW, NULL));
  gtk_text_buffer_set_text (gtk_text_view_get_buffer (text), "New *words*", -1);
  g_assert_cmpstr (studio_lesson_page (f.lesson)->text, ==, "New *words*");
  g_assert_true (studio_document_undo (f.document));
  g_assert_true (studio_document_undo (f.document));
  g_assert_null (studio_lesson_page (f.lesson)->goal_text);
  g_assert_cmpstr (studio_lesson_page (f.lesson)->text, ==, "Words.");
  g_object_unref (pane);

  /* A graph without a lesson gets one, as one step. */
  studio_document_reset (f.document);
  studio_lesson_opened (f.lesson);
  pane = g_object_ref_sink (GTK_WIDGET (studio_lesson_pane_new (f.document, f.lesson)));
  g_assert_false (studio_lesson_pane_has_text (STUDIO_LESSON_PANE (pane)));
  studio_lesson_pane_edit (STUDIO_LESSON_PANE (pane));
  g_assert_cmpuint (studio_lesson_n_pages (f.lesson), ==, 1);
  g_assert_cmpuint (studio_document_n_steps (f.document), ==, 1);
  g_object_unref (pane);
  fixture_clear (&f);
}

static gboolean
is_node (const char *name, gpointer data)
{
  return g_str_equal (name, "act");
}

static void
test_markdown (void)
{
  static const char *const cases[][2] = {
    { "a *b* **c** `act` `d`", "a <i>b</i> <b>c</b> <a href=\"node:act\">act</a> <tt>d</tt>" },
    { "[words](node:act)", "<a href=\"node:act\">words</a>" },
    { "1 < 2 & <b>x</b>", "1 &lt; 2 &amp; &lt;b&gt;x&lt;/b&gt;" },
    { "one\n\ntwo", "one\ntwo" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *markup = studio_markdown_to_markup (cases[i][0], is_node, NULL);

      g_assert_cmpstr (markup, ==, cases[i][1]);
    }
}

static guint
count_labels (GtkWidget *widget, const char *text)
{
  guint n = GTK_IS_LABEL (widget) && strstr (gtk_label_get_text (GTK_LABEL (widget)), text) != NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += count_labels (child, text);
  return n;
}

/* Of texts that are nested thousands of levels deep the first levels are shown, and that there are more. */
static void
test_nested (void)
{
  static const char *const opening[] = { "> ", "- " };

  for (guint i = 0; i < G_N_ELEMENTS (opening); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      int height;

      for (guint level = 0; level < 4000; level++)
        g_string_append (text, opening[i]);
      g_string_append (text, "deep");
      GtkWidget *shown = g_object_ref_sink (studio_markdown_new (text->str, NULL, NULL, NULL));
      gtk_widget_measure (shown, GTK_ORIENTATION_VERTICAL, -1, &height, NULL, NULL, NULL);
      g_assert_cmpuint (count_labels (shown, "Deeper levels"), ==, 1);
      g_assert_cmpuint (count_labels (shown, "deep"), ==, 0);
      g_object_unref (shown);
    }
  g_autofree char *stars = g_strnfill (100000, '*'), *emphasis = g_strconcat (stars, "a", stars, NULL);
  g_autofree char *markup = studio_markdown_to_markup (emphasis, NULL, NULL);
  g_assert_nonnull (strchr (markup, '<'));
  g_assert_true (pango_parse_markup (markup, -1, 0, NULL, NULL, NULL, NULL));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  g_test_add_func ("/lesson/pages", test_pages);
  g_test_add_func ("/lesson/earlier-run", test_earlier_run);
  g_test_add_func ("/lesson/pane", test_pane);
  g_test_add_func ("/lesson/hand-in", test_hand_in);
  g_test_add_func ("/lesson/editor", test_editor);
  g_test_add_func ("/lesson/markdown", test_markdown);
  g_test_add_func ("/lesson/nested", test_nested);
  return g_test_run ();
}
