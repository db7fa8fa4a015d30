/* Recognises launchers by their environment variables. A launcher may start another one, whose variables are then set
 * as well, so rows are ordered: mpirun, which a task of SLURM may start, comes before SLURM. */
#include "engine/dist/loom-launcher.h"

static const struct
{
  const char *name, *rank, *size;
  gboolean joins, is_standard;
} launchers[] = {
  { "Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", TRUE, FALSE },
  /* Hydra, also Intel MPI's, and srun --mpi=pmi2. */
  { "MPICH's mpirun", "PMI_RANK", "PMI_SIZE", TRUE, TRUE },
  { "Cray's mpiexec", "PALS_RANKID", "SLURM_STEP_NUM_TASKS", TRUE, TRUE },
  { "PMIx (srun, prun)", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", TRUE, FALSE },
  { "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", FALSE, FALSE },
  { "torchrun", "RANK", "WORLD_SIZE", FALSE, FALSE },
};

/* -1: the variable is not set, or is no number. */
static int
number (const char *name)
{
  const char *text = g_getenv (name);
  gint64 n;

  return text != NULL && g_ascii_string_to_signed (text, 10, 0, G_MAXINT32, &n, NULL) ? (int)n : -1;
}

gboolean
loom_launcher_find (LoomLauncher *launcher)
{
  for (guint i = 0; i < G_N_ELEMENTS (launchers); i++)
    {
      const int rank = number (launchers[i].rank), size = number (launchers[i].size);

      /* A rank alone identifies only an interface of MPI: RANK may belong to any program, and a batch script has
       * SLURM_PROCID. */
      if (rank < 0 || (size < 0 && !launchers[i].joins))
        continue;
      /* The only task of a step, such as an interactive shell, needs no MPI, and may start ranks itself. */
      if (size == 1 && launchers[i].joins && g_str_has_prefix (launchers[i].size, "SLURM_"))
        continue;
      *launcher = (LoomLauncher){ .name = launchers[i].name,
                                  .variable = size < 0 ? launchers[i].rank : launchers[i].size,
                                  .rank = rank,
                                  .size = size,
                                  .joins = launchers[i].joins,
                                  .is_standard = launchers[i].is_standard };
      return TRUE;
    }
  return FALSE;
}
