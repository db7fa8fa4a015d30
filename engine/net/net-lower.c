/* Lowers a net to a program: the needed nodes, in order, each by its operator's lower().
 *
 * Each node gets a LoomLower with the values of its inputs; slots, ties and given ports are resolved here. A node whose
 * value comes from outside is not lowered, nor are nodes that only it needs. */
#include "engine/net/lower-private.h"

#include <string.h>

typedef NetLowering Lowering;

/* The slot of a declared weight that is not tied, or -1. */
static int
slot_of (Lowering *l, const LoomDeclared *declared)
{
  const LoomNetWeight *weight;
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  if (declared->weight == G_MAXUINT)
    return -1;
  weight = loom_net_weight (l->net, declared->weight);
  loom_shape_get (&weight->shape, dims);
  return loom_program_slot (l->program, weight->name, weight->is_buffer ? LOOM_SLOT_BUFFER : LOOM_SLOT_PARAMETER,
                            program_dtype (l, weight->dtype), weight->shape.rank, dims, &weight->init,
                            !weight->is_buffer && !weight->frozen);
}

gboolean
loom_net_is_recomputed (const Lowering *l, const char *path)
{
  GHashTable *marked = l->net->recomputed;

  if (l->options->keep_all || g_hash_table_size (marked) == 0)
    return FALSE;
  for (const char *end = path; *end != '\0';)
    {
      g_autofree char *head = NULL;

      end += strcspn (end, ".");
      head = g_strndup (path, (gsize)(end - path));
      if (g_hash_table_contains (marked, head))
        return TRUE;
      if (*end == '.')
        end++;
    }
  return FALSE;
}

static void
set_origin (Lowering *l, const LoomNetNode *n)
{
  loom_program_set_origin (l->program, n->path, n->device);
  loom_program_set_recomputed (l->program, n->loop != G_MAXUINT && loom_net_is_recomputed (l, n->path));
}

gboolean
loom_net_read_weight (Lowering *l, const LoomNetSource *source)
{
  const LoomNetNode *n = loom_net_node (l->net, source->node);
  LoomValue *value = &l->value[source->node][source->output];
  const LoomDeclared *declared = loom_infer_find_declared (loom_net_infer (l->net, source->node),
                                                           loom_op_weight_name (n->op, source->output - n->n_outputs));

  if (declared == NULL || declared->weight == G_MAXUINT)
    {
      g_set_error (&l->error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "The weights of %s are not known because of a fault in the graph; “gradloom check” names it.",
                   n->path);
      return FALSE;
    }
  /* Each program reads a slot itself; a value that another program (a loop's body) has read cannot be used here. */
  set_origin (l, n);
  *value = loom_program_read (l->program, slot_of (l, declared));
  return TRUE;
}

static gpointer
source_key (guint node, guint output)
{
  return GSIZE_TO_POINTER (((gsize)node << 8 | (output & 255)) + 1);
}

/* A source with respect to which gradients are taken must be a separate value, as a wanted port must. */
static void
collect_reads (Lowering *l)
{
  for (guint i = 0; i < loom_net_n_nodes (l->net); i++)
    {
      const LoomNetNode *n = loom_net_node (l->net, i);

      for (guint k = 0; l->needed[i] && l->net->loops->len > 0 && k < n->n_inputs; k++)
        if (n->input[k].node != G_MAXUINT)
          g_hash_table_add (l->read, source_key (n->input[k].node, n->input[k].output));
      for (guint k = 0; l->needed[i] && k < n->n_inputs && !(n->input_spec[0].flags & LOOM_PORT_VARIADIC); k++)
        if (n->input_spec[k].flags & LOOM_PORT_WRT && n->input[k].node != G_MAXUINT)
          g_hash_table_add (l->wrt, source_key (n->input[k].node, n->input[k].output));
    }
}

static gboolean
is_wanted (const Lowering *l, guint node, guint output)
{
  if (g_hash_table_contains (l->wrt, source_key (node, output)))
    return TRUE;
  for (guint k = 0; k < l->options->n_wanted; k++)
    if (l->options->wanted[k].node == node && l->options->wanted[k].output == output)
      return TRUE;
  return FALSE;
}

gboolean
loom_net_is_requested (const Lowering *l, guint node, guint output)
{
  return is_wanted (l, node, output) || g_hash_table_contains (l->read, source_key (node, output));
}

