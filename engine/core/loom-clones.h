/* Compiles a function for several sizes of vectors; the one for the processor is chosen when the program begins. Loops
 * over LoomFloats become vectors at any level of optimisation; GCC's -O2 leaves loops over single numbers as they are.
 */
#pragma once

/* The thread sanitizer cannot start a program in which the linker chooses functions. */
#ifdef __SANITIZE_THREAD__
#define LOOM_VECTOR_CLONES
#else
#define LOOM_VECTOR_CLONES __attribute__ ((target_clones ("avx512f", "avx2", "default")))
#endif

#define LOOM_N_FLOATS 16
typedef float LoomFloats __attribute__ ((vector_size (64), aligned (4), may_alias));
