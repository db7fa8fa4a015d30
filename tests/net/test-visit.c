/* Modules that data select: the same numbers and gradients as modules that are selected explicitly, masks and trees
 * that are drawn, and refused graphs. */
#include "engine/net/loom-net.h"
#include "tests/program/eval.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

#define HEAD    "<graph xmlns='urn:gradloom:graph' version='1' name='visit'>"
#define SAMPLES 6
#define NODES   5

/* Two modules of two inputs, in different orders, with weights. */
#define BODIES                                                                                                         \
  "<module name='layer'><node id='x' op='module_input'/><node id='z' op='module_input'/>"                              \
  "<node id='fc' op='linear' out_features='3'/><node id='act' op='tanh'/><node id='sum' op='add'/>"                    \
  "<node id='y' op='module_output'/><wire from='x' to='fc'/><wire from='fc' to='act'/>"                                \
  "<wire from='act' to='sum.input'/><wire from='z' to='sum.other'/><wire from='sum' to='y'/></module>"                 \
  "<module name='product'><node id='z' op='module_input'/><node id='x' op='module_input'/>"                            \
  "<node id='mul' op='mul'/><node id='y' op='module_output'/><wire from='x' to='mul.input'/>"                          \
  "<wire from='z' to='mul.other'/><wire from='mul' to='y'/></module>"
#define INPUTS "<node id='x' op='input' shape='B,3'/><node id='z' op='input' shape='B,3'/>"
#define SWITCH(bodies, index, dtype)                                                                                   \
  INPUTS "<node id='index' op='input' shape='" index "' dtype='" dtype "'/><node id='s' op='switch' bodies='" bodies   \
         "'/><wire from='x' to='s.x'/><wire from='z' to='s.z'/><wire from='index' to='s.index'/>"

#define TREE(arity, parent)                                                                                            \
  "<node id='x' op='input' shape='B,N,2'/><node id='parent' op='input' shape='" parent "' dtype='i64'/>"               \
  "<node id='t' op='recurse' body='node' " arity "/><wire from='x' to='t.x'/><wire from='parent' to='t.parent'/>"
/* h' = tanh (fc (x) + rec (h)) */
#define CELL                                                                                                           \
  "<module name='node'><node id='x' op='module_input'/><node id='h' op='module_input' shape='B,3'/>"                   \
  "<node id='fc' op='linear' out_features='3'/><node id='rec' op='linear' out_features='3'/>"                          \
  "<node id='sum' op='add'/><node id='act' op='tanh'/><node id='h1' op='module_output' carry='h'/>"                    \
  "<wire from='x' to='fc'/><wire from='h' to='rec'/><wire from='fc' to='sum.input'/>"                                  \
  "<wire from='rec' to='sum.other'/><wire from='sum' to='act'/><wire from='act' to='h1'/></module>"
/* The same with two children, which have separate inputs. */
#define CELL2                                                                                                          \
  "<module name='node'><node id='x' op='module_input'/><node id='h0' op='module_input' shape='B,3'/>"                  \
  "<node id='h1' op='module_input' shape='B,3'/><node id='fc' op='linear' out_features='3'/>"                          \
  "<node id='mul' op='mul'/><node id='less' op='sub'/><node id='sum' op='add'/><node id='act' op='tanh'/>"             \
  "<node id='y' op='module_output' carry='h'/><wire from='x' to='fc'/><wire from='h0' to='mul.input'/>"                \
  "<wire from='h1' to='mul.other'/><wire from='mul' to='less.input'/><wire from='h1' to='less.other'/>"                \
  "<wire from='fc' to='sum.input'/><wire from='less' to='sum.other'/><wire from='sum' to='act'/>"                      \
  "<wire from='act' to='y'/></module>"

typedef struct
{
  LoomFaults *faults;
  LoomGraph *graph;
  LoomNet *net;
  LoomProgram *p;
  Eval *e;
  LoomValue value, grads[8];
} Made;

