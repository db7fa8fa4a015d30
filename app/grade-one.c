/* Grades one hand-in: reads it, repeats its run in a temporary folder, and compares. */
#include "app/grade.h"

#include "app/shared/command.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const char *const grade_verdicts[] = { [GRADE_HOLDS] = "holds",
                                       [GRADE_UNTRAINED] = "untrained",
                                       [GRADE_SHARED] = "shared",
                                       [GRADE_CHANGED] = "changed",
                                       [GRADE_REFUSED] = "refused" };

GradeRow *
grade_row_new (const char *file)
{
  GradeRow *self = g_new0 (GradeRow, 1);

  self->file = g_strdup (file);
  self->unmet = g_ptr_array_new_with_free_func (g_free);
  self->answers = g_ptr_array_new_with_free_func (g_free);
  self->finding = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
grade_row_free (GradeRow *self)
{
  if (self == NULL)
    return;
  g_free (self->file);
  g_free (self->name);
  g_free (self->run);
  g_free (self->training);
  g_ptr_array_unref (self->unmet);
  g_ptr_array_unref (self->answers);
  g_ptr_array_unref (self->finding);
  g_free (self);
}

void
grade_row_add (GradeRow *self, GradeVerdict verdict, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_ptr_array_add (self->finding, g_strdup_vprintf (format, arguments));
  va_end (arguments);
  self->verdict = MAX (self->verdict, verdict);
}

/* ---- repeating the run ------------------------------------------------------- */

typedef struct
{
  char *folder; /* temporary; its "log" is what is repeated, "run" the repetition */
  char *log, *run;
  gint64 begun;
  double seconds;
  gboolean is_late;
  GradeMetrics metrics;
} Repetition;

static void
repetition_clear (Repetition *self)
{
  if (self->folder != NULL)
    loom_path_remove_all (self->folder);
  g_free (self->folder);
  g_free (self->log);
  g_free (self->run);
  g_clear_pointer (&self->metrics.name, g_ptr_array_unref);
  g_clear_pointer (&self->metrics.value, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Repetition, repetition_clear)

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Repetition *self = data;

  g_ptr_array_set_size (self->metrics.name, 0);
  g_array_set_size (self->metrics.value, 0);
  for (guint i = 0; i < step->n_metrics; i++)
    {
      g_ptr_array_add (self->metrics.name, g_strdup (step->metric_name[i]));
      g_array_append_val (self->metrics.value, step->metric[i]);
    }
  if (self->is_late || (double)(loom_monotonic () - self->begun) * 1e-6 < self->seconds)
    return;
  self->is_late = TRUE;
  loom_trainer_post (trainer, LOOM_COMMAND_STOP, NULL, 0);
}

static gboolean
write_file (const char *folder, const char *name, const char *text, GError **error)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  return loom_file_replace (path, text, strlen (text), error);
}

/* The folder that the trainer reads changed numbers and choices of kernels from. */
static gboolean
write_log (Repetition *self, const LoomHandIn *hand_in, GError **error)
{
  g_autofree char *checkpoint = NULL;

  self->folder = loom_path_make_temporary ("gradloom-grade", error);
  if (self->folder == NULL)
    return FALSE;
  self->log = g_build_filename (self->folder, "log", NULL);
  self->run = g_build_filename (self->folder, "run", NULL);
  checkpoint = g_build_filename (self->log, LOOM_RUN_CHECKPOINTS, "1", NULL);
  if (!loom_path_make_folder (checkpoint, 0700))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s cannot be made: %s.", checkpoint, g_strerror (errno));
      return FALSE;
    }
  return write_file (self->log, LOOM_RUN_EVENTS, hand_in->log, error)
         && (hand_in->costs[0] == '\0' || write_file (checkpoint, LOOM_RUN_COSTS, hand_in->costs, error));
}

/* A device that this machine lacks is replaced by its processors, with other roundings. */
static const char *
device_of (const LoomHandIn *hand_in)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);

  return loom_devices_get (devices, hand_in->device, NULL) != NULL ? hand_in->device : "cpu";
}

/* Returns the repeated run as it would be handed in; NULL: it cannot be repeated. */
static LoomHandIn *
repeat (Repetition *self, const LoomHandIn *hand_in, const LoomGraph *graph, const GradeOptions *options,
        GError **error)
{
  static const LoomTrainerObserver observer = { .step = step_cb };
  g_autoptr (LoomTrainer) trainer = NULL;
  LoomTrainerOptions o = { .device = device_of (hand_in),
                           .threads = (int)hand_in->threads,
                           .lr = NAN,
                           .seed = -1,
                           .history = -1,
                           .checkpoint_seconds = 1e6 };

  o.steps = options->steps > 0 ? MIN (options->steps, hand_in->step) : hand_in->step;
  self->seconds = options->seconds;
  self->metrics.name = g_ptr_array_new_with_free_func (g_free);
  self->metrics.value = g_array_new (FALSE, FALSE, sizeof (double));
  if (!write_log (self, hand_in, error))
    return NULL;
  o.replay = o.costs_of = self->log;
  o.out = self->run;
  trainer = loom_trainer_new (graph, &o, error);
  if (trainer == NULL)
    return NULL;
  loom_trainer_set_observer (trainer, &observer, self);
  self->begun = loom_monotonic ();
  if (loom_trainer_run (trainer, error) == LOOM_TRAINER_FAILED)
    return NULL;
  return loom_hand_in_new (self->run, hand_in->name, error);
}

