/* Compares division by multiplication (kernels/cuda/cuda-divide.cuh) with the processor's own, at the ends of both
 * ranges and next to multiples, where a magic number that is off by one shows. */
#include <glib.h>

#define __device__
#include "kernels/cuda/cuda-divide.cuh"

static void
check_narrow (unsigned int n, unsigned int by)
{
  g_assert_cmpuint (divide (n, divisor_of (by)), ==, n / by);
}

static void
check_long (guint64 n, guint64 by)
{
  const LongDivisor d = long_divisor_of (by);
  long long rest = (long long)n;

  g_assert_cmpuint (divide (n, d), ==, n / by);
  g_assert_cmpint (take_index (&rest, d), ==, (long long)(n % by));
  g_assert_cmpint (rest, ==, (long long)(n / by));
}

/* Both sides of a multiple of `by` near n, if they are below `end`. */
template <typename T>
static void
check_near (void (*check) (T, T), T n, T by, T end)
{
  const T multiple = n / by * by;

  for (T i = 0; i < 3; i++)
    if (multiple + i >= 1 && multiple + i - 1 < end)
      check (multiple + i - 1, by);
}

static guint64
random_below (GRand *rand, int bits)
{
  return ((guint64)g_rand_int (rand) << 32 | g_rand_int (rand)) >> (64 - bits);
}

static void
test_narrow (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  const unsigned int end = 1u << 31;

  for (int i = 0; i < 200000; i++)
    {
      const unsigned int by = (unsigned int)random_below (rand, 1 + i % 31);
      const unsigned int n = i % 3 == 0 ? end - 1 : (unsigned int)random_below (rand, 1 + i / 31 % 31);

      check_near<unsigned int> (check_narrow, n, by > 0 ? by : 1, end);
    }
  for (int bits = 0; bits < 31; bits++)
    check_near<unsigned int> (check_narrow, end - 1, 1u << bits, end);
  g_assert_cmpuint (divide (7u, divisor_of (0)), ==, 7);
}

static void
test_long (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  const guint64 end = (guint64)1 << 63;

  for (int i = 0; i < 200000; i++)
    {
      const guint64 by = random_below (rand, 1 + i % 63);
      const guint64 n = i % 3 == 0 ? end - 1 : random_below (rand, 1 + i / 63 % 63);

      check_near<guint64> (check_long, n, by > 0 ? by : 1, end);
    }
  for (int bits = 0; bits < 63; bits++)
    for (int more = -1; more <= 1; more++)
      if (((guint64)1 << bits) + more > 0)
        check_near<guint64> (check_long, end - 1, ((guint64)1 << bits) + more, end);
  g_assert_cmpuint (divide ((unsigned long long)7, long_divisor_of (0)), ==, 7);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda/divide/narrow", test_narrow);
  g_test_add_func ("/cuda/divide/long", test_long);
  return g_test_run ();
}