static void
made_clear (Made *m)
{
  g_clear_pointer (&m->e, eval_free);
  g_clear_pointer (&m->p, loom_program_unref);
  g_clear_pointer (&m->net, loom_net_free);
  g_clear_pointer (&m->graph, loom_graph_unref);
  g_clear_pointer (&m->faults, loom_faults_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Made, made_clear)

static void
read_graph (Made *m, const char *body)
{
  g_autofree char *xml = g_strconcat (HEAD, body, "</graph>", NULL);
  LoomBinding binding = { 0 };
  g_autoptr (GError) error = NULL;

  binding.value['B' - 'A'] = SAMPLES;
  binding.value['N' - 'A'] = NODES;
  m->faults = loom_faults_new ();
  m->graph = loom_graph_read_data (xml, strlen (xml), "visit", m->faults, &error);
  g_assert_no_error (error);
  m->net = loom_net_new (m->graph, &binding, m->faults);
}

static gboolean
lower_port (Made *m, const char *body, const char *port, gboolean training, GError **error)
{
  LoomNetSource wanted;
  LoomLowerOptions options
      = { .training = training, .float_dtype = LOOM_F64, .n_wanted = 1, .wanted = &wanted, .seed = 5 };

  read_graph (m, body);
  for (guint i = 0; i < loom_faults_length (m->faults); i++)
    g_test_message ("%s", loom_faults_get (m->faults, i)->message);
  g_assert_cmpuint (loom_faults_count (m->faults), ==, 0);
  wanted.node = (guint)loom_net_find_port (m->net, port, &wanted.output, error);
  g_assert_no_error (*error);
  m->p = loom_lower (m->net, &options, &m->value, error);
  return m->p != NULL;
}

/* The value of a slot or an input in a program; 0: none. */
static LoomValue
source (const LoomProgram *p, const char *name)
{
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    if (g_str_equal (loom_program_get_input (p, i)->name, name))
      return loom_program_get_input (p, i)->value;
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    if (g_str_equal (loom_program_get_slot (p, i)->name, name))
      return loom_program_get_slot (p, i)->read;
  return 0;
}

/* Computes Σ sin (port), its gradients with respect to named inputs and weights, and those twice. numbers: of the
 * input called `by`. */
static void
compute (Made *m, const char *const *names, const char *by, const gint64 *numbers)
{
  LoomValue wrt[8], loss;
  guint n = 0;
  g_autoptr (GError) error = NULL;

  loss = loom_sum_all (m->p, loom_unary (m->p, LOOM_SCALAR_SIN, m->value));
  for (; names[n] != NULL; n++)
    {
      wrt[n] = source (m->p, names[n]);
      g_assert_cmpuint (wrt[n], !=, 0);
    }
  loom_differentiate (m->p, loss, 0, n, wrt, m->grads, &error);
  g_assert_no_error (error);
  m->e = eval_new (m->p);
  for (LoomValue v = 1; v <= loom_program_n_values (m->p); v++)
    {
      const LoomValueInfo *info = loom_value_info (m->p, v);
      const char *name = info->input >= 0  ? loom_program_get_input (m->p, (guint)info->input)->name
                         : info->slot >= 0 ? loom_program_get_slot (m->p, (guint)info->slot)->name
                                           : NULL;
      LoomTensor *t = eval_tensor (m->e, v);

      for (gint64 i = 0; name != NULL && i < t->count; i++)
        {
          guint which = g_str_has_suffix (name, "weight") ? 1 : g_str_has_suffix (name, "bias") ? 2 : name[0];

          loom_tensor_set (t, i,
                           g_str_equal (name, by)           ? (double)numbers[i]
                           : loom_dtype_is_float (t->dtype) ? 0.7 * sin (which + 1.7 * (double)i)
                                                            : 0);
        }
    }
  eval_run (m->e);
}

static void
assert_same (Made *a, LoomValue va, Made *b, LoomValue vb, const char *what)
{
  const LoomTensor *x = va != 0 ? eval_tensor (a->e, va) : NULL, *y = vb != 0 ? eval_tensor (b->e, vb) : NULL;
  gint64 count = x != NULL ? x->count : y != NULL ? y->count : 0;

  for (gint64 i = 0; i < count; i++)
    {
      double p = x != NULL ? loom_tensor_get (x, i) : 0, q = y != NULL ? loom_tensor_get (y, i) : 0;

      if (!(fabs (p - q) <= 1e-12))
        g_error ("%s differs at %d: %.17g and %.17g", what, (int)i, p, q);
    }
}

/* Both graphs have the same values, and the same gradients with respect to `names` and `others`. */
static void
check_same (const char *body, const char *port, const char *const *names, const char *other, const char *other_port,
            const char *const *others, const char *by, const gint64 *numbers)
{
  g_auto (Made) a = { 0 }, b = { 0 };
  g_autoptr (GError) error = NULL;

  lower_port (&a, body, port, FALSE, &error);
  g_assert_no_error (error);
  lower_port (&b, other, other_port, FALSE, &error);
  g_assert_no_error (error);
  compute (&a, names, by, numbers);
  compute (&b, others, by, numbers);
  assert_same (&a, a.value, &b, b.value, port);
  for (guint i = 0; names[i] != NULL; i++)
    assert_same (&a, a.grads[i], &b, b.grads[i], names[i]);
}

/* ---- switch ----------------------------------------------------------------------- */

static void
test_one (void)
{
  static const char *const names[] = { "x", "z", "s.0.fc.weight", "s.0.fc.bias", NULL };
  static const char *const layer[] = { "x", "z", "m.fc.weight", "m.fc.bias", NULL };
  const gint64 first = 0, second = 1;
  g_auto (Made) a = { 0 }, b = { 0 };
  g_autoptr (GError) error = NULL;

  check_same (BODIES SWITCH ("layer,product", "", "i64"), "s", names,
              BODIES INPUTS "<node id='m' module='layer'/><wire from='x' to='m.x'/><wire from='z' to='m.z'/>", "m",
              layer, "index", &first);
  /* What is not chosen has gradients of zero. */
  lower_port (&a, BODIES SWITCH ("layer,product", "", "i64"), "s", FALSE, &error);
  lower_port (&b, BODIES INPUTS "<node id='m' module='product'/><wire from='x' to='m.x'/><wire from='z' to='m.z'/>",
              "m", FALSE, &error);
  g_assert_no_error (error);
  compute (&a, names, "index", &second);
  compute (&b, (const char *const[]){ "x", "z", NULL }, "index", &second);
  for (guint i = 0; i < 4; i++)
    assert_same (&a, a.grads[i], &b, i < 2 ? b.grads[i] : 0, names[i]);
  assert_same (&a, a.value, &b, b.value, "s");
}

/* Of each sample: the same as all bodies on all samples, and a mask. The third body has the first one's module. */
static void
test_each (void)
{
  static const char *const names[] = { "x", "z", "s.0.fc.weight", "s.0.fc.bias", "s.2.fc.weight", "s.2.fc.bias", NULL };
  static const char *const masked[] = { "x", "z", "a.fc.weight", "a.fc.bias", "c.fc.weight", "c.fc.bias", NULL };
  static const gint64 chosen[][SAMPLES] = { { 0, 2, 1, 1, 0, 2 }, { 1, 1, 1, 1, 1, 1 }, { 2, 2, 0, 2, 2, 2 } };

  for (guint i = 0; i < G_N_ELEMENTS (chosen); i++)
    check_same (
        BODIES SWITCH ("layer, product, layer", "B", "i64"), "s", names,
        BODIES INPUTS
        "<node id='index' op='input' shape='B' dtype='i64'/><node id='column' op='reshape' shape='B,1'/>"
        "<node id='a' module='layer'/><node id='b' module='product'/><node id='c' module='layer'/>"
        "<node id='zero' op='constant' dtype='i64' value='0'/><node id='one' op='constant' dtype='i64' value='1'/>"
        "<node id='is0' op='eq'/><node id='is1' op='eq'/><node id='rest' op='where'/><node id='y' op='where'/>"
        "<wire from='index' to='column'/><wire from='column' to='is0.input'/><wire from='zero' to='is0.other'/>"
        "<wire from='column' to='is1.input'/><wire from='one' to='is1.other'/>"
        "<wire from='x' to='a.x'/><wire from='z' to='a.z'/><wire from='x' to='b.x'/><wire from='z' to='b.z'/>"
        "<wire from='x' to='c.x'/><wire from='z' to='c.z'/><wire from='is1' to='rest.condition'/>"
        "<wire from='b' to='rest.input'/><wire from='c' to='rest.other'/><wire from='is0' to='y.condition'/>"
        "<wire from='a' to='y.input'/><wire from='rest' to='y.other'/>",
        "y", masked, "index", chosen[i]);
}

/* ---- trees -------------------------------------------------------------------------- */

/* The module at node i of a tree, drawn from operators; the weights of all are those of node 0. */
static void
draw_node (GString *xml, const gint64 *parent, guint i, gboolean two)
{
  guint n = 0;

  g_string_append_printf (
      xml,
      "<node id='x%u' op='select' dim='1' index='%u'/><node id='fc%u' op='linear' out_features='3'/>"
      "<node id='sum%u' op='add'/><node id='act%u' op='tanh'/><wire from='x' to='x%u'/>"
      "<wire from='x%u' to='fc%u.input'/><wire from='fc%u' to='sum%u.input'/>"
      "<wire from='sum%u' to='act%u'/>",
      i, i, i, i, i, i, i, i, i, i, i, i);
  if (i > 0)
    g_string_append_printf (xml, "<wire from='fc0.weight' to='fc%u.weight'/><wire from='fc0.bias' to='fc%u.bias'/>", i,
                            i);
  if (two)
    g_string_append_printf (
        xml,
        "<node id='mul%u' op='mul'/><node id='less%u' op='sub'/><wire from='mul%u' to='less%u.input'/>"
        "<wire from='less%u' to='sum%u.other'/>",
        i, i, i, i, i, i);
  else
    g_string_append_printf (xml, "<node id='rec%u' op='linear' out_features='3'/><wire from='rec%u' to='sum%u.other'/>",
                            i, i, i);
  if (!two && i > 0)
    g_string_append_printf (xml, "<wire from='rec0.weight' to='rec%u.weight'/><wire from='rec0.bias' to='rec%u.bias'/>",
                            i, i);
  for (guint c = 0; c < i; c++)
    if (parent[c] == i && two)
      {
        g_string_append_printf (xml, "<wire from='act%u' to='mul%u.%s'/>", c, i, n == 0 ? "input" : "other");
        if (n++ == 1)
          g_string_append_printf (xml, "<wire from='act%u' to='less%u.other'/>", c, i);
      }
    else if (parent[c] == i)
      {
        g_string_append_printf (xml, "<node id='c%u' op='add'/><wire from='act%u' to='c%u.input'/>", c, c, c);
        g_string_append_printf (xml,
                                n == 0 ? "<wire from='zero' to='c%u.other'/>" : "<wire from='c%u' to='c%u.other'/>",
                                n == 0 ? c : n - 1, c);
        n = c + 1;
      }
  for (; two && n < 2; n++)
    g_string_append_printf (xml,
                            n == 0 ? "<wire from='zero' to='mul%u.input'/>"
                                   : "<wire from='zero' to='mul%u.other'/><wire from='zero' to='less%u.other'/>",
                            i, i);
  if (!two)
    g_string_append_printf (xml,
                            n == 0 ? "<wire from='zero' to='rec%u.input'/>" : "<wire from='c%u' to='rec%u.input'/>",
                            n == 0 ? i : n - 1, i);
  g_string_append_printf (xml, "<wire from='act%u' to='all.%u'/>", i, i);
}

static char *
draw_tree (const gint64 *parent, gboolean two)
{
  GString *xml = g_string_new ("<node id='x' op='input' shape='B,N,2'/><node id='zero' op='zeros' shape='B,3'/>"
                               "<node id='all' op='stack' dim='1'/>");

  for (guint i = 0; i < NODES; i++)
    draw_node (xml, parent, i, two);
  return g_string_free (xml, FALSE);
}

static void
test_drawn (void)
{
  static const char *const sum[] = { "x", "t.fc.weight", "t.fc.bias", "t.rec.weight", "t.rec.bias", NULL };
  static const char *const drawn[] = { "x", "fc0.weight", "fc0.bias", "rec0.weight", "rec0.bias", NULL };
  static const char *const two[] = { "x", "t.fc.weight", "t.fc.bias", NULL };
  static const char *const drawn_two[] = { "x", "fc0.weight", "fc0.bias", NULL };
  static const gint64 trees[][NODES] = { { 3, 3, 4, 4, -1 }, { 1, 2, 3, 4, -1 }, { 2, 2, -1, 4, -1 } };

  for (guint k = 0; k < G_N_ELEMENTS (trees); k++)
    {
      g_autofree char *one = draw_tree (trees[k], FALSE), *other = draw_tree (trees[k], TRUE);
      gint64 parent[SAMPLES * NODES];

      for (guint i = 0; i < G_N_ELEMENTS (parent); i++)
        parent[i] = trees[k][i % NODES];
      check_same (CELL TREE ("", "B,N"), "t", sum, one, "all", drawn, "parent", parent);
      check_same (CELL2 TREE ("arity='2'", "B,N"), "t", two, other, "all", drawn_two, "parent", parent);
    }
}

/* ---- random numbers, statistics, size ---------------------------------------------------- */

#define DROPOUT                                                                                                        \
  "<module name='node'><node id='x' op='module_input'/><node id='h' op='module_input' shape='B,2'/>"                   \
  "<node id='sum' op='add'/><node id='drop' op='dropout' p='0.5'/><node id='y' op='module_output'/>"                   \
  "<node id='h1' op='module_output' carry='h'/><wire from='x' to='sum.input'/><wire from='h' to='sum.other'/>"         \
  "<wire from='sum' to='drop.input'/><wire from='drop.out' to='y'/><wire from='sum' to='h1'/></module>"

/* Levels draw different numbers: in a row of nodes with equal values the zeros are at different positions. */
static void
test_dropout (void)
{
  g_auto (Made) m = { 0 };
  g_autoptr (GError) error = NULL;
  gint64 parent[SAMPLES * NODES];
  guint differ = 0, zeros = 0;
  const LoomTensor *y;

  for (guint i = 0; i < G_N_ELEMENTS (parent); i++)
    parent[i] = (gint64[]){ 1, 2, 3, 4, -1 }[i % NODES];
  lower_port (&m, DROPOUT TREE ("", "B,N"), "t.y", TRUE, &error);
  g_assert_no_error (error);
  compute (&m, (const char *const[]){ "x", NULL }, "parent", parent);
  y = eval_tensor (m.e, m.value);
  for (gint64 i = 0; i < y->count; i++)
    {
      gboolean is = loom_tensor_get (y, i) == 0, before = i % (NODES * 2) < 2 || loom_tensor_get (y, i - 2) == 0;

      zeros += is;
      differ += i % (NODES * 2) >= 2 && is != before;
    }
  g_assert_cmpuint (zeros, >, 10);
  g_assert_cmpuint (zeros, <, 50);
  g_assert_cmpuint (differ, >, 5);
}

#define NORM                                                                                                           \
  "<module name='norm'><node id='x' op='module_input'/><node id='bn' op='batch_norm1d'/>"                              \
  "<node id='y' op='module_output'/><wire from='x' to='bn'/><wire from='bn' to='y'/></module>"                         \
  "<module name='plain'><node id='x' op='module_input'/><node id='r' op='relu'/>"                                      \
  "<node id='y' op='module_output'/><wire from='x' to='r'/><wire from='r' to='y'/></module>"                           \
  "<node id='x' op='input' shape='B,3'/><node id='s' op='switch' bodies='norm,plain'/><wire from='x' to='s.x'/>"

static double
running_mean (gint64 chosen)
{
  g_auto (Made) m = { 0 };
  g_autoptr (GError) error = NULL;

  lower_port (&m, NORM "<node id='index' op='input' shape='' dtype='i64'/><wire from='index' to='s.index'/>", "s", TRUE,
              &error);
  g_assert_no_error (error);
  compute (&m, (const char *const[]){ "x", NULL }, "index", &chosen);
  for (guint i = 0; i < loom_program_n_slots (m.p); i++)
    if (g_str_equal (loom_program_get_slot (m.p, i)->name, "s.0.bn.running_mean"))
      return loom_tensor_get (eval_tensor (m.e, loom_program_get_slot (m.p, i)->commit), 0)
             - loom_tensor_get (eval_tensor (m.e, loom_program_get_slot (m.p, i)->read), 0);
  g_assert_not_reached ();
}

/* Of one body for the batch only the chosen one's statistics move; single rows have none. */
static void
test_statistics (void)
{
  g_auto (Made) m = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_cmpfloat (fabs (running_mean (0)), >, 1e-3);
  g_assert_cmpfloat (running_mean (1), ==, 0);
  g_assert_false (
      lower_port (&m, NORM "<node id='index' op='input' shape='B' dtype='i64'/><wire from='index' to='s.index'/>", "s",
                  TRUE, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE);
  g_assert_nonnull (strstr (error->message, "is a statistic of the batch, but a body of s reads only some rows of it"));
}

/* A program has as many instructions for many nodes as for few. */
static void
test_size (void)
{
  guint n[2];

  for (guint k = 0; k < 2; k++)
    {
      g_auto (Made) m = { 0 };
      g_autoptr (GError) error = NULL;

      lower_port (&m,
                  k == 0 ? CELL "<node id='x' op='input' shape='B,40,2'/><node id='parent' op='input' shape='B,40' "
                                "dtype='i64'/><node id='t' op='recurse' body='node'/><wire from='x' to='t.x'/>"
                                "<wire from='parent' to='t.parent'/>"
                         : CELL "<node id='x' op='input' shape='B,4000,2'/><node id='parent' op='input' "
                                "shape='B,4000' dtype='i64'/><node id='t' op='recurse' body='node'/>"
                                "<wire from='x' to='t.x'/><wire from='parent' to='t.parent'/>",
                  "t", FALSE, &error);
      g_assert_no_error (error);
      n[k] = loom_program_n_instrs (m.p);
      for (guint i = 0; i < loom_program_n_instrs (m.p); i++)
        {
          const LoomInstr *instr = loom_program_instr (m.p, i);
          guint n_bodies = 0;
          LoomProgram **body = instr->prim->bodies != NULL ? instr->prim->bodies (instr->attrs, &n_bodies) : NULL;

          for (guint b = 0; b < n_bodies; b++)
            n[k] += loom_program_n_instrs (body[b]);
        }
    }
  g_assert_cmpuint (n[0], ==, n[1]);
}

/* Each node is computed once, so its cost is that for all rows; of branches an even share. */
static void
test_cost (void)
{
  g_auto (Made) tree = { 0 }, choice = { 0 };

  read_graph (&tree, CELL TREE ("", "B,N"));
  g_assert_cmpfloat (loom_net_node (tree.net, (guint)loom_net_find (tree.net, "t.act"))->cost.bytes, ==,
                     SAMPLES * NODES * 3 * 4);
  read_graph (&choice, BODIES SWITCH ("layer,product,product", "B", "i64"));
  g_assert_cmpfloat (loom_net_node (choice.net, (guint)loom_net_find (choice.net, "s.0.act"))->cost.bytes, ==,
                     SAMPLES * 3 * 4 / 3.0);
}

/* ---- faults ------------------------------------------------------------------------------ */

static void
test_faults (void)
{
#define OTHER(ports) "<module name='other'><node id='x' op='module_input'/>" ports "<wire from='x' to='y'/></module>"
#define ONE(op)                                                                                                        \
  "<module name='one'><node id='x' op='module_input'/><node id='f' " op                                                \
  "/><node id='y' op='module_output'/><wire from='x' to='f'/><wire from='f' to='y'/></module>"
#define USE(bodies, index)                                                                                             \
  "<node id='x' op='input' shape='B,3'/><node id='i' op='input' " index "/><node id='s' op='switch' bodies='" bodies   \
  "'/><wire from='x' to='s.x'/><wire from='i' to='s.index'/>"
  static const struct
  {
    const char *body, *node, *port, *sentence;
  } cases[] = {
    { "<node id='s' op='switch'/>", "s", "bodies", "“switch” needs the names of the modules from which it selects." },
    { "<node id='s' op='recurse'/>", "s", "body", "“recurse” needs the name of the module that it runs." },
    { BODIES SWITCH ("layer,produkt", "B", "i64"), "s", "bodies", "There is no module “produkt”." },
    { BODIES INPUTS
      "<node id='s' op='switch' bodies='layer,product'/><wire from='x' to='s.x'/><wire from='z' to='s.z'/>",
      "s", "index", "The input “index” is not wired." },
    { BODIES OTHER ("<node id='y' op='module_output'/>") SWITCH ("layer,other", "B", "i64"), "s", "bodies",
      "“layer” has an input “z”, but “other” does not: all bodies of a switch need the same ports." },
    { ONE ("op='relu'")
          OTHER ("<node id='y' op='module_output'/><node id='w' op='module_output'/><wire from='x' to='w'/>")
              USE ("one,other", "shape='B' dtype='i64'"),
      "s", "bodies", "“other” has an output “w”, but “one” does not: all bodies of a switch need the same ports." },
    { ONE ("op='linear' out_features='2'") OTHER ("<node id='y' op='module_output'/>")
          USE ("one,other", "shape='B' dtype='i64'"),
      "s", "y",
      "“y” is f32 6 × 2 in “one”, but f32 6 × 3 in “other”: all bodies of a switch need the same output types." },
    { ONE ("op='relu'") USE ("one,one", "shape='B'"), "s", "index",
      "index must be one integer (i64), or one for each sample, but is f32 6." },
    { ONE ("op='relu'") USE ("one,one", "shape='7' dtype='i64'"), "s", "x",
      "“x” is f32 6 × 3, but index chooses a body for each sample, so inputs and outputs of the bodies need the "
      "samples as their first dimension." },
    { ONE ("op='relu'") USE ("one' colour='red", "shape='B' dtype='i64'"), "s", "colour",
      "Neither “switch” nor its module “one” has a parameter “colour”." },
    { ONE ("op='relu'") USE ("one' repeat='2", "shape='B' dtype='i64'"), "s", "repeat",
      "“s” cannot be repeated, because numbers in its path identify its bodies." },
    { CELL TREE ("", "B,N,1"), "t", "parent",
      "parent must be an integer (i64) for each node of each tree, but is i64 6 × 5 × 1." },
    { "<module name='node'><node id='x' op='module_input'/><node id='h' op='module_input' shape='B,3'/>"
      "<node id='y' op='module_output' carry='h'/><node id='w' op='module_output'/><wire from='h' to='y'/>"
      "<wire from='x' to='w'/></module>" TREE ("", "B,4"),
      "t", "x",
      "“x” is f32 6 × 5 × 2, but parent is i64 6 × 4: the first two dimensions of both must be the trees and their "
      "nodes." },
    { CELL TREE ("arity='2'", "B,N"), "t", "arity",
      "With arity=\"2\" “node” needs inputs “h0” … “h1” for the children's “h”, and no others." },
    { CELL2 TREE ("", "B,N"), "t", "arity",
      "“node” has inputs for the single children of “h”, so “recurse” needs arity=\"2\"." },
    { ONE ("op='relu'") "<node id='x' op='input' shape='B,N,2'/><node id='p' op='input' shape='B,N' dtype='i64'/>"
                        "<node id='t' op='recurse' body='one'/><wire from='x' to='t.x'/><wire from='p' to='t.parent'/>",
      "t", "body", "“one” carries no value from children to parents. Set carry on a module_output." },
    { CELL TREE ("", "B,N") "<wire from='x' to='t.h'/>", "t", "h",
      "“h” of “t” cannot be wired: its value comes from the children of a node." },
    { CELL2 "<node id='x' op='input' shape='T,B,2'/><node id='s' op='scan' body='node'/><wire from='x' to='s.x'/>", "s",
      "body", "“y” of “node” is carried to “h”, but “h0” has another name: only recurse has an input for each child." },
    { "<module name='n'><node id='parent' op='module_input' shape='B,2'/><node id='x' op='module_input'/>"
      "<node id='y' op='module_output' carry='parent'/><wire from='x' to='y'/></module>"
      "<node id='t' op='recurse' body='n'/>",
      "t", "body", "“n” has an input “parent”, but this is the name of an input of “recurse” itself. Rename it." },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (Made) m = { 0 };
      gboolean found = FALSE;

      read_graph (&m, cases[i].body);
      for (guint k = 0; k < loom_faults_length (m.faults); k++)
        {
          const LoomFault *fault = loom_faults_get (m.faults, k);

          g_test_message ("%s %s: %s", fault->node, fault->port, fault->message);
          found |= g_strcmp0 (fault->node, cases[i].node) == 0 && g_strcmp0 (fault->port, cases[i].port) == 0
                   && g_str_equal (fault->message, cases[i].sentence);
        }
      if (!found || loom_faults_count (m.faults) != 1)
        g_error ("case %u does not say “%s”, or more than that", i, cases[i].sentence);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/visit/one", test_one);
  g_test_add_func ("/visit/each", test_each);
  g_test_add_func ("/visit/drawn", test_drawn);
  g_test_add_func ("/visit/dropout", test_dropout);
  g_test_add_func ("/visit/statistics", test_statistics);
  g_test_add_func ("/visit/size", test_size);
  g_test_add_func ("/visit/cost", test_cost);
  g_test_add_func ("/visit/faults", test_faults);
  return g_test_run ();
}
