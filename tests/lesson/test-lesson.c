/* Pages and goals of lessons. */
#include "engine/lesson/loom-lesson.h"
#include "tests/test-program.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define GRAPH(lesson)                                                                                                  \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"g\">"                                                      \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\"/><node id=\"hidden\" op=\"linear\" out_features=\"16\"/>"       \
  "<node id=\"act\" op=\"relu\"/><node id=\"drop\" op=\"dropout\"/><node id=\"scores\" op=\"linear\" "                 \
  "out_features=\"2\"/>"                                                                                               \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/>"    \
  "<wire from=\"act\" to=\"drop\"/><wire from=\"drop\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"       \
  "<wire from=\"data.y\" to=\"loss.target\"/><train loss=\"loss\" lr=\"0.01\"/>" lesson "</graph>"

typedef struct
{
  LoomGraph *graph;
  LoomNet *net;
  GPtrArray *lessons;
  LoomFaults *faults;
} Fixture;

static void
read_graph (Fixture *f, const char *xml)
{
  g_autoptr (GError) error = NULL;

  f->faults = loom_faults_new ();
  f->graph = loom_graph_read_data (xml, strlen (xml), "g.xml", f->faults, &error);
  g_assert_no_error (error);
  f->net = loom_net_new (f->graph, NULL, f->faults);
  g_assert_cmpuint (loom_faults_count (f->faults), ==, 0);
  f->lessons = loom_lessons_new (f->graph, f->faults);
}

static void
free_graph (Fixture *f)
{
  g_ptr_array_unref (f->lessons);
  loom_net_free (f->net);
  loom_graph_unref (f->graph);
  loom_faults_free (f->faults);
}

static void
test_pages (void)
{
  Fixture f;

  read_graph (&f, GRAPH ("<lesson title=\"Folds\"><page title=\"One\" spotlight=\"hidden act\" palette=\"relu, tanh\" "
                         "goal=\"no tanh\" hint=\"Look.\">First line.\n      * a\n        * b\n\n      End.</page>"
                         "<page>Read.</page></lesson><lesson hand_in=\"true\"/>"));
  g_assert_cmpuint (f.lessons->len, ==, 2);
  const LoomLesson *lesson = f.lessons->pdata[0];
  g_assert_cmpstr (lesson->title, ==, "Folds");
  g_assert_false (lesson->has_hand_in);
  g_assert_true (((const LoomLesson *)f.lessons->pdata[1])->has_hand_in);
  g_assert_cmpuint (lesson->pages->len, ==, 2);
  const LoomLessonPage *page = lesson->pages->pdata[0];
  g_assert_cmpstr (page->title, ==, "One");
  g_assert_cmpstr (page->text, ==, "First line.\n* a\n  * b\n\nEnd.");
  g_assert_cmpstr (page->hint, ==, "Look.");
  g_assert_cmpstr (page->spotlight[1], ==, "act");
  g_assert_null (page->spotlight[2]);
  g_assert_cmpstr (page->palette[0], ==, "relu");
  g_assert_cmpstr (page->palette[1], ==, "tanh");
  g_assert_nonnull (page->goal);
  page = lesson->pages->pdata[1];
  g_assert_null (page->goal);
  g_assert_cmpstr (page->title, ==, "");
  g_assert_cmpuint (((const LoomLesson *)f.lessons->pdata[1])->pages->len, ==, 0);
  g_assert_cmpuint (loom_faults_count (f.faults), ==, 0);
  /* Pages are no part of the meaning. */
  Fixture bare;
  read_graph (&bare, GRAPH (""));
  g_autofree char *a = loom_graph_hash (f.graph), *b = loom_graph_hash (bare.graph);
  g_assert_cmpstr (a, ==, b);
  free_graph (&bare);
  free_graph (&f);
}

static double
figure (const char *name, gpointer data)
{
  return g_str_equal (name, "val_loss") ? 0.25 : g_str_equal (name, "step") ? 12 : NAN;
}

static gboolean
is_word (const char *name, gpointer data)
{
  return g_str_equal (name, data);
}

