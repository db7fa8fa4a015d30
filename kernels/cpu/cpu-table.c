/* The table of primitives of one instruction set. */
#include "kernels/cpu/cpu.h"

#include <stddef.h>

#define CPU_ROW(name) &ISA (cpu_##name),

extern const CpuPrimitive *const ISA (cpu_table)[];
const CpuPrimitive *const ISA (cpu_table)[] = { LOOM_PRIMITIVES (CPU_ROW) NULL };
