/* Blocks of random models: modules and their repeats, loops, branches, trees, chains of layers, gradients and assigns.
 *
 * The body of a module is grown like the graph around it, from values of the types that its inputs will have. So the
 * types of its outputs are known before the module is used. */
#include "tests/check/random-model-private.h"

#include <string.h>

static LoomType
batch_type (LoomDType dtype, gint64 a, gint64 b)
{
  LoomType type = { dtype, { .rank = b > 0 ? 3 : 2, .dim = { loom_dim_symbol ('B'), loom_dim (a) } } };

  if (b > 0)
    type.shape.dim[2] = loom_dim (b);
  return type;
}

/* ---- bodies ----------------------------------------------------------- */

static void
begin_body (Maker *self, ModelScope *body, gboolean is_body, gboolean is_rows)
{
  *body = (ModelScope){ .nodes = g_string_new (NULL),
                        .wires = g_string_new (NULL),
                        .values = g_array_new (FALSE, FALSE, sizeof (ModelValue)),
                        .is_body = is_body || self->scope->is_body,
                        .is_rows = is_rows || self->scope->is_rows,
                        .outer = self->scope };
  self->scope = body;
}

/* An input of the body, with further attributes of its node; its value. */
static guint
body_input (Maker *self, const char *id, const char *attributes, const LoomType *type)
{
  g_string_append_printf (self->scope->nodes, "    <node id=\"%s\" op=\"module_input\"%s%s/>\n", id,
                          *attributes != '\0' ? " " : "", attributes);
  return maker_add_value (self, id, NULL, type);
}

static void
body_output (Maker *self, const char *id, const char *attributes, guint v)
{
  g_string_append_printf (self->scope->nodes, "    <node id=\"%s\" op=\"module_output\"%s%s/>\n", id,
                          *attributes != '\0' ? " " : "", attributes);
  maker_add_wire (self, v, id, NULL);
}

static void
grow_body (Maker *self)
{
  for (guint i = 1 + maker_below (self, 4); i > 0; i--)
    maker_grow (self);
}

/* Ends the body and returns the name of its module (transfer full). */
static char *
end_body (Maker *self)
{
  ModelScope *body = self->scope;
  char *name = g_strdup_printf ("m%u", self->next++);

  g_string_append_printf (self->modules, "  <module name=\"%s\">\n%s%s  </module>\n", name, body->nodes->str,
                          body->wires->str);
  self->scope = body->outer;
  g_string_free (body->nodes, TRUE);
  g_string_free (body->wires, TRUE);
  for (guint i = 0; i < body->values->len; i++)
    g_free (g_array_index (body->values, ModelValue, i).end);
  g_array_unref (body->values);
  return name;
}

/* A late float value of the body whose first dimension is B, as this type or (to NULL) as it is. */
static guint
body_result (Maker *self, const LoomType *to)
{
  int v = maker_pick (self, LOOM_F32, TRUE), fitted = v >= 0 && to != NULL ? maker_fit (self, (guint)v, to) : v;

  if (fitted >= 0)
    return (guint)fitted;
  return (guint)(to != NULL ? maker_fit (self, 0, to) : 0);
}

/* Attributes that an instance of a module may have. */
static void
append_instance_attributes (Maker *self, GString *text)
{
  if (maker_chance (self, 0.3))
    g_string_append (text, " recompute=\"true\"");
  if (self->types && maker_chance (self, 0.3))
    g_string_append_printf (text, " dtype=\"%s\"", strcmp (self->device, "ref") == 0 && !self->places ? "f16" : "bf16");
  if (self->places && !self->scope->is_body && maker_chance (self, 0.4))
    g_string_append_printf (text, " device=\"cpu:%u\"", maker_below (self, 2));
  if (maker_chance (self, 0.05))
    g_string_append (text, " frozen=\"true\"");
}

