/* Loops over modules: the same numbers and gradients as recurrent layers and unrolled graphs. */
#include "engine/core/loom-hash.h"
#include "tests/net/scan-graph.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

static void
lower_ports (Made *m, const char *body, gint64 steps, gboolean training, guint n, const char *const *ports)
{
  LoomNetSource wanted[2];
  LoomLowerOptions options
      = { .training = training, .float_dtype = LOOM_F64, .n_wanted = n, .wanted = wanted, .seed = 5 };
  g_autoptr (GError) error = NULL;

  read_graph (m, body, steps);
  for (guint i = 0; i < loom_faults_length (m->faults); i++)
    g_test_message ("%s", loom_faults_get (m->faults, i)->message);
  g_assert_cmpuint (loom_faults_count (m->faults), ==, 0);
  m->n = n;
  for (guint i = 0; i < n; i++)
    {
      wanted[i].node = (guint)loom_net_find_port (m->net, ports[i], &wanted[i].output, &error);
      g_assert_no_error (error);
    }
  m->p = loom_lower (m->net, &options, m->value, &error);
  g_assert_no_error (error);
}

/* Numbers that are the same for the same name. names: pairs, the second of which counts for the first; NULL-terminated.
 */
static void
fill (Made *m, const char *name, LoomValue v, const char *const *names)
{
  LoomTensor *t = eval_tensor (m->e, v);

  for (guint k = 0; names != NULL && names[k] != NULL; k += 2)
    if (g_str_equal (names[k], name))
      name = names[k + 1];
  for (gint64 i = 0; i < t->count; i++)
    {
      double number = 0.7 * sin ((double)(loom_hash_name (name) % 1000) + 1.7 * (double)i);

      loom_tensor_set (t, i,
                       loom_dtype_is_float (t->dtype) ? number
                       : g_str_has_prefix (name, "l") ? (double)(i + 1)
                                                      : 0);
    }
}

static void
compute (Made *m, const char *const *names)
{
  m->e = eval_new (m->p);
  for (guint i = 0; i < loom_program_n_inputs (m->p); i++)
    fill (m, loom_program_get_input (m->p, i)->name, loom_program_get_input (m->p, i)->value, names);
  for (guint i = 0; i < loom_program_n_slots (m->p); i++)
    if (loom_program_get_slot (m->p, i)->read != 0)
      fill (m, loom_program_get_slot (m->p, i)->name, loom_program_get_slot (m->p, i)->read, names);
  eval_run (m->e);
}

static double tolerance = 1e-12;

static void
assert_same (Made *a, LoomValue va, Made *b, LoomValue vb, const char *what)
{
  const LoomTensor *x = eval_tensor (a->e, va), *y = eval_tensor (b->e, vb);

  g_assert_cmpint (x->count, ==, y->count);
  for (gint64 i = 0; i < x->count; i++)
    if (!(fabs (loom_tensor_get (x, i) - loom_tensor_get (y, i)) <= tolerance))
      g_error ("%s differs at %d: %.17g and %.17g", what, (int)i, loom_tensor_get (x, i), loom_tensor_get (y, i));
}

/* ---- gradients -------------------------------------------------------------- */

#define MOST 12

/* Gradients of all outputs, and those of these gradients, with respect to inputs and weights in the order of `of`. */
typedef struct
{
  LoomValue wrt[MOST], first[MOST], second[MOST];
  guint n;
} Gradients;

/* Σ v² over some values: all of them contribute, and its second derivative is not constant. */
static LoomValue
contract (LoomProgram *p, guint n, const LoomValue *v)
{
  LoomValue sum = 0;

  for (guint i = 0; i < n; i++)
    if (v[i] != 0)
      {
        LoomValue part = loom_sum_all (p, loom_binary (p, LOOM_SCALAR_MUL, v[i], v[i]));

        sum = sum != 0 ? loom_binary (p, LOOM_SCALAR_ADD, sum, part) : part;
      }
  return sum;
}

static void
differentiate (Made *m, const char *const *of, Gradients *g)
{
  g_autoptr (GError) error = NULL;

  g->n = 0;
  for (; of[g->n] != NULL; g->n++)
    {
      int slot = loom_program_find_slot (m->p, of[g->n]);

      g->wrt[g->n] = 0;
      for (guint i = 0; i < loom_program_n_inputs (m->p); i++)
        if (g_str_equal (loom_program_get_input (m->p, i)->name, of[g->n]))
          g->wrt[g->n] = loom_program_get_input (m->p, i)->value;
      if (slot >= 0)
        g->wrt[g->n] = loom_program_read (m->p, slot);
      if (g->wrt[g->n] == 0)
        g_error ("there is no %s", of[g->n]);
    }
  loom_differentiate (m->p, contract (m->p, m->n, m->value), 0, g->n, g->wrt, g->first, &error);
  g_assert_no_error (error);
  loom_differentiate (m->p, contract (m->p, g->n, g->first), 0, g->n, g->wrt, g->second, &error);
  g_assert_no_error (error);
}