/* ---- the walk --------------------------------------------------------- */

/* TRUE if the caller gives this output. */
static gboolean
is_given (const Lowering *l, guint node, guint output)
{
  if (output >= loom_net_node (l->net, node)->n_outputs)
    return FALSE;
  for (guint i = 0; i < l->options->n_given; i++)
    {
      if (l->options->given[i].node == node && l->options->given[i].output == output)
        return TRUE;
    }
  return loom_net_node (l->net, node)->op != NULL && loom_net_node (l->net, node)->op->lower == NULL;
}

/* Reports a shape with unbound sizes. */
static void
refuse_shape (Lowering *l, const char *name, const LoomShape *shape)
{
  g_autofree char *text = loom_shape_to_string (shape);
  g_autoptr (GString) sizes = g_string_new (NULL);

  for (int i = 0; i < shape->rank; i++)
    for (guint s = 0; s < LOOM_DIM_MAX_SYMBOLS && shape->dim[i].symbol[s] != '\0'; s++)
      if (strchr (sizes->str, shape->dim[i].symbol[s]) == NULL)
        g_string_append_printf (sizes, "%s%c", sizes->len > 0 ? ", " : "", shape->dim[i].symbol[s]);
  if (sizes->len == 1)
    g_set_error (&l->error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                 "The shape of %s is %s, but the size %s is not known. Set it to a number, or pass an input with this "
                 "size by --in.",
                 name, text, sizes->str);
  else
    g_set_error (&l->error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                 "The shape of %s is %s, but the sizes%s%s are not known. Set them to numbers, or pass an input with "
                 "these sizes by --in.",
                 name, text, sizes->len > 0 ? " " : "", sizes->str);
}

/* Makes a given output an input of the program. */
static gboolean
make_given (Lowering *l, guint node, guint output)
{
  const LoomNetNode *n = loom_net_node (l->net, node);
  g_autofree char *name = loom_net_port_name (l->net, node, output);
  const LoomType *type = &n->output[output];
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  if (l->value[node][output] != 0)
    return TRUE;
  if (!n->typed)
    {
      g_set_error (&l->error, LOOM_ERROR, LOOM_ERROR_SHAPE, "%s has no known type, because of a fault in the graph.",
                   name);
      return FALSE;
    }
  if (!loom_shape_is_concrete (&type->shape))
    {
      refuse_shape (l, name, &type->shape);
      return FALSE;
    }
  loom_shape_get (&type->shape, dims);
  set_origin (l, n);
  l->value[node][output]
      = loom_program_input (l->program, name, program_dtype (l, type->dtype), type->shape.rank, dims);
  return TRUE;
}

static const NetLoop *
loop_of (const Lowering *l, guint node)
{
  return ((const NetNode *)l->net->nodes->pdata[node])->loop;
}

/* Marks the needed nodes and their sources. The net is in topological order, so one backward pass suffices. */
static void
mark_needed (Lowering *l)
{
  for (guint i = 0; i < l->options->n_wanted; i++)
    {
      const LoomNetSource *want = &l->options->wanted[i];

      if (is_given (l, want->node, want->output) || loom_net_is_weight (l->net, want))
        continue;
      l->needed[want->node] = TRUE;
      for (const NetLoop *loop = loop_of (l, want->node); loop != NULL; loop = loop->outer)
        l->needed[loop->node] = TRUE;
    }
  for (guint i = loom_net_n_nodes (l->net); i > 0; i--)
    {
      const LoomNetNode *n = loom_net_node (l->net, i - 1);

      if (l->options->effects && n->op != NULL && n->op->has_effect && !n->muted)
        l->needed[i - 1] = TRUE;
      if (!l->needed[i - 1])
        continue;
      for (guint k = 0; k < n->n_inputs; k++)
        {
          if (n->input[k].node != G_MAXUINT && !is_given (l, n->input[k].node, n->input[k].output)
              && !loom_net_is_weight (l->net, &n->input[k]))
            l->needed[n->input[k].node] = TRUE;
        }
    }
}

