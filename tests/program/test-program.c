/* Tests whole programs: listing, fan-out, barriers, errors, expansion of slots, optimizers' formulas. */
#include "engine/program/loom-loss-terms.h"
#include "engine/program/loom-optimizer.h"
#include "tests/program/eval.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

/* loss = mean cross-entropy of relu(x Wᵀ + b), with sgd on W and b: everything in one listing. */
static LoomProgram *
classifier (int slot[2])
{
  LoomProgram *p = loom_program_new ();
  LoomMatmulAttrs attrs = { .trans_b = true, .has_bias = true, .act = LOOM_SCALAR_ID };
  LoomCrossEntropyAttrs loss_attrs = { -100 };
  LoomInit init = { LOOM_INIT_UNIFORM, -0.5, 0.5, NULL };
  LoomValue in[3], out[2], wrt[2], grads[2], loss;
  g_autoptr (GError) error = NULL;
  LoomUpdateOptions update = { .optimizer = "sgd", .hyper = (double[]){ 0.1, 0.9, 0, 0, 0, 0 }, .clip_norm = 1 };

  in[0] = loom_program_input (p, "data.x", LOOM_F32, 2, (gint64[]){ 4, 3 });
  in[1] = loom_program_input (p, "data.y", LOOM_I64, 1, (gint64[]){ 4 });
  slot[0] = loom_program_slot (p, "fc.weight", LOOM_SLOT_PARAMETER, LOOM_F32, 2, (gint64[]){ 5, 3 }, &init, TRUE);
  slot[1] = loom_program_slot (p, "fc.bias", LOOM_SLOT_PARAMETER, LOOM_F32, 1, (gint64[]){ 5 }, &init, TRUE);
  wrt[0] = loom_program_read (p, slot[0]);
  wrt[1] = loom_program_read (p, slot[1]);
  loom_program_set_origin (p, "fc", NULL);
  out[0] = loom_emit (p, loom_prim ("matmul"), &attrs, 3, (LoomValue[]){ in[0], wrt[0], wrt[1] }, NULL);
  loom_program_set_origin (p, "act", NULL);
  out[0] = loom_unary (p, LOOM_SCALAR_RELU, out[0]);
  loom_program_set_origin (p, "loss", NULL);
  loom_emit (p, loom_prim ("cross_entropy"), &loss_attrs, 2, (LoomValue[]){ out[0], in[1] }, out);
  loss = loom_mean_all (p, out[0]);
  loom_program_output (p, "loss", loss);
  loom_differentiate (p, loss, 0, 2, wrt, grads, &error);
  g_assert_no_error (error);
  update.loss = loss;
  loom_emit_update (p, &update, 2, slot, grads, &error);
  g_assert_no_error (error);
  return p;
}

/* GRADLOOM_UPDATE=1 rewrites the file; review its diff. */
static void
test_print (void)
{
  int slot[2];
  g_autoptr (LoomProgram) p = classifier (slot);
  g_autofree char *text = loom_program_print (p), *want = NULL;
  const char *root = g_getenv ("GRADLOOM_SOURCE_ROOT");
  g_autofree char *file = g_build_filename (root != NULL ? root : ".", "tests", "program", "classifier.txt", NULL);
  g_autoptr (GError) error = NULL;

  if (g_strcmp0 (g_getenv ("GRADLOOM_UPDATE"), "1") == 0)
    g_file_set_contents (file, text, -1, &error);
  g_file_get_contents (file, &want, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (text, ==, want);
}

/* The gradients of the classifier are minimal: one product for the weight, none for the data. */
static void
test_lean (void)
{
  int slot[2];
  g_autoptr (LoomProgram) p = classifier (slot);
  guint products = 0;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      if (instr->region == LOOM_REGION_BACKWARD && g_str_equal (instr->prim->name, "matmul"))
        products++;
    }
  g_assert_cmpuint (products, ==, 1);
}

