/* Replaces each composite of a program with its expansion into core primitives, also in bodies and also if a back end
 * has a kernel for it.
 *
 * The ONNX export writes lowered nodes in this form (engine/onnx/onnx-export-lowered.c), and tests compare composites
 * with it. The planner does not expand: a composite without a kernel is a fault. loom-differentiate.c expands only
 * single instructions that have no gradient rule. */
#include "engine/program/program-body.h"

static LoomProgram *
expand_body (LoomProgram *body, gpointer unused)
{
  return loom_program_expand (body, NULL);
}

LoomProgram *
loom_program_expand (const LoomProgram *p, GError **error)
{
  LoomRewrite r = { 0 };

  loom_rewrite_begin (&r, p, "expansion", "Expands composite operators into core primitives.");
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);

      for (guint k = 0; k < instr->n_in; k++)
        in[k] = loom_rewrite_value (&r, instr->in[k]);
      if (loom_prim_has_bodies (instr->prim))
        loom_rewrite_bodies (&r, instr, in, expand_body, NULL);
      else if (instr->prim->tier == LOOM_TIER_COMPOSITE && instr->prim->expand != NULL)
        loom_rewrite_expand (&r, instr, in);
      else
        loom_rewrite_copy (&r, instr, in);
    }
  return loom_rewrite_end (&r);
}
