/* <train> in words of PyTorch: optimiser, groups, schedule and metrics, each as text for pytorch-train.c. */
#include "engine/pytorch/pytorch-recipe.h"

#include <math.h>
#include <string.h>

/* ---- optimisers that torch.optim has not ------------------------------------- */

#define OWN                                                                                                            \
  "class Own(torch.optim.Optimizer):\n"                                                                                \
  "    \"\"\"An optimiser in a few lines: update(p, g, state, group) changes p and state.\"\"\"\n"                     \
  "\n"                                                                                                                 \
  "    def __init__(self, params, **defaults):\n"                                                                      \
  "        super().__init__(params, defaults)\n"                                                                       \
  "\n"                                                                                                                 \
  "    @torch.no_grad()\n"                                                                                             \
  "    def step(self, closure=None):\n"                                                                                \
  "        for group in self.param_groups:\n"                                                                          \
  "            for p in group[\"params\"]:\n"                                                                          \
  "                if p.grad is not None:\n"                                                                           \
  "                    state = self.state[p]\n"                                                                        \
  "                    state[\"step\"] = state.get(\"step\", 0) + 1\n"                                                 \
  "                    self.update(p, -p.grad if group.get(\"maximize\") else p.grad, state, group)\n\n\n"

static const struct
{
  const char *name, *class, *text;
} own[] = {
  { "lion", "Lion",
    OWN "class Lion(Own):\n"
        "    \"\"\"Chen et al. 2023, program 1.\"\"\"\n"
        "\n"
        "    def update(self, p, g, s, o):\n"
        "        m = s.setdefault(\"exp_avg\", torch.zeros_like(p))\n"
        "        b1, b2 = o[\"betas\"]\n"
        "        p.sub_(o[\"lr\"] * (torch.sign(b1 * m + (1 - b1) * g) + o[\"weight_decay\"] * p))\n"
        "        m.mul_(b2).add_((1 - b2) * g)\n" },
  { "lamb", "Lamb",
    OWN
    "class Lamb(Own):\n"
    "    \"\"\"You et al. 2020, algorithm 2.\"\"\"\n"
    "\n"
    "    def update(self, p, g, s, o):\n"
    "        m, v = s.setdefault(\"exp_avg\", torch.zeros_like(p)), s.setdefault(\"exp_avg_sq\", torch.zeros_like(p))\n"
    "        b1, b2 = o[\"betas\"]\n"
    "        m.mul_(b1).add_((1 - b1) * g)\n"
    "        v.mul_(b2).add_((1 - b2) * g * g)\n"
    "        r = (m / (1 - b1 ** s[\"step\"])) / ((v / (1 - b2 ** s[\"step\"])).sqrt() + o[\"eps\"])\n"
    "        r = r + o[\"weight_decay\"] * p\n"
    "        p.sub_(o[\"lr\"] * (p.norm() / r.norm() if p.norm() > 0 and r.norm() > 0 else 1.0) * r)\n" },
  { "lars", "Lars",
    OWN "class Lars(Own):\n"
        "    \"\"\"You, Gitman and Ginsburg 2017, algorithm 1.\"\"\"\n"
        "\n"
        "    def update(self, p, g, s, o):\n"
        "        v, w, n = s.setdefault(\"momentum_buffer\", torch.zeros_like(p)), p.norm(), g.norm()\n"
        "        local = o[\"trust_coefficient\"] * w / (n + o[\"weight_decay\"] * w + o[\"eps\"]) if w > 0 and n > 0 "
        "else 1.0\n"
        "        v.mul_(o[\"momentum\"]).add_(o[\"lr\"] * local * (g + o[\"weight_decay\"] * p))\n"
        "        p.sub_(v)\n" },
  { "muon", "Muon",
    "class Muon(torch.optim.Optimizer):\n"
    "    \"\"\"torch.optim.Muon for matrices; AdamW for other weights, and for groups with adamw.\"\"\"\n"
    "\n"
    "    def __init__(self, params, betas, adamw=False, **options):\n"
    "        super().__init__(params, {\"adamw\": adamw, **options})\n"
    "        split = ([], [])\n"
    "        for group in self.param_groups:\n"
    "            for matrices, part in enumerate(split):\n"
    "                own = [p for p in group[\"params\"] if (p.ndim == 2 and not group[\"adamw\"]) == bool(matrices)]\n"
    "                if own:\n"
    "                    part.append({\"params\": own, \"lr\": group[\"lr\"], \"weight_decay\": "
    "group[\"weight_decay\"]})\n"
    "        self.parts = [torch.optim.AdamW(split[0], betas=betas)] if split[0] else []\n"
    "        self.parts += [torch.optim.Muon(split[1], **options)] if split[1] else []\n"
    "        self.param_groups = [group for part in self.parts for group in part.param_groups]\n"
    "\n"
    "    def step(self, closure=None):\n"
    "        for part in self.parts:\n"
    "            part.step()\n" },
  { "newton", "Newton",
    "class Newton(torch.optim.Optimizer):\n"
    "    \"\"\"p - lr (H + damping I)⁻¹ g with the whole Hessian (Nocedal and Wright 2006, section 3.3).\"\"\"\n"
    "\n"
    "    def __init__(self, params, lr, damping):\n"
    "        super().__init__(params, {\"lr\": lr, \"damping\": damping})\n"
    "\n"
    "    def step(self, closure):\n"
    "        group = self.param_groups[0]\n"
    "        params, loss = group[\"params\"], closure()\n"
    "        flat = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, params, create_graph=True)])\n"
    "        rows = [torch.autograd.grad(g, params, retain_graph=True, allow_unused=True) for g in flat]\n"
    "        hessian = torch.stack([torch.cat([(torch.zeros_like(p) if r is None else r).reshape(-1)\n"
    "                                          for p, r in zip(params, row)]) for row in rows])\n"
    "        step = newton_step(hessian, flat.detach(), group[\"damping\"])\n"
    "        with torch.no_grad():\n"
    "            for p, part in zip(params, step.split([p.numel() for p in params])):\n"
    "                p.sub_((group[\"lr\"] * part).reshape(p.shape).to(p.dtype))\n"
    "        return loss.detach()\n"
    "\n"
    "\n"
    "def newton_step(hessian, gradient, damping):\n"
    "    \"\"\"Adds more to the diagonal until the matrix is positive definite.\"\"\"\n"
    "    hessian, gradient = hessian.double(), gradient.double()\n"
    "    least = hessian.diag().abs().max().item() * 1e-6 or 1e-6\n"
    "    while True:\n"
    "        factor, failed = torch.linalg.cholesky_ex(hessian + damping * torch.eye(len(gradient)))\n"
    "        if not failed:\n"
    "            return torch.cholesky_solve(gradient[:, None], factor)[:, 0]\n"
    "        damping = max(10 * damping, least)\n" },
};

