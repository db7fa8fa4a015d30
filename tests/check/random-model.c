/* Random models: values, the shapes that make them fit, and operators; see the header. */
#include "tests/check/random-model-private.h"

#include "engine/net/loom-net.h"

#include <string.h>

#define MOST_ELEMENTS 4096

static const LoomBinding sizes = { .value = { ['B' - 'A'] = 4, ['T' - 'A'] = 5, ['N' - 'A'] = 3 } };
/* Samples' symbols but B become numbers. */
static const LoomBinding numbers = { .value = { ['T' - 'A'] = 5, ['N' - 'A'] = 3 } };

gboolean
maker_chance (Maker *self, double p)
{
  return g_rand_double (self->rand) < p;
}

guint
maker_below (Maker *self, guint n)
{
  return (guint)g_rand_int_range (self->rand, 0, (gint32)n);
}

const char *
maker_one_of (Maker *self, guint n, const char *const *texts)
{
  return texts[maker_below (self, n)];
}

ModelValue *
maker_value (Maker *self, guint v)
{
  return &g_array_index (self->scope->values, ModelValue, v);
}

char *
maker_shape_text (const LoomShape *shape)
{
  return loom_shape_to_attribute (shape);
}

gint64
maker_count (const LoomShape *shape)
{
  gint64 count = 1;

  for (int r = 0; r < shape->rank; r++)
    {
      gint64 n = loom_dim_is_unknown (shape->dim[r]) ? -1 : loom_dim_value (shape->dim[r], &sizes);

      if (n < 0)
        return -1;
      count *= n;
    }
  return count;
}

gboolean
maker_batch_axis (const LoomShape *shape, int *at)
{
  *at = -1;
  for (int r = 0; r < shape->rank; r++)
    if (!loom_dim_is_known (shape->dim[r]))
      {
        if (*at >= 0 || !loom_dim_equal (shape->dim[r], loom_dim_symbol ('B')))
          return FALSE;
        *at = r;
      }
  return TRUE;
}

/* ---- nodes ------------------------------------------------------------ */

char *
maker_add_node (Maker *self, const char *element, const char *attributes)
{
  char *id = g_strdup_printf ("n%u", self->next++);

  g_string_append_printf (self->scope->nodes, "  <node id=\"%s\" %s%s%s/>\n", id, element,
                          *attributes != '\0' ? " " : "", attributes);
  if (self->scope->outer == NULL && strcmp (element, "op=\"linear\"") == 0)
    g_ptr_array_add (self->layers, g_strdup (id));
  return id;
}

void
maker_add_wire (Maker *self, guint from, const char *id, const char *port)
{
  ModelValue *value = maker_value (self, from);

  value->is_used = TRUE;
  g_string_append_printf (self->scope->wires, "  <wire from=\"%s\" to=\"%s%s%s\"/>\n", value->end, id,
                          port != NULL ? "." : "", port != NULL ? port : "");
}

guint
maker_add_value (Maker *self, const char *id, const char *port, const LoomType *type)
{
  ModelValue value = { .end = port != NULL ? g_strdup_printf ("%s.%s", id, port) : g_strdup (id), .type = *type };

  g_array_append_val (self->scope->values, value);
  return self->scope->values->len - 1;
}

static guint
leaf (Maker *self, const char *op, const char *attributes, const LoomType *type)
{
  g_autofree char *element = g_strdup_printf ("op=\"%s\"", op), *id = maker_add_node (self, element, attributes);

  return maker_add_value (self, id, NULL, type);
}

guint
maker_pass (Maker *self, guint v, const char *op, const char *port, const char *attributes, const LoomType *type)
{
  g_autofree char *element = g_strdup_printf ("op=\"%s\"", op), *id = maker_add_node (self, element, attributes);

  maker_add_wire (self, v, id, port);
  return maker_add_value (self, id, NULL, type);
}

