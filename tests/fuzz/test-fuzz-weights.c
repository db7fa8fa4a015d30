/* Reads the files of weights that other tests compare, with bytes changed, cut out, doubled, or replaced by large and
 * small numbers, which lengths and addresses are. The mutations come from a fixed seed, so a failure repeats;
 * GRADLOOM_FUZZ_ROUNDS sets the number of them. */
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/fuzz-weights.h"
#include "tests/test-program.h"

#include <string.h>

/* One change of the bytes. */
static void
mutate (GByteArray *bytes, GRand *rand)
{
  static const guint64 numbers[] = { 0, 1, 0x7f, 0xff, 0xffff, G_MAXINT32, G_MAXUINT32, G_MAXINT64, G_MAXUINT64 };
  const guint at = (guint)g_rand_int_range (rand, 0, (gint32)bytes->len), left = bytes->len - at;
  const guint wanted = (guint)g_rand_int_range (rand, 1, 40), n = MIN (left, wanted);
  const guint64 number = numbers[g_rand_int_range (rand, 0, G_N_ELEMENTS (numbers))];

  switch (g_rand_int_range (rand, 0, 5))
    {
    case 0:
      bytes->data[at] = (guint8)g_rand_int (rand);
      break;
    case 1:
      memcpy (bytes->data + at, &number, MIN (left, sizeof number));
      break;
    case 2:
      bytes->data[at] ^= (guint8)(1 << g_rand_int_range (rand, 0, 8));
      break;
    case 3:
      if (n < bytes->len)
        g_byte_array_remove_range (bytes, at, n);
      break;
    default:
      g_byte_array_set_size (bytes, MAX (at, 1));
    }
}

static void
test_mutations (void)
{
  const char *more = g_getenv ("GRADLOOM_FUZZ_ROUNDS");
  const guint rounds = more != NULL ? (guint)g_ascii_strtoull (more, NULL, 10) : 1000;
  g_autoptr (GPtrArray) corpus = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);

  corpus_add (corpus, "tests/interop/weights", NULL, ".py");
  g_assert_cmpuint (corpus->len, >, 10);
  for (guint round = 0; round < rounds; round++)
    {
      GBytes *seed = corpus->pdata[round % corpus->len];
      g_autoptr (GRand) rand = g_rand_new_with_seed (round);
      g_autoptr (GByteArray) bytes = g_byte_array_new ();

      g_byte_array_append (bytes, g_bytes_get_data (seed, NULL), (guint)g_bytes_get_size (seed));
      for (int i = g_rand_int_range (rand, 0, 4); i > 0; i--)
        mutate (bytes, rand);
      fuzz_weights (bytes->data, bytes->len);
    }
  g_test_message ("%u mutations", rounds);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fuzz/weights/mutations", test_mutations);
  return g_test_run ();
}