const char *
loom_pytorch_optimizer_class (const LoomOptimizer *optimizer, const char **text)
{
  *text = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    if (strcmp (own[i].name, optimizer->name) == 0)
      {
        *text = own[i].text;
        return own[i].class;
      }
  return g_str_has_prefix (optimizer->reference, "torch.optim.") ? optimizer->reference : NULL;
}

static char *
hyper_text (const LoomHyper *h, double value)
{
  if (h->choices != NULL)
    return strcmp (h->choices[(int)value], "none") == 0 ? g_strdup ("None")
                                                        : loom_pytorch_quote (h->choices[(int)value]);
  if (h->is_bool)
    return g_strdup (value != 0 ? "True" : "False");
  /* 0 of an integer, and of Adafactor's first epsilon, stands for the default that PyTorch computes. */
  if (value == 0 && (h->is_integer || strcmp (h->name, "eps1") == 0))
    return g_strdup ("None");
  return h->is_integer ? g_strdup_printf ("%.0f", value) : loom_pytorch_float (value);
}

/* "lr=0.01, betas=(0.9, 0.999)" or "'lr': 0.01": own: the bits of those that are written, plus all with always. */
char *
loom_pytorch_hyper (const LoomOptimizer *optimizer, const double *hyper, guint64 which, gboolean as_dict)
{
  GString *s = g_string_new (NULL);
  const char *mask = as_dict ? "%s\"%s\": %s" : "%s%s=%s";

  for (guint k = 0, next; optimizer->hyper[k].name != NULL; k = next)
    {
      const LoomHyper *h = optimizer->hyper + k;
      gboolean given = (which & (G_GUINT64_CONSTANT (1) << k)) != 0;
      g_autoptr (GString) value = g_string_new (NULL);

      for (next = k; next == k || (h->list != NULL && g_strcmp0 (optimizer->hyper[next].list, h->list) == 0); next++)
        {
          g_autofree char *one = hyper_text (optimizer->hyper + next, hyper[next]);

          given |= (which & (G_GUINT64_CONSTANT (1) << next)) != 0;
          g_string_append_printf (value, "%s%s", next > k ? ", " : "", one);
        }
      if (next > k + 1)
        g_string_append_c (g_string_prepend_c (value, '('), ')');
      if (!given || (h->is_bool && hyper[k] == h->value && !as_dict))
        continue;
      g_string_append_printf (s, mask, s->len > 0 ? ", " : "", next > k + 1 ? h->list : h->name, value->str);
    }
  return g_string_free (s, FALSE);
}

