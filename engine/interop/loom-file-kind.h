/* Names files of other formats by their first bytes, with the remedy, where weights, an array or a text are wanted. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  LOOM_FILE_WEIGHTS, /* a safetensors file is wanted */
  LOOM_FILE_ARRAY,   /* an npy file is wanted */
  LOOM_FILE_TEXT,    /* a text is wanted: a table, or words */
  LOOM_FILE_N_WANTED
} LoomFileWanted;

/* What follows the file's name in a sentence: "is what torch.save writes; …". NULL: it is the wanted format, or none
 * that is known. (transfer full) */
char *loom_file_kind_words (const guint8 *data, gsize length, LoomFileWanted wanted);

/* For a file that is one of several shards by its name (model-00001-of-00003.safetensors), a sentence that says so;
 * else NULL. (transfer full) */
char *loom_file_shard_words (const char *path);

G_END_DECLS
