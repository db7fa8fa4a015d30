/* Shared by the files that divide a program among stages: what they know of the undivided one. */
#pragma once

#include "engine/program/loom-pipeline.h"
#include "engine/program/partition-forms.h"

G_BEGIN_DECLS

#define PIPELINE_EVERYWHERE (-1) /* each stage that needs it computes it for itself */
#define PIPELINE_SPREAD     (-2) /* of an instruction: each stage computes it for its own operands */

#define PIPELINE_ALL G_MAXUINT64 /* stages, a bit each */

/* Why an instruction has to wait, as bits. */
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
  int *owner;        /* the stage that makes it, or PIPELINE_EVERYWHERE */
  gboolean *summed;  /* micro-batches make summands of it, and who reads it finds the sum */
  gboolean *dynamic; /* its stage makes it of what micro-batches are */
  guint8 *late;
  guint64 *need_forward, *need_backward; /* stages that are sent it, micro-batch by micro-batch, for their passes */
  guint64 *need_before, *need_after;     /* the whole of it, in front of all passes or behind them */
  guint *number;                         /* of what is sent, for its tag */
  LoomValue *sum;                        /* so far, in the new program */
  gboolean *complete;                    /* all of it is there */
  gboolean *opaque;                      /* as Partition has it */
  /* Of instructions: */
  int *stage;        /* that computes it, or one of the above */
  gboolean *is_live; /* somebody needs what it makes */
  gboolean *divided; /* each micro-batch has a call of its own */
  gboolean *written; /* by instruction and micro-batch; of undivided ones the first counts */
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
/* How a sentence calls an instruction. */
const char *pipeline_name_of (const LoomInstr *instr);
/* What ranks exchange that have the same stage: replicas of it, or parts of its weights. */
gboolean pipeline_is_exchange (const LoomInstr *instr);
/* These return FALSE. */
gboolean pipeline_refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);
gboolean pipeline_no_stage (const LoomInstr *instr, GError **error);

/* ---- pipeline-needs.c ------------------------------------------------------ */

/* Fills in all of the above but what is written. */
gboolean pipeline_survey (Pipeline *self, GError **error);

/* ---- pipeline-values.c ----------------------------------------------------- */

static inline LoomProgram *
pipeline_target (const Pipeline *self)
{
  return self->part[0].r.to;
}

/* What micro-batch m has of a value. */
static inline void
pipeline_set_local (Pipeline *self, int m, LoomValue v, LoomValue local)
{
  g_array_index (self->part[m].r.map, LoomValue, v) = local;
}

LoomTensorDesc pipeline_part_desc (const Pipeline *self, LoomValue v, int m);
/* v is whole, and all micro-batches find it. */
void pipeline_set_whole (Pipeline *self, LoomValue v, LoomValue whole);
LoomValue pipeline_whole (const Pipeline *self, LoomValue v);
/* The whole of what micro-batches have, once all have it. */
LoomValue pipeline_join_parts (Pipeline *self, LoomValue v);
/* Adds a micro-batch's summand; behind the last one v is whole. */
void pipeline_add_summand (Pipeline *self, LoomValue v, int m);

/* Before an undivided instruction is written: a single micro-batch's passes are those of the undivided program, which
 * are written where they are needed. Of several micro-batches it changes nothing. */
void pipeline_set_lone_pass (Pipeline *self, const LoomInstr *instr);

/* Of micro-batch m, or the whole where that is -1. meeting: as LoomTransferAttrs has it. */
void pipeline_send (Pipeline *self, LoomValue v, LoomValue local, int to, int micro, int meeting);
LoomValue pipeline_receive (Pipeline *self, LoomValue v, const LoomTensorDesc *d, int micro, int meeting);
/* The whole of a value, which its stage has by now, to those that need it: to one by itself, to several, with
 * `together`, by one call of all ranks. */
void pipeline_exchange (Pipeline *self, LoomValue v, guint64 to, gboolean together);

G_END_DECLS
