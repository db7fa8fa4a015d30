/* Texts as data sets: windows, and tokens of characters, words, bytes and byte pairs. */
#include <string.h>

#include "tests/data/files-test.h"
#include "tests/test-program.h"

static void
test_text (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "path", "t.txt", "context", "3", "stride", "2", "val_fraction", "0.34", NULL };
  static const char *const missing[] = { "path", "none.txt", NULL };
  g_autoptr (LoomDataset) dataset = NULL;

  /* Twelve characters: eight to train on, four for validation. */
  write_file (f, "t.txt", "bänänä bänän", -1);
  dataset = open_source (f, "text", strv);
  g_assert_no_error (f->error);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 4);
  g_assert_cmpstr (loom_dataset_class_names (dataset)[0], ==, " ");
  g_assert_cmpstr (loom_dataset_class_names (dataset)[3], ==, "ä");
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 3);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_VAL), ==, 1);
  /* The vocabulary is " bnä"; windows begin at 0, 2 and 4, and validation at 8 ("änän"). */
  for (int t = 0; t < 3; t++)
    {
      const int first[] = { 1, 3, 2, 3 }, last[] = { 2, 3, 0, 1 }, val[] = { 3, 2, 3, 2 };

      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 0, t), ==, first[t]);
      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 1, 0, t), ==, first[t + 1]);
      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 2, t), ==, last[t]);
      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 1, 2, t), ==, last[t + 1]);
      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_VAL, 0, 0, t), ==, val[t]);
      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_VAL, 1, 0, t), ==, val[t + 1]);
    }
  assert_refused (f, "text", missing, "There is no file “@/none.txt”; set path=\"FILE\", a UTF-8 text.");
  write_file (f, "t.txt", "ab", -1);
  assert_refused (f, "text", strv, "“@/t.txt” has 2 characters for training, which is too few for context=\"3\".");
}

/* The numbers of a window of x in a row. */
static char *
window (const LoomDataset *dataset, LoomSplit split, gint64 sample)
{
  g_autoptr (GPtrArray) read = loom_dataset_read_new (dataset, split, &sample, 1, NULL);
  const LoomTensor *x = read->pdata[0];
  GString *text = g_string_new (NULL);

  for (gint64 t = 0; t < x->count; t++)
    g_string_append_printf (text, "%s%d", t > 0 ? " " : "", (int)loom_tensor_get (x, t));
  return g_string_free (text, FALSE);
}

static void
test_text_words (Fixture *f, gconstpointer data)
{
  static const char *const all[] = { "path", "t.txt", "context", "13", "unit", "word", "val_fraction", "0", NULL };
  static const char *const few[]
      = { "path", "t.txt", "context", "13", "unit", "word", "val_fraction", "0", "vocabulary", "4", NULL };
  static const char *const most[] = { "path", "t.txt", "context", "5", "val_fraction", "0", "vocabulary", "3", NULL };
  static const char *const long_context[] = { "path", "t.txt", "context", "99", "unit", "word", NULL };
  static const char *const words[] = { "<unknown>", "the", "\n", ".", "cat", "4", "Don't", "l’homme", "saw" };
  g_autoptr (LoomDataset) dataset = NULL, some = NULL, characters = NULL;
  g_autofree char *ids = NULL, *others = NULL, *letters = NULL;

  write_file (f, "t.txt", "the cat  saw the\tl’homme.\nDon't the 4 cat.\nthe", -1);
  dataset = open_source (f, "text", all);
  g_assert_no_error (f->error);
  /* By frequency: four times “the”; then twice each newline, full stop and cat; then words that occur once, by their
   * bytes. */
  g_assert_cmpuint (g_strv_length ((char **)loom_dataset_class_names (dataset)), ==, 9);
  for (int i = 0; i < 9; i++)
    g_assert_cmpstr (loom_dataset_class_names (dataset)[i], ==, words[i]);
  g_assert_cmpstr (loom_dataset_separator (dataset), ==, " ");
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 1);
  ids = window (dataset, LOOM_SPLIT_TRAIN, 0);
  g_assert_cmpstr (ids, ==, "1 4 8 1 7 3 2 6 1 5 4 3 2");
  some = open_source (f, "text", few);
  g_assert_cmpint (loom_dataset_info (some)->n_classes, ==, 4);
  others = window (some, LOOM_SPLIT_TRAIN, 0);
  g_assert_cmpstr (others, ==, "1 0 0 1 0 3 2 0 1 0 0 3 2");
  /* The two most frequent characters, blank and “t”, after the token for all others. */
  characters = open_source (f, "text", most);
  g_assert_cmpint (loom_dataset_info (characters)->n_classes, ==, 3);
  g_assert_cmpstr (loom_dataset_class_names (characters)[1], ==, " ");
  letters = window (characters, LOOM_SPLIT_TRAIN, 0);
  g_assert_cmpstr (letters, ==, "2 0 0 1 0");
  assert_refused (f, "text", long_context, "“@/t.txt” has 13 words for training, which is too few for context=\"99\".");
}

