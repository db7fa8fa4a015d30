/* A hash of names that is the same on every machine and in every version: streams of random numbers depend on it. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* FNV-1a, 64 bits (Fowler, Noll and Vo). */
static inline guint64
loom_hash_name (const char *name)
{
  guint64 hash = G_GUINT64_CONSTANT (14695981039346656037);

  for (; *name != '\0'; name++)
    hash = (hash ^ (guint8)*name) * G_GUINT64_CONSTANT (1099511628211);
  return hash;
}

G_END_DECLS
