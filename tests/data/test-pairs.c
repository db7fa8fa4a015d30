/* Pairs of sentences from tables and from gettext's catalogues; good files and bad ones. */
#include <glib/gstdio.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

static char *folder;

static void
write_file (const char *name, gconstpointer data, gssize length)
{
  g_autofree char *path = g_build_filename (folder, name, NULL), *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, data, length, NULL));
}

static LoomDataset *
open_pairs (const char *const *strv)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = folder };
  g_autoptr (GError) error = NULL;
  LoomDataset *dataset = loom_dataset_open ("pairs", &o, &error);

  g_assert_no_error (error);
  return dataset;
}

/* "@" in the message is the folder. */
static void
assert_refused (const char *const *strv, const char *message)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = folder };
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) parts = g_strsplit (message, "@", -1);
  g_autofree char *expected = g_strjoinv (folder, parts);
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("pairs", &o, &error);

  g_assert_null (dataset);
  g_assert_nonnull (error);
  g_assert_cmpstr (error->message, ==, expected);
}

/* A sample's port in words: numbers below 0 as they are. */
static char *
words (const LoomDataset *dataset, LoomSplit split, gint64 sample, guint port)
{
  g_autoptr (GPtrArray) read = loom_dataset_read_new (dataset, split, &sample, 1, NULL);
  const LoomTensor *t = read->pdata[port];
  GString *text = g_string_new (NULL);

  for (gint64 i = 0; i < t->count; i++)
    {
      const gint64 id = ((const gint64 *)t->data)[i];

      g_string_append (text, i > 0 ? " " : "");
      if (id < 0 || port == 1)
        g_string_append_printf (text, "%d", (int)id);
      else
        g_string_append (text, loom_dataset_class_names (dataset)[id]);
    }
  return g_string_free (text, FALSE);
}

static void
assert_words (const LoomDataset *dataset, LoomSplit split, gint64 sample, guint port, const char *expected)
{
  g_autofree char *text = words (dataset, split, sample, port);

  g_assert_cmpstr (text, ==, expected);
}

static void
assert_begins (const LoomDataset *dataset, gint64 sample, guint port, const char *expected)
{
  g_autofree char *text = words (dataset, LOOM_SPLIT_TRAIN, sample, port);

  if (!g_str_has_prefix (text, expected))
    g_assert_cmpstr (text, ==, expected);
}

/* ---- tables ----------------------------------------------------------------- */

static void
test_table (void)
{
  static const char *const strv[]
      = { "path", "t.tsv", "source_length", "4", "target_length", "3", "test_fraction", "0", "case", "lower", NULL };
  static const char *const small[] = { "path", "t.tsv", "vocabulary", "6", "test_fraction", "0", NULL };
  static const char *const letters[] = { "path", "t.tsv",         "unit", "character",     "source_length",
                                         "3",    "target_length", "5",    "test_fraction", "0",
                                         NULL };
  g_autoptr (LoomDataset) dataset = NULL, few = NULL, characters = NULL;

  write_file ("t.tsv",
              "Go!\tVa !\tCC-BY\r\n"
              "\n"
              "Let’s go.\tAllons-y !\n"
              "I go.\tJ'y vais.\n"
              " \tnothing\n",
              -1);
  dataset = open_pairs (strv);
  /* "Allons - y !" has four tokens, one too many. */
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 2);
  assert_words (dataset, LOOM_SPLIT_TRAIN, 0, 0, "go ! <pad> <pad>");
  assert_words (dataset, LOOM_SPLIT_TRAIN, 0, 1, "2");
  assert_words (dataset, LOOM_SPLIT_TRAIN, 0, 2, "<start> va ! <pad>");
  assert_words (dataset, LOOM_SPLIT_TRAIN, 0, 3, "va ! <end> -100");
  assert_words (dataset, LOOM_SPLIT_TRAIN, 1, 0, "i go . <pad>");
  assert_words (dataset, LOOM_SPLIT_TRAIN, 1, 2, "<start> j'y vais .");
  assert_words (dataset, LOOM_SPLIT_TRAIN, 1, 3, "j'y vais . <end>");
  g_assert_cmpstr (loom_dataset_separator (dataset), ==, " ");
  /* Of the words only the two most frequent: three times each “!” and full stop. */
  few = open_pairs (small);
  g_assert_cmpint (loom_dataset_info (few)->n_classes, ==, 6);
  g_assert_cmpint (loom_dataset_count (few, LOOM_SPLIT_TRAIN), ==, 3);
  g_assert_cmpstr (loom_dataset_class_names (few)[4], ==, "!");
  g_assert_cmpstr (loom_dataset_class_names (few)[5], ==, ".");
  characters = open_pairs (letters);
  g_assert_cmpint (loom_dataset_count (characters, LOOM_SPLIT_TRAIN), ==, 1);
  assert_words (characters, LOOM_SPLIT_TRAIN, 0, 0, "G o !");
  assert_words (characters, LOOM_SPLIT_TRAIN, 0, 3, "V a   ! <end> -100");
}