/* ---- groups -------------------------------------------------------------------- */

char *
loom_pytorch_pattern (const char *match)
{
  g_autoptr (GString) s = g_string_new (NULL);

  for (const char *c = match; *c != 0; c++)
    if (c[0] == '*' && c[1] == '*')
      {
        g_string_append (s, ".*");
        c++;
      }
    else if (*c == '*')
      g_string_append (s, "[^.]*");
    else if (*c == '?')
      g_string_append (s, "[^.]");
    else if (g_ascii_isalnum (*c) || *c == '_')
      g_string_append_c (s, *c);
    else
      g_string_append_printf (s, *c > 0 ? "\\%c" : "%c", *c);
  g_string_append (s, "(\\..*)?");
  return loom_pytorch_quote (s->str);
}

/* ---- schedules ------------------------------------------------------------------ */

/* The fraction of the rise from the lowest to the highest value of cyclic. */
#define CYCLIC_HEIGHT                                                                                                  \
  "up = %step_size_up\n"                                                                                               \
  "down = %step_size_down\n"                                                                                           \
  "cycle, ratio = math.floor(1 + t / (up + down)), up / (up + down)\n"                                                 \
  "x = 1 + t / (up + down) - cycle\n"                                                                                  \
  "height = x / ratio if x <= ratio else (x - 1) / (ratio - 1)\n"                                                      \
  "height *= (1.0, 2.0 ** (1 - cycle), %gamma ** t)[%mode]\n"

/* Formulas over t (steps or epochs so far) and total, as in torch.optim.lr_scheduler, but in closed form: a rate is a
 * function of its step. %NAME is a parameter; one that is not given is `total`, or 1 for a multiple of the rate. */
static const struct
{
  const char *name, *formula;
} formulas[] = {
  { "constant", "return %factor if t < %total_iters else 1.0" },
  { "step", "return %gamma ** (t // %step_size)" },
  { "multistep", "return %gamma ** sum(m <= t for m in %milestones)" },
  { "exponential", "return %gamma ** t" },
  { "linear", "return %start_factor + (%end_factor - %start_factor) * min(t / %total_iters, 1)" },
  { "polynomial", "return (1 - min(t / %total_iters, 1)) ** %power" },
  { "cosine", "low = %eta_min / lr if lr else 0.0\n"
              "return low + (1 - low) * (1 + math.cos(math.pi * %PLACE)) / 2" },
  { "cosine_warm_restarts", "length, low = %T_0, %eta_min / lr if lr else 0.0\n"
                            "while t >= length:\n"
                            "    t, length = t - length, length * %T_mult\n"
                            "return low + (1 - low) * (1 + math.cos(math.pi * t / length)) / 2" },
  { "one_cycle", "top, length = %max_lr, max(%total_steps, 2)\n"
                 "first = top / %div_factor\n"
                 "rise, last, t = %pct_start * length - 1, length - 1, min(t, length - 1)\n"
                 "corners = [(0, first), (rise, top)] + ([(2 * rise, first)] if %three_phase else [])\n"
                 "corners += [(last, first / %final_div_factor)]\n"
                 "for (a, low), (b, high) in zip(corners, corners[1:]):\n"
                 "    if t <= b:\n"
                 "        share = (t - a) / (b - a) if b > a else 1.0\n"
                 "        share = share if %anneal_strategy else (1 - math.cos(math.pi * share)) / 2\n"
                 "        return low + (high - low) * share\n"
                 "return first / %final_div_factor" },
  { "cyclic", CYCLIC_HEIGHT "return %base_lr + (%max_lr - %base_lr) * height" },
};

