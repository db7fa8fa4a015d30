/* Calls every reader with the inputs that are kept, the files of the tree, and mutations of both. They come from fixed
 * seeds, so a failure repeats; GRADLOOM_FUZZ_ROUNDS sets the number of mutations of each reader. The sanitizers
 * (tests/sanitize) check memory; run-libfuzzer.sh is for longer runs, which coverage guides. */
#include <string.h>

#include "tests/fuzz/readers.h"
#include "tests/test-program.h"

#define MOST 65536

static void
run_exactly (const FuzzReader *reader, const guint8 *data, gsize size)
{
  /* Exactly as long as it is, so that an address sanitizer sees one byte too many. */
  g_autofree guint8 *copy = g_memdup2 (data, size);

  fuzz_reader_run (reader, copy != NULL ? copy : (const guint8 *)"", size);
}

static void
test_reader (gconstpointer data)
{
  const FuzzReader *reader = data;
  const char *more = g_getenv ("GRADLOOM_FUZZ_ROUNDS");
  const guint rounds = more != NULL ? (guint)g_ascii_strtoull (more, NULL, 10) : 25;
  g_autoptr (GPtrArray) seeds = fuzz_reader_seeds (reader);

  for (guint i = 0; i < seeds->len; i++)
    {
      gsize n;
      const guint8 *bytes = g_bytes_get_data (seeds->pdata[i], &n);

      if (n <= 4 * MOST)
        run_exactly (reader, bytes, n);
    }
  run_exactly (reader, (const guint8 *)"", 0);
  for (guint round = 0; round < rounds; round++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (round);
      g_autofree guint8 *bytes = g_malloc (MOST);
      gsize n;
      const guint8 *seed = g_bytes_get_data (seeds->pdata[g_rand_int_range (rand, 0, (gint32)seeds->len)], &n);

      n = MIN (n, MOST);
      memcpy (bytes, seed, n);
      for (int i = g_rand_int_range (rand, 1, 4); i > 0; i--)
        n = fuzz_mutate (reader, bytes, n, MOST, g_rand_int (rand), fuzz_change);
      run_exactly (reader, bytes, n);
    }
  g_test_message ("%u inputs, %u mutations", seeds->len, rounds);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  for (const FuzzReader *r = fuzz_reader_next (NULL); r != NULL; r = fuzz_reader_next (r))
    {
      g_autofree char *name = g_strdup_printf ("/fuzz/%s", r->name);

      g_test_add_data_func (name, r, test_reader);
    }
  status = g_test_run ();
  fuzz_folder_remove ();
  return status;
}
