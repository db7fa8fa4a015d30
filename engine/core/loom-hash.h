/* A hash of texts that is the same on every machine and in every version: streams of random numbers depend on it.
 * FNV-1a, 64 bits (Fowler, Noll and Vo). */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

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

G_END_DECLS
