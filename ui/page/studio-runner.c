/* Implements studio-runner.h. */
#include "ui/page/studio-runner.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/charts/studio-type.h"
#include "ui/document/studio-document-origin.h"
#include "ui/document/studio-document-run.h"
#include "ui/page/run-settings.h"
#include "ui/shell/studio-toasts.h"
#include "ui/training/studio-training-settings.h"

struct _StudioRunner
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  GtkWidget *toasts;
  StudioQuestions *questions;
  guint elsewhere_timer; /* while another page trains this graph */
  gint64 back;           /* the step to go back to when the run has stopped; 0: none */
};

STUDIO_DEFINE_TYPE (StudioRunner, studio_runner, G_TYPE_OBJECT)

enum
{
  STARTED,
  FAULTY,
  CONTINUED,
  RESUMED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* ---- starting ------------------------------------------------------------------------------- */

static gboolean
is_sound (StudioRunner *self)
{
  LoomFaults *faults = studio_document_get_faults (self->document);
  if (loom_faults_count (faults) == 0)
    return TRUE;
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);
      if (fault->is_warning)
        continue;
      g_autofree char *text
          = fault->node != NULL ? g_strdup_printf ("%s: %s", fault->node, fault->message) : g_strdup (fault->message);
      studio_toasts_say (self->toasts, text);
      break;
    }
  g_signal_emit (self, signals[FAULTY], 0);
  return FALSE;
}

/* ---- data outside the graph's folder --------------------------------------------------------- */

/* How a run begins. */
typedef enum
{
  BEGIN_TRAINING,
  BEGIN_STEP,  /* one step, then it waits */
  BEGIN_PAUSED /* waits before its first step */
} Beginning;

static void start (StudioRunner *self, Beginning how);

/* Asks about what the graph reads outside its folder. NULL if it reads nothing there, all of it was agreed to, or a
 * question is open already; then *must_wait is TRUE. */
static AdwMessageDialog *
new_outside_question (StudioRunner *self, const char *label, gboolean *must_wait)
{
  g_auto (GStrv) paths = studio_document_outside (self->document);
  *must_wait = paths[0] != NULL && studio_document_get_origin (self->document) != NULL;
  if (!*must_wait)
    {
      studio_document_agree (self->document); /* the paths of a graph that was begun here were chosen here */
      return NULL;
    }
  if (studio_questions_is_asking (self->questions))
    return NULL;
  g_autofree char *list = g_strjoinv ("\n", paths);
  g_autofree char *shown = loom_text_printable (list, FALSE, 2000);
  g_autofree char *body = g_strdup_printf (_ ("This graph reads data outside its own folder:\n%s\nIf you did not "
                                              "create the graph, make sure that this is intended."),
                                           shown);
  AdwMessageDialog *dialog = studio_questions_add (self->questions, _ ("Read Files Outside the Graph’s Folder?"), body);
  adw_message_dialog_add_response (dialog, "read", label);
  return dialog;
}

static void
read_response_cb (AdwMessageDialog *dialog, const char *response, StudioRunner *self)
{
  if (g_str_equal (response, "read"))
    studio_document_agree (self->document);
}

