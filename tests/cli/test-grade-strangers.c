/* Hand-ins of strangers: damaged files, graphs that name files of the lecturer's, and what `gradloom hand-in` and
 * `gradloom grade` refuse. */
#include "tests/cli/grade-class.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <string.h>

/* Writes a file into the folder of strangers, and expects it to be refused with these words. */
static void
expect_refused (const char *text, const char *words)
{
  g_autofree char *found = NULL;

  g_mkdir_with_parents ("strangers", 0755);
  cli_write ("strangers/s.gradloom", text);
  g_auto (Graded) graded = class_grade ("strangers", NULL);
  found = class_expect (&graded, "s.gradloom", "refused");
  if (strstr (found, words) == NULL)
    g_error ("“%s” is not in “%s”", words, found);
}

static void
test_damaged (void)
{
  g_autoptr (LoomHandIn) hand_in = class_train (1, PLAIN, 3, "Eve");
  g_autofree char *text = loom_hand_in_to_text (hand_in), *edited = g_strdup (text);
  static const char *const change[][3]
      = { { "\"threads\":1,", "\"threads\":100000,", "its “threads” is 100000, outside" },
          { "\"threads\":1,", "", "its “threads” is missing" },
          { "\"over\":true", "\"over\":1", "its “over” is not true or false" },
          { "\"answers\":\\[.*?\\]", "\"answers\":[7]", "entry 1 of its “answers” is not an object" },
          { "\"end\":\"done\"", "\"end\":\"x\"", "the “end” of a session is not known" },
          { "\"made\":[0-9.]+", "\"made\":-1", "its “made” is not a time" },
          { "\"version\":1", "\"version\":2", "of another version" },
          { "<graph ", "<graf ", "" } };

  expect_refused ("", "is not a hand-in");
  expect_refused ("{\"format\":\"gradloom hand-in\",\"version\":1,\"name\":\"\xff\"}", "it is not UTF-8");
  g_autofree char *deep = g_strnfill (100000, '[');
  g_autofree char *nested = g_strconcat ("{\"format\":\"gradloom hand-in\",\"version\":1,\"x\":", deep, NULL);
  expect_refused (nested, "nested too deeply");
  for (guint i = 0; i < G_N_ELEMENTS (change); i++)
    {
      g_autofree char *damaged = g_strdup (text);

      class_substitute (&damaged, change[i][0], change[i][1], 0);
      expect_refused (damaged, change[i][2]);
    }
  /* An edit by hand leaves the checksum. */
  class_substitute (&edited, "\"name\":\"Eve\"", "\"name\":\"Bob\"", 0);
  cli_write ("strangers/s.gradloom", edited);
  g_auto (Graded) graded = class_grade ("strangers", NULL);
  g_autofree char *found = class_expect (&graded, "s.gradloom", "changed");
  g_assert_nonnull (strstr (found, "edited after it was made"));
}