/* What is only in the other splits is unknown to the vocabulary. */
static void
test_splits (void)
{
  static const char *const strv[] = { "path", "many.tsv", "test_fraction", "0.25", "val_fraction", "0.25", NULL };
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (LoomDataset) dataset = NULL;

  for (int i = 0; i < 20; i++)
    g_string_append_printf (text, "s%d\tt%d\n", i, i);
  write_file ("many.tsv", text->str, (gssize)text->len);
  dataset = open_pairs (strv);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 10);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_VAL), ==, 5);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 4 + 20);
  for (gint64 i = 0; i < 5; i++)
    {
      g_autofree char *x = words (dataset, LOOM_SPLIT_TEST, i, 0);

      g_assert_true (g_str_has_prefix (x, "<unknown> <pad>"));
    }
}

/* ---- catalogues -------------------------------------------------------------- */

static void
append_word (GByteArray *bytes, guint32 word, gboolean big)
{
  const guint32 out = big ? GUINT32_TO_BE (word) : GUINT32_TO_LE (word);

  g_byte_array_append (bytes, (const guint8 *)&out, sizeof out);
}

/* A catalogue of n texts and translations, one after the other; "|" in them is the zero between plural forms. */
static void
write_mo (const char *name, const char *const *texts, guint n, gboolean big)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint32 offset = 28 + 16 * n;

  append_word (bytes, 0x950412de, big);
  append_word (bytes, 0, big);
  append_word (bytes, n, big);
  append_word (bytes, 28, big);
  append_word (bytes, 28 + 8 * n, big);
  append_word (bytes, 0, big);
  append_word (bytes, 0, big);
  for (guint side = 0; side < 2; side++)
    for (guint i = 0; i < n; i++)
      {
        const guint32 length = (guint32)strlen (texts[2 * i + side]);

        append_word (bytes, length, big);
        append_word (bytes, offset, big);
        offset += length + 1;
      }
  for (guint side = 0; side < 2; side++)
    for (guint i = 0; i < n; i++)
      {
        g_autofree char *text = g_strdelimit (g_strdup (texts[2 * i + side]), "|", '\0');

        g_byte_array_append (bytes, (const guint8 *)text, (guint)strlen (texts[2 * i + side]) + 1);
      }
  write_file (name, bytes->data, (gssize)bytes->len);
}

static void
test_catalogues (void)
{
  static const char *const french[] = { "",
                                        "Content-Type: text/plain; charset=UTF-8\n",
                                        "%d file|%d files",
                                        "%d fichier|%d fichiers",
                                        "Cancel",
                                        "Annuler",
                                        "menu\004Open",
                                        "Ouvrir",
                                        "Untranslated",
                                        "" };
  static const char *const more[] = { "Cancel", "Abandonner", "Close", "Fermer" };
  static const char *const german[] = { "",
                                        "Content-Type: text/plain; charset=ISO-8859-1\n",
                                        "Close",
                                        "Schlie\xdf"
                                        "en",
                                        "menu\004Open",
                                        "\xd6"
                                        "ffnen" };
  static const char *const one[] = { "path", "a.mo", "test_fraction", "0", NULL };
  static const char *const all[] = { "path", "fr", "test_fraction", "0", NULL };
  static const char *const both[] = {
    "path", "fr", "target_path", "de.mo", "test_fraction", "0", "target_length", "1", "source_length", "1", NULL
  };
  g_autoptr (LoomDataset) alone = NULL, whole = NULL, joined = NULL;

  write_mo ("a.mo", french, 5, FALSE);
  write_mo ("fr/a.mo", french, 5, TRUE);
  write_mo ("fr/b.mo", more, 2, FALSE);
  write_file ("fr/readme", "no catalogue", -1);
  write_mo ("de.mo", german, 3, TRUE);
  alone = open_pairs (one);
  g_assert_cmpint (loom_dataset_count (alone, LOOM_SPLIT_TRAIN), ==, 3);
  assert_words (alone, LOOM_SPLIT_TRAIN, 0, 1, "3");
  assert_begins (alone, 0, 3, "% d fichier <end> -100");
  assert_begins (alone, 2, 0, "Open <pad>");
  /* “Cancel” once, by the first catalogue. */
  whole = open_pairs (all);
  g_assert_cmpint (loom_dataset_count (whole, LOOM_SPLIT_TRAIN), ==, 4);
  assert_begins (whole, 1, 3, "Annuler <end>");
  assert_begins (whole, 3, 3, "Fermer <end>");
  joined = open_pairs (both);
  g_assert_cmpint (loom_dataset_count (joined, LOOM_SPLIT_TRAIN), ==, 2);
  assert_words (joined, LOOM_SPLIT_TRAIN, 0, 0, "Fermer");
  assert_words (joined, LOOM_SPLIT_TRAIN, 0, 3, "Schließen <end>");
  assert_words (joined, LOOM_SPLIT_TRAIN, 1, 0, "Ouvrir");
  assert_words (joined, LOOM_SPLIT_TRAIN, 1, 3, "Öffnen <end>");
}

