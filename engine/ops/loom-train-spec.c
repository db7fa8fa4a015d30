/* Reads <train>: what is trained, by which optimiser, how long and on which samples.
 *
 * Everything is checked here, in one place and with sentences, so that the trainer can rely on it and Studio can show
 * the faults while nobody trains. */
#include "engine/ops/net-private.h"

#include "engine/ops/loom-train-spec.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const LoomElement *element;
  const LoomNet *net;
  LoomFaults *faults;
  gboolean failed;
} Reading;

static LoomFault *complain (Reading *r, const LoomElement *e, LoomErrorCode code, const char *attribute,
                            const char *format, ...) G_GNUC_PRINTF (5, 6);

static LoomFault *
complain (Reading *r, const LoomElement *e, LoomErrorCode code, const char *attribute, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  r->failed = TRUE;
  return loom_faults_add (r->faults, code, loom_element_line (e), NULL, attribute, "<%s>: %s",
                          loom_tag_name (loom_element_tag (e)), message);
}

/* ---- numbers ------------------------------------------------------------ */

static double
read_number (Reading *r, const LoomElement *e, const char *attribute, double fallback, double minimum, double maximum,
             gboolean whole)
{
  const char *text = loom_element_get (e, attribute);
  char *end;
  double value;

  if (text == NULL)
    return fallback;
  value = g_ascii_strtod (text, &end);
  if (end == text || *end != 0 || text[strspn (text, "0123456789+-.eE")] != 0 || !isfinite (value)
      || (whole && value != floor (value)))
    complain (r, e, LOOM_ERROR_SCHEMA, attribute, "%s is “%.40s”, which is no %s.", attribute, text,
              whole ? "integer" : "number");
  else if (value < minimum || value > maximum)
    {
      LoomFault *fault = complain (r, e, LOOM_ERROR_SCHEMA, attribute, "%s is %s; it must be from %g to %g.", attribute,
                                   text, minimum, maximum);
      char nearest[G_ASCII_DTOSTR_BUF_SIZE];

      g_ascii_formatd (nearest, sizeof nearest, whole ? "%.0f" : "%.9g", value < minimum ? minimum : maximum);
      loom_fault_set_fix (fault, attribute, nearest, "Set it to %s.", nearest);
    }
  else
    return value;
  return fallback;
}

static guint64
read_seed (Reading *r)
{
  const char *text = loom_element_get (r->element, "seed");
  guint64 seed = 0;

  if (text != NULL && !g_ascii_string_to_unsigned (text, 10, 0, G_MAXINT64, &seed, NULL))
    complain (r, r->element, LOOM_ERROR_SCHEMA, "seed", "seed is “%.40s”, which is no whole number from 0 on.", text);
  return seed;
}

static gboolean
is_known (const char *name, const char *const *known, const LoomOptimizer *optimizer)
{
  if (strchr (name, ':') != NULL || g_strv_contains (known, name))
    return TRUE;
  for (guint i = 0; optimizer != NULL && optimizer->hyper[i].name != NULL; i++)
    if (strcmp (optimizer->hyper[i].name, name) == 0)
      return TRUE;
  return FALSE;
}

static void
check_names (Reading *r, const LoomElement *e, const char *const *known, const LoomOptimizer *optimizer)
{
  for (guint i = 0; i < loom_element_n_attributes (e); i++)
    {
      g_autoptr (GPtrArray) names = NULL;
      const char *name, *near;
      LoomFault *fault;

      loom_element_attribute (e, i, &name, NULL);
      if (is_known (name, known, optimizer))
        continue;
      names = g_ptr_array_new ();
      for (guint k = 0; known[k] != NULL; k++)
        g_ptr_array_add (names, (gpointer)known[k]);
      for (guint k = 0; optimizer != NULL && optimizer->hyper[k].name != NULL; k++)
        g_ptr_array_add (names, (gpointer)optimizer->hyper[k].name);
      g_ptr_array_add (names, NULL);
      near = loom_nearest (name, (const char *const *)names->pdata);
      if (optimizer != NULL)
        fault = complain (r, e, LOOM_ERROR_SCHEMA, name, "there is no attribute “%s” for the optimiser “%s”.", name,
                          optimizer->name);
      else
        fault = complain (r, e, LOOM_ERROR_SCHEMA, name, "there is no attribute “%s”.", name);
      if (near != NULL)
        loom_fault_set_fix (fault, NULL, NULL, "Did you mean “%s”?", near);
    }
}

/* ---- ports ------------------------------------------------------------ */