static void
append_repeat (Maker *self, GString *text)
{
  if (!maker_chance (self, 0.5))
    return;
  g_string_append_printf (text, " repeat=\"%u\"", 1 + maker_below (self, 3));
  if (maker_chance (self, 0.35))
    g_string_append (text, " share=\"true\"");
}

static char *
finish_node (Maker *self, GString *element)
{
  g_autofree char *text = g_string_free (element, FALSE);

  return maker_add_node (self, text, "");
}

/* ---- blocks ----------------------------------------------------------- */

static void
add_module (Maker *self)
{
  const LoomType x = batch_type (LOOM_F32, 2 + maker_below (self, 5), maker_chance (self, 0.3) ? 4 : 0),
                 z = batch_type (LOOM_F32, 3, 0);
  const gboolean takes_two = maker_chance (self, 0.3), returns_two = maker_chance (self, 0.3);
  int from = maker_input (self, &x), also = takes_two ? maker_input (self, &z) : -1;
  g_autofree char *module = NULL, *id = NULL;
  ModelScope body;
  LoomType more;
  GString *element;

  if (from < 0 || (takes_two && also < 0))
    return;
  begin_body (self, &body, FALSE, FALSE);
  body_input (self, "x", "", &x);
  if (takes_two)
    body_input (self, "z", "", &z);
  grow_body (self);
  body_output (self, "y", "", body_result (self, &x));
  if (returns_two)
    {
      guint v = body_result (self, NULL);

      more = maker_value (self, v)->type;
      body_output (self, "more", "", v);
    }
  module = end_body (self);
  element = g_string_new (NULL);
  g_string_append_printf (element, "module=\"%s\"", module);
  append_repeat (self, element);
  append_instance_attributes (self, element);
  id = finish_node (self, element);
  maker_add_wire (self, (guint)from, id, "x");
  if (takes_two)
    maker_add_wire (self, (guint)also, id, "z");
  maker_add_value (self, id, "y", &x);
  if (returns_two)
    maker_add_value (self, id, "more", &more);
}

/* A type with one more dimension, the steps of a sequence. */
static LoomType
with_steps (const LoomType *type, int axis, gint64 steps)
{
  LoomType all = *type;

  memmove (all.shape.dim + axis + 1, all.shape.dim + axis, sizeof (LoomDim) * (gsize)(all.shape.rank - axis));
  all.shape.dim[axis] = loom_dim (steps);
  all.shape.rank++;
  return all;
}

static void
add_scan (Maker *self)
{
  const LoomType x = batch_type (LOOM_F32, 2 + maker_below (self, 4), 0), z = batch_type (LOOM_F32, 2, 0);
  const gint64 width = 2 + maker_below (self, 4), steps = 2 + maker_below (self, 3);
  const LoomType h = batch_type (LOOM_F32, width, 0);
  const int axis = maker_chance (self, 0.6) ? 1 : 0;
  const LoomType xs = with_steps (&x, axis, steps);
  const LoomType lengths = { LOOM_I64, { .rank = 1, .dim = { loom_dim_symbol ('B') } } };
  const gboolean takes_two = maker_chance (self, 0.4), is_short = maker_chance (self, 0.2),
                 repeats = maker_chance (self, 0.4);
  int from = maker_input (self, &xs), first = maker_chance (self, 0.5) ? maker_input (self, &h) : -1,
      also = takes_two ? maker_input (self, &z) : -1, ends = is_short ? maker_input (self, &lengths) : -1;
  g_autofree char *module = NULL, *id = NULL, *carried = NULL;
  ModelScope body;
  LoomType y, ys;
  GString *element;
  guint v;

  if (from < 0 || (takes_two && also < 0) || (is_short && ends < 0))
    return;
  begin_body (self, &body, TRUE, FALSE);
  body_input (self, "x", "", &x);
  carried = g_strdup_printf ("shape=\"B,%" G_GINT64_FORMAT "\"", width);
  body_input (self, "h", carried, &h);
  if (takes_two)
    body_input (self, "z", "", &z);
  grow_body (self);
  /* The first output feeds the next copy of a repeat. */
  v = body_result (self, repeats ? &x : NULL);
  y = maker_value (self, v)->type;
  body_output (self, "y", "", v);
  body_output (self, "h1", "carry=\"h\"", body_result (self, &h));
  module = end_body (self);
  element = g_string_new (NULL);
  g_string_append_printf (element, "op=\"scan\" body=\"%s\" sequence=\"x\" axis=\"%d\"", module, axis);
  if (maker_chance (self, 0.3))
    g_string_append (element, " reverse=\"true\"");
  if (maker_chance (self, 0.2))
    g_string_append (element, " hoist=\"false\"");
  if (repeats)
    append_repeat (self, element);
  append_instance_attributes (self, element);
  id = finish_node (self, element);
  maker_add_wire (self, (guint)from, id, "x");
  if (first >= 0)
    maker_add_wire (self, (guint)first, id, "h");
  if (takes_two)
    maker_add_wire (self, (guint)also, id, "z");
  if (is_short)
    maker_add_wire (self, (guint)ends, id, "lengths");
  maker_add_value (self, id, "h1", &h);
  ys = with_steps (&y, axis, steps);
  maker_add_value (self, id, "y", &ys);
}

