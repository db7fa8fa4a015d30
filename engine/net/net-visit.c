/* Bodies that data choose, switch and recurse: the differences from net-loop.c.
 *
 * The body of a recurse, and that of a switch with one choice per sample, gets a varying number of rows of a batch.
 * Such a body is typed for all rows, and lowered for several numbers of rows: for each, its nodes are typed again, in a
 * net that shares everything else. */
#include "engine/net/net-private.h"

#include <glib/gi18n.h>

/* ---- ports -------------------------------------------------------------------- */

/* Finds the positions in `scope` of the first body's inputs or outputs. */
static gboolean
match_ports (LoomNet *net, const NetLocal *local, const NetScope *scope, gboolean is_input, guint *position)
{
  const NetScope *first = local->bodies[0].scope;
  guint n = is_input ? first->n_inputs : first->n_outputs, m = is_input ? scope->n_inputs : scope->n_outputs;
  const NetScope *lacks = scope, *has = first;
  const char *missing = NULL;

  for (guint i = 0; i < n && missing == NULL; i++)
    {
      int at = net_find_port (scope, is_input, net_port (first, is_input, i)->id);

      if (at < 0)
        missing = net_port (first, is_input, i)->id;
      else
        position[i] = (guint)at;
    }
  for (guint i = 0; i < m && missing == NULL; i++)
    if (net_find_port (first, is_input, net_port (scope, is_input, i)->id) < 0)
      {
        missing = net_port (scope, is_input, i)->id;
        lacks = first;
        has = scope;
      }
  if (missing == NULL)
    return TRUE;
  loom_net_fault (net, local->element, local->path, LOOM_ERROR_PORT, loom_op_loop (local->op)->attribute,
                  is_input
                      ? N_ ("“%s” has an input “%s”, but “%s” does not: all bodies of a switch need the same ports.")
                      : N_ ("“%s” has an output “%s”, but “%s” does not: all bodies of a switch need the same ports."),
                  has->name, missing, lacks->name);
  return FALSE;
}

gboolean
loom_net_match_bodies (LoomNet *net, NetLocal *local)
{
  const NetScope *first = local->bodies[0].scope;
  const LoomLoop *loop = loom_op_loop (local->op);

  if (!loop->port_is_optional && net_find_port (first, TRUE, loop->port) >= 0)
    {
      loom_net_fault (net, local->element, local->path, LOOM_ERROR_PORT, loop->attribute,
                      "“%s” has an input “%s”, but this is the name of an input of “%s” itself. Rename it.",
                      first->name, loop->port, local->op->name);
      return FALSE;
    }
  for (guint b = 0; b < local->n_bodies; b++)
    {
      NetBody *body = &local->bodies[b];

      body->input = loom_net_alloc (&net->arena, sizeof (guint) * (first->n_inputs + 1));
      body->output = loom_net_alloc (&net->arena, sizeof (guint) * (first->n_outputs + 1));
      if (!match_ports (net, local, body->scope, TRUE, body->input)
          || !match_ports (net, local, body->scope, FALSE, body->output))
        return FALSE;
    }
  return TRUE;
}

/* ---- switch -------------------------------------------------------------------- */

static gboolean
is_row (const LoomType *type, LoomDim rows)
{
  return type->shape.rank > 0 && loom_dim_compatible (type->shape.dim[0], rows);
}

/* FALSE after a fault. If each sample chooses, all tensors must have a row for each sample. */
static gboolean
check_rows (LoomNet *net, NetNode *n, const char *port, const LoomType *type, LoomDim rows)
{
  g_autofree char *text = NULL;

  if (is_row (type, rows))
    return TRUE;
  text = loom_net_type_to_string (type);
  net_complain (
      net, n, LOOM_ERROR_SHAPE, port,
      "“%s” is %s, but index chooses a body for each sample, so inputs and outputs of the bodies need the samples as "
      "their first dimension.",
      port, text);
  return FALSE;
}