static gboolean
read_port (Reading *r, const LoomElement *e, const char *attribute, LoomNetSource *source)
{
  const char *text = loom_element_get (e, attribute);
  g_autoptr (GError) error = NULL;
  int node;

  if (text == NULL)
    {
      complain (r, e, LOOM_ERROR_SCHEMA, attribute, "the attribute “%s” is missing; it names a port of the graph.",
                attribute);
      return FALSE;
    }
  node = loom_net_find_port (r->net, text, &source->output, &error);
  if (node < 0)
    {
      complain (r, e, LOOM_ERROR_PORT, attribute, "%s", error->message);
      return FALSE;
    }
  source->node = (guint)node;
  return TRUE;
}

static void
check_loss (Reading *r, const LoomNetSource *loss)
{
  const LoomNetNode *n = loom_net_node (r->net, loss->node);
  const LoomType *type;
  LoomDim count;

  /* Where the loss is untyped, the net has said why. */
  if (!n->typed)
    {
      r->failed = TRUE;
      return;
    }
  type = n->output + loss->output;
  count = loom_shape_count (&type->shape);
  if (!loom_dim_is_known (count) || count.coef != 1)
    {
      g_autofree char *shape = loom_shape_to_string (&type->shape);

      complain (r, r->element, LOOM_ERROR_SHAPE, "loss",
                "the loss must be one number, but “%s” is %s. Put a mean or a loss behind it.",
                loom_element_get (r->element, "loss"), shape);
    }
  else if (!loom_dtype_is_float (type->dtype))
    complain (r, r->element, LOOM_ERROR_DTYPE, "loss", "the loss must be a float, but “%s” is %s.",
              loom_element_get (r->element, "loss"), loom_dtype_name (type->dtype));
}

/* The data set that the loss depends on; its samples make an epoch. */
static void
find_dataset (Reading *r, LoomTrainSpec *spec)
{
  g_autofree gboolean *needed = g_new0 (gboolean, loom_net_n_nodes (r->net) + 1);
  const LoomNetNode *first = NULL;

  needed[spec->loss.node] = !loom_net_is_weight (r->net, &spec->loss);
  for (guint i = spec->loss.node + 1; i-- > 0;)
    {
      const LoomNetNode *n = loom_net_node (r->net, i);

      if (!needed[i])
        continue;
      for (guint k = 0; k < n->n_inputs; k++)
        if (n->input[k].node < i && !loom_net_is_weight (r->net, &n->input[k]))
          needed[n->input[k].node] = TRUE;
      if (n->op->dynamic_outputs == NULL || n->op->lower != NULL)
        continue;
      if (first != NULL)
        complain (r, r->element, LOOM_ERROR_SCHEMA, "loss",
                  "the loss depends on two data sets, “%s” and “%s”; this version of Gradloom trains on one.", n->path,
                  first->path);
      first = n;
      spec->dataset_node = i;
    }
  if (first == NULL)
    complain (r, r->element, LOOM_ERROR_DATA, "loss",
              "the loss depends on no data set, so there is nothing to train on. Add a “dataset” node and wire it.");
}

/* ---- parts ------------------------------------------------------------ */

static void
read_optimizer (Reading *r, LoomTrainSpec *spec)
{
  static const char *const known[]
      = { "loss", "optimizer", "epochs", "batch_size", "seed", "precision", "device", "accumulate", "betas", NULL };
  const char *name = loom_element_get (r->element, "optimizer"), *betas = loom_element_get (r->element, "betas");
  const LoomOptimizer *const *all = loom_optimizers ();
  guint n = 0;
  double beta[2] = { 0.9, 0.999 };
  gboolean has_betas = FALSE;

  spec->optimizer = loom_optimizer (name != NULL ? name : "sgd");
  if (spec->optimizer == NULL)
    {
      g_autoptr (GPtrArray) names = g_ptr_array_new ();
      g_autofree char *list = NULL;
      const char *near;
      LoomFault *fault;

      for (guint i = 0; all[i] != NULL; i++)
        g_ptr_array_add (names, (gpointer)all[i]->name);
      g_ptr_array_add (names, NULL);
      near = loom_nearest (name, (const char *const *)names->pdata);
      list = g_strjoinv (", ", (char **)names->pdata);
      fault = complain (r, r->element, LOOM_ERROR_SCHEMA, "optimizer", "there is no optimiser “%.40s”. There are: %s.",
                        name, list);
      if (near != NULL)
        loom_fault_set_fix (fault, "optimizer", near, "Did you mean “%s”?", near);
      return;
    }
  check_names (r, r->element, known, spec->optimizer);
  if (betas != NULL)
    {
      g_auto (GStrv) parts = g_strsplit (betas, ",", -1);
      char *end[2] = { NULL, NULL };

      has_betas = g_strv_length (parts) == 2;
      for (guint i = 0; has_betas && i < 2; i++)
        {
          beta[i] = g_ascii_strtod (parts[i], &end[i]);
          if (end[i] == parts[i] || *end[i] != 0 || !(beta[i] >= 0 && beta[i] < 1))
            has_betas = FALSE;
        }
      if (!has_betas)
        complain (r, r->element, LOOM_ERROR_SCHEMA, "betas",
                  "betas is “%.40s”; it must be two numbers from 0 to below 1, as “0.9,0.999”.", betas);
    }
  while (spec->optimizer->hyper[n].name != NULL)
    n++;
  spec->hyper = g_new0 (double, n + 1);
  for (guint i = 0; i < n; i++)
    {
      const LoomHyper *hyper = spec->optimizer->hyper + i;
      const char *text = loom_element_get (r->element, hyper->name);
      gboolean flag;

      if (hyper->is_bool)
        {
          spec->hyper[i] = hyper->value;
          if (text != NULL && !loom_net_parse_bool (text, &flag))
            complain (r, r->element, LOOM_ERROR_SCHEMA, hyper->name, "%s is “%.40s”; it must be true or false.",
                      hyper->name, text);
          else if (text != NULL)
            spec->hyper[i] = flag;
          continue;
        }
      spec->hyper[i] = read_number (r, r->element, hyper->name, hyper->value, hyper->minimum, hyper->maximum, FALSE);
      if (has_betas && strcmp (hyper->name, "beta1") == 0)
        spec->hyper[i] = beta[0];
      else if (has_betas && strcmp (hyper->name, "beta2") == 0)
        spec->hyper[i] = beta[1];
    }
}