/* The types and names of the outputs of one node with inputs of these types, in a graph of its own. FALSE: a fault. */
static gboolean
infer (Maker *self, const char *op, const char *attributes, guint n, const guint *from, const char *const *ports,
       GArray *types, GPtrArray *names)
{
  GString *text = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"one\">");
  g_autofree char *xml = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomNet) net = NULL;
  int at;

  for (guint i = 0; i < n; i++)
    {
      const LoomType *type = &maker_value (self, from[i])->type;
      g_autofree char *shape = maker_shape_text (&type->shape);

      g_string_append_printf (text, "<node id=\"i%u\" op=\"input\" shape=\"%s\" dtype=\"%s\"/>", i, shape,
                              loom_dtype_name (type->dtype));
    }
  g_string_append_printf (text, "<node id=\"n\" op=\"%s\" %s/>", op, attributes);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "<wire from=\"i%u\" to=\"n.%s\"/>", i, ports[i]);
  g_string_append (text, "</graph>");
  xml = g_string_free (text, FALSE);
  graph = loom_graph_read_data (xml, strlen (xml), "one", faults, NULL);
  net = graph != NULL ? loom_net_new (graph, NULL, faults) : NULL;
  at = net != NULL && loom_faults_count (faults) == 0 ? loom_net_find (net, "n") : -1;
  if (at < 0)
    return FALSE;
  for (guint o = 0; o < loom_net_node (net, (guint)at)->n_outputs; o++)
    {
      const LoomNetNode *node = loom_net_node (net, (guint)at);

      if (maker_count (&node->output[o].shape) > 4 * MOST_ELEMENTS)
        return FALSE;
      g_array_append_val (types, node->output[o]);
      g_ptr_array_add (names, g_strdup (node->output_spec[o].name));
    }
  return TRUE;
}

/* Attributes that any node may have. */
static char *
reserved_attributes (Maker *self, const LoomOp *op)
{
  /* A CPU does not compute in f16. */
  static const char *const types[] = { "f32", "bf16", "f16" }, *const devices[] = { "cpu", "cpu:0", "cpu:1" };
  const guint n_types = strcmp (self->device, "ref") == 0 && !self->places ? 3 : 2;
  GString *text = g_string_new (NULL);

  if (maker_chance (self, 0.08))
    g_string_append (text, " recompute=\"true\"");
  if (self->types && !loom_op_has_param (op, "dtype") && maker_chance (self, 0.2))
    g_string_append_printf (text, " dtype=\"%s\"", maker_one_of (self, n_types, types));
  if (self->places && !self->scope->is_body && maker_chance (self, 0.35))
    g_string_append_printf (text, " device=\"%s\"", maker_one_of (self, G_N_ELEMENTS (devices), devices));
  if (maker_chance (self, 0.03))
    g_string_append (text, " frozen=\"true\"");
  return g_string_free (text, FALSE);
}

gboolean
maker_add (Maker *self, const char *op, const char *attributes, guint n, const guint *from, const char *const *ports)
{
  g_autoptr (GArray) types = g_array_new (FALSE, FALSE, sizeof (LoomType));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *element = g_strdup_printf ("op=\"%s\"", op), *more = NULL, *all = NULL, *id = NULL;

  if (!infer (self, op, attributes, n, from, ports, types, names))
    return FALSE;
  more = reserved_attributes (self, loom_op (op));
  all = g_strconcat (attributes, more, NULL);
  id = maker_add_node (self, element, g_strchug (all));
  for (guint i = 0; i < n; i++)
    maker_add_wire (self, from[i], id, ports[i]);
  for (guint o = 0; o < types->len; o++)
    maker_add_value (self, id, g_ptr_array_index (names, o), &g_array_index (types, LoomType, o));
  return TRUE;
}

/* ---- fitting ---------------------------------------------------------- */

/* The number of elements of a sample, or of all if the shape has no B. */
static gint64
rest_of (const LoomShape *shape)
{
  gint64 count = 1;

  for (int r = 0; r < shape->rank; r++)
    count *= loom_dim_is_known (shape->dim[r]) ? shape->dim[r].coef : 1;
  return count;
}

static LoomShape
with_batch (gboolean has, gint64 n)
{
  return has ? (LoomShape){ .rank = 2, .dim = { loom_dim_symbol ('B'), loom_dim (n) } } : loom_shape (1, &n);
}

