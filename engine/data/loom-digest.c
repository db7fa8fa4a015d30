/* A hash that distinguishes data sets of the same size, for ranks that each read their own copy.
 *
 * It costs little compared with reading the data: bytes in memory are hashed at several gigabytes a second, and of more
 * than WHOLE_BYTES, which may be in a mapped file, only evenly distributed blocks are hashed. */
#include "engine/core/loom-hash.h"
#include "engine/data/loom-dataset-private.h"

#define WHOLE_BYTES ((gsize)512 << 20)
#define BLOCK_BYTES ((gsize)64 << 10)

guint64
loom_digest_bytes (guint64 hash, gconstpointer bytes, gsize n)
{
  const gsize blocks = WHOLE_BYTES / BLOCK_BYTES;

  hash = loom_hash_bytes (hash, &n, sizeof n);
  if (n <= WHOLE_BYTES)
    return loom_hash_bytes (hash, bytes, n);
  for (gsize i = 0; i < blocks; i++)
    hash = loom_hash_bytes (hash, (const char *)bytes + (n - BLOCK_BYTES) / (blocks - 1) * i, BLOCK_BYTES);
  return loom_hash_bytes (hash, (const char *)bytes + n - BLOCK_BYTES, BLOCK_BYTES);
}

guint64
loom_dataset_digest (const LoomDataset *self)
{
  g_autofree char *saved = loom_dataset_save (self);
  const guint64 hash = loom_hash_name (saved != NULL ? saved : "");

  return self->klass->digest != NULL ? self->klass->digest (self, hash) : hash;
}
