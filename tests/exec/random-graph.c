/* Random graphs; see the header. */
#include "tests/exec/random-graph.h"

#include "engine/net/loom-net.h"
#include "tests/ops/op-sample.h"

#include <math.h>
#include <string.h>

/* Operators whose result and gradient change continuously with their inputs, whatever those are. All others are given
 * lattice numbers, so a new operator needs no entry. */
static const char smooth[]
    = " add sub mul neg square exp tanh sigmoid gelu silu mish softplus logsigmoid softsign sin cos atan asinh erf "
      "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d bilinear avg_pool1d "
      "avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d batch_norm1d batch_norm2d batch_norm3d "
      "layer_norm group_norm instance_norm1d instance_norm2d instance_norm3d rms_norm local_response_norm dropout "
      "dropout1d dropout2d dropout3d alpha_dropout matmul bmm dot outer einsum addmm cross mean sum var cumsum "
      "softmax log_softmax softmin logsumexp mse_loss cross_entropy binary_cross_entropy_with_logits reshape "
      "flatten unflatten permute transpose movedim squeeze unsqueeze expand tile repeat_interleave flip roll concat "
      "stack split chunk unbind slice narrow select pad diag diagonal tril triu trace gather gather_nd index_select "
      "index_add scatter_add take_along_dim unfold pixel_shuffle pixel_unshuffle upsample identity detach output "
      "meshgrid glu l2_penalty ";

typedef struct
{
  char *end; /* "n3.out" */
  LoomDType dtype;
  int rank;
  gint64 dims[LOOM_MAX_RANK];
  gint64 count;        /* -1: depends on the data */
  guint depth, growth; /* nodes before it; how many of them in a row may have made it larger */
} Value;

/* How an input's numbers are made. */
typedef struct
{
  double low, step; /* floats: low + (8 k + residue) * step, all different */
  int residue, slots;
  gboolean signs, ascending;
  gint64 classes; /* integers */
} Leaf;

/* Values of the samples' symbols. */
static const LoomBinding bound = { .value = { ['B' - 'A'] = 4, ['T' - 'A'] = 5 } };

struct _RandomGraph
{
  guint32 seed;
  GRand *rand;
  GString *modules, *nodes, *wires;
  GArray *values;        /* Value */
  GHashTable *leaves;    /* name → Leaf */
  GHashTable *operators; /* names in use, as borrowed strings */
  guint n_nodes, next, depth;
  char *fault;
};

static void
value_clear (Value *v)
{
  g_free (v->end);
}

static Value *
value_at (RandomGraph *self, guint i)
{
  return &g_array_index (self->values, Value, i);
}

static gboolean
chance (RandomGraph *self, double p)
{
  return g_rand_double (self->rand) < p;
}

static char *
dims_text (int rank, const gint64 *dims)
{
  LoomShape shape = loom_shape (rank, dims);

  return loom_shape_to_attribute (&shape);
}

char *
random_graph_text (const RandomGraph *self)
{
  return g_strdup_printf ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                          "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"random-%u\">\n%s%s%s</graph>\n",
                          self->seed, self->modules->str, self->nodes->str, self->wires->str);
}

/* Reads the graph as it is now and notes the outputs of node `id`, which were made from values of this depth. FALSE
 * when something is wrong with it. */
static gboolean
note_outputs (RandomGraph *self, const char *id, guint depth, guint growth)
{
  g_autofree char *text = random_graph_text (self);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "random", faults, &error);
  g_autoptr (LoomNet) net = NULL;
  const LoomNetNode *node;
  int at;

  g_assert_no_error (error);
  net = loom_net_new (graph, NULL, faults);
  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (!loom_faults_get (faults, i)->is_warning)
      {
        self->fault = loom_fault_to_string (loom_faults_get (faults, i));
        return FALSE;
      }
  at = loom_net_find (net, id);
  if (at < 0)
    { /* a module instance: its output is that of the last node in it */
      guint output;

      at = loom_net_find_port (net, id, &output, NULL);
    }
  g_assert_cmpint (at, >=, 0);
  node = loom_net_node (net, (guint)at);
  for (guint o = 0; o < node->n_outputs; o++)
    {
      const LoomType *type = &node->output[o];
      Value v = { .dtype = type->dtype, .rank = type->shape.rank, .count = 1, .depth = depth + 1, .growth = growth };

      for (int r = 0; r < v.rank; r++)
        {
          v.dims[r] = loom_dim_is_known (type->shape.dim[r]) ? type->shape.dim[r].coef : -1;
          v.count = v.dims[r] < 0 || v.count < 0 ? -1 : v.count * v.dims[r];
        }
      v.end = strcmp (node->path, id) == 0 || node->op->role == LOOM_ROLE_LOOP
                  ? g_strdup_printf ("%s.%s", id, node->output_spec[o].name)
                  : g_strdup (id);
      self->depth = MAX (self->depth, v.depth);
      g_array_append_val (self->values, v);
    }
  return TRUE;
}