/* FALSE after a fault. */
static gboolean
check_index (LoomNet *net, NetNode *n, const LoomType *index)
{
  const NetScope *module = n->runs->body->scope;
  g_autofree char *given = NULL;

  n->runs->by_row = index->shape.rank == 1;
  if (index->dtype != LOOM_I64 || index->shape.rank > 1)
    {
      given = loom_net_type_to_string (index);
      net_complain (net, n, LOOM_ERROR_SHAPE, n->runs->spec->port,
                    "index must be one integer (i64), or one for each sample, but is %s.", given);
      return FALSE;
    }
  for (guint i = 0; n->runs->by_row && i < module->n_inputs; i++)
    if (!check_rows (net, n, net_port (module, TRUE, i)->id, n->infer.input[i], index->shape.dim[0]))
      return FALSE;
  return TRUE;
}

void
loom_net_infer_switch (LoomNet *net, NetNode *n)
{
  const NetLoop *loop = n->runs;
  const NetScope *module = loop->body->scope;
  const LoomType *index = n->infer.input[module->n_inputs];

  if (!check_index (net, n, index))
    return;
  for (guint o = 0; o < module->n_outputs; o++)
    {
      const LoomType *first = n->infer.input[loom_net_body_output (module, 0, o)];
      const char *name = net_port (module, FALSE, o)->id;

      for (guint b = 1; b < loop->n_bodies; b++)
        {
          const LoomType *other = n->infer.input[loom_net_body_output (module, b, o)];
          g_autofree char *one = NULL, *two = NULL;

          if (other->dtype == first->dtype && loom_shape_compatible (&other->shape, &first->shape))
            continue;
          one = loom_net_type_to_string (first);
          two = loom_net_type_to_string (other);
          net_complain (net, n, LOOM_ERROR_SHAPE, name,
                        "“%s” is %s in “%s”, but %s in “%s”: all bodies of a switch need the same output types.", name,
                        one, module->name, two, loop->bodies[b]->scope->name);
          return;
        }
      if (loop->by_row && !check_rows (net, n, name, first, index->shape.dim[0]))
        return;
      loom_infer_output (&n->infer, o, first->dtype, &first->shape);
    }
}

/* ---- trees ----------------------------------------------------------------------- */

/* If the tree has arity n, an output that is carried to h is what the inputs h0 … hn-1 of the parent receive; otherwise
 * the input h receives it. */
void
loom_net_prepare_tree (LoomNet *net, NetNode *n)
{
  NetLoop *loop = n->runs;
  const NetScope *module = loop->body->scope;
  gboolean any = FALSE;

  loop->slots = (guint)loom_infer_int (&n->infer, "arity");
  for (guint o = 0; o < module->n_outputs; o++)
    {
      const char *carry = loom_element_get (net_port (module, FALSE, o)->element, LOOM_CARRY);
      guint found = 0, all = 0;

      for (guint i = 0; i < module->n_inputs; i++)
        all += module->carrier[i] == (int)o;
      for (guint k = 0; k < MAX (loop->slots, 1); k++)
        {
          g_autofree char *name = loop->slots > 0 ? g_strdup_printf ("%s%u", carry, k) : g_strdup (carry);
          int input = carry != NULL ? net_find_port (module, TRUE, name) : -1;

          found += input >= 0 && module->carrier[input] == (int)o;
        }
      any |= all > 0;
      if (all == 0 || (found == MAX (loop->slots, 1) && all == found))
        continue;
      if (loop->slots == 0)
        loom_infer_fault (&n->infer, LOOM_ERROR_PORT, "arity",
                          "“%s” has inputs for the single children of “%s”, so “%s” needs arity=\"%u\".", module->name,
                          carry, n->infer.op->name, all);
      else
        loom_infer_fault (&n->infer, LOOM_ERROR_PORT, "arity",
                          "With arity=\"%u\" “%s” needs inputs “%s0” … “%s%u” for the children's “%s”, and no others.",
                          loop->slots, module->name, carry, carry, loop->slots - 1, carry);
      return;
    }
  if (!any)
    loom_infer_fault (&n->infer, LOOM_ERROR_PORT, LOOM_BODY,
                      "“%s” carries no value from children to parents. Set carry on a module_output.", module->name);
}

