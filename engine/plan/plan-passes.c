/* The table of the planner's passes, in the order in which they run, and the loop that runs them. A new pass is a file
 * with its function, declared in plan-private.h, and a row here.
 *
 * After each pass the driver erases dead instructions, so no pass has to clean up. */
#include "engine/plan/plan-private.h"

/* Reasons for the order: common subexpressions and constant folding precede fusion, since only a value with one reader
 * can be fused. Views come after constant folding, which follows them to their operands. Epilogue fusion precedes
 * element-wise fusion, because a bias costs nothing in a product, and an element-wise kernel would take it away.
 * Rematerialisation repeats kernels as fusion has left them; it handles one result, so bundles come after it. */
const WorkPass work_passes[] = {
  { "dead code", "Removes instructions that no output and no state needs.", work_remove_dead, 0 },
  { "common subexpressions", "Merges equal instructions.", work_share_common, WORK_IS_FUSION },
  { "transposes", "Products read transposed operands directly, without a permute.", work_fold_transposes,
    WORK_IS_FUSION },
  { "constant folding", "Replaces values whose elements are all one number by that number.", work_fold_constants,
    WORK_IS_FUSION },
  { "masks", "Draws a mask directly where random numbers are compared with a number.", work_draw_masks,
    WORK_IS_FUSION },
  { "concatenations", "Replaces a sum of adjacent padded parts by one concatenation.", work_join_parts,
    WORK_IS_FUSION },
  { "views", "Instructions that move no byte become views of their operands.", work_find_views, 0, 0, WORK_HAS_VIEWS },
  { "class axis", "Losses read logits whose classes are on the last axis, without a permute.", work_keep_classes_last,
    WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "padded logits", "Pads the rows of logits to a length that a GPU's tensor cores support.", work_pad_scores,
    WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "16-bit logits", "Losses read 16-bit logits and write 16-bit gradients, if their kernels can.", work_narrow_scores,
    WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "heads", "Computes a product, its loss and their gradients in chunks of rows, if only the loss reads the logits.",
    work_cut_heads, WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "copy fusion", "Fuses successive slices, permutes and concatenations into one copy.", work_join_moves,
    WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "attention in place", "Attention reads and writes rows at strides, without copies before and after it.",
    work_attend_in_place, WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "state", "Copies state that is an output or a gradient before the step changes it.", work_copy_state, 0 },
  { "undo log",
    "SGD writes weights at once, and keeps the old ones in the gradients' memory until all gradients are known to be "
    "finite.",
    work_log_steps, WORK_IS_FUSION },
  { "pooling", "Moves a ReLU before a max pooling to after it.", work_move_relus, WORK_IS_FUSION },
  { "epilogue fusion", "Fuses bias and activation into the product or convolution before them.", work_fuse_epilogues,
    WORK_IS_FUSION },
  { "normalisation", "Fuses a ReLU or a residual sum into the normalisation before it, and likewise their gradients.",
    work_fuse_norms, WORK_IS_FUSION },
  { "16-bit operands", "Element-wise kernels convert 16-bit operands as they read them.", work_absorb_casts,
    WORK_IS_FUSION },
  { "f32 results", "Products of 16-bit floats write f32 if only that is needed.", work_widen_results, WORK_IS_FUSION },
  { "16-bit sums", "Sums read 16-bit types and layer norms write them, if their kernels can.", work_join_casts,
    WORK_IS_FUSION },
  { "bias gradients", "The product that computes a weight's gradient also sums the bias's.", work_join_bias_gradients,
    WORK_IS_FUSION },
  { "element-wise fusion", "Fuses element-wise chains into one pass over memory.", work_fuse_chains, WORK_IS_FUSION },
  { "derivative epilogues", "Fuses an activation's derivative into the product that computes the cotangent.",
    work_join_slopes, WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "rematerialisation", "Recomputes cheap values for the backward pass instead of keeping them.", work_rematerialise,
    WORK_IS_FUSION },
  { "bundles", "Joins small neighbouring element-wise instructions into one kernel with several results.", work_bundle,
    WORK_IS_FUSION },
  { "leading rows", "A slice of all rows of a matrix but the last few becomes a view.", work_view_slices,
    WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "placement", "Assigns a device to each instruction and inserts copies between devices.", work_place, 0,
    WORK_HAS_VIEWS, WORK_HAS_DEVICES },
  { "layouts", "Chooses algorithms and layouts for the whole graph by cost and inserts reorders.", work_choose_layouts,
    0, WORK_HAS_DEVICES, WORK_HAS_LAYOUTS },
  { "kernels", "Makes the chosen kernel of each instruction.", work_make_kernels, 0, WORK_HAS_LAYOUTS,
    WORK_HAS_KERNELS },
  { "schedule", "Schedules instructions; those that depend on no input and no state run once, before the first step.",
    work_schedule, 0, WORK_HAS_LAYOUTS, WORK_HAS_SCHEDULE },
  { "overlap", "Overlaps exchanges of ranks with the computation until their results are read.", work_overlap_exchanges,
    WORK_IS_FUSION, WORK_HAS_KERNELS | WORK_HAS_SCHEDULE },
  { "device copies", "Overlaps copies between devices with the computation until they are read.", work_send_copies, 0,
    WORK_HAS_KERNELS | WORK_HAS_SCHEDULE },
  { "memory", "Assigns each value its memory.", work_assign_memory, 0, WORK_HAS_KERNELS | WORK_HAS_SCHEDULE,
    WORK_HAS_MEMORY },
  { NULL },
};

guint
work_n_instrs (const Work *g)
{
  guint n = 0;

  for (const WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    n++;
  return n;
}

gsize
work_bytes (Work *g)
{
  gsize bytes = 0;

  for (const WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    for (guint o = 0; o < instr->out->len; o++)
      if (work_out (instr, o) != 0)
        bytes += loom_desc_bytes (&work_value (g, work_out (instr, o))->desc);
  return bytes;
}

gboolean
work_run_passes (Work *g, WorkPassFunc behind, gpointer data, GError **error)
{
  for (const WorkPass *pass = work_passes; pass->name != NULL; pass++)
    {
      gboolean wanted = !(pass->flags & WORK_IS_FUSION) || !g->options.no_fusion;

      if (wanted)
        pass->run (g);
      if (g->error != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&g->error));
          return FALSE;
        }
      /* The schedule and the arena depend on the set of instructions. */
      if (g->schedule->len == 0)
        work_remove_dead (g);
      work_sweep (g);
      if (behind != NULL)
        behind (g, pass, wanted, data);
    }
  return TRUE;
}
