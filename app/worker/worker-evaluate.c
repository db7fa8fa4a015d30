/* Implements worker-evaluate.h. */
#include "app/worker/worker-evaluate.h"

#include "app/worker/worker-evaluation-view.h"

#include <math.h>
#include <string.h>

#define BATCH         64
#define MOST_EXAMPLES 100

typedef enum
{
  JOB_EVALUATE,
  JOB_GENERATE,
  JOB_WRITE,
  JOB_EXAMPLES,
  N_JOB_KINDS
} JobKind;

struct _WorkerEvaluator
{
  LoomBusWorker1 *bus;
  WorkerRunner *runner;
  GThreadPool *thread; /* one, for Job */
  /* Atomic: the serial of the job that is wanted; others end at their next step. */
  gint wanted[N_JOB_KINDS];

  GMutex lock; /* of all below */
  gint64 done, all;
  LoomEvaluation *evaluation; /* the last one; NULL: none */
  gint64 step;                /* of its weights */
  char *folder;               /* of its run; NULL: none */
  GString *text;              /* generated */
  gboolean writing;
  char *failure; /* of the last text; NULL: none */
};

typedef struct
{
  JobKind kind;
  gint serial;
  GDBusMethodInvocation *invocation; /* NULL of Generate */
  char *split;
  gint64 *index; /* n samples of the split, of WriteSamples */
  guint n;
  gint64 most;
  LoomTensor *sample; /* of Write, in a batch of one */
  char *prompt;
  guint tokens;
  LoomContinuationOptions how;
} Job;

static void
job_free (Job *job)
{
  g_clear_pointer (&job->sample, loom_tensor_unref);
  g_free (job->split);
  g_free (job->index);
  g_free (job->prompt);
  g_free (job);
}

static gboolean
is_wanted (WorkerEvaluator *self, const Job *job)
{
  return g_atomic_int_get (&self->wanted[job->kind]) == job->serial;
}

static LoomPredictor *
new_predictor (WorkerEvaluator *self, WorkerModel *model, GError **error)
{
  if (!worker_runner_copy_model (self->runner, model, error))
    return NULL;
  return loom_predictor_new (
      model->graph,
      &(LoomPredictorOptions){
          .values = model->weights, .device = model->device, .threads = model->threads, .run = model->folder },
      error);
}

/* ---- evaluations -------------------------------------------------------- */

typedef struct
{
  WorkerEvaluator *self;
  const Job *job;
} Watch;

static gboolean
progress (gint64 done, gint64 all, gpointer data)
{
  const Watch *watch = data;

  g_mutex_lock (&watch->self->lock);
  watch->self->done = done;
  watch->self->all = all;
  g_mutex_unlock (&watch->self->lock);
  return is_wanted (watch->self, watch->job);
}

/* The split of this name; LOOM_N_SPLITS: unknown. */
static LoomSplit
find_split (const char *name, const LoomPredictor *predictor)
{
  guint s = 0;

  if (*name == '\0')
    return loom_evaluation_default_split (predictor);
  while (s < LOOM_N_SPLITS && !g_str_equal (name, loom_split_name ((LoomSplit)s)))
    s++;
  return (LoomSplit)s;
}

static void
set_no_split (const Job *job, GError **error)
{
  g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS, "There is no split “%s”.", job->split);
}

static LoomEvaluation *
evaluate (WorkerEvaluator *self, const Job *job, WorkerModel *model, GError **error)
{
  g_autoptr (LoomPredictor) predictor = new_predictor (self, model, error);
  Watch watch = { self, job };

  if (predictor == NULL)
    return NULL;
  const LoomSplit split = find_split (job->split, predictor);
  if (split == LOOM_N_SPLITS)
    {
      set_no_split (job, error);
      return NULL;
    }
  return loom_evaluation_run (predictor, split, job->most, BATCH, progress, &watch, error);
}

/* Whole splits are comparable over epochs, so only they are kept. */
static gboolean
keep (const LoomEvaluation *e, const WorkerModel *model, GError **error)
{
  const LoomEvaluationRecord record = {
    .split = e->split,
    .step = model->moment.step,
    .epoch = model->moment.epoch,
    .samples = e->samples->len,
    .loss = e->loss,
    .accuracy = loom_evaluation_accuracy (e),
    .calibration = loom_calibration_error (&e->calibration),
    .confusion = e->confusion,
  };

  return model->folder == NULL || !e->is_whole
         || (loom_evaluation_samples_add (model->folder, e, model->moment.step, error)
             && loom_evaluation_history_add (model->folder, &record, model->moment.is_past, error));
}

