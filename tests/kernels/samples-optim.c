/* The samples of the optimisers and of the gradients' statistics: every choice of states, first and later steps, a step
 * that must not be taken, empty tensors and tensors of several pieces, and scalars for which each formula is finite. */
#include "tests/kernels/kernel-harness.h"

#include "kernels/optim.h"

#include <math.h>

static const char *const shapes[] = { "5", "33,7", "0", "20000" };

static void
step_sample (GPtrArray *all, const char *primitive, LoomStepAttrs attrs, int step, int finite)
{
  const int n = G_N_ELEMENTS (shapes);
  int states, scalars;
  Sample *s;

  attrs.n = n;
  states = loom_step_states (&attrs);
  scalars = loom_step_scalars (&attrs);
  s = sample_add (all, primitive, 2e-5, "%d%d%d%d step %d finite %d", attrs.maximize, attrs.decoupled, attrs.momentum,
                  attrs.centered, step, finite);
  SAMPLE_ATTRS (s, LoomStepAttrs) = attrs;
  for (int l = 0; l < 2 + states; l++)
    for (int t = 0; t < n; t++)
      sample_in (s, desc (F, shapes[t]), l < 2 ? FILL_NORMAL : FILL_POSITIVE, 0);
  for (int l = 0; l < 2 + states; l++)
    for (int t = 0; t < n && l != 1; t++)
      {
        s->alias[s->n_out] = l * n + t;
        sample_out (s, desc (F, shapes[t]));
      }
  s->in_place = s->n_out;
  sample_in (s, desc (F, ""), FILL_VALUE, 0.05);
  for (int i = 1; i < scalars; i++)
    sample_in (s, desc (F, ""), FILL_VALUE, i == 1 ? 0.875 : i == 2 ? 0.9375 : 0.125);
  sample_in (s, desc (F, ""), FILL_VALUE, 0.5);
  sample_in (s, desc (F, ""), FILL_VALUE, finite);
  sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, step);
}

static void
optimiser_sample (GPtrArray *all, const char *primitive, int variant, int step, int finite)
{
  static const char *const shape[] = { "5", "33,7", "0", "20000" };
  gboolean sgd = g_str_equal (primitive, "sgd_step");
  int n = G_N_ELEMENTS (shape), lists = sgd ? 2 + (variant & 1) : 4 + (variant & 1);
  Sample *s = sample_add (all, primitive, 1e-5, "variant %d step %d finite %d", variant, step, finite);

  if (sgd)
    SAMPLE_ATTRS (s, LoomSgdAttrs) = (LoomSgdAttrs){ n, variant & 1, (variant & 3) == 3, (variant & 4) != 0 };
  else
    SAMPLE_ATTRS (s, LoomAdamAttrs) = (LoomAdamAttrs){ n, (variant & 2) != 0, variant & 1, (variant & 4) != 0 };
  for (int l = 0; l < lists; l++)
    for (int t = 0; t < n; t++)
      sample_in (s, desc (F, shape[t]), l >= 3 ? FILL_POSITIVE : FILL_NORMAL, 0);
  for (int l = 0; l < lists; l++)
    for (int t = 0; t < n && l != 1; t++)
      {
        s->alias[s->n_out] = l * n + t;
        sample_out (s, desc (F, shape[t]));
      }
  s->in_place = s->n_out;
  sample_in (s, desc (F, ""), FILL_VALUE, 0.05);
  sample_in (s, desc (F, ""), FILL_VALUE, 0.875);
  if (sgd)
    sample_in (s, desc (F, ""), FILL_VALUE, 0.25);
  else
    {
      sample_in (s, desc (F, ""), FILL_VALUE, 0.9375);
      sample_in (s, desc (F, ""), FILL_VALUE, 1e-6);
    }
  sample_in (s, desc (F, ""), FILL_VALUE, 0.125);
  sample_in (s, desc (F, ""), FILL_VALUE, 0.5);
  sample_in (s, desc (F, ""), FILL_VALUE, finite);
  sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, step);
}

/* Second moments of which a square root or a quotient may be inexact: 0, numbers whose half is denormal, very small and
 * infinite ones, and NaN. Means are integers, also 0, or so large that only an infinite root gives no step. */
