/* The block that runs, as launch.cc, shared.cc and touch.cc know it. */
#ifndef EMULATOR_BLOCK_H
#define EMULATOR_BLOCK_H

#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/fibre.h"

namespace emulated
{
struct Warp
{
  uint32_t ready;                  /* lanes that may run */
  uint32_t arrived;                /* lanes that wait at a shuffle or a warp's barrier */
  bool barrier;                    /* at which of the two */
  int offset, line;
  uint32_t epoch;                  /* warp barriers passed */
  unsigned char from[32];
  unsigned long long sent[32], came[32];
  float *sums[32]; /* and the operands that lanes bring to a product */
  const float *a[32], *b[32];
};

struct Block
{
  const Kernel *kernel;
  const char *name;
  Order order;
  int threads, warps, finished, waiting, line;
  uint64_t epoch; /* barriers passed, in all blocks so far */
  Warp warp[MAX_THREADS / 32];
  Fibre *fibre[MAX_THREADS]; /* NULL: has not begun */
};

extern Block now;

/* "thread 3 of block 1,0", for a sentence. */
std::string place_of (int thread);

/* ---- shared memory (shared.cc) ---------------------------------------------------------------- */

/* A block begins: it has no variables yet but `bytes` of dynamic memory. */
void shared_begin (size_t bytes);

/* true if it is this block's shared memory; `touch_shared` takes note of who read or wrote, and ends the program where
 * nothing orders that after what another thread did. `code` is the place in the kernel. */
bool in_shared (uintptr_t at);
void touch_shared (uintptr_t at, unsigned bytes, bool write, const void *code);

/* ---- checked kernels (touch.cc) ------------------------------------------------------------------ */

/* Between these two, this thread of the host runs kernels whose loads and stores are checked. Besides memory of the
 * GPU they may read [also, also + bytes): their arguments. `stack` and below is theirs, too, where it is not NULL. */
void touch_begin (const char *name, const void *also, size_t bytes, const void *stack);
void touch_end (void);

/* Kernels were loaded at run time: the object of which `code` is part. */
void touch_code (const void *code);

/* "cuda-reduce.cu:31", or something like it. */
std::string line_of (const void *code);

/* One load or store. */
void touch (const void *at, unsigned bytes, bool write, const void *code);

/* Functions that the undefined-behaviour checks of a checked kernel call. */
struct Position
{
  const char *file;
  uint32_t line, column;
};
void misaligned (const Position &position, const void *at, size_t alignment);
void outside_array (const Position &position, long long index);
}

#endif
