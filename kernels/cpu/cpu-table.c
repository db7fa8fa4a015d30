/* The table of primitives of one instruction set. cpu-list.h has the names of all rows ISA (cpu_NAME) (rows.sed). */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu-list.h"
#include "kernels/optim.h"

#include <stddef.h>

#define DECLARE(name)               extern const CpuPrimitive ISA (cpu_##name);
#define DECLARE_STEP(name, scalars) DECLARE (name##_step)
LOOM_ROWS (DECLARE)
LOOM_STEPS (DECLARE_STEP)

#define ROW(name)               &ISA (cpu_##name),
#define ROW_STEP(name, scalars) ROW (name##_step)
extern const CpuPrimitive *const ISA (cpu_table)[];
const CpuPrimitive *const ISA (cpu_table)[] = { LOOM_ROWS (ROW) LOOM_STEPS (ROW_STEP) NULL };