/* Appends <node id="nK" op=… attributes/> and returns the id. */
static char *
append_node (RandomGraph *self, const char *op, const char *attributes)
{
  char *id = g_strdup_printf ("n%u", self->next++);

  g_string_append_printf (self->nodes, "  <node id=\"%s\" op=\"%s\"%s%s/>\n", id, op, *attributes != '\0' ? " " : "",
                          attributes);
  g_hash_table_add (self->operators, (gpointer)loom_op (op)->name);
  self->n_nodes++;
  return id;
}

static void
append_wire (RandomGraph *self, guint from, const char *id, const char *port)
{
  g_string_append_printf (self->wires, "  <wire from=\"%s\" to=\"%s.%s\"/>\n", value_at (self, from)->end, id, port);
}

static guint
last_value (RandomGraph *self)
{
  return self->values->len - 1;
}

/* A node with one input and one output; its value. */
static guint
pass_through (RandomGraph *self, guint v, const char *op, const char *port, const char *attributes, guint growth)
{
  g_autofree char *id = append_node (self, op, attributes);
  guint depth = value_at (self, v)->depth;

  append_wire (self, v, id, port);
  if (!note_outputs (self, id, depth, growth))
    return v;
  return last_value (self);
}

static guint
append_leaf (RandomGraph *self, LoomDType dtype, int rank, const gint64 *dims, const Leaf *leaf)
{
  char *id = g_strdup_printf ("x%u", self->next++);
  g_autofree char *shape = dims_text (rank, dims);
  Value v = { .end = g_strdup_printf ("%s.out", id), .dtype = dtype, .rank = rank, .count = 1 };

  g_string_append_printf (self->nodes, "  <node id=\"%s\" op=\"input\" shape=\"%s\" dtype=\"%s\"/>\n", id, shape,
                          loom_dtype_name (dtype));
  g_hash_table_insert (self->leaves, id, g_memdup2 (leaf, sizeof *leaf));
  g_hash_table_add (self->operators, (gpointer)loom_op ("input")->name);
  for (int r = 0; r < rank; r++)
    {
      v.dims[r] = dims[r];
      v.count *= dims[r];
    }
  g_array_append_val (self->values, v);
  self->n_nodes++;
  return last_value (self);
}

/* Repeats, cuts and reshapes v until it has these dimensions. */
static guint
fit_shape (RandomGraph *self, guint v, int rank, const gint64 *dims)
{
  const Value *value = value_at (self, v);
  g_autofree char *shape = dims_text (rank, dims);
  gint64 wanted = 1, have = value->count;
  guint growth = value->growth;

  for (int r = 0; r < rank; r++)
    wanted *= dims[r];
  if (value->rank == rank && memcmp (value->dims, dims, (gsize)rank * sizeof *dims) == 0)
    return v;
  if (have != wanted && value->rank != 1)
    v = pass_through (self, v, "reshape", "input", "shape=\"-1\"", growth);
  if (have < wanted && self->fault == NULL)
    {
      g_autofree char *times = g_strdup_printf ("dims=\"%" G_GINT64_FORMAT "\"", (wanted + have - 1) / have);

      v = pass_through (self, v, "tile", "input", times, growth);
      have *= (wanted + have - 1) / have;
    }
  if (have > wanted && self->fault == NULL)
    {
      g_autofree char *part = g_strdup_printf ("dim=\"0\" start=\"%d\" length=\"%" G_GINT64_FORMAT "\"",
                                               g_rand_int_range (self->rand, 0, (gint32)(have - wanted + 1)), wanted);

      v = pass_through (self, v, "narrow", "input", part, growth);
    }
  if (self->fault == NULL && (value_at (self, v)->rank != rank || rank != 1))
    {
      g_autofree char *to = g_strdup_printf ("shape=\"%s\"", shape);

      v = pass_through (self, v, "reshape", "input", to, growth);
    }
  return v;
}