static void
add_switch (Maker *self)
{
  const gboolean per_sample = maker_chance (self, 0.5);
  const LoomType x = batch_type (LOOM_F32, 2 + maker_below (self, 4), 0),
                 y = batch_type (LOOM_F32, 2 + maker_below (self, 4), 0);
  const LoomType index = { LOOM_I64, { .rank = per_sample ? 1 : 0, .dim = { loom_dim_symbol ('B') } } };
  const guint n = 1 + maker_below (self, 3);
  int from = maker_input (self, &x), which = maker_input (self, &index);
  GString *modules = g_string_new (NULL), *element;
  g_autofree char *id = NULL;

  for (guint i = 0; i < n && from >= 0 && which >= 0; i++)
    {
      ModelScope body;
      g_autofree char *module = NULL;

      begin_body (self, &body, TRUE, per_sample);
      body_input (self, "x", "", &x);
      grow_body (self);
      body_output (self, "y", "", body_result (self, &y));
      module = end_body (self);
      g_string_append_printf (modules, "%s%s", i > 0 ? "," : "", module);
    }
  if (from >= 0 && which >= 0)
    {
      element = g_string_new (NULL);
      g_string_append_printf (element, "op=\"switch\" bodies=\"%s\"", modules->str);
      append_instance_attributes (self, element);
      id = finish_node (self, element);
      maker_add_wire (self, (guint)from, id, "x");
      maker_add_wire (self, (guint)which, id, "index");
      maker_add_value (self, id, "y", &y);
    }
  g_string_free (modules, TRUE);
}

static void
add_tree (Maker *self)
{
  const LoomType row = batch_type (LOOM_F32, 2 + maker_below (self, 3), 0);
  const gint64 width = 2 + maker_below (self, 3), nodes = 3 + maker_below (self, 3);
  const LoomType h = batch_type (LOOM_F32, width, 0);
  const LoomType rows = with_steps (&row, 1, nodes), parents = batch_type (LOOM_I64, nodes, 0);
  const LoomType states = with_steps (&h, 1, nodes);
  const gboolean is_binary = maker_chance (self, 0.5);
  int from = maker_input (self, &rows), parent = maker_input (self, &parents);
  g_autofree char *module = NULL, *id = NULL, *carried = NULL;
  ModelScope body;
  GString *element;
  guint last;

  if (from < 0 || parent < 0)
    return;
  begin_body (self, &body, TRUE, TRUE);
  body_input (self, "x", "", &row);
  carried = g_strdup_printf ("shape=\"B,%" G_GINT64_FORMAT "\"", width);
  last = body_input (self, is_binary ? "h0" : "h", carried, &h);
  if (is_binary)
    body_input (self, "h1", carried, &h);
  grow_body (self);
  {
    /* The children are read, whatever grew. */
    const LoomType any = h;
    const guint pair[] = { body_result (self, &any), last };

    if (maker_add (self, "add", "", 2, pair, (const char *const[]){ "input", "other" }))
      last = self->scope->values->len - 1;
  }
  body_output (self, "y", "carry=\"h\"", last);
  module = end_body (self);
  element = g_string_new (NULL);
  g_string_append_printf (element, "op=\"recurse\" body=\"%s\"%s", module, is_binary ? " arity=\"2\"" : "");
  append_instance_attributes (self, element);
  id = finish_node (self, element);
  maker_add_wire (self, (guint)from, id, "x");
  maker_add_wire (self, (guint)parent, id, "parent");
  maker_add_value (self, id, "y", &states);
}

