#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/fibre.h"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES ((size_t)128 << 10)

namespace emulated
{
struct Fibre : Beginning
{
#if defined(__x86_64__)
  void *stack;
#else
  ucontext_t context;
#endif
  const void *bottom; /* of its stack, for the address sanitizer */
  size_t bytes;
  void *fake;
  void (*loop) (void);
};

Fibre *current, *const outside = new Fibre ();
Stacks stacks;

namespace
{
Fibre all[MAX_THREADS + 1];
size_t made;
#if defined(__SANITIZE_ADDRESS__)
Fibre *left; /* from which the last switch came */
#endif

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

/* Called by a fibre when it runs again; the first time it has no saved state. */
void
arrived (void *fake)
{
#if defined(__SANITIZE_ADDRESS__)
  /* The outside stack is known only after it was left. */
  __sanitizer_finish_switch_fiber (fake, left == outside ? &outside->bottom : NULL, left == outside ? &outside->bytes : NULL);
#else
  (void)fake;
#endif
}

void
begin (void)
{
  arrived (NULL);
  current->loop ();
}
}

void
go (Fibre *to)
{
  Fibre *from = current;

  if (from == to)
    return;
  current = to;
#if defined(__SANITIZE_ADDRESS__)
  left = from;
  __sanitizer_start_switch_fiber (&from->fake, to->bottom, to->bytes);
#endif
#if defined(__x86_64__)
  emulated_switch (&from->stack, to->stack);
#else
  swapcontext (&from->context, &to->context);
#endif
#if defined(__SANITIZE_ADDRESS__)
  arrived (from->fake);
#endif
}

Fibre *
fibre_new (void (*loop) (void))
{
  const size_t page = (size_t)sysconf (_SC_PAGESIZE);
  Fibre *fibre;
  char *stack;

  if (stacks.at == 0)
    {
      void *memory = mmap (NULL, (MAX_THREADS + 1) * STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

      if (memory == MAP_FAILED)
        return NULL;
      stacks.at = (uintptr_t)memory;
    }
  stack = (char *)stacks.at + stacks.bytes;
  if (made == MAX_THREADS + 1 || mprotect (stack, page, PROT_NONE) != 0)
    return NULL;
  fibre = &all[made];
  fibre->bottom = stack + page;
  fibre->bytes = STACK_BYTES - page;
  fibre->loop = loop;
#if defined(__x86_64__)
  /* The stack as after a call: the return address of begin(), then its own slot; six registers below. Stacks begin at
   * different cache lines: at the same offset of each page they would evict each other from the cache. */
  void **top = (void **)(stack + STACK_BYTES - made % 32 * 128) - 1;

  *top = NULL;
  *--top = (void *)begin;
  fibre->stack = top - 6;
#else
  getcontext (&fibre->context);
  fibre->context.uc_stack.ss_sp = stack + page;
  fibre->context.uc_stack.ss_size = STACK_BYTES - page;
  makecontext (&fibre->context, begin, 0);
#endif
  made++;
  stacks.bytes += STACK_BYTES;
  return fibre;
}
}