/* A value of this type with elements, preferring late ones; -1: there is none. */
static int
pick (RandomGraph *self, LoomDType dtype)
{
  for (guint attempt = 0; attempt < 12 && self->values->len > 0; attempt++)
    {
      guint n = self->values->len, i = (guint)g_rand_int_range (self->rand, 0, (gint32)n);
      const Value *v;

      if (chance (self, 0.5))
        i = MAX (i, (guint)g_rand_int_range (self->rand, 0, (gint32)n));
      v = value_at (self, i);
      if (v->dtype == dtype && v->count > 0 && v->count < 4096)
        return (int)i;
    }
  return -1;
}

/* ---- the inputs of a node --------------------------------------------- */

/* Requirements on all inputs of one node. */
typedef struct
{
  const char *range;
  gboolean smooth, spread; /* spread: smooth if its input is not constant */
  int slots;               /* of the lattice: a power of two, as many as the largest input has elements */
  gint64 classes;
} Demand;

static Leaf
leaf_for (const Demand *demand, const char *port, guint k)
{
  static const int residues[] = { 1, 3, 5, 7, 2, 6 };
  double low = -2, length = 4;
  Leaf leaf = { .residue = residues[k % G_N_ELEMENTS (residues)], .slots = demand->slots, .classes = demand->classes };

  if (g_strcmp0 (demand->range, "positive") == 0)
    low = 0.5;
  else if (g_strcmp0 (demand->range, "above1") == 0)
    low = 1.25;
  else if (g_strcmp0 (demand->range, "unit") == 0)
    {
      low = -0.75;
      length = 1.5;
    }
  else if (g_strcmp0 (demand->range, "probability") == 0)
    {
      low = 0.125;
      length = 0.75;
    }
  else if (g_strcmp0 (demand->range, "away0") == 0)
    {
      low = 0.5;
      leaf.signs = TRUE;
    }
  leaf.low = low;
  leaf.step = length / (8.0 * leaf.slots);
  leaf.ascending = strcmp (port, "sorted_sequence") == 0;
  return leaf;
}

/* A formula that maps any number smoothly into the range; NULL if there is none. */
static const char *
formula_for (const char *range)
{
  if (range == NULL || g_str_has_prefix (range, "class:"))
    return "formula=\"1.5*tanh(x)\"";
  if (strcmp (range, "positive") == 0)
    return "formula=\"0.6+sigmoid(x)\"";
  if (strcmp (range, "above1") == 0)
    return "formula=\"1.3+sigmoid(x)\"";
  if (strcmp (range, "unit") == 0)
    return "formula=\"0.8*tanh(x)\"";
  if (strcmp (range, "probability") == 0)
    return "formula=\"0.1+0.8*sigmoid(x)\"";
  return NULL;
}

/* Numbers of a lattice plus a bounded part of v, which has the wanted shape. */
static guint
add_to_lattice (RandomGraph *self, guint v, const Leaf *leaf, const char *part)
{
  const Value like = *value_at (self, v);
  guint a = append_leaf (self, like.dtype, like.rank, like.dims, leaf);
  g_autofree char *sum = g_strdup_printf ("formula=\"a+%s*tanh(x)\"", part);
  g_autofree char *id = append_node (self, "expression", sum);

  append_wire (self, a, id, "a");
  append_wire (self, v, id, "x");
  return note_outputs (self, id, like.depth, 0) ? last_value (self) : v;
}

static guint
make_input (RandomGraph *self, const Demand *demand, const char *port, guint k, LoomDType dtype, int rank,
            const gint64 *dims)
{
  gboolean is_float = loom_dtype_is_float (dtype);
  gint64 count = 1;
  Leaf leaf = leaf_for (demand, port, k);
  const char *formula;
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  guint v;
  int from;

  for (int r = 0; r < rank; r++)
    count *= dims[r];
  from = count > 0 && (is_float || dtype == LOOM_BOOL) && chance (self, 0.85) ? pick (self, dtype) : -1;
  if (from < 0)
    return append_leaf (self, dtype, rank, dims, &leaf);
  v = fit_shape (self, (guint)from, rank, dims);
  if (!is_float || self->fault != NULL)
    return v;
  formula = formula_for (demand->range);
  if (demand->smooth && !demand->spread && formula != NULL)
    {
      if (demand->range == NULL && value_at (self, v)->growth < 2 && chance (self, 0.7))
        return v;
      return pass_through (self, v, "expression", "x", formula, 0);
    }
  if (leaf.ascending)
    return append_leaf (self, dtype, rank, dims, &leaf);
  if (demand->spread)
    return add_to_lattice (self, v, &leaf, "1");
  g_ascii_formatd (number, sizeof number, "%.17f", leaf.step / 16);
  return add_to_lattice (self, v, &leaf, number);
}