/* The node reads the weight of another one of the same size. */
static void
tie_weights (Maker *self, guint v, guint other)
{
  g_auto (GStrv) to = g_strsplit (maker_value (self, v)->end, ".", 2),
                 from = g_strsplit (maker_value (self, other)->end, ".", 2);

  g_string_append_printf (self->scope->wires, "  <wire from=\"%s.weight\" to=\"%s.weight\"/>\n", from[0], to[0]);
}

/* Layers in a row, as networks have them, with a sum around some of them. */
static void
add_layers (Maker *self)
{
  static const char *const images[]
      = { "conv2d", "batch_norm2d", "relu", "max_pool2d", "avg_pool2d", "gelu" },
      *const rows[] = { "linear", "layer_norm", "relu", "gelu", "dropout", "silu", "batch_norm1d", "rms_norm", "tanh" };
  const gboolean is_image = maker_chance (self, 0.4);
  LoomType type = batch_type (LOOM_F32, is_image ? 2 + maker_below (self, 3) : 4 + maker_below (self, 5), 0);
  int v, linear = -1;
  guint before;

  if (is_image)
    {
      type.shape.rank = 4;
      type.shape.dim[2] = type.shape.dim[3] = loom_dim (6);
    }
  v = maker_input (self, &type);
  before = (guint)v;
  for (guint i = 2 + maker_below (self, 5); i > 0 && v >= 0; i--)
    {
      const char *op = is_image ? maker_one_of (self, G_N_ELEMENTS (images), images)
                                : maker_one_of (self, G_N_ELEMENTS (rows), rows);
      const gint64 width = maker_value (self, (guint)v)->type.shape.dim[1].coef;
      g_autofree char *attributes = NULL;
      const guint from = (guint)v;

      if (self->scope->is_rows && g_str_has_prefix (op, "batch_norm"))
        continue;
      if (strcmp (op, "conv2d") == 0)
        attributes
            = g_strdup_printf ("out_channels=\"%" G_GINT64_FORMAT "\" kernel_size=\"%d\" padding=\"%d\" bias=\"%s\"",
                               width, i % 2 ? 3 : 1, i % 2 ? 1 : 0, maker_chance (self, 0.5) ? "true" : "false");
      else if (strcmp (op, "linear") == 0)
        attributes = g_strdup_printf ("out_features=\"%" G_GINT64_FORMAT "\"%s", width,
                                      self->splits && self->scope->outer == NULL && width % 2 == 0
                                          ? maker_chance (self, 0.5) ? " split=\"column\"" : " split=\"row\""
                                          : "");
      else if (g_str_has_suffix (op, "pool2d"))
        attributes = g_strdup ("kernel_size=\"3\" stride=\"1\" padding=\"1\"");
      if (maker_add (self, op, attributes != NULL ? attributes : "", 1, &from, (const char *const[]){ "input" }))
        v = (int)self->scope->values->len - 1;
      if (strcmp (op, "linear") == 0 && (guint)v != from)
        {
          if (linear >= 0 && !self->splits && maker_chance (self, 0.4))
            tie_weights (self, (guint)v, (guint)linear);
          linear = v;
        }
      if (maker_chance (self, 0.25))
        {
          const guint pair[] = { (guint)v, before };

          if (maker_add (self, "add", "", 2, pair, (const char *const[]){ "input", "other" }))
            v = (int)self->scope->values->len - 1;
          before = (guint)v;
        }
    }
}

