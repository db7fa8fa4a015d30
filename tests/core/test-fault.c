/* Faults: their wording, the error they become, and "did you mean". */
#include "engine/core/loom-fault.h"
#include "tests/test-program.h"

static void
test_wording (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *first = NULL, *second = NULL;
  LoomFault *fault;

  fault = loom_faults_add (faults, LOOM_ERROR_PORT, 3, "fc", "out", "Nothing uses this output.");
  fault->is_warning = TRUE;
  g_assert_true (loom_faults_to_error (faults, NULL, &error));
  fault = loom_faults_add (faults, LOOM_ERROR_UNKNOWN_OP, 12, "fc", NULL, "There is no operator “%s”.", "liner");
  loom_fault_set_fix (fault, "op", "linear", "Did you mean “%s”?", "linear");
  loom_faults_add (faults, LOOM_ERROR_SHAPE, 0, NULL, NULL, "The graph is empty.");
  first = loom_fault_to_string (loom_faults_get (faults, 0));
  second = loom_fault_to_string (loom_faults_get (faults, 1));
  g_assert_cmpstr (first, ==, "line 3: warning: node fc, out: Nothing uses this output.");
  g_assert_cmpstr (second, ==, "line 12: node fc: There is no operator “liner”. Did you mean “linear”?");
  g_assert_cmpuint (loom_faults_count (faults), ==, 2);
  g_assert_cmpuint (loom_faults_length (faults), ==, 3);
  g_assert_false (loom_faults_to_error (faults, "m.xml", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_UNKNOWN_OP);
  g_assert_cmpstr (error->message, ==,
                   "m.xml: line 12: node fc: There is no operator “liner”. Did you mean “linear”?\n"
                   "m.xml: The graph is empty.");
}

/* A fault of several nodes is one sentence, at the position of the first. */
static void
test_alike (void)
{
  static const char *const nodes[] = { "a", "net.b", "c" };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GPtrArray) sentences = NULL, errors = NULL;

  loom_faults_add (faults, LOOM_ERROR_SHAPE, 2, "w", "input", "It is bent.")->is_warning = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (nodes); i++)
    {
      loom_fault_set_fix (loom_faults_add (faults, LOOM_ERROR_DEVICE, 4 + (int)i, nodes[i], "device", "It is gone."),
                          NULL, NULL, "Take cpu.");
      loom_faults_add (faults, LOOM_ERROR_SHAPE, 9, NULL, NULL, "It is empty.");
    }
  loom_faults_add (faults, LOOM_ERROR_DEVICE, 8, "d", "device", "It is gone.");
  sentences = loom_faults_sentences (faults, TRUE);
  errors = loom_faults_sentences (faults, FALSE);
  g_assert_cmpuint (sentences->len, ==, 6);
  g_assert_cmpuint (errors->len, ==, 5);
  g_assert_cmpstr (sentences->pdata[0], ==, "line 2: warning: node w, input: It is bent.");
  g_assert_cmpstr (sentences->pdata[1], ==, "line 4: 3 nodes, device: It is gone. Take cpu. Nodes: a, net.b, c.");
  g_assert_cmpstr (sentences->pdata[2], ==, "line 9: It is empty.");
  g_assert_cmpstr (sentences->pdata[5], ==, "line 8: node d, device: It is gone.");
}

static void
test_quotes (void)
{
  g_autofree char *many = g_strnfill (100, 'a'), *kept = g_strnfill (59, 'a');
  g_autofree char *path = g_strconcat ("/", many, NULL);
  g_autofree char *said = g_strdup_printf ("x “%s” and “%s” and “b”.", many, path);
  g_autofree char *expected = g_strdup_printf ("x “%s…” and “%s” and “b”.", kept, path);
  g_autofree char *shortened = loom_shorten_quotes (said), *valid = loom_shorten_quotes ("“\xe2\x80”");

  g_assert_cmpstr (shortened, ==, expected);
  g_assert_true (g_utf8_validate (valid, -1, NULL));
}

/* Multi-byte characters are not split; nor text in a tag, in a value or without quotes, and text with quotation marks.
 */
