/* The state of partitioning a program among pipeline stages, shared by the files that do it. */
#pragma once

#include "engine/program/loom-pipeline.h"
#include "engine/program/partition-state.h"

G_BEGIN_DECLS

#define PIPELINE_EVERYWHERE (-1) /* each stage that needs it computes it */
#define PIPELINE_PER_STAGE  (-2) /* of an instruction: each stage computes it for its own operands */

#define PIPELINE_ALL G_MAXUINT64 /* stages, a bit each */

/* Bits: why an instruction must wait. */
enum
{
  PIPELINE_LATE_FORWARD = 1 << 0, /* for the forward passes of all micro-batches */
  PIPELINE_LATE_BACKWARD = 1 << 1 /* for their backward passes */
};

typedef struct
{
  const LoomProgram *p;
  const LoomPipeline *options;
  int micros, stages;
  Partition *part;          /* by micro-batch; all write into one program */
  LoomPartition *partition; /* likewise */
  /* Of values: */
  int *owner;        /* the stage that computes it, or PIPELINE_EVERYWHERE */
  gboolean *summed;  /* the sum of micro-batches' summands; readers get the sum */
  gboolean *dynamic; /* its stage computes it from micro-batches */
  guint8 *late;
  guint64 *need_forward, *need_backward; /* stages to which it is sent per micro-batch, for their passes */
  guint64 *need_before, *need_after;     /* stages to which the whole value is sent before or after all passes */
  guint *number;                         /* of what is sent, for its tag */
  LoomValue *sum;                        /* so far, in the new program */
  gboolean *complete;                    /* the whole value exists */
  gboolean *opaque;                      /* see Partition */
  /* Of instructions: */
  int *stage;        /* the stage that computes it, or one of the above */
  gboolean *is_live; /* a result is needed */
  gboolean *divided; /* each micro-batch has its own call */
  gboolean *written; /* by instruction and micro-batch; undivided ones use the first */
  int *slot_owner;   /* by slot */
} Pipeline;

static inline gboolean
pipeline_is_here (const Pipeline *self, int owner)
{
  return owner == PIPELINE_EVERYWHERE || owner == self->options->stage;
}

/* ---- pipeline-stages.c ----------------------------------------------------- */

gboolean pipeline_find_owners (Pipeline *self, GError **error);
const LoomInstr *pipeline_producer_of (const Pipeline *self, LoomValue v); /* NULL: an input, or state */
/* The instruction's name in an error. */
const char *pipeline_name_of (const LoomInstr *instr);
/* TRUE for exchanges among ranks of one stage: its replicas, or the parts of its weights. */
gboolean pipeline_is_exchange (const LoomInstr *instr);
/* Returns FALSE. */
gboolean pipeline_fault (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);
gboolean pipeline_no_stage (const LoomInstr *instr, GError **error);

/* ---- pipeline-transfers.c ------------------------------------------------------ */

/* Fills all of the above except `written`. */
gboolean pipeline_analyse (Pipeline *self, GError **error);

/* ---- pipeline-values.c ----------------------------------------------------- */

static inline LoomProgram *
pipeline_target (const Pipeline *self)
{
  return self->part[0].r.to;
}

/* The value of v for micro-batch m. */
static inline void
pipeline_set_local (Pipeline *self, int m, LoomValue v, LoomValue local)
{
  g_array_index (self->part[m].r.map, LoomValue, v) = local;
}

LoomTensorDesc pipeline_part_desc (const Pipeline *self, LoomValue v, int m);
/* Sets v's whole value for all micro-batches. */
void pipeline_set_whole (Pipeline *self, LoomValue v, LoomValue whole);
LoomValue pipeline_whole (const Pipeline *self, LoomValue v);
/* Joins the micro-batches' parts of v once all are computed. */
LoomValue pipeline_join_parts (Pipeline *self, LoomValue v);
/* Adds a micro-batch's summand; after the last one v is whole. */
void pipeline_add_summand (Pipeline *self, LoomValue v, int m);

/* Call before writing an undivided instruction. With a single micro-batch the passes are those of the undivided
 * program, which are written on demand; with several it does nothing. */
void pipeline_set_single_micro_batch (Pipeline *self, const LoomInstr *instr);

/* Sends the value of micro-batch `micro`, or the whole (-1). exchange_slot: see LoomTransferAttrs. */
void pipeline_send (Pipeline *self, LoomValue v, LoomValue local, int to, int micro, int exchange_slot);
LoomValue pipeline_receive (Pipeline *self, LoomValue v, const LoomTensorDesc *d, int micro, int exchange_slot);
/* Sends a whole value, which its stage has by now, to the stages that need it: one send to a single stage or, with
 * `together`, one broadcast to several. */
void pipeline_exchange (Pipeline *self, LoomValue v, guint64 to, gboolean together);

G_END_DECLS