/* Values from children have a row for each tree node; other inputs are [B, N, …], and the body gets [B·N, …]. */
void
loom_net_infer_tree_border (LoomNet *net, NetNode *n)
{
  const NetLoop *loop = n->loop;
  const NetScope *module = loop->body->scope;
  const NetNode *runner = net->nodes->pdata[loop->node];
  const LoomType *type = n->infer.input[0];
  gboolean from_children = loom_net_is_from_children (loop->local, (guint)n->border);
  LoomShape shape = from_children ? loom_infer_shape (&n->infer, "shape") : type->shape;
  const char *name = net_port (module, TRUE, (guint)n->border)->id;

  if (type->shape.rank < 2 || (from_children && shape.rank < 1))
    {
      g_autofree char *text = loom_net_type_to_string (type);

      if (type->shape.rank < 2)
        net_complain (net, runner, LOOM_ERROR_SHAPE, from_children ? loop->spec->port : name,
                      "“%s” is %s; it needs a row for each node of each tree.", from_children ? loop->spec->port : name,
                      text);
      else
        net_complain (net, n, LOOM_ERROR_SHAPE, "shape", "“%s” has no dimension for the nodes, the first one.", name);
      return;
    }
  if (!from_children)
    {
      shape.rank = type->shape.rank - 1;
      for (int d = 1; d < shape.rank; d++)
        shape.dim[d] = type->shape.dim[d + 1];
    }
  shape.dim[0] = loom_dim_mul (type->shape.dim[0], type->shape.dim[1]);
  loom_infer_output (&n->infer, 0, from_children ? loom_infer_dtype (&n->infer, "dtype") : type->dtype, &shape);
}

/* FALSE after a fault. Each input must have a row for each tree node. */
static gboolean
check_nodes (LoomNet *net, NetNode *n, const LoomType *parent)
{
  const NetScope *module = n->runs->body->scope;
  g_autofree char *given = loom_net_type_to_string (parent);

  if (parent->dtype != LOOM_I64 || parent->shape.rank != 2)
    {
      net_complain (net, n, LOOM_ERROR_SHAPE, n->runs->spec->port,
                    "parent must be an integer (i64) for each node of each tree, but is %s.", given);
      return FALSE;
    }
  for (guint i = 0; i < module->n_inputs; i++)
    {
      const LoomType *type = n->infer.input[i];
      g_autofree char *text = NULL;

      if (loom_net_is_from_children (n->runs->local, i)
          || (loom_dim_compatible (type->shape.dim[0], parent->shape.dim[0])
              && loom_dim_compatible (type->shape.dim[1], parent->shape.dim[1])))
        continue;
      text = loom_net_type_to_string (type);
      net_complain (net, n, LOOM_ERROR_SHAPE, net_port (module, TRUE, i)->id,
                    "“%s” is %s, but parent is %s: the first two dimensions of both must be the trees and their nodes.",
                    net_port (module, TRUE, i)->id, text, given);
      return FALSE;
    }
  return TRUE;
}

void
loom_net_infer_tree (LoomNet *net, NetNode *n)
{
  const NetScope *module = n->runs->body->scope;
  const LoomType *parent = n->infer.input[module->n_inputs];
  LoomDim rows = loom_dim_mul (parent->shape.dim[0], parent->shape.dim[1]);

  if (!check_nodes (net, n, parent))
    return;
  for (guint o = 0; o < module->n_outputs; o++)
    {
      const LoomType *type = n->infer.input[loom_net_body_output (module, 0, o)];
      LoomShape shape = type->shape;

      if (type->shape.rank < 1 || type->shape.rank == LOOM_SHAPE_MAX_RANK
          || !loom_dim_compatible (type->shape.dim[0], rows))
        {
          g_autofree char *text = loom_net_type_to_string (type);

          net_complain (net, n, LOOM_ERROR_SHAPE, net_port (module, FALSE, o)->id,
                        "“%s” is %s in the body, and has no row for each node.", net_port (module, FALSE, o)->id, text);
          return;
        }
      for (guint i = 0; i < module->n_inputs; i++)
        if (module->carrier[i] == (int)o && !loom_net_check_carried (net, n, o, i, type))
          return;
      shape.rank++;
      shape.dim[0] = parent->shape.dim[0];
      shape.dim[1] = parent->shape.dim[1];
      for (int d = 2; d < shape.rank; d++)
        shape.dim[d] = type->shape.dim[d - 1];
      loom_infer_output (&n->infer, o, type->dtype, &shape);
    }
}

