/* Random models: operators in random configurations, and the whole graph; see the header. */
#include "tests/check/random-model-private.h"

#include "engine/graph/loom-graph.h"
#include "tests/ops/op-sample.h"

#include <string.h>

/* Samples' symbols but B become numbers. */
static const LoomBinding numbers = { .value = { ['T' - 'A'] = 5, ['N' - 'A'] = 3 } };

/* ---- operators -------------------------------------------------------- */

/* In bodies whose rows are computed independently. */
static const char row_operators[]
    = " linear tanh relu gelu silu sigmoid layer_norm rms_norm mul add sub square softmax "
      "log_softmax sin exp concat dropout maximum where softplus identity narrow ";

static const LoomPortSpec *
ports_of (const LoomOp *op, const char *attributes)
{
  g_autofree char *text = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;

  if (op->dynamic_inputs == NULL)
    return op->inputs;
  text = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"p\"><node id=\"n\" op=\"%s\" %s/></graph>", op->name,
      attributes);
  graph = loom_graph_read_data (text, strlen (text), "p", faults, NULL);
  return loom_op_inputs (op, loom_scope_find_node (loom_graph_root (graph), "n"));
}

static const LoomParamSpec *
find_param (const LoomOp *op, const char *name)
{
  for (const LoomParamSpec *spec = op->params; spec != NULL && spec->name != NULL; spec++)
    if (strcmp (spec->name, name) == 0)
      return spec;
  return NULL;
}

/* Another value near the old one (NULL: there is none), which the operator may refuse. NULL: none occurs to it. */
static char *
other_value (Maker *self, const LoomParamSpec *spec, const char *old)
{
  static const char *const types[] = { "f32", "i64", "bool", "bf16", "f16", "i32" };
  const char *text = old != NULL ? old : spec->def != NULL ? spec->def : "";
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  GString *list;
  double x;

  if (spec->choices != NULL)
    {
      const guint n = g_strv_length ((char **)spec->choices);

      return n > 0 ? g_strdup (spec->choices[maker_below (self, n)]) : NULL;
    }
  switch (spec->type)
    {
    case LOOM_PARAM_BOOL:
      return g_strdup (maker_chance (self, 0.5) ? "true" : "false");
    case LOOM_PARAM_DTYPE:
      return g_strdup (maker_one_of (self, G_N_ELEMENTS (types), types));
    case LOOM_PARAM_INT:
      return g_strdup_printf ("%d", (int)CLAMP (g_ascii_strtod (text, NULL), -100, 100)
                                        + g_rand_int_range (self->rand, -2, 4));
    case LOOM_PARAM_FLOAT:
      x = g_ascii_strtod (text, NULL);
      x = maker_chance (self, 0.5) ? x * 0.5 : x + 0.25 * maker_below (self, 5);
      return g_strdup (g_ascii_formatd (number, sizeof number, "%.6g", x));
    case LOOM_PARAM_INTS:
      if (*text == '\0')
        return NULL;
      list = g_string_new (NULL);
      for (const char *at = text; at != NULL; at = strchr (at, ','))
        {
          at += *at == ',';
          g_string_append_printf (list, "%s%d", list->len > 0 ? "," : "",
                                  (int)g_ascii_strtoll (at, NULL, 10) + g_rand_int_range (self->rand, -1, 2));
        }
      return g_string_free (list, FALSE);
    case LOOM_PARAM_FLOATS:
    case LOOM_PARAM_ENUM:
    case LOOM_PARAM_SHAPE:
    case LOOM_PARAM_STRING:
    case LOOM_PARAM_PATH:
      break;
    }
  return NULL;
}

static void
append_attribute (GString *text, const char *name, const char *value)
{
  g_autofree char *escaped = g_markup_escape_text (value, -1);

  g_string_append_printf (text, "%s%s=\"%s\"", text->len > 0 ? " " : "", name, escaped);
}

/* A shape in which all symbols but B are numbers. */
static char *
number_shape (const char *text)
{
  g_auto (GStrv) dims = g_strsplit (text, ",", -1);
  GString *all = g_string_new (NULL);

  for (guint i = 0; dims[i] != NULL; i++)
    {
      LoomShape shape;
      g_autofree char *one = NULL;

      if (dims[i][0] != '-' && dims[i][0] != '\0' && loom_shape_parse (dims[i], &shape))
        {
          shape = loom_shape_bind (&shape, &numbers);
          one = maker_shape_text (&shape);
        }
      g_string_append_printf (all, "%s%s", i > 0 ? "," : "", one != NULL ? one : dims[i]);
    }
  return g_string_free (all, FALSE);
}

