/* Tokenizers of all kinds, with the tokens that Hugging Face's tokenizers and SentencePiece's library find in texts:
 * the cases of tokenizers/, which tests/reference/tokenizers_json.py makes. GRADLOOM_TOKENIZERS names another folder.
 */
#include <string.h>

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset.h"
#include "engine/data/loom-tokenizer.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

static char *scratch; /* a folder */

static char *
cases_folder (void)
{
  const char *other = g_getenv ("GRADLOOM_TOKENIZERS");

  return other != NULL ? g_strdup (other)
                       : g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", "tokenizers", NULL);
}

/* The tokenizer of a case as a file of its own. */
static void
write_tokenizer (JsonObject *test, const char *path)
{
  g_autoptr (GError) error = NULL;

  if (json_object_has_member (test, "model"))
    {
      gsize length;
      g_autofree guchar *model = g_base64_decode (json_object_get_string_member (test, "model"), &length);

      g_file_set_contents (path, (const char *)model, (gssize)length, &error);
    }
  else
    {
      g_autofree char *text = json_to_string (json_object_get_member (test, "tokenizer"), FALSE);

      g_file_set_contents (path, text, -1, &error);
    }
  g_assert_no_error (error);
}

static char *
list_ids (const GArray *ids)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < ids->len; i++)
    g_string_append_printf (s, " %u", g_array_index (ids, guint32, i));
  return g_string_free (s, FALSE);
}

static void
check_text (const LoomTokenizer *tokenizer, const char *name, JsonObject *sample)
{
  const char *text = json_object_get_string_member (sample, "text");
  JsonArray *list = json_object_get_array_member (sample, "ids");
  g_autoptr (GArray) want = g_array_new (FALSE, FALSE, sizeof (guint32)),
                     got = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree char *a = NULL, *b = NULL;

  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      const guint32 id = (guint32)json_array_get_int_element (list, i);

      g_array_append_val (want, id);
    }
  g_assert_true (loom_tokenizer_encode (tokenizer, text, strlen (text), got, NULL));
  a = list_ids (want);
  b = list_ids (got);
  if (!g_str_equal (a, b))
    g_error ("%s: the tokens of “%s” are%s, not%s", name, text, b, a);
}

static void
test_case (gconstpointer data)
{
  const char *name = data;
  g_autofree char *folder = cases_folder (), *path = g_build_filename (folder, name, NULL);
  g_autofree char *file = g_build_filename (scratch, "tokenizer", NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (LoomTokenizer) tokenizer = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (json_parser_load_from_file (parser, path, NULL));
  JsonObject *test = json_node_get_object (json_parser_get_root (parser));
  write_tokenizer (test, file);
  tokenizer = loom_tokenizer_load (file, &error);
  if (error != NULL && strstr (error->message, "libsentencepiece-dev") != NULL)
    {
      g_test_skip ("this build has no libsentencepiece");
      return;
    }
  g_assert_no_error (error);
  g_assert_cmpuint (loom_tokenizer_size (tokenizer), ==, (guint)json_object_get_int_member (test, "size"));
  JsonArray *texts = json_object_get_array_member (test, "texts");
  g_assert_cmpuint (json_array_get_length (texts), >, 0);
  for (guint i = 0; i < json_array_get_length (texts); i++)
    check_text (tokenizer, name, json_array_get_object_element (texts, i));
}

/* What a text becomes when its tokens are joined. */
static char *
joined (const char *tokenizer_json, const char *text)
{
  g_autofree char *file = g_build_filename (scratch, "tokenizer.json", NULL);
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTokenizer) tokenizer = NULL;
  GString *y = g_string_new (NULL);

  g_assert_true (g_file_set_contents (file, tokenizer_json, -1, NULL));
  tokenizer = loom_tokenizer_load (file, &error);
  g_assert_no_error (error);
  g_assert_true (loom_tokenizer_encode (tokenizer, text, strlen (text), ids, NULL));
  for (guint i = 0; i < ids->len; i++)
    {
      g_autofree char *name = loom_tokenizer_dup_name (tokenizer, g_array_index (ids, guint32, i));

      g_string_append (y, name);
    }
  return g_string_free (y, FALSE);
}

#define PIECES                                                                                                         \
  "{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"continuing_subword_prefix\":\"##\",\"vocab\":"             \
  "{\"?\":0,\"low\":1,\"##er\":2,\"new\":3}},\"pre_tokenizer\":{\"type\":\"Whitespace\"}}"
#define BYTES                                                                                                          \
  "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\\u0120\":1,\"\\u0120a\":2},\"merges\":[[\"\\u0120\",\"a\"]]},"   \
  "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}}"

#define DOUBLED                                                                                                        \
  "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"aa\":0}},\"normalizer\":{\"type\":\"Replace\",\"pattern\":"         \
  "{\"String\":\"a\"},\"content\":\"aa\"}}"

