/* Checks every load and store of kernels that GCC compiled with -fsanitize=thread,alignment,bounds.
 *
 * The compiler calls the functions at the end of this file instead of a sanitizer's runtime: they check the memory of
 * an address, and earlier accesses to shared memory. Code outside of kernels is not checked. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/cuda/emulator/block.h"

namespace emulated
{
namespace
{
/* The kernel that this host thread runs. */
struct Running
{
  const char *name; /* NULL: no kernel */
  uintptr_t also, also_end, stack, stack_end;
};

__attribute__ ((tls_model ("initial-exec"))) thread_local Running running;

struct Range
{
  uintptr_t from, to;
};

/* Objects that contain kernels: their constants may be read, as may threadIdx and similar variables. */
std::vector<Range> objects;

/* Memory found last; a kernel uses several operands in turn. */
Range lasts[4];
unsigned next_last;

bool
find_object (const void *code, Range *range)
{
  struct Search
  {
    uintptr_t at;
    Range found;
  } search = { (uintptr_t)code, { 0, 0 } };

  dl_iterate_phdr (
      [] (struct dl_phdr_info *info, size_t, void *data) {
        Search *want = (Search *)data;
        Range range = { UINTPTR_MAX, 0 };

        for (int i = 0; i < info->dlpi_phnum; i++)
          if (info->dlpi_phdr[i].p_type == PT_LOAD)
            {
              uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;

              range.from = from < range.from ? from : range.from;
              range.to = to > range.to ? to : range.to;
            }
        if (want->at < range.from || want->at >= range.to)
          return 0;
        want->found = range;
        return 1;
      },
      &search);
  *range = search.found;
  return search.found.to != 0;
}

std::string
who (void)
{
  return running.stack_end != 0 ? "a thread" : place_of (thread_of (current));
}

bool
within (uintptr_t at, unsigned bytes, const Range &range)
{
  return at >= range.from && at + bytes <= range.to;
}

/* Checks addresses that are not in memory found last; ends the program if a kernel must not access them. */
void
touch_slowly (uintptr_t at, unsigned bytes, bool write, const void *code)
{
  const Piece *piece;

  if (within (at, bytes, { running.stack, running.stack_end }))
    return;
  if (!write && within (at, bytes, { running.also, running.also_end }))
    return;
  if (!write)
    for (const Range &object : objects)
      if (within (at, bytes, object))
        return;
  piece = piece_of ((const void *)at);
  if (piece == NULL)
    found ("%s: %s %s %u bytes at %p, which is no memory of the card, at %s", running.name, who ().c_str (),
           write ? "writes" : "reads", bytes, (void *)at, line_of (code).c_str ());
  if (!piece->host && piece->gpu != running_gpu ())
    found ("%s: %s on GPU %d %s %u bytes at %p, which is memory of GPU %d, at %s", running.name, who ().c_str (),
           running_gpu (), write ? "writes" : "reads", bytes, (void *)at, piece->gpu, line_of (code).c_str ());
  const Range found_there = { piece->at, piece->at + piece->bytes };

  lasts[next_last++ % 4] = found_there;
  if (!within (at, bytes, found_there))
    found ("%s: %s %s %u bytes that begin at byte %zu of memory of %zu bytes, at %s", running.name, who ().c_str (),
           write ? "writes" : "reads", bytes, (size_t)(at - piece->at), piece->bytes, line_of (code).c_str ());
}
}

void
touch_begin (const char *name, const void *also, size_t bytes, const void *stack)
{
  static const bool own = (touch_code ((const void *)touch_begin), true);

  (void)own;
  for (Range &last : lasts)
    last = { 0, 0 };
  running = { name, (uintptr_t)also, (uintptr_t)also + bytes, 0, 0 };
  if (stack != NULL)
    {
      running.stack_end = (uintptr_t)stack;
      running.stack = running.stack_end - ((size_t)256 << 10);
    }
}

void
touch_end (void)
{
  running = {};
}

void
touch_code (const void *code)
{
  Range range;

  if (!find_object (code, &range))
    return;
  for (const Range &object : objects)
    if (object.from == range.from)
      return;
  objects.push_back (range);
}

std::string
line_of (const void *code)
{
  Dl_info info;
  Range range;
  char text[1024] = "", command[1200];
  FILE *pipe;

  /* `code` is the return address, one byte after the call. */
  if (dladdr (code, &info) == 0 || !find_object (code, &range))
    return "an unknown place";
  snprintf (command, sizeof command, "addr2line -e '%s' 0x%zx 2>/dev/null", info.dli_fname,
            (size_t)((uintptr_t)code - (uintptr_t)info.dli_fbase - 1));
  pipe = popen (command, "r");
  if (pipe != NULL)
    {
      if (fgets (text, sizeof text, pipe) == NULL)
        text[0] = '\0';
      pclose (pipe);
    }
  text[strcspn (text, " \n")] = '\0';
  /* The compiler puts its folder before the path in #line. */
  for (const char *tree : { "/kernels/cuda/", "/tests/cuda/" })
    if (strstr (text, tree) != NULL)
      return strstr (text, tree) + 1;
  if (text[0] == '\0' || text[0] == '?')
    snprintf (text, sizeof text, "offset 0x%zx of %s", (size_t)((uintptr_t)code - (uintptr_t)info.dli_fbase),
              info.dli_fname);
  return text;
}

