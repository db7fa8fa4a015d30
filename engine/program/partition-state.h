/* The state of partitioning for one rank: what is known of the original program, and the shardings of its values. Used
 * by the files that write the rank's program. */
#pragma once

#include "engine/program/partition-sharding.h"

#include "kernels/comm.h"

G_BEGIN_DECLS

/* Values of r.from of one type that wait for a common exchange. */
typedef struct
{
  GArray *values;
  gsize bytes;
  gboolean scatter; /* each rank gets its part of the sums, else all of them */
} PartitionBucket;

typedef enum
{
  PARTITION_EARLY,     /* made whole where it is used */
  PARTITION_LATE,      /* partial, and used by the update alone */
  PARTITION_LATE_SHARD /* likewise, and only as a shard */
} PartitionTime;

typedef struct
{
  LoomRewrite r;
  const LoomPartition *options;
  gboolean divides;    /* there are samples for all ranks; else each computes all of them */
  LoomCommShard own;   /* of the samples */
  LoomSharding *have;  /* by value of r.from: the sharding of its value in r.to */
  LoomSharding **want; /* by instruction: of its operands */
  PartitionTime *time; /* by value */
  gboolean *exact;     /* by value: reported to the user (losses, counts), so never rounded */
  LoomValue *whole;    /* by value: the whole value once it was made, else 0 */
  LoomValue *shard;    /* by value: this rank's shard of it, if it has another sharding */
  GHashTable *parts;   /* value and axis → the rank's part */
  PartitionBucket bucket[2];
  gboolean divides_norm, keeps_sums; /* see LoomShardingCall */
  gboolean is_body;                  /* it is a loop's body, so it exchanges nothing */
  gboolean holds;                    /* buckets wait until the backward pass is over */
  GArray *gathered;                  /* shards of r.from that are whole in the current region */
  LoomRegion region;
  LoomValue *next; /* by slot */
  /* Of a micro-batch of a pipeline: values whose parts cannot be computed from their operands' parts. */
  const gboolean *opaque;
  gconstpointer pipeline;
  gboolean of_weights;
  gboolean *settled;      /* by value: if partial, it is made whole at once */
  gboolean *is_reduced;   /* by value: that was done */
  gboolean *is_weight;    /* by value: it is state, in any type */
  gboolean *is_order;     /* by value: a permutation of the rank's own rows */
  GHashTable *row_tables; /* indices of rows → the sharding of the table that they index */
  GHashTable *loops; /* index of an instruction → the shardings of its body's inputs, then outputs, LoomSharding */
} Partition;

static inline const LoomTensorDesc *
desc_from (const Partition *self, LoomValue v)
{
  return value_desc (self->r.from, v);
}

/* v's value in r.to, in its current sharding. */
static inline LoomValue
local_value (const Partition *self, LoomValue v)
{
  return loom_rewrite_value (&self->r, v);
}

/* ---- program-partition.c ---------------------------------------------------- */

/* Prepares the partitioning. The caller then sets the inputs' shardings in have[] and begins the rewriting. */
void partition_init (Partition *self, const LoomProgram *p, const LoomPartition *options);
void partition_clear (Partition *self);
/* Chooses the shardings of an instruction's operands and results, and writes it. */
void partition_choose (Partition *self, guint i);
void partition_write (Partition *self, guint i);

/* ---- partition-weights.c ------------------------------------------------------ */

/* The parameter of a slot: of "optimizer.KIND.PARAMETER" and averages too; NULL: none. In an evaluation an average
 * replaces a parameter. */
const char *partition_parameter_of (const LoomSlot *slot);
/* The sharding of a slot if weights are split. */
LoomSharding partition_weight_sharding (const Partition *self, const LoomSlot *slot);
gboolean partition_weight_part (LoomRewrite *r, const LoomSlot *slot, LoomSlotPart *part);
/* Makes partial values whole at once if they are needed whole before the update, so that no rank keeps both. TRUE if
 * that changes anything and all shardings must be chosen again. */
gboolean partition_weight_reduce_early (Partition *self);
/* Chooses the shardings of an instruction that becomes several; FALSE: it becomes one. */
gboolean partition_weight_choose (Partition *self, guint i, LoomShardingCall *call);
/* Writes these instructions, from operands in these shardings. */
gboolean partition_weight_write (Partition *self, guint i, const LoomValue *in, LoomValue *out);

/* ---- partition-loss.c --------------------------------------------------------- */

/* Does the same for cross-entropy with split classes. */
gboolean partition_loss_choose (LoomShardingCall *call);
gboolean partition_loss_write (Partition *self, const LoomInstr *instr, LoomSharding logits, const LoomValue *in,
                               LoomValue *out);

/* ---- partition-local-output.c ---------------------------------------------------------- */

/* This rank's local version, in r.to, of the output that has one, before the outputs are written; 0: none. */
LoomValue partition_local_output (Partition *self);

/* ---- partition-update.c ------------------------------------------------------- */

/* Writes a step that needs whole tensors (loom_shard_step_by_kind()) from shards in `in`; FALSE: it is no such step. */
gboolean partition_write_step (const Partition *self, guint i, const LoomValue *in, LoomValue *out);

/* ---- partition-visit.c -------------------------------------------------------- */

/* Chooses the shardings of a permutation of rows, and of instructions that read one of the rank's own rows; FALSE: it
 * is neither. */
gboolean partition_visit_choose (Partition *self, guint i, LoomShardingCall *call);
/* Sets the attributes of such readers to the rank's number of rows. Returns new bodies, to be kept until they are
 * emitted. (transfer full) (nullable) */
GPtrArray *partition_visit_attrs (Partition *self, guint i, gpointer attrs);

/* ---- partition-loops.c -------------------------------------------------------- */

/* Splits a loop if its body needs no exchange. */
void partition_choose_loop (Partition *self, guint i, LoomShardingCall *call);
/* The shardings of a body's outputs for inputs in these; FALSE if ranks would have to exchange data. */
gboolean partition_choose_body (const Partition *outer, const LoomProgram *body, const LoomSharding *input,
                                LoomSharding *output);
/* TRUE if a rank can convert a value to another sharding without an exchange. */
gboolean partition_is_local_conversion (LoomSharding have, LoomSharding want);
/* The body with inputs, then outputs, in these shardings. (transfer full) */
LoomProgram *partition_body (const Partition *outer, LoomProgram *body, const LoomSharding *forms);
/* The body for this rank. (transfer full) */
LoomProgram *partition_loop_body (Partition *self, guint i);

/* ---- partition-reshard.c -------------------------------------------------------- */

/* Emits an all_reduce of values of the rank's program. */
LoomValue partition_all_reduce (const Partition *self, LoomReduceOp op, guint n, const LoomValue *in, LoomValue *out);
gint64 partition_rows (const Partition *self, gint64 size, gint64 samples);
void partition_init_buckets (Partition *self);
void partition_clear_buckets (Partition *self);
/* Call for each late value that was computed. */
void partition_enqueue (Partition *self, LoomValue v);
/* The value of v of r.from in this sharding, converted if necessary. */
LoomValue partition_value (Partition *self, LoomValue v, LoomSharding want);
/* Whole tensors of these shards, in one call of at most LOOM_UNSHARD_MAX; and this rank's shard of a tensor. */
void partition_unshard (const Partition *self, guint n, const LoomTensorDesc *const *whole, const LoomValue *in,
                        LoomValue *out);
LoomValue partition_slice_shard (const Partition *self, LoomValue whole);
/* Gathers values from shards, in as few calls as buckets allow. */
void partition_gather (Partition *self, guint n, const LoomValue *values);

G_END_DECLS
