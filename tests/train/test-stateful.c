/* Truncated backpropagation with a state that is carried from window to window, and numbers that move while a net is
 * trained. */
#include "engine/loom-lab.h"
#include "engine/train/loom-step.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <glib/gstdio.h>

#define CONTEXT 5
#define LAYERS  2
#define HIDDEN  3
#define RATE    0.5

/* 30 letters for training are six windows, for two streams of three; two windows for validation follow. */
static const char TEXT[] = "abcadbacbdabbcdacadbbacdacbdabc"
                           "dbacabdcaba";

/* %s: attributes of the layer in addition to its sizes, the layer before it, attributes of the data set, <train>'s. */
#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">%s"                                                               \
  "<node id=\"data\" op=\"dataset\" source=\"text\" path=\"%s\" context=\"5\" val_fraction=\"0.27\" %s/>"              \
  "<node id=\"letters\" op=\"embedding\" num_embeddings=\"4\" embedding_dim=\"3\"/>"                                   \
  "<node id=\"memory\" op=\"lstm\" hidden_size=\"3\" num_layers=\"2\" batch_first=\"true\" %s/>"                       \
  "<node id=\"head\" op=\"linear\" out_features=\"4\"/>"                                                               \
  "<node id=\"scores\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"               \
  "<wire from=\"data.x\" to=\"letters\"/><wire from=\"letters\" to=\"memory\"/>%s"                                     \
  "<wire from=\"memory.output\" to=\"head\"/><wire from=\"head\" to=\"scores\"/>"                                      \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                \
  "<train loss=\"loss\" optimizer=\"%s\" lr=\"0.5\" batch_size=\"2\" epochs=\"2\" seed=\"4\" device=\"ref\" "          \
  "precision=\"f64\"/></graph>"

typedef struct
{
  char *folder, *text;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  f->folder = g_dir_make_tmp ("gradloom-stateful-XXXXXX", NULL);
  f->text = g_build_filename (f->folder, "text", NULL);
  g_file_set_contents (f->text, TEXT, -1, &error);
  g_assert_no_error (error);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  remove_tree (f->folder);
  g_free (f->text);
  g_free (f->folder);
}

static char *
carried (const Fixture *f)
{
  return g_strdup_printf (GRAPH, "", f->text, "", "stateful=\"true\"", "", "sgd");
}

/* ---- losses ------------------------------------------------------------------------- */

typedef struct
{
  GArray *step, *eval; /* double */
} Losses;

static void
step_cb (LoomTrainer *t, const LoomTrainerStep *step, gpointer data)
{
  g_array_append_val (((Losses *)data)->step, step->loss);
}

static void
eval_cb (LoomTrainer *t, const LoomTrainerEval *eval, gpointer data)
{
  g_array_append_val (((Losses *)data)->eval, eval->loss);
}

/* The net with the state fed by hand, for batches of one size. */
typedef struct
{
  LoomNet *net;
  LoomExec *exec;
  gint64 batch;
  GArray *slots;
  LoomTensor *x, *y, *h, *c;
} Hand;

static LoomGraph *
hand_graph (const Fixture *f)
{
  g_autofree char *xml = g_strdup_printf (
      GRAPH, "<node id=\"h\" op=\"input\" shape=\"2,B,3\"/><node id=\"c\" op=\"input\" shape=\"2,B,3\"/>", f->text, "",
      "", "<wire from=\"h\" to=\"memory.h_0\"/><wire from=\"c\" to=\"memory.c_0\"/>", "sgd");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_data (xml, strlen (xml), "hand", faults, &error);

  g_assert_no_error (error);
  return graph;
}

static void
hand_init (Hand *a, const LoomGraph *graph, const LoomTrainSpec *spec, LoomDevices *devices, LoomState *state,
           gint64 batch)
{
  static const char *const ports[] = { "loss", "memory.h_n", "memory.c_n" };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) grads = NULL;
  g_autoptr (LoomProgram) p = NULL;
  LoomBinding binding = { 0 };
  LoomNetSource wanted[3];
  LoomValue value[3];
  LoomPlanOptions plan_options = { .device = "ref" };
  gint64 state_dims[3] = { LAYERS, batch, HIDDEN }, text_dims[2] = { batch, CONTEXT };

  binding.value['B' - 'A'] = batch;
  a->batch = batch;
  a->net = loom_net_new (graph, &binding, faults);
  for (int i = 0; i < 3; i++)
    {
      int node = loom_net_find_port (a->net, ports[i], &wanted[i].output, &error);

      g_assert_no_error (error);
      wanted[i].node = (guint)node;
    }
  LoomLowerOptions options = { .training = TRUE, .float_dtype = LOOM_F64, .n_wanted = 3, .wanted = wanted, .seed = 4 };
  p = loom_lower (a->net, &options, value, &error);
  g_assert_no_error (error);
  for (int i = 0; i < 3; i++)
    loom_program_output (p, ports[i], value[i]);
  loom_step_parameter_gradients (p, value[0], 0, spec, &a->slots, &grads, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < grads->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("grad%u", i);

      loom_program_output (p, name, g_array_index (grads, LoomValue, i));
    }
  a->exec = loom_exec_new (loom_plan_new (p, devices, &plan_options, &error), state, &error);
  g_assert_no_error (error);
  a->x = loom_tensor_new (LOOM_I64, 2, text_dims, NULL);
  a->y = loom_tensor_new (LOOM_I64, 2, text_dims, NULL);
  a->h = loom_tensor_new (LOOM_F64, 3, state_dims, NULL);
  a->c = loom_tensor_new (LOOM_F64, 3, state_dims, NULL);
}

