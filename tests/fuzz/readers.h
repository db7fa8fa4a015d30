/* Every reader of foreign bytes as one entry: what fuzz tests, libFuzzer and the kept inputs loop over. */
#pragma once

#include <glib.h>

/* What a mutation keeps whole, so that it comes further than the first check of a file. */
typedef enum
{
  FUZZ_BYTES,
  FUZZ_WORDS,    /* text: words of the format are put in */
  FUZZ_ZIP,      /* checksums and sizes of a zip archive */
  FUZZ_PROTOBUF, /* lengths of nested messages */
  FUZZ_LENGTH,   /* the length of a JSON header, 8 bytes before it */
  FUZZ_PNG,      /* checksums of chunks */
  FUZZ_TAR,      /* checksums of headers */
  FUZZ_FOOTER,   /* the length of the footer at the end of a Parquet file */
  FUZZ_FIXED     /* the place of what follows: bytes change, and none is added or removed, except at the end */
} FuzzForm;

typedef struct _FuzzReader FuzzReader;

struct _FuzzReader
{
  const char *name;
  /* Reads the bytes. Asserts that a refusal has a sentence. */
  void (*run) (const FuzzReader *self, const guint8 *data, gsize size);
  FuzzForm form;
  /* "FOLDER SUFFIX" of the tree, whose files are inputs to begin with; "" any suffix. */
  const char *seeds[6];
  const char *text[3];      /* inputs to begin with */
  const char *const *words; /* for FUZZ_WORDS and texts in other forms; NULL: those of JSON */
  const char *file;         /* of data sets and runs: the file that has the bytes, which is an input to begin with */
  void (*prepare) (void);   /* writes the other files that they need; call before run() */
  void (*add) (const FuzzReader *self, GPtrArray *seeds); /* further inputs to begin with */
  /* What it may take in memory: megabytes, and a multiple of the size of its bytes. 0: the first of those below. */
  guint most_mb, multiple;
};

#define FUZZ_MOST_MB    3
#define FUZZ_NET_MB     260 /* 200,000 nodes */
#define FUZZ_PICTURE_MB 420 /* 100 million pixels */
#define FUZZ_MULTIPLE   64
#define FUZZ_PACKED     1100 /* deflate packs 1032 bytes into one */
/* Runs it; the program ends if it takes more. */
void fuzz_reader_run (const FuzzReader *self, const guint8 *data, gsize size);

/* The reader after another one; NULL: the first, and after the last. */
const FuzzReader *fuzz_reader_next (const FuzzReader *before);
/* These end without a name. */
extern const FuzzReader fuzz_data_readers[], fuzz_run_readers[], fuzz_plain_readers[], fuzz_agent_readers[],
    fuzz_bus_readers[], fuzz_rank_readers[];
extern const FuzzReader fuzz_studio_readers[] __attribute__ ((weak)); /* NULL: a build without Studio */

/* The program ends if there is none of the name. */
const FuzzReader *fuzz_reader_find (const char *name);
/* In the order of their names, GBytes: kept inputs (corpus/NAME.zip), files of the tree, texts. */
GPtrArray *fuzz_reader_seeds (const FuzzReader *self);
/* The folder in which files are put, made at the first call; removed by the second function. */
const char *fuzz_folder (void);
void fuzz_folder_remove (void);
/* The folder of a run that was trained there. */
const char *fuzz_run (void);
/* Replaces a file in that folder, without waiting for the disk. */
void fuzz_write (const char *name, gconstpointer data, gsize n);
/* The same for a file that is there, until another reader begins. */
void fuzz_replace (const char *name, gconstpointer data, gsize n);

/* A sentence, as UTF-8. */
void fuzz_check_error (const GError *error);

/* Changes bytes in place; returns the new size, at most `most`. */
typedef gsize (*FuzzChange) (guint8 *data, gsize size, gsize most, guint seed);
/* One mutation in the form of the reader: `change` is applied to a piece, and what depends on it is renewed. */
gsize fuzz_mutate (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed, FuzzChange change);
/* A change from a seed alone, for callers without libFuzzer. */
gsize fuzz_change (guint8 *data, gsize size, gsize most, guint seed);
