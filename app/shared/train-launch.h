/* Starts `gradloom train` as several processes: for --ranks and --hosts, or under a launcher. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

typedef struct
{
  int ranks;         /* 0: not said */
  int min_ranks;     /* as few may go on where one is lost; 0: as <parallel> says */
  const char *graph; /* NULL: that of the run which is resumed */
  const char *hosts; /* NULL: this machine */
  double timeout;    /* of an exchange; 0: none */
  gboolean json, waits;
} TrainLaunch;

/* TRUE where this process is none of the run's ranks; *status is then what it ends with, after all ranks or with what
 * is wrong. words: the command as it was called, beginning with its name. */
gboolean train_launch (const Command *command, char **words, const TrainLaunch *launch,
                       const LoomTrainerOptions *options, int *status);

G_END_DECLS