static void
hand_clear (Hand *a)
{
  loom_exec_free (a->exec);
  loom_net_free (a->net);
  g_array_unref (a->slots);
  loom_tensor_unref (a->x);
  loom_tensor_unref (a->y);
  loom_tensor_unref (a->h);
  loom_tensor_unref (a->c);
}

static LoomTensor *
output (Hand *a, const char *name)
{
  g_autoptr (GError) error = NULL;
  LoomTensor *t = loom_exec_output (a->exec, (guint)loom_exec_find_output (a->exec, name), &error);

  g_assert_no_error (error);
  return t;
}

/* The loss of windows that begin at these letters, with the current state; and the state after them. */
static double
run_windows (Hand *a, const gsize *begin)
{
  const LoomProgram *p = loom_plan_program (loom_exec_plan (a->exec));
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) h = NULL, c = NULL, loss = NULL;

  for (gint64 b = 0; b < a->batch; b++)
    for (gint64 t = 0; t < CONTEXT; t++)
      {
        ((gint64 *)a->x->data)[b * CONTEXT + t] = TEXT[begin[b] + (gsize)t] - 'a';
        ((gint64 *)a->y->data)[b * CONTEXT + t] = TEXT[begin[b] + (gsize)t + 1] - 'a';
      }
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const char *name = loom_program_get_input (p, i)->name;
      const LoomTensor *t = g_str_equal (name, "data.x")   ? a->x
                            : g_str_equal (name, "data.y") ? a->y
                            : g_str_equal (name, "h")      ? a->h
                                                           : a->c;

      loom_exec_feed (a->exec, i, t->data);
    }
  loom_exec_run (a->exec, &error);
  g_assert_no_error (error);
  h = output (a, "memory.h_n");
  c = output (a, "memory.c_n");
  loss = output (a, "loss");
  memcpy (a->h->data, h->data, h->bytes);
  memcpy (a->c->data, c->data, c->bytes);
  return loom_tensor_get (loss, 0);
}

/* A step of gradient descent. */
static void
descend (Hand *a, LoomState *state)
{
  const LoomProgram *p = loom_plan_program (loom_exec_plan (a->exec));

  for (guint i = 0; i < a->slots->len; i++)
    {
      const char *name = loom_program_get_slot (p, (guint)g_array_index (a->slots, int, i))->name;
      g_autofree char *grad_name = g_strdup_printf ("grad%u", i);
      g_autoptr (LoomTensor) grad = output (a, grad_name);
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomTensor) weight = loom_state_get (state, name, &error);

      for (gint64 k = 0; k < weight->count; k++)
        loom_tensor_set (weight, k, loom_tensor_get (weight, k) - RATE * loom_tensor_get (grad, k));
      loom_state_set (state, name, weight, &error);
      g_assert_no_error (error);
    }
}

static void
forget (Hand *a)
{
  memset (a->h->data, 0, a->h->bytes);
  memset (a->c->data, 0, a->c->bytes);
}

/* Every loss of two epochs, and of the evaluation after each, is that of a net whose state is set explicitly: to the
 * final state of the previous window, without gradients, or to zeros at the beginning of each epoch and evaluation. */
