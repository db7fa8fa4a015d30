/* Why a test of AVX2 or AVX-512 code cannot run on this machine, as a sentence for g_test_skip(); NULL where it can. */
#pragma once

#include <glib.h>

static inline const char *
processor_lacks_avx2 (void)
{
  const char *isa = g_getenv ("GRADLOOM_CPU_ISA");

  if (g_strcmp0 (isa, "base") == 0)
    return "GRADLOOM_CPU_ISA=base keeps the program from using AVX2, without which Winograd's algorithm is not chosen";
#ifdef __x86_64__
  if (__builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma") && __builtin_cpu_supports ("bmi2"))
    return NULL;
#endif
  return "this processor lacks AVX2, FMA or BMI2, without which Winograd's algorithm is not chosen";
}

static inline const char *
processor_lacks_avx512 (void)
{
  if (g_getenv ("GRADLOOM_CPU_ISA") != NULL)
    return "GRADLOOM_CPU_ISA limits the instruction sets";
#ifdef __x86_64__
  if (__builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512cd")
      && __builtin_cpu_supports ("avx512dq") && __builtin_cpu_supports ("avx512vl"))
    return NULL;
#endif
  return "this processor lacks AVX-512, without which convolutions have no pooling";
}