/* Momentum falls while the rate rises. */
#define CYCLIC_MOMENTUM CYCLIC_HEIGHT "return %max_momentum - (%max_momentum - %base_momentum) * height"
#define ONE_CYCLE_MOMENTUM                                                                                             \
  "length = max(%total_steps, 2)\n"                                                                                    \
  "rise, last, t = %pct_start * length - 1, length - 1, min(t, length - 1)\n"                                          \
  "corners = [(0, %max_momentum), (rise, %base_momentum)] + ([(2 * rise, %max_momentum)] if %three_phase else [])\n"   \
  "corners += [(last, %max_momentum)]\n"                                                                               \
  "for (a, low), (b, high) in zip(corners, corners[1:]):\n"                                                            \
  "    if t <= b:\n"                                                                                                   \
  "        share = (t - a) / (b - a) if b > a else 1.0\n"                                                              \
  "        share = share if %anneal_strategy else (1 - math.cos(math.pi * share)) / 2\n"                               \
  "        return low + (high - low) * share\n"                                                                        \
  "return %max_momentum"

static char *
parameter (const LoomSchedule *s, const char *name, gsize n)
{
  if (n == 10 && strncmp (name, "milestones", n) == 0)
    {
      GString *list = g_string_new ("[");
      for (guint i = 0; i < s->n_milestones; i++)
        g_string_append_printf (list, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "", s->milestone[i]);
      return g_string_free (g_string_append_c (list, ']'), FALSE);
    }
  for (guint k = 0; s->klass->param[k].name != NULL; k++)
    {
      const LoomScheduleParam *p = s->klass->param + k;

      if (strlen (p->name) != n || strncmp (p->name, name, n) != 0)
        continue;
      if (isnan (s->param[k]))
        return g_strdup (p->of_lr ? "1.0" : strcmp (p->name, "step_size_down") == 0 ? "up" : "total");
      return p->whole || p->choices != NULL ? g_strdup_printf ("%.0f", s->param[k]) : loom_pytorch_float (s->param[k]);
    }
  return g_strdup ("None");
}

static char *
fill (const LoomSchedule *s, const char *formula)
{
  GString *text = g_string_new (NULL);

  for (const char *c = formula; *c != 0;)
    if (*c == '%')
      {
        gsize n = strspn (c + 1, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
        /* A wave over the whole run ends at its minimum; one with a given period repeats. */
        g_autofree char *value = n == 5 && strncmp (c + 1, "PLACE", n) == 0
                                     ? g_strdup (isnan (s->param[0]) ? "min(t / total, 1)" : "t / %T_max")
                                     : parameter (s, c + 1, n);
        g_autofree char *again = strchr (value, '%') != NULL ? fill (s, value) : g_strdup (value);
        g_string_append (text, again);
        c += n + 1;
      }
    else
      g_string_append_c (text, *c++);
  return g_string_free (text, FALSE);
}

/* The schedules inside, each as a function part0, part1 …, whose body `write` returns; NULL if there is none, and no
 * `other` instead. */
static GString *
parts_of (const LoomSchedule *s, char *(*write) (const LoomSchedule *), const char *other)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < s->n_parts; i++)
    {
      g_autofree char *body = write (&s->part[i]);
      g_auto (GStrv) lines = g_strsplit (body != NULL ? body : other != NULL ? other : "", "\n", -1);

      if (body == NULL && other == NULL)
        return NULL;
      g_string_append_printf (text, "def part%u(t, total):\n", i);
      for (guint k = 0; lines[k] != NULL; k++)
        if (lines[k][0] != 0)
          g_string_append_printf (text, "    %s\n", lines[k]);
    }
  return g_steal_pointer (&text);
}

static char *
write_composed (const LoomSchedule *s, char *(*write) (const LoomSchedule *), const char *other)
{
  g_autoptr (GString) text = parts_of (s, write, other);

  if (text == NULL)
    return NULL;
  if (!s->klass->has_milestones)
    {
      for (guint i = 0; i < s->n_parts; i++)
        g_string_append_printf (text, "%spart%u(t, total)", i > 0 ? " * " : "return ", i);
      return g_strdup (text->str);
    }
  g_string_append (text, "starts, parts = [0");
  for (guint i = 0; i < s->n_milestones; i++)
    g_string_append_printf (text, ", %" G_GINT64_FORMAT, s->milestone[i]);
  g_string_append (text, "], [part0");
  for (guint i = 1; i < s->n_parts; i++)
    g_string_append_printf (text, ", part%u", i);
  g_string_append (text, "]\n"
                         "i = sum(m <= t for m in starts[1:])\n"
                         "end = starts[i + 1] if i + 1 < len(starts) else total\n"
                         "return parts[i](t - starts[i], max(end - starts[i], 1))");
  return g_strdup (text->str);
}

