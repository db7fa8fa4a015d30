/* Infers a net of one node to determine whether it accepts a tensor. */
#include "engine/fix/loom-fit.h"

/* ---- one node ----------------------------------------------------------- */

static void
put (LoomGraph *graph, LoomElement *element)
{
  LoomElement *root = loom_graph_root (graph);

  loom_edit_free (loom_graph_apply (
      graph, loom_edit_insert (root, loom_element_place_for (root, loom_element_tag (element)), element)));
}

/* The node alone, with the id “n”; NULL if a value is an expression with names that only its scope has. */
static LoomElement *
lone_node (const LoomElement *node, const LoomOp *op)
{
  LoomElement *copy = loom_element_new (LOOM_TAG_NODE, "id", "n", "op", op->name, NULL);

  for (guint i = 0; i < loom_element_n_attributes (node); i++)
    {
      const char *name, *value;

      loom_element_attribute (node, i, &name, &value);
      if (!loom_op_has_param (op, name))
        continue;
      if (value[0] == '{')
        {
          loom_element_free (copy);
          return NULL;
        }
      loom_element_set_detached (copy, name, value);
    }
  return copy;
}

/* The operator of values from outside. */
static const LoomOp *
given_op (void)
{
  static const LoomOp *given;

  for (const LoomOp *const *op = loom_ops (); given == NULL && *op != NULL; op++)
    if ((*op)->role == LOOM_ROLE_INPUT)
      given = *op;
  return given;
}

static gboolean
add_input (LoomGraph *graph, guint i, const LoomType *type, const char *port)
{
  g_autofree char *shape = loom_shape_to_attribute (&type->shape), *id = g_strdup_printf ("i%u", i);
  g_autofree char *to = g_strdup_printf ("n.%s", port);
  LoomShape again;

  if (!loom_shape_parse (shape, &again))
    return FALSE;
  put (graph, loom_element_new (LOOM_TAG_NODE, "id", id, "op", given_op ()->name, "shape", shape, "dtype",
                                loom_dtype_name (type->dtype), NULL));
  put (graph, loom_element_new (LOOM_TAG_WIRE, "from", id, "to", to, NULL));
  return TRUE;
}

static void
read_answer (const LoomNet *net, const LoomFaults *faults, LoomFitAnswer *answer)
{
  int at = loom_net_find (net, "n");
  const LoomNetNode *node = at >= 0 ? loom_net_node (net, (guint)at) : NULL;
  gboolean waits = FALSE;

  answer->fit = LOOM_FIT_WELL;
  for (guint f = 0; f < loom_faults_length (faults); f++)
    {
      const LoomFault *fault = loom_faults_get (faults, f);
      LoomFit fit = fault->is_warning ? LOOM_FIT_HINT : fault->is_todo ? LOOM_FIT_UNKNOWN : LOOM_FIT_NOT;

      if (g_strcmp0 (fault->node, "n") != 0)
        continue;
      waits = waits || fit == LOOM_FIT_UNKNOWN;
      if (fit >= answer->fit)
        continue;
      answer->fit = fit;
      g_free (answer->said);
      g_free (answer->port);
      answer->said = g_strdup (fault->message);
      answer->port = g_strdup (fault->port);
    }
  if (node == NULL || (!node->typed && answer->fit > LOOM_FIT_UNKNOWN))
    answer->fit = LOOM_FIT_UNKNOWN;
  if (node == NULL || !node->typed)
    return;
  for (guint i = 0; i < node->n_outputs && i < LOOM_FIT_MAX; i++)
    {
      answer->output[i] = node->output[i];
      answer->output_name[i] = node->output_spec[i].name;
      answer->n_outputs = i + 1;
    }
}

void
loom_fit_infer (const LoomElement *node, const LoomType *const *input, guint n_inputs, LoomFitAnswer *answer)
{
  const LoomOp *op = loom_op_of (node);
  LoomElement *lone = op != NULL ? lone_node (node, op) : NULL;
  const LoomPortSpec *specs = op != NULL ? loom_op_inputs (op, node) : NULL;
  guint n_specs = loom_op_count_ports (specs);
  gboolean variadic = n_specs > 0 && (specs[0].flags & LOOM_PORT_VARIADIC);
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomFaults) faults = NULL;
  g_autoptr (LoomNet) net = NULL;

  *answer = (LoomFitAnswer){ .fit = LOOM_FIT_UNKNOWN };
  if (lone == NULL)
    return;
  graph = loom_graph_new (NULL);
  put (graph, lone);
  for (guint i = 0; i < n_inputs; i++)
    {
      g_autofree char *number = g_strdup_printf ("%u", i);

      if (input[i] == NULL)
        continue;
      if ((!variadic && i >= n_specs) || !add_input (graph, i, input[i], variadic ? number : specs[i].name))
        return;
    }
  faults = loom_faults_new ();
  net = loom_net_new (graph, NULL, faults);
  read_answer (net, faults, answer);
}

