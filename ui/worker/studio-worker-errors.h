/* The output of a worker and its launcher on standard error: finds the line that explains the end, and the lost
 * rank. */
#pragma once

#include <glib.h>

typedef struct
{
  char *before;               /* the previous line */
  char *explains;             /* the line that explains the end; NULL: none yet */
  gboolean is_worker;         /* it is a sentence of a gradloom worker */
  gboolean in_notice;         /* after the first of the two rules around a notice of mpirun */
  int lost_rank, lost_signal; /* a killed rank; -1: none */
} StudioWorkerErrors;

void studio_worker_errors_init (StudioWorkerErrors *self);
void studio_worker_errors_clear (StudioWorkerErrors *self);
void studio_worker_errors_add (StudioWorkerErrors *self, const char *line);
/* Makes the sentence the explanation, unless a worker has printed one. */
void studio_worker_errors_explain (StudioWorkerErrors *self, const char *sentence);