static void
run_evaluation (WorkerEvaluator *self, const Job *job)
{
  g_auto (WorkerModel) model = { 0 };
  g_autoptr (GError) error = NULL;
  const gint64 begin = loom_monotonic ();
  LoomEvaluation *e = is_wanted (self, job) ? evaluate (self, job, &model, &error) : NULL;
  const gboolean is_kept = e != NULL && keep (e, &model, &error);

  if (e != NULL)
    {
      g_mutex_lock (&self->lock);
      loom_evaluation_free (self->evaluation);
      self->evaluation = e;
      self->step = model.moment.step;
      g_free (self->folder);
      self->folder = g_strdup (model.folder);
      g_mutex_unlock (&self->lock);
    }
  if (is_kept)
    g_dbus_method_invocation_return_value (
        job->invocation, g_variant_new ("(xxxd)", model.moment.step, model.moment.epoch, (gint64)e->samples->len,
                                        (double)(loom_monotonic () - begin) / G_USEC_PER_SEC));
  else
    g_dbus_method_invocation_return_error_literal (job->invocation, G_DBUS_ERROR, G_DBUS_ERROR_FAILED,
                                                   error != NULL ? error->message : "The evaluation was stopped.");
}

/* ---- texts -------------------------------------------------------------- */

static void
take_text (WorkerEvaluator *self, const Job *job, const char *text)
{
  g_mutex_lock (&self->lock);
  if (is_wanted (self, job))
    g_string_append (self->text, text);
  g_mutex_unlock (&self->lock);
}

/* What a net with a decoder writes for a sample. (transfer full) */
static char *
decode (LoomPredictor *predictor, LoomTensor *sample, GError **error)
{
  g_autoptr (LoomDecoder) decoder = loom_decoder_new (predictor, 1, error);
  g_autoptr (GPtrArray) written = decoder != NULL ? loom_decoder_run (decoder, &sample, 1, error) : NULL;

  return written != NULL ? loom_decoder_text (decoder, written->pdata[0]) : NULL;
}

/* A net with a decoder writes what belongs to the prompt: its translation. */
static gboolean
translate (WorkerEvaluator *self, const Job *job, LoomPredictor *predictor, GError **error)
{
  const LoomSampleOptions how = { .low = NAN, .high = NAN };
  const LoomDataset *dataset = loom_predictor_dataset (predictor, NULL);
  g_autoptr (LoomSampleReader) reader = loom_sample_reader_new (loom_predictor_input (predictor), dataset, &how);
  g_autofree char *line = g_strconcat (job->prompt, "\n", NULL), *text = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new (line, strlen (line));
  g_autoptr (GPtrArray) items = loom_sample_reader_read (reader, bytes, "the text", error);

  if (items != NULL && items->len > 0)
    text = decode (predictor, ((LoomSampleItem *)items->pdata[0])->tensor, error);
  if (text == NULL)
    return FALSE;
  take_text (self, job, "\n"); /* the text follows the prompt */
  take_text (self, job, text);
  return TRUE;
}

static gboolean
write_text (WorkerEvaluator *self, const Job *job, GError **error)
{
  g_auto (WorkerModel) model = { 0 };
  g_autoptr (LoomPredictor) predictor = new_predictor (self, &model, error);
  g_autoptr (LoomContinuation) text = NULL;

  if (predictor == NULL)
    return FALSE;
  if (loom_predictor_writes (predictor))
    return translate (self, job, predictor, error);
  text = loom_continuation_new (predictor, job->prompt, &job->how, error);

  for (guint n = 0; text != NULL && n < job->tokens && is_wanted (self, job); n++)
    {
      const gsize from = loom_continuation_text (text)->len;

      if (!loom_continuation_step (text, error))
        return FALSE;
      take_text (self, job, loom_continuation_text (text)->str + from);
    }
  return text != NULL;
}

static void
run_generation (WorkerEvaluator *self, const Job *job)
{
  g_autoptr (GError) error = NULL;

  if (is_wanted (self, job))
    write_text (self, job, &error);
  g_mutex_lock (&self->lock);
  if (is_wanted (self, job))
    {
      self->writing = FALSE;
      self->failure = error != NULL ? g_strdup (error->message) : NULL;
    }
  g_mutex_unlock (&self->lock);
}

