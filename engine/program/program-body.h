/* Bodies: programs that an instruction of another program runs (scan).
 *
 * A body reads no slots and commits none. Whatever walks through a program's instructions and means those of bodies as
 * well does so through these functions. */
#pragma once

#include "engine/program/prim-private.h"

G_BEGIN_DECLS

/* A new program of the instructions that out[] need, in their order, with in[] as its inputs: these values are given
 * from outside, however `from` makes them. Float type, regions, nodes and devices stay. What is needed of the slots of
 * `from` is among in[]. */
LoomProgram *
loom_program_extract (const LoomProgram *from, guint n_in, const LoomValue *in, guint n_out, const LoomValue *out);

/* Appends what `body` computes to `to`, with in[] of `to` for its inputs. map[] receives the value of `to` for each of
 * the body's values; it has room for loom_program_n_values() + 1. */
void loom_program_inline (LoomProgram *to, const LoomProgram *body, const LoomValue *in, LoomValue *map);

/* Floating-point operations of one run. */
double loom_program_flops (const LoomProgram *p);

/* TRUE for what costs less to make again than to keep: numbers that are known, and other views of what is there. */
gboolean loom_instr_is_free (const LoomProgram *p, const LoomInstr *instr);

/* Another form of a body. (transfer full) */
typedef LoomProgram *(*LoomBodyFunc) (LoomProgram *body, gpointer data);
/* The instruction with these operands of r->to, and with other forms of its bodies. */
void
loom_rewrite_bodies (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in, LoomBodyFunc func, gpointer data);

static inline gboolean
loom_prim_has_bodies (const LoomPrim *prim)
{
  return prim->bodies != NULL;
}

G_END_DECLS
