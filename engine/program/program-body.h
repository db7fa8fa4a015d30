/* Bodies: programs that an instruction of another program runs, such as scan's.
 *
 * A body neither reads nor commits slots. The functions here extract, inline and rewrite bodies, count floating-point
 * operations, including those of bodies, and decide whether a value costs less to recompute than to keep. */
#pragma once

#include "engine/program/prim-private.h"

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
