/* Training of the library; see gradloom.h. A trainer of the engine runs to the end of its training. Here the caller
 * takes some steps at a time: each call sets the last step, and the run continues after the last step of the previous
 * call. */
#include "engine/api/api-private.h"

#include <math.h>
#include <string.h>

struct _GradloomTrainer
{
  LoomTrainer *trainer;
};

/* ---- options ---------------------------------------------------------------------- */

typedef struct
{
  LoomTrainerOptions options;
  GPtrArray *set;
} Options;

static void
options_clear (Options *o)
{
  g_clear_pointer (&o->set, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

static gboolean
read_whole (const char *text, gint64 least, gint64 *value)
{
  return g_ascii_string_to_signed (text, 10, least, G_MAXINT32, value, NULL);
}

static gboolean
read_number (const char *text, double *value)
{
  char *end;

  *value = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && isfinite (*value) && *value >= 0;
}

/* Sets one option; texts are borrowed. FALSE: unknown name, or invalid value. */
static gboolean
read_option (Options *o, const char *name, const char *value)
{
  const struct
  {
    const char *name;
    const char **text;
    gint64 *whole;
    gint64 least;
  } fields[] = {
    { "device", .text = &o->options.device },
    { "precision", .text = &o->options.precision },
    { "weights", .text = &o->options.weights },
    { "out", .text = &o->options.out },
    { "epochs", .whole = &o->options.epochs, .least = 1 },
    { "batch_size", .whole = &o->options.batch_size, .least = 1 },
    { "seed", .whole = &o->options.seed, .least = 0 },
  };
  gint64 threads;

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if (strcmp (fields[i].name, name) == 0)
      {
        if (fields[i].whole != NULL)
          return read_whole (value, fields[i].least, fields[i].whole);
        *fields[i].text = value;
        return TRUE;
      }
  if (strcmp (name, "lr") == 0)
    return read_number (value, &o->options.lr);
  if (strcmp (name, "threads") == 0 && read_whole (value, 1, &threads))
    {
      o->options.threads = (int)threads;
      return TRUE;
    }
  if (strcmp (name, "set") == 0)
    {
      g_ptr_array_add (o->set, g_strdup (value));
      return TRUE;
    }
  return FALSE;
}

static gboolean
read_options (Options *o, const char *const *options, GError **error)
{
  o->options = (LoomTrainerOptions){ .lr = NAN, .seed = -1 };
  o->set = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; options != NULL && options[i] != NULL; i++)
    {
      const char *equals = strchr (options[i], '=');
      g_autofree char *name = equals != NULL ? g_strndup (options[i], (gsize)(equals - options[i])) : NULL;

      if (name == NULL || !read_option (o, name, equals + 1))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                       "“%s” is not an option of training, or its value is not valid; see gradloom_trainer_new().",
                       options[i]);
          return FALSE;
        }
    }
  g_ptr_array_add (o->set, NULL);
  o->options.set = o->set->len > 1 ? (const char *const *)o->set->pdata : NULL;
  return TRUE;
}

/* ---- training --------------------------------------------------------------------- */

GradloomTrainer *
gradloom_trainer_new (const GradloomGraph *graph, const char *const *options, GError **error)
{
  g_auto (Options) o = { 0 };
  g_autoptr (LoomTrainer) trainer = NULL;
  GradloomTrainer *self;

  if (!read_options (&o, options, error))
    return NULL;
  trainer = loom_trainer_new (graph->graph, &o.options, error);
  if (trainer == NULL)
    return NULL;
  self = g_new0 (GradloomTrainer, 1);
  self->trainer = g_steal_pointer (&trainer);
  return self;
}

void
gradloom_trainer_free (GradloomTrainer *trainer)
{
  if (trainer == NULL)
    return;
  loom_trainer_free (trainer->trainer);
  g_free (trainer);
}

typedef struct
{
  GradloomStepFunc func;
  gpointer data;
  gint64 end; /* the step after which the run ends */
} Steps;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  const Steps *steps = data;
  const GradloomStep reported = { .step = step->step,
                                  .total_steps = loom_trainer_total_steps (trainer),
                                  .epoch = step->epoch,
                                  .steps_per_epoch = step->steps_per_epoch,
                                  .loss = step->loss,
                                  .learning_rate = step->lr };

  /* A device that is read one step late reports its last step after the run has ended; a command at that time would end
   * the next call. */
  if (steps->func != NULL && !steps->func (&reported, steps->data) && step->step < steps->end)
    loom_trainer_post (trainer, LOOM_COMMAND_STOP, NULL, 0);
}

