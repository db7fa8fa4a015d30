/* Runs the blocks of a kernel on the host, their threads as fibres.
 *
 * One fibre runs threads one behind the other; only a thread that waits at a barrier or
 * a shuffle keeps the fibre, and another goes on with the next thread. Which thread that
 * is, the order says: some missing barriers show only when a warp runs as far as it can. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <vector>

#include "tests/cuda/emulator/emulator.h"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#define MAX_THREADS  1024
#define STACK_BYTES  ((size_t)128 << 10)
#define SHARED_BYTES ((size_t)48 << 10)

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulated
{
namespace
{
struct Fibre
{
#if defined(__x86_64__)
  void *stack;
#else
  ucontext_t context;
#endif
  int thread;
};

struct Warp
{
  uint32_t ready;   /* lanes that may run */
  uint32_t arrived; /* lanes that wait at a shuffle */
  int offset, line;
  unsigned long long sent[32], came[32];
};

struct Variable
{
  const void *key;
  size_t at;
};

/* The block that runs. */
struct Block
{
  const char *name;
  const std::function<void ()> *work;
  int threads, warps, finished, waiting, line;
  Warp warp[MAX_THREADS / 32];
  Fibre *fibre[MAX_THREADS]; /* NULL: has not begun */
  std::vector<Variable> variables;
  size_t used;
};

Block now;
Fibre *current, *const outside = new Fibre ();
std::vector<Fibre *> resting;
alignas (256) char shared_memory[SHARED_BYTES];
uint64_t dice = 88172645463325252u;

uint64_t
roll (void)
{
  dice ^= dice << 13;
  dice ^= dice >> 7;
  dice ^= dice << 17;
  return dice;
}

#if defined(__x86_64__)
extern "C" void emulated_switch (void **from, void *to);
asm (".text\n"
     ".globl emulated_switch\n"
     ".hidden emulated_switch\n"
     ".type emulated_switch, @function\n"
     "emulated_switch:\n"
     "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
     "  movq %rsp, (%rdi)\n"
     "  movq %rsi, %rsp\n"
     "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
     "  ret\n"
     ".size emulated_switch, . - emulated_switch\n");
#endif

void
go (Fibre *to)
{
  Fibre *from = current;

  if (from == to)
    return;
  current = to;
#if defined(__x86_64__)
  emulated_switch (&from->stack, to->stack);
#else
  swapcontext (&from->context, &to->context);
#endif
}

int
first_at (int begin, int step)
{
  for (int i = 0; i < now.threads; i++)
    {
      int at = (begin + step * i + 2 * now.threads) % now.threads;

      if (now.warp[at / 32].ready >> at % 32 & 1)
        return at;
    }
  return -1;
}

/* The thread that runs next, no longer ready; -1 when none can. */
int
pick (int after)
{
  int next = -1;

  switch (order ())
    {
    case Order::FORWARD:
      next = first_at (after + 1, 1);
      break;
    case Order::BACKWARD:
      next = first_at (after - 1, -1);
      break;
    case Order::RANDOM:
      next = first_at ((int)(roll () % (unsigned)now.threads), 1);
      break;
    case Order::DEPTH:
      for (int i = 0; i < now.warps && next < 0; i++)
        {
          int w = ((after < 0 ? 0 : after / 32) + i) % now.warps;

          if (now.warp[w].ready != 0)
            next = w * 32 + __builtin_ctz (now.warp[w].ready);
        }
      break;
    }
  if (next >= 0)
    now.warp[next / 32].ready &= ~(1u << next % 32);
  return next;
}

void
enter (int thread)
{
  threadIdx.x = (unsigned)thread % blockDim.x;
  threadIdx.y = (unsigned)thread / blockDim.x % blockDim.y;
  threadIdx.z = (unsigned)thread / blockDim.x / blockDim.y;
}

/* Runs threads for ever; a fibre that has none left rests until it is given one. */
void
loop (void)
{
  Fibre *self = current;

  for (;;)
    {
      int next;

      enter (self->thread);
      (*now.work) ();
      now.finished++;
      next = pick (self->thread);
      if (next >= 0 && now.fibre[next] == NULL)
        {
          now.fibre[next] = self;
          self->thread = next;
          continue;
        }
      if (next < 0 && now.finished != now.threads)
        found ("%s: %d threads of block %u,%u wait at line %d, which the others never reach", now.name,
               now.threads - now.finished, blockIdx.x, blockIdx.y, now.line);
      resting.push_back (self);
      go (next >= 0 ? now.fibre[next] : outside);
    }
}