static void
test_clauses (void)
{
  static const struct
  {
    const char *goal;
    gboolean met;
  } cases[] = {
    { "val_loss below 0.3", TRUE },
    { "val_loss below 0.25", FALSE },
    { "val_loss above 0.2", TRUE },
    { "step is 12", TRUE },
    { "loss below 9", FALSE }, /* there is no such figure yet */
    { "hidden.out_features is 16", TRUE },
    { "hidden.out_features above 15", TRUE },
    { "hidden.out_features below 16", FALSE },
    { "hidden.op is linear", TRUE },
    { "drop.p is 0.5", TRUE }, /* the default */
    { "missing.p is 0.5", FALSE },
    { "train.lr is 0.01", TRUE },
    { "train.momentum is 0.9", FALSE },
    { "train.lr at least 0.01", TRUE },
    { "train.lr at most 0.01", TRUE },
    { "train.lr at least 0.02", FALSE },
    /* Attributes that <train> does not have hold their defaults. */
    { "train.epochs at least 1", TRUE },
    { "train.epochs is 1", TRUE },
    { "train.momentum is 0", TRUE },
    { "train.nesterov is false", TRUE },
    { "train.nothing is 1", FALSE },
    /* Those that any node has, data sets' options, and attributes of operators that are not written. */
    { "hidden.frozen is false", TRUE },
    { "hidden.mute is true", FALSE },
    { "hidden.bias is true", TRUE },
    { "data.noise at least 0", TRUE },
    { "act.inplace is true", FALSE },
    { "chain relu", TRUE },
    { "chain tanh", FALSE },
    { "chain linear relu", TRUE },
    { "chain linear relu linear", FALSE },
    { "chain linear relu * linear", TRUE },
    { "chain linear * linear", TRUE },
    { "chain relu * dropout", TRUE }, /* a star may match nothing */
    { "chain dataset * cross_entropy", TRUE },
    { "chain cross_entropy * dataset", FALSE },
    { "no tanh", TRUE },
    { "no relu", FALSE },
    { "wired data.x hidden", TRUE },
    { "wired data.y hidden", FALSE },
    { "wired data.y loss.target", TRUE },
    { "wired scores loss.target", FALSE },
    { "wired scores loss.nothing", FALSE },
    { "pinned scores", TRUE },
    { "pinned act", FALSE },
    { "selected scores", TRUE },
    { "answer 3.1415", TRUE },
    { "answer 3.2", FALSE },
    { "answer", TRUE },
    { "clean", TRUE },
    { "clean, no tanh, step above 3", TRUE },
    { "clean, no relu", FALSE },
  };
  Fixture f;
  const LoomLessonState state = {
    .figure = figure, .is_pinned = is_word, .is_selected = is_word, .answer = " 3.1416 ", .data = (gpointer) "scores"
  };
  const LoomLessonState nothing = { NULL };

  read_graph (&f, GRAPH (""));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomGoal) goal = loom_goal_new (cases[i].goal, &error);

      g_assert_no_error (error);
      if (loom_goal_is_met (goal, f.graph, f.net, &state) != cases[i].met)
        g_error ("“%s” is%s met", cases[i].goal, cases[i].met ? " not" : "");
      g_assert_cmpstr (loom_goal_clause_text (goal, 0), !=, "");
      loom_goal_is_met (goal, f.graph, f.net, &nothing);
    }
  g_assert_false (loom_goal_is_met (NULL, f.graph, f.net, &state));
  free_graph (&f);
}

static void
test_faults (void)
{
  static const char *const wrong[][2] = {
    { "", "at least one clause" },
    { "val_loss less 2", "not a clause of a goal*chain OP" },
    { "val_loss below much", "“much”, which is not a number" },
    { "hidden.out_features above many", "which is not a number" },
    { "chain linear relo", "there is no operator “relo”" },
    { "no relo", "there is no operator “relo”" },
    { "clean, , clean", "not a clause" },
  };
  Fixture f;

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *pattern = g_strconcat ("*", wrong[i][1], "*", NULL);

      g_assert_null (loom_goal_new (wrong[i][0], &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
      if (!g_pattern_match_simple (pattern, error->message))
        g_error ("“%s”: %s", wrong[i][0], error->message);
    }
  read_graph (&f, GRAPH ("<lesson><page title=\"One\" goal=\"no relo\" palette=\"lineor\">x</page></lesson>"));
  g_assert_cmpuint (loom_faults_count (f.faults), ==, 2);
  g_assert_cmpstr (loom_faults_get (f.faults, 0)->message, ==,
                   "The goal of the page “One”: there is no operator “relo”.");
  free_graph (&f);
}

static void *
meet_goal (void *data)
{
  Fixture *f = data;
  g_autoptr (LoomGoal) goal = loom_goal_new ("chain tanh * relu", NULL);
  const LoomLessonState nothing = { NULL };

  return GINT_TO_POINTER (loom_goal_is_met (goal, f->graph, f->net, &nothing) ? 1 : 2);
}

/* A goal is checked along thousands of nodes, with the small stack of a thread. */
static void
test_long_chain (void)
{
  g_autoptr (GString) xml = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"long\">"
                                          "<node id=\"n0\" op=\"input\" shape=\"B,2\"/>");
  pthread_attr_t attributes;
  pthread_t thread;
  void *result;
  Fixture f;

  for (guint i = 1; i < 4000; i++)
    g_string_append_printf (xml, "<node id=\"n%u\" op=\"relu\"/><wire from=\"n%u\" to=\"n%u\"/>", i, i - 1, i);
  g_string_append (xml, "</graph>");
  read_graph (&f, xml->str);
  g_assert_cmpint (pthread_attr_init (&attributes), ==, 0);
  g_assert_cmpint (pthread_attr_setstacksize (&attributes, 128 * 1024), ==, 0);
  g_assert_cmpint (pthread_create (&thread, &attributes, meet_goal, &f), ==, 0);
  g_assert_cmpint (pthread_join (thread, &result), ==, 0);
  g_assert_cmpint (GPOINTER_TO_INT (result), ==, 2);
  pthread_attr_destroy (&attributes);
  free_graph (&f);
}