gboolean
gradloom_trainer_train (GradloomTrainer *trainer, gint64 n, GradloomStepFunc func, gpointer data, GError **error)
{
  static const LoomTrainerObserver observer = { .step = step_cb }, none = { NULL };
  LoomTrainer *t = trainer->trainer;
  const gint64 total = loom_trainer_total_steps (t), done = loom_trainer_steps (t);
  const gint64 end = n > 0 && n < total - done ? done + n : total;
  Steps steps = { func, data, end };

  if (n < 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The number of steps is negative.");
      return FALSE;
    }
  if (loom_trainer_is_over (t))
    return TRUE;
  loom_trainer_set_last_step (t, end < total ? end : 0);
  loom_trainer_set_observer (t, &observer, &steps);
  const LoomTrainerEnd how = loom_trainer_run (t, error);
  loom_trainer_set_observer (t, &none, NULL);
  return how == LOOM_TRAINER_DONE || how == LOOM_TRAINER_STOPPED;
}

gint64
gradloom_trainer_step (const GradloomTrainer *trainer)
{
  return loom_trainer_steps (trainer->trainer);
}

gboolean
gradloom_trainer_is_over (const GradloomTrainer *trainer)
{
  return loom_trainer_is_over (trainer->trainer);
}

/* ---- evaluation ------------------------------------------------------------------- */

typedef struct
{
  double loss;
  GradloomMetricFunc metric;
  gpointer data;
} Evaluation;

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *eval, gpointer data)
{
  Evaluation *self = data;

  self->loss = eval->loss;
  for (guint i = 0; self->metric != NULL && i < eval->n_metrics; i++)
    self->metric (eval->metric_name[i], eval->metric[i], self->data);
}

gboolean
gradloom_trainer_evaluate (GradloomTrainer *trainer, const char *split, double *loss, GradloomMetricFunc metric,
                           gpointer data, GError **error)
{
  static const LoomTrainerObserver observer = { .eval = eval_cb }, none = { NULL };
  Evaluation evaluation = { NAN, metric, data };
  gboolean done;

  if (strcmp (split, "val") != 0 && strcmp (split, "test") != 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The split is “val” or “test”, not “%s”.", split);
      return FALSE;
    }
  loom_trainer_set_observer (trainer->trainer, &observer, &evaluation);
  done = loom_trainer_evaluate (trainer->trainer, split, error);
  loom_trainer_set_observer (trainer->trainer, &none, NULL);
  *loss = evaluation.loss;
  return done;
}

GradloomTensor *
gradloom_trainer_predict (GradloomTrainer *trainer, const GradloomTensor *samples, GError **error)
{
  g_autoptr (LoomTensor) floats = NULL;
  g_autoptr (GPtrArray) answers = NULL;

  if (tensor_of (samples)->rank == 0 || tensor_of (samples)->dim[0] == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "Samples are a tensor [n, …] with one sample at least.");
      return NULL;
    }
  floats = loom_tensor_convert (tensor_of (samples), LOOM_F32, FALSE, error);
  answers = floats != NULL ? loom_trainer_predict (trainer->trainer, floats, NULL, NULL, error) : NULL;
  return answers != NULL ? answers_tensor (answers, NULL, error) : NULL;
}

/* ---- tensors ---------------------------------------------------------------------- */

static gboolean
is_weight (LoomSlotKind kind)
{
  return kind == LOOM_SLOT_PARAMETER || kind == LOOM_SLOT_BUFFER;
}

char **
gradloom_trainer_weights (GradloomTrainer *trainer)
{
  LoomState *state = loom_trainer_state (trainer->trainer);
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      LoomSlotKind kind;
      LoomTensorDesc desc;

      loom_state_slot (state, i, &name, &kind, &desc);
      if (is_weight (kind))
        g_ptr_array_add (names, g_strdup (name));
    }
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (names, FALSE);
}

/* TRUE if it is a weight or a buffer; else PORT. */
static gboolean
find_weight (LoomState *state, const char *name, GError **error)
{
  const int i = loom_state_find (state, name);
  const char *own;
  LoomSlotKind kind = LOOM_SLOT_OPTIMIZER;
  LoomTensorDesc desc;

  if (i >= 0)
    loom_state_slot (state, (guint)i, &own, &kind, &desc);
  if (i >= 0 && is_weight (kind))
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, "The graph has no weight “%s”.", name);
  return FALSE;
}

GradloomTensor *
gradloom_trainer_get_weight (GradloomTrainer *trainer, const char *name, GError **error)
{
  LoomState *state = loom_trainer_state (trainer->trainer);

  return find_weight (state, name, error) ? tensor_for (loom_state_get (state, name, error)) : NULL;
}

gboolean
gradloom_trainer_set_weight (GradloomTrainer *trainer, const char *name, const GradloomTensor *value, GError **error)
{
  LoomState *state = loom_trainer_state (trainer->trainer);

  return find_weight (state, name, error) && loom_state_set (state, name, tensor_of (value), error);
}

GradloomTensor *
gradloom_trainer_read (GradloomTrainer *trainer, const char *port, GError **error)
{
  g_autofree char *now = g_strconcat ("now:", port, NULL);
  gint64 step;

  return tensor_for (loom_trainer_snapshot (trainer->trainer, now, &step, error));
}

gboolean
gradloom_trainer_save (GradloomTrainer *trainer, const char *path, GError **error)
{
  return loom_state_save_weights (loom_trainer_state (trainer->trainer), NULL, path, error);
}
