/* The table of the planner's passes, in the order in which they run, and the loop that runs them. A new pass is a file
 * with its function (declared in plan-private.h) or its patterns (plan-pattern.h), and a row here.
 *
 * Until the schedule exists, the loop removes dead instructions after each pass that has changed something, so no pass
 * has to clean up. */
#include "engine/plan/plan-pattern.h"

/* Reasons for the order: common subexpressions and constant folding precede fusion, since only a value with one reader
 * can be fused. Views come after constant folding, which follows them to their operands. Epilogue fusion precedes
 * element-wise fusion, because a bias costs nothing in a product, and an element-wise kernel would take it away.
 * Rematerialisation repeats kernels as fusion has left them; it handles one result, so bundles come after it. */
const PlanPass graph_passes[] = {
  { "dead code", "Removes instructions that no output and no state needs.", pass_remove_dead, 0 },
  { "common subexpressions", "Merges equal instructions.", pass_merge_common, PASS_IS_FUSION },
  { "transposes", "Products read transposed operands directly, without a permute.", .flags = PASS_IS_FUSION,
    .patterns = patterns_of_transposes },
  { "weights of loops", "Transposes weights once if a loop's products read them transposed.", pass_transpose_fixed,
    PASS_IS_FUSION },
  { "bounds", "Computes a clamped value by max or min alone.", pass_simplify_bounds, PASS_IS_FUSION },
  { "constant folding", "Replaces tensors with equal constant elements by a scalar constant.", pass_fold_constants,
    PASS_IS_FUSION },
  { "masks", "Generates a mask directly instead of comparing random numbers with a constant.", .flags = PASS_IS_FUSION,
    .patterns = patterns_of_masks },
  { "concatenations", "Replaces a sum of adjacent padded parts by one concatenation.", pass_fuse_padded_parts,
    PASS_IS_FUSION },
  { "views", "Replaces instructions that only change shape or strides by views of their operands.", pass_find_views, 0,
    0, GRAPH_HAS_VIEWS },
  { "activations", "Computes SiLU and hard swish as one operation if nothing reads a part of them.",
    .flags = PASS_IS_FUSION, .needs = GRAPH_HAS_VIEWS, .patterns = patterns_of_activations },
  { "class axis", "Lets losses read logits whose class axis is last, without a permute.", pass_keep_classes_last,
    PASS_IS_FUSION, GRAPH_HAS_VIEWS },
  { "padded logits", "Pads the rows of logits to a length that a GPU's tensor cores support.", pass_pad_logits,
    PASS_IS_FUSION, GRAPH_HAS_VIEWS },
  { "16-bit logits", "Lets losses read 16-bit logits and write 16-bit gradients, if their kernels support it.",
    pass_read_16bit_logits, PASS_IS_FUSION, GRAPH_HAS_VIEWS },
  { "heads", "Computes a product, its loss and their gradients in chunks of rows, if only the loss reads the logits.",
    pass_chunk_heads, PASS_IS_FUSION, GRAPH_HAS_VIEWS },
  { "copy fusion", "Fuses successive slices, permutes and concatenations into one copy.", pass_fuse_copies,
    PASS_IS_FUSION, GRAPH_HAS_VIEWS },
  { "attention in place", "Lets attention read and write strided rows, without copies before and after it.",
    .flags = PASS_IS_FUSION, .needs = GRAPH_HAS_VIEWS, .patterns = patterns_of_attention },
  { "state", "Copies state that is an output or a gradient before the step changes it.", pass_copy_state, 0 },
  { "undo log",
    "Lets SGD write weights as it reads gradients, and saves the old weights in the gradients' memory until all "
    "gradients are known to be finite.",
    pass_sgd_undo_log, PASS_IS_FUSION },
  { "pooling", "Moves a ReLU before a max pooling to after it.", pass_sink_relus, PASS_IS_FUSION },
  { "pooled convolutions",
    "Fuses a max pooling and its gradient into the convolution before it, whose result then needs no memory.",
    .flags = PASS_IS_FUSION, .patterns = patterns_of_pooled_convolutions },
  { "epilogue fusion", "Fuses bias and activation into the product or convolution before them.",
    .flags = PASS_IS_FUSION, .patterns = patterns_of_epilogues },
  { "normalisation", "Fuses a ReLU or a residual sum into the normalisation before it, and likewise their gradients.",
    .flags = PASS_IS_FUSION, .patterns = patterns_of_norms },
  { "16-bit operands", "Fuses conversions of 16-bit operands into the element-wise kernels that read them.",
    .flags = PASS_IS_FUSION, .patterns = patterns_of_operand_casts },
  { "f32 results", "Lets products of 16-bit floats write f32 if only the f32 result is read.", .flags = PASS_IS_FUSION,
    .patterns = patterns_of_f32_results },
  { "16-bit sums",
    "Fuses conversions into sums that read 16-bit types and layer norms that write them, if their kernels support it.",
    .flags = PASS_IS_FUSION, .patterns = patterns_of_sum_casts },
  { "bias gradients", "Fuses the sum of a bias's gradient into the product that computes the weight's gradient.",
    .flags = PASS_IS_FUSION, .patterns = patterns_of_bias_gradients },
  { "element-wise fusion", "Fuses element-wise chains into one pass over memory.", .flags = PASS_IS_FUSION,
    .patterns = patterns_of_elementwise },
  { "derivative epilogues", "Fuses an activation's derivative into the product that computes the cotangent.",
    .flags = PASS_IS_FUSION, .needs = GRAPH_HAS_VIEWS, .patterns = patterns_of_derivatives },
  { "rematerialisation", "Recomputes cheap values for the backward pass instead of keeping them.", pass_rematerialise,
    PASS_IS_FUSION },
  { "bundles", "Joins small neighbouring element-wise instructions into one kernel with several results.", pass_bundle,
    PASS_IS_FUSION },
  { "leading rows", "Replaces slices that drop the last rows of a matrix by views.", pass_view_slices, PASS_IS_FUSION,
    GRAPH_HAS_VIEWS },
  { "placement", "Assigns a device to each instruction and inserts copies between devices.", pass_place_on_devices, 0,
    GRAPH_HAS_VIEWS, GRAPH_HAS_DEVICES },
  { "layouts", "Chooses algorithms and layouts for the whole graph by cost and inserts reorders.", pass_choose_layouts,
    0, GRAPH_HAS_DEVICES, GRAPH_HAS_LAYOUTS },
  { "kernels", "Creates the chosen kernel of each instruction.", pass_make_kernels, 0, GRAPH_HAS_LAYOUTS,
    GRAPH_HAS_KERNELS },
  { "schedule",
    "Schedules instructions; those that depend on neither inputs nor state run once, before the first step.",
    pass_schedule, 0, GRAPH_HAS_LAYOUTS, GRAPH_HAS_SCHEDULE },
  { "overlap", "Overlaps exchanges of ranks with the computation until their results are read.", pass_overlap_exchanges,
    PASS_IS_FUSION, GRAPH_HAS_KERNELS | GRAPH_HAS_SCHEDULE },
  { "device copies", "Overlaps copies between devices with the computation until they are read.", pass_overlap_copies,
    0, GRAPH_HAS_KERNELS | GRAPH_HAS_SCHEDULE },
  { "memory", "Assigns each value its memory.", pass_assign_memory, 0, GRAPH_HAS_KERNELS | GRAPH_HAS_SCHEDULE,
    GRAPH_HAS_MEMORY },
  { NULL },
};