static void
test_characters (void)
{
  g_autoptr (GString) omegas = g_string_new (NULL), kept = g_string_new (NULL), words = g_string_new ("”");
  g_autofree char *expected = NULL, *digits = g_strnfill (100000, '1');
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  const char *said;

  for (int i = 0; i < 1000; i++)
    {
      g_string_append (omegas, "Ω");
      if (i < 59)
        g_string_append (kept, "Ω");
      g_string_append (words, " many words");
    }
  said = loom_faults_add (faults, LOOM_ERROR_SCHEMA, 1, NULL, NULL, "x is “%s”, <%s> has y=\"%s\", 1 < 2.", omegas->str,
                          omegas->str, omegas->str)
             ->message;
  expected = g_strdup_printf ("x is “%s…”, <%s…> has y=\"%s…\", 1 < 2.", kept->str, kept->str, kept->str);
  g_assert_cmpstr (said, ==, expected);
  said = loom_faults_add (faults, LOOM_ERROR_SCHEMA, 1, NULL, NULL, "x is %s; “%s”", digits, words->str)->message;
  g_assert_true (g_utf8_validate (said, -1, NULL));
  g_assert_cmpint (g_utf8_strlen (said, -1), <=, 8000);
  loom_error_set_quoting (&error, LOOM_ERROR_PARSE, "“%s” is wrong.", omegas->str);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PARSE);
  g_assert_cmpint (g_utf8_strlen (error->message, -1), ==, 60 + 2 + 10);
}

/* A terminal would interpret control characters in a file's names, or show the second line of one as a sentence of
 * ours. */
static void
test_control (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomFault *fault = loom_faults_add (faults, LOOM_ERROR_SCHEMA, 0, "a\x1b[2J\nb", "p\r", "“%s” is %s.", "x\ny",
                                      "\x1b]0;t\a or \xc2\x9b");
  g_autofree char *said = NULL;

  loom_fault_set_fix (fault, NULL, NULL, "Did you mean “\x1b”?");
  said = loom_fault_to_string (fault);
  g_assert_cmpstr (said, ==,
                   "node a\\u001b[2J\\nb, p\\u000d: “x\\ny” is \\u001b]0;t\\u0007 or \\u009b. Did you mean “\\u001b”?");
  loom_error_set_quoting (&error, LOOM_ERROR_PARSE, "“%s” is\nwrong.", "\x7f\n");
  g_assert_cmpstr (error->message, ==, "“\\u007f\\n” is\nwrong.");
}

static void
test_nearest (void)
{
  const char *const words[] = { "relu", "gelu", "linear", "conv2d", "max", "mean", "all", "nll_loss", NULL };

  g_assert_cmpstr (loom_nearest ("liner", words), ==, "linear");
  g_assert_cmpstr (loom_nearest ("Linear", words), ==, "linear");
  g_assert_cmpstr (loom_nearest ("conv", words), ==, "conv2d");
  g_assert_cmpstr (loom_nearest ("rleu", words), ==, "relu");
  g_assert_cmpstr (loom_nearest ("nll", words), ==, "nll_loss");
  g_assert_cmpstr (loom_nearest ("transformer", words), ==, NULL);
  g_assert_cmpstr (loom_nearest ("alms", words), ==, NULL); /* half of a word is another one */
  g_assert_cmpstr (loom_nearest ("x", words), ==, NULL);
  g_assert_cmpstr (loom_nearest ("", words), ==, NULL);
}

static void
test_error_codes (void)
{
  g_autoptr (GError) error = g_error_new (LOOM_ERROR, LOOM_ERROR_NAN, "x");

  g_assert_cmpint (loom_error_exit_status (error), ==, 4);
  g_assert_cmpstr (loom_error_code_name (LOOM_ERROR_USAGE), ==, "USAGE");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fault/wording", test_wording);
  g_test_add_func ("/fault/alike", test_alike);
  g_test_add_func ("/fault/nearest", test_nearest);
  g_test_add_func ("/fault/quotes", test_quotes);
  g_test_add_func ("/fault/characters", test_characters);
  g_test_add_func ("/fault/control", test_control);
  g_test_add_func ("/fault/error-codes", test_error_codes);
  return g_test_run ();
}
