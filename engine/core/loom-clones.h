/* Compiles a function for several sizes of vectors; the one for the processor is chosen when the program begins. */
#pragma once

/* The thread sanitizer cannot start a program in which the linker chooses functions. */
#ifdef __SANITIZE_THREAD__
#define LOOM_VECTOR_CLONES
#else
#define LOOM_VECTOR_CLONES __attribute__ ((target_clones ("avx512f", "avx2", "default")))
#endif