static guint
reshape (Maker *self, guint v, const LoomShape *shape)
{
  const LoomType type = { maker_value (self, v)->type.dtype, *shape };
  g_autofree char *text = maker_shape_text (shape);
  /* A tree's rows are not B. */
  const gboolean any = self->scope->is_rows && shape->rank > 0 && !loom_dim_is_known (shape->dim[0]);
  g_autofree char *attributes = g_strdup_printf ("shape=\"%s%s\"", any ? "-1" : "", text + (any ? 1 : 0));

  return loom_shape_equal (&maker_value (self, v)->type.shape, shape)
             ? v
             : maker_pass (self, v, "reshape", "input", attributes, &type);
}

static guint
swap_axes (Maker *self, guint v, int axis)
{
  LoomType type = maker_value (self, v)->type;
  const LoomDim first = type.shape.dim[0];
  g_autofree char *attributes = g_strdup_printf ("dim0=\"0\" dim1=\"%d\"", axis);

  type.shape.dim[0] = type.shape.dim[axis];
  type.shape.dim[axis] = first;
  return maker_pass (self, v, "transpose", "input", attributes, &type);
}

/* One sample, or their mean. */
static guint
drop_batch (Maker *self, guint v)
{
  LoomType type = maker_value (self, v)->type;
  const gboolean means = loom_dtype_is_float (type.dtype) && maker_chance (self, 0.7);

  memmove (type.shape.dim, type.shape.dim + 1, sizeof (LoomDim) * (gsize)(type.shape.rank - 1));
  type.shape.rank--;
  return means ? maker_pass (self, v, "mean", "input", "dim=\"0\"", &type)
               : maker_pass (self, v, "select", "input", "dim=\"0\" index=\"0\"", &type);
}

static guint
convert (Maker *self, guint v, LoomDType dtype)
{
  LoomType type = maker_value (self, v)->type;
  g_autofree char *attributes = g_strdup_printf ("dtype=\"%s\"", loom_dtype_name (dtype));

  if (type.dtype == dtype)
    return v;
  if (type.dtype == LOOM_F32 && !loom_dtype_is_float (dtype) && maker_chance (self, 0.5))
    v = maker_pass (self, v, "expression", "x", "formula=\"floor(2.9*sigmoid(x))\"", &type);
  type.dtype = dtype;
  return maker_pass (self, v, "cast", "input", attributes, &type);
}

int
maker_fit (Maker *self, guint v, const LoomType *to)
{
  const ModelValue *value = maker_value (self, v);
  int at, want;
  gint64 have, wanted;
  LoomShape flat, front = to->shape;

  if (loom_shape_equal (&value->type.shape, &to->shape))
    return (int)convert (self, v, to->dtype);
  if (!maker_batch_axis (&value->type.shape, &at) || !maker_batch_axis (&to->shape, &want) || (want >= 0 && at < 0)
      || (self->scope->is_rows && at >= 0 && want < 0) || rest_of (&value->type.shape) == 0
      || rest_of (&to->shape) == 0)
    return -1;
  if (at > 0)
    v = swap_axes (self, v, at);
  if (at >= 0 && want < 0)
    v = drop_batch (self, v);
  have = rest_of (&maker_value (self, v)->type.shape);
  wanted = rest_of (&to->shape);
  if (have != wanted)
    {
      flat = with_batch (want >= 0, have);
      v = reshape (self, v, &flat);
    }
  if (have < wanted)
    {
      const gint64 times = (wanted + have - 1) / have;
      const LoomType type = { maker_value (self, v)->type.dtype, with_batch (want >= 0, have * times) };
      g_autofree char *attributes
          = g_strdup_printf (want >= 0 ? "dims=\"1,%" G_GINT64_FORMAT "\"" : "dims=\"%" G_GINT64_FORMAT "\"", times);

      v = maker_pass (self, v, "tile", "input", attributes, &type);
      have *= times;
    }
  if (have > wanted)
    {
      const LoomType type = { maker_value (self, v)->type.dtype, with_batch (want >= 0, wanted) };
      g_autofree char *attributes
          = g_strdup_printf ("dim=\"%d\" start=\"%u\" length=\"%" G_GINT64_FORMAT "\"", want >= 0 ? 1 : 0,
                             maker_below (self, (guint)(have - wanted + 1)), wanted);

      v = maker_pass (self, v, "narrow", "input", attributes, &type);
    }
  if (want > 0)
    {
      front.dim[0] = to->shape.dim[want];
      front.dim[want] = to->shape.dim[0];
    }
  v = reshape (self, v, &front);
  if (want > 0)
    v = swap_axes (self, v, want);
  return (int)convert (self, v, to->dtype);
}

