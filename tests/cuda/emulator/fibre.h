/* Fibres: stacks of their own, between which one thread of the host switches. */
#ifndef EMULATOR_FIBRE_H
#define EMULATOR_FIBRE_H

#include <stddef.h>
#include <stdint.h>

namespace emulated
{
struct Fibre;

/* The beginning of every fibre; read at each shuffle. */
struct Beginning
{
  int thread; /* the block's thread that it runs */
};

/* The running fibre; `outside` is the caller's stack. */
extern Fibre *current, *const outside;

/* A fibre that runs loop() when it is first switched to; loop() never returns. NULL without memory. */
Fibre *fibre_new (void (*loop) (void));

/* Switches to a fibre, and returns when the current one is switched to again. */
void go (Fibre *to);

/* The block's thread that a fibre runs. */
inline int &
thread_of (Fibre *fibre)
{
  return ((Beginning *)fibre)->thread;
}

/* The stacks of all fibres, one after the other. */
struct Stacks
{
  uintptr_t at;
  size_t bytes;
};
extern Stacks stacks;

/* TRUE if the address is on a fibre's stack; called at each load and store of a checked kernel. */
inline bool
on_a_stack (uintptr_t at)
{
  return at - stacks.at < stacks.bytes;
}
}

#endif
