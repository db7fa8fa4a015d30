/* Recognises files of other formats by their first bytes, and suggests a remedy, if weights, an array or a text were
 * expected. */
#pragma once

#include <glib.h>

typedef enum
{
  LOOM_FILE_WEIGHTS, /* expected: a safetensors file */
  LOOM_FILE_ARRAY,   /* expected: an npy file */
  LOOM_FILE_TEXT,    /* expected: a text, such as a table or words */
  LOOM_FILE_N_WANTED
} LoomFileWanted;

/* The predicate after the file's name in a sentence: "was written by torch.save; …". NULL if the file has the expected
 * format or none that is known. (transfer full) */
char *loom_file_kind_words (const guint8 *data, gsize length, LoomFileWanted wanted);

/* TRUE if the bytes begin with these n. */
gboolean loom_file_begins (const guint8 *data, gsize length, const char *magic, gsize n);

/* For a file that is one of several shards by its name (model-00001-of-00003.safetensors), a sentence about that; else
 * NULL. (transfer full) */
char *loom_file_shard_words (const char *path);