/* ---- what is equal --------------------------------------------------------------- */

static char *
run_identity (const LoomHandIn *hand_in)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < hand_in->sessions->len; i++)
    {
      const LoomRunSession *s = &g_array_index (hand_in->sessions, LoomRunSession, i);

      g_string_append_printf (text, "%.3f %.3f ", s->begun, s->ended);
    }
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, -1);
}

static char *
training_identity (const LoomHandIn *hand_in, const LoomGraph *graph)
{
  g_autofree char *hash = loom_graph_hash (graph), *text = g_strconcat (hash, "\n", hand_in->log, NULL);

  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}

/* ---- one hand-in ---------------------------------------------------------------- */

static void
refuse (GradeRow *row, const char *what, const GError *error)
{
  g_autofree char *sentence = command_sentence (error->message);

  g_strdelimit (sentence, "\n", ' ');
  grade_row_add (row, GRADE_REFUSED, "%s%s", what, sentence);
}

static LoomGraph *
read_graph (const GradeKey *key, const LoomHandIn *hand_in, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph
      = loom_graph_read_data (hand_in->graph, (gssize)strlen (hand_in->graph), NULL, faults, error);

  if (graph == NULL || !loom_faults_to_error (faults, NULL, error) || !grade_key_lend_files (key, graph, error))
    return NULL;
  return g_steal_pointer (&graph);
}

static gboolean
is_rough (const LoomGraph *graph)
{
  const LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  const char *precision = train != NULL ? loom_element_get (train, "precision") : NULL,
             *tf32 = train != NULL ? loom_element_get (train, "tf32") : NULL;

  return (precision != NULL && strstr (precision, "16") != NULL) || g_strcmp0 (tf32, "true") == 0;
}

static void
grade_run (const GradeKey *key, const LoomHandIn *hand_in, const LoomGraph *graph, const GradeOptions *options,
           GradeRow *row)
{
  g_auto (Repetition) repetition = { NULL };
  g_autoptr (LoomHandIn) repeated = NULL;
  g_autoptr (GError) error = NULL;
  GradeOptions of_graph = *options;
  gboolean is_whole;

  row->steps = hand_in->step;
  row->run = run_identity (hand_in);
  row->training = training_identity (hand_in, graph);
  grade_times (hand_in, row);
  if (hand_in->step == 0)
    {
      grade_goals (key, hand_in, graph, NULL, NULL, row);
      grade_row_add (row, GRADE_UNTRAINED, "The run has no step.");
      return;
    }
  repeated = repeat (&repetition, hand_in, graph, options, &error);
  if (repeated == NULL)
    {
      grade_goals (key, hand_in, graph, NULL, NULL, row);
      refuse (row, "The run cannot be repeated: ", error);
      return;
    }
  of_graph.is_rough = is_rough (graph);
  is_whole = !repetition.is_late && (options->steps == 0 || options->steps >= hand_in->step);
  grade_compare (hand_in, repeated, is_whole, &of_graph, row);
  if (!is_whole)
    grade_row_add (row, GRADE_HOLDS,
                   "Figures of goals are those of the log: %" G_GINT64_FORMAT " of its steps were repeated.",
                   row->checked);
  grade_goals (key, hand_in, graph, is_whole ? repeated->log : hand_in->log, is_whole ? &repetition.metrics : NULL,
               row);
}

GradeRow *
grade_hand_in (const GradeKey *key, const char *path, const GradeOptions *options)
{
  g_autofree char *leaf = g_path_get_basename (path);
  GradeRow *row = grade_row_new (leaf);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomHandIn) hand_in = loom_hand_in_read (path, &error);
  g_autoptr (LoomGraph) graph = NULL;

  if (hand_in == NULL)
    {
      refuse (row, "", error);
      return row;
    }
  row->name = g_strdup (hand_in->name);
  if (!hand_in->is_intact)
    grade_row_add (row, GRADE_CHANGED, "The file was edited after it was made: its checksum is not that of its text.");
  graph = read_graph (key, hand_in, &error);
  if (graph == NULL)
    refuse (row, "", error);
  else if (hand_in->has_run)
    grade_run (key, hand_in, graph, options, row);
  else
    {
      row->verdict = MAX (row->verdict, GRADE_UNTRAINED);
      grade_goals (key, hand_in, graph, NULL, NULL, row);
    }
  return row;
}