static const LoomPortSpec *
ports_of (const LoomOp *op, const char *attributes)
{
  g_autofree char *text = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;

  if (op->dynamic_inputs == NULL)
    return op->inputs;
  text = g_strdup_printf ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"p\"><node id=\"n\" op=\"%s\" "
                          "%s/></graph>",
                          op->name, attributes);
  graph = loom_graph_read_data (text, strlen (text), "p", faults, NULL);
  return loom_op_inputs (op, loom_scope_find_node (loom_graph_root (graph), "n"));
}

/* A shape without symbols. */
static char *
bound_shape (const char *text)
{
  GString *bound_text = g_string_new (NULL);
  g_auto (GStrv) dims = g_strsplit (text, ",", -1);

  for (guint i = 0; dims[i] != NULL; i++)
    {
      LoomShape shape;

      g_string_append (bound_text, i > 0 ? "," : "");
      if (dims[i][0] != '-' && loom_shape_parse (dims[i], &shape) && shape.rank == 1)
        g_string_append_printf (bound_text, "%" G_GINT64_FORMAT, loom_dim_value (shape.dim[0], &bound));
      else
        g_string_append (bound_text, dims[i]);
    }
  return g_string_free (bound_text, FALSE);
}

static char *
attributes_of (const LoomOp *op, const LoomSample *sample)
{
  g_auto (GStrv) params = g_strsplit (sample->params != NULL ? sample->params : "", " ", -1);
  GString *text = g_string_new (NULL);

  for (guint i = 0; params[i] != NULL; i++)
    {
      char *equals = strchr (params[i], '=');
      g_autofree char *value = equals != NULL ? g_markup_escape_text (equals + 1, -1) : NULL;

      if (value == NULL)
        continue;
      for (const LoomParamSpec *spec = op->params; spec != NULL && spec->name != NULL; spec++)
        if (spec->type == LOOM_PARAM_SHAPE && strncmp (spec->name, params[i], (gsize)(equals - params[i])) == 0
            && spec->name[equals - params[i]] == '\0')
          {
            g_free (value);
            value = bound_shape (equals + 1);
          }
      g_string_append_printf (text, "%s%.*s=\"%s\"", text->len > 0 ? " " : "", (int)(equals - params[i]), params[i],
                              value);
    }
  return g_string_free (text, FALSE);
}

/* "f32:B,3" with B = 4 and T = 5. */
static void
parse_type (const char *text, LoomDType *dtype, int *rank, gint64 *dims)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", 2);
  LoomShape shape;

  *dtype = 0;
  while (*dtype < LOOM_N_DTYPES && strcmp (loom_dtype_name (*dtype), parts[0]) != 0)
    ++*dtype;
  g_assert_true (*dtype < LOOM_N_DTYPES && loom_shape_parse (parts[1], &shape));
  shape = loom_shape_bind (&shape, &bound);
  *rank = shape.rank;
  loom_shape_get (&shape, dims);
}

static gboolean
is_smooth (const LoomOp *op)
{
  g_autofree char *word = g_strdup_printf (" %s ", op->name);

  return strstr (smooth, word) != NULL && op->count_size == NULL;
}

