/* Implements lower-region.h. */
#include "engine/net/lower-region.h"

/* maximum number of iterations of all loops in one training step */
#define STEPS_OF_LOOPS (G_GINT64_CONSTANT (1) << 20)

NetRegion
net_region (NetLowering *l, guint node)
{
  const NetLoop *loop = ((const NetNode *)l->net->nodes->pdata[node])->runs;

  return (NetRegion){ .l = l,
                      .node = node,
                      .runner = loom_net_node (l->net, node),
                      .loop = loop,
                      .module = loop->body->scope,
                      .outer = l->program };
}

LoomValue
net_region_input (const NetRegion *r, guint input)
{
  const LoomNetSource *source = &r->runner->input[input];

  return source->node != G_MAXUINT ? r->l->value[source->node][source->output] : 0;
}

LoomValue
net_region_read (LoomProgram *p, const LoomSlot *slot, int *index)
{
  *index
      = loom_program_slot (p, slot->name, slot->kind, slot->dtype, slot->rank, slot->dim, &slot->init, slot->trainable);
  return loom_program_read (p, *index);
}

gboolean
net_region_is_step (const NetRegion *r, const char *slot)
{
  return g_str_equal (slot, r->l->options->rng_step != NULL ? r->l->options->rng_step : "step");
}

LoomValue
net_region_scale_step (const NetRegion *r, LoomValue step)
{
  return loom_binary (r->outer, LOOM_SCALAR_MUL, step, loom_const (r->outer, LOOM_I64, (double)STEPS_OF_LOOPS));
}

LoomProgram *
net_region_new_body (const NetRegion *r)
{
  LoomProgram *body = loom_program_new_like (r->outer);

  loom_program_set_region (body, loom_program_get_region (r->outer));
  return body;
}

gboolean
net_region_lower_body (const NetRegion *r, guint body, LoomProgram *to, NetLoweredFunc lowered, gpointer data)
{
  NetLowering *l = r->l;
  gboolean ok = TRUE;

  l->program = to;
  for (guint k = 0; ok && k < r->loop->n_members; k++)
    {
      const guint m = r->loop->members[k];
      const NetNode *member = l->net->nodes->pdata[m];

      if (!l->needed[m] || member->body != body)
        continue;
      ok = member->border >= 0 || loom_net_lower_node (l, m);
      if (ok && lowered != NULL)
        lowered (data, m);
    }
  for (guint o = 0; ok && o < r->module->n_outputs; o++)
    {
      const LoomNetSource *source = &r->runner->input[loom_net_body_output (r->module, body, o)];

      ok = !loom_net_is_weight (l->net, source) || loom_net_read_weight (l, source);
    }
  l->program = r->outer;
  return ok;
}

void
net_region_set_origin (const NetRegion *r, LoomProgram *p)
{
  loom_program_set_origin (p, r->runner->path, r->runner->device);
}

LoomValue
net_region_copy (LoomProgram *p, LoomValue v)
{
  const LoomTensorDesc *d = value_desc (p, v);
  LoomDims to = { .rank = d->rank };

  for (int i = 0; i < d->rank; i++)
    to.dim[i] = d->dim[i];
  return loom_emit (p, loom_prim ("reshape"), &to, 1, &v, NULL);
}