/* ---- texts for samples ---------------------------------------------------- */

/* The sample in the type of the net's input, without the dimension of the batch. */
static LoomTensor *
single (const Job *job, const LoomPredictor *predictor, GError **error)
{
  const LoomTensor *batch = job->sample;
  g_autoptr (LoomTensor) t = loom_tensor_new (batch->dtype, batch->rank - 1, batch->dim + 1, error);

  if (t == NULL)
    return NULL;
  memcpy (t->data, batch->data, t->bytes);
  return loom_tensor_convert (t, loom_predictor_input (predictor)->dtype, FALSE, error);
}

static LoomPredictor *
new_writer (WorkerEvaluator *self, WorkerModel *model, GError **error)
{
  g_autoptr (LoomPredictor) predictor = new_predictor (self, model, error);

  if (predictor == NULL || loom_predictor_writes (predictor))
    return g_steal_pointer (&predictor);
  g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "This net generates no sequences.");
  return NULL;
}

static char *
write_sample (WorkerEvaluator *self, const Job *job, WorkerModel *model, GError **error)
{
  g_autoptr (LoomPredictor) predictor = new_writer (self, model, error);
  g_autoptr (LoomTensor) sample = NULL;

  if (predictor == NULL)
    return NULL;
  sample = single (job, predictor, error);
  return sample != NULL ? decode (predictor, sample, error) : NULL;
}

static void
run_writing (WorkerEvaluator *self, const Job *job)
{
  g_auto (WorkerModel) model = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *text = is_wanted (self, job) ? write_sample (self, job, &model, &error) : NULL;

  if (text != NULL)
    g_dbus_method_invocation_return_value (job->invocation, g_variant_new ("(xs)", model.moment.step, text));
  else
    g_dbus_method_invocation_return_error_literal (job->invocation, G_DBUS_ERROR, G_DBUS_ERROR_FAILED,
                                                   error != NULL ? error->message : "Another sample is written for.");
}

static GPtrArray *
write_examples (WorkerEvaluator *self, const Job *job, WorkerModel *model, GError **error)
{
  g_autoptr (LoomPredictor) predictor = new_writer (self, model, error);
  g_autoptr (LoomDecoder) decoder = predictor != NULL ? loom_decoder_new (predictor, 1, error) : NULL;
  const LoomSplit split = predictor != NULL ? find_split (job->split, predictor) : LOOM_N_SPLITS;

  if (decoder == NULL)
    return NULL;
  if (split < LOOM_N_SPLITS)
    return loom_decoder_examples (decoder, split, job->index, job->n, error);
  set_no_split (job, error);
  return NULL;
}

static void
run_examples (WorkerEvaluator *self, const Job *job)
{
  g_auto (WorkerModel) model = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) examples = is_wanted (self, job) ? write_examples (self, job, &model, &error) : NULL;
  GVariantBuilder texts;

  if (examples == NULL)
    {
      g_dbus_method_invocation_return_error_literal (job->invocation, G_DBUS_ERROR, G_DBUS_ERROR_FAILED,
                                                     error != NULL ? error->message : "Other samples are written for.");
      return;
    }
  g_variant_builder_init (&texts, G_VARIANT_TYPE ("a(sss)"));
  for (guint i = 0; i < examples->len; i++)
    {
      const LoomDecoderExample *e = examples->pdata[i];

      g_variant_builder_add (&texts, "(sss)", e->source != NULL ? e->source : "", e->target != NULL ? e->target : "",
                             e->written);
    }
  g_dbus_method_invocation_return_value (job->invocation, g_variant_new ("(xa(sss))", model.moment.step, &texts));
}

/* ---- the thread ----------------------------------------------------------- */

static void
run_job (gpointer data, gpointer user_data)
{
  static void (*const run[N_JOB_KINDS]) (WorkerEvaluator *, const Job *) = { [JOB_EVALUATE] = run_evaluation,
                                                                             [JOB_GENERATE] = run_generation,
                                                                             [JOB_WRITE] = run_writing,
                                                                             [JOB_EXAMPLES] = run_examples };
  Job *job = data;

  run[job->kind](user_data, job);
  job_free (job);
}

static Job *
job_new (WorkerEvaluator *self, JobKind kind)
{
  Job *job = g_new0 (Job, 1);

  job->kind = kind;
  job->serial = g_atomic_int_add (&self->wanted[kind], 1) + 1;
  return job;
}