/* y = x·x + x with x used three times, and once more through a detach. */
static void
test_fan_out (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F64, 1, (gint64[]){ 3 }), grad;
  LoomValue y = loom_binary (p, LOOM_SCALAR_ADD, loom_binary (p, LOOM_SCALAR_MUL, x, x), x);
  g_autoptr (Eval) e = NULL;

  loom_program_set_float (p, LOOM_F64);
  y = loom_binary (p, LOOM_SCALAR_MUL, y, loom_unary (p, LOOM_SCALAR_EXP, loom_detach (p, x)));
  g_assert_true (loom_differentiate (p, loom_sum_all (p, y), 0, 1, &x, &grad, NULL));
  e = eval_new (p);
  for (int i = 0; i < 3; i++)
    loom_tensor_set (eval_tensor (e, x), i, i - 1);
  eval_run (e);
  for (int i = 0; i < 3; i++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (eval_tensor (e, grad), i), (2.0 * (i - 1) + 1) * exp (i - 1),
                                    1e-12);
}

/* A value that the loss does not depend on has no gradient, and comparisons stop it silently. */
static void
test_unreached (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomValue x[2], grads[2], y;

  x[0] = loom_program_input (p, "a", LOOM_F32, 1, (gint64[]){ 3 });
  x[1] = loom_program_input (p, "b", LOOM_F32, 1, (gint64[]){ 3 });
  y = loom_binary (p, LOOM_SCALAR_GT, x[1], loom_const (p, LOOM_F32, 0));
  y = loom_binary (p, LOOM_SCALAR_MUL, x[0], loom_cast (p, y, LOOM_F32));
  g_assert_true (loom_differentiate (p, loom_sum_all (p, y), 0, 2, x, grads, NULL));
  g_assert_cmpuint (grads[0], !=, 0);
  g_assert_cmpuint (grads[1], ==, 0);
}

/* Second derivatives use the gradients' own rules. */
static void
test_twice (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F64, 0, NULL), first, second;
  LoomValue y = loom_unary (p, LOOM_SCALAR_TANH, loom_unary (p, LOOM_SCALAR_SQUARE, x));
  g_autoptr (Eval) e = NULL;
  double at = 0.7, t = tanh (at * at), s = 1 - t * t;

  loom_program_set_float (p, LOOM_F64);
  g_assert_true (loom_differentiate (p, y, 0, 1, &x, &first, NULL));
  g_assert_true (loom_differentiate (p, first, 0, 1, &x, &second, NULL));
  e = eval_new (p);
  loom_tensor_set (eval_tensor (e, x), 0, at);
  eval_run (e);
  g_assert_cmpfloat_with_epsilon (eval_scalar (e, first), 2 * at * s, 1e-12);
  g_assert_cmpfloat_with_epsilon (eval_scalar (e, second), 2 * s - 8 * at * at * t * s, 1e-12);
}

