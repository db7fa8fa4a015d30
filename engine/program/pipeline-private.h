/* The state of partitioning a program among pipeline stages (Pipeline), and the functions that its files call. */
#pragma once

#include "engine/program/loom-pipeline.h"
#include "engine/program/partition-state.h"

#define PIPELINE_EVERYWHERE (-1) /* each stage that needs the value computes it */
#define PIPELINE_PER_STAGE  (-2) /* an instruction that each stage computes for its own operands */

#define PIPELINE_ALL G_MAXUINT64 /* all stages, a bit each */

/* Reasons, as bits, why an instruction can run only later. */
enum
{
  PIPELINE_LATE_FORWARD = 1 << 0, /* it needs the forward passes of all micro-batches */
  PIPELINE_LATE_BACKWARD = 1 << 1 /* it needs their backward passes */
};

typedef struct
{
  const LoomProgram *p;
  const LoomPipeline *options;
  int micros, stages;
  Partition *part;          /* by micro-batch; all write into one program */
  LoomPartition *partition; /* by micro-batch */
  /* Of values: */
  int *owner;        /* the stage that computes the value, or PIPELINE_EVERYWHERE */
  gboolean *summed;  /* the value is the sum of the micro-batches' summands, and readers get the sum */
  gboolean *dynamic; /* its stage computes it for each micro-batch */
  guint8 *late;
  /* the stages to which it is sent for each micro-batch, for forward and backward passes */
  guint64 *need_forward, *need_backward;
  guint64 *need_before, *need_after; /* the stages to which the whole value is sent before or after all passes */
  guint *number;                     /* the number of the sent value, for its tag */
  LoomValue *sum;                    /* the sum so far, in the new program */
  gboolean *complete;                /* the whole value exists in the new program */
  gboolean *opaque;                  /* see Partition.opaque */
  /* Of instructions: */
  int *stage;        /* the stage that computes it, or one of the constants above */
  gboolean *is_live; /* a result is needed */
  gboolean *divided; /* each micro-batch has its own call */
  /* by instruction and micro-batch (the first one if it is not divided): it is in the new program */
  gboolean *written;
  int *slot_owner; /* by slot: its stage */
} Pipeline;

static inline gboolean
pipeline_is_here (const Pipeline *self, int owner)
{
  return owner == PIPELINE_EVERYWHERE || owner == self->options->stage;
}

/* ---- pipeline-stages.c ----------------------------------------------------- */

gboolean pipeline_find_owners (Pipeline *self, GError **error);
const LoomInstr *pipeline_producer_of (const Pipeline *self, LoomValue v); /* NULL: v is an input or state */
/* The instruction's name in an error. */
const char *pipeline_name_of (const LoomInstr *instr);
/* TRUE for an exchange among ranks of one stage: its replicas, or the parts of its weights. */
gboolean pipeline_is_exchange (const LoomInstr *instr);
/* Sets a SHAPE error and returns FALSE. */
gboolean pipeline_fault (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);
gboolean pipeline_no_stage (const LoomInstr *instr, GError **error);

/* ---- pipeline-transfers.c ------------------------------------------------------ */

/* Computes everything above except `written`. */
gboolean pipeline_analyse (Pipeline *self, GError **error);

/* ---- pipeline-values.c ----------------------------------------------------- */

static inline LoomProgram *
pipeline_target (const Pipeline *self)
{
  return self->part[0].r.to;
}

/* Stores the value of v for micro-batch m. */
static inline void
pipeline_set_local (Pipeline *self, int m, LoomValue v, LoomValue local)
{
  g_array_index (self->part[m].r.map, LoomValue, v) = local;
}

LoomTensorDesc pipeline_part_desc (const Pipeline *self, LoomValue v, int m);
/* Stores the whole value of v for all micro-batches. */
void pipeline_set_whole (Pipeline *self, LoomValue v, LoomValue whole);
LoomValue pipeline_whole (const Pipeline *self, LoomValue v);
/* Concatenates the micro-batches' parts of v, when all are computed. */
LoomValue pipeline_join_parts (Pipeline *self, LoomValue v);
/* Adds the summand of a micro-batch; after the last one v is whole. */
void pipeline_add_summand (Pipeline *self, LoomValue v, int m);

/* Prepares for writing an undivided instruction. If there is a single micro-batch, its passes are those of the
 * undivided program and are written when needed; with several it does nothing. */
void pipeline_set_single_micro_batch (Pipeline *self, const LoomInstr *instr);

/* Sends the value of a micro-batch, or the whole value (micro −1). exchange_slot: see LoomTransferAttrs. */
void pipeline_send (Pipeline *self, LoomValue v, LoomValue local, int to, int micro, int exchange_slot);
LoomValue pipeline_receive (Pipeline *self, LoomValue v, const LoomTensorDesc *d, int micro, int exchange_slot);
/* Sends a whole value from its stage to the stages that need it: one send to a single stage or, with `together`, one
 * broadcast to several. */
void pipeline_exchange (Pipeline *self, LoomValue v, guint64 to, gboolean together);