static gboolean
check_node (Lowering *l, const LoomNetNode *n)
{
  if (n->op == NULL || !n->typed)
    {
      g_set_error (&l->error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "Node %s cannot run because of a fault in the graph; “gradloom check” names it.", n->path);
      return FALSE;
    }
  for (guint i = 0; i < n->n_outputs; i++)
    {
      g_autofree char *shape = NULL;

      if (loom_shape_is_concrete (&n->output[i].shape))
        continue;
      shape = loom_shape_to_string (&n->output[i].shape);
      if (n->own_symbol != 0 && l->net->binding.value[n->own_symbol - 'A'] == 0)
        g_set_error (
            &l->error, LOOM_ERROR, LOOM_ERROR_SHAPE,
            "The shape of %s is %s; the size %c depends on the data. “gradloom run” counts it and plans the later "
            "nodes for this size.",
            n->path, shape, n->own_symbol);
      else
        refuse_shape (l, n->path, &n->output[i].shape);
      return FALSE;
    }
  return TRUE;
}

static const char *
why_untrainable (const LoomNet *net, guint i)
{
  const LoomNetNode *n = loom_net_node (net, i);

  return n->op != NULL && n->op->untrainable != NULL && n->typed && loom_shape_is_concrete (&n->output[0].shape)
             ? n->op->untrainable (loom_net_infer (net, i))
             : NULL;
}

static gboolean
check_trainable (Lowering *l, guint i)
{
  const LoomNetNode *n = loom_net_node (l->net, i);
  const char *why = l->options->training && !l->options->allow_untrainable ? why_untrainable (l->net, i) : NULL;
  g_autofree char *shape = NULL;

  if (why == NULL)
    return TRUE;
  shape = loom_shape_to_string (&n->output[0].shape);
  g_set_error (&l->error, LOOM_ERROR, LOOM_ERROR_SHAPE, "In training %s (%s) cannot take %s, which has %s", n->path,
               n->op->name, shape, why);
  return FALSE;
}

static int
slot_cb (LoomLower *ctx, const LoomDeclared *declared)
{
  return slot_of (ctx->data, declared);
}

/* Calls an operator's lower() or count_size() with the node's context; the result is that of count_size(). */
static LoomValue
call_op (Lowering *l, guint i, gboolean count_size)
{
  const LoomNetNode *n = loom_net_node (l->net, i);
  g_autofree LoomValue *input = g_new0 (LoomValue, n->n_inputs + 1);
  g_autofree gboolean *must_copy = g_new0 (gboolean, n->n_outputs + 1);
  LoomLower ctx = { .program = l->program,
                    .infer = loom_net_infer (l->net, i),
                    .training = l->options->training,
                    .direct = l->options->direct,
                    .effects = l->options->effects,
                    .is_recomputed = loom_net_is_recomputed (l, n->path),
                    .seed = l->options->seed,
                    .carry = n->loop == G_MAXUINT ? &l->options->carry : NULL,
                    .rng_step = l->options->rng_step != NULL ? l->options->rng_step : "step",
                    .input = input,
                    .output = l->value[i],
                    .must_copy = must_copy,
                    .slot = slot_cb,
                    .data = l };
  LoomValue counted = 0;

  for (guint k = 0; k < n->n_inputs; k++)
    if (n->input[k].node != G_MAXUINT)
      input[k] = l->value[n->input[k].node][n->input[k].output];
  for (guint k = 0; k < n->n_outputs; k++)
    must_copy[k] = is_wanted (l, i, k);
  set_origin (l, n);
  if (count_size)
    counted = n->op->count_size (&ctx);
  else
    n->op->lower (&ctx);
  if (l->error == NULL)
    l->error = ctx.error;
  else
    g_clear_error (&ctx.error);
  return counted;
}

gboolean
loom_net_lower_node (Lowering *l, guint i)
{
  const LoomNetNode *n = loom_net_node (l->net, i);

  for (guint k = 0; k < n->n_inputs; k++)
    {
      if (n->input[k].node != G_MAXUINT && is_given (l, n->input[k].node, n->input[k].output)
          && !make_given (l, n->input[k].node, n->input[k].output))
        return FALSE;
    }
  if (!check_node (l, n) || !check_trainable (l, i))
    return FALSE;
  for (guint k = 0; k < n->n_inputs; k++)
    {
      if (loom_net_is_weight (l->net, &n->input[k]) && !loom_net_read_weight (l, &n->input[k]))
        return FALSE;
    }
  if (((const NetNode *)l->net->nodes->pdata[i])->runs != NULL)
    return (loom_op_loop (loom_net_node (l->net, i)->op)->kind == LOOM_LOOP_SCAN ? loom_net_lower_loop
                                                                                 : loom_net_lower_visit) (l, i);
  call_op (l, i, FALSE);
  return l->error == NULL;
}