/* Both graphs have the same values at two ports, and the same gradients and second derivatives. names: pairs of a's
 * names and b's names for the same; all of these tensors are differentiated. */
static void
assert_equal (const char *a, const char *const *ports_a, const char *b, const char *const *ports_b,
              const char *const *names)
{
  g_auto (Made) x = { 0 }, y = { 0 };
  const char *of_a[MOST + 1] = { NULL }, *of_b[MOST + 1] = { NULL };
  Gradients ga = { 0 }, gb = { 0 };
  guint n = g_strv_length ((char **)ports_a);

  for (guint k = 0; names[2 * k] != NULL; k++)
    {
      of_a[k] = names[2 * k];
      of_b[k] = names[2 * k + 1];
    }
  lower_ports (&x, a, STEPS, FALSE, n, ports_a);
  lower_ports (&y, b, STEPS, FALSE, n, ports_b);
  differentiate (&x, of_a, &ga);
  differentiate (&y, of_b, &gb);
  compute (&x, names);
  compute (&y, NULL);
  for (guint k = 0; k < n; k++)
    assert_same (&x, x.value[k], &y, y.value[k], ports_a[k]);
  for (guint k = 0; k < ga.n; k++)
    {
      assert_same (&x, ga.first[k], &y, gb.first[k], of_a[k]);
      if (tolerance > 0)
        assert_same (&x, ga.second[k], &y, gb.second[k], of_b[k]);
    }
}

/* ---- against rnn -------------------------------------------------------------- */

static const char *const as_rnn[] = { "loop.in.weight",
                                      "rnn.weight_ih_l0",
                                      "loop.rec.weight",
                                      "rnn.weight_hh_l0",
                                      "loop.in.bias",
                                      "rnn.bias_ih_l0",
                                      "loop.rec.bias",
                                      "rnn.bias_hh_l0",
                                      "x",
                                      "x",
                                      NULL };
static const char *const as_reverse[] = { "loop.in.weight",
                                          "rnn.weight_ih_l0_reverse",
                                          "loop.rec.weight",
                                          "rnn.weight_hh_l0_reverse",
                                          "loop.in.bias",
                                          "rnn.bias_ih_l0_reverse",
                                          "loop.rec.bias",
                                          "rnn.bias_hh_l0_reverse",
                                          "x",
                                          "x",
                                          NULL };
static const char *const loop_ports[] = { "loop.y", "last", NULL };
static const char *const rnn_ports[] = { "rnn.output", "rnn.h_n", NULL };

/* A loop over the cell; and the layer, whose state has a dimension for its one layer. */
#define LOOP(attributes, shape, more)                                                                                  \
  CELL "<node id='x' op='input' shape='" shape "'/><node id='loop' op='scan' body='cell' " attributes "/>"             \
       "<node id='last' op='unsqueeze' dim='0'/><wire from='x' to='loop.x'/><wire from='loop.h1' to='last'/>" more
#define LAYER(attributes, shape, more)                                                                                 \
  "<node id='x' op='input' shape='" shape "'/><node id='rnn' op='rnn' hidden_size='3' " attributes "/>"                \
  "<wire from='x' to='rnn.input'/>" more
#define LENGTHS(to) "<node id='lengths' op='input' shape='B' dtype='i64'/><wire from='lengths' to='" to ".lengths'/>"

static void
test_layer (void)
{
  assert_equal (LOOP ("", "T,B,2", ""), loop_ports, LAYER ("", "T,B,2", ""), rnn_ports, as_rnn);
  assert_equal (LOOP ("axis='1'", "B,T,2", ""), loop_ports, LAYER ("batch_first='true'", "B,T,2", ""), rnn_ports,
                as_rnn);
  assert_equal (LOOP ("", "T,B,2", LENGTHS ("loop")), loop_ports, LAYER ("", "T,B,2", LENGTHS ("rnn")), rnn_ports,
                as_rnn);
}

static void
test_first_state (void)
{
  const char *names[G_N_ELEMENTS (as_rnn) + 2];

  memcpy (names, as_rnn, sizeof as_rnn);
  names[10] = names[11] = "h";
  names[12] = NULL;
  assert_equal (LOOP ("", "T,B,2", "<node id='h' op='input' shape='B,3'/><wire from='h' to='loop.h'/>"), loop_ports,
                LAYER ("", "T,B,2",
                       "<node id='h' op='input' shape='B,3'/><node id='one' op='unsqueeze' dim='0'/>"
                       "<wire from='h' to='one'/><wire from='one' to='rnn.h_0'/>"),
                rnn_ports, names);
}