static void
test_by_hand (Fixture *f, gconstpointer data)
{
  g_autofree char *xml = carried (f);
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ 0 });
  const LoomTrainerObserver observer = { .step = step_cb, .eval = eval_cb };
  Losses got = { g_array_new (FALSE, FALSE, sizeof (double)), g_array_new (FALSE, FALSE, sizeof (double)) };
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomState) state = loom_state_new (devices, "ref", 4);
  g_autoptr (LoomGraph) graph = hand_graph (f);
  Hand train = { 0 }, eval = { 0 };
  gsize val = strlen (TEXT) - (gsize)((double)strlen (TEXT) * 0.27);

  loom_trainer_set_observer (trainer, &observer, &got);
  train_test_run (trainer);
  g_assert_cmpuint (got.step->len, ==, 6);
  g_assert_cmpuint (got.eval->len, ==, 2);
  hand_init (&train, graph, loom_trainer_spec (trainer), devices, state, 2);
  hand_init (&eval, graph, loom_trainer_spec (trainer), devices, state, 1);
  for (guint epoch = 0; epoch < 2; epoch++)
    {
      double sum = 0;

      forget (&train);
      for (guint i = 0; i < 3; i++)
        {
          gsize begin[2] = { i * CONTEXT, (3 + i) * CONTEXT };

          g_assert_cmpfloat_with_epsilon (g_array_index (got.step, double, 3 * epoch + i), run_windows (&train, begin),
                                          1e-12);
          descend (&train, state);
        }
      forget (&eval);
      for (guint i = 0; i < 2; i++)
        sum += run_windows (&eval, (gsize[]){ val + i * CONTEXT });
      g_assert_cmpfloat_with_epsilon (g_array_index (got.eval, double, epoch), sum / 2, 1e-12);
    }
  hand_clear (&train);
  hand_clear (&eval);
  g_array_unref (got.step);
  g_array_unref (got.eval);
}

/* A run that ends between two windows resumes with the same bits. */
static void
test_resume (Fixture *f, gconstpointer data)
{
  g_autofree char *xml = carried (f), *whole = g_build_filename (f->folder, "whole", NULL);
  g_autofree char *parts = g_build_filename (f->folder, "parts", NULL);
  g_autofree char *one = g_build_filename (whole, "weights.safetensors", NULL), *a = NULL;
  g_autofree char *other = g_build_filename (parts, "weights.safetensors", NULL), *b = NULL;
  gsize n_a, n_b;

  {
    g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ .out = whole });

    train_test_run (trainer);
  }
  {
    g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ .out = parts, .steps = 5 });
    g_autoptr (GError) error = NULL;

    g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_STOPPED);
  }
  {
    g_autoptr (LoomTrainer) trainer = train_test_new (NULL, (LoomTrainerOptions){ .resume = parts });

    train_test_run (trainer);
  }
  g_assert_true (g_file_get_contents (one, &a, &n_a, NULL));
  g_assert_true (g_file_get_contents (other, &b, &n_b, NULL));
  g_assert_cmpmem (a, n_a, b, n_b);
  /* A state is none of the weights. */
  g_assert_null (g_strstr_len (a, (gssize)MIN (n_a, 4096), "carry"));
}

static void
travel (LoomTrainer *trainer, gint64 step)
{
  g_autoptr (GError) error = NULL;
  LoomTrainerMoment moment;

  loom_trainer_travel (trainer, step, &moment, &error);
  g_assert_no_error (error);
}

/* The first evaluation adds slots to a state of which the history has an earlier base: the run goes back across it with
 * the bits of a run that ends there. */
static void
test_history (Fixture *f, gconstpointer data)
{
  g_autofree char *xml = carried (f), *path = g_build_filename (f->folder, "run", NULL);
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ .out = path });
  static const gint64 steps[] = { 4, 1, 5, 2 };

  train_test_run (trainer);
  g_assert_cmpint (loom_state_find (loom_trainer_state (trainer), "evaluate.carry.place"), >=, 0);
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      g_autoptr (LoomTrainer) other = train_test_new (xml, (LoomTrainerOptions){ .steps = steps[i] });
      g_autoptr (GError) error = NULL;

      travel (trainer, steps[i]);
      loom_trainer_run (other, &error);
      g_assert_no_error (error);
      for (guint k = 0; k < loom_state_n_slots (loom_trainer_state (other)); k++)
        {
          g_autoptr (LoomTensor) one = NULL, two = NULL;
          const char *name;

          loom_state_slot (loom_trainer_state (other), k, &name, NULL, NULL);
          one = loom_state_get (loom_trainer_state (trainer), name, NULL);
          two = loom_state_get (loom_trainer_state (other), name, NULL);
          if (!g_str_has_prefix (name, "evaluate.") && !loom_tensor_equal_bits (one, two))
            g_error ("%s differs after step %d", name, (int)steps[i]);
        }
    }
  travel (trainer, -1);
}

static void
refuse (const char *xml, const char *part)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_autoptr (LoomTrainer) trainer
      = loom_trainer_new (graph, &(LoomTrainerOptions){ .lr = NAN, .seed = -1, .threads = 1 }, &error);

  g_assert_null (trainer);
  if (strstr (error->message, part) == NULL)
    g_error ("“%s” does not say “%s”", error->message, part);
}

