/* Fuses element-wise chains: an element-wise instruction with a single element-wise reader is computed in that reader's
 * pass over memory. */
#include "engine/plan/plan-pattern.h"

/* Joins the operands of both instructions, each once, without the value that one makes for the other. */
static void
join_operands (PlanRewrite *r, guint joint)
{
  const PlanNode *part[] = { r->other, r->root };

  g_array_set_size (r->in, 0);
  for (guint p = 0; p < G_N_ELEMENTS (part); p++)
    for (guint i = 0; i < part[p]->in->len; i++)
      {
        guint x = node_in (part[p], i);
        gboolean has = x == joint;

        for (guint k = 0; k < r->in->len && !has; k++)
          has = rewrite_in (r, k) == x;
        if (!has)
          rewrite_add_in (r, x);
      }
}

/* Puts the steps of an instruction whose only result is read only by the root in front of the root's steps. In a sum
 * over micro-batches, or over the chunks of a head, it would be computed only after the last of them. */
static gboolean
merge (PlanRewrite *r)
{
  const PlanNode *from = r->other, *into = r->root;
  const guint joint = rewrite_in (r, r->at);

  if ((from->pass != 0 && from->pass != into->pass) || (from->chunk != 0 && from->chunk != into->chunk)
      || from->out->len != 1 || from->compute != into->compute || graph_only_reader (r->g, joint, FALSE) != into
      || !plan_same_dims (&graph_value (r->g, joint)->desc, &graph_value (r->g, node_out (into, 0))->desc)
      || from->steps->len + into->steps->len > LOOM_EW_MAX_STEPS)
    return FALSE;
  join_operands (r, joint);
  g_array_prepend_vals (r->steps, from->steps->data, from->steps->len);
  g_string_assign (r->label, from->label->str);
  plan_join_labels (r->label, into->label->str);
  return r->in->len <= LOOM_EW_MAX_IN;
}

const PlanPattern patterns_of_elementwise[] = {
  { .find = pattern_producer, .last = PATTERN_EACH, .flags = PATTERN_MOVES_OTHER, .rewrite = merge },
  { .rewrite = NULL },
};