/* ---- for another number of rows ------------------------------------------------------ */

static gboolean
is_in_loop (const NetNode *n, const NetLoop *loop)
{
  for (const NetLoop *l = n->loop; l != NULL; l = l->outer)
    if (l == loop)
      return TRUE;
  return FALSE;
}

/* Copies the loops inside the body, whose iterations are computed again. */
static void
copy_loops (LoomNet *to, const LoomNet *net, const NetLoop *loop)
{
  for (guint k = 0; k < net->loops->len; k++)
    {
      NetLoop *from = net->loops->pdata[k], *copy;

      if (!is_in_loop (net->nodes->pdata[from->node], loop))
        continue;
      copy = loom_net_alloc (&to->arena, sizeof *copy);
      *copy = *from;
      copy->steps = loom_dim_unknown ();
      for (guint i = 0; i < to->nodes->len; i++)
        {
          NetNode *n = to->nodes->pdata[i];

          if (n->net != to)
            continue;
          n->loop = n->loop == from ? copy : n->loop;
          n->runs = n->runs == from ? copy : n->runs;
        }
    }
}

/* Sets the type of a border node: its type, with another number of rows. */
static void
set_border (NetNode *n, const NetNode *from, gint64 rows)
{
  n->infer.output[0] = from->infer.output[0];
  n->infer.output[0].shape.dim[0] = loom_dim (rows);
  n->infer.output_is_set[0] = TRUE;
  n->node.typed = TRUE;
}

LoomNet *
loom_net_retype (const LoomNet *net, const NetLoop *loop, gint64 all, gint64 rows, GError **error)
{
  LoomNet *to = g_new0 (LoomNet, 1);
  LoomBinding ones;

  *to = *net;
  to->arena = (NetArena){ .blocks = g_ptr_array_new_with_free_func (g_free) };
  to->faults = loom_faults_new ();
  to->repeated_faults = loom_faults_new ();
  to->reported = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  to->noisy = NULL;
  to->nodes = g_ptr_array_copy (net->nodes, NULL, NULL);
  to->has_binding = TRUE;
  /* The rows of a switch are samples, so shapes in its body that use the symbol B change with them. */
  if (loop->spec->kind == LOOM_LOOP_SWITCH && net->binding.value['B' - 'A'] == all)
    to->binding.value['B' - 'A'] = rows;
  ones = loom_net_ones (to);
  for (guint i = 0; i < to->nodes->len; i++)
    if (is_in_loop (net->nodes->pdata[i], loop))
      to->nodes->pdata[i] = loom_net_copy_node (to, net->nodes->pdata[i]);
  copy_loops (to, net, loop);
  for (guint i = 0; i < to->nodes->len; i++)
    {
      NetNode *n = to->nodes->pdata[i];

      if (n->net != to)
        continue;
      if (n->border >= 0 && n->loop == loop)
        set_border (n, net->nodes->pdata[i], rows);
      else
        loom_net_infer_node (to, n, &ones);
    }
  if (loom_faults_count (to->faults) == 0)
    return to;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "%s: %s “%s” runs it with %" G_GINT64_FORMAT " rows of a batch.",
               loom_faults_get (to->faults, 0)->node, loom_faults_get (to->faults, 0)->message,
               ((const NetNode *)net->nodes->pdata[loop->node])->node.path, rows);
  loom_net_retype_free (to);
  return NULL;
}

void
loom_net_retype_free (LoomNet *net)
{
  g_ptr_array_unref (net->nodes);
  g_hash_table_unref (net->reported);
  loom_faults_free (net->repeated_faults);
  loom_faults_free (net->faults);
  g_ptr_array_unref (net->arena.blocks);
  g_free (net);
}
