/* Proposals: what is written is read, and a file of anyone else ends in one sentence. */
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <string.h>

#include "engine/loom.h"
#include "engine/runs/loom-runs.h"

static char *
graph_file (void)
{
  g_assert_cmpint (g_mkdir_with_parents (g_get_user_cache_dir (), 0700), ==, 0);
  return g_build_filename (g_get_user_cache_dir (), "graph.xml", NULL);
}

static void
test_round (void)
{
  g_autofree char *graph = graph_file (), *file = g_strconcat (graph, LOOM_PROPOSAL_SUFFIX, NULL);
  g_autoptr (GError) error = NULL;
  const LoomProposal written
      = { (char *)"A “title” \\ <b>", (char *)"two\nlines", (char *)"abc", (char *)"<graph/>\n" };

  g_assert_null (loom_proposal_read (graph, &error));
  g_assert_no_error (error);
  g_assert_true (loom_proposal_write (&written, graph, &error));
  g_autoptr (LoomProposal) read = loom_proposal_read (graph, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (read->title, ==, written.title);
  g_assert_cmpstr (read->reason, ==, written.reason);
  g_assert_cmpstr (read->base, ==, written.base);
  g_assert_cmpstr (read->graph, ==, written.graph);
  loom_proposal_remove (graph);
  g_assert_false (g_file_test (file, G_FILE_TEST_EXISTS));
  loom_proposal_remove (graph);
}

static void
test_limits (void)
{
  g_autofree char *graph = graph_file (), *file = g_strconcat (graph, LOOM_PROPOSAL_SUFFIX, NULL);
  g_autofree char *title = g_strnfill (LOOM_PROPOSAL_MOST_TITLE + 1, 't'),
                  *reason = g_strnfill (LOOM_PROPOSAL_MOST_REASON + 1, 'r');
  const LoomProposal wrong[] = { { title, (char *)"", (char *)"", (char *)"" },
                                 { (char *)"t", reason, (char *)"", (char *)"" },
                                 { (char *)"", (char *)"", (char *)"", (char *)"" },
                                 { (char *)"two\nlines", (char *)"", (char *)"", (char *)"" } };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (loom_proposal_write (&wrong[i], graph, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
      g_assert_false (g_file_test (file, G_FILE_TEST_EXISTS));
    }
}

#define HEAD "{\"format\":\"gradloom proposal\",\"version\":1,"

/* Other files, and each beginning and each changed byte of a right one. */
static void
test_strangers (void)
{
  static const char *const texts[] = { "",
                                       "{}",
                                       HEAD,
                                       HEAD "\"title\":\"t\"}",
                                       HEAD "\"title\":7,\"reason\":\"\",\"base\":\"\",\"graph\":\"\"}",
                                       HEAD "\"title\":\"t\",\"reason\":[],\"base\":\"\",\"graph\":\"\"}",
                                       HEAD "\"title\":\"a\\nb\",\"reason\":\"\",\"base\":\"\",\"graph\":\"\"}",
                                       HEAD "\"title\":\"t\",\"reason\":\"\",\"base\":\"\",\"graph\":null}" };
  static const char right[] = HEAD "\"title\":\"t\",\"reason\":\"r\",\"base\":\"b\",\"graph\":\"g\"}";
  g_autofree char *graph = graph_file (), *file = g_strconcat (graph, LOOM_PROPOSAL_SUFFIX, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_true (g_file_set_contents (file, texts[i], -1, NULL));
      g_assert_null (loom_proposal_read (graph, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
    }
  for (guint i = 0; i < 2 * strlen (right); i++)
    {
      g_autofree char *text = g_strdup (right);
      g_autoptr (LoomProposal) read = NULL;

      if (i % 2 == 0)
        text[i / 2] = (char)(text[i / 2] ^ 0x95);
      else
        text[i / 2] = '\0';
      g_assert_true (g_file_set_contents (file, text, -1, NULL));
      read = loom_proposal_read (graph, NULL);
      g_assert_true (read == NULL || i % 2 == 0);
    }
  loom_proposal_remove (graph);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_mkdir_with_parents (g_get_user_cache_dir (), 0700);
  g_test_add_func ("/proposal/round", test_round);
  g_test_add_func ("/proposal/limits", test_limits);
  g_test_add_func ("/proposal/strangers", test_strangers);
  return g_test_run ();
}