static void
append_sample (RandomGraph *self, const LoomOp *op, const LoomSample *sample)
{
  g_autofree char *attributes = attributes_of (op, sample), *id = NULL;
  const LoomPortSpec *ports = ports_of (op, attributes);
  gboolean variadic = op->inputs != NULL && (op->inputs[0].flags & LOOM_PORT_VARIADIC);
  Demand demand = { .range = sample->range,
                    .smooth = is_smooth (op),
                    .spread = strstr (op->name, "_norm") != NULL,
                    .slots = 16,
                    .classes = 3 };
  guint from[G_N_ELEMENTS (sample->inputs)], port_of[G_N_ELEMENTS (sample->inputs)], n = 0, depth = 0, growth = 0;

  if (sample->range != NULL && g_str_has_prefix (sample->range, "class:"))
    demand.classes = g_ascii_strtoll (sample->range + 6, NULL, 10);
  for (int pass = 0; pass < 2; pass++)
    for (guint i = 0; i < G_N_ELEMENTS (sample->inputs) && sample->inputs[i] != NULL; i++)
      {
        LoomDType dtype;
        int rank;
        gint64 dims[LOOM_MAX_RANK], count = 1;

        if (sample->inputs[i][0] == '\0' || self->fault != NULL)
          continue;
        parse_type (sample->inputs[i], &dtype, &rank, dims);
        for (int r = 0; r < rank; r++)
          count *= dims[r];
        if (pass == 0)
          {
            while (demand.slots < count)
              demand.slots *= 2;
            continue;
          }
        from[n] = make_input (self, &demand, variadic ? "" : ports[i].name, i, dtype, rank, dims);
        depth = MAX (depth, value_at (self, from[n])->depth);
        growth = MAX (growth, value_at (self, from[n])->growth);
        port_of[n++] = i;
      }
  if (self->fault != NULL)
    return;
  id = append_node (self, op->name, attributes);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *number = g_strdup_printf ("%u", port_of[i]);

      append_wire (self, from[i], id, variadic ? number : ports[port_of[i]].name);
    }
  {
    guint first = self->values->len;

    if (!note_outputs (self, id, depth, growth + 1))
      return;
    /* Results with a data-dependent size are summed, so that there is a gradient. */
    for (guint v = first, end = self->values->len; v < end && self->fault == NULL; v++)
      if (value_at (self, v)->count < 0 && loom_dtype_is_float (value_at (self, v)->dtype))
        pass_through (self, v, "sum", "input", "", 1);
  }
}

/* ---- cases beyond samples --------------------------------------------- */

/* The gradient of a small function of a value, or of another one, as a value. */
static void
append_gradient (RandomGraph *self)
{
  int v = pick (self, LOOM_F32), other = chance (self, 0.7) ? v : pick (self, LOOM_F32);
  g_autofree char *id = NULL;
  guint of, depth;

  if (v < 0 || other < 0)
    return;
  of = pass_through (self, (guint)v, "expression", "x", "formula=\"sin(x)+0.1*x*x\"", 1);
  if (self->fault == NULL)
    of = pass_through (self, of, "sum", "input", "", 2);
  if (self->fault != NULL)
    return;
  depth = value_at (self, of)->depth;
  id = append_node (self, "gradient", "");
  append_wire (self, of, id, "of");
  append_wire (self, (guint)other, id, "wrt");
  note_outputs (self, id, depth, 2);
}

/* A parameter that is assigned a new value at the end of the step. */
static void
append_assign (RandomGraph *self)
{
  const gint64 dims[] = { 3, 4 };
  int v = pick (self, LOOM_F32);
  g_autofree char *parameter = NULL, *id = NULL;
  guint target, value;

  if (v < 0)
    return;
  parameter = append_node (self, "parameter", "shape=\"3,4\"");
  if (!note_outputs (self, parameter, 0, 0))
    return;
  target = last_value (self);
  value = fit_shape (self, (guint)v, 2, dims);
  if (self->fault != NULL)
    return;
  id = append_node (self, "assign", "");
  append_wire (self, target, id, "target");
  append_wire (self, value, id, "value");
  note_outputs (self, id, value_at (self, value)->depth, 1);
}

/* A positive definite matrix for cholesky: a product of a matrix with itself, and three times the identity. */
static void
append_cholesky (RandomGraph *self)
{
  const gint64 dims[] = { 3, 3 };
  int v = pick (self, LOOM_F32);
  g_autofree char *product = NULL;
  guint at;

  if (v < 0)
    return;
  at = fit_shape (self, (guint)v, 2, dims);
  if (self->fault == NULL)
    at = pass_through (self, at, "expression", "x", "formula=\"tanh(x)\"", 0);
  if (self->fault != NULL)
    return;
  product = append_node (self, "einsum", "equation=\"ij,kj-&gt;ik\"");
  append_wire (self, at, product, "0");
  append_wire (self, at, product, "1");
  if (note_outputs (self, product, value_at (self, at)->depth, 1))
    {
      g_autofree char *eye = append_node (self, "eye", "n=\"3\"");
      g_autofree char *sum = NULL;
      guint a = last_value (self);

      if (!note_outputs (self, eye, 0, 0))
        return;
      sum = append_node (self, "expression", "formula=\"a+3*b\"");
      append_wire (self, a, sum, "a");
      append_wire (self, last_value (self), sum, "b");
      if (note_outputs (self, sum, value_at (self, a)->depth, 1))
        pass_through (self, last_value (self), "cholesky", "input", "", 1);
    }
}