static void
test_text_bytes (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "path", "t.bin", "context", "4", "unit", "byte", "val_fraction", "0", NULL };
  static const char *const as_text[] = { "path", "t.bin", "context", "4", NULL };
  g_autoptr (LoomDataset) dataset = NULL;
  g_autofree char *ids = NULL;

  write_file (f, "t.bin", "\xff\0a\n\xc3z", 6);
  dataset = open_source (f, "text", strv);
  g_assert_no_error (f->error);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 256);
  g_assert_cmpstr (loom_dataset_class_names (dataset)[255], ==, "\\xff");
  g_assert_cmpstr (loom_dataset_class_names (dataset)['a'], ==, "a");
  ids = window (dataset, LOOM_SPLIT_TRAIN, 0);
  g_assert_cmpstr (ids, ==, "255 0 97 10");
  assert_refused (f, "text", as_text,
                  "“@/t.bin” is not UTF-8 text: line 1 contains the byte 0xFF. If it is Latin-1 or Windows-1252, "
                  "convert it with iconv -f WINDOWS-1252 -t UTF-8; a spreadsheet can be saved as CSV, UTF-8.");
}

/* GPT-2's numbers of bytes are those of its vocabulary: "!" is 0, "a" 64, " " 220, newline 198. */
static void
test_text_bpe (Fixture *f, gconstpointer data)
{
  static const char *const strv[]
      = { "path", "t.txt", "context", "9", "unit", "bpe", "merges", "merges.txt", "val_fraction", "0", NULL };
  static const char *const without[] = { "path", "t.txt", "unit", "bpe", NULL };
  static const char *const needless[] = { "path", "t.txt", "merges", "merges.txt", NULL };
  static const char *const none[] = { "path", "t.txt", "unit", "tokenizer", NULL };
  static const char *const missing[] = { "path", "t.txt", "unit", "bpe", "merges", "none.txt", NULL };
  g_autoptr (LoomDataset) dataset = NULL;
  g_autofree char *ids = NULL;

  write_file (f, "t.txt", "a bab!\n  baba ba's é", -1);
  /* 256 is "ba", 257 " ba" and 258 "bab", 259 "Ã©", the two bytes of é. */
  write_file (f, "merges.txt", "#version: 0.2\nb a\nĠ ba\nba b\nÃ ©\n", -1);
  dataset = open_source (f, "text", strv);
  g_assert_no_error (f->error);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 261);
  g_assert_cmpstr (loom_dataset_class_names (dataset)[0], ==, "!");
  g_assert_cmpstr (loom_dataset_class_names (dataset)[220], ==, " ");
  g_assert_cmpstr (loom_dataset_class_names (dataset)[257], ==, " ba");
  g_assert_cmpstr (loom_dataset_class_names (dataset)[259], ==, "é");
  g_assert_cmpstr (loom_dataset_class_names (dataset)[260], ==, "<|endoftext|>");
  /* a| bab|!|\n | baba| ba|'s| é: " bab" is " ba" and "b", because that pair precedes "ba b". Of the two blanks the
   * second belongs to the word. */
  ids = window (dataset, LOOM_SPLIT_TRAIN, 0);
  g_assert_cmpstr (ids, ==, "64 257 65 0 198 220 257 256 257");
  assert_refused (f, "text", without,
                  "The data set text has unit=\"bpe\", which needs merges=\"FILE\", a merges.txt such as GPT-2's.");
  assert_refused (f, "text", none,
                  "The data set text has unit=\"tokenizer\", which needs tokenizer=\"FILE\", a tokenizer.json or a "
                  "SentencePiece model.");
  assert_refused (f, "text", needless, "The data set text has merges=\"…\", which is only for unit=\"bpe\".");
  assert_refused (f, "text", missing,
                  "There is no file “@/none.txt”; merges=\"FILE\" must be a merges.txt such as GPT-2's.");
  write_file (f, "merges.txt", "b a\nx\n", -1);
  assert_refused (f, "text", strv, "“@/merges.txt” line 2 is not a pair of tokens separated by a space.");
  write_file (f, "merges.txt", "b a\nbaba b\n", -1);
  assert_refused (f, "text", strv, "“@/merges.txt” line 2: “baba” is neither a byte nor a pair of an earlier line.");
}

