/* Bodies: programs that an instruction of another program runs, such as scan's.
 *
 * A body neither reads nor commits slots. The functions here extract, inline and rewrite bodies, count floating-point
 * operations, including those of bodies, and decide whether a value costs less to recompute than to keep. */
#pragma once

#include "engine/program/prim-private.h"

/* An empty program with the float type of another one, and its choice of TF32. */
LoomProgram *loom_program_new_like (const LoomProgram *p);

/* Makes a program of the instructions that out[] need, in order, with in[] as its inputs: in[] replace their
 * computation in `from`. Keeps float type, regions, nodes and devices. Slots of `from` that are needed must be among
 * in[]. (transfer full) */
LoomProgram *
loom_program_extract (const LoomProgram *from, guint n_in, const LoomValue *in, guint n_out, const LoomValue *out);

/* Appends the computation of `body` to `to`, with in[] of `to` as its inputs. map[] receives the value of `to` for each
 * value of the body and must hold loom_program_n_values() + 1. */
void loom_program_inline (LoomProgram *to, const LoomProgram *body, const LoomValue *in, LoomValue *map);

/* Records the ports of a body that was inlined with this map. */
void loom_program_inline_ports (LoomProgram *to, const LoomProgram *body, const LoomValue *map);

/* Floating-point operations of one run. */
double loom_program_flops (const LoomProgram *p);

/* TRUE for instructions that cost less to recompute than their results cost to keep: constants and views. */
gboolean loom_instr_is_free (const LoomProgram *p, const LoomInstr *instr);

/* Returns the body that replaces another one. (transfer full) */
typedef LoomProgram *(*LoomBodyFunc) (LoomProgram *body, gpointer data);
/* Copies the instruction with operands in[] of r->to, and replaces its bodies by those that func returns. */
void
loom_rewrite_bodies (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in, LoomBodyFunc func, gpointer data);

static inline gboolean
loom_prim_has_bodies (const LoomPrim *prim)
{
  return prim->bodies != NULL;
}

/* An instruction that runs bodies, under construction: for each body a larger program and which of its values are the
 * body's inputs and outputs, and the operands of the instruction. Scan, switch and visit differ in the attributes, the
 * schedule by which the bodies run. */
typedef struct
{
  guint n;            /* bodies */
  LoomProgram **from; /* by body: the larger program, which is held; NULL: not set yet */
  GArray **in, **out; /* by body: LoomValue of it */
  GArray *operand;    /* LoomValue of the program around the instruction */
} LoomBodyCall;

void loom_body_call_init (LoomBodyCall *call, guint n);
void loom_body_call_clear (LoomBodyCall *call);
/* Adds a value of the first body's program as its input, and the operand. */
void loom_body_call_add (LoomBodyCall *call, LoomValue in, LoomValue operand);
/* Adds the inputs, outputs and operands of another call. Both have one body. */
void loom_body_call_append (LoomBodyCall *call, const LoomBodyCall *more);
/* Emits the instruction, which has this number of results; 0: none is emitted. attrs: bodies are not set. Returns the
 * results. (transfer full) */
LoomValue *
loom_body_call_emit (const LoomBodyCall *call, LoomProgram *p, const LoomPrim *prim, gpointer attrs, guint n_results);
/* Replaces the bodies and attributes of an instruction, which then has further results; see loom_program_extend(). */
void loom_body_call_extend (const LoomBodyCall *call, LoomProgram *p, const LoomInstr *instr, gpointer attrs,
                            LoomValue *made);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomBodyCall, loom_body_call_clear)
