/* The state of partitioning for one rank (Partition): facts about the original program, and the shardings of its
 * values. Shared by the files that choose shardings and write the rank's program. */
#pragma once

#include "engine/program/partition-sharding.h"

#include "kernels/comm.h"

/* Values of r.from of one type that are collected for one exchange. */
typedef struct
{
  GArray *values;
  gsize bytes;
  gboolean scatter; /* each rank gets its part of the sums; otherwise every rank gets all */
} PartitionBucket;

typedef enum
{
  PARTITION_EARLY,     /* needed before the update: converted at the first use */
  PARTITION_LATE,      /* partial, and used only by the update */
  PARTITION_LATE_SHARD /* the same, and used only as a shard */
} PartitionTime;

typedef struct
{
  LoomRewrite r;
  const LoomPartition *options;
  gboolean divides;    /* each rank has samples of its own; otherwise each computes all samples */
  LoomCommShard own;   /* the rank's range of the samples */
  LoomSharding *have;  /* by value of r.from: the sharding of its value in r.to */
  LoomSharding **want; /* by instruction: the shardings in which it reads its operands */
  PartitionTime *time; /* by value: when it is exchanged */
  gboolean *exact;     /* by value: reported to the user (losses, counts), so not rounded for the exchange */
  LoomValue *whole;    /* by value: the whole value if it exists in r.to, else 0 */
  LoomValue *shard;    /* by value of another sharding: this rank's shard of it if it exists, else 0 */
  GHashTable *parts;   /* value and axis → the rank's part */
  PartitionBucket bucket[2];
  gboolean divides_norm, keeps_sums; /* see LoomShardingCall */
  gboolean is_body;                  /* the program is a loop's body, so it exchanges nothing */
  gboolean holds_buckets;            /* buckets are exchanged only after the backward pass */
  GArray *gathered;                  /* sharded values of r.from that were gathered in the current region */
  LoomRegion region;
  LoomValue *next; /* by slot: the next value, in r.to */
  /* For a micro-batch of a pipeline: values whose parts cannot be computed from parts of operands. */
  const gboolean *opaque;
  gconstpointer pipeline;
  gboolean of_weights;
  gboolean *settled;      /* by value: if it is partial, it is reduced as soon as it is computed */
  gboolean *is_reduced;   /* by value: it was reduced so */
  gboolean *is_weight;    /* by value: it is state, or a conversion of state */
  gboolean *is_order;     /* by value: it is a permutation of the rank's own rows */
  GHashTable *row_tables; /* value with indices of rows → the sharding of the table that it indexes */
  GHashTable *loops;      /* index of an instruction → array of LoomSharding: of its body's inputs, then outputs */
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

/* The name of the parameter to which a slot belongs, also for "optimizer.KIND.PARAMETER" and averages; NULL: none. In
 * an evaluation an average can be read instead of a parameter. */
const char *partition_parameter_of (const LoomSlot *slot);
/* The sharding of a slot if weights are split. */
LoomSharding partition_weight_sharding (const Partition *self, const LoomSlot *slot);
gboolean partition_weight_part (LoomRewrite *r, const LoomSlot *slot, LoomSlotPart *part);
/* Makes partial values whole as soon as they are computed if they are needed whole before the update, so that no rank
 * keeps both. TRUE if that changes anything; then all shardings have to be chosen again. */
gboolean partition_weight_reduce_early (Partition *self);
/* Chooses the shardings of an instruction that becomes several in the rank's program; FALSE if it becomes one. */
gboolean partition_weight_choose (Partition *self, guint i, LoomShardingCall *call);
/* Writes such an instruction, from operands in these shardings. */
gboolean partition_weight_write (Partition *self, guint i, const LoomValue *in, LoomValue *out);

/* ---- partition-loss.c --------------------------------------------------------- */

/* The same for cross-entropy with split classes. */
gboolean partition_loss_choose (LoomShardingCall *call);
gboolean partition_loss_write (Partition *self, const LoomInstr *instr, LoomSharding logits, const LoomValue *in,
                               LoomValue *out);

/* ---- partition-local-output.c ---------------------------------------------------------- */

/* The local version, in r.to, of the output that has one; 0: none. Called before the outputs are written. */
LoomValue partition_local_output (Partition *self);

/* ---- partition-update.c ------------------------------------------------------- */

/* Writes an optimizer's step that needs whole tensors (loom_shard_step_by_kind()) from shards in `in`; FALSE if it is
 * no such step. */
gboolean partition_write_step (const Partition *self, guint i, const LoomValue *in, LoomValue *out);

/* ---- partition-visit.c -------------------------------------------------------- */

/* Chooses the shardings of a permutation of rows, and of instructions that read a permutation of the rank's own rows;
 * FALSE if it is neither. */
gboolean partition_visit_choose (Partition *self, guint i, LoomShardingCall *call);
/* Sets the attributes of such readers to the rank's number of rows. Returns the new bodies, which must live until the
 * instruction is emitted. (transfer full) (nullable) */
GPtrArray *partition_visit_attrs (Partition *self, guint i, gpointer attrs);

/* ---- partition-loops.c -------------------------------------------------------- */

/* Chooses the shardings of a loop. It is split if its body needs no exchange. */
void partition_choose_loop (Partition *self, guint i, LoomShardingCall *call);
/* Computes the shardings of a body's outputs from those of its inputs; FALSE if ranks would have to exchange data in
 * the body. */
gboolean partition_choose_body (const Partition *outer, const LoomProgram *body, const LoomSharding *input,
                                LoomSharding *output);
/* TRUE if an instruction of the program or of its bodies draws random numbers. */
gboolean partition_draws (const LoomProgram *p);
/* TRUE if a rank can convert a value to another sharding without an exchange. */
gboolean partition_is_local_conversion (LoomSharding have, LoomSharding want);
/* The body for a rank, with inputs, then outputs, in these shardings. (transfer full) */
LoomProgram *partition_body (const Partition *outer, LoomProgram *body, const LoomSharding *forms);
/* The body of loop i for this rank. (transfer full) */
LoomProgram *partition_loop_body (Partition *self, guint i);

/* ---- partition-reshard.c -------------------------------------------------------- */

/* Emits an all_reduce of values of the rank's program. */
LoomValue partition_all_reduce (const Partition *self, LoomReduceOp op, guint n, const LoomValue *in, LoomValue *out);
gint64 partition_rows (const Partition *self, gint64 size, gint64 samples);
void partition_init_buckets (Partition *self);
void partition_clear_buckets (Partition *self);
/* Adds a value that only the update uses to a bucket. Called for each of them when it was computed. */
void partition_enqueue (Partition *self, LoomValue v);
/* The value of v of r.from in this sharding, converted if necessary. */
LoomValue partition_value (Partition *self, LoomValue v, LoomSharding want);
/* partition_unshard() makes whole tensors from shards, in one call of at most LOOM_UNSHARD_MAX; partition_slice_shard()
 * returns this rank's shard of a whole tensor. */
void partition_unshard (const Partition *self, guint n, const LoomTensorDesc *const *whole, const LoomValue *in,
                        LoomValue *out);
LoomValue partition_slice_shard (const Partition *self, LoomValue whole);
/* Gathers sharded values, in as few calls as the size of buckets allows. */
void partition_gather (Partition *self, guint n, const LoomValue *values);
