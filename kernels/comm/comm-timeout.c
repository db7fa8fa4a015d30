/* Writes the sentence of a call in which ranks did not arrive in time. */
#include "kernels/comm.h"

#include <stdio.h>
#include <string.h>

#define MOST_NAMED 12

static void
append_rank (char *text, size_t size, int rank, int named, int missing)
{
  size_t at = strlen (text);
  const char *between = named == 0 ? "" : named + 1 == missing ? " and " : ", ";

  if (named < MOST_NAMED)
    snprintf (text + at, size - at, "%s%d", between, rank);
  else if (named == MOST_NAMED)
    snprintf (text + at, size - at, " and %d more", missing - named);
}

void
loom_comm_set_missing (LoomMessage *message, const char *call, const bool *arrived, int size, double timeout)
{
  char ranks[128] = "";
  int missing = 0, named = 0;

  for (int k = 0; k < size; k++)
    missing += !arrived[k];
  for (int k = 0; k < size; k++)
    if (!arrived[k])
      append_rank (ranks, sizeof ranks, k, named++, missing);
  if (missing == 0)
    snprintf (
        message->text, sizeof message->text,
        "“%s” has not ended within %g second%s, although every rank has reached it: the network between them is slow "
        "or lost.",
        call, timeout, timeout == 1 ? "" : "s");
  else
    snprintf (message->text, sizeof message->text,
              "Rank%s %s ha%s not reached “%s” within %g second%s: %s, or need%s a longer time-out.",
              missing == 1 ? "" : "s", ranks, missing == 1 ? "s" : "ve", call, timeout, timeout == 1 ? "" : "s",
              missing == 1 ? "it hangs" : "they hang", missing == 1 ? "s" : "");
}