/* A value from nothing. */
static int
make_leaf (Maker *self, const LoomType *type)
{
  g_autofree char *shape = maker_shape_text (&type->shape), *attributes = NULL;
  LoomType drawn = { LOOM_F32, type->shape };
  int at;

  if (!maker_batch_axis (&type->shape, &at) && self->scope->is_rows)
    return -1;
  if (at >= 0 && self->scope->is_rows)
    return -1;
  if (!self->trains && self->scope->outer == NULL && maker_chance (self, 0.8))
    {
      attributes = g_strdup_printf ("shape=\"%s\" dtype=\"%s\"", shape, loom_dtype_name (type->dtype));
      return (int)leaf (self, "input", attributes, type);
    }
  if (!loom_dtype_is_float (type->dtype))
    {
      drawn.dtype = LOOM_I64;
      attributes = g_strdup_printf ("high=\"%d\" shape=\"%s\"", type->dtype == LOOM_BOOL ? 2 : 3, shape);
      return (int)convert (self, leaf (self, "randint", attributes, &drawn), type->dtype);
    }
  attributes = g_strdup_printf ("shape=\"%s\"", shape);
  if (loom_shape_is_concrete (&type->shape) && !self->scope->is_rows && maker_chance (self, 0.7))
    return (int)convert (self, leaf (self, "parameter", attributes, &drawn), type->dtype);
  return (int)convert (self, leaf (self, self->scope->is_rows ? "ones" : "randn", attributes, &drawn), type->dtype);
}

int
maker_pick (Maker *self, LoomDType dtype, gboolean batch)
{
  const guint n = self->scope->values->len;

  for (guint attempt = 0; attempt < 12 && n > 0; attempt++)
    {
      guint i = maker_below (self, n);
      const ModelValue *value;
      int at;

      if (maker_chance (self, 0.6))
        i = MAX (i, maker_below (self, n));
      value = maker_value (self, i);
      if (value->type.dtype == dtype && maker_count (&value->type.shape) > 0
          && maker_count (&value->type.shape) <= MOST_ELEMENTS && maker_batch_axis (&value->type.shape, &at)
          && (!batch || at == 0))
        return (int)i;
    }
  return -1;
}

int
maker_unread (Maker *self)
{
  for (guint i = self->scope->values->len; i > 0; i--)
    {
      const ModelValue *value = maker_value (self, i - 1);

      if (!value->is_used && maker_count (&value->type.shape) > 0)
        return (int)(i - 1);
    }
  return -1;
}

int
maker_input (Maker *self, const LoomType *type)
{
  int at, v = -1;
  const gboolean batch = maker_batch_axis (&type->shape, &at) && at >= 0;

  for (guint attempt = 0; attempt < 2 && v < 0 && maker_chance (self, 0.9); attempt++)
    {
      const gboolean exact = maker_chance (self, loom_dtype_is_float (type->dtype) ? 0.9 : 0.5);
      int from = maker_pick (self, exact ? type->dtype : LOOM_F32, batch);

      v = from >= 0 ? maker_fit (self, (guint)from, type) : -1;
    }
  if (v < 0)
    v = make_leaf (self, type);
  for (guint i = 0; i < self->scope->values->len && v < 0; i++)
    v = maker_fit (self, i, type);
  return v;
}

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

static guint
n_samples (const LoomOp *op)
{
  guint n = 0;

  if (op->category == LOOM_CATEGORY_HIDDEN || op->samples == NULL)
    return 0;
  while (op->samples[n].params != NULL || op->samples[n].inputs[0] != NULL)
    n++;
  return n;
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
  const guint n = n_samples (op);

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
    make_leaf (&self, &any);
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