/* A module of a few layers that keep the shape, placed once or repeated, sometimes with weights that all copies share
 * and sometimes computed again for the backward pass; or run as a loop over the rows, with a state. */
static void
append_module (RandomGraph *self)
{
  static const char *const layers[]
      = { "op=\"linear\" out_features=\"3\"", "op=\"tanh\"", "op=\"layer_norm\"", "op=\"gelu\"", "op=\"silu\"",
          "op=\"dropout\" p=\"0.25\"" };
  const Demand any = { .slots = 16, .classes = 3 };
  const Leaf leaf = leaf_for (&any, "", 0);
  const gint64 dims[] = { 4, 3 };
  int v = pick (self, LOOM_F32);
  guint at, n = (guint)g_rand_int_range (self->rand, 1, 5), module = self->next++;
  g_autofree char *id = NULL;
  gboolean is_loop;
  GString *wires;

  if (v < 0)
    return;
  at = fit_shape (self, (guint)v, 2, dims);
  if (self->fault == NULL)
    at = add_to_lattice (self, at, &leaf, "1");
  if (self->fault != NULL)
    return;
  wires = g_string_new ("    <wire from=\"x\" to=\"l0\"/>\n");
  is_loop = chance (self, 0.4);
  g_string_append_printf (self->modules, "  <module name=\"m%u\">\n    <node id=\"x\" op=\"module_input\"/>\n", module);
  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (self->modules, "    <node id=\"l%u\" %s/>\n", i,
                              layers[g_rand_int_range (self->rand, 0, G_N_ELEMENTS (layers))]);
      if (i > 0)
        g_string_append_printf (wires, "    <wire from=\"l%u\" to=\"l%u\"/>\n", i - 1, i);
    }
  /* Copies of a repeat pass on its first output. */
  g_string_append (self->modules, "    <node id=\"y\" op=\"module_output\"/>\n");
  if (is_loop)
    {
      g_string_append (self->modules, "    <node id=\"h\" op=\"module_input\" shape=\"3\"/>\n"
                                      "    <node id=\"next\" op=\"expression\" formula=\"0.5 * h + v\"/>\n"
                                      "    <node id=\"h1\" op=\"module_output\" carry=\"h\"/>\n");
      g_string_append_printf (wires,
                              "    <wire from=\"l%u\" to=\"next.v\"/>\n    <wire from=\"h\" to=\"next.h\"/>\n"
                              "    <wire from=\"next\" to=\"h1\"/>\n",
                              n - 1);
    }
  g_string_append (self->modules, wires->str);
  if (is_loop)
    g_string_append (self->modules, "    <wire from=\"next\" to=\"y\"/>\n  </module>\n");
  else
    g_string_append_printf (self->modules, "    <wire from=\"l%u\" to=\"y\"/>\n  </module>\n", n - 1);
  g_string_free (wires, TRUE);
  id = g_strdup_printf ("n%u", self->next++);
  g_string_append_printf (self->nodes, "  <node id=\"%s\" %s=\"m%u\"", id, is_loop ? "op=\"scan\" body" : "module",
                          module);
  if (is_loop && chance (self, 0.4))
    g_string_append (self->nodes, " reverse=\"true\"");
  if (chance (self, 0.6))
    {
      int times = g_rand_int_range (self->rand, 2, 4);

      g_string_append_printf (self->nodes, " repeat=\"%d\"", times);
      if (chance (self, 0.3))
        g_string_append (self->nodes, " share=\"true\"");
      n *= (guint)times;
    }
  if (chance (self, 0.5))
    g_string_append (self->nodes, " recompute=\"true\"");
  g_string_append (self->nodes, "/>\n");
  append_wire (self, at, id, "x");
  self->n_nodes += n;
  note_outputs (self, id, value_at (self, at)->depth + n, 1);
}

static void
append_operator (RandomGraph *self, const LoomOp *op)
{
  guint n = op_sample_count (op);

  if (strcmp (op->name, "gradient") == 0)
    append_gradient (self);
  else if (strcmp (op->name, "assign") == 0)
    append_assign (self);
  else if (strcmp (op->name, "cholesky") == 0 && chance (self, 0.8))
    append_cholesky (self);
  else if (n > 0)
    append_sample (self, op, &op->samples[g_rand_int_range (self->rand, 0, (gint32)n)]);
}