/* TRUE: the data wait for an agreement. */
static gboolean
ask_to_read (StudioRunner *self)
{
  gboolean must_wait;
  AdwMessageDialog *dialog = new_outside_question (self, _ ("_Read"), &must_wait);
  if (dialog == NULL)
    return must_wait;
  g_signal_connect_object (dialog, "response", G_CALLBACK (read_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
  return TRUE;
}

void
studio_runner_ask_to_read (StudioRunner *self)
{
  ask_to_read (self);
}

static void
train_response_cb (AdwMessageDialog *dialog, const char *response, StudioRunner *self)
{
  if (!g_str_equal (response, "read"))
    return;
  studio_document_agree (self->document);
  start (self, (Beginning)GPOINTER_TO_INT (g_object_get_data (G_OBJECT (dialog), "beginning")));
}

/* TRUE if the run may read what its graph names. A graph that was opened from a file may be from elsewhere, so files
 * outside its folder are asked about, once. */
static gboolean
may_read (StudioRunner *self, Beginning how)
{
  gboolean must_wait;
  AdwMessageDialog *dialog = new_outside_question (self, _ ("_Read and Train"), &must_wait);
  if (dialog == NULL)
    return !must_wait;
  g_object_set_data (G_OBJECT (dialog), "beginning", GINT_TO_POINTER (how));
  g_signal_connect_object (dialog, "response", G_CALLBACK (train_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
  return FALSE;
}

/* Trains the graph after start() has checked it and its data. */
static void
begin (StudioRunner *self, Beginning how)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_autofree char *xml = loom_graph_write (graph, NULL);
  g_autofree char *name = studio_document_dup_title (self->document);
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;
  options.paused = how != BEGIN_TRAINING;
  studio_document_mark_run (self->document);
  studio_run_start (self->run, xml, loom_graph_get_folder (graph), name, &options);
  g_autofree char *hash = loom_graph_hash (graph);
  studio_run_remember (self->run, hash);
  if (how == BEGIN_STEP)
    studio_run_step (self->run);
  /* A run that waits for its first step has nothing to show. */
  if (how != BEGIN_PAUSED)
    g_signal_emit (self, signals[STARTED], 0);
}

/* The same, for a graph whose data may be read. */
static gboolean
is_ready (StudioRunner *self)
{
  g_autoptr (GError) error = NULL;
  if (!is_sound (self))
    return FALSE;
  if (!studio_training_ensure (self->document, &error))
    {
      studio_toasts_say (self->toasts, error->message);
      return FALSE;
    }
  return is_sound (self);
}

static void
start (StudioRunner *self, Beginning how)
{
  self->back = 0;
  /* A fault of the last run does not forbid another run. */
  studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  /* Data that wait for an agreement are a fault themselves. */
  if (may_read (self, how) && is_ready (self))
    begin (self, how);
}

gboolean
studio_runner_check (StudioRunner *self)
{
  return !ask_to_read (self) && is_ready (self);
}

void
studio_runner_train_other (StudioRunner *self, const char *xml, const char *folder, const char *title)
{
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), title, faults, NULL);
  if (graph == NULL || studio_run_is_live (self->run))
    return;
  self->back = 0;
  studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  studio_document_mark_run_of (self->document, graph);
  studio_run_start (self->run, xml, folder, title, &options);
  g_autofree char *hash = loom_graph_hash (graph);
  studio_run_remember (self->run, hash);
  g_signal_emit (self, signals[STARTED], 0);
}

void
studio_runner_train (StudioRunner *self)
{
  switch (studio_run_get_state (self->run))
    {
    case STUDIO_RUN_RUNNING:
      studio_run_pause (self->run);
      break;
    case STUDIO_RUN_PAUSED:
      studio_run_resume (self->run);
      break;
    case STUDIO_RUN_STARTING:
      if (studio_run_is_pause_wanted (self->run))
        studio_run_resume (self->run);
      else
        studio_run_pause (self->run);
      break;
    case STUDIO_RUN_IDLE:
    case STUDIO_RUN_DONE:
    case STUDIO_RUN_STOPPED:
    case STUDIO_RUN_FAILED:
    case STUDIO_RUN_LOST:
      start (self, BEGIN_TRAINING);
      break;
    }
}

/* ---- continuing ------------------------------------------------------------------------------- */

/* The attributes of <train> that may change for a run that continues: where it trains, and how long. The learning rate
 * is the run's. */
static const char *const may_change[] = { "device", "epochs" };

static LoomElement *
train_of (LoomGraph *graph)
{
  return loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
}

/* The run's own graph; NULL before the first run. */
static LoomGraph *
read_run_graph (StudioRunner *self)
{
  const char *xml = studio_run_get_graph (self->run);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  return xml != NULL ? loom_graph_read_data (xml, strlen (xml), "run", faults, NULL) : NULL;
}

/* TRUE if the run, continued with the document's settings, is of the document's version. Changes run. */
static gboolean
is_same_version (StudioRunner *self, LoomGraph *run)
{
  LoomGraph *document = studio_document_get_graph (self->document);
  LoomElement *here = train_of (document), *there = run != NULL ? train_of (run) : NULL;
  if (here == NULL || there == NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (may_change); i++)
    {
      const char *value = loom_element_get (here, may_change[i]);
      g_autoptr (LoomEdit) inverse = loom_graph_apply (run, loom_edit_set (there, may_change[i], value));
    }
  g_autofree char *a = loom_graph_hash (document), *b = loom_graph_hash (run);
  return g_str_equal (a, b);
}

static void
continue_run (StudioRunner *self, double lr, Beginning how)
{
  StudioRunOptions changes = STUDIO_RUN_OPTIONS_INIT;
  LoomGraph *document = studio_document_get_graph (self->document);
  g_autoptr (LoomGraph) run = read_run_graph (self);
  LoomElement *here = train_of (document), *there = run != NULL ? train_of (run) : NULL;
  self->back = 0;
  const char *epochs = here != NULL ? loom_element_get (here, "epochs") : NULL;
  changes.device = run_settings_get_device (self->document);
  if (there != NULL && epochs != NULL && g_strcmp0 (epochs, loom_element_get (there, "epochs")) != 0)
    changes.epochs = g_ascii_strtoll (epochs, NULL, 10);
  changes.lr = lr;
  changes.paused = how != BEGIN_TRAINING;
  studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  studio_run_continue (self->run, &changes);
  if (is_same_version (self, run))
    {
      g_autofree char *hash = loom_graph_hash (document);
      studio_document_mark_run (self->document);
      studio_run_remember (self->run, hash);
      g_signal_emit (self, signals[CONTINUED], 0);
    }
  if (how == BEGIN_STEP)
    studio_run_step (self->run);
}

void
studio_runner_continue (StudioRunner *self)
{
  continue_run (self, NAN, BEGIN_TRAINING);
  g_signal_emit (self, signals[RESUMED], 0);
}

void
studio_runner_continue_slower (StudioRunner *self)
{
  continue_run (self, studio_run_get_base_lr (self->run) / 10, BEGIN_TRAINING);
  g_signal_emit (self, signals[RESUMED], 0);
}

static void
begin_or_continue (StudioRunner *self, Beginning how)
{
  g_autoptr (LoomGraph) run = studio_run_can_resume (self->run) ? read_run_graph (self) : NULL;

  if (is_same_version (self, run))
    continue_run (self, NAN, how);
  else
    start (self, how);
}

/* The run has ended. Stopping it has written another checkpoint, which may have replaced the one of that step. */
static void
go_back_now (StudioRunner *self)
{
  const gint64 step = self->back;
  self->back = 0;
  if (studio_run_find_checkpoint (self->run, step) <= 0)
    {
      studio_toasts_say (self->toasts, _ ("The run has no checkpoint left from before. Restart it."));
      return;
    }
  studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  studio_run_go_back (self->run, step);
  g_signal_emit (self, signals[RESUMED], 0);
}

void
studio_runner_go_back (StudioRunner *self, gint64 step)
{
  self->back = step;
  if (studio_run_is_live (self->run))
    studio_run_stop (self->run);
  else
    go_back_now (self);
}

void
studio_runner_step (StudioRunner *self)
{
  if (studio_run_get_state (self->run) == STUDIO_RUN_RUNNING)
    studio_run_pause (self->run);
  else if (studio_run_is_live (self->run))
    studio_run_step (self->run);
  else
    begin_or_continue (self, BEGIN_STEP);
}

void
studio_runner_prepare (StudioRunner *self)
{
  if (!studio_run_is_live (self->run))
    begin_or_continue (self, BEGIN_PAUSED);
}

void
studio_runner_restart (StudioRunner *self)
{
  start (self, BEGIN_TRAINING);
}

void
studio_runner_use_batch (StudioRunner *self, const char *batch)
{
  studio_training_set (self->document, "batch_size", batch);
  studio_runner_restart (self);
}

void
studio_runner_skip_broken (StudioRunner *self)
{
  const LoomElement *root = loom_graph_root (studio_document_get_graph (self->document));
  studio_document_begin (self->document, _ ("Leave out broken pictures"));
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      LoomElement *e = loom_element_child (root, i);
      const LoomOp *op = loom_op_has_role (e, LOOM_ROLE_DATASET) ? loom_op_of (e) : NULL;
      const LoomOpVariant *source = op != NULL ? loom_op_variant (op, loom_element_get (e, op->params->name)) : NULL;
      for (const LoomParamSpec *p = source != NULL ? source->params : NULL; p != NULL && p->name != NULL; p++)
        if (g_str_equal (p->name, "broken"))
          studio_document_set_element_attribute (self->document, e, p->name, "skip");
    }
  studio_document_end (self->document);
  studio_runner_restart (self);
}

