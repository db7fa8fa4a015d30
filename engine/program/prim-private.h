/* The internal header of engine/program: helpers for shape rules and attributes
 * (prim-*.c, loom-prim.c), and LoomRewrite, the helper of passes from program to program (program-rewrite.c). */
#pragma once

#include "engine/program/loom-prim.h"

/* The first fields of a primitive's row: its name, its tier and the most results that it has; its attributes. */
#define LOOM_PRIM_ROW(NAME, TIER, MAX_OUT) .name = NAME, .tier = LOOM_TIER_##TIER, .max_out = MAX_OUT
#define LOOM_PRIM_ATTRS(TYPE, TABLE)       .attrs_size = sizeof (TYPE), .attrs = TABLE

/* TRUE for a collective whose result is the same whole value on all ranks, computed from a value of each rank. */
gboolean prim_is_all_reduce (const LoomPrim *prim);
/* Restricts the attributes of a collective to the operands at[0] < … < at[n - 1]. */
void prim_collective_choose (const LoomPrim *prim, gpointer attrs, guint n, const guint *at);

static inline const LoomTensorDesc *
value_desc (const LoomProgram *p, LoomValue v)
{
  return &loom_value_info (p, v)->desc;
}

/* The type in which values of a type are computed and summed: f32 for 16-bit floats. */
static inline LoomDType
dtype_computed (LoomDType dtype)
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
/* Broadcasts shapes by NumPy's rule; FALSE if they do not match. Sets only rank and dims of out. */
gboolean loom_desc_broadcast (const LoomTensorDesc *a, const LoomTensorDesc *b, LoomTensorDesc *out);
/* The larger of two types; any float is larger than any integer. */
LoomDType loom_dtype_promote (LoomDType a, LoomDType b);
/* Sets *why and returns FALSE, for the end of a shape rule. */
gboolean loom_prim_refuse (char **why, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Refuses unless there are exactly n operands. */
gboolean loom_prim_arity (guint n_in, guint n, char **why);
gboolean loom_same_ints (int n, const gint64 *a, const gint64 *b);
/* "[a, b]" of a list of integers, for describe(). */
char *loom_ints_to_string (guint n, const gint64 *values);

/* Records that a pass made the program. The strings of `pass` are borrowed. */
void loom_program_add_pass (LoomProgram *p, const LoomProgramPass *pass);

/* ---- program-rewrite.c: passes from program to program --------------------- */

typedef struct _LoomRewrite LoomRewrite;
struct _LoomRewrite
{
  const LoomProgram *from;
  LoomProgram *to;
  GArray *map; /* LoomValue of `to` by value of `from` */
  LoomProgramPass pass;
  /* Callbacks that may be set before loom_rewrite_begin(). localise() changes the description of an input; part() and
   * shard() return whether a slot is split or sharded, and how. */
  void (*localise) (LoomRewrite *r, guint input, LoomTensorDesc *desc);
  gboolean (*part) (LoomRewrite *r, const LoomSlot *slot, LoomSlotPart *part);
  gboolean (*shard) (LoomRewrite *r, const LoomSlot *slot, gint64 *first, gint64 *count);
  /* Returns whether only one rank has a slot, and whether this rank does. May be set before loom_rewrite_begin(). */
  gboolean (*place) (LoomRewrite *r, guint slot, gboolean *here);
  /* by slot: its next value, instead of the mapped one; may be set before loom_rewrite_end() */
  const LoomValue *next;
};

/* Begins a new program with the same slots and inputs. name and doc: literals, for listings. */
void loom_rewrite_begin (LoomRewrite *r, const LoomProgram *from, const char *name, const char *doc);
LoomValue loom_rewrite_value (const LoomRewrite *r, LoomValue v);
/* Makes the instructions that are emitted next belong to this one's region, node and device. */
void loom_rewrite_set_origin (LoomRewrite *r, const LoomInstr *instr);
/* Maps each result k of the instruction to out[k] of `to`. */
void loom_rewrite_results (LoomRewrite *r, const LoomInstr *instr, const LoomValue *out);
/* Copies the instruction, with operands in[] of `to`. */
void loom_rewrite_copy (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in);
/* Replaces a composite with its expansion. */
void loom_rewrite_expand (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in);
/* Copies commits, outputs and ports; returns `to`. */
LoomProgram *loom_rewrite_end (LoomRewrite *r);
