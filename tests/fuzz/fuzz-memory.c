/* How much of the heap a reader takes for its bytes, with that of the libraries that it calls. */
#include "tests/fuzz/readers.h"

#include <malloc.h>

static gsize used, most;

G_GNUC_UNUSED static void
add (gsize n)
{
  const gsize now = __atomic_add_fetch (&used, n, __ATOMIC_RELAXED);
  gsize before = __atomic_load_n (&most, __ATOMIC_RELAXED);

  while (now > before && !__atomic_compare_exchange_n (&most, &before, now, TRUE, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

G_GNUC_UNUSED static void
drop (gsize n)
{
  __atomic_sub_fetch (&used, n, __ATOMIC_RELAXED);
}

#ifndef __has_feature
#define __has_feature(NAME) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)

int __sanitizer_install_malloc_and_free_hooks (void (*made) (const volatile void *, gsize),
                                               void (*freed) (const volatile void *));
gsize __sanitizer_get_allocated_size (const volatile void *block);

static void
made (const volatile void *block, gsize n)
{
  add (n);
}

static void
freed (const volatile void *block)
{
  drop (block != NULL ? __sanitizer_get_allocated_size (block) : 0);
}

static void
begin (void)
{
  static gboolean begun;

  if (!begun)
    __sanitizer_install_malloc_and_free_hooks (made, freed);
  begun = TRUE;
}

#else

#ifdef __GLIBC__
/* Before those of the C library, which has these names for it. With another one nothing is counted. */
void *__libc_malloc (gsize n);
void *__libc_calloc (gsize n, gsize size);
void *__libc_realloc (void *block, gsize n);
void *__libc_memalign (gsize alignment, gsize n);
void __libc_free (void *block);

static void *
note (void *block)
{
  add (malloc_usable_size (block));
  return block;
}

void *
malloc (gsize n)
{
  return note (__libc_malloc (n));
}

void *
calloc (gsize n, gsize size)
{
  return note (__libc_calloc (n, size));
}

void *
realloc (void *block, gsize n)
{
  const gsize before = malloc_usable_size (block);
  void *moved = __libc_realloc (block, n);

  if (moved == NULL && n > 0)
    return NULL;
  drop (before);
  return note (moved);
}

void *
aligned_alloc (gsize alignment, gsize n)
{
  return note (__libc_memalign (alignment, n));
}

void *
memalign (gsize alignment, gsize n)
{
  return note (__libc_memalign (alignment, n));
}

int
posix_memalign (void **block, gsize alignment, gsize n)
{
  void *made = __libc_memalign (alignment, n);

  if (made == NULL)
    return 12; /* ENOMEM */
  *block = note (made);
  return 0;
}

void
free (void *block)
{
  drop (malloc_usable_size (block));
  __libc_free (block);
}

#endif

static void
begin (void)
{
}

#endif

void
fuzz_reader_run (const FuzzReader *self, const guint8 *data, gsize size)
{
  const gsize multiple = self->multiple > 0 ? self->multiple : FUZZ_MULTIPLE,
              least = (gsize)(self->most_mb > 0 ? self->most_mb : FUZZ_MOST_MB) << 20;
  gsize before, taken;

  begin ();
  before = used;
  __atomic_store_n (&most, before, __ATOMIC_RELAXED);
  self->run (self, data, size);
  taken = most - before;
  if (g_getenv ("FUZZ_MEMORY") != NULL)
    g_printerr ("memory %s %zu %zu\n", self->name, size, taken);
  if (taken > least + multiple * size)
    g_error ("The reader %s takes %zu bytes for %zu", self->name, taken, size);
}
