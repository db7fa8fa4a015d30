/* Fibres: stacks of their own, between which one thread of the host switches. */
#ifndef EMULATOR_FIBRE_H
#define EMULATOR_FIBRE_H

#include <stddef.h>
#include <stdint.h>

namespace emulated
{
struct Fibre;

/* What every fibre begins with; asked at each shuffle. */
struct Beginning
{
  int thread; /* of the block, which it runs */
};

/* The fibre that runs; `outside` is the stack of whoever called. */
extern Fibre *current, *const outside;

/* A fibre that runs loop() when it is first gone to; loop() never returns. NULL without memory. */
Fibre *fibre_new (void (*loop) (void));

/* Goes to a fibre, and returns when somebody goes to the one that runs now. */
void go (Fibre *to);

/* Which thread of the block it runs. */
inline int &
thread_of (Fibre *fibre)
{
  return ((Beginning *)fibre)->thread;
}

/* The stacks of all fibres, one behind the other. */
struct Stacks
{
  uintptr_t at;
  size_t bytes;
};
extern Stacks stacks;

/* true if the address lies on a fibre's stack; asked at each load and store of a checked kernel. */
inline bool
on_a_stack (uintptr_t at)
{
  return at - stacks.at < stacks.bytes;
}
}

#endif
