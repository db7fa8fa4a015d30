/* Calls the reader with every shipped and every bad graph, and mutations of them. The mutations come from a fixed seed,
 * so a failure repeats; GRADLOOM_FUZZ_ROUNDS sets the number of them. */
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/fuzz-graph.h"
#include "tests/test-program.h"

#include <glib.h>
#include <string.h>

static GPtrArray *
load_corpus (void)
{
  GPtrArray *corpus = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);

  corpus_add (corpus, "graphs/models", ".xml", NULL);
  corpus_add (corpus, "graphs/lessons", ".xml", NULL);
  corpus_add (corpus, "tests/recipe/bad", ".xml", NULL);
  g_assert_cmpuint (corpus->len, >, 20);
  return corpus;
}

static GBytes *
random_part (GPtrArray *corpus, GRand *rand)
{
  GBytes *other = corpus->pdata[g_rand_int_range (rand, 0, (gint32)corpus->len)];
  gsize n = g_bytes_get_size (other), start = (gsize)g_rand_int_range (rand, 0, (gint32)n + 1);
  gsize wanted = (gsize)g_rand_int_range (rand, 1, 200);

  return g_bytes_new_from_bytes (other, start, MIN (n - start, wanted));
}

/* One change: a byte, a piece taken out, a piece of another file put in, a word that means something. */
static void
mutate (GByteArray *bytes, GPtrArray *corpus, GRand *rand)
{
  static const char *const words[] = { "<",
                                       ">",
                                       "\"",
                                       "&",
                                       "&#0;",
                                       "<!--",
                                       "-->",
                                       "<![CDATA[",
                                       "<?x?>",
                                       "repeat=\"10000\"",
                                       "{",
                                       "}",
                                       "module_input",
                                       "id=\"x\"",
                                       ".",
                                       "-1",
                                       "99999999999999999999",
                                       "1e309",
                                       "xmlns=\"\"",
                                       "xmlns:q=\"urn:q\"",
                                       "\xff",
                                       "share=\"true\"",
                                       "carry=\"x\"",
                                       "op=\"scan\" body=\"block\"",
                                       "op=\"switch\" bodies=\"block,block\"",
                                       "op=\"recurse\" body=\"block\"" };
  guint at = bytes->len > 0 ? (guint)g_rand_int_range (rand, 0, (gint32)bytes->len) : 0;
  const char *word;
  guint n;

  switch (g_rand_int_range (rand, 0, 4))
    {
    case 0:
      if (bytes->len > 0)
        bytes->data[at] = (guint8)g_rand_int (rand);
      break;
    case 1:
      n = (guint)g_rand_int_range (rand, 0, 80);
      if (bytes->len > 0)
        g_byte_array_remove_range (bytes, at, MIN (bytes->len - at, n));
      break;
    case 2:
      {
        g_autoptr (GBytes) part = random_part (corpus, rand);
        gsize length;
        const guint8 *data = g_bytes_get_data (part, &length);
        g_autofree guint8 *tail = g_memdup2 (bytes->data + at, bytes->len - at);
        guint tail_length = bytes->len - at;

        g_byte_array_set_size (bytes, at);
        g_byte_array_append (bytes, data, (guint)length);
        g_byte_array_append (bytes, tail, tail_length);
      }
      break;
    default:
      word = words[g_rand_int_range (rand, 0, G_N_ELEMENTS (words))];
      for (guint i = 0; word[i] != 0 && at + i < bytes->len; i++)
        bytes->data[at + i] = (guint8)word[i];
    }
}

static void
run_one (const guint8 *data, gsize size)
{
  /* Exactly as long as it is, so that an address sanitizer sees one byte too many. */
  g_autofree guint8 *copy = g_memdup2 (data, size);

  LLVMFuzzerTestOneInput (copy != NULL ? copy : (const guint8 *)"", size);
}

static void
test_corpus (void)
{
  g_autoptr (GPtrArray) corpus = load_corpus ();

  for (guint i = 0; i < corpus->len; i++)
    {
      gsize n;
      const guint8 *data = g_bytes_get_data (corpus->pdata[i], &n);

      run_one (data, n);
    }
  run_one ((const guint8 *)"", 0);
}

static void
test_mutations (void)
{
  g_autoptr (GPtrArray) corpus = load_corpus ();
  const char *more = g_getenv ("GRADLOOM_FUZZ_ROUNDS");
  guint rounds = more != NULL ? (guint)g_ascii_strtoull (more, NULL, 10) : 20000;

  for (guint round = 0; round < rounds; round++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (round);
      g_autoptr (GByteArray) bytes = g_byte_array_new ();
      gsize n;
      const guint8 *data = g_bytes_get_data (corpus->pdata[g_rand_int_range (rand, 0, (gint32)corpus->len)], &n);
      int changes = g_rand_int_range (rand, 1, 6);

      g_byte_array_append (bytes, data, (guint)n);
      for (int i = 0; i < changes; i++)
        mutate (bytes, corpus, rand);
      run_one (bytes->data, bytes->len);
    }
  g_test_message ("%u mutations", rounds);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fuzz/graph/corpus", test_corpus);
  g_test_add_func ("/fuzz/graph/mutations", test_mutations);
  return g_test_run ();
}
