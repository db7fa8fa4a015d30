/* Writes a run's events for TensorBoard; see the header. */
#include "app/train-board.h"

#include "app/board-graph.h"
#include "app/board-summary.h"

#include <math.h>

#define SNAPSHOTS 50 /* of a run */
#define GRADIENTS 24 /* weights whose gradients are written: one plan computes them, and keeps 32 values */

struct _TrainBoard
{
  LoomTrainer *trainer;
  BoardFile *file;
  GPtrArray *watched; /* the tensors of the graph's pins, names (transfer none) */
  gint64 steps;       /* between two snapshots */
  gint64 shown;       /* the step of the last snapshot; -1: none */
  gboolean is_asked;  /* a snapshot is to be taken before the next step */
  GError *error;      /* the first */
};

static GPtrArray *
watched_of (const LoomGraph *graph)
{
  const LoomElement *view = loom_element_find (loom_graph_root (graph), LOOM_TAG_VIEW);
  GPtrArray *tensors = g_ptr_array_new ();

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      const LoomElement *pin = loom_element_child (view, i);
      const char *tensor = loom_element_tag (pin) == LOOM_TAG_PIN ? loom_element_get (pin, "tensor") : NULL;

      if (tensor != NULL)
        g_ptr_array_add (tensors, (gpointer)tensor);
    }
  return tensors;
}

static void
add (TrainBoard *self, gint64 step, guint field, GByteArray *content)
{
  if (self->error == NULL)
    board_file_add (self->file, step, field, content, &self->error);
  else
    g_byte_array_unref (content);
}

static void
flush (TrainBoard *self)
{
  if (self->error == NULL)
    board_file_flush (self->file, &self->error);
}

/* ---- snapshots ---------------------------------------------------------- */

/* NULL for a tensor that has no value now: no gradient reaches a frozen weight, and a pin may name what is gone. */
static LoomTensor *
value_of (TrainBoard *self, const char *prefix, const char *port, gint64 *step)
{
  g_autofree char *name = g_strconcat (prefix, port, NULL);

  return loom_trainer_snapshot (self->trainer, name, step, NULL);
}

static void
add_histogram (TrainBoard *self, GByteArray *summary, const char *group, const char *prefix, const char *port)
{
  g_autofree char *tag = g_strdup_printf ("%s/%s", group, port);
  g_autoptr (LoomTensor) value = value_of (self, prefix, port, NULL);

  if (value != NULL)
    board_add_histogram (summary, tag, value);
}

static void
add_snapshot (TrainBoard *self, gint64 step)
{
  const LoomNet *net = loom_trainer_net (self->trainer);
  const guint n = loom_net_n_weights (net), apart = (n + GRADIENTS - 1) / GRADIENTS;
  GByteArray *summary = g_byte_array_new ();

  for (guint i = 0; i < n; i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);

      add_histogram (self, summary, "weights", "", weight->name);
      if (i % apart == 0 && !weight->is_buffer && !weight->frozen)
        add_histogram (self, summary, "gradients", "grad:", weight->name);
    }
  for (guint i = 0; i < self->watched->len; i++)
    {
      const char *port = self->watched->pdata[i];
      g_autofree char *tag = g_strdup_printf ("pins/%s", port);
      g_autoptr (LoomTensor) value = value_of (self, "", port, NULL);

      if (value != NULL && !board_add_picture (summary, tag, value) && value->count > 1)
        board_add_histogram (summary, tag, value);
    }
  add (self, step, BOARD_EVENT_SUMMARY, summary);
  flush (self);
  self->shown = step;
}

static void
snapshot_cb (gpointer data)
{
  TrainBoard *self = data;

  self->is_asked = FALSE;
  if (self->error == NULL)
    add_snapshot (self, loom_trainer_steps (self->trainer));
}

/* ---- scalars ------------------------------------------------------------ */

static void
add_metrics (GByteArray *summary, const char *group, guint n, const char *const *name, const double *value)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *tag = g_strdup_printf ("%s/%s", group, name[i]);

      if (isfinite (value[i]))
        board_add_scalar (summary, tag, value[i]);
    }
}

