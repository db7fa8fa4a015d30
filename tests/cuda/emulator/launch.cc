/* Runs the blocks of a kernel on the host, with their threads as fibres.
 *
 * One fibre runs threads one after the other; only a thread that waits at a barrier or a shuffle keeps the fibre, and
 * another fibre continues with the next thread. The order decides which thread that is: some missing barriers show only
 * if a warp runs as far as it can. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/cuda/emulator/block.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulated
{
Block now;

namespace
{
std::vector<Fibre *> resting;
uint64_t rng = 88172645463325252u;

uint64_t
roll (void)
{
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return rng;
}

uint32_t
lanes_of (int warp)
{
  int lanes = now.threads - warp * 32;

  return lanes >= 32 ? ~0u : (1u << lanes) - 1;
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

/* The thread that runs next, no longer ready; -1 if none can. */
int
pick (int after)
{
  int next = -1;

  switch (now.order)
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
      for (int i = 0, w = after < 0 ? 0 : after / 32; i < now.warps; i++, w = w + 1 < now.warps ? w + 1 : 0)
        if (now.warp[w].ready != 0)
          {
            const int lane = __builtin_ctz (now.warp[w].ready);

            now.warp[w].ready &= now.warp[w].ready - 1;
            return w * 32 + lane;
          }
      return -1;
    }
  if (next >= 0)
    now.warp[next / 32].ready &= ~(1u << next % 32);
  return next;
}

void
enter (int thread)
{
  if (blockDim.y == 1 && blockDim.z == 1)
    {
      threadIdx.x = (unsigned)thread;
      return;
    }
  threadIdx.x = (unsigned)thread % blockDim.x;
  threadIdx.y = (unsigned)thread / blockDim.x % blockDim.y;
  threadIdx.z = (unsigned)thread / blockDim.x / blockDim.y;
}