/* An answer in words is compared without regard to case. */
static void
test_answer (void)
{
  g_autoptr (LoomGoal) goal = loom_goal_new ("answer the chain rule", NULL);
  LoomLessonState state = { .answer = "The Chain Rule " };
  Fixture f;

  g_assert_true (loom_goal_needs_answer (goal));
  read_graph (&f, GRAPH (""));
  g_assert_true (loom_goal_is_met (goal, f.graph, f.net, &state));
  g_assert_false (loom_goal_needs_selection (goal));
  state.answer = "chain";
  g_assert_false (loom_goal_is_met (goal, f.graph, f.net, &state));
  free_graph (&f);
}

/* A wrong answer gets a hint, a right one none. */
static void
test_reply (void)
{
  static const struct
  {
    const char *goal, *answer;
    LoomGoalReply reply;
  } cases[] = {
    { "answer 3", "2.8", LOOM_GOAL_REPLY_TOO_SMALL },
    { "answer 3", "4", LOOM_GOAL_REPLY_TOO_LARGE },
    { "answer 3", "-3", LOOM_GOAL_REPLY_WRONG_SIGN },
    { "answer 3", "three", LOOM_GOAL_REPLY_NO_NUMBER },
    { "answer 3", " 3.0 ", LOOM_GOAL_REPLY_NONE },
    { "answer 3", "  ", LOOM_GOAL_REPLY_NONE },
    { "answer 3", NULL, LOOM_GOAL_REPLY_NONE },
    { "step above 0, answer -0.5", "-1", LOOM_GOAL_REPLY_TOO_SMALL },
    { "answer the chain rule", "the sum rule", LOOM_GOAL_REPLY_WRONG },
    { "answer the chain rule", "4", LOOM_GOAL_REPLY_NO_WORD },
    { "step above 0", "4", LOOM_GOAL_REPLY_NONE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomGoal) goal = loom_goal_new (cases[i].goal, NULL);

      g_assert_cmpint (loom_goal_reply (goal, cases[i].answer), ==, cases[i].reply);
    }
  g_assert_cmpint (loom_goal_reply (NULL, "4"), ==, LOOM_GOAL_REPLY_NONE);
}

/* Within modules, with numbers of copies, and in <train> and its children. */
static void
test_attributes (void)
{
  static const struct
  {
    const char *goal;
    gboolean met;
  } cases[] = {
    { "body.width is 4", TRUE }, /* an argument's default */
    { "body.repeat is 3", TRUE },
    { "body.fc.out_features is {width}", TRUE },
    { "body.fc.bias is true", TRUE },
    { "body.2.fc.bias is true", TRUE },
    { "body.fc.nothing is true", FALSE },
    { "body.none.bias is true", FALSE },
    { "train.schedule.type is step", TRUE },
    { "train.schedule.gamma is 0.1", TRUE },
    { "train.schedule.step_size is 5", TRUE },
    { "train.schedule.warmup_steps at most 0", TRUE },
    { "train.clip.norm is 1", FALSE }, /* there is no <clip> */
  };
  const LoomLessonState state = { 0 };
  Fixture f;

  read_graph (&f, "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><module name=\"m\"><arg name=\"width\" "
                  "type=\"int\" default=\"4\"/><node id=\"x\" op=\"module_input\"/><node id=\"fc\" op=\"linear\" "
                  "out_features=\"{width}\"/><node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"fc\"/><wire "
                  "from=\"fc\" to=\"y\"/></module><node id=\"x\" op=\"input\" shape=\"B,4\"/><node id=\"body\" "
                  "module=\"m\" repeat=\"3\"/><wire from=\"x\" to=\"body.x\"/><train loss=\"body\"><schedule "
                  "type=\"step\" step_size=\"5\"/></train></graph>");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomGoal) goal = loom_goal_new (cases[i].goal, &error);

      g_assert_no_error (error);
      if (loom_goal_is_met (goal, f.graph, f.net, &state) != cases[i].met)
        g_error ("“%s” is not %s", cases[i].goal, cases[i].met ? "met" : "unmet");
    }
  free_graph (&f);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lesson/long-chain", test_long_chain);
  g_test_add_func ("/lesson/pages", test_pages);
  g_test_add_func ("/lesson/clauses", test_clauses);
  g_test_add_func ("/lesson/attributes", test_attributes);
  g_test_add_func ("/lesson/faults", test_faults);
  g_test_add_func ("/lesson/answer", test_answer);
  g_test_add_func ("/lesson/reply", test_reply);
  return g_test_run ();
}