/* The functions of formulas that Python has, with its names. */
static const struct
{
  const char *name, *python;
} functions[] = {
  { "min", "min" },
  { "max", "max" },
  { "abs", "abs" },
  { "round", "round" },
  { "sqrt", "math.sqrt" },
  { "exp", "math.exp" },
  { "log", "math.log" },
  { "log2", "math.log2" },
  { "log10", "math.log10" },
  { "log1p", "math.log1p" },
  { "sin", "math.sin" },
  { "cos", "math.cos" },
  { "tan", "math.tan" },
  { "tanh", "math.tanh" },
  { "floor", "math.floor" },
  { "ceil", "math.ceil" },
  { "trunc", "math.trunc" },
  { "pow", "pow" },
  { "hypot", "math.hypot" },
  { "erf", "math.erf" },
  { "where", "(lambda c, a, b: a if c else b)" },
  { "clamp", "(lambda x, a, b: min(max(x, a), b))" },
  { "maximum", "max" },
  { "minimum", "min" },
  { "pi", "math.pi" },
  { "e", "math.e" },
  { "step", "step" },
  { "epoch", "epoch" },
  { "steps", "steps" },
  { "epochs", "epochs" },
  { "if", "if" },
  { "else", "else" },
  { "and", "and" },
  { "or", "or" },
  { "not", "not" },
};

/* The language of formulas is a part of Python's, but for names; the text has been parsed, so what is not a name is a
 * number or a sign. */