/* The attributes of a sample; with others, up to two of them have other values. */
static char *
attributes_of (Maker *self, const LoomOp *op, const LoomSample *sample, gboolean others)
{
  g_auto (GStrv) params = g_strsplit (sample->params != NULL ? sample->params : "", " ", -1);
  GString *text = g_string_new (NULL);
  g_autoptr (GHashTable) given = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  guint n_params = 0;

  for (guint i = 0; params[i] != NULL; i++)
    {
      char *equals = strchr (params[i], '=');
      const LoomParamSpec *spec;

      if (equals == NULL)
        continue;
      *equals = '\0';
      spec = find_param (op, params[i]);
      g_hash_table_insert (given, g_strdup (params[i]),
                           spec != NULL && spec->type == LOOM_PARAM_SHAPE ? number_shape (equals + 1)
                                                                          : g_strdup (equals + 1));
    }
  while (op->params != NULL && op->params[n_params].name != NULL)
    n_params++;
  for (guint k = 0; others && n_params > 0 && k < 2; k++)
    {
      const LoomParamSpec *spec = &op->params[maker_below (self, n_params)];
      char *value = other_value (self, spec, g_hash_table_lookup (given, spec->name));

      if (value != NULL)
        g_hash_table_insert (given, g_strdup (spec->name), value);
    }
  for (guint i = 0; params[i] != NULL; i++)
    {
      const char *value = g_hash_table_lookup (given, params[i]);

      if (value == NULL)
        continue;
      append_attribute (text, params[i], value);
      g_hash_table_remove (given, params[i]);
    }
  for (guint k = 0; k < n_params; k++)
    {
      const char *value = g_hash_table_lookup (given, op->params[k].name);

      if (value != NULL)
        append_attribute (text, op->params[k].name, value);
    }
  return g_string_free (text, FALSE);
}

/* "f32:B,T,3"; symbols but B become numbers. */
static LoomType
parse_type (const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", 2);
  LoomType type = { .dtype = 0 };

  while (type.dtype < LOOM_N_DTYPES && strcmp (loom_dtype_name (type.dtype), parts[0]) != 0)
    type.dtype++;
  g_assert_true (type.dtype < LOOM_N_DTYPES && loom_shape_parse (parts[1], &type.shape));
  type.shape = loom_shape_bind (&type.shape, &numbers);
  return type;
}

static void
add_sample (Maker *self, const LoomOp *op, const LoomSample *sample)
{
  const gboolean others = maker_chance (self, 0.4);
  g_autofree char *attributes = attributes_of (self, op, sample, others);
  const LoomPortSpec *ports = ports_of (op, attributes);
  const gboolean variadic = op->inputs != NULL && (op->inputs[0].flags & LOOM_PORT_VARIADIC);
  guint from[G_N_ELEMENTS (sample->inputs)], n = 0;
  char number[G_N_ELEMENTS (sample->inputs)][4];
  const char *name[G_N_ELEMENTS (sample->inputs)];

  for (guint i = 0; i < G_N_ELEMENTS (sample->inputs) && sample->inputs[i] != NULL; i++)
    {
      LoomType type;
      int v;

      if (sample->inputs[i][0] == '\0')
        continue;
      type = parse_type (sample->inputs[i]);
      v = maker_input (self, &type);
      if (v < 0)
        return;
      g_snprintf (number[n], sizeof number[n], "%u", i);
      name[n] = variadic ? number[n] : ports[i].name;
      from[n++] = (guint)v;
    }
  if (!maker_add (self, op->name, attributes, n, from, name) && others)
    {
      g_autofree char *plain = attributes_of (self, op, sample, FALSE);

      maker_add (self, op->name, plain, n, from, name);
    }
}

/* Sizes that data decide are impossible before a loss and in bodies. */
static gboolean
is_allowed (const Maker *self, const LoomOp *op)
{
  g_autofree char *word = g_strdup_printf (" %s ", op->name);

  return !(op->count_size != NULL && (self->trains || self->scope->outer != NULL))
         && (!self->scope->is_rows || strstr (row_operators, word) != NULL);
}

void
maker_operator (Maker *self, const LoomOp *op)
{
  const guint n = op_sample_count (op);

  if (!is_allowed (self, op))
    return;
  if (strcmp (op->name, "gradient") == 0 && self->scope->outer == NULL)
    maker_gradient (self);
  else if (strcmp (op->name, "assign") == 0 && self->scope->outer == NULL)
    maker_assign (self);
  else if (n > 0 && strcmp (op->name, "gradient") != 0)
    add_sample (self, op, &op->samples[maker_below (self, n)]);
}

void
maker_grow (Maker *self)
{
  const LoomOp *const *ops = loom_ops ();

  if (self->scope->outer == NULL ? maker_chance (self, 0.25)
                                 : self->scope->outer->outer == NULL && maker_chance (self, 0.05))
    maker_block (self);
  else
    maker_operator (self, ops[maker_below (self, g_strv_length ((char **)ops))]);
}

