/* The entries of libFuzzer for the reader that GRADLOOM_FUZZ_READER names. */
#include "tests/fuzz/readers.h"

#include <signal.h>
#include <stdlib.h>

size_t LLVMFuzzerMutate (unsigned char *data, size_t size, size_t most);
int LLVMFuzzerInitialize (int *argc, char ***argv);
int LLVMFuzzerTestOneInput (const unsigned char *data, size_t size);
size_t LLVMFuzzerCustomMutator (unsigned char *data, size_t size, size_t most, unsigned int seed);

static const FuzzReader *reader;

/* GLib's assertions end with SIGTRAP, which libFuzzer does not handle: without this the input is not kept. */
static void
trap_cb (int number)
{
  abort ();
}

/* GRADLOOM_FUZZ_SEEDS: a folder into which the inputs to begin with are written. */
int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  const char *to = g_getenv ("GRADLOOM_FUZZ_SEEDS");
  g_autoptr (GPtrArray) seeds = NULL;

  signal (SIGTRAP, trap_cb);
  reader = fuzz_reader_find (g_getenv ("GRADLOOM_FUZZ_READER"));
  seeds = fuzz_reader_seeds (reader);
  for (guint i = 0; to != NULL && i < seeds->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("%04u", i), *path = g_build_filename (to, name, NULL);
      gsize n;
      const char *bytes = g_bytes_get_data (seeds->pdata[i], &n);

      g_file_set_contents (path, bytes, (gssize)n, NULL);
    }
  return 0;
}

int
LLVMFuzzerTestOneInput (const unsigned char *data, size_t size)
{
  fuzz_reader_run (reader, data, size);
  return 0;
}

static gsize
change_cb (guint8 *data, gsize size, gsize most, guint seed)
{
  return most > 0 ? LLVMFuzzerMutate (data, size, most) : 0;
}

size_t
LLVMFuzzerCustomMutator (unsigned char *data, size_t size, size_t most, unsigned int seed)
{
  return fuzz_mutate (reader, data, size, most, seed, change_cb);
}