/* The reverse direction of a layer in both. */
#define OTHER                                                                                                          \
  "<node id='y' op='slice' dim='2' start='3'/><node id='h' op='slice' dim='0' start='1'/>"                             \
  "<wire from='rnn.output' to='y'/><wire from='rnn.h_n' to='h'/>"

static void
test_reverse (void)
{
  static const char *const ports[] = { "y", "h", NULL };

  assert_equal (LOOP ("reverse='true'", "T,B,2", ""), loop_ports, LAYER ("bidirectional='true'", "T,B,2", OTHER), ports,
                as_reverse);
  assert_equal (LOOP ("reverse='true'", "T,B,2", LENGTHS ("loop")), loop_ports,
                LAYER ("bidirectional='true'", "T,B,2", OTHER LENGTHS ("rnn")), ports, as_reverse);
}

/* ---- compared with an unrolled loop ----------------------------------------------- */

/* The cell once for each step, all with the first one's weights. */
static char *
unroll (void)
{
  GString *s = g_string_new ("<node id='x' op='input' shape='T,B,2'/><node id='zero' op='zeros' shape='4,3'/>"
                             "<node id='y' op='stack' dim='0'/><node id='last' op='unsqueeze' dim='0'/>");

  for (int t = 0; t < STEPS; t++)
    {
      g_autofree char *before = t > 0 ? g_strdup_printf ("act%d", t - 1) : g_strdup ("zero");

      g_string_append_printf (s,
                              "<node id='x%d' op='select' dim='0' index='%d'/><node id='in%d' op='linear' "
                              "out_features='3'/><node id='rec%d' op='linear' out_features='3'/><node id='sum%d' "
                              "op='add'/><node id='act%d' op='tanh'/><wire from='x' to='x%d'/><wire from='x%d' "
                              "to='in%d.input'/><wire from='%s' to='rec%d.input'/><wire from='in%d' to='sum%d.input'/>"
                              "<wire from='rec%d' to='sum%d.other'/><wire from='sum%d' to='act%d'/>"
                              "<wire from='act%d' to='y.%d'/>",
                              t, t, t, t, t, t, t, t, t, before, t, t, t, t, t, t, t, t, t);
      if (t > 0)
        g_string_append_printf (s,
                                "<wire from='in0.weight' to='in%d.weight'/><wire from='in0.bias' to='in%d.bias'/>"
                                "<wire from='rec0.weight' to='rec%d.weight'/><wire from='rec0.bias' to='rec%d.bias'/>",
                                t, t, t, t);
    }
  g_string_append_printf (s, "<wire from='act%d' to='last'/>", STEPS - 1);
  return g_string_free (s, FALSE);
}

static void
test_unrolled (void)
{
  static const char *const names[] = {
    "loop.in.weight", "in0.weight", "loop.rec.weight", "rec0.weight", "loop.in.bias", "in0.bias", "x", "x", NULL
  };
  static const char *const same[] = { "loop.rec.bias", "rec0.bias", NULL };
  static const char *const ports[] = { "y", "last", NULL };
  g_autofree char *written = unroll ();
  const char *all[12] = { NULL };

  memcpy (all, names, sizeof names);
  memcpy (all + 8, same, sizeof same);
  assert_equal (LOOP ("", "T,B,2", ""), loop_ports, written, ports, all);
  /* Values and gradients to the bit if no work is hoisted from the loop; second derivatives are sums in another order.
   */
  tolerance = 0;
  assert_equal (LOOP ("hoist='false'", "T,B,2", ""), loop_ports, written, ports, all);
  tolerance = 1e-12;
}

/* A loop in a loop, whose state is passed from one to the other, compared with one loop over all steps. */
static void
test_nested (void)
{
  static const char *const names[] = { "outer.loop.in.weight",
                                       "loop.in.weight",
                                       "outer.loop.rec.weight",
                                       "loop.rec.weight",
                                       "outer.loop.in.bias",
                                       "loop.in.bias",
                                       "x",
                                       "x",
                                       "outer.loop.rec.bias",
                                       "loop.rec.bias",
                                       NULL };
  static const char *const nested[] = { "flat", "last", NULL };

  assert_equal (CELL "<module name='rows'><node id='x' op='module_input'/>"
                     "<node id='h' op='module_input' shape='B,3'/><node id='loop' op='scan' body='cell'/>"
                     "<node id='y' op='module_output'/><node id='h1' op='module_output' carry='h'/>"
                     "<wire from='x' to='loop.x'/><wire from='h' to='loop.h'/><wire from='loop.y' to='y'/>"
                     "<wire from='loop.h1' to='h1'/></module>"
                     "<node id='x' op='input' shape='S,T,B,2'/><node id='outer' op='scan' body='rows'/>"
                     "<node id='flat' op='flatten' start_dim='0' end_dim='1'/>"
                     "<node id='last' op='unsqueeze' dim='0'/><wire from='x' to='outer.x'/>"
                     "<wire from='outer.y' to='flat'/><wire from='outer.h1' to='last'/>",
                nested,
                CELL "<node id='x' op='input' shape='S,T,B,2'/><node id='flat' op='flatten' start_dim='0' end_dim='1'/>"
                     "<node id='loop' op='scan' body='cell'/><node id='last' op='unsqueeze' dim='0'/>"
                     "<wire from='x' to='flat'/><wire from='flat' to='loop.x'/><wire from='loop.h1' to='last'/>",
                loop_ports, names);
}

