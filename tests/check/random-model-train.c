/* The loss of a random model, which reads everything that nothing else does, and its <train>. */
#include "tests/check/random-model-private.h"

#include "engine/program/loom-optimizer.h"

#include <string.h>

static const LoomType scalar = { LOOM_F32, { .rank = 0 } };

static LoomType
rows_type (LoomDType dtype, gint64 width)
{
  LoomType type = { dtype, { .rank = width > 0 ? 2 : 1, .dim = { loom_dim_symbol ('B'), loom_dim (width) } } };

  return type;
}

/* ---- losses ------------------------------------------------------------ */

/* A value of this type before which there is a layer with weights. */
static guint
prediction (Maker *self, gint64 width)
{
  const LoomType input = rows_type (LOOM_F32, 4 + maker_below (self, 5)), output = rows_type (LOOM_F32, width);
  int v = maker_pick (self, LOOM_F32, TRUE), fitted = v >= 0 ? maker_fit (self, (guint)v, &input) : -1;
  g_autofree char *attributes = g_strdup_printf ("out_features=\"%" G_GINT64_FORMAT "\"%s", width,
                                                 self->splits && width % 2 == 0 ? " split=\"column\"" : "");

  if (fitted < 0)
    fitted = maker_input (self, &input);
  return maker_pass (self, (guint)fitted, "linear", "input", attributes, &output);
}

/* A metric of what the loss compares. */
static void
add_metric (Maker *self, const char *type, guint input, guint target)
{
  if (maker_chance (self, 0.3))
    self->metric = g_strdup_printf ("    <metric type=\"%s\" input=\"%s\" target=\"%s\"/>\n", type,
                                    maker_value (self, input)->end, maker_value (self, target)->end);
}

static guint
compare (Maker *self, const char *op, const char *attributes, guint input, guint target)
{
  g_autofree char *element = g_strdup_printf ("op=\"%s\"", op), *id = maker_add_node (self, element, attributes);

  maker_add_wire (self, input, id, "input");
  maker_add_wire (self, target, id, "target");
  return maker_add_value (self, id, NULL, &scalar);
}

static guint
class_loss (Maker *self)
{
  static const char *const more[] = { "", "", "label_smoothing=\"0.1\"", "ignore_index=\"0\"", "reduction=\"sum\"" };
  static const gint64 classes[] = { 2, 3, 4, 10 };
  const gint64 n = self->splits ? 4 : classes[maker_below (self, G_N_ELEMENTS (classes))];
  const LoomType target = rows_type (LOOM_I64, 0);
  guint input = prediction (self, n);
  int wanted = maker_input (self, &target);

  add_metric (self, "accuracy", input, (guint)wanted);
  return compare (self, "cross_entropy", maker_one_of (self, G_N_ELEMENTS (more), more), input, (guint)wanted);
}

/* A head with enough classes and rows for the planner to compute it in chunks. */
static guint
large_loss (Maker *self)
{
  const LoomType input = { LOOM_F32, { .rank = 3, .dim = { loom_dim_symbol ('B'), loom_dim (1024), loom_dim (2) } } };
  LoomType rows
      = { LOOM_F32, { .rank = 2, .dim = { loom_dim_mul (loom_dim_symbol ('B'), loom_dim (1024)), loom_dim (2) } } },
      target = { LOOM_I64, { .rank = 1, .dim = { rows.shape.dim[0] } } };
  int v = maker_pick (self, LOOM_F32, TRUE), fitted = v >= 0 ? maker_fit (self, (guint)v, &input) : -1;
  guint at, wanted;
  g_autofree char *id = NULL;

  if (fitted < 0)
    return class_loss (self);
  at = maker_pass (self, (guint)fitted, "flatten", "input", "start_dim=\"0\" end_dim=\"1\"", &rows);
  rows.shape.dim[1] = loom_dim (5000);
  at = maker_pass (self, at, "linear", "input", "out_features=\"5000\"", &rows);
  id = maker_add_node (self, "op=\"randint\"", "high=\"5000\" shape=\"1024B\"");
  wanted = maker_add_value (self, id, NULL, &target);
  return compare (self, "cross_entropy", maker_chance (self, 0.5) ? "" : "label_smoothing=\"0.1\"", at, wanted);
}

