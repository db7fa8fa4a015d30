/* The GPU's memory, and page-locked memory that the GPU sees.
 *
 * Pieces have exact sizes and are poisoned at first. Freed memory is poisoned again and kept for a while, so that a
 * stale address does not soon point to another piece. Under the address sanitizer device memory is closed to the host.
 */
#include <deque>
#include <map>
#include <mutex>
#include <stdlib.h>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/stream.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define GUARD_BYTES ((size_t)0) /* the sanitizer has its own guards after exact memory */
#else
#define GUARD_BYTES ((size_t)64)
#endif

#define TOTAL_MEMORY ((size_t)16 << 30) /* without GRADLOOM_EMULATOR_MEMORY */
#define KEPT_BYTES   ((size_t)64 << 20)
#define GUARD        0xa5
#define POISON       0xff

namespace emulated
{
int current_gpu (void);

emulated::Turn device;

namespace
{
std::map<uintptr_t, Piece> memory;
std::deque<Piece> kept; /* freed, oldest first; tens of thousands of small ones */
size_t kept_bytes;
std::map<int, size_t> in_use; /* bytes of each GPU's own memory */
int opened;

/* The memory of each GPU: GRADLOOM_EMULATOR_MEMORY=64M, in MiB. */
size_t
total_memory (void)
{
  static const size_t total = [] {
    const char *text = getenv ("GRADLOOM_EMULATOR_MEMORY");
    char *end = NULL;
    const unsigned long n = text != NULL ? strtoul (text, &end, 10) : 0;

    if (text != NULL && (n == 0 || strcmp (end, "M") != 0))
      found ("GRADLOOM_EMULATOR_MEMORY is “%s”; it takes a number of MiB, as 64M", text);
    return text != NULL ? (size_t)n << 20 : TOTAL_MEMORY;
  }();

  return total;
}

void
close_to_host (const Piece &piece, bool closed)
{
#if defined(__SANITIZE_ADDRESS__)
  if (piece.host)
    return;
  if (closed)
    __asan_poison_memory_region ((const void *)piece.at, piece.bytes);
  else
    __asan_unpoison_memory_region ((const void *)piece.at, piece.bytes);
#else
  (void)piece;
  (void)closed;
#endif
}

void
let_go (const Piece &piece)
{
  const unsigned char *bytes = (const unsigned char *)piece.at;

  /* All bytes are equal if each is equal to the next: a comparison by words, of all memory that a program frees. */
  const bool intact = piece.bytes == 0 || (bytes[0] == POISON && memcmp (bytes, bytes + 1, piece.bytes - 1) == 0);

  for (size_t i = 0; !intact && i < piece.bytes; i++)
    if (bytes[i] != POISON)
      found ("something wrote byte %zu of memory of %zu bytes after it was given back", i, piece.bytes);
  kept_bytes -= piece.bytes;
  free ((void *)piece.at);
}
}

Opened::Opened ()
{
#if defined(__SANITIZE_ADDRESS__)
  device.lock ();
  if (opened++ == 0)
    for (const auto &entry : memory)
      close_to_host (entry.second, false);
#endif
}

Opened::~Opened ()
{
#if defined(__SANITIZE_ADDRESS__)
  if (--opened == 0)
    for (const auto &entry : memory)
      close_to_host (entry.second, true);
  device.unlock ();
#endif
}

cudaError_t
take (void **to, size_t bytes, bool host)
{
  static uint64_t taken;
  char *at = nullptr;

  std::lock_guard<emulated::Turn> hold (device);
  if (fails ("alloc") || (!host && bytes > total_memory () - in_use[current_gpu ()])
      || posix_memalign ((void **)&at, 256, bytes + GUARD_BYTES) != 0)
    return cudaErrorMemoryAllocation;
  memset (at, POISON, bytes);
  memset (at + bytes, GUARD, GUARD_BYTES);
  memory[(uintptr_t)at] = { (uintptr_t)at, bytes, host, ++taken, current_gpu () };
  if (opened == 0)
    close_to_host (memory[(uintptr_t)at], true);
  in_use[current_gpu ()] += host ? 0 : bytes;
  *to = at;
  return cudaSuccess;
}

cudaError_t
give_back (void *pointer)
{
  if (pointer == nullptr)
    return cudaSuccess;
  std::lock_guard<emulated::Turn> hold (device);
  auto entry = memory.find ((uintptr_t)pointer);

  if (entry == memory.end ())
    return cudaErrorInvalidValue;
  const Piece piece = entry->second;

  memory.erase (entry);
  close_to_host (piece, false);
  for (size_t i = 0; i < GUARD_BYTES; i++)
    if (((unsigned char *)pointer)[piece.bytes + i] != GUARD)
      found ("something wrote %zu bytes behind the end of memory of %zu bytes", i + 1, piece.bytes);
  in_use[piece.gpu] -= piece.host ? 0 : piece.bytes;
#if defined(__SANITIZE_ADDRESS__)
  free (pointer);
#else
  memset (pointer, POISON, piece.bytes);
  kept.push_back (piece);
  kept_bytes += piece.bytes;
  while (kept_bytes > KEPT_BYTES)
    {
      const Piece oldest = kept.front ();

      kept.pop_front ();
      let_go (oldest);
    }
#endif
  return cudaSuccess;
}

void
memory_info (size_t *bytes_free, size_t *bytes_total)
{
  std::lock_guard<emulated::Turn> hold (device);

  *bytes_total = total_memory ();
  *bytes_free = total_memory () - in_use[current_gpu ()];
}

const Piece *
piece_of (const void *pointer)
{
  std::lock_guard<emulated::Turn> hold (device);
  auto entry = memory.upper_bound ((uintptr_t)pointer);

  if (entry == memory.begin ())
    return NULL;
  --entry;
  return (uintptr_t)pointer - entry->first <= entry->second.bytes ? &entry->second : NULL;
}

bool
device_sees (const void *pointer)
{
  return piece_of (pointer) != NULL;
}

bool
device_sees (const void *pointer, size_t bytes)
{
  std::lock_guard<emulated::Turn> hold (device);
  const Piece *piece = piece_of (pointer);

  return piece != NULL && (uintptr_t)pointer + bytes <= piece->at + piece->bytes;
}
}
