/* Counts the steps and samples of an epoch whose batch size may have changed between two steps. */
#pragma once

#include <glib.h>

typedef struct
{
  gint64 batch_size;    /* of all ranks */
  gint64 first_step;    /* finished steps when the epoch began */
  gint64 batch, sample; /* steps and samples of the epoch before this batch size; 0: it has been the epoch's only one */
} EpochDivision;

/* Begins an epoch after this number of steps. */
static inline void
epoch_division_begin (EpochDivision *self, gint64 first_step)
{
  self->first_step = first_step;
  self->batch = self->sample = 0;
}

/* The number of samples of the epoch before this step of it, if a step has `accumulate` full batches. */
static inline gint64
epoch_division_sample (const EpochDivision *self, gint64 batch, gint64 accumulate)
{
  const gint64 each = self->batch_size * accumulate;

  /* The next epoch, of which a step is prepared before this one has ended, has no change. */
  return batch < self->batch ? batch * each : self->sample + (batch - self->batch) * each;
}