void
loom_fit_answer_clear (LoomFitAnswer *answer)
{
  g_clear_pointer (&answer->said, g_free);
  g_clear_pointer (&answer->port, g_free);
}

/* ---- fresh nodes --------------------------------------------------------- */

LoomElement *
loom_fit_fresh_node (const LoomOp *op, const char *id)
{
  LoomElement *node = loom_element_new (LOOM_TAG_NODE, "id", id, "op", op->name, NULL);

  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    if (p->fresh != NULL)
      loom_element_set_detached (node, p->name, p->fresh);
  return node;
}

const LoomParamSpec *
loom_fit_first_param (const LoomOp *op)
{
  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    if (p->def == NULL)
      return p;
  return NULL;
}

/* ---- readers of a tensor -------------------------------------------------- */

#define MOST_GUESSES 7

static LoomShape
without (const LoomShape *shape, int axis)
{
  LoomShape less = { 0 };

  for (int i = 0; i < shape->rank; i++)
    if (i != axis)
      less.dim[less.rank++] = shape->dim[i];
  return less;
}

/* Guesses the tensors at an operator's other inputs for one at this input: an equal one, its classes, its transpose,
 * and so on. */
static guint
guess_others (const LoomType *type, LoomType *guess)
{
  guint n = 0;
  int rank = type->shape.rank;

  guess[n++] = *type;
  guess[n++] = (LoomType){ .dtype = LOOM_I64, .shape = without (&type->shape, MIN (1, rank - 1)) };
  guess[n++] = (LoomType){ .dtype = LOOM_I64, .shape = type->shape };
  guess[n++] = (LoomType){ .dtype = LOOM_BOOL, .shape = type->shape };
  guess[n++] = (LoomType){ .dtype = LOOM_F32, .shape = type->shape };
  guess[n] = *type;
  if (rank >= 2)
    {
      guess[n].shape.dim[rank - 1] = type->shape.dim[rank - 2];
      guess[n++].shape.dim[rank - 2] = type->shape.dim[rank - 1];
    }
  guess[n] = (LoomType){ .dtype = LOOM_F32, .shape = type->shape };
  if (rank < LOOM_SHAPE_MAX_RANK)
    {
      guess[n].shape.dim[rank] = loom_dim (8);
      guess[n++].shape.rank++;
    }
  return n;
}

static gboolean
is_needed (const LoomPortSpec *spec)
{
  return (spec->flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT)) == 0;
}

/* Tries one input, with each of the guesses at the others in turn. */
static LoomFit
fit_at (const LoomElement *node, const LoomPortSpec *specs, guint n_specs, const LoomType *type, guint at)
{
  LoomType guess[MOST_GUESSES + 1];
  guint n_needed = 0, n_guesses, blamed = 0, n_others = 0;
  LoomFit best = LOOM_FIT_NOT;

  for (guint i = 0; i < n_specs; i++)
    {
      n_needed += i != at && is_needed (&specs[i]);
      n_others += i != at && (specs[i].flags & LOOM_PORT_WEIGHT) == 0;
    }
  n_guesses = n_others > 0 ? guess_others (type, guess) : 1;
  for (guint g = 0; g < n_guesses && best < LOOM_FIT_HINT; g++)
    {
      g_autofree const LoomType **input = g_new0 (const LoomType *, n_specs);
      LoomFitAnswer answer;

      for (guint i = 0; i < n_specs; i++)
        if (i == at)
          input[i] = type;
        /* If none is required, the first guess is none: an operand may be a number, but must exist. */
        else if (n_needed > 0 ? is_needed (&specs[i]) : g > 0 && (specs[i].flags & LOOM_PORT_WEIGHT) == 0)
          input[i] = &guess[n_needed > 0 ? g : g - 1];
      loom_fit_infer (node, input, n_specs, &answer);
      best = MAX (best, answer.fit);
      blamed += g_strcmp0 (answer.port, specs[at].name) == 0;
      loom_fit_answer_clear (&answer);
    }
  /* A tensor that is refused with every guess does not fit; one that is refused because of another input may fit with
   * other tensors. */
  return best == LOOM_FIT_NOT && n_others > 0 && blamed < n_guesses ? LOOM_FIT_UNKNOWN : best;
}