/* ---- methods -------------------------------------------------------------- */

static gboolean
evaluate_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *split, gint64 most, gpointer data)
{
  WorkerEvaluator *self = data;
  Job *job = job_new (self, JOB_EVALUATE);

  job->invocation = invocation;
  job->split = g_strdup (split);
  job->most = MAX (most, 0);
  g_mutex_lock (&self->lock);
  self->done = self->all = 0;
  g_mutex_unlock (&self->lock);
  g_thread_pool_push (self->thread, job, NULL);
  return TRUE;
}

static gboolean
stop_evaluation_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gpointer data)
{
  g_atomic_int_inc (&((WorkerEvaluator *)data)->wanted[JOB_EVALUATE]);
  loom_bus_worker1_complete_stop_evaluation (bus, invocation);
  return TRUE;
}

/* A page of an evaluation whose samples are kept; what: "SPLIT/STEP/…". */
static GVariant *
view_kept (WorkerEvaluator *self, const char *what, gint64 page, GError **error)
{
  g_auto (GStrv) word = g_strsplit (what, "/", 3);
  LoomSplit split = 0;
  gint64 step;

  while (split < LOOM_N_SPLITS && !g_str_equal (word[0], loom_split_name (split)))
    split++;
  if (g_strv_length (word) != 3 || split == LOOM_N_SPLITS
      || !(g_str_has_prefix (word[2], "cell:") || g_str_equal (word[2], "mistakes"))
      || !g_ascii_string_to_signed (word[1], 10, 0, G_MAXINT64, &step, NULL))
    {
      g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS, "“%s” names no evaluation.", what);
      return NULL;
    }
  g_autoptr (LoomEvaluation) kept
      = self->folder != NULL ? loom_evaluation_samples_read (self->folder, split, step, error) : NULL;
  if (self->folder == NULL)
    g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "The run has no folder.");
  return kept != NULL ? worker_evaluation_view (kept, step, word[2], page, error) : NULL;
}

static gboolean
get_evaluation_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *what, gint64 page, gpointer data)
{
  WorkerEvaluator *self = data;
  g_autoptr (GError) error = NULL;
  GVariant *answer = NULL;

  g_mutex_lock (&self->lock);
  if (g_str_equal (what, "progress"))
    {
      const double value[] = { (double)self->done, (double)self->all };
      const gint64 dim[] = { 1, 2 };
      answer = g_variant_new ("(xx@ax@ay)", self->step, (gint64)0,
                              g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, dim, 2, sizeof (gint64)),
                              g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, value, sizeof value, 1));
    }
  else if (self->evaluation == NULL)
    g_set_error (&error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "Nothing has been evaluated yet.");
  else if (strchr (what, '/') != NULL)
    answer = view_kept (self, what, page, &error);
  else
    answer = worker_evaluation_view (self->evaluation, self->step, what, page, &error);
  g_mutex_unlock (&self->lock);
  if (answer != NULL)
    g_dbus_method_invocation_return_value (invocation, answer);
  else
    g_dbus_method_invocation_return_gerror (invocation, error);
  return TRUE;
}

static gboolean
generate_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *prompt, guint tokens,
             double temperature, guint top_k, gint64 seed, gpointer data)
{
  WorkerEvaluator *self = data;

  if (!(temperature >= 0 && temperature <= G_MAXFLOAT) || tokens > G_MAXINT || top_k > G_MAXINT)
    {
      g_dbus_method_invocation_return_error (invocation, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS,
                                             "The temperature must be 0 or a positive number.");
      return TRUE;
    }
  Job *job = job_new (self, JOB_GENERATE);
  job->prompt = g_strdup (*prompt != '\0' ? prompt : "\n");
  job->tokens = tokens;
  job->how = (LoomContinuationOptions){ .temperature = temperature, .top_k = top_k, .seed = (guint32)seed };
  g_mutex_lock (&self->lock);
  g_string_truncate (self->text, 0);
  g_clear_pointer (&self->failure, g_free);
  self->writing = TRUE;
  g_mutex_unlock (&self->lock);
  g_thread_pool_push (self->thread, job, NULL);
  loom_bus_worker1_complete_generate (bus, invocation);
  return TRUE;
}