/* The host's part of a kernel's file, which is compiled like the kernel. */
static void
touch_from_host (const void *at, bool write, const void *code)
{
  const Piece *piece = piece_of (at);

  if (piece != NULL && !piece->host)
    found ("the host %s %p, which is memory of the card, at %s", write ? "writes" : "reads", at,
           line_of (code).c_str ());
}

void
touch (const void *address, unsigned bytes, bool write, const void *code)
{
  const uintptr_t at = (uintptr_t)address;

  if (running.name == NULL)
    return touch_from_host (address, write, code);
  if (running.stack_end == 0 && on_a_stack (at))
    return;
  if (in_shared (at))
    return touch_shared (at, bytes, write, code);
  for (const Range &last : lasts)
    if (within (at, bytes, last))
      return;
  touch_slowly (at, bytes, write, code);
}

void
misaligned (const Position &position, const void *at, size_t alignment)
{
  if (running.name == NULL)
    return;
  if (at == NULL)
    found ("%s: %s uses NULL at %s:%u", running.name, who ().c_str (), position.file, position.line);
  found ("%s: %s uses %p, which is no multiple of %zu bytes, at %s:%u", running.name, who ().c_str (), at, alignment,
         position.file, position.line);
}

void
outside_array (const Position &position, long long index)
{
  if (running.name != NULL)
    found ("%s: %s uses place %lld of an array that has fewer, at %s:%u", running.name, who ().c_str (), index,
           position.file, position.line);
}

void
undefined (const Position &position, const char *operation)
{
  found ("%s: %s has an undefined result (%s) at %s:%u", running.name != NULL ? running.name : "a launch",
         running.name != NULL ? who ().c_str () : "the host", operation, position.file, position.line);
}
}

/* ---- functions that the compiler calls -------------------------------------------------------- */

#if !defined(EMULATOR_SANITIZED)
#define HIDDEN extern "C" __attribute__ ((visibility ("hidden"), used))
#define TOUCHES(bytes)                                                                                                 \
  HIDDEN void __tsan_read##bytes (void *at) { emulated::touch (at, bytes, false, __builtin_return_address (0)); }      \
  HIDDEN void __tsan_write##bytes (void *at) { emulated::touch (at, bytes, true, __builtin_return_address (0)); }      \
  HIDDEN void __tsan_unaligned_read##bytes (void *at)                                                                  \
  {                                                                                                                    \
    emulated::touch (at, bytes, false, __builtin_return_address (0));                                                  \
  }                                                                                                                    \
  HIDDEN void __tsan_unaligned_write##bytes (void *at)                                                                 \
  {                                                                                                                    \
    emulated::touch (at, bytes, true, __builtin_return_address (0));                                                   \
  }
TOUCHES (1)
TOUCHES (2)
TOUCHES (4)
TOUCHES (8)
TOUCHES (16)
HIDDEN void __tsan_read_range (void *at, unsigned long bytes)
{
  emulated::touch (at, (unsigned)bytes, false, __builtin_return_address (0));
}
HIDDEN void __tsan_write_range (void *at, unsigned long bytes)
{
  emulated::touch (at, (unsigned)bytes, true, __builtin_return_address (0));
}
HIDDEN void __tsan_vptr_update (void **, void *) {}
HIDDEN void __tsan_func_entry (void *) {}
HIDDEN void __tsan_func_exit (void) {}
HIDDEN void __tsan_init (void) {}

/* In GCC's layout: position, type, and for an access its alignment as a power of two. */
struct Mismatch
{
  emulated::Position position;
  const void *type;
  unsigned char alignment, kind;
};
struct Bounds
{
  emulated::Position position;
  const void *array, *index;
};
HIDDEN void __ubsan_handle_type_mismatch_v1 (Mismatch *what, void *at)
{
  emulated::misaligned (what->position, at, (size_t)1 << what->alignment);
}
HIDDEN void __ubsan_handle_out_of_bounds (Bounds *what, void *index)
{
  emulated::outside_array (what->position, (long long)(intptr_t)index);
}
/* Each begins with a position. */
#define UNDEFINED(operation)                                                                                           \
  HIDDEN void __ubsan_handle_##operation (emulated::Position *position)                                                \
  {                                                                                                                    \
    emulated::undefined (*position, #operation);                                                                       \
  }
UNDEFINED (add_overflow)
UNDEFINED (sub_overflow)
UNDEFINED (mul_overflow)
UNDEFINED (negate_overflow)
UNDEFINED (divrem_overflow)
UNDEFINED (shift_out_of_bounds)
#endif
