/* The environment variables; see the header. Back ends do not depend on the engine, so they call getenv() themselves.
 */
#include "engine/core/loom-env.h"

#include <string.h>

static const LoomEnv table[] = {
  { .name = "CUDA_LAUNCH_BLOCKING",
    .doc = "1, as in PyTorch: the program waits for each GPU kernel and records no CUDA graph, so an error names the "
           "node whose kernel failed. Slow; for debugging." },
  { .name = "CUDA_VISIBLE_DEVICES",
    .doc = "The GPUs that the program uses, in this order, as in PyTorch: with 2,0 the device cuda:0 is the third "
           "GPU. Empty or -1 hides all GPUs." },
  { .name = "GRADLOOM_CHECK",
    .doc
    = "1: an independent checker checks each plan, and the program ends if a plan is wrong; planning takes longer. "
      "meaning: it also evaluates parts of the plan, which takes much longer. "
      "0: no plan is checked. Default: 1 in debug builds, else 0." },
  { .name = "GRADLOOM_COMM_LANE",
    .doc = "1: ranks exchange gradients during the backward pass, in a separate thread; 0: after it. Default: 1 if a "
           "processor is free for the thread." },
  { .name = "GRADLOOM_CPU_DEVICES",
    .doc
    = "The number of devices into which the processor is divided: cpu, cpu:1 and so on, each with an equal part of "
      "the threads." },
  { .name = "GRADLOOM_CPU_ISA",
    .doc = "base or v3: the instruction set to which the back end cpu is limited.",
    .for_tests = TRUE },
  { .name = "GRADLOOM_CPU_PROCESSORS",
    .doc = "The number of processors, which may be more than there are.",
    .for_tests = TRUE },
  { .name = "GRADLOOM_CUDA_GRAPHS",
    .doc = "0: GPU kernels are launched one by one instead of as a recorded CUDA graph. Results are the same and "
           "steps are slower; profilers and memory checkers see each kernel." },
  { .name = "GRADLOOM_DATA", .doc = "A folder that is searched for data sets before the system's folders." },
  { .name = "GRADLOOM_LAUNCHED",
    .doc = "Set by Gradloom in the ranks that --ranks and --hosts start: the process that started them reports how "
           "they end.",
    .for_tests = TRUE },
  { .name = "GRADLOOM_MODULES",
    .doc = "The folder from which back ends are loaded, instead of the installed one.",
    .for_tests = TRUE },
  { .name = "GRADLOOM_NVTX",
    .doc = "1 or 0: whether steps and nodes are named for a profiler (NVTX). Default: 1 if a profiler has started the "
           "program. Nodes are visible only with GRADLOOM_CUDA_GRAPHS=0, because a recorded step is one launch." },
  { .name = "GRADLOOM_WORKER",
    .doc = "The program that Studio starts for training, instead of the gradloom next to it.",
    .for_tests = TRUE },
  { NULL },
};

const LoomEnv *
loom_env_table (void)
{
  return table;
}

const char *
loom_env (const char *name)
{
  for (const LoomEnv *e = table; e->name != NULL; e++)
    if (strcmp (e->name, name) == 0)
      {
        const char *value = g_getenv (name);

        return value != NULL && value[0] != '\0' ? value : NULL;
      }
  g_return_val_if_reached (NULL);
}