void
studio_runner_use_strategy (StudioRunner *self, const char *strategy)
{
  studio_training_set_parallel (self->document, "strategy", strategy);
  studio_runner_restart (self);
}

static void watch_elsewhere (StudioRunner *self);

/* ---- reports of the run --------------------------------------------------------------------------- */

static void
state_cb (StudioRun *run, StudioRunner *self)
{
  StudioRunState state = studio_run_get_state (run);
  if (state == STUDIO_RUN_STARTING || state == STUDIO_RUN_RUNNING)
    studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  if (self->back > 0 && !studio_run_is_live (run))
    go_back_now (self);
  /* An attachment that was refused. */
  if (studio_run_get_attachable (run) != NULL)
    watch_elsewhere (self);
}

static void
problem_cb (StudioRun *run, const char *code, const char *node, const char *port, const char *sentence,
            StudioRunner *self)
{
  /* A breakpoint is no fault (StudioBreakpoints "hit"). */
  if (g_str_equal (code, "BREAKPOINT"))
    return;
  /* A fault is shown on its card, else on the bar of a failed run; what is no failure, in a toast. */
  if (node != NULL && *node != '\0' && studio_document_run_has (self->document, node))
    {
      studio_document_set_run_fault (self->document, code, node, port, sentence);
      return;
    }
  if (!g_str_equal (code, "NOTE") && !g_str_equal (code, "REFUSED"))
    return;
  g_autofree char *text
      = node != NULL && *node != '\0' ? g_strdup_printf ("%s: %s", node, sentence) : g_strdup (sentence);
  studio_toasts_say (self->toasts, text);
}