/* ---- the graph -------------------------------------------------------- */

static void
value_clear (gpointer value)
{
  g_free (((ModelValue *)value)->end);
}

static void
add_dataset (Maker *self)
{
  static const char *const sources[]
      = { "source=\"random\" in_features=\"12\" out_features=\"3\" n=\"32\" n_test=\"8\"",
          "source=\"random\" in_features=\"5\" out_features=\"1\" n=\"32\" n_test=\"8\"",
          "source=\"spirals\" n=\"32\" n_test=\"8\"",
          "source=\"xor\" n=\"32\" n_test=\"8\"",
          "source=\"linear\" n=\"32\" n_test=\"8\"",
          "source=\"adding\" length=\"6\" n=\"32\" n_test=\"8\"",
          "source=\"copy\" n=\"32\" n_test=\"8\"",
          "source=\"arithmetic-trees\" leaves=\"3\" n=\"32\" n_test=\"8\"",
          "source=\"shapes\" size=\"8\" n=\"32\" n_test=\"8\"",
          "source=\"dates\" n=\"32\" n_test=\"8\"" };
  const LoomType type = { LOOM_F32, { .rank = 2, .dim = { loom_dim_symbol ('B'), loom_dim (6) } } };
  const guint at = self->scope->values->len;

  maker_add (self, "dataset", maker_one_of (self, G_N_ELEMENTS (sources), sources), 0, NULL, NULL);
  g_assert_cmpuint (self->scope->values->len, >, at);
  /* A data set of integers alone gives layers little to begin with. */
  if (maker_value (self, at)->type.dtype != LOOM_F32 || maker_chance (self, 0.2))
    maker_fit (self, at, &type);
}

char *
random_model_text (guint32 seed, guint attempt)
{
  static const char *const precisions[] = { "f32", "f32", "bf16", "f16", "f64" };
  const guint32 seeds[] = { seed, attempt };
  const LoomOp *const *ops = loom_ops ();
  const LoomOp *first = ops[seed % g_strv_length ((char **)ops)];
  ModelScope root = { .nodes = g_string_new (NULL),
                      .wires = g_string_new (NULL),
                      .values = g_array_new (FALSE, FALSE, sizeof (ModelValue)) };
  Maker self = { .rand = g_rand_new_with_seed_array (seeds, G_N_ELEMENTS (seeds)),
                 .seed = seed,
                 .modules = g_string_new (NULL),
                 .layers = g_ptr_array_new_with_free_func (g_free),
                 .scope = &root };
  const LoomType any = { LOOM_F32, { .rank = 2, .dim = { loom_dim_symbol ('B'), loom_dim (6) } } };
  g_autofree char *train = NULL;
  char *text;
  guint n;

  g_array_set_clear_func (root.values, value_clear);
  self.trains = first->count_size == NULL && (first->role == LOOM_ROLE_DATASET || maker_chance (&self, 0.85))
                && first->role != LOOM_ROLE_INPUT;
  self.precision = maker_one_of (&self, G_N_ELEMENTS (precisions), precisions);
  self.device = strcmp (self.precision, "f64") == 0 || strcmp (self.precision, "f16") == 0 || maker_chance (&self, 0.1)
                    ? "ref"
                    : "cpu";
  self.places = strcmp (self.precision, "f16") != 0 && maker_chance (&self, 0.2);
  self.types = maker_chance (&self, 0.15);
  self.splits = self.trains && maker_chance (&self, 0.15);
  if (self.trains)
    add_dataset (&self);
  else
    maker_leaf (&self, &any);
  if (first->role == LOOM_ROLE_LOOP || first->category == LOOM_CATEGORY_HIDDEN)
    for (guint i = 0; i < 3; i++)
      maker_block (&self);
  else
    maker_operator (&self, first);
  n = 2 + maker_below (&self, maker_chance (&self, 0.2) ? 16 : 7);
  for (guint i = 0; i < n; i++)
    maker_grow (&self);
  if (self.trains)
    {
      maker_loss (&self);
      train = maker_train (&self);
    }
  text = g_strdup_printf ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph xmlns=\"urn:gradloom:graph\" "
                          "version=\"1\" name=\"model-%u\">\n%s%s%s%s</graph>\n",
                          seed, self.modules->str, root.nodes->str, root.wires->str, train != NULL ? train : "");
  g_rand_free (self.rand);
  g_string_free (self.modules, TRUE);
  g_string_free (root.nodes, TRUE);
  g_string_free (root.wires, TRUE);
  g_array_unref (root.values);
  g_ptr_array_unref (self.layers);
  g_free (self.loss);
  g_free (self.metric);
  return text;
}