static void
adam_edge_samples (GPtrArray *all)
{
  static const double seconds[] = { 0, 1.5e-38, 1e-30, INFINITY, NAN };

  for (int v = 0; v < 4 * (int)G_N_ELEMENTS (seconds); v++)
    {
      const double second = seconds[v / 4], eps = v & 1 ? 1e-6 : 0;
      const int lists = v & 2 ? 5 : 4;
      const double scalars[] = { 0.05, 0.875, 0.9375, eps, 0, 1, 1 };
      Sample *s = sample_add (all, "adam_step", 1e-5, "second %g eps %g lists %d", second, eps, lists);

      SAMPLE_ATTRS (s, LoomAdamAttrs) = (LoomAdamAttrs){ .n = 1, .amsgrad = lists == 5 };
      for (int l = 0; l < lists; l++)
        if (l < 2)
          sample_in (s, desc (F, "37"), l == 0 ? FILL_NORMAL : FILL_ZEROS, 0);
        else if (l > 2 || isinf (second))
          sample_in (s, desc (F, "37"), FILL_VALUE, l > 2 ? second : 1e19);
        else
          sample_in (s, desc (F, "37"), FILL_TIES, 0);
      for (int l = 0; l < lists; l++)
        if (l != 1)
          {
            s->alias[s->n_out] = l;
            sample_out (s, desc (F, "37"));
          }
      s->in_place = s->n_out;
      for (guint i = 0; i < G_N_ELEMENTS (scalars); i++)
        sample_in (s, desc (F, ""), FILL_VALUE, scalars[i]);
      sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, 3);
    }
}

/* Old weights in the gradients' memory, with statistics; and weights that are restored, or not. */
static void
logged_samples (GPtrArray *all)
{
  const int n = G_N_ELEMENTS (shapes);

  for (int variant = 0; variant < 4; variant++)
    {
      gboolean undo = variant >= 2;
      Sample *s = sample_add (all, undo ? "undo_step" : "sgd_step_logged", 1e-5, "%d", variant & 1);

      s->joined = TRUE;
      if (undo)
        SAMPLE_ATTRS (s, LoomUndoAttrs) = (LoomUndoAttrs){ n };
      else
        SAMPLE_ATTRS (s, LoomSgdLoggedAttrs) = (LoomSgdLoggedAttrs){ n, variant == 1 };
      for (int k = 0; k < 2 * n; k++)
        sample_in (s, desc (F, shapes[k % n]), FILL_NORMAL, 0);
      for (int o = 0; o < (undo ? n : 2 * n); o++)
        {
          s->alias[s->n_out] = o;
          sample_out (s, desc (F, shapes[o % n]));
        }
      s->in_place = s->n_out;
      if (undo)
        {
          sample_in (s, desc (F, ""), FILL_VALUE, variant & 1);
          continue;
        }
      sample_in (s, desc (F, ""), FILL_VALUE, 0.05);
      sample_in (s, desc (F, ""), FILL_VALUE, 0.125);
      sample_in (s, desc (F, ""), FILL_VALUE, 0.5);
      sample_out (s, desc (F, ""));
      sample_out (s, desc (F, ""));
    }
}

static void
optimiser_samples (GPtrArray *all)
{
  logged_samples (all);
  adam_edge_samples (all);
  for (int variant = 0; variant < 8; variant++)
    for (int step = 1; step <= 3; step += 2)
      for (int finite = 0; finite < 2; finite++)
        {
          if ((variant & 3) != 2) /* there is no Nesterov without momentum */
            optimiser_sample (all, "sgd_step", variant, step, finite);
          optimiser_sample (all, "adam_step", variant, step, finite);
        }
  for (int v = 0; v < 3; v++)
    {
      Sample *s = sample_add (all, "grad_stats", 1e-5, "%d", v);

      sample_in (s, desc (F, "33"), FILL_NORMAL, 0);
      sample_in (s, desc (F, v == 2 ? "100000" : "0"), FILL_NORMAL, 0);
      sample_in (s, desc (F, "5,7"), v == 1 ? FILL_SPECIAL : FILL_NORMAL, 0);
      sample_out (s, desc (F, ""));
      sample_out (s, desc (F, ""));
      SAMPLE_ATTRS (s, LoomGradStatsAttrs).n = 3;
    }
}

void
samples_optim (GPtrArray *all)
{
#define NAME(name, scalars) #name "_step",
  static const char *const names[LOOM_N_STEPS] = { LOOM_STEPS (NAME) };
#undef NAME

  optimiser_samples (all);
  for (int kind = 0; kind < LOOM_N_STEPS; kind++)
    for (int variant = 0; variant < 4; variant++)
      for (int step = 1; step <= 9; step += 4)
        for (int finite = 0; finite < 2; finite++)
          {
            gboolean rmsprop = kind == LOOM_STEP_RMSPROP, decay = kind == LOOM_STEP_NADAM || kind == LOOM_STEP_RADAM;
            LoomStepAttrs attrs = { .kind = (LoomStepKind)kind,
                                    .maximize = variant == 3,
                                    .decoupled = decay && (variant & 1),
                                    .momentum = rmsprop && (variant & 1),
                                    .centered = rmsprop && (variant & 2) };

            step_sample (all, names[kind], attrs, step, finite);
          }
}