void
train_board_step (TrainBoard *self, const LoomTrainerStep *step)
{
  if (self == NULL || self->error != NULL)
    return;
  if (step->is_recorded || step->step == step->total_steps)
    {
      GByteArray *summary = g_byte_array_new ();

      board_add_scalar (summary, "train/loss", step->loss);
      board_add_scalar (summary, "train/learning_rate", step->lr);
      if (isfinite (step->grad_norm) && step->grad_norm > 0)
        board_add_scalar (summary, "train/gradient_norm", step->grad_norm);
      add_metrics (summary, "train", step->n_metrics, step->metric_name, step->metric);
      add (self, step->step, BOARD_EVENT_SUMMARY, summary);
    }
  if (step->step % self->steps != 0 || self->is_asked)
    return;
  self->is_asked = TRUE;
  loom_trainer_between_steps (self->trainer, snapshot_cb, self);
}

void
train_board_eval (TrainBoard *self, const LoomTrainerEval *eval)
{
  GByteArray *summary;
  g_autofree char *tag = NULL;

  if (self == NULL || self->error != NULL)
    return;
  summary = g_byte_array_new ();
  tag = g_strdup_printf ("%s/loss", eval->split);
  board_add_scalar (summary, tag, eval->loss);
  add_metrics (summary, eval->split, eval->n_metrics, eval->metric_name, eval->metric);
  add (self, eval->step, BOARD_EVENT_SUMMARY, summary);
  flush (self);
}

/* ---- beginning and end -------------------------------------------------- */

/* Of a resumed run TensorBoard drops the events that the run computes again. */
static void
add_session (TrainBoard *self, gint64 step)
{
  GByteArray *session = g_byte_array_new ();

  board_put_int (session, 1, 1); /* START */
  add (self, step, BOARD_EVENT_SESSION, session);
}

static LoomFolder *
enter (const char *path, const char *run, GError **error)
{
  g_autoptr (LoomFolder) folder = NULL;

  if (path == NULL)
    {
      folder = loom_folder_open (run, error);
      return folder != NULL ? loom_folder_enter (folder, TRAIN_BOARD_FOLDER, TRUE, error) : NULL;
    }
  if (loom_path_make_folder (path, 0777))
    return loom_folder_open (path, error);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "Cannot create the folder %s. Choose another one for --tensorboard.",
               path);
  return NULL;
}

/* TensorBoard warns of a second graph of a run. */
static gboolean
has_events (LoomFolder *folder)
{
  g_auto (GStrv) names = loom_folder_names (folder, NULL);
  gboolean found = FALSE;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    found = found || g_str_has_prefix (names[i], BOARD_FILE_PREFIX);
  return found;
}

TrainBoard *
train_board_new (LoomTrainer *trainer, const char *path, const char *run, GError **error)
{
  g_autoptr (TrainBoard) self = g_new0 (TrainBoard, 1);
  g_autoptr (LoomFolder) folder = enter (path, run, error);
  const gint64 total = loom_trainer_total_steps (trainer);
  const gboolean is_first = folder != NULL && !has_events (folder);

  self->trainer = trainer;
  self->file = folder != NULL ? board_file_new (folder, error) : NULL;
  if (self->file == NULL)
    return NULL;
  self->watched = watched_of (loom_trainer_graph (trainer));
  self->steps = MAX (1, total / SNAPSHOTS);
  self->shown = -1;
  if (is_first)
    add (self, 0, BOARD_EVENT_GRAPH, board_graph_new (loom_trainer_net (trainer)));
  if (loom_trainer_steps (trainer) > 0)
    add_session (self, loom_trainer_steps (trainer) + 1);
  add_snapshot (self, loom_trainer_steps (trainer));
  if (self->error == NULL)
    return g_steal_pointer (&self);
  g_propagate_error (error, g_steal_pointer (&self->error));
  return NULL;
}

gboolean
train_board_end (TrainBoard *self, GError **error)
{
  if (self == NULL)
    return TRUE;
  if (self->error == NULL && self->shown != loom_trainer_steps (self->trainer))
    add_snapshot (self, loom_trainer_steps (self->trainer));
  flush (self);
  if (self->error == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&self->error));
  return FALSE;
}

void
train_board_free (TrainBoard *self)
{
  if (self == NULL)
    return;
  board_file_free (self->file);
  g_clear_pointer (&self->watched, g_ptr_array_unref);
  g_clear_error (&self->error);
  g_free (self);
}
