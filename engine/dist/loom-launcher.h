/* The information that a launcher puts into the environment of the processes that it starts. */
#pragma once

#include <glib.h>

typedef struct
{
  const char *name;     /* "torchrun" */
  const char *variable; /* contains the number of processes or, if no variable does, the number of this one */
  int rank, size;       /* size -1: not known */
  gboolean joins;       /* the processes find each other by MPI */
  gboolean is_standard; /* the launcher's MPI may have the standard ABI, and is probably not the MPI of the build */
} LoomLauncher;

/* FALSE: no launcher has started this process. */
gboolean loom_launcher_find (LoomLauncher *launcher);