/* Two sequences, something whole, and no state: a product with the same matrix at each step. */
static void
test_whole (void)
{
  static const char *const names[] = { "a", "a", "b", "b", "w", "w", NULL };
  static const char *const loop[] = { "loop.y", NULL }, *const flat[] = { "p", NULL };

#define INPUTS                                                                                                         \
  "<node id='a' op='input' shape='T,B,2'/><node id='b' op='input' shape='T,B,2'/>"                                     \
  "<node id='w' op='input' shape='2,3'/>"
  assert_equal ("<module name='m'><node id='w' op='module_input'/><node id='a' op='module_input'/>"
                "<node id='b' op='module_input'/><node id='s' op='mul'/><node id='p' op='matmul'/>"
                "<node id='y' op='module_output'/><wire from='a' to='s.input'/><wire from='b' to='s.other'/>"
                "<wire from='s' to='p.input'/><wire from='w' to='p.other'/><wire from='p' to='y'/></module>" INPUTS
                "<node id='loop' op='scan' body='m' sequence='a, b'/><wire from='a' to='loop.a'/>"
                "<wire from='b' to='loop.b'/><wire from='w' to='loop.w'/>",
                loop,
                INPUTS "<node id='s' op='mul'/><node id='p' op='matmul'/><wire from='a' to='s.input'/>"
                       "<wire from='b' to='s.other'/><wire from='s' to='p.input'/><wire from='w' to='p.other'/>",
                flat, names);
}

/* ---- samples of different lengths ------------------------------------------------------ */

/* The results with lengths are those of a padded batch with masked outputs; and so are all gradients. */
static void
test_lengths (void)
{
#define MASKED(from)                                                                                                   \
  "<node id='lengths' op='input' shape='B' dtype='i64'/><node id='step' op='arange' end='5' dtype='i64'/>"             \
  "<node id='steps' op='unsqueeze' dim='1'/><node id='counts' op='lt'/><node id='weight' op='cast' dtype='f32'/>"      \
  "<node id='mask' op='unsqueeze' dim='2'/><node id='y' op='mul'/><wire from='step' to='steps'/>"                      \
  "<wire from='steps' to='counts.input'/><wire from='lengths' to='counts.other'/><wire from='counts' to='weight'/>"    \
  "<wire from='weight' to='mask'/><wire from='" from "' to='y.input'/><wire from='mask' to='y.other'/>"
  static const char *const loop[] = { "loop.y", NULL }, *const layer[] = { "rnn.output", NULL },
                           *const masked[] = { "y", NULL };
  static const char *const same[] = { "loop.in.weight",
                                      "loop.in.weight",
                                      "loop.rec.weight",
                                      "loop.rec.weight",
                                      "loop.rec.bias",
                                      "loop.rec.bias",
                                      "x",
                                      "x",
                                      NULL };
  static const char *const of_layer[]
      = { "rnn.weight_ih_l0", "rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.weight_hh_l0", "x", "x", NULL };

  assert_equal (LOOP ("", "T,B,2", LENGTHS ("loop")), loop, LOOP ("", "T,B,2", MASKED ("loop.y")), masked, same);
  assert_equal (LAYER ("", "T,B,2", LENGTHS ("rnn")), layer, LAYER ("", "T,B,2", MASKED ("rnn.output")), masked,
                of_layer);
}

/* ---- weights and copies -------------------------------------------------------------- */

static void
check_weights (const char *body, const char *expected)
{
  g_auto (Made) m = { 0 };
  g_autoptr (GString) names = g_string_new (NULL);

  read_graph (&m, body, STEPS);
  g_assert_cmpuint (loom_faults_count (m.faults), ==, 0);
  for (guint i = 0; i < loom_net_n_weights (m.net); i++)
    if (g_str_has_suffix (loom_net_weight (m.net, i)->name, "rec.weight"))
      g_string_append_printf (names, "%s ", loom_net_weight (m.net, i)->name);
  g_assert_cmpstr (names->str, ==, expected);
}