/* A given port has one value, so a port in a loop, which has one per iteration, is refused. */
static gboolean
check_given (Lowering *l)
{
  for (guint k = 0; k < l->options->n_given; k++)
    {
      const LoomNetSource *source = &l->options->given[k];
      const LoomNetNode *node = loom_net_node (l->net, source->node);

      if (node->loop == G_MAXUINT || loom_net_is_weight (l->net, source))
        continue;
      g_set_error (&l->error, LOOM_ERROR, LOOM_ERROR_PORT,
                   "%s is inside the loop of %s and has another value at each step, so it cannot be set. Set an input "
                   "of %s.",
                   node->path, loom_net_node (l->net, node->loop)->path, loom_net_node (l->net, node->loop)->path);
      return FALSE;
    }
  return TRUE;
}

/* A stack has an additional axis for each loop around a port, which must not exceed the maximum rank. */
static gboolean
check_stacks (Lowering *l)
{
  for (guint k = 0; k < l->options->n_wanted; k++)
    {
      const LoomNetSource *source = &l->options->wanted[k];
      const LoomNetNode *node = loom_net_node (l->net, source->node);
      int rank = 0;

      if (node->loop == G_MAXUINT || loom_net_is_weight (l->net, source) || !node->typed)
        continue;
      for (const NetLoop *loop = loop_of (l, source->node); loop != NULL; loop = loop->outer)
        {
          rank++;
          if (loop->spec->kind == LOOM_LOOP_SCAN)
            continue;
          g_set_error (&l->error, LOOM_ERROR, LOOM_ERROR_PORT,
                       "%s is inside a body of %s, which runs only for the rows that choose it. Wire a module_output "
                       "to it to read its values.",
                       node->path, loom_net_node (l->net, loop->node)->path);
          return FALSE;
        }
      if (rank + node->output[source->output].shape.rank <= LOOM_SHAPE_MAX_RANK)
        continue;
      g_set_error (&l->error, LOOM_ERROR, LOOM_ERROR_PORT,
                   "%s has a value at each step of the loops around it, and all of them together would have more than "
                   "%d dimensions.",
                   node->path, LOOM_SHAPE_MAX_RANK);
      return FALSE;
    }
  return TRUE;
}

/* A node may be lowered for one output while another output is given; readers of that one read the given value. */
static gboolean
lower_all (Lowering *l)
{
  for (guint i = 0; i < loom_net_n_nodes (l->net); i++)
    {
      if (l->needed[i] && loom_net_node (l->net, i)->loop == G_MAXUINT && !loom_net_lower_node (l, i))
        return FALSE;
      for (guint k = 0; l->needed[i] && k < l->options->n_given; k++)
        {
          const LoomNetSource *given = &l->options->given[k];

          if (given->node != i || loom_net_is_weight (l->net, given))
            continue;
          l->value[i][given->output] = 0;
          if (!make_given (l, i, given->output))
            return FALSE;
        }
    }
  for (guint k = 0; k < l->options->n_wanted; k++)
    {
      const LoomNetSource *want = &l->options->wanted[k];

      if (loom_net_is_weight (l->net, want) && !loom_net_read_weight (l, want))
        return FALSE;
      if (is_given (l, want->node, want->output) && !make_given (l, want->node, want->output))
        return FALSE;
    }
  return TRUE;
}

/* Fills in the program's table of ports, for pins and the debugger. */
static void
record_ports (Lowering *l)
{
  for (guint i = 0; i < loom_net_n_nodes (l->net); i++)
    for (guint k = 0; loom_net_node (l->net, i)->loop == G_MAXUINT && k < loom_net_node (l->net, i)->n_outputs; k++)
      if (l->value[i][k] != 0)
        {
          g_autofree char *name = loom_net_port_name (l->net, i, k);

          loom_program_set_port (l->program, name, l->value[i][k]);
        }
  for (guint k = 0; k < l->options->n_wanted; k++)
    if (l->inside[k] != 0)
      {
        g_autofree char *name = loom_net_port_name (l->net, l->options->wanted[k].node, l->options->wanted[k].output);

        loom_program_set_port (l->program, name, l->inside[k]);
      }
}