RandomGraph *
random_graph_new (guint32 seed, guint n_nodes)
{
  RandomGraph *self = g_new0 (RandomGraph, 1);
  const LoomOp *const *ops = loom_ops ();
  guint n_ops = g_strv_length ((char **)ops);
  Demand any = { .slots = 16, .classes = 3 };
  Leaf leaf = leaf_for (&any, "", 0);
  const gint64 dims[] = { 4, 3 };

  self->seed = seed;
  self->rand = g_rand_new_with_seed (seed);
  self->modules = g_string_new (NULL);
  self->nodes = g_string_new (NULL);
  self->wires = g_string_new (NULL);
  self->values = g_array_new (FALSE, FALSE, sizeof (Value));
  g_array_set_clear_func (self->values, (GDestroyNotify)value_clear);
  self->leaves = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->operators = g_hash_table_new (g_str_hash, g_str_equal);
  append_leaf (self, LOOM_F32, 2, dims, &leaf);
  append_operator (self, ops[seed % n_ops]);
  while (self->n_nodes < n_nodes && self->fault == NULL)
    if (chance (self, 0.06))
      append_module (self);
    else
      append_operator (self, ops[g_rand_int_range (self->rand, 0, (gint32)n_ops)]);
  return self;
}

void
random_graph_free (RandomGraph *self)
{
  if (self == NULL)
    return;
  g_rand_free (self->rand);
  g_string_free (self->modules, TRUE);
  g_string_free (self->nodes, TRUE);
  g_string_free (self->wires, TRUE);
  g_array_unref (self->values);
  g_hash_table_unref (self->leaves);
  g_hash_table_unref (self->operators);
  g_free (self->fault);
  g_free (self);
}

guint
random_graph_n_nodes (const RandomGraph *self)
{
  return self->n_nodes;
}

guint
random_graph_depth (const RandomGraph *self)
{
  return self->depth;
}

const char *
random_graph_fault (const RandomGraph *self)
{
  return self->fault;
}

void
random_graph_add_operators (const RandomGraph *self, GHashTable *names)
{
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, self->operators);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    g_hash_table_add (names, name);
}

/* ---- numbers ---------------------------------------------------------- */

static void
fill_lattice (const Leaf *leaf, LoomTensor *t, GRand *rand)
{
  guint slots = (guint)MAX (leaf->slots, t->count);
  g_autofree guint *order = g_new (guint, slots);

  for (guint i = 0; i < slots; i++)
    {
      guint k = (guint)g_rand_int_range (rand, 0, (gint32)i + 1);

      order[i] = order[k];
      order[k] = i;
    }
  for (gint64 i = 0; i < t->count; i++)
    {
      gint64 row = t->rank > 0 ? t->dim[t->rank - 1] : 1;
      guint slot = leaf->ascending ? (guint)(i % row) * slots / (guint)row : order[i];
      double x = leaf->low + (8.0 * slot + leaf->residue) * leaf->step;

      loom_tensor_set (t, i, leaf->signs && g_rand_boolean (rand) ? -x : x);
    }
}

void
random_graph_fill (const RandomGraph *self, const char *name, LoomTensor *t)
{
  Demand any = { .slots = 16, .classes = 3 };
  Leaf plain = leaf_for (&any, "", 0);
  const Leaf *leaf = g_hash_table_lookup (self->leaves, name);
  GRand *rand = g_rand_new_with_seed (self->seed * 2654435761u + g_str_hash (name));

  if (leaf == NULL)
    {
      while (plain.slots < t->count)
        {
          plain.slots *= 2;
          plain.step /= 2;
        }
      leaf = &plain;
    }
  if (loom_dtype_is_float (t->dtype))
    fill_lattice (leaf, t, rand);
  else
    for (gint64 i = 0; i < t->count; i++)
      loom_tensor_set (t, i, g_rand_int_range (rand, 0, t->dtype == LOOM_BOOL ? 2 : (gint32)leaf->classes));
  if (!loom_dtype_is_float (t->dtype) && leaf->ascending)
    for (gint64 i = 0; i < t->count; i++)
      loom_tensor_set (t, i, (double)i);
  g_rand_free (rand);
}
