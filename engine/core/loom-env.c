/* The environment variables; see the header. Back ends, which do not depend on the engine, read theirs by getenv(). */
#include "engine/core/loom-env.h"

#include <string.h>

static const LoomEnv table[] = {
  { .name = "CUDA_LAUNCH_BLOCKING",
    .doc = "1, as for PyTorch: each kernel of a GPU is waited for, none is recorded, and an error names the node whose "
           "kernel failed. Slow; for finding faults." },
  { .name = "CUDA_VISIBLE_DEVICES",
    .doc = "CUDA’s own, as for PyTorch: which GPUs there are, in this order: with 2,0 the device cuda:0 is the third "
           "GPU. Empty or -1 hides all of them." },
  { .name = "GRADLOOM_CHECK",
    .doc = "1: every plan is checked as it is made, by code that shares nothing with the planner, and a wrong one ends "
           "the program; it adds to the time of planning. meaning: its pieces are evaluated too, which takes long. 0: no "
           "plan is. Without it, in debug builds." },
  { .name = "GRADLOOM_COMM_LANE",
    .doc = "1 or 0: ranks exchange gradients during the computation, in a thread of their own, or in turns with it. "
           "Without it, during the computation if a processor is left for that." },
  { .name = "GRADLOOM_CPU_DEVICES",
    .doc
    = "How many devices the processor is divided into: cpu, cpu:1 and so on, each with its share of the threads." },
  { .name = "GRADLOOM_CPU_ISA",
    .doc = "base or v3: the instructions of the processor that the back end cpu may use, where it has more.",
    .for_tests = TRUE },
  { .name = "GRADLOOM_CUDA_GRAPHS",
    .doc = "0: a GPU's kernels are launched one by one instead of as a recorded graph. Bits are the same and steps "
           "slower; profilers and memory checkers see each kernel." },
  { .name = "GRADLOOM_DATA", .doc = "A folder in which data sets are looked for before the system's." },
  { .name = "GRADLOOM_LAUNCHED",
    .doc = "Set by Gradloom in the ranks that --ranks and --hosts start: the process that started them reports how "
           "they end.",
    .for_tests = TRUE },
  { .name = "GRADLOOM_MODULES",
    .doc = "The folder of the back ends that are opened at run time, instead of the installed one.",
    .for_tests = TRUE },
  { .name = "GRADLOOM_NVTX",
    .doc = "1 or 0: steps and nodes are named for a profiler (NVTX). Without it, where one has started the program. "
           "Nodes show with GRADLOOM_CUDA_GRAPHS=0, since a recorded step is one launch." },
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
