/* A hash of texts that is the same on every machine and in every version, because streams of random numbers depend on
 * it. FNV-1a, 64 bits (Fowler, Noll and Vo). */
#pragma once

#include <glib.h>
#include <string.h>

#define LOOM_HASH_EMPTY G_GUINT64_CONSTANT (14695981039346656037)

static inline guint64
loom_hash_byte (guint64 hash, guint8 byte)
{
  return (hash ^ byte) * G_GUINT64_CONSTANT (1099511628211);
}

static inline guint64
loom_hash_text (guint64 hash, const char *text)
{
  for (; *text != '\0'; text++)
    hash = loom_hash_byte (hash, (guint8)*text);
  return hash;
}

static inline guint64
loom_hash_name (const char *name)
{
  return loom_hash_text (LOOM_HASH_EMPTY, name);
}

/* A hash of n bytes, eight at a time: the shift mixes the high bits of a product into the low bits. Not FNV-1a, and
 * only for machines of one byte order in one run. */
static inline guint64
loom_hash_bytes (guint64 hash, gconstpointer bytes, gsize n)
{
  const guint8 *at = bytes;
  guint64 word;

  for (; n >= sizeof word; at += sizeof word, n -= sizeof word)
    {
      memcpy (&word, at, sizeof word);
      hash = (hash ^ word) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
      hash ^= hash >> 32;
    }
  while (n-- > 0)
    hash = loom_hash_byte (hash, *at++);
  return hash;
}