static gboolean
get_generated_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gint64 from, gpointer data)
{
  WorkerEvaluator *self = data;

  g_mutex_lock (&self->lock);
  const gsize at = (gsize)CLAMP (from, 0, (gint64)self->text->len);
  /* Bytes, because the end can lie within a character. */
  GVariant *bytes = g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, self->text->str + at,
                                               MIN (self->text->len - at, WORKER_MAX_VIEW_BYTES), 1);
  GVariant *answer = g_variant_new ("(@aybs)", bytes, self->writing, self->failure != NULL ? self->failure : "");
  g_mutex_unlock (&self->lock);
  g_dbus_method_invocation_return_value (invocation, answer);
  return TRUE;
}

static gboolean
stop_generating_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gpointer data)
{
  WorkerEvaluator *self = data;

  g_mutex_lock (&self->lock);
  g_atomic_int_inc (&self->wanted[JOB_GENERATE]);
  self->writing = FALSE;
  g_mutex_unlock (&self->lock);
  loom_bus_worker1_complete_stop_generating (bus, invocation);
  return TRUE;
}

static gboolean
write_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, GVariant *shape, GVariant *samples, gpointer data)
{
  WorkerEvaluator *self = data;
  g_autoptr (GError) error = NULL;
  LoomTensor *sample = worker_read_samples (shape, samples, &error);
  Job *job;

  if (sample == NULL || sample->dim[0] != 1)
    {
      g_clear_pointer (&sample, loom_tensor_unref);
      g_dbus_method_invocation_return_error_literal (invocation, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS,
                                                     error != NULL ? error->message : "Write takes one sample.");
      return TRUE;
    }
  job = job_new (self, JOB_WRITE);
  job->invocation = invocation;
  job->sample = sample;
  g_thread_pool_push (self->thread, job, NULL);
  return TRUE;
}

static gboolean
write_samples_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *split, GVariant *samples,
                  gpointer data)
{
  WorkerEvaluator *self = data;
  gsize n;
  const gint64 *index = g_variant_get_fixed_array (samples, &n, sizeof (gint64));

  if (n == 0 || n > MOST_EXAMPLES)
    {
      g_dbus_method_invocation_return_error (invocation, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS,
                                             "WriteSamples takes 1 to %d samples.", MOST_EXAMPLES);
      return TRUE;
    }
  Job *job = job_new (self, JOB_EXAMPLES);
  job->invocation = invocation;
  job->split = g_strdup (split);
  job->index = g_memdup2 (index, n * sizeof *index);
  job->n = (guint)n;
  g_thread_pool_push (self->thread, job, NULL);
  return TRUE;
}

WorkerEvaluator *
worker_evaluator_new (LoomBusWorker1 *bus, WorkerRunner *runner)
{
  WorkerEvaluator *self = g_new0 (WorkerEvaluator, 1);

  self->bus = bus;
  self->runner = runner;
  self->text = g_string_new (NULL);
  g_mutex_init (&self->lock);
  self->thread = g_thread_pool_new (run_job, self, 1, FALSE, NULL);
  g_signal_connect (bus, "handle-evaluate", G_CALLBACK (evaluate_cb), self);
  g_signal_connect (bus, "handle-stop-evaluation", G_CALLBACK (stop_evaluation_cb), self);
  g_signal_connect (bus, "handle-get-evaluation", G_CALLBACK (get_evaluation_cb), self);
  g_signal_connect (bus, "handle-generate", G_CALLBACK (generate_cb), self);
  g_signal_connect (bus, "handle-get-generated", G_CALLBACK (get_generated_cb), self);
  g_signal_connect (bus, "handle-stop-generating", G_CALLBACK (stop_generating_cb), self);
  g_signal_connect (bus, "handle-write", G_CALLBACK (write_cb), self);
  g_signal_connect (bus, "handle-write-samples", G_CALLBACK (write_samples_cb), self);
  return self;
}

void
worker_evaluator_free (WorkerEvaluator *self)
{
  g_signal_handlers_disconnect_by_data (self->bus, self);
  for (guint i = 0; i < G_N_ELEMENTS (self->wanted); i++)
    g_atomic_int_inc (&self->wanted[i]);
  g_thread_pool_free (self->thread, FALSE, TRUE);
  loom_evaluation_free (self->evaluation);
  g_free (self->folder);
  g_string_free (self->text, TRUE);
  g_free (self->failure);
  g_mutex_clear (&self->lock);
  g_free (self);
}