/* ---- runs of an opened graph ---------------------------------------------------------------------- */

/* A worker that was closed just now ends within this time; a run that lasts longer trains elsewhere. */
#define ELSEWHERE_MS 700

/* Finds the run of this graph that an earlier Studio did not finish. */
static gboolean
find_interrupted (StudioRunner *self, const char *hash)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  if (!studio_run_find_interrupted (self->run, hash, loom_graph_get_folder (graph)))
    return FALSE;
  studio_document_mark_run (self->document);
  g_signal_emit (self, signals[STARTED], 0);
  return TRUE;
}

/* A graph that trains in another page is no interrupted run; the search is repeated after it has ended there. */
static gboolean
elsewhere_cb (gpointer data)
{
  StudioRunner *self = data;
  g_autofree char *hash = loom_graph_hash (studio_document_get_graph (self->document));
  gboolean idle = studio_run_get_state (self->run) == STUDIO_RUN_IDLE;
  gboolean elsewhere = idle && studio_run_is_elsewhere (hash);
  studio_run_find_elsewhere (self->run, hash);
  if (elsewhere)
    return G_SOURCE_CONTINUE;
  self->elsewhere_timer = 0;
  if (idle)
    find_interrupted (self, hash);
  return G_SOURCE_REMOVE;
}

static void
watch_elsewhere (StudioRunner *self)
{
  if (self->elsewhere_timer == 0)
    self->elsewhere_timer = g_timeout_add (ELSEWHERE_MS, elsewhere_cb, self);
}

static void
find_run (StudioRunner *self)
{
  g_clear_handle_id (&self->elsewhere_timer, g_source_remove);
  if (studio_document_get_path (self->document) == NULL)
    return;
  g_autofree char *hash = loom_graph_hash (studio_document_get_graph (self->document));
  if (find_interrupted (self, hash) || !studio_run_is_elsewhere (hash))
    return;
  watch_elsewhere (self);
  /* A worker that is about to end has no socket any more. */
  if (studio_run_is_attachable (hash))
    studio_run_find_elsewhere (self->run, hash);
}

void
studio_runner_attach (StudioRunner *self)
{
  g_autofree char *folder = g_strdup (studio_run_get_attachable (self->run));
  if (folder != NULL)
    studio_runner_attach_to (self, folder);
}

void
studio_runner_attach_to (StudioRunner *self, const char *folder)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  if (studio_run_is_live (self->run))
    return;
  self->back = 0;
  studio_run_attach (self->run, folder, loom_graph_get_folder (graph));
}

static void
attached_cb (StudioRun *run, StudioRunner *self)
{
  g_autoptr (LoomGraph) graph = read_run_graph (self), version = graph != NULL ? loom_graph_copy (graph) : NULL;
  studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  if (graph == NULL || is_same_version (self, version))
    studio_document_mark_run (self->document);
  else
    studio_document_mark_run_of (self->document, graph);
  g_signal_emit (self, signals[STARTED], 0);
}

void
studio_runner_open (StudioRunner *self)
{
  self->back = 0;
  studio_run_reset (self->run);
  studio_document_unmark_run (self->document);
  find_run (self);
}

void
studio_runner_close (StudioRunner *self)
{
  self->back = 0;
  studio_run_close (self->run);
}

/* ---- object --------------------------------------------------------------------------------- */

static void
runner_dispose (GObject *object)
{
  StudioRunner *self = STUDIO_RUNNER (object);
  g_clear_handle_id (&self->elsewhere_timer, g_source_remove);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_runner_parent_class)->dispose (object);
}

static void
studio_runner_class_init (StudioRunnerClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = runner_dispose;
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (((const char *const[]){ "started", "faulty", "continued", "resumed" })[i],
                               STUDIO_TYPE_RUNNER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

StudioRunner *
studio_runner_new (StudioDocument *document, StudioRun *run, GtkWidget *toasts, StudioQuestions *questions)
{
  StudioRunner *self = g_object_new (STUDIO_TYPE_RUNNER, NULL);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->toasts = toasts;
  self->questions = questions;
  g_signal_connect (run, "begun-on-host", G_CALLBACK (studio_run_attach_begun), NULL);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, 0);
  g_signal_connect_object (run, "problem", G_CALLBACK (problem_cb), self, 0);
  g_signal_connect_object (run, "attached", G_CALLBACK (attached_cb), self, 0);
  return self;
}
