/* Shared by the primitives' families: registries by family and small helpers for shape rules and gradients.
 *
 * Private to engine/program. */
#pragma once

#include "engine/program/loom-prim.h"

G_BEGIN_DECLS

/* One NULL-terminated list a file. */
extern const LoomPrim *const loom_prims_elementwise[];
extern const LoomPrim *const loom_prims_reduce[];
extern const LoomPrim *const loom_prims_matmul[];
extern const LoomPrim *const loom_prims_conv[];
extern const LoomPrim *const loom_prims_pool[];
extern const LoomPrim *const loom_prims_softmax[];
extern const LoomPrim *const loom_prims_attention[];
extern const LoomPrim *const loom_prims_attention_cached[];
extern const LoomPrim *const loom_prims_loss[];
extern const LoomPrim *const loom_prims_norm[];
extern const LoomPrim *const loom_prims_gather[];
extern const LoomPrim *const loom_prims_index[];
extern const LoomPrim *const loom_prims_shape[];
extern const LoomPrim *const loom_prims_source[];
extern const LoomPrim *const loom_prims_update[];
extern const LoomPrim *const loom_prims_custom[];
extern const LoomPrim *const loom_prims_linalg[];
extern const LoomPrim *const loom_prims_control[];
extern const LoomPrim *const loom_prims_collective[];
extern const LoomPrim *const loom_prims_transfer[];
extern const LoomPrim *const loom_prims_visit[];
extern const LoomPrim *const loom_prims_order[];

/* Whether what a collective gives is the same whole on all ranks, made of a value of each. */
gboolean prim_is_all_reduce (const LoomPrim *prim);
/* Has one of several operands exchange these of them alone, at[0] < … < at[n - 1]. */
void prim_collective_choose (const LoomPrim *prim, gpointer attrs, guint n, const guint *at);

static inline const LoomTensorDesc *
value_desc (const LoomProgram *p, LoomValue v)
{
  return &loom_value_info (p, v)->desc;
}

/* The type in which 16-bit floats are computed, summed and kept statistics in. */
static inline LoomDType
dtype_wide (LoomDType dtype)
{
  return dtype == LOOM_F16 || dtype == LOOM_BF16 ? LOOM_F32 : dtype;
}

static inline gboolean
desc_is_absent (const LoomTensorDesc *d)
{
  return d->dtype == LOOM_N_DTYPES;
}

LoomTensorDesc loom_desc_make (LoomDType dtype, int rank, const gint64 *dims);
gboolean loom_desc_same_shape (const LoomTensorDesc *a, const LoomTensorDesc *b);
/* NumPy's rule; FALSE when they do not fit. Only rank and dims of out are written. */
gboolean loom_desc_broadcast (const LoomTensorDesc *a, const LoomTensorDesc *b, LoomTensorDesc *out);
/* The wider of two types; a float wins over any integer. */
LoomDType loom_dtype_promote (LoomDType a, LoomDType b);
/* Sets *why and returns FALSE, so that a shape rule can end with it. */
gboolean loom_prim_refuse (char **why, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Refuses unless there are exactly n operands. */
gboolean loom_prim_arity (guint n_in, guint n, char **why);
/* For equal(): the same number to the bit, a NaN being one, so that -0 and 0 stay apart. */
gboolean loom_same_number (double a, double b);
gboolean loom_same_dims (const LoomDims *a, const LoomDims *b);
gboolean loom_same_ints (int n, const gint64 *a, const gint64 *b);
/* For hash(): one more number of the attributes. */
guint loom_hash_int (guint hash, guint64 value);
guint loom_hash_number (guint hash, double value);
/* "[a, b]" of a list of integers, for describe(). */
char *loom_ints_to_string (guint n, const gint64 *values);

/* Notes that a pass made the program; its strings are borrowed. */
void loom_program_add_pass (LoomProgram *p, const LoomProgramPass *pass);

/* ---- program-rewrite.c: passes from program to program --------------------- */

typedef struct _LoomRewrite LoomRewrite;
struct _LoomRewrite
{
  const LoomProgram *from;
  LoomProgram *to;
  GArray *map; /* LoomValue of `to` by value of `from` */
  LoomProgramPass pass;
  /* Set before begin, or NULL: what an input of `from` is in `to`, and whether a slot is a part there or a shard, and
   * which. */
  void (*localise) (LoomRewrite *r, guint input, LoomTensorDesc *desc);
  gboolean (*part) (LoomRewrite *r, const LoomSlot *slot, LoomSlotPart *part);
  gboolean (*shard) (LoomRewrite *r, const LoomSlot *slot, gint64 *first, gint64 *count);
  /* Likewise: whether one rank alone has a slot, and whether this is the one. */
  gboolean (*place) (LoomRewrite *r, guint slot, gboolean *here);
  const LoomValue *next; /* set before end, or NULL: the next value of each slot, where it is not the map's */
};

/* A new program with the same slots and inputs. name and doc are literals, for listings. */
void loom_rewrite_begin (LoomRewrite *r, const LoomProgram *from, const char *name, const char *doc);
LoomValue loom_rewrite_value (const LoomRewrite *r, LoomValue v);
/* Instructions that are emitted next have this one's region, node and device. */
void loom_rewrite_place (LoomRewrite *r, const LoomInstr *instr);
/* out[k] of `to` stands for the instruction's result k. */
void loom_rewrite_results (LoomRewrite *r, const LoomInstr *instr, const LoomValue *out);
/* The instruction as it is, with these operands of `to`. */
void loom_rewrite_copy (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in);
/* The expansion of a composite in its place. */
void loom_rewrite_expand (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in);
/* The same commits, outputs and ports; returns `to`. */
LoomProgram *loom_rewrite_end (LoomRewrite *r);

G_END_DECLS