static void
test_copies (void)
{
  /* The first output of a copy is the first input of the next. */
#define TWO(attributes)                                                                                                \
  CELL "<node id='x' op='input' shape='T,B,3'/><node id='loop' op='scan' body='cell' repeat='2' " attributes "/>"      \
       "<wire from='x' to='loop.x'/>"

  check_weights (TWO (""), "loop.0.rec.weight loop.1.rec.weight ");
  check_weights (TWO ("share='true'"), "loop.rec.weight ");
  check_weights (CELL "<node id='x' op='input' shape='T,B,2'/><node id='a' op='scan' body='cell'/>"
                      "<node id='b' op='scan' body='cell'/><wire from='x' to='a.x'/><wire from='x' to='b.x'/>",
                 "a.rec.weight b.rec.weight ");
}

/* A stack of two by repeat is a layer of two. */
static void
test_repeat (void)
{
  static const char *const names[] = { "loop.0.in.weight",
                                       "rnn.weight_ih_l0",
                                       "loop.0.rec.weight",
                                       "rnn.weight_hh_l0",
                                       "loop.0.in.bias",
                                       "rnn.bias_ih_l0",
                                       "loop.1.in.weight",
                                       "rnn.weight_ih_l1",
                                       "loop.1.rec.weight",
                                       "rnn.weight_hh_l1",
                                       "loop.1.in.bias",
                                       "rnn.bias_ih_l1",
                                       "loop.0.rec.bias",
                                       "rnn.bias_hh_l0",
                                       "loop.1.rec.bias",
                                       "rnn.bias_hh_l1",
                                       "x",
                                       "x",
                                       NULL };
  static const char *const loop[] = { "loop.y", NULL }, *const rnn[] = { "rnn.output", NULL };

  assert_equal (TWO (""), loop, LAYER ("num_layers='2'", "T,B,3", ""), rnn, names);
}

/* A weight of the body can be read outside, and its gradient is the sum of both uses. */
static void
test_tied (void)
{
  static const char *const ports[] = { "loop.y", "read" };
  static const char *const of[] = { "loop.rec.weight", NULL };
  g_auto (Made) m = { 0 };
  Gradients g = { 0 };

  lower_ports (&m, LOOP ("", "T,B,2", "<node id='read' op='exp'/><wire from='loop.rec.weight' to='read'/>"), STEPS,
               FALSE, 2, ports);
  differentiate (&m, of, &g);
  compute (&m, NULL);
  m.e = (eval_free (m.e), eval_new (m.p));
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  eval_fill_all (m.e, NULL, rand);
  g_assert_cmpint (loom_program_find_slot (m.p, "loop.rec.weight"), >=, 0);
}

/* ---- random numbers and running statistics ---------------------------------------------- */

/* Each step, of a loop within a loop as well, drops others. */
static void
test_dropout (void)
{
  static const char *const ports[] = { "outer.y" };
  g_auto (Made) m = { 0 };
  const LoomTensor *t;

  lower_ports (&m,
               "<module name='drop'><node id='x' op='module_input'/><node id='d' op='dropout' p='0.5'/>"
               "<node id='y' op='module_output'/><wire from='x' to='d'/><wire from='d.out' to='y'/></module>"
               "<module name='rows'><node id='x' op='module_input'/><node id='loop' op='scan' body='drop'/>"
               "<node id='y' op='module_output'/><wire from='x' to='loop'/><wire from='loop' to='y'/></module>"
               "<node id='x' op='ones' shape='2,5,64'/><node id='outer' op='scan' body='rows'/>"
               "<wire from='x' to='outer'/>",
               STEPS, TRUE, 1, ports);
  m.e = eval_new (m.p);
  for (guint i = 0; i < loom_program_n_slots (m.p); i++)
    if (loom_program_get_slot (m.p, i)->read != 0)
      loom_tensor_set (eval_tensor (m.e, loom_program_get_slot (m.p, i)->read), 0,
                       g_str_has_suffix (loom_program_get_slot (m.p, i)->name, ".p") ? 0.5 : 3);
  eval_run (m.e);
  t = eval_tensor (m.e, m.value[0]);
  g_assert_cmpint (t->count, ==, 2 * 5 * 64);
  for (int a = 0; a < 10; a++)
    for (int b = 0; b < a; b++)
      {
        int same = 0;

        for (int i = 0; i < 64; i++)
          same += loom_tensor_get (t, a * 64 + i) == loom_tensor_get (t, b * 64 + i);
        g_assert_cmpint (same, >, 8);
        g_assert_cmpint (same, <, 56);
      }
}

