/* What a launcher says, in the environment, of the processes that it starts. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  const char *name;     /* "torchrun" */
  const char *variable; /* says how many processes there are; where none does, which one this is */
  int rank, size;       /* size -1: no variable says it */
  gboolean joins;       /* the processes find each other by MPI */
  gboolean is_standard; /* the launcher's MPI may have the standard ABI, and is hardly that of the build */
} LoomLauncher;

/* FALSE: no launcher has started this process. */
gboolean loom_launcher_find (LoomLauncher *launcher);

G_END_DECLS