static void
test_bad (void)
{
  static const char *const texts[] = { "Close", "Fermer", "Open", "\xff" };
  static const char *const table[] = { "path", "bad.tsv", NULL };
  static const char *const mo[] = { "path", "bad.mo", NULL };
  static const char *const none[] = { "path", "none.mo", NULL };
  static const char *const mixed[] = { "path", "long.tsv", "target_path", "good.mo", NULL };
  static const char *const empty[] = { "path", "empty", NULL };
  static const char *const apart[] = { "path", "good.mo", "target_path", "other.mo", NULL };
  static const char *const untranslated[] = { "path", "fr/LC_MESSAGES/git.mo", NULL };
  static const char *const too_long[] = { "path", "long.tsv", "source_length", "1", NULL };
  g_autofree char *content = NULL, *path = g_build_filename (folder, "bad.mo", NULL);
  gsize length;

  write_file ("bad.tsv", "a\tb\nno tab\n", -1);
  assert_refused (table, "“@/bad.tsv” line 2 has no tab; a tab must separate source and target.");
  write_file ("bad.tsv", "\xff\tb\n", -1);
  assert_refused (table,
                  "“@/bad.tsv” is not UTF-8 text: line 1 contains the byte 0xFF. If it is Latin-1 or Windows-1252, "
                  "convert it with iconv -f WINDOWS-1252 -t UTF-8; a spreadsheet can be saved as CSV, UTF-8.");
  write_file ("long.tsv", "a b\tc\n", -1);
  assert_refused (too_long, "All 1 pairs in “@/long.tsv” are longer than source_length and target_length allow.");
  assert_refused (none, "There is no file “@/none.mo”; it should be a table of sentences or a catalogue (.mo).");
  assert_refused (untranslated,
                  "There is no file “@/fr/LC_MESSAGES/git.mo”; Debian's packages such as git, coreutils and iso-codes "
                  "contain catalogues; if a container's image excludes them, delete the path-exclude in "
                  "/etc/dpkg/dpkg.cfg.d and install the package again.");
  write_file ("bad.mo", "not a catalogue of texts", -1);
  assert_refused (mo, "“@/bad.mo” is not a gettext catalogue.");
  write_mo ("good.mo", texts, 1, FALSE);
  write_mo ("other.mo", texts + 2, 1, FALSE);
  assert_refused (mixed, "The data set pairs has a target_path, so both paths must be catalogues (.mo) or folders of "
                         "catalogues.");
  write_mo ("bad.mo", texts, 2, FALSE);
  assert_refused (mo, "“@/bad.mo” contains a text that is not valid in its character set, UTF-8.");
  write_mo ("other.mo", (const char *const[]){ "Save", "Sichern" }, 1, FALSE);
  assert_refused (apart, "“@/good.mo” contains no pair of sentences that both catalogues translate.");
  write_file ("empty/readme", "", 0);
  assert_refused (empty, "“@/empty” contains no catalogue (.mo).");
  /* Cut off anywhere it is refused, or still whole. */
  write_mo ("bad.mo", texts, 1, FALSE);
  g_assert_true (g_file_get_contents (path, &content, &length, NULL));
  for (gsize n = 20; n < length; n++)
    {
      write_file ("bad.mo", content, (gssize)n);
      assert_refused (mo, "“@/bad.mo” is damaged: an entry is outside the file.");
    }
}

/* Real sentences, if the machine has them. */
static void
test_machine (void)
{
  static const char *const strv[] = { "path", "/usr/share/locale/fr/LC_MESSAGES", "vocabulary", "2000", NULL };
  static const char path[] = "/usr/share/locale/fr/LC_MESSAGES";
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };
  g_autoptr (GError) error = NULL;

  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    {
      g_test_skip ("there are no French catalogues on this machine");
      return;
    }
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("pairs", &o, &error);
  if (dataset == NULL)
    {
      g_test_message ("%s", error->message);
      g_test_skip ("the French catalogues of this machine cannot be read");
      return;
    }
  g_test_message ("%d pairs", (int)loom_dataset_count (dataset, LOOM_SPLIT_TRAIN));
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, <=, 2000);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("loom-pairs-XXXXXX", NULL);
  g_test_add_func ("/pairs/table", test_table);
  g_test_add_func ("/pairs/splits", test_splits);
  g_test_add_func ("/pairs/catalogues", test_catalogues);
  g_test_add_func ("/pairs/bad", test_bad);
  g_test_add_func ("/pairs/machine", test_machine);
  status = g_test_run ();
  remove_tree (folder);
  g_free (folder);
  return status;
}