/* Two pairs make one token, which has one number; a pair that is written twice counts from its last line. The numbers
 * are those of Hugging Face's tokenizers 0.23.3 for these lists. */
static void
test_text_bpe_two_ways (Fixture *f, gconstpointer data)
{
  static const struct
  {
    const char *merges, *text, *ids;
    gint64 n;
  } cases[] = {
    { "b c\na b\na bc\nab c\nabc a\n", "abcaabab b", "259 257 257 220", 261 },
    { "c c\na b\nab a\na b\n", "ababab aab b", "258 65 257 220 64 257 220", 260 },
    { "b b\na bb\na b\nab b\nabb c\n", "abbcabab c", "259 258 258 220", 261 },
  };
  const char *strv[]
      = { "path", "t.txt", "unit", "bpe", "merges", "m.txt", "val_fraction", "0", "context", NULL, NULL };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (GStrv) wanted = g_strsplit (cases[i].ids, " ", -1);
      g_autofree char *context = g_strdup_printf ("%u", g_strv_length (wanted));
      g_autoptr (LoomDataset) dataset = NULL;
      g_autofree char *ids = NULL;

      strv[9] = context;
      write_file (f, "t.txt", cases[i].text, -1);
      write_file (f, "m.txt", cases[i].merges, -1);
      dataset = open_source (f, "text", strv);
      g_assert_no_error (f->error);
      g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, cases[i].n);
      ids = window (dataset, LOOM_SPLIT_TRAIN, 0);
      g_assert_cmpstr (ids, ==, cases[i].ids);
    }
}

/* Neither a byte order mark nor the \r of \r\n is part of a text; of bytes both are. */
static void
test_text_marks (Fixture *f, gconstpointer data)
{
  static const char *const character[] = { "path", "t.txt", "context", "3", "val_fraction", "0", NULL };
  static const char *const word[] = { "path", "t.txt", "context", "3", "val_fraction", "0", "unit", "word", NULL };
  static const char *const byte[] = { "path", "t.txt", "context", "3", "val_fraction", "0", "unit", "byte", NULL };
  g_autoptr (LoomDataset) characters = NULL, words = NULL, bytes = NULL;
  g_autofree char *names = NULL, *word_names = NULL, *ids = NULL;

  write_file (f, "t.txt",
              "\xef\xbb\xbf"
              "ab\r\nab\r\nab\r\n",
              -1);
  characters = open_source (f, "text", character);
  g_assert_no_error (f->error);
  names = g_strjoinv ("|", (char **)loom_dataset_class_names (characters));
  g_assert_cmpstr (names, ==, "\n|a|b");
  words = open_source (f, "text", word);
  word_names = g_strjoinv ("|", (char **)loom_dataset_class_names (words));
  g_assert_cmpstr (word_names, ==, "<unknown>|\n|ab");
  bytes = open_source (f, "text", byte);
  ids = window (bytes, LOOM_SPLIT_TRAIN, 0);
  g_assert_cmpstr (ids, ==, "239 187 191");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/text/windows", test_text);
  ADD ("/text/words", test_text_words);
  ADD ("/text/bytes", test_text_bytes);
  ADD ("/text/bpe", test_text_bpe);
  ADD ("/text/bpe-two-ways", test_text_bpe_two_ways);
  ADD ("/text/marks", test_text_marks);
  return g_test_run ();
}