static void
test_no_gradient (void)
{
  int slot[2];
  g_autoptr (LoomProgram) p = classifier (slot);
  g_autoptr (GError) error = NULL;
  LoomValue x = loom_program_find_output (p, "grad_norm"), w = loom_program_read (p, slot[0]), grad;

  g_assert_false (loom_differentiate (p, x, 0, 1, &w, &grad, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE);
  g_assert_nonnull (strstr (error->message, "grad_stats"));
}

/* ---- optimizers ------------------------------------------------------- */

typedef struct
{
  double p, g, m, v, vmax;
  int t;
} Scalar;

/* torch.optim.Adam and AdamW, as their documentation states them. */
static void
adam_by_hand (Scalar *s, const double *h, gboolean decoupled)
{
  double g = s->g, bc1, bc2, v;

  s->t++;
  if (decoupled)
    s->p -= h[0] * h[4] * s->p;
  else
    g += h[4] * s->p;
  s->m = h[1] * s->m + (1 - h[1]) * g;
  s->v = h[2] * s->v + (1 - h[2]) * g * g;
  bc1 = 1 - pow (h[1], s->t);
  bc2 = 1 - pow (h[2], s->t);
  v = s->v;
  if (h[5] != 0)
    v = s->vmax = MAX (s->vmax, s->v);
  s->p -= h[0] / bc1 * s->m / (sqrt (v) / sqrt (bc2) + h[3]);
}

/* torch.optim.SGD. */
static void
sgd_by_hand (Scalar *s, const double *h)
{
  double g = s->g + h[3] * s->p;

  s->t++;
  if (h[1] != 0)
    {
      s->m = s->t == 1 ? g : h[1] * s->m + (1 - h[2]) * g;
      g = h[4] != 0 ? g + h[1] * s->m : s->m;
    }
  s->p -= h[0] * g;
}

/* Runs three steps of one parameter with gradient 2p (loss p²), and compares with the formula. */
static void
check_optimizer (const char *name, const double *hyper)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomUpdateOptions options = { .optimizer = name, .hyper = hyper };
  int slot;
  LoomValue w, loss, grad;
  g_autoptr (Eval) e = NULL;
  g_autoptr (GError) error = NULL;
  Scalar s = { .p = 0.8 };

  loom_program_set_float (p, LOOM_F64);
  slot = loom_program_slot (p, "w", LOOM_SLOT_PARAMETER, LOOM_F64, 1, (gint64[]){ 1 }, NULL, TRUE);
  w = loom_program_read (p, slot);
  loss = loom_sum_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, w));
  g_assert_true (loom_differentiate (p, loss, 0, 1, &w, &grad, &error));
  options.loss = loss;
  g_assert_true (loom_emit_update (p, &options, 1, &slot, &grad, &error));
  e = eval_new (p);
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot_i = loom_program_get_slot (p, i);

      if (slot_i->read != 0 && slot_i->kind == LOOM_SLOT_SCALAR)
        loom_tensor_set (eval_tensor (e, slot_i->read), 0, slot_i->init.a);
    }
  loom_tensor_set (eval_tensor (e, w), 0, s.p);
  for (int step = 0; step < 3; step++)
    {
      eval_run (e);
      s.g = 2 * s.p;
      if (g_str_equal (name, "sgd"))
        sgd_by_hand (&s, hyper);
      else
        adam_by_hand (&s, hyper, g_str_equal (name, "adamw"));
      for (guint i = 0; i < loom_program_n_slots (p); i++)
        {
          const LoomSlot *slot_i = loom_program_get_slot (p, i);

          if (slot_i->commit != 0)
            loom_tensor_set (eval_tensor (e, slot_i->read), 0, loom_tensor_get (eval_tensor (e, slot_i->commit), 0));
        }
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (eval_tensor (e, w), 0), s.p, 1e-12);
    }
  g_assert_cmpint (
      loom_tensor_get (eval_tensor (e, loom_program_get_slot (p, loom_program_find_slot (p, "step"))->read), 0), ==, 3);
}

static void
test_optimizers (void)
{
  check_optimizer ("sgd", (double[]){ 0.1, 0, 0, 0, 0, 0 });
  check_optimizer ("sgd", (double[]){ 0.1, 0.9, 0.1, 0.01, 0, 0 });
  check_optimizer ("sgd", (double[]){ 0.1, 0.9, 0, 0.01, 1, 0 });
  check_optimizer ("adam", (double[]){ 0.05, 0.9, 0.99, 1e-8, 0.1, 0, 0 });
  check_optimizer ("adam", (double[]){ 0.05, 0.9, 0.99, 1e-8, 0, 1, 0 });
  check_optimizer ("adamw", (double[]){ 0.05, 0.9, 0.99, 1e-8, 0.1, 0, 0 });
  for (const LoomOptimizer *const *o = loom_optimizers (); *o != NULL; o++)
    {
      g_assert_true (loom_optimizer ((*o)->name) == *o);
      for (const LoomHyper *h = (*o)->hyper; h->name != NULL; h++)
        g_assert_true (h->doc != NULL && h->minimum <= h->value && h->value <= h->maximum);
    }
}

