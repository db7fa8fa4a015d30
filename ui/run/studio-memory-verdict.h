/* The verdict on a run that does not fit into memory: a sentence with the planned and the available bytes, a batch that
 * fits, and a strategy of <parallel> with which the whole batch fits. It is made from figures, or read from a sentence
 * of the engine. */
#pragma once

#include <glib.h>

typedef struct
{
  char *text;   /* "58 GB planned, 23 GB there. A batch of 400 fits." */
  gint64 batch; /* of each rank; 0: none is known to fit */
  /* The strategy of <parallel> with which the whole batch fits, and a label to choose it; NULL: none is known. */
  const char *strategy, *label;
} StudioMemoryVerdict;

/* Bytes of `ranks` ranks together; batch and strategy as in the struct. verdict is empty before. */
void studio_memory_verdict_set (StudioMemoryVerdict *verdict, int ranks, double planned, double there, gint64 batch,
                                const char *strategy);
/* FALSE for a sentence that is of something else. */
gboolean studio_memory_verdict_read (const char *sentence, StudioMemoryVerdict *verdict);
void studio_memory_verdict_clear (StudioMemoryVerdict *verdict);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (StudioMemoryVerdict, studio_memory_verdict_clear)
