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
  { "dead code", "Instructions that no output and no state needs are erased.", work_remove_dead, 0 },
  { "common subexpressions", "Equal instructions become one.", work_share_common, WORK_IS_FUSION },
  { "transposes", "A product reads an operand whose last two axes are swapped as it lies.", work_fold_transposes,
    WORK_IS_FUSION },
  { "constant folding", "A value that is one number everywhere becomes that number.", work_fold_constants,
    WORK_IS_FUSION },
  { "masks", "Random numbers that are compared with a number become a mask as they are drawn.", work_draw_masks,
    WORK_IS_FUSION },
  { "parts", "A sum of padded parts that lie side by side becomes one concatenation.", work_join_parts,
    WORK_IS_FUSION },
  { "views", "An instruction that moves no byte becomes a view of its operand.", work_find_views, 0, 0,
    WORK_HAS_VIEWS },
  { "classes", "A loss of scores whose classes lie last reads them there, instead of having them moved.",
    work_keep_classes_last, WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "rows of scores", "Scores get rows of a length that a GPU's tensor cores take, longer than there are classes.",
    work_pad_scores, WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "narrow scores", "Losses read scores of 16 bits, and write their gradients so, where their kernels do.",
    work_narrow_scores, WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "heads", "Products whose scores only a loss reads, and their gradients, go through many rows a chunk at a time.",
    work_cut_heads, WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "moves", "What is cut out, permuted or concatenated behind another such move becomes one with it.", work_join_moves,
    WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "attention in place", "Attention reads and writes rows where they lie, without moves around it.",
    work_attend_in_place, WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "state", "State that is asked for, or is a gradient, is copied before the step changes it.", work_copy_state, 0 },
  { "undo log",
    "SGD writes at once, and keeps the old weights where the gradients were until all are known to be finite.",
    work_log_steps, WORK_IS_FUSION },
  { "pooling", "A ReLU in front of a maximum over windows moves behind it.", work_move_relus, WORK_IS_FUSION },
  { "epilogue fusion", "Products and convolutions take up the bias and the activation behind them.",
    work_fuse_epilogues, WORK_IS_FUSION },
  { "normalisation", "Normalisation takes up the ReLU or the residual sum behind it, and its gradient theirs.",
    work_fuse_norms, WORK_IS_FUSION },
  { "narrow operands", "Element-wise work converts 16-bit types as it reads.", work_absorb_casts, WORK_IS_FUSION },
  { "wide results", "Products of 16-bit floats write f32 where only that is wanted.", work_widen_results,
    WORK_IS_FUSION },
  { "narrow sums", "Sums read 16-bit types and layer norms write them, where their kernels do.", work_join_casts,
    WORK_IS_FUSION },
  { "bias gradients", "The product that makes a weight's gradient sums the cotangent for the bias's.",
    work_join_bias_gradients, WORK_IS_FUSION },
  { "element-wise fusion", "Element-wise work becomes one pass over memory.", work_fuse_chains, WORK_IS_FUSION },
  { "slopes", "A product's result is multiplied by an activation's derivative as it is written.", work_join_slopes,
    WORK_IS_FUSION, WORK_HAS_VIEWS },
  { "rematerialisation", "Cheap values are computed a second time for the backward pass instead of being kept.",
    work_rematerialise, WORK_IS_FUSION },
  { "bundles", "Small element-wise work that stands together becomes one kernel with several results.", work_bundle,
    WORK_IS_FUSION },
  { "leading rows", "All rows of a matrix but the last few are a view of it.", work_view_slices, WORK_IS_FUSION,
    WORK_HAS_VIEWS },
  { "placement", "Each instruction gets its device; copies go where a value crosses from one to another.", work_place,
    0, WORK_HAS_VIEWS, WORK_HAS_DEVICES },
  { "layouts", "Algorithms and layouts, chosen for the whole graph by their costs; reorders between them.",
    work_choose_layouts, 0, WORK_HAS_DEVICES, WORK_HAS_LAYOUTS },
  { "kernels", "Each instruction gets the kernel that was chosen for it.", work_make_kernels, 0, WORK_HAS_LAYOUTS,
    WORK_HAS_KERNELS },
  { "schedule", "Instructions that depend on no input and no state run once, before the first step.", work_schedule, 0,
    WORK_HAS_LAYOUTS, WORK_HAS_SCHEDULE },
  { "overlap", "What ranks exchange goes on beside what they compute, and is waited for where it is read.",
    work_overlap_exchanges, WORK_IS_FUSION, WORK_HAS_KERNELS | WORK_HAS_SCHEDULE },
  { "copies", "What one device brings another goes beside what both compute, and is waited for where it is read.",
    work_send_copies, 0, WORK_HAS_KERNELS | WORK_HAS_SCHEDULE },
  { "memory", "Each value gets its place in the arena.", work_assign_memory, 0, WORK_HAS_KERNELS | WORK_HAS_SCHEDULE,
    WORK_HAS_MEMORY },
  { NULL },
};

guint
work_n_instrs (const Work *w)
{
  guint n = 0;

  for (const WorkInstr *instr = work_first (w); instr != NULL; instr = work_next (instr))
    n++;
  return n;
}

gsize
work_bytes (Work *w)
{
  gsize bytes = 0;

  for (const WorkInstr *instr = work_first (w); instr != NULL; instr = work_next (instr))
    for (guint o = 0; o < instr->out->len; o++)
      if (work_out (instr, o) != 0)
        bytes += loom_desc_bytes (&work_value (w, work_out (instr, o))->desc);
  return bytes;
}

gboolean
work_run_passes (Work *w, WorkPassFunc behind, gpointer data, GError **error)
{
  for (const WorkPass *pass = work_passes; pass->name != NULL; pass++)
    {
      gboolean wanted = !(pass->flags & WORK_IS_FUSION) || !w->options.no_fusion;

      if (wanted)
        pass->run (w);
      if (w->error != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&w->error));
          return FALSE;
        }
      /* The schedule and the arena depend on the set of instructions. */
      if (w->schedule->len == 0)
        work_remove_dead (w);
      work_sweep (w);
      if (behind != NULL)
        behind (w, pass, wanted, data);
    }
  return TRUE;
}