/* Clipping scales all gradients to the given norm; without it they are unchanged. */
static void
test_clip (void)
{
  for (int clip = 0; clip < 2; clip++)
    {
      g_autoptr (LoomProgram) p = loom_program_new ();
      LoomUpdateOptions options
          = { .optimizer = "sgd", .hyper = (double[]){ 1, 0, 0, 0, 0, 0 }, .clip_norm = clip * 0.5 };
      int slot = loom_program_slot (p, "w", LOOM_SLOT_PARAMETER, LOOM_F32, 1, (gint64[]){ 2 }, NULL, TRUE);
      LoomValue w = loom_program_read (p, slot), grad;
      g_autoptr (GRand) rand = g_rand_new_with_seed (1);
      g_autoptr (Eval) e = NULL;
      double scale = clip ? 0.5 / (5 + 1e-6) : 1;

      loom_differentiate (p, loom_sum_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, w)), 0, 1, &w, &grad, NULL);
      g_assert_true (loom_emit_update (p, &options, 1, &slot, &grad, NULL));
      e = eval_new (p);
      eval_fill_all (e, NULL, rand);
      loom_tensor_set (eval_tensor (e, w), 0, 1.5);
      loom_tensor_set (eval_tensor (e, w), 1, 2);
      eval_run (e);
      g_assert_cmpfloat_with_epsilon (eval_scalar (e, loom_program_find_output (p, "grad_norm")), 5, 1e-6);
      w = loom_program_get_slot (p, slot)->commit;
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (eval_tensor (e, w), 0), 1.5 - 3 * scale, 1e-6);
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (eval_tensor (e, w), 1), 2 - 4 * scale, 1e-6);
    }
}

static void
test_update_errors (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomUpdateOptions options = { .optimizer = "sdg" };
  g_autoptr (GError) unknown = NULL, unreached = NULL;
  int slot = 0;
  LoomValue none = 0;

  g_assert_false (loom_emit_update (p, &options, 0, NULL, NULL, &unknown));
  g_assert_error (unknown, LOOM_ERROR, LOOM_ERROR_USAGE);
  options.optimizer = "sgd";
  g_assert_false (loom_emit_update (p, &options, 1, &slot, &none, &unreached));
  g_assert_error (unreached, LOOM_ERROR, LOOM_ERROR_SHAPE);
}

/* A sum of very many numbers is followed without recursion. */
static void
test_loss_terms_long (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 1, (gint64[]){ 4 });
  LoomValue number = loom_reshape (p, loom_program_input (p, "n", LOOM_F32, 1, (gint64[]){ 1 }), 0, NULL);
  LoomValue sum = loom_sum_all (p, x), count = loom_sum_all (p, loom_unary (p, LOOM_SCALAR_NEG, x)), loss;

  for (guint i = 0; i < 200000; i++)
    sum = loom_reshape (p, sum, i % 2 == 0, (gint64[]){ 1 });
  loss = loom_reshape (p, loom_binary (p, LOOM_SCALAR_DIV, sum, count), 0, NULL);
  for (guint i = 0; i < 200000; i++)
    loss = loom_binary (p, LOOM_SCALAR_ADD, loss, number);
  g_autoptr (GArray) terms = loom_loss_terms_new (p, loss);
  g_assert_nonnull (terms);
  g_assert_cmpuint (terms->len, ==, 2);
  g_assert_cmpuint (g_array_index (terms, LoomLossTerm, 0).count, !=, 0);
  g_assert_cmpuint (g_array_index (terms, LoomLossTerm, 1).count, ==, 0);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/program/print", test_print);
  g_test_add_func ("/program/lean", test_lean);
  g_test_add_func ("/program/fan-out", test_fan_out);
  g_test_add_func ("/program/unreached", test_unreached);
  g_test_add_func ("/program/twice", test_twice);
  g_test_add_func ("/program/no-gradient", test_no_gradient);
  g_test_add_func ("/program/optimizers", test_optimizers);
  g_test_add_func ("/program/clip", test_clip);
  g_test_add_func ("/program/update-errors", test_update_errors);
  g_test_add_func ("/program/loss-terms-long", test_loss_terms_long);
  return g_test_run ();
}