LoomFit
loom_fit_after (const LoomOp *op, const LoomType *type, guint *input)
{
  g_autoptr (LoomElement) node = loom_fit_fresh_node (op, "n");
  const LoomPortSpec *specs = loom_op_inputs (op, node);
  guint n = loom_op_count_ports (specs), where = 0;
  LoomFit best = LOOM_FIT_NOT;

  while (where + 1 < n && !is_needed (&specs[where]))
    where++;
  if (n > 0 && (specs[0].flags & LOOM_PORT_VARIADIC))
    {
      const LoomType *both[] = { type, type };

      /* Some operators take one tensor, others need two. */
      for (guint count = 1; count <= G_N_ELEMENTS (both) && best < LOOM_FIT_HINT; count++)
        {
          LoomFitAnswer answer;

          loom_fit_infer (node, both, count, &answer);
          best = MAX (best, answer.fit);
          loom_fit_answer_clear (&answer);
        }
    }
  else
    for (guint i = 0; i < n && best < LOOM_FIT_HINT; i++)
      {
        LoomFit fit = is_needed (&specs[i]) ? fit_at (node, specs, n, type, i) : LOOM_FIT_NOT;

        if (fit > best)
          {
            best = fit;
            where = i;
          }
      }
  if (input != NULL)
    *input = where;
  return best;
}

/* ---- in front of an input -------------------------------------------------- */

/* Tensors of every usual kind, with symbols for batch and time. */
static const struct
{
  LoomDType dtype;
  const char *shape;
} usual[] = {
  { LOOM_F32, "B,8" }, { LOOM_F32, "B,3,8,8" }, { LOOM_F32, "B,T,8" }, { LOOM_F32, "B" },
  { LOOM_I64, "B" },   { LOOM_I64, "B,T" },     { LOOM_F32, "" },
};

static gboolean
has_type (GArray *types, const LoomType *type)
{
  for (guint i = 0; i < types->len; i++)
    {
      const LoomType *t = &g_array_index (types, LoomType, i);

      if (t->dtype == type->dtype && loom_shape_equal (&t->shape, &type->shape))
        return TRUE;
    }
  return FALSE;
}

/* The types that new nodes of an operator return, for all usual inputs. Computed once: 250 operators take some tens of
 * milliseconds together. */
static GArray *
types_of (const LoomOp *op)
{
  static GHashTable *known;
  GArray *types;

  if (known == NULL)
    known = g_hash_table_new (NULL, NULL);
  types = g_hash_table_lookup (known, op);
  if (types != NULL)
    return types;
  types = g_array_new (FALSE, FALSE, sizeof (LoomType));
  g_hash_table_insert (known, (gpointer)op, types);
  {
    g_autoptr (LoomElement) node = loom_fit_fresh_node (op, "n");
    const LoomPortSpec *specs = loom_op_inputs (op, node);
    guint n = loom_op_count_ports (specs);

    for (guint u = 0; u < (n > 0 ? G_N_ELEMENTS (usual) : 1); u++)
      {
        LoomType type = { .dtype = usual[u].dtype };
        g_autofree const LoomType **input = g_new0 (const LoomType *, n + 1);
        LoomFitAnswer answer;

        loom_shape_parse (usual[u].shape, &type.shape);
        for (guint i = 0; i < n; i++)
          input[i] = is_needed (&specs[i]) ? &type : NULL;
        loom_fit_infer (node, input, n, &answer);
        for (guint o = 0; o < answer.n_outputs; o++)
          if (!has_type (types, &answer.output[o]))
            g_array_append_val (types, answer.output[o]);
        loom_fit_answer_clear (&answer);
      }
  }
  return types;
}

LoomFit
loom_fit_before (const LoomOp *op, const LoomElement *node, const LoomType *const *input, guint n_inputs, guint at)
{
  g_autofree const LoomType **all = g_new0 (const LoomType *, MAX (n_inputs, at + 1));
  LoomFit best = LOOM_FIT_NOT;
  GArray *types;

  if (op->outputs == NULL && op->dynamic_outputs == NULL)
    return LOOM_FIT_NOT;
  types = types_of (op);
  /* If it could not be tried, the result is unknown. */
  if (types->len == 0)
    return LOOM_FIT_UNKNOWN;
  for (guint i = 0; i < n_inputs; i++)
    all[i] = input[i];
  for (guint t = 0; t < types->len && best < LOOM_FIT_HINT; t++)
    {
      LoomType type = g_array_index (types, LoomType, t);

      /* Sizes depend on parameters: a new node of the right kind gets the size that matches the others. */
      for (guint like = 0; like <= n_inputs && best < LOOM_FIT_HINT; like++)
        {
          LoomFitAnswer answer;

          if (like < n_inputs)
            {
              if (like == at || input[like] == NULL || input[like]->shape.rank != type.shape.rank)
                continue;
              type.shape = input[like]->shape;
            }
          else
            type.shape = g_array_index (types, LoomType, t).shape;
          all[at] = &type;
          loom_fit_infer (node, all, MAX (n_inputs, at + 1), &answer);
          best = MAX (best, answer.fit);
          loom_fit_answer_clear (&answer);
        }
    }
  return best;
}