static guint
value_loss (Maker *self)
{
  static const char *const ops[] = { "mse_loss",        "l1_loss",          "smooth_l1_loss",
                                     "huber_loss",      "poisson_nll_loss", "binary_cross_entropy_with_logits",
                                     "soft_margin_loss" };
  const LoomType target = rows_type (LOOM_F32, self->splits ? 2 : 1 + maker_below (self, 4));
  guint input = prediction (self, target.shape.dim[1].coef);
  int wanted = maker_input (self, &target);

  add_metric (self, "mean_squared_error", input, (guint)wanted);
  return compare (self, maker_one_of (self, G_N_ELEMENTS (ops), ops),
                  maker_chance (self, 0.2) ? "reduction=\"sum\"" : "", input, (guint)wanted);
}

void
maker_loss (Maker *self)
{
  guint loss = !self->splits && maker_chance (self, 0.04) ? large_loss (self)
               : maker_chance (self, 0.6)                 ? class_loss (self)
                                                          : value_loss (self);
  int v;

  maker_value (self, loss)->is_used = TRUE;
  while ((v = maker_unread (self)) >= 0)
    {
      const ModelValue *value = maker_value (self, (guint)v);
      LoomType type = value->type;
      guint term = (guint)v, pair[2];

      if (type.dtype != LOOM_F32)
        {
          type.dtype = LOOM_F32;
          term = maker_pass (self, term, "cast", "input", "dtype=\"f32\"", &type);
        }
      /* The gradient of a plain mean is a constant, of which planners compute most before the first step. */
      if (maker_chance (self, 0.85))
        term = maker_pass (self, term, "square", "input", "", &type);
      if (type.shape.rank > 0)
        term = maker_pass (self, term, maker_chance (self, 0.8) ? "mean" : "sum", "input", "", &scalar);
      pair[0] = loss;
      pair[1] = term;
      maker_add (self, "add", "", 2, pair, (const char *const[]){ "input", "other" });
      loss = self->scope->values->len - 1;
      maker_value (self, loss)->is_used = TRUE;
    }
  {
    g_auto (GStrv) parts = g_strsplit (maker_value (self, loss)->end, ".", 2);

    self->loss = g_strdup (parts[0]);
  }
}

/* ---- <train> ------------------------------------------------------------ */

static void
append_one (Maker *self, GString *text, const LoomHyper *hyper)
{
  static const double numbers[] = { 0.1, 0.5, 0.9 };
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  double x = numbers[maker_below (self, G_N_ELEMENTS (numbers))];

  if (hyper->choices != NULL)
    g_string_append_printf (text, " %s=\"%s\"", hyper->name,
                            hyper->choices[maker_below (self, g_strv_length ((char **)hyper->choices))]);
  else if (hyper->is_bool)
    g_string_append_printf (text, " %s=\"true\"", hyper->name);
  else if (!hyper->is_integer && x >= hyper->minimum && x <= hyper->maximum)
    g_string_append_printf (text, " %s=\"%s\"", hyper->name, g_ascii_formatd (number, sizeof number, "%g", x));
}

static void
append_hyper (Maker *self, GString *text, const LoomOptimizer *optimizer)
{
  guint64 wanted = 0;

  for (guint k = 0; optimizer->hyper[k].name != NULL; k++)
    if (strcmp (optimizer->hyper[k].name, "lr") != 0 && maker_chance (self, 0.25))
      {
        const int needs
            = optimizer->hyper[k].needs != NULL ? loom_optimizer_find (optimizer, optimizer->hyper[k].needs) : -1;

        wanted |= G_GUINT64_CONSTANT (1) << k;
        if (needs >= 0)
          wanted |= G_GUINT64_CONSTANT (1) << needs;
      }
  for (guint k = 0; optimizer->hyper[k].name != NULL; k++)
    if (wanted & G_GUINT64_CONSTANT (1) << k)
      append_one (self, text, &optimizer->hyper[k]);
}

/* What the options before allow. */
typedef struct
{
  gboolean is_driven; /* the optimizer is no part of the program, or takes no gradients */
  gboolean serves, pipes;
} Choices;

