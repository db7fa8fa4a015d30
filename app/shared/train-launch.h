/* Starts `gradloom train` as several processes: for --ranks and --hosts, or under a launcher. */
#pragma once

#include "app/shared/command.h"

typedef struct
{
  int ranks;         /* 0: not said */
  int min_ranks;     /* resume with as few ranks if one is lost; 0: as in <parallel> */
  const char *graph; /* NULL: that of the resumed run */
  const char *hosts; /* NULL: this machine */
  double timeout;    /* of a communication, in seconds; 0: none */
  gboolean json, waits;
} TrainLaunch;

/* Returns TRUE if this process is no rank of the run; *status is then its exit status, after all ranks have ended or
 * after an error. words: the command line, beginning with its name. */
gboolean train_launch (const Command *command, char **words, const TrainLaunch *launch,
                       const LoomTrainerOptions *options, int *status);