static void
test_names (void)
{
  g_autofree char *pieces = joined (PIECES, "lower new lowlow"), *bytes = joined (BYTES, "a a"),
                  *doubled = joined (DOUBLED, "a");

  g_assert_cmpstr (pieces, ==, " lower new ?");
  g_assert_cmpstr (bytes, ==, "a a");
  g_assert_cmpstr (doubled, ==, " aa");
}

/* Twelve steps that double each letter are refused, because the text would be 4,096 times as long. */
static void
test_growth (void)
{
  g_autoptr (GString) json
      = g_string_new ("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"},"
                      "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
  g_autofree char *file = g_build_filename (scratch, "tokenizer.json", NULL), *text = g_strnfill (1000, 'a');
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTokenizer) tokenizer = NULL;

  for (guint i = 0; i < 12; i++)
    g_string_append_printf (json, "%s{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}",
                            i > 0 ? "," : "");
  g_string_append (json, "]}}");
  g_assert_true (g_file_set_contents (file, json->str, -1, NULL));
  tokenizer = loom_tokenizer_load (file, &error);
  g_assert_no_error (error);
  g_assert_false (loom_tokenizer_encode (tokenizer, text, strlen (text), ids, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
}

#define N_UNITS 98

/* A table of replacements with one entry: "a". */
static char *
table_for (const char *replacement)
{
  guint32 table[1 + N_UNITS] = { 0 };
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  table[0] = GUINT32_TO_LE (4 * N_UNITS);
  table[1 + 'a'] = GUINT32_TO_LE ('a' | 1U << 8 | 1U << 10); /* its leaf is at 'a' ^ 1 */
  table[1 + ('a' ^ 1)] = GUINT32_TO_LE (1U << 31);
  g_byte_array_append (bytes, (const guint8 *)table, sizeof table);
  g_byte_array_append (bytes, (const guint8 *)replacement, (guint)strlen (replacement) + 1);
  return g_base64_encode (bytes->data, bytes->len);
}

/* A replacement that is not UTF-8 is left out. */
static void
test_table (void)
{
  static const char *const replacements[] = { "b", "\xf0" }, *const wanted[] = { "bb", "ab" };

  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      g_autofree char *table = table_for (replacements[i]);
      g_autofree char *json = g_strdup_printf ("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"b\",-2]]},"
                                               "\"normalizer\":{\"type\":\"Precompiled\","
                                               "\"precompiled_charsmap\":\"%s\"}}",
                                               table);
      g_autofree char *got = joined (json, "ab");

      g_assert_cmpstr (got, ==, wanted[i]);
    }
}

static void
test_bad (void)
{
  static const struct
  {
    const char *json, *sentence;
  } bad[] = {
    { "[]", "has no “model”" },
    { "{\"model\":", "not valid JSON" },
    { "{\"model\":{\"type\":\"Other\"}}", "neither BPE, WordPiece" },
    { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}", "“vocab” lacks" },
    { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a\"]}}", "not a pair" },
    { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", "one number" },
    { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", "not valid" },
    { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]],\"unk_id\":7}}", "“unk_id”" },
    { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", "not a token and a score" },
    { "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}},\"normalizer\":{\"type\":\"Other\"}}", "normalizer “Other”" },
    { "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}},\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":"
      "\"Isolated\","
      "\"pattern\":{\"Regex\":\"(\"}}}",
      "“Split” is not complete" },
    { "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}},\"added_tokens\":[{\"id\":-3,\"content\":\"a\"}]}",
      "“added_tokens” is not valid" },
    { "\xff\xfe", "tokenizer" },
    { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",\"b\"]]}}", "not a token and a score" },
  };
  g_autofree char *file = g_build_filename (scratch, "tokenizer.json", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_true (g_file_set_contents (file, bad[i].json, -1, NULL));
      g_assert_null (loom_tokenizer_load (file, &error));
      g_assert_nonnull (error);
      if (strstr (error->message, bad[i].sentence) == NULL)
        g_error ("%s: %s", bad[i].json, error->message);
    }
}

TEST_FILE (argc, argv)
{
  g_autofree char *folder = cases_folder ();
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  int status;

  g_test_init (&argc, &argv, NULL);
  g_assert_nonnull (dir);
  scratch = g_dir_make_tmp ("gradloom-tokenizer-XXXXXX", NULL);
  g_assert_nonnull (scratch);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_strconcat ("/tokenizer/", name, NULL);

      g_test_add_data_func_full (path, g_strdup (name), test_case, g_free);
    }
  g_test_add_func ("/tokenizer/names", test_names);
  g_test_add_func ("/tokenizer/growth", test_growth);
  g_test_add_func ("/tokenizer/table", test_table);
  g_test_add_func ("/tokenizer/bad", test_bad);
  status = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return status;
}