static void
test_refused (Fixture *f, gconstpointer data)
{
  g_autofree char *overlap = g_strdup_printf (GRAPH, "", f->text, "stride=\"2\"", "stateful=\"true\"", "", "sgd");
  g_autofree char *both
      = g_strdup_printf (GRAPH, "", f->text, "", "stateful=\"true\" bidirectional=\"true\"", "", "sgd");
  g_autofree char *newton = g_strdup_printf (GRAPH, "", f->text, "", "stateful=\"true\"", "", "lbfgs");

  refuse (overlap, "overlap or leave gaps: stride is 2 and context 5");
  refuse (both, "Remove bidirectional");
  refuse (newton, "evaluates a batch many times");
}

/* ---- numbers that move ------------------------------------------------------------------ */

static void
test_schedule (Fixture *f, gconstpointer data)
{
  LoomScheduled line = { .kind = LOOM_SCHEDULED_LINEAR, .start = 1, .end = 0.2, .k = 1, .steps = 4 };
  LoomScheduled power = { .kind = LOOM_SCHEDULED_EXPONENTIAL, .start = 1, .end = 0, .k = 0.9 };
  LoomScheduled curve = { .kind = LOOM_SCHEDULED_INVERSE_SIGMOID, .start = 1, .end = 0, .k = 10 };

  g_assert_cmpfloat_with_epsilon (loom_scheduled_at (&line, 1, 100), 0.8, 1e-15);
  g_assert_cmpfloat (loom_scheduled_at (&line, 9, 100), ==, 0.2);
  line.steps = 0;
  g_assert_cmpfloat_with_epsilon (loom_scheduled_at (&line, 50, 100), 0.6, 1e-15);
  g_assert_cmpfloat_with_epsilon (loom_scheduled_at (&power, 3, 100), 0.729, 1e-15);
  g_assert_cmpfloat_with_epsilon (loom_scheduled_at (&curve, 0, 100), 10.0 / 11, 1e-15);
  g_assert_cmpfloat_with_epsilon (loom_scheduled_at (&curve, 30, 100), 10 / (10 + exp (3)), 1e-15);
  g_assert_cmpfloat (loom_scheduled_at (&curve, 1000000, 100), ==, 0);
}

/* A loss that is the scheduled number itself, times a weight with zero gradient: each step reports the schedule, with
 * one plan; an evaluation has its own number. */
static void
test_moves (Fixture *f, gconstpointer data)
{
  g_autofree char *xml = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"w\" op=\"parameter\" shape=\"\" init=\"constant\" value=\"2\"/>"
      "<node id=\"teacher\" op=\"scheduled\" start=\"0.75\" end=\"0.25\" steps=\"4\" evaluation=\"0.5\"/>"
      "<node id=\"loss\" op=\"mul\"/><wire from=\"teacher\" to=\"loss.input\"/><wire from=\"w\" to=\"loss.other\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0\" epochs=\"6\"/></graph>");
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ 0 });
  const LoomTrainerObserver observer = { .step = step_cb, .eval = eval_cb };
  Losses got = { g_array_new (FALSE, FALSE, sizeof (double)), g_array_new (FALSE, FALSE, sizeof (double)) };
  static const double want[] = { 1.5, 1.25, 1, 0.75, 0.5, 0.5 };
  g_autoptr (GError) error = NULL;

  loom_trainer_set_observer (trainer, &observer, &got);
  train_test_run (trainer);
  g_assert_cmpuint (got.step->len, ==, 6);
  for (guint i = 0; i < 6; i++)
    g_assert_cmpfloat (g_array_index (got.step, double, i), ==, want[i]);
  g_array_set_size (got.eval, 0);
  loom_trainer_evaluate (trainer, "val", &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (g_array_index (got.eval, double, 0), ==, 1);
  g_assert_false (loom_trainer_check_hyper (trainer, "teacher.value", 0.5, NULL));
  g_array_unref (got.step);
  g_array_unref (got.eval);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/stateful/by-hand", Fixture, NULL, set_up, test_by_hand, tear_down);
  g_test_add ("/stateful/resume", Fixture, NULL, set_up, test_resume, tear_down);
  g_test_add ("/stateful/history", Fixture, NULL, set_up, test_history, tear_down);
  g_test_add ("/stateful/refused", Fixture, NULL, set_up, test_refused, tear_down);
  g_test_add ("/stateful/schedule", Fixture, NULL, set_up, test_schedule, tear_down);
  g_test_add ("/stateful/moves", Fixture, NULL, set_up, test_moves, tear_down);
  return g_test_run ();
}