/* A graph that reads a file of the lecturer's, directly or by arguments of a module. */
static void
test_files (void)
{
  static const char *const change[][3] = {
    { "source=\"spirals\"", "source=\"csv\" path=\"/etc/passwd\"", "The data set of the node data (csv) is none" },
    { "source=\"spirals\"", "source=\"{s}\"", "is none of the key" },
    { "<train ", "<train weights=\"key.xml\" ", "The weights of <train>, “key.xml”, are not those of the key" },
    { "<train ", "<train adapter=\"a\" ", "The adapter of <train>, “a”, are not those of the key" },
    { "<node id=\"act\" op=\"relu\"/>", "<node id=\"act\" op=\"relu\"/><node id=\"t\" op=\"dataset\" source=\"text\"/>",
      "The data set of the node t (text) is none" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (change); i++)
    {
      g_autoptr (LoomHandIn) hand_in = class_train (1, PLAIN, 3, "Eve");
      g_autofree char *text = NULL;

      class_substitute (&hand_in->graph, change[i][0], change[i][1], 0);
      text = loom_hand_in_to_text (hand_in);
      expect_refused (text, change[i][2]);
    }
}

/* Paths of the learner's machine stay there, and those of the key are used. */
static void
test_own_data (void)
{
  g_autofree char *key = NULL, *learner = NULL, *folder = g_get_current_dir (), *text = NULL;
  static const char table[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"t\">"
                              "<node id=\"data\" op=\"dataset\" source=\"csv\" path=\"%s/points.csv\" "
                              "target=\"b\" target_type=\"float\"/>"
                              "<node id=\"fc\" op=\"linear\" out_features=\"1\"/><node id=\"loss\" op=\"mse_loss\"/>"
                              "<wire from=\"data.x\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/>"
                              "<wire from=\"data.y\" to=\"loss.target\"/>"
                              "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" batch_size=\"2\" epochs=\"2\"/>"
                              "<lesson><page goal=\"step above 1\"/></lesson></graph>";
  static const char points[] = "a,b\n1,2.5\n2,4.5\n3,6.5\n4,8.5\n5,10.5\n6,12.5\n7,14.5\n8,16.5\n";

  g_mkdir_with_parents ("mine", 0755);
  g_mkdir_with_parents ("theirs", 0755);
  g_mkdir_with_parents ("tables", 0755);
  cli_write ("mine/points.csv", points);
  cli_write ("theirs/points.csv", points);
  key = g_strdup_printf (table, "theirs");
  learner = g_strdup_printf (table, "mine");
  cli_write ("table.xml", key);
  cli_write ("learner.xml", learner);
  cli_expect (0, NULL, "train", "learner.xml", "--out", "learned");
  cli_expect (0, NULL, "hand-in", "learned", "--name", "=1+1\x1b[31m", "-o", "tables/a.gradloom");
  g_assert_true (g_file_get_contents ("tables/a.gradloom", &text, NULL, NULL));
  g_assert_null (strstr (text, folder));
  g_assert_null (strstr (text, "mine"));
  remove_tree ("mine");
  cli_expect (0, NULL, "grade", "tables", "--key", "table.xml", "-o", "t.csv");
  g_free (text);
  g_assert_true (g_file_get_contents ("t.csv", &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "a.gradloom,\"'=1+1\\u001b[31m\",holds,bits,6,6,1,1,"));
}

static void
test_usage (void)
{
  cli_expect (2, "--name", "hand-in", "missing");
  cli_expect (2, "such as --answer 2=0.25", "hand-in", CLASS_KEY, "--name", "A", "--answer", "x");
  cli_expect (2, "the lesson has", "hand-in", CLASS_KEY, "--name", "A", "--answer", "99=x");
  cli_expect (2, "must end in .gradloom", "hand-in", CLASS_KEY, "--name", "A", "-o", "a.json");
  cli_expect (2, "--key names the graph", "grade", ".");
  cli_expect (1, "has no file that ends in .gradloom", "grade", ".", "--key", CLASS_KEY);
  cli_write ("plain.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"/>");
  cli_expect (1, "has no <lesson>", "grade", ".", "--key", "plain.xml");
  /* A graph alone is handed in for its answers. */
  g_mkdir_with_parents ("alone", 0755);
  cli_expect (0, NULL, "hand-in", CLASS_KEY, "--name", "A/B", "--answer", "2=32");
  g_assert_true (g_file_test ("A-B.gradloom", G_FILE_TEST_EXISTS));
  g_assert_cmpint (g_rename ("A-B.gradloom", "alone/a.gradloom"), ==, 0);
  g_auto (Graded) graded = class_grade ("alone", NULL);
  g_free (class_expect (&graded, "a.gradloom", "untrained"));
  g_assert_cmpint (json_object_get_int_member (g_hash_table_lookup (graded.row, "a.gradloom"), "right"), ==, 1);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  class_write_key ();
  g_test_add_func ("/grade/damaged", test_damaged);
  g_test_add_func ("/grade/files", test_files);
  g_test_add_func ("/grade/own-data", test_own_data);
  g_test_add_func ("/grade/usage", test_usage);
  status = g_test_run ();
  cli_leave ();
  return status;
}
