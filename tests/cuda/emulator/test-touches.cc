/* Checks of loads and stores: races, misaligned vectors, reads outside of the GPU's memory. */
#include <limits.h>
#include <string>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/test-emulator.h"
#include "tests/cuda/emulator/test-kernels.h"

typedef struct
{
  const char *name;
  const char *sentence; /* NULL: no race */
} Race;

static const Race races[] = {
  { "barrier", NULL },
  { "warp", NULL },
  { "read-barrier-write", NULL },
  { "bytes", NULL },
  { "write-read", "*neighbour_kernel<TEST_NOTHING, 1>: a race on place[byte 4] of shared memory: thread 0 of block 0,0,0 read it at "
                  "tests/cuda/emulator/test-kernels.cu:1??, and nothing orders that before thread 1 of block 0,0,0, which writes it at "
                  "tests/cuda/emulator/test-kernels.cu:1??*" },
  { "warp-too-far", "*a race on place[byte *: thread * read it at *which writes it*" },
  { "shuffle", "*a race on place[byte *which reads it*" },
  { "read-write", "*after_kernel<TEST_NOTHING>: a race on place[byte *: thread * wrote it at *which reads it*" },
  { "write-write", "*both_kernel: a race on place[byte 0] *: thread * wrote it at *which writes it*" },
  { "same-byte", "*byte_kernel<1>: a race on place[byte 0] *wrote it at *which writes it*" },
  { "array", "*array_kernel: thread 0 of block 0,0,0 uses place 32 of an array that has fewer, at *test-kernels.cu:*" },
};

static void
race_test (gconstpointer data)
{
  const Race *race = (const Race *)data;

  if (race->sentence == NULL || g_test_subprocess ())
    {
      float *y = test_memory (64);

      test_race (race->name, y);
      OK (cudaGetLastError ());
      OK (cudaFree (y));
      return;
    }
  g_test_trap_subprocess (NULL, 0, (GTestSubprocessFlags)0);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (race->sentence);
}

static void
aligned_test (void)
{
  float *x = test_memory (8), *y = test_memory (8);

  test_four (y, x + 4);
  OK (cudaGetLastError ());
  OK (cudaFree (x));
  OK (cudaFree (y));
}

static void
misaligned_test (void)
{
  test_found ([] { test_four (test_memory (8), test_memory (8) + 1); },
              "*four_kernel: thread 0 of block 0,0,0 uses *, which is no multiple of 16 bytes, at *test-kernels.cu:*");
}

static void
over_read_test (void)
{
  test_found ([] { test_copy (test_memory (33), test_memory (32), 33); },
              "*copy_kernel: thread 0 of block 0,0,0 reads 4 bytes that begin at byte 128 of memory of 128 bytes, at "
              "*test-kernels.cu:*");
}

/* An address of the host inside a struct: the launch cannot check it, the load does. */
static void
follow_test (void)
{
  test_found (
      [] {
        test_follow (test_memory (1), { 0, g_new0 (float, 1) });
      },
      "*follow_kernel: thread 0 of block 0,0,0 reads 4 bytes at *, which is no memory of the card*");
}

/* The code of the host in a file of kernels may read its own memory only. */
static void
host_test (void)
{
  const float own = 2;

  g_assert_cmpfloat (test_host_read (&own), ==, 2);
  test_found ([] { test_host_read (test_memory (1)); },
              "*the host reads *, which is memory of the card, at *test-kernels.cu:*");
}

static void
defined_test (void)
{
  int *y = (int *)test_memory (1);

  test_shift (y, 30);
  test_sum (y, INT_MAX, 0);
  OK (cudaGetLastError ());
  OK (cudaFree (y));
}

static void
shift_test (void)
{
  test_found (
      [] { test_shift ((int *)test_memory (1), 32); },
      "*shift_kernel: thread 0 of block 0,0,0 has an undefined result (shift_out_of_bounds) at *test-kernels.cu:*");
}

static void
sum_test (void)
{
  test_found ([] { test_sum ((int *)test_memory (1), INT_MAX, 1); },
              "*sum_kernel: thread 0 of block 0,0,0 has an undefined result (add_overflow) at *test-kernels.cu:*");
}

void
add_touch_tests (void)
{
  if (!emulated::checked)
    return;
  for (const Race &race : races)
    g_test_add_data_func ((std::string ("/emulator/race/") + race.name).c_str (), &race, race_test);
  g_test_add_func ("/emulator/touch/aligned", aligned_test);
  g_test_add_func ("/emulator/touch/misaligned", misaligned_test);
  g_test_add_func ("/emulator/touch/over-read", over_read_test);
  g_test_add_func ("/emulator/touch/follow", follow_test);
  g_test_add_func ("/emulator/touch/host", host_test);
  g_test_add_func ("/emulator/touch/defined", defined_test);
  g_test_add_func ("/emulator/touch/shift", shift_test);
  g_test_add_func ("/emulator/touch/sum", sum_test);
}
