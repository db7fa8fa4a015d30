/* BLEU against counts by hand (Papineni et al., 2002). */
#include "engine/train/loom-bleu.h"

#include <math.h>

/* One token a letter. */
static void
add (LoomBleu *bleu, const char *said, const char *reference)
{
  gint64 a[64], b[64];
  guint n = 0, m = 0;

  for (; said[n] != '\0'; n++)
    a[n] = said[n];
  for (; reference[m] != '\0'; m++)
    b[m] = reference[m];
  loom_bleu_add (bleu, a, n, b, m);
}

/* The example of the paper's section 2.1, "the the the the the the the" beside "the cat is on the mat": a run counts as
 * often as the reference has it. */
static void
test_clipped (void)
{
  LoomBleu bleu = { 0 };

  add (&bleu, "ttttttt", "tcisotm");
  g_assert_cmpint (bleu.found[0], ==, 2);
  g_assert_cmpint (bleu.said[0], ==, 7);
  g_assert_cmpint (bleu.found[1], ==, 0);
  g_assert_cmpfloat (loom_bleu_value (&bleu), ==, 0);
}

static void
test_corpus (void)
{
  LoomBleu bleu = { 0 };

  /* 5 of 6, 3 of 5, 2 of 4, 1 of 3; then 6 of 6, 5 of 5, 4 of 4, 3 of 3. */
  add (&bleu, "abcdxf", "abcdef");
  add (&bleu, "ghijkl", "ghijkl");
  g_assert_cmpint (bleu.found[0], ==, 11);
  g_assert_cmpint (bleu.found[1], ==, 8);
  g_assert_cmpint (bleu.found[2], ==, 6);
  g_assert_cmpint (bleu.found[3], ==, 4);
  g_assert_cmpint (bleu.said[3], ==, 6);
  g_assert_cmpfloat_with_epsilon (loom_bleu_value (&bleu), pow (11 / 12.0 * 8 / 10 * 6 / 8 * 4 / 6, 0.25), 1e-15);
}

static void
test_brief (void)
{
  LoomBleu bleu = { 0 }, longer = { 0 };

  add (&bleu, "abcde", "abcdefg");
  g_assert_cmpfloat_with_epsilon (loom_bleu_value (&bleu), exp (1 - 7.0 / 5), 1e-15);
  /* Length is a matter of the corpus, and too much of it costs precision alone. */
  add (&longer, "abcdefg", "abcde");
  g_assert_cmpfloat_with_epsilon (loom_bleu_value (&longer), pow (5 / 7.0 * 4 / 6 * 3 / 5 * 2 / 4, 0.25), 1e-15);
  add (&bleu, "abcdefghi", "abcdefg");
  g_assert_cmpint (bleu.length, ==, bleu.reference);
  g_assert_cmpfloat_with_epsilon (loom_bleu_value (&bleu), pow (12 / 14.0 * 10 / 12 * 8 / 10 * 6 / 8, 0.25), 1e-15);
}

static void
test_empty (void)
{
  LoomBleu bleu = { 0 };

  g_assert_cmpfloat (loom_bleu_value (&bleu), ==, 0);
  add (&bleu, "", "abc");
  g_assert_cmpfloat (loom_bleu_value (&bleu), ==, 0);
  add (&bleu, "abcd", "");
  g_assert_cmpfloat (loom_bleu_value (&bleu), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/bleu/clipped", test_clipped);
  g_test_add_func ("/bleu/corpus", test_corpus);
  g_test_add_func ("/bleu/brief", test_brief);
  g_test_add_func ("/bleu/empty", test_empty);
  return g_test_run ();
}