/* Runs threads in an endless loop; a fibre without a thread rests until it gets one. */
void
loop (void)
{
  Fibre *self = current;
  int &thread = thread_of (self);

  for (;;)
    {
      int next;

      enter (thread);
      now.kernel->thread (now.kernel->arguments.get ());
      now.finished++;
      next = pick (thread);
      if (next >= 0 && now.fibre[next] == NULL)
        {
          now.fibre[next] = self;
          thread = next;
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
  fibre = fibre_new (loop);
  if (fibre == NULL)
    found ("no memory for a thread's stack");
  return fibre;
}

/* Lets another thread run; returns when this one may continue. */
void
wait (void)
{
  Fibre *self = current;
  const int thread = thread_of (self);
  Warp *warp = &now.warp[thread / 32];
  int next;

  /* The same choice as pick(), faster: the same warp nearly always has another lane. */
  if (now.order == Order::DEPTH && warp->ready != 0)
    {
      next = thread / 32 * 32 + __builtin_ctz (warp->ready);
      warp->ready &= warp->ready - 1;
    }
  else
    next = pick (thread);
  if (next < 0)
    found ("%s: threads of block %u,%u wait at line %d, which the others never reach", now.name, blockIdx.x, blockIdx.y,
           now.line);
  if (next == thread)
    return;
  if (now.fibre[next] == NULL)
    {
      now.fibre[next] = rested ();
      thread_of (now.fibre[next]) = next;
    }
  go (now.fibre[next]);
  enter (thread);
}

void
run_block (size_t bytes)
{
  int first;

  now.finished = now.waiting = 0;
  now.epoch++;
  shared_begin (bytes);
  for (int w = 0; w < now.warps; w++)
    {
      now.warp[w].ready = lanes_of (w);
      now.warp[w].arrived = 0;
    }
  memset (now.fibre, 0, sizeof now.fibre[0] * (size_t)now.threads);
  first = pick (now.order == Order::BACKWARD ? now.threads : -1);
  now.fibre[first] = rested ();
  thread_of (now.fibre[first]) = first;
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

void
lacks (const char *format, ...)
{
  static std::vector<std::string> said;
  char text[256];
  va_list args;

  va_start (args, format);
  vsnprintf (text, sizeof text, format, args);
  va_end (args);
  for (const std::string &one : said)
    if (one == text)
      return;
  said.push_back (text);
  fprintf (stderr, "emulated card: %s is not supported here\n", text);
}

std::string
place_of (int thread)
{
  char text[128];

  snprintf (text, sizeof text, "thread %d of block %u,%u,%u", thread, blockIdx.x, blockIdx.y, blockIdx.z);
  return text;
}

Order
order (void)
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
      now.epoch++;
      for (int w = 0; w < now.warps; w++)
        now.warp[w].ready = lanes_of (w);
    }
  wait ();
}

namespace
{
/* Waits for the other lanes of the warp at one place; TRUE for the last of them. */
bool
meet (Warp *warp, int lane, int warp_at, bool is_barrier, int offset, int line)
{
  if (warp->arrived != 0 && (warp->line != line || warp->offset != offset || warp->barrier != is_barrier))
    found ("%s: lanes of one warp wait at the %s of line %d and the %s of line %d", now.name,
           warp->barrier ? "barrier" : "shuffle", warp->line, is_barrier ? "barrier" : "shuffle", line);
  warp->line = line;
  warp->offset = offset;
  warp->barrier = is_barrier;
  warp->arrived |= 1u << lane;
  if (warp->arrived != (is_barrier ? lanes_of (warp_at) : ~0u))
    return false;
  warp->ready = warp->arrived;
  warp->arrived = 0;
  return true;
}
}

void
warp_barrier (int line)
{
  int thread = thread_of (current);
  Warp *warp = &now.warp[thread / 32];

  if (meet (warp, thread % 32, thread / 32, true, 0, line))
    warp->epoch++;
  wait ();
}

int
lane (void)
{
  return thread_of (current) % 32;
}

unsigned long long
exchange (unsigned mask, unsigned long long value, int from, int place, int line)
{
  int thread = thread_of (current), lane = thread % 32;
  Warp *warp = &now.warp[thread / 32];

  if (mask != 0xffffffffu)
    found ("%s: a shuffle among some lanes of a warp is not supported here (line %d)", now.name, line);
  warp->sent[lane] = value;
  warp->from[lane] = (unsigned char)(from & 31);
  if (meet (warp, lane, thread / 32, false, place, line))
    for (int i = 0; i < 32; i++)
      warp->came[i] = warp->sent[warp->from[i]];
  wait ();
  return warp->came[lane];
}

void
at_once (void *value, void (*work) (void *const values[32]), int place, int line)
{
  const int thread = thread_of (current), lane = thread % 32;
  Warp *warp = &now.warp[thread / 32];

  warp->values[lane] = value;
  if (meet (warp, lane, thread / 32, false, place, line))
    work (warp->values);
  wait ();
}

namespace
{
/* With l = 4·i + 2·half + k, element k of word `half` of lane i of a row or column: the order in which
 * multiply_by_shuffles() sums. */
void
multiply_all (const Warp &warp)
{
  typedef float Row __attribute__ ((vector_size (16)));
  float a[16][16]; /* [row][l] */
  Row b[16][2];    /* [l][column] */

  for (int lane = 0; lane < 32; lane++)
    {
      const int r = lane / 4, l = lane % 4 * 4;

      for (int half = 0; half < 2; half++)
        for (int k = 0; k < 2; k++)
          {
            a[r][l + 2 * half + k] = warp.a[lane][4 * half + k];
            a[r + 8][l + 2 * half + k] = warp.a[lane][4 * half + 2 + k];
            b[l + 2 * half + k][r / 4][r % 4] = warp.b[lane][2 * half + k];
          }
    }
  for (int r = 0; r < 16; r++)
    {
      float *const *to = &warp.sums[r % 8 * 4];
      const int at = r / 8 * 2;
      Row sums[2];

      for (int c = 0; c < 8; c++)
        sums[c / 4][c % 4] = to[c / 2][at + c % 2];
      for (int l = 0; l < 16; l++)
        {
          sums[0] += a[r][l] * b[l][0];
          sums[1] += a[r][l] * b[l][1];
        }
      for (int c = 0; c < 8; c++)
        to[c / 2][at + c % 2] = sums[c / 4][c % 4];
    }
}
}

void
multiply (float sums[4], const float a[8], const float b[4], int line)
{
  const int thread = thread_of (current), lane = thread % 32;
  Warp *warp = &now.warp[thread / 32];

  warp->sums[lane] = sums;
  warp->a[lane] = a;
  warp->b[lane] = b;
  if (meet (warp, lane, thread / 32, false, -2, line))
    multiply_all (*warp);
  wait ();
}

void
run_blocks (const Kernel &kernel, const Shape &shape)
{
  const dim3 grid = shape.grid, block = shape.block;
  uint64_t count = (uint64_t)grid.x * grid.y * grid.z, start = 0;

  now.kernel = &kernel;
  now.name = kernel.name;
  now.order = order ();
  now.threads = (int)(block.x * block.y * block.z);
  now.warps = (now.threads + 31) / 32;
  blockDim = block;
  gridDim = grid;
  threadIdx.y = threadIdx.z = 0;
  if (now.order == Order::RANDOM)
    start = roll () % count;
  if (checked)
    touch_begin (kernel.name, kernel.arguments.get (), kernel.bytes, NULL);
  for (uint64_t i = 0; i < count; i++)
    {
      uint64_t at = now.order == Order::BACKWARD ? count - 1 - i : (start + i) % count;

      blockIdx.x = (unsigned)(at % grid.x);
      blockIdx.y = (unsigned)(at / grid.x % grid.y);
      blockIdx.z = (unsigned)(at / grid.x / grid.y);
      run_block (shape.bytes);
    }
  if (checked)
    touch_end ();
}
}
