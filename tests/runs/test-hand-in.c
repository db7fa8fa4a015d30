/* Hand-ins: what is written is read again, and damaged files are refused with a sentence. */
#include "engine/runs/loom-hand-in.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <string.h>

#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"csv\" "                 \
  "path=\"/home/ada/secret/points.csv\" target=\"y\"/><train loss=\"l\" weights=\"../theirs/w.safetensors\"/>"         \
  "<lesson title=\"Words\"/></graph>"
#define ROUNDS 4000

static char *folder, *path;

static LoomHandIn *
make (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (GRAPH, strlen (GRAPH), NULL, faults, NULL);
  LoomHandIn *h = loom_hand_in_new_untrained (graph, "  Ada \"the first\"\n");
  const LoomRunSession session
      = { .begun = 1796093708.608, .ended = 1796093710.25, .step = 3, .end = LOOM_RUN_END_DONE };

  loom_hand_in_add_answer (h, 2, "How many?", " 12 ");
  loom_hand_in_add_answer (h, 3, NULL, "   ");
  h->has_run = h->is_over = TRUE;
  h->device = g_strdup ("cpu");
  h->machine = g_strdup ("a processor");
  h->threads = 2;
  h->step = 3;
  h->weights = g_strnfill (64, '0');
  h->costs = g_strdup ("[gradloom costs]\n");
  h->log = g_strdup ("{\"event\":\"step\",\"step\":3,\"epoch\":1,\"loss\":0.5,\"lr\":0.1}\n");
  g_array_append_val (h->sessions, session);
  return h;
}

static void
test_round (void)
{
  g_autoptr (LoomHandIn) h = make (), again = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (loom_hand_in_write (h, path, &error));
  again = loom_hand_in_read (path, &error);
  g_assert_no_error (error);
  g_autofree char *first = loom_hand_in_to_text (h), *second = loom_hand_in_to_text (again);
  g_assert_cmpstr (first, ==, second);
  g_assert_true (again->is_intact);
  g_assert_cmpstr (again->name, ==, "Ada \"the first\"");
  g_assert_cmpuint (again->answers->len, ==, 1);
  g_assert_cmpstr (((const LoomHandInAnswer *)again->answers->pdata[0])->text, ==, "12");
}

/* No folder of the learner, and no text of the lesson. */
static void
test_paths (void)
{
  g_autoptr (LoomHandIn) h = make ();
  g_autofree char *text = loom_hand_in_to_text (h);

  g_assert_nonnull (strstr (text, "path=\\\"points.csv\\\""));
  g_assert_nonnull (strstr (text, "weights=\\\"w.safetensors\\\""));
  g_assert_null (strstr (text, "secret"));
  g_assert_null (strstr (text, "theirs"));
  g_assert_null (strstr (text, "Words"));
}

/* Another view of the same graph is taken, another graph is not. */
static void
test_view (void)
{
  g_autoptr (LoomHandIn) h = make ();
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_auto (GStrv) part = g_strsplit (GRAPH, "<lesson title=\"Words\"/>", 2);
  g_autofree char *pinned = g_strconcat (part[0], "<view><pin tensor=\"data.x\"/></view>", part[1], NULL);
  g_autoptr (LoomGraph) viewed = loom_graph_read_data (pinned, (gssize)strlen (pinned), NULL, faults, NULL);
  g_autoptr (LoomGraph) other = loom_graph_copy (viewed);
  LoomElement *train = loom_element_find (loom_graph_root (other), LOOM_TAG_TRAIN);

  loom_edit_free (loom_graph_apply (other, loom_edit_set (train, "lr", "1")));
  g_assert_false (loom_hand_in_take_view (h, other));
  g_assert_null (strstr (h->graph, "<pin"));
  g_assert_true (loom_hand_in_take_view (h, viewed));
  g_assert_nonnull (strstr (h->graph, "<pin"));
}

/* Bytes are changed, cut out, doubled, or missing at the end. */
static void
test_mutated (void)
{
  g_autoptr (LoomHandIn) h = make ();
  g_autofree char *text = loom_hand_in_to_text (h);
  g_autoptr (GRand) random = g_rand_new_with_seed (11);
  const gsize length = strlen (text);
  guint refused = 0;

  for (guint i = 0; i < ROUNDS; i++)
    {
      g_autoptr (GString) s = g_string_new (text);
      g_autoptr (GError) error = NULL;
      const gsize at = (gsize)g_rand_int_range (random, 0, (int)length - 40);

      switch (g_rand_int_range (random, 0, 4))
        {
        case 0:
          s->str[at] = (char)g_rand_int_range (random, 1, 256);
          break;
        case 1:
          g_string_erase (s, (gssize)at, g_rand_int_range (random, 1, 40));
          break;
        case 2:
          g_string_insert_len (s, (gssize)at, text + at, 40);
          break;
        default:
          g_string_truncate (s, at);
        }
      g_assert_true (g_file_set_contents (path, s->str, (gssize)s->len, NULL));
      g_autoptr (LoomHandIn) read = loom_hand_in_read (path, &error);
      /* Whatever is changed before it, the checksum is another. */
      g_assert_true (read == NULL ? error != NULL : !read->is_intact || g_str_equal (s->str, text));
      refused += read == NULL;
    }
  g_assert_cmpuint (refused, >, ROUNDS / 4);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("hand-in-XXXXXX", NULL);
  path = g_build_filename (folder, "h.gradloom", NULL);
  g_test_add_func ("/hand-in/round", test_round);
  g_test_add_func ("/hand-in/paths", test_paths);
  g_test_add_func ("/hand-in/view", test_view);
  g_test_add_func ("/hand-in/mutated", test_mutated);
  status = g_test_run ();
  remove_tree (folder);
  g_free (folder);
  g_free (path);
  return status;
}