static const char *const schedule_names[] = { "constant", "step", "cosine", "linear", NULL };

static void
read_schedule (Reading *r, const LoomElement *e, LoomSchedule *schedule)
{
  static const char *const known[] = { "type", "warmup_steps", "step_size", "gamma", "min_lr", "end_factor", NULL };
  const char *type = loom_element_get (e, "type");

  check_names (r, e, known, NULL);
  if (type == NULL)
    type = "constant";
  if (g_strv_contains (schedule_names, type))
    {
      while (strcmp (schedule_names[schedule->type], type) != 0)
        schedule->type++;
    }
  else
    {
      const char *near = loom_nearest (type, schedule_names);
      LoomFault *fault = complain (r, e, LOOM_ERROR_SCHEMA, "type",
                                   "there is no schedule “%.40s”. There are: constant, step, cosine, linear.", type);

      if (near != NULL)
        loom_fault_set_fix (fault, NULL, NULL, "Did you mean “%s”?", near);
    }
  schedule->warmup_steps = (gint64)read_number (r, e, "warmup_steps", 0, 0, 1e12, TRUE);
  schedule->step_size = (gint64)read_number (r, e, "step_size", 0, 1, 1e12, TRUE);
  schedule->gamma = read_number (r, e, "gamma", 0.1, 0, 1e6, FALSE);
  schedule->min_lr = read_number (r, e, "min_lr", 0, 0, 1e6, FALSE);
  schedule->end_factor = read_number (r, e, "end_factor", 0, 0, 1e6, FALSE);
  if (schedule->type == LOOM_SCHEDULE_STEP && schedule->step_size < 1)
    complain (r, e, LOOM_ERROR_SCHEMA, "step_size",
              "the schedule “step” needs step_size: after how many steps the rate is multiplied by gamma.");
}

static void
metric_free (gpointer data)
{
  LoomMetricSpec *metric = data;

  g_free (metric->type);
  g_free (metric->name);
  g_free (metric);
}

static void
read_metric (Reading *r, const LoomElement *e, LoomTrainSpec *spec)
{
  static const char *const known[] = { "type", "input", "target", "name", NULL };
  const char *type = loom_element_get (e, "type"), *name = loom_element_get (e, "name");
  LoomMetricSpec *metric = g_new0 (LoomMetricSpec, 1);

  check_names (r, e, known, NULL);
  metric->type = g_strdup (type != NULL ? type : "");
  metric->name = g_strdup (name != NULL ? name : metric->type);
  read_port (r, e, "input", &metric->input);
  read_port (r, e, "target", &metric->target);
  for (guint i = 0; i < spec->metrics->len; i++)
    if (strcmp (((LoomMetricSpec *)spec->metrics->pdata[i])->name, metric->name) == 0)
      complain (r, e, LOOM_ERROR_SCHEMA, "name", "two metrics are called “%s”. Give one of them a name of its own.",
                metric->name);
  g_ptr_array_add (spec->metrics, metric);
}

