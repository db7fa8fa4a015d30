/* Shared memory of the running block, and the record of its accesses.
 *
 * For each byte the record keeps its last writer and its last readers. Two accesses by different threads, one of them a
 * store, are a race unless a barrier of the block, or one of the warp that both are in, came between them. Shuffles
 * order nothing: CUDA guarantees it only for barriers. */
#include <map>
#include <stdio.h>

#include "tests/cuda/emulator/block.h"

#define WITHOUT_ASKING ((size_t)48 << 10)
#define AT_MOST        ((size_t)227 << 10)
#define GAP            ((size_t)64) /* between variables, so that an overrun is noticed */

namespace emulated
{
alignas (256) char shared_memory[SHARED_BYTES];
static_assert (SHARED_BYTES >= AT_MOST + 64 * GAP, "all shared memory and its gaps");

namespace
{
struct Variable
{
  const void *key;
  size_t at, bytes;
  const char *name;
  unsigned unit; /* a power of two: bytes that have always been accessed together, and have one record */
};

/* One thread's access; epoch 0 is none. Small, as there are four for each number in shared memory, and waiting for
 * these was most of the time of checked kernels. */
struct Touch
{
  uint32_t epoch;
  int32_t code; /* from touch_shared() */
  uint32_t warp_epoch;
  int32_t thread;
};

/* `read` are the last reader, the one of the same warp before it, and the last one of another warp: for any thread that
 * writes next, they include an unordered reader if there is one. */
struct alignas (64) Record
{
  Touch written, read[3];
};

std::vector<Variable> variables;
Variable *last_variable;             /* NULL, or one of them: the next access is often to the same */
size_t used, counted, dynamic;       /* bytes with gaps; bytes on a real GPU; dynamic ones */
std::map<std::string, size_t> asked; /* dynamic memory that a kernel opted in to */

Record *
records (void)
{
  static Record *all = new Record[SHARED_BYTES]();
  return all;
}

bool
unordered (const Touch &before, const Touch &touch)
{
  if (before.epoch != (uint32_t)now.epoch || before.thread == touch.thread)
    return false;
  return before.thread / 32 != touch.thread / 32 || before.warp_epoch == touch.warp_epoch;
}

Variable *
variable_at (size_t at, size_t bytes)
{
  if (last_variable != NULL && at >= last_variable->at && at + bytes <= last_variable->at + last_variable->bytes)
    return last_variable;
  for (Variable &variable : variables)
    if (at >= variable.at && at + bytes <= variable.at + variable.bytes)
      return last_variable = &variable;
  return NULL;
}

void
add_variable (const Variable &variable)
{
  variables.push_back (variable);
  last_variable = NULL;
}

/* The address of an access in the kernel. */
const void *
code_of (const Touch &touch)
{
  return (const char *)(uintptr_t)touch_shared + touch.code;
}

[[noreturn]] void
race (const Touch &before, bool wrote, const Touch &touch, bool writes, size_t at)
{
  const Variable *variable = variable_at (at, 1);

  found ("%s: a race on %s[byte %zu] of shared memory: %s %s it at %s, and nothing orders that before %s, which %s it "
         "at %s",
         now.name, variable != NULL ? variable->name : "?", at - (variable != NULL ? variable->at : 0),
         place_of (before.thread).c_str (), wrote ? "wrote" : "read", line_of (code_of (before)).c_str (),
         place_of (touch.thread).c_str (), writes ? "writes" : "reads", line_of (code_of (touch)).c_str ());
}

/* The records of a variable are adjacent, so that bytes accessed together have neighbouring records. */
Record *
records_of (const Variable *variable)
{
  return records () + variable->at;
}

/* From now on every `unit` bytes have a record, copied from the former one. */
void
split (Variable *variable, unsigned unit)
{
  Record *all = records_of (variable);
  const size_t share = variable->unit / unit;

  for (size_t i = variable->bytes / unit; i-- > 0;)
    all[i] = all[i / share];
  variable->unit = unit;
}

void
note_reader (Record *record, const Touch &touch)
{
  Touch &last = record->read[0];

  if (last.epoch != touch.epoch)
    record->read[1].epoch = record->read[2].epoch = 0;
  else if (last.thread == touch.thread)
    ;
  else if (last.thread / 32 == touch.thread / 32)
    record->read[1] = last;
  else
    {
      record->read[2] = last;
      record->read[1].epoch = 0;
    }
  last = touch;
}
}

void
shared_begin (size_t bytes)
{
  variables.clear ();
  last_variable = NULL;
  used = dynamic = counted = 0;
  if (bytes == 0)
    return;
  dynamic = counted = used = bytes;
  memset (shared_memory, 0xff, bytes);
  add_variable ({ shared_memory, 0, bytes, "dynamic", 16 });
}

void *
dynamic_shared (void)
{
  return shared_memory;
}

void *
shared (const void *key, size_t bytes, unsigned unit, const char *name)
{
  for (const Variable &variable : variables)
    if (variable.key == key)
      return shared_memory + variable.at;
  size_t at = (used + (used != 0 ? GAP : 0) + 15) / 16 * 16, already = counted - dynamic, limit = WITHOUT_ASKING;

  if (dynamic != 0 && asked.count (now.name) != 0)
    limit = AT_MOST;
  counted = (counted + 15) / 16 * 16 + bytes;
  if (already + bytes > WITHOUT_ASKING || counted > limit || at + bytes > SHARED_BYTES)
    found ("%s asks for more than %zu bytes of shared memory with its variable %s", now.name,
           already + bytes > WITHOUT_ASKING ? WITHOUT_ASKING : limit, name);
  memset (shared_memory + at, 0xff, bytes); /* NaN in every float type */
  used = at + bytes;
  add_variable ({ key, at, bytes, name, unit & -unit });
  return shared_memory + at;
}

cudaError_t
set_attribute (const char *kernel, cudaFuncAttribute what, int value)
{
  if (what != cudaFuncAttributeMaxDynamicSharedMemorySize)
    {
      lacks ("cudaFuncSetAttribute with attribute %d", (int)what);
      return cudaErrorNotSupported;
    }
  if (value < 0 || (size_t)value > AT_MOST)
    return cudaErrorInvalidValue;
  asked[kernel] = (size_t)value;
  return cudaSuccess;
}

/* Limits of a launch. */
size_t
dynamic_limit (const char *kernel)
{
  auto entry = asked.find (kernel);

  return entry != asked.end () && entry->second > WITHOUT_ASKING ? entry->second : WITHOUT_ASKING;
}

void
touch_shared (uintptr_t address, unsigned bytes, bool write, const void *code)
{
  const size_t at = address - (uintptr_t)shared_memory;
  const int thread = thread_of (current);
  const Touch touch = { (uint32_t)now.epoch, (int32_t)((uintptr_t)code - (uintptr_t)touch_shared),
                        now.warp[thread / 32].epoch, thread };

  Variable *variable = variable_at (at, bytes);

  if (variable == NULL)
    found ("%s: %s %s %u bytes of shared memory that are not part of one variable, at %s", now.name,
           place_of (thread).c_str (), write ? "writes" : "reads", bytes, line_of (code).c_str ());
  if ((((at - variable->at) | bytes) & (variable->unit - 1)) != 0)
    {
      unsigned unit = variable->unit;

      /* For instance if a kernel copies 16 bytes at once and reads numbers of two. */
      while ((((at - variable->at) | bytes) & (unit - 1)) != 0)
        unit /= 2;
      split (variable, unit);
    }
  Record *record = records_of (variable) + ((at - variable->at) >> __builtin_ctz (variable->unit));

  for (size_t i = at; i < at + bytes; i += variable->unit, record++)
    {
      if (unordered (record->written, touch))
        race (record->written, true, touch, write, i);
      if (!write)
        {
          note_reader (record, touch);
          continue;
        }
      for (const Touch &reader : record->read)
        if (unordered (reader, touch))
          race (reader, false, touch, true, i);
      record->written = touch;
    }
}
}