/* Each step of a batch norm updates its running statistics, whose last value the loop returns. */
static void
test_statistics (void)
{
  static const char *const ports[] = { "loop.y" };
  g_auto (Made) m = { 0 };
  const LoomSlot *mean, *count;
  double expected = 0;

  lower_ports (&m,
               "<module name='norm'><node id='x' op='module_input'/><node id='bn' op='batch_norm1d'/>"
               "<node id='y' op='module_output'/><wire from='x' to='bn'/><wire from='bn' to='y'/></module>"
               "<node id='x' op='input' shape='T,B,1'/><node id='loop' op='scan' body='norm'/>"
               "<wire from='x' to='loop.x'/>",
               STEPS, TRUE, 1, ports);
  mean = loom_program_get_slot (m.p, (guint)loom_program_find_slot (m.p, "loop.bn.running_mean"));
  count = loom_program_get_slot (m.p, (guint)loom_program_find_slot (m.p, "loop.bn.num_batches_tracked"));
  compute (&m, NULL);
  loom_tensor_set (eval_tensor (m.e, mean->read), 0, 0);
  loom_tensor_set (eval_tensor (m.e, count->read), 0, 2);
  eval_run (m.e);
  for (int t = 0; t < STEPS; t++)
    {
      const LoomTensor *x = eval_tensor (m.e, loom_program_get_input (m.p, 0)->value);
      double sum = 0;

      for (int b = 0; b < SAMPLES; b++)
        sum += loom_tensor_get (x, t * SAMPLES + b);
      expected = 0.9 * expected + 0.1 * sum / SAMPLES;
    }
  g_assert_cmpfloat_with_epsilon (loom_tensor_get (eval_tensor (m.e, mean->commit), 0), expected, 1e-12);
  g_assert_cmpfloat (loom_tensor_get (eval_tensor (m.e, count->commit), 0), ==, 2 + STEPS);
}

/* ---- size and cost ------------------------------------------------------------------------ */

static void
test_size (void)
{
  static const char *const of[] = { "loop.rec.weight", "x", NULL };
  guint n[2];

  for (guint k = 0; k < 2; k++)
    {
      g_auto (Made) m = { 0 };
      Gradients g = { 0 };

      lower_ports (&m, LOOP ("", "T,B,2", ""), k == 0 ? 3 : 3000, FALSE, 2, loop_ports);
      differentiate (&m, of, &g);
      n[k] = loom_program_n_instrs (m.p);
    }
  g_assert_cmpuint (n[0], ==, n[1]);
}

/* An output without a reader is not stacked. */
static void
test_unread (void)
{
  static const char *const last[] = { "last" };
  guint n[2];

  for (guint k = 0; k < 2; k++)
    {
      g_auto (Made) m = { 0 };

      lower_ports (&m, LOOP ("", "T,B,2", ""), STEPS, FALSE, 1, k == 0 ? loop_ports : last);
      n[k] = 0;
      for (guint i = 0; i < loom_program_n_instrs (m.p); i++)
        if (loom_program_instr (m.p, i)->prim->bodies != NULL)
          n[k] = ((const LoomScanAttrs *)loom_program_instr (m.p, i)->attrs)->n_stacked;
    }
  g_assert_cmpuint (n[0], ==, 1);
  g_assert_cmpuint (n[1], ==, 0);
}