static char *
write_lambda (const LoomSchedule *s)
{
  GString *text
      = g_string_new (s->by_epoch ? "step, epoch, steps, epochs = t * each, t, total * each, total\nreturn "
                                  : "step, epoch, steps, epochs = t, t // each, total, -(-total // each)\nreturn ");

  for (const char *c = s->text; *c != 0;)
    {
      gsize n = strspn (c, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_.");
      guint i = 0;

      if (n == 0 || !g_ascii_isalpha (*c))
        {
          n = MAX (n, 1);
          g_string_append_len (text, g_ascii_isspace (*c) ? " " : c, (gssize)n);
          c += n;
          continue;
        }
      while (i < G_N_ELEMENTS (functions)
             && (strlen (functions[i].name) != n || strncmp (functions[i].name, c, n) != 0))
        i++;
      if (i == G_N_ELEMENTS (functions))
        {
          g_string_free (text, TRUE);
          return NULL;
        }
      g_string_append (text, functions[i].python);
      c += n;
    }
  return g_string_free (text, FALSE);
}

char *
loom_pytorch_schedule (const LoomSchedule *s)
{
  if (s->klass != NULL && s->klass->has_parts)
    return write_composed (s, loom_pytorch_schedule, NULL);
  if (s->klass != NULL && s->klass->has_formula)
    return write_lambda (s);
  for (guint i = 0; i < G_N_ELEMENTS (formulas); i++)
    if (s->klass != NULL && strcmp (formulas[i].name, s->klass->name) == 0)
      return fill (s, formulas[i].formula);
  return NULL;
}

char *
loom_pytorch_plateau (const LoomSchedule *s)
{
  GString *text = g_string_new (NULL);

  if (s->klass == NULL || !s->klass->watches_loss)
    return g_string_free (text, TRUE);
  for (guint k = 0; s->klass->param[k].name != NULL; k++)
    {
      const LoomScheduleParam *p = s->klass->param + k;
      g_autofree char *value = p->choices != NULL ? loom_pytorch_quote (p->choices[(int)s->param[k]])
                               : p->whole         ? g_strdup_printf ("%.0f", s->param[k])
                                                  : loom_pytorch_float (s->param[k]);

      g_string_append_printf (text, ", %s=%s", p->name, value);
    }
  return g_string_free (text, FALSE);
}

/* TRUE: it changes momentum, or a schedule inside does. */
static gboolean
changes_momentum (const LoomSchedule *s)
{
  gboolean any = s->klass != NULL && !s->klass->has_parts && s->klass->momentum != NULL
                 && !isnan (s->klass->momentum (s, 0, 100));

  for (guint i = 0; i < s->n_parts && s->klass->momentum != NULL; i++)
    any = any || changes_momentum (&s->part[i]);
  return any;
}

char *
loom_pytorch_momentum (const LoomSchedule *s)
{
  if (!changes_momentum (s))
    return NULL;
  if (s->klass->has_parts)
    return write_composed (s, loom_pytorch_momentum, "return None");
  return fill (s, strcmp (s->klass->name, "cyclic") == 0 ? CYCLIC_MOMENTUM : ONE_CYCLE_MOMENTUM);
}

/* ---- metrics ---------------------------------------------------------------------- */

/* Of the predictions x and the targets y of all samples. */
static const struct
{
  const char *name, *expression;
} metrics[] = {
  { "accuracy", "correct(x, y, %threshold)" },
  { "top_k_accuracy", "(x.movedim(1, -1).topk(%k).indices == y.unsqueeze(-1)).any(-1)[y >= 0].float().mean()" },
  { "perplexity", "F.cross_entropy(x, y, ignore_index=-100).exp()" },
  { "mean_absolute_error", "(x - y).abs().mean()" },
  { "mean_squared_error", "(x - y).square().mean()" },
  { "r2_score", "(1 - (y - x).square().sum(0) / (y - y.mean(0)).square().sum(0)).mean()" },
  { "confusion_matrix", "confusion(x, y, %threshold).tolist()" },
  { "precision", "of_classes(confusion(x, y, %threshold), \"precision\", \"%average\")" },
  { "recall", "of_classes(confusion(x, y, %threshold), \"recall\", \"%average\")" },
  { "f1", "of_classes(confusion(x, y, %threshold), \"f1\", \"%average\")" },
  { "mean_iou", "of_classes(confusion(x, y, %threshold), \"iou\", \"%average\")" },
};

const char *
loom_pytorch_metric_helpers (void)
{
  return "def decide(x, y, threshold):\n"
         "    \"\"\"Predicted and target classes of the samples whose target is not negative.\"\"\"\n"
         "    x = (x > threshold).long() if x.shape == y.shape else x.argmax(1)\n"
         "    return x[y >= 0], y[y >= 0].long()\n"
         "\n"
         "\n"
         "def correct(x, y, threshold):\n"
         "    x, y = decide(x, y, threshold)\n"
         "    return (x == y).float().mean()\n"
         "\n"
         "\n"
         "def confusion(x, y, threshold):\n"
         "    \"\"\"A row for each class, a column for each prediction.\"\"\"\n"
         "    n = 2 if x.shape == y.shape else x.shape[1]\n"
         "    x, y = decide(x, y, threshold)\n"
         "    return torch.bincount(y * n + x, minlength=n * n).view(n, n)\n"
         "\n"
         "\n"
         "def of_classes(table, what, average):\n"
         "    right, actual, predicted = table.diag().double(), table.sum(1), table.sum(0)\n"
         "    seen = actual + predicted > 0\n"
         "    below = {\"precision\": predicted, \"recall\": actual, \"f1\": (actual + predicted) / 2,\n"
         "             \"iou\": actual + predicted - right}[what]\n"
         "    if average == \"micro\":\n"
         "        return right.sum() / below.sum()\n"
         "    each = torch.where(below > 0, right / below, 0.0)\n"
         "    return each[-1] if average == \"binary\" else each[seen].mean()\n";
}

char *
loom_pytorch_metric (const LoomMetricSpec *metric)
{
  static const char *const averages[] = { "macro", "micro", "binary" };

  for (guint i = 0; i < G_N_ELEMENTS (metrics); i++)
    if (strcmp (metrics[i].name, metric->metric->name) == 0)
      {
        g_autofree char *threshold = loom_pytorch_float (metric->options.threshold);
        g_autofree char *k = g_strdup_printf ("%" G_GINT64_FORMAT, metric->options.k);
        GString *s = g_string_new (metrics[i].expression);

        g_string_replace (s, "%threshold", threshold, 0);
        g_string_replace (s, "%k", k, 0);
        g_string_replace (s, "%average", averages[metric->options.average], 0);
        return g_string_free (s, FALSE);
      }
  return NULL;
}