static void
append_parallel (Maker *self, GString *text, const Choices *choices, const char *strategy)
{
  g_string_append_printf (text, "    <parallel strategy=\"%s\"", strategy);
  if (choices->serves && maker_chance (self, 0.3))
    g_string_append (text, " staleness=\"2\"");
  g_string_append_printf (text, " data=\"%u\"",
                          choices->pipes || self->splits ? 1 + maker_below (self, 2) : 2 + maker_below (self, 2));
  if (self->splits)
    g_string_append (text, " tensor=\"2\"");
  if (choices->pipes)
    {
      g_string_append_printf (text, " pipeline=\"2\" schedule=\"%s\"", maker_chance (self, 0.5) ? "gpipe" : "1f1b");
      if (maker_chance (self, 0.7))
        g_string_append_printf (text, " microbatches=\"%u\"", 1 + maker_below (self, 4));
    }
  if (maker_chance (self, 0.5))
    g_string_append (text, maker_chance (self, 0.5) ? " bucket_mb=\"0\"" : " bucket_mb=\"0.0003\"");
  if (maker_chance (self, 0.2))
    g_string_append (text, " reduce_dtype=\"bf16\"");
  if (!choices->pipes && !choices->serves && maker_chance (self, 0.3))
    g_string_append (text, " sync_batch_norm=\"true\"");
  g_string_append (text, "/>\n");
}

static void
append_group (Maker *self, GString *text, const Choices *choices)
{
  if (self->layers->len > 0 && !choices->is_driven && maker_chance (self, 0.2))
    g_string_append_printf (text, "    <group match=\"%s\" %s/>\n",
                            (char *)g_ptr_array_index (self->layers, maker_below (self, self->layers->len)),
                            maker_chance (self, 0.5) ? "lr=\"0.001\"" : "frozen=\"true\"");
}

char *
maker_train (Maker *self)
{
  static const char *const strategies[] = { "data", "data", "zero1", "zero2", "zero3", "server" };
  const LoomOptimizer *const *optimizers = loom_optimizers ();
  const LoomOptimizer *optimizer = optimizers[maker_below (self, g_strv_length ((char **)optimizers))];
  const gboolean divides = self->splits || maker_chance (self, 0.4);
  const char *strategy = maker_one_of (self, G_N_ELEMENTS (strategies), strategies);
  /* Some values must be large enough that the planner computes them again, in chunks or in place. */
  const guint batch = maker_chance (self, 0.08) ? 20000 : 2 + maker_below (self, 5);
  Choices choices = { 0 };
  GString *text = g_string_new (NULL);

  if (self->splits || maker_chance (self, 0.4))
    optimizer = loom_optimizer (maker_chance (self, 0.5) ? "sgd" : "adamw");
  choices.is_driven = optimizer->emit == NULL || optimizer->takes_no_gradients;
  if (choices.is_driven)
    strategy = "data";
  if ((self->splits || strcmp (self->precision, "f16") == 0) && strcmp (strategy, "server") == 0)
    strategy = "zero1";
  choices.serves = divides && strcmp (strategy, "server") == 0;
  choices.pipes = divides && !choices.serves && !choices.is_driven && maker_chance (self, 0.3);
  g_string_append_printf (text, "  <train loss=\"%s\" optimizer=\"%s\" batch_size=\"%u\" epochs=\"2\" seed=\"%u\"",
                          self->loss, optimizer->name, batch, self->seed % 100);
  append_hyper (self, text, optimizer);
  g_string_append_printf (text, " precision=\"%s\" device=\"%s\"", self->precision, self->device);
  if (!choices.is_driven && !choices.serves && maker_chance (self, 0.25))
    g_string_append_printf (text, " accumulate=\"%u\"", 2 + maker_below (self, 2));
  if (!choices.is_driven && !choices.serves && maker_chance (self, 0.15))
    g_string_append (text, " ema=\"0.9\"");
  if (maker_chance (self, 0.1))
    g_string_append (text, " offload=\"optimizer\"");
  if (maker_chance (self, 0.1))
    g_string_append (text, " tf32=\"true\"");
  if (maker_chance (self, 0.1))
    g_string_append (text, " algorithm=\"direct\"");
  g_string_append (text, ">\n");
  append_group (self, text, &choices);
  if (!choices.is_driven && maker_chance (self, 0.3))
    g_string_append (text, maker_chance (self, 0.5)   ? "    <clip norm=\"0.5\"/>\n"
                           : maker_chance (self, 0.5) ? "    <clip value=\"0.1\"/>\n"
                                                      : "    <clip norm=\"1\" value=\"0.2\"/>\n");
  if (self->metric != NULL)
    g_string_append (text, self->metric);
  if (divides)
    append_parallel (self, text, &choices, strategy);
  g_string_append (text, "  </train>\n");
  return g_string_free (text, FALSE);
}