static void
read_clip (Reading *r, const LoomElement *e, LoomTrainSpec *spec)
{
  static const char *const known[] = { "max_norm", NULL };

  check_names (r, e, known, NULL);
  if (loom_element_get (e, "max_norm") == NULL)
    complain (r, e, LOOM_ERROR_SCHEMA, "max_norm", "the attribute “max_norm” is missing: the largest gradient norm.");
  spec->clip_norm = read_number (r, e, "max_norm", 0, 0, 1e12, FALSE);
}

static void
read_children (Reading *r, LoomTrainSpec *spec)
{
  for (guint i = 0; i < loom_element_n_children (r->element); i++)
    {
      const LoomElement *e = loom_element_child (r->element, i);
      LoomTag tag = loom_element_tag (e);

      if (tag == LOOM_TAG_SCHEDULE)
        read_schedule (r, e, &spec->schedule);
      else if (tag == LOOM_TAG_METRIC)
        read_metric (r, e, spec);
      else if (tag == LOOM_TAG_CLIP)
        read_clip (r, e, spec);
      else if (tag == LOOM_TAG_GROUP || tag == LOOM_TAG_PARALLEL)
        complain (r, e, LOOM_ERROR_SCHEMA, NULL,
                  "this is part of the file format, but not in this version of Gradloom.");
    }
}

static LoomDType
read_precision (Reading *r)
{
  static const LoomDType types[] = { LOOM_F32, LOOM_BF16, LOOM_F16 };
  const char *text = loom_element_get (r->element, "precision");

  for (guint i = 0; text != NULL && i < G_N_ELEMENTS (types); i++)
    if (strcmp (text, loom_dtype_name (types[i])) == 0)
      return types[i];
  if (text != NULL)
    loom_fault_set_fix (complain (r, r->element, LOOM_ERROR_SCHEMA, "precision",
                                  "precision is “%.40s”; it must be f32, bf16 or f16.", text),
                        "precision", "bf16", "Set it to bf16.");
  return LOOM_F32;
}

static void
refuse_later (Reading *r, const char *attribute, const char *only)
{
  const char *text = loom_element_get (r->element, attribute);

  if (text != NULL && strcmp (text, only) != 0)
    complain (r, r->element, LOOM_ERROR_SCHEMA, attribute,
              "%s=\"%.40s\" is not in this version of Gradloom, which knows "
              "%s only.",
              attribute, text, only);
}

/* ---- the whole ------------------------------------------------------------ */

LoomTrainSpec *
loom_train_spec_new (const LoomGraph *graph, const LoomNet *net, LoomFaults *faults)
{
  Reading r = { .net = net, .faults = faults };
  g_autoptr (LoomTrainSpec) spec = NULL;
  const char *device;

  g_return_val_if_fail (graph != NULL && net != NULL && faults != NULL, NULL);

  r.element = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  if (r.element == NULL)
    return NULL;
  spec = g_new0 (LoomTrainSpec, 1);
  spec->metrics = g_ptr_array_new_with_free_func (metric_free);
  spec->epochs = (gint64)read_number (&r, r.element, "epochs", 1, 1, 1e9, TRUE);
  spec->batch_size = (gint64)read_number (&r, r.element, "batch_size", 32, 1, 1e9, TRUE);
  spec->seed = read_seed (&r);
  device = loom_element_get (r.element, "device");
  spec->device = g_strdup (device != NULL ? device : "cpu");
  spec->precision = read_precision (&r);
  refuse_later (&r, "accumulate", "1");
  read_optimizer (&r, spec);
  read_children (&r, spec);
  if (read_port (&r, r.element, "loss", &spec->loss))
    {
      check_loss (&r, &spec->loss);
      find_dataset (&r, spec);
    }
  return r.failed ? NULL : g_steal_pointer (&spec);
}

void
loom_train_spec_free (LoomTrainSpec *spec)
{
  if (spec == NULL)
    return;
  g_clear_pointer (&spec->metrics, g_ptr_array_unref);
  g_free (spec->hyper);
  g_free (spec->device);
  g_free (spec);
}

double
loom_schedule_factor (const LoomSchedule *s, double lr, gint64 step, gint64 total_steps)
{
  double progress;
  gint64 left;

  if (step < s->warmup_steps)
    return lr * (double)(step + 1) / (double)s->warmup_steps;
  step -= s->warmup_steps;
  left = MAX (total_steps - s->warmup_steps, 1);
  progress = MIN ((double)step / (double)left, 1.0);
  switch (s->type)
    {
    case LOOM_SCHEDULE_STEP:
      return lr * pow (s->gamma, (double)(step / MAX (s->step_size, 1)));
    case LOOM_SCHEDULE_COSINE:
      return s->min_lr + (lr - s->min_lr) * (1 + cos (G_PI * progress)) / 2;
    case LOOM_SCHEDULE_LINEAR:
      return lr * (1 + (s->end_factor - 1) * progress);
    default:
      return lr;
    }
}