Fibre *
rested (void)
{
  Fibre *fibre;

  if (!resting.empty ())
    {
      fibre = resting.back ();
      resting.pop_back ();
      return fibre;
    }
  char *stack = (char *)mmap (NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (stack == MAP_FAILED)
    found ("no memory for a thread's stack");
  fibre = new Fibre ();
#if defined(__x86_64__)
  /* As a call leaves it: the return address of loop(), then its own place; six registers below. Stacks begin at different
   * cache lines: at the same place of each page, the threads of a block would drive each other out of the cache. */
  static size_t made;
  void **top = (void **)(stack + STACK_BYTES - made++ % 32 * 128) - 1;

  *top = NULL;
  *--top = (void *)loop;
  fibre->stack = top - 6;
#else
  getcontext (&fibre->context);
  fibre->context.uc_stack.ss_sp = stack;
  fibre->context.uc_stack.ss_size = STACK_BYTES;
  makecontext (&fibre->context, loop, 0);
#endif
  return fibre;
}

/* Lets another thread run; returns when this one may go on. */
void
wait (void)
{
  Fibre *self = current;
  int thread = self->thread, next = pick (thread);

  if (next < 0)
    found ("%s: threads of block %u,%u wait at line %d, which the others never reach", now.name, blockIdx.x, blockIdx.y,
           now.line);
  if (next == thread)
    return;
  if (now.fibre[next] == NULL)
    {
      now.fibre[next] = rested ();
      now.fibre[next]->thread = next;
    }
  go (now.fibre[next]);
  enter (thread);
}

void
run_block (void)
{
  int first;

  now.finished = now.waiting = 0;
  now.used = 0;
  now.variables.clear ();
  for (int w = 0; w < now.warps; w++)
    {
      int lanes = now.threads - w * 32;

      now.warp[w].ready = lanes >= 32 ? ~0u : (1u << lanes) - 1;
      now.warp[w].arrived = 0;
    }
  memset (now.fibre, 0, sizeof now.fibre[0] * (size_t)now.threads);
  first = pick (order () == Order::BACKWARD ? now.threads : -1);
  now.fibre[first] = rested ();
  now.fibre[first]->thread = first;
  current = outside;
  go (now.fibre[first]);
}
}

void
found (const char *format, ...)
{
  va_list args;

  fputs ("emulated card: ", stderr);
  va_start (args, format);
  vfprintf (stderr, format, args);
  va_end (args);
  fputc ('\n', stderr);
  abort ();
}

Order
order ()
{
  static const Order chosen = [] {
    const char *name = getenv ("GRADLOOM_EMULATOR_ORDER");

    if (name == NULL || strcmp (name, "depth") == 0)
      return Order::DEPTH;
    if (strcmp (name, "forward") == 0)
      return Order::FORWARD;
    if (strcmp (name, "backward") == 0)
      return Order::BACKWARD;
    if (strcmp (name, "random") == 0)
      return Order::RANDOM;
    found ("GRADLOOM_EMULATOR_ORDER is '%s'; it takes forward, backward, random or depth", name);
  }();
  return chosen;
}

void
barrier (int line)
{
  if (now.waiting != 0 && now.line != line)
    found ("%s: threads of one block wait at the barriers of line %d and line %d", now.name, now.line, line);
  now.line = line;
  if (++now.waiting == now.threads)
    {
      now.waiting = 0;
      for (int w = 0; w < now.warps; w++)
        now.warp[w].ready = now.threads - w * 32 >= 32 ? ~0u : (1u << (now.threads - w * 32)) - 1;
    }
  wait ();
}

unsigned long long
exchange (unsigned mask, unsigned long long value, int offset, int line)
{
  int thread = current->thread, lane = thread % 32;
  Warp *warp = &now.warp[thread / 32];

  if (mask != 0xffffffffu)
    found ("%s: a shuffle among some lanes of a warp is not supported here (line %d)", now.name, line);
  if (warp->arrived != 0 && (warp->line != line || warp->offset != offset))
    found ("%s: lanes of one warp wait at the shuffles of line %d and line %d", now.name, warp->line, line);
  warp->line = line;
  warp->offset = offset;
  warp->sent[lane] = value;
  warp->arrived |= 1u << lane;
  if (warp->arrived == ~0u)
    {
      for (int i = 0; i < 32; i++)
        warp->came[i] = warp->sent[i ^ offset];
      warp->arrived = 0;
      warp->ready = ~0u;
    }
  wait ();
  return warp->came[lane];
}

void *
shared (const void *key, size_t bytes)
{
  for (const Variable &variable : now.variables)
    if (variable.key == key)
      return shared_memory + variable.at;
  size_t at = (now.used + 15) / 16 * 16;

  if (at + bytes > SHARED_BYTES)
    found ("%s asks for more than %zu bytes of shared memory", now.name, SHARED_BYTES);
  memset (shared_memory + at, 0xff, bytes); /* NaN in every width */
  now.used = at + bytes;
  now.variables.push_back ({ key, at });
  return shared_memory + at;
}

void
run_blocks (const char *name, dim3 grid, dim3 block, const std::function<void ()> &thread)
{
  uint64_t count = (uint64_t)grid.x * grid.y * grid.z, start = 0;

  now.name = name;
  now.work = &thread;
  now.threads = (int)(block.x * block.y * block.z);
  now.warps = (now.threads + 31) / 32;
  blockDim = block;
  gridDim = grid;
  if (order () == Order::RANDOM)
    start = roll () % count;
  for (uint64_t i = 0; i < count; i++)
    {
      uint64_t at = order () == Order::BACKWARD ? count - 1 - i : (start + i) % count;

      blockIdx.x = (unsigned)(at % grid.x);
      blockIdx.y = (unsigned)(at / grid.x % grid.y);
      blockIdx.z = (unsigned)(at / grid.x / grid.y);
      run_block ();
    }
}
}
