/* Shared by the files that write a rank's program: what they know of the undivided one, and the forms of its values. */
#pragma once

#include "engine/program/partition-private.h"

#include "kernels/comm.h"

G_BEGIN_DECLS

/* Values of r.from of one type that wait to be exchanged in one call. */
typedef struct
{
  GArray *values;
  gsize bytes;
  gboolean scatter; /* each rank gets its part of the sums; else all of them */
} PartitionBucket;

typedef enum
{
  PARTITION_EARLY,     /* made whole where it is wanted */
  PARTITION_LATE,      /* pending, and wanted by the update alone */
  PARTITION_LATE_SHARD /* likewise, and only as a shard */
} PartitionTime;

typedef struct
{
  LoomRewrite r;
  const LoomPartition *options;
  gboolean divides;    /* there are samples for all ranks; else each computes all of them */
  LoomCommPart own;    /* of the samples */
  LoomShare *have;     /* by value of r.from: how its value in r.to is divided */
  LoomShare **want;    /* by instruction: of its operands */
  PartitionTime *time; /* by value */
  gboolean *exact;     /* by value: it is told to people, as losses and counts are, and so is never rounded */
  LoomValue *whole;    /* by value: where it was made whole; 0: not yet */
  LoomValue *shard;    /* by value: this rank's shard of it, where it has another form */
  GHashTable *parts;   /* value and axis → the rank's part of it */
  PartitionBucket bucket[2];
  gboolean divides_norm, keeps_sums; /* as in LoomShareCall */
  gboolean is_body;                  /* it runs many times, so nothing is exchanged in it */
  gboolean holds;                    /* buckets wait until the backward pass is over */
  GArray *gathered;                  /* shards of r.from that are whole in the region that is being written */
  LoomRegion region;
  LoomValue *next; /* by slot */
  /* Of a micro-batch of a pipeline: values whose parts cannot be made of what they were made of. */
  const gboolean *opaque;
  gconstpointer pipeline;
  gboolean of_weights;
  gboolean *settled;      /* by value: where it would be pending, it is made whole where it is made */
  gboolean *is_reduced;   /* likewise: so it is */
  gboolean *is_weight;    /* by value: it is state, in whatever type */
  gboolean *is_order;     /* by value: an order of rows, which each rank has of its own */
  GHashTable *row_tables; /* indices of rows → the form of the table that they are looked up in */
  GHashTable
      *loops; /* index of an instruction → the forms of its body's inputs, LoomShare, and behind them its outputs */
} Partition;

static inline const LoomTensorDesc *
desc_from (const Partition *self, LoomValue v)
{
  return value_desc (self->r.from, v);
}

/* v of r.from in r.to as it is. */
static inline LoomValue
local_value (const Partition *self, LoomValue v)
{
  return loom_rewrite_value (&self->r, v);
}

/* ---- program-partition.c ---------------------------------------------------- */

/* Of a program that begins with these forms of its inputs: to be set in have[], and then the rewriting to be begun. */
void partition_init (Partition *self, const LoomProgram *p, const LoomPartition *options);
void partition_clear (Partition *self);
/* Finds the forms of an instruction's operands and results, and writes it. */
void partition_decide (Partition *self, guint i);
void partition_write (Partition *self, guint i);

/* ---- partition-weights.c ------------------------------------------------------ */

/* The parameter that a slot is or belongs to, as a state of the optimiser or an average: "optimizer.KIND.PARAMETER";
 * NULL: none. An evaluation has an average in the place of a parameter. */
const char *partition_parameter_of (const LoomSlot *slot);
/* Of a slot where ranks have parts of weights. */
LoomShare partition_weight_share (const Partition *self, const LoomSlot *slot);
gboolean partition_weight_part (LoomRewrite *r, const LoomSlot *slot, LoomSlotPart *part);
/* Settles pending values that somebody wants whole before the update, so that nobody keeps both forms; TRUE where that
 * changes anything, and all is to be decided again. */
gboolean partition_weight_settle (Partition *self);
/* The forms of operands and results of what becomes several instructions; FALSE: it becomes one. */
gboolean partition_weight_decide (Partition *self, guint i, LoomShareCall *call);
/* Writes those, of operands in these forms. */
gboolean partition_weight_write (Partition *self, guint i, const LoomValue *in, LoomValue *out);

/* ---- partition-loss.c --------------------------------------------------------- */

/* Likewise of cross-entropy where ranks have parts of the classes; logits: the form in which it takes them. */
gboolean partition_loss_decide (LoomShareCall *call);
gboolean
partition_loss_write (Partition *self, const LoomInstr *instr, LoomShare logits, const LoomValue *in, LoomValue *out);

/* ---- partition-told.c ---------------------------------------------------------- */

/* Of r.to, before anything leaves the program: the output that is to be told as this rank has it alone; 0: it has none.
 */
LoomValue partition_told (Partition *self);

/* ---- partition-update.c ------------------------------------------------------- */

/* Writes a step that needs whole tensors (loom_share_step_by_kind()) of shards in `in`; FALSE: it is none. */
gboolean partition_write_step (const Partition *self, guint i, const LoomValue *in, LoomValue *out);

/* ---- partition-visit.c -------------------------------------------------------- */

/* The forms of an order of rows, and of what reads one that each rank has of its own rows; FALSE: it is neither. */
gboolean partition_visit_decide (Partition *self, guint i, LoomShareCall *call);
/* Makes the attributes of such readers those of the rank's rows; bodies that are new, to be kept until they are
 * emitted. (transfer full) (nullable) */
GPtrArray *partition_visit_attrs (Partition *self, guint i, gpointer attrs);

/* ---- partition-loops.c -------------------------------------------------------- */

/* A loop is divided where its body can be without an exchange. */
void partition_decide_loop (Partition *self, guint i, LoomShareCall *call);
/* The forms of a body's outputs where its inputs have these; FALSE where ranks would have to exchange something. */
gboolean
partition_decide_body (const Partition *outer, const LoomProgram *body, const LoomShare *input, LoomShare *output);
/* Whether a value can be brought into another form by a rank alone. */
gboolean partition_is_near (LoomShare have, LoomShare want);
/* The body with inputs, and behind them outputs, in these forms. (transfer full) */
LoomProgram *partition_body (const Partition *outer, LoomProgram *body, const LoomShare *forms);
/* The body for this rank. (transfer full) */
LoomProgram *partition_loop_body (Partition *self, guint i);

/* ---- partition-forms.c -------------------------------------------------------- */

/* Of values of the rank's program. */
LoomValue partition_all_reduce (const Partition *self, LoomReduceOp op, guint n, const LoomValue *in, LoomValue *out);
gint64 partition_rows (const Partition *self, gint64 size, gint64 samples);
void partition_init_buckets (Partition *self);
void partition_clear_buckets (Partition *self);
/* A late value was made. */
void partition_put (Partition *self, LoomValue v);
/* v of r.from in a form that it has or can be brought into. */
LoomValue partition_value (Partition *self, LoomValue v, LoomShare want);
/* Whole tensors of these shards, in one call of at most LOOM_UNSHARD_MAX; and this rank's shard of one. */
void partition_unshard (const Partition *self, guint n, const LoomTensorDesc *const *whole, const LoomValue *in,
                        LoomValue *out);
LoomValue partition_slice_shard (const Partition *self, LoomValue whole);
/* Whole values of shards, in as few calls as buckets allow. */
void partition_gather (Partition *self, guint n, const LoomValue *values);

G_END_DECLS