/* counted: the node whose size is computed in place of the wanted ports; −1: none. */
static LoomProgram *
lower (const LoomNet *net, const LoomLowerOptions *options, int counted, LoomValue *value_of, GError **error)
{
  g_autoptr (GHashTable) wrt = g_hash_table_new (NULL, NULL), read = g_hash_table_new (NULL, NULL);
  guint n = loom_net_n_nodes (net);
  g_autofree gboolean *needed = g_new0 (gboolean, n + 1);
  g_autofree LoomValue **value = g_new0 (LoomValue *, n + 1);
  g_autofree LoomValue *inside = g_new0 (LoomValue, options->n_wanted + 1);
  g_autofree LoomValue *probe = g_new0 (LoomValue, options->n_wanted + 1);
  Lowering l = { net, options, loom_program_new (), value, needed, wrt, read, inside, probe, NULL };
  gboolean ok;

  for (guint i = 0; i < n; i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      value[i] = g_new0 (LoomValue, node->n_outputs + (node->op != NULL ? loom_op_count_weights (node->op) : 0) + 1);
    }
  loom_program_set_float (l.program, options->float_dtype);
  loom_program_set_tf32 (l.program, options->tf32);
  loom_program_set_region (l.program, LOOM_REGION_FORWARD);
  mark_needed (&l);
  collect_reads (&l);
  ok = check_stacks (&l) && check_given (&l) && lower_all (&l);
  if (ok && counted >= 0)
    *value_of = call_op (&l, (guint)counted, TRUE);
  loom_program_set_origin (l.program, NULL, NULL);
  if (ok)
    record_ports (&l);
  for (guint i = 0; ok && counted < 0 && i < options->n_wanted; i++)
    {
      value_of[i] = inside[i] != 0 ? inside[i] : value[options->wanted[i].node][options->wanted[i].output];
      if (options->probe_of != NULL)
        options->probe_of[i] = probe[i];
    }
  for (guint i = 0; i < n; i++)
    g_free (value[i]);
  if (ok)
    return l.program;
  g_propagate_error (error, l.error);
  loom_program_unref (l.program);
  return NULL;
}

LoomProgram *
loom_lower (const LoomNet *net, const LoomLowerOptions *options, LoomValue *value_of, GError **error)
{
  return lower (net, options, -1, value_of, error);
}

LoomProgram *
loom_lower_size (const LoomNet *net, const LoomLowerOptions *options, guint node, LoomValue *size, GError **error)
{
  const LoomNetNode *n = loom_net_node (net, node);
  g_autofree LoomNetSource *feeds = g_new0 (LoomNetSource, n->n_inputs + 1);
  LoomLowerOptions feeding = *options;
  LoomProgram *p;

  feeding.n_wanted = 0;
  feeding.wanted = feeds;
  feeding.effects = FALSE;
  for (guint k = 0; k < n->n_inputs; k++)
    if (n->input[k].node != G_MAXUINT)
      feeds[feeding.n_wanted++] = n->input[k];
  p = lower (net, &feeding, (int)node, size, error);
  if (p != NULL)
    loom_program_drop_commits (p);
  return p;
}

/* By node: TRUE if it would be lowered. */
static gboolean *
find_needed (const LoomNet *net, const LoomLowerOptions *options)
{
  gboolean *needed = g_new0 (gboolean, loom_net_n_nodes (net) + 1);
  Lowering l = { .net = net, .options = options, .needed = needed };

  mark_needed (&l);
  return needed;
}

int
loom_net_dynamic_size (const LoomNet *net, const LoomLowerOptions *options)
{
  guint n = loom_net_n_nodes (net);
  g_autofree gboolean *needed = NULL;

  for (guint i = 0; i < n; i++)
    {
      char symbol = loom_net_node (net, i)->own_symbol;

      if (symbol == 0 || net->binding.value[symbol - 'A'] != 0)
        continue;
      if (needed == NULL)
        needed = find_needed (net, options);
      if (needed[i])
        return (int)i;
    }
  return -1;
}

int
loom_net_find_untrainable (const LoomNet *net, const LoomLowerOptions *options)
{
  guint n = loom_net_n_nodes (net);
  g_autofree gboolean *needed = find_needed (net, options);

  for (guint i = 0; i < n; i++)
    if (needed[i] && why_untrainable (net, i) != NULL)
      return (int)i;
  return -1;
}