/* What a node of the body costs counts for every step. */
static void
test_cost (void)
{
  g_auto (Made) m = { 0 };
  int in, act;

  read_graph (&m, LOOP ("", "T,B,2", ""), STEPS);
  in = loom_net_find (m.net, "loop.in");
  act = loom_net_find (m.net, "loop.act");
  g_assert_cmpint (in, >=, 0);
  g_assert_cmpuint (loom_net_node (m.net, (guint)in)->loop, ==, (guint)loom_net_find (m.net, "loop"));
  g_assert_cmpfloat (loom_net_node (m.net, (guint)act)->cost.bytes, ==, STEPS * SAMPLES * 3 * 4);
  g_assert_cmpfloat (loom_net_node (m.net, (guint)in)->cost.parameters, ==, 9);
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Arguments of the module are set at the loop's node. */
static void
test_arguments (void)
{
  g_auto (Made) m = { 0 };
  static const char *const ports[] = { "s.y" };

  lower_ports (&m,
               "<module name='m'><arg name='width' type='int'/><arg name='cell' type='module'/>"
               "<node id='x' op='module_input'/><node id='fc' op='linear' out_features='{width}'/>"
               "<node id='in' op='scan' body='{cell}'/><node id='y' op='module_output'/><wire from='x' to='fc'/>"
               "<wire from='fc' to='in'/><wire from='in' to='y'/></module>"
               "<module name='act'><node id='x' op='module_input'/><node id='t' op='tanh'/>"
               "<node id='y' op='module_output'/><wire from='x' to='t'/><wire from='t' to='y'/></module>"
               "<node id='x' op='input' shape='T,B,2'/><node id='s' op='scan' body='m' width='6' cell='act'/>"
               "<wire from='x' to='s'/>",
               STEPS, FALSE, 1, ports);
  g_assert_cmpint (loom_value_info (m.p, m.value[0])->desc.dim[2], ==, 6);
}

/* ---- ports of the body ---------------------------------------------------------------------- */

/* A loop over rows, whose body runs the cell over columns. */
#define ROWS                                                                                                           \
  CELL "<module name='rows'><node id='x' op='module_input'/><node id='loop' op='scan' body='cell'/>"                   \
       "<node id='y' op='module_output'/><wire from='x' to='loop.x'/><wire from='loop.h1' to='y'/></module>"           \
       "<node id='x' op='input' shape='T,S,B,2'/><node id='outer' op='scan' body='rows'/><wire from='x' to='outer'/>"

/* They are stacks over all steps, the outer loop's first; here the state, which is also an output of the body. */
static void
test_inside (void)
{
  static const char *const ports[] = { "loop.y", "loop.act" }, *const nested[] = { "outer.y", "outer.loop.act" };
  g_auto (Made) m = { 0 }, n = { 0 };
  const LoomTensor *y, *act;

  lower_ports (&m, LOOP ("", "T,B,2", ""), STEPS, FALSE, 2, ports);
  compute (&m, NULL);
  assert_same (&m, m.value[0], &m, m.value[1], "loop.act");
  g_assert_cmpuint (loom_program_find_port (m.p, "loop.act"), ==, m.value[1]);

  lower_ports (&n, ROWS, STEPS, FALSE, 2, nested);
  compute (&n, NULL);
  y = eval_tensor (n.e, n.value[0]);
  act = eval_tensor (n.e, n.value[1]);
  g_assert_cmpint (act->rank, ==, 4);
  g_assert_cmpint (act->dim[0], ==, STEPS);
  g_assert_cmpint (act->dim[1], ==, 2);
  for (gint64 t = 0; t < STEPS; t++)
    for (gint64 i = 0; i < SAMPLES * 3; i++)
      g_assert_cmpfloat (loom_tensor_get (act, (2 * t + 1) * SAMPLES * 3 + i), ==,
                         loom_tensor_get (y, t * SAMPLES * 3 + i));
}

/* The gradient at a layer of the body, step by step: its sum over steps and samples is the gradient of the bias. */
static void
check_probe (const char *graph, const char *out, const char *inside, const char *bias)
{
  const char *const ports[] = { out, inside };
  LoomNetSource wanted[2];
  LoomValue probe[2] = { 0 }, wrt[2], grad[2] = { 0 };
  LoomLowerOptions options = { .float_dtype = LOOM_F64, .n_wanted = 2, .wanted = wanted, .probe_of = probe, .seed = 5 };
  g_autoptr (GError) error = NULL;
  g_auto (Made) m = { 0 };
  const LoomTensor *at_steps, *at_bias;

  read_graph (&m, graph, STEPS);
  for (guint i = 0; i < 2; i++)
    wanted[i].node = (guint)loom_net_find_port (m.net, ports[i], &wanted[i].output, &error);
  m.p = loom_lower (m.net, &options, m.value, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (probe[0], ==, 0);
  wrt[0] = probe[1];
  wrt[1] = loom_program_read (m.p, loom_program_find_slot (m.p, bias));
  loom_differentiate (m.p, contract (m.p, 1, m.value), 0, 2, wrt, grad, &error);
  g_assert_no_error (error);
  compute (&m, NULL);
  at_steps = eval_tensor (m.e, grad[0]);
  at_bias = eval_tensor (m.e, grad[1]);
  g_assert_cmpint (at_steps->count, ==, eval_tensor (m.e, m.value[1])->count);
  for (gint64 k = 0; k < 3; k++)
    {
      double sum = 0;

      for (gint64 i = k; i < at_steps->count; i += 3)
        sum += loom_tensor_get (at_steps, i);
      g_assert_cmpfloat (fabs (loom_tensor_get (at_bias, k)), >, 1e-3);
      g_assert_cmpfloat_with_epsilon (sum, loom_tensor_get (at_bias, k), 1e-12);
    }
}

static void
test_probes (void)
{
  check_probe (LOOP ("", "T,B,2", ""), "loop.y", "loop.rec", "loop.rec.bias");
  check_probe (ROWS, "outer.y", "outer.loop.rec", "outer.loop.rec.bias");
}

/* A value at each step cannot be set. */
static void
test_given (void)
{
  g_auto (Made) m = { 0 };
  LoomNetSource wanted = { 0 }, given = { 0 };
  LoomLowerOptions options
      = { .float_dtype = LOOM_F32, .n_wanted = 1, .wanted = &wanted, .n_given = 1, .given = &given };
  LoomValue value;
  g_autoptr (GError) error = NULL;

  read_graph (&m, LOOP ("", "T,B,2", ""), STEPS);
  wanted.node = (guint)loom_net_find_port (m.net, "loop.y", &wanted.output, &error);
  given.node = (guint)loom_net_find_port (m.net, "loop.act", &given.output, &error);
  g_assert_no_error (error);
  g_assert_null (loom_lower (m.net, &options, &value, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PORT);
  g_assert_cmpstr (error->message, ==,
                   "loop.act is inside the loop of loop and has another value at each step, so it cannot be set. Set "
                   "an input of loop.");
}

/* ---- recomputation -------------------------------------------------------------------------- */

/* How many values of each run the loop keeps for its backward pass. */
static guint
count_kept (const char *attributes, const char *cell)
{
  static const char *const of[] = { "loop.rec.weight", "loop.in.weight", "x", NULL };
  g_autofree char *graph = g_strdup_printf ("%s<node id='x' op='input' shape='T,B,2'/><node id='loop' op='scan' "
                                            "body='cell' %s/><wire from='x' to='loop.x'/>",
                                            cell, attributes);
  static const char *const ports[] = { "loop.y" };
  g_auto (Made) m = { 0 };
  Gradients g = { 0 };

  lower_ports (&m, graph, STEPS, FALSE, 1, ports);
  differentiate (&m, of, &g);
  for (guint i = 0; i < loom_program_n_instrs (m.p); i++)
    if (loom_program_instr (m.p, i)->prim->bodies != NULL)
      return ((const LoomScanAttrs *)loom_program_instr (m.p, i)->attrs)->n_stacked;
  return 0;
}

/* Marked are the loop, a node of its body, or the module around it; second derivatives are in it as well. */
static void
test_recompute (void)
{
#define DEEP(mark)                                                                                                     \
  "<module name='cell'><node id='x' op='module_input'/><node id='h' op='module_input' shape='B,3'/>"                   \
  "<node id='in' op='linear' out_features='3'/><node id='rec' op='linear' out_features='3'/>"                          \
  "<node id='sum' op='add'/><node id='act' op='tanh' " mark "/><node id='more' op='sin'/>"                             \
  "<node id='y' op='module_output'/><node id='h1' op='module_output' carry='h'/>"                                      \
  "<wire from='x' to='in'/><wire from='h' to='rec'/><wire from='in' to='sum.input'/>"                                  \
  "<wire from='rec' to='sum.other'/><wire from='sum' to='act'/><wire from='act' to='more'/>"                           \
  "<wire from='more' to='y'/><wire from='more' to='h1'/></module>"
  guint all = count_kept ("", DEEP ("")), loop = count_kept ("recompute='true'", DEEP (""));
  guint node = count_kept ("", DEEP ("recompute='true'"));

  g_assert_cmpuint (loop, <, node);
  g_assert_cmpuint (node, <=, all);
  /* The numbers are those of a loop that keeps all. */
  assert_equal (LOOP ("recompute='true'", "T,B,2", ""), loop_ports, LAYER ("recompute='true'", "T,B,2", ""), rnn_ports,
                as_rnn);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/scan/layer", test_layer);
  g_test_add_func ("/scan/first-state", test_first_state);
  g_test_add_func ("/scan/reverse", test_reverse);
  g_test_add_func ("/scan/unrolled", test_unrolled);
  g_test_add_func ("/scan/nested", test_nested);
  g_test_add_func ("/scan/whole", test_whole);
  g_test_add_func ("/scan/lengths", test_lengths);
  g_test_add_func ("/scan/copies", test_copies);
  g_test_add_func ("/scan/repeat", test_repeat);
  g_test_add_func ("/scan/tied", test_tied);
  g_test_add_func ("/scan/dropout", test_dropout);
  g_test_add_func ("/scan/statistics", test_statistics);
  g_test_add_func ("/scan/size", test_size);
  g_test_add_func ("/scan/unread", test_unread);
  g_test_add_func ("/scan/cost", test_cost);
  g_test_add_func ("/scan/arguments", test_arguments);
  g_test_add_func ("/scan/inside", test_inside);
  g_test_add_func ("/scan/probes", test_probes);
  g_test_add_func ("/scan/given", test_given);
  g_test_add_func ("/scan/recompute", test_recompute);
  return g_test_run ();
}