guint
graph_n_nodes (const PlanGraph *g)
{
  guint n = 0;

  for (const PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    n++;
  return n;
}

gsize
graph_bytes (PlanGraph *g)
{
  gsize bytes = 0;

  for (const PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    for (guint o = 0; o < instr->out->len; o++)
      if (node_out (instr, o) != 0)
        bytes += loom_desc_bytes (&graph_value (g, node_out (instr, o))->desc);
  return bytes;
}

gboolean
graph_run_passes (PlanGraph *g, PlanPassFunc on_pass, gpointer data, GError **error)
{
  gboolean fuses = !g->options.no_fusion;

  for (const PlanPass *pass = graph_passes; pass->name != NULL; pass++)
    {
      gboolean wanted = !(pass->flags & PASS_IS_FUSION) || fuses;
      guint64 n_edits = g->n_edits;

      fuses = fuses && g_strcmp0 (pass->name, g->options.last_fusion) != 0;
      if (wanted && pass->patterns != NULL)
        graph_apply_patterns (g, pass->patterns);
      else if (wanted)
        pass->run (g);
      if (g->error != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&g->error));
          return FALSE;
        }
      /* The schedule and the arena depend on the set of instructions. */
      if (g->n_edits != n_edits && g->schedule->len == 0)
        pass_remove_dead (g);
      if (g->n_edits != n_edits)
        graph_sweep (g);
      if (on_pass != NULL)
        on_pass (g, pass, wanted, data);
    }
  return TRUE;
}
