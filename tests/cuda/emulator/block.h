/* The running block, shared by launch.cc, shared.cc and touch.cc. */
#ifndef EMULATOR_BLOCK_H
#define EMULATOR_BLOCK_H

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/fibre.h"

namespace emulated
{
struct Warp
{
  uint32_t ready;   /* lanes that may run */
  uint32_t arrived; /* lanes that wait at a shuffle or a warp's barrier */
  bool barrier;     /* TRUE: at a warp's barrier, else at a shuffle */
  int offset, line;
  uint32_t epoch; /* warp barriers passed */
  unsigned char from[32];
  unsigned long long sent[32], came[32];
  void *values[32]; /* of lanes that work at once */
  float *sums[32];  /* the sums and operands that lanes pass to a product */
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
  Fibre *fibre[MAX_THREADS]; /* NULL: not started */
};

extern Block now;

/* "thread 3 of block 1,0", for a sentence. */
std::string place_of (int thread);

/* ---- shared memory (shared.cc) ---------------------------------------------------------------- */

/* Starts a block, with no variables except `bytes` of dynamic memory. */
void shared_begin (size_t bytes);

/* The shared memory of one block at a time. */
enum : size_t
{
  SHARED_BYTES = (size_t)231 << 10
};
extern char shared_memory[SHARED_BYTES];

/* TRUE if the address is in this block's shared memory; called at each load and store of a checked kernel. */
inline bool
in_shared (uintptr_t at)
{
  return at - (uintptr_t)shared_memory < SHARED_BYTES;
}

/* Records who read or wrote, and ends the program if nothing orders that after another thread's access. `code` is the
 * address in the kernel. */
void touch_shared (uintptr_t at, unsigned bytes, bool write, const void *code);

/* ---- checked kernels (touch.cc) ------------------------------------------------------------------ */

/* Between these two calls, this host thread runs kernels whose loads and stores are checked. In addition to the GPU's
 * memory they may read their arguments, [also, also + bytes), and the stack from `stack` down, if it is not NULL. */
void touch_begin (const char *name, const void *also, size_t bytes, const void *stack);
void touch_end (void);

/* Registers the object that contains `code`, after kernels were loaded at run time. */
void touch_code (const void *code);

/* The source line of an address, such as "cuda-reduce.cu:31". */
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
void undefined (const Position &position, const char *operation);
}

#endif