/* A positive definite matrix and what needs one. */
static void
add_cholesky (Maker *self)
{
  const LoomType matrix = { LOOM_F32, loom_shape (2, (const gint64[]){ 3, 3 }) };
  int v = maker_input (self, &matrix);
  guint pair[2], product;

  if (v < 0)
    return;
  pair[0] = pair[1] = (guint)v;
  if (!maker_add (self, "einsum", "equation=\"ij,kj-&gt;ik\"", 2, pair, (const char *const[]){ "0", "1" }))
    return;
  product = self->scope->values->len - 1;
  if (!maker_add (self, "eye", "n=\"3\"", 0, NULL, NULL))
    return;
  pair[0] = product;
  pair[1] = self->scope->values->len - 1;
  if (!maker_add (self, "add", "", 2, pair, (const char *const[]){ "input", "other" }))
    return;
  pair[0] = self->scope->values->len - 1;
  maker_add (self, "cholesky", "", 1, pair, (const char *const[]){ "input" });
}

void
maker_block (Maker *self)
{
  static void (*const blocks[]) (Maker *)
      = { add_module, add_module, add_layers,     add_layers,   add_layers, add_scan,
          add_switch, add_tree,   maker_gradient, maker_assign, add_scan,   add_cholesky };
  const gboolean is_root = self->scope->outer == NULL;
  guint which = maker_below (self, G_N_ELEMENTS (blocks));

  if (!is_root && (blocks[which] == maker_gradient || blocks[which] == maker_assign))
    which = 2;
  if (self->scope->is_rows)
    which = 2;
  blocks[which](self);
}

/* The gradient of a small function of a value, or of another one. */
void
maker_gradient (Maker *self)
{
  const LoomType scalar = { LOOM_F32, { .rank = 0 } };
  int v = maker_pick (self, LOOM_F32, FALSE), other = maker_chance (self, 0.7) ? v : maker_pick (self, LOOM_F32, FALSE);
  LoomType type;
  guint of;
  g_autofree char *id = NULL;

  if (v < 0 || other < 0)
    return;
  type = maker_value (self, (guint)v)->type;
  of = maker_pass (self, (guint)v, "expression", "x", "formula=\"sin(x)+0.1*x*x\"", &type);
  of = maker_pass (self, of, "sum", "input", "", &scalar);
  type = maker_value (self, (guint)other)->type;
  id = maker_add_node (self, "op=\"gradient\"", "");
  maker_add_wire (self, of, id, "of");
  maker_add_wire (self, (guint)other, id, "wrt");
  maker_add_value (self, id, NULL, &type);
}

/* A parameter with a new value at the end of the step. */
void
maker_assign (Maker *self)
{
  const LoomType type = { LOOM_F32, loom_shape (2, (const gint64[]){ 3, 4 }) };
  int v = maker_pick (self, LOOM_F32, FALSE), value = v >= 0 ? maker_fit (self, (guint)v, &type) : -1;
  g_autofree char *parameter = NULL, *id = NULL;
  guint target;

  if (value < 0)
    return;
  parameter = maker_add_node (self, "op=\"parameter\"", "shape=\"3,4\"");
  target = maker_add_value (self, parameter, NULL, &type);
  id = maker_add_node (self, "op=\"assign\"", "");
  maker_add_wire (self, target, id, "target");
  maker_add_wire (self, (guint)value, id, "value");
  maker_add_value (self, id, NULL, &type);
}
