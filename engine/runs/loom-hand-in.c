/* Makes a hand-in of a run's folder or of a graph, and frees it; hand-in-file.c reads and writes the file. */
#include "engine/runs/hand-in-private.h"

#include "engine/core/loom-error.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-run-event.h"
#include "engine/infer/loom-run-files.h"
#include "engine/infer/loom-run-json.h"
#include "engine/ops/loom-op.h"

#include <string.h>

#define MOST_COSTS 4000000  /* bytes */
#define MOST_LOG   32000000 /* bytes */

static void
answer_free (gpointer data)
{
  LoomHandInAnswer *answer = data;

  g_free (answer->title);
  g_free (answer->text);
  g_free (answer);
}

GPtrArray *
hand_in_answers_new (void)
{
  return g_ptr_array_new_with_free_func (answer_free);
}

void
loom_hand_in_free (LoomHandIn *self)
{
  if (self == NULL)
    return;
  g_free (self->name);
  g_free (self->program);
  g_free (self->graph);
  g_free (self->device);
  g_free (self->machine);
  g_free (self->weights);
  g_free (self->costs);
  g_free (self->log);
  g_clear_pointer (&self->answers, g_ptr_array_unref);
  g_clear_pointer (&self->sessions, g_array_unref);
  g_free (self);
}

static char *
cut (const char *text, glong most)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);

  return g_utf8_substring (valid, 0, MIN (g_utf8_strlen (valid, -1), most));
}

void
loom_hand_in_add_answer (LoomHandIn *self, gint64 page, const char *title, const char *text)
{
  g_autofree char *given = g_strstrip (cut (text, LOOM_HAND_IN_MOST_ANSWER));
  LoomHandInAnswer *answer;

  if (*given == '\0' || self->answers->len == LOOM_HAND_IN_MOST_ANSWERS)
    return;
  answer = g_new0 (LoomHandInAnswer, 1);
  answer->page = page;
  answer->title = cut (title != NULL ? title : "", LOOM_HAND_IN_MOST_NAME);
  answer->text = g_steal_pointer (&given);
  g_ptr_array_add (self->answers, answer);
}

static LoomHandIn *
hand_in_new (const char *name)
{
  LoomHandIn *self = g_new0 (LoomHandIn, 1);

  self->name = g_strstrip (cut (name, LOOM_HAND_IN_MOST_NAME));
  self->made = (double)loom_wall () * 1e-6;
  self->program = g_strdup ("gradloom " LOOM_VERSION);
  self->answers = hand_in_answers_new ();
  self->sessions = g_array_new (FALSE, FALSE, sizeof (LoomRunSession));
  self->is_intact = TRUE;
  return self;
}

/* ---- the graph ---------------------------------------------------------- */

static gboolean
call (LoomElement *element, const char *attribute, LoomHandInFileFunc func, gpointer data)
{
  g_autofree char *value = g_strdup (loom_element_get (element, attribute));

  return value == NULL || *value == '\0' || func (element, attribute, value, data);
}

static gboolean
each_of_node (LoomElement *node, LoomHandInFileFunc func, gpointer data)
{
  const char *source = loom_element_get (node, "source");
  const LoomDatasetClass *klass
      = loom_op_has_role (node, LOOM_ROLE_DATASET) && source != NULL ? loom_dataset_class (source) : NULL;

  for (const LoomDatasetParam *p = klass != NULL ? loom_dataset_class_params (klass) : NULL;
       p != NULL && p->name != NULL; p++)
    if (p->type == LOOM_DATASET_PATH && !call (node, p->name, func, data))
      return FALSE;
  return TRUE;
}

static gboolean
each_inside (LoomElement *element, LoomHandInFileFunc func, gpointer data)
{
  if (loom_element_tag (element) == LOOM_TAG_NODE && !each_of_node (element, func, data))
    return FALSE;
  if (loom_element_tag (element) == LOOM_TAG_TRAIN
      && (!call (element, "weights", func, data) || !call (element, "adapter", func, data)))
    return FALSE;
  for (guint i = 0; i < loom_element_n_children (element); i++)
    if (!each_inside (loom_element_child (element, i), func, data))
      return FALSE;
  return TRUE;
}

gboolean
loom_hand_in_each_file (LoomGraph *graph, LoomHandInFileFunc func, gpointer data)
{
  return each_inside (loom_graph_root (graph), func, data);
}

static gboolean
keep_leaf (LoomElement *element, const char *attribute, const char *value, gpointer data)
{
  g_autofree char *leaf = g_path_get_basename (value);

  loom_edit_free (loom_graph_apply (data, loom_edit_set (element, attribute, leaf)));
  return TRUE;
}

/* The text of a lesson is the lecturer's, who has it. */
static char *
graph_text (const LoomGraph *graph)
{
  g_autoptr (LoomGraph) copy = loom_graph_copy (graph);
  LoomElement *lesson;

  while ((lesson = loom_element_find (loom_graph_root (copy), LOOM_TAG_LESSON)) != NULL)
    loom_edit_free (loom_graph_apply (copy, loom_edit_remove (lesson)));
  loom_hand_in_each_file (copy, keep_leaf, copy);
  return loom_graph_write (copy, NULL);
}

LoomHandIn *
loom_hand_in_new_untrained (const LoomGraph *graph, const char *name)
{
  LoomHandIn *self = hand_in_new (name);

  self->graph = graph_text (graph);
  return self;
}

gboolean
loom_hand_in_take_view (LoomHandIn *self, const LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autofree char *text = graph_text (graph), *own = NULL, *other = NULL;
  g_autoptr (LoomGraph) a = loom_graph_read_data (self->graph, (gssize)strlen (self->graph), NULL, faults, NULL);
  g_autoptr (LoomGraph) b = loom_graph_read_data (text, (gssize)strlen (text), NULL, faults, NULL);

  if (a == NULL || b == NULL)
    return FALSE;
  own = loom_graph_hash (a);
  other = loom_graph_hash (b);
  if (!g_str_equal (own, other))
    return FALSE;
  g_free (self->graph);
  self->graph = g_steal_pointer (&text);
  return TRUE;
}

/* ---- the run ------------------------------------------------------------ */

/* The machine of a checkpoint, as its state.json describes the run's device. */
static char *
machine_of (const LoomRunJson *json, const char *device)
{
  LoomRunJson devices;
  const char *text;

  return json_object_has_member (json->object, "devices") && loom_run_json_object (json, "devices", &devices, NULL)
                 && json_object_has_member (devices.object, device)
                 && loom_run_json_string (&devices, device, &text, NULL)
             ? g_strdup (text)
             : g_strdup ("");
}

/* Lines that name files of the learner's machine, and change nothing of the run. */
static gboolean
names_file (const char *line, const char *end)
{
  return loom_run_event_is (line, end, "branch") || loom_run_event_is (line, end, "weights");
}

static char *
log_text (LoomFolder *run, gsize most, GError **error)
{
  g_autoptr (GMappedFile) file = loom_folder_map (run, LOOM_RUN_EVENTS, error);
  GString *text;
  const char *at, *end;

  if (file == NULL)
    return NULL;
  text = g_string_new (NULL);
  at = g_mapped_file_get_contents (file);
  end = at != NULL ? at + MIN (g_mapped_file_get_length (file), most) : NULL;
  while (at < end)
    {
      const char *stop = memchr (at, '\n', (gsize)(end - at));

      if (stop == NULL)
        break;
      if (!names_file (at, stop))
        g_string_append_len (text, at, stop + 1 - at);
      at = stop + 1;
    }
  if (text->len <= MOST_LOG && g_utf8_validate (text->str, (gssize)text->len, NULL))
    return g_string_free (text, FALSE);
  loom_refuse (error, LOOM_ERROR_DATA, "The events of the run in %s are damaged, or too long to be handed in.",
               loom_folder_path (run));
  g_string_free (text, TRUE);
  return NULL;
}

static void
add_sessions (LoomHandIn *self, LoomFolder *run)
{
  g_autoptr (GArray) sessions = loom_run_sessions_read (run);

  for (guint i = 0; i < sessions->len; i++)
    {
      LoomRunSession session = g_array_index (sessions, LoomRunSession, i);

      session.sentence = NULL; /* it may name files */
      g_array_append_val (self->sessions, session);
    }
  self->is_over
      = sessions->len > 0 && g_array_index (sessions, LoomRunSession, sessions->len - 1).end == LOOM_RUN_END_DONE;
}

static gboolean
take_checkpoint (LoomHandIn *self, LoomFolder *run, LoomFolder *checkpoint, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GMappedFile) weights = NULL;
  g_autofree char *path = NULL;
  LoomRunJson json;
  gint64 events;

  if (!loom_run_json_root (parser, checkpoint, LOOM_RUN_STATE, &path, &json, error)
      || !loom_run_json_int (&json, "step", 0, (gint64)1 << 52, &self->step, error)
      || !loom_run_json_int (&json, "events_length", 0, G_MAXINT64, &events, error))
    return FALSE;
  weights = loom_folder_map (checkpoint, LOOM_RUN_WEIGHTS, error);
  if (weights == NULL)
    return FALSE;
  self->weights = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *)g_mapped_file_get_contents (weights),
                                               g_mapped_file_get_length (weights));
  self->machine = machine_of (&json, self->device);
  if (!loom_folder_read (checkpoint, LOOM_RUN_COSTS, MOST_COSTS, &self->costs, NULL, NULL))
    self->costs = g_strdup ("");
  self->log = log_text (run, (gsize)events, error);
  return self->log != NULL;
}

LoomHandIn *
loom_hand_in_new (const char *run, const char *name, GError **error)
{
  g_autoptr (LoomHandIn) self = hand_in_new (name);
  LoomRunSettings settings = { NULL };
  g_autoptr (LoomGraph) graph = loom_run_read (run, &settings, error);
  g_autoptr (LoomFolder) folder = NULL, checkpoints = NULL, checkpoint = NULL;
  g_autoptr (GArray) steps = NULL;

  self->device = settings.device;
  if (graph == NULL)
    return NULL;
  if (settings.ranks > 1)
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "The run in %s was trained by %d ranks. Only runs of one rank can be handed in.", run,
                             settings.ranks);
  folder = loom_folder_open (run, error);
  if (folder == NULL)
    return NULL;
  checkpoints = loom_folder_enter (folder, LOOM_RUN_CHECKPOINTS, FALSE, NULL);
  steps = loom_run_checkpoint_steps (checkpoints, error);
  if (steps == NULL)
    return NULL;
  if (steps->len == 0)
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "The run in %s has no checkpoint yet, so there is nothing to hand in. Train at least to "
                             "the end of an epoch, or stop the run.",
                             run);
  checkpoint = loom_run_checkpoint_enter (checkpoints, g_array_index (steps, gint64, 0), error);
  if (checkpoint == NULL || !take_checkpoint (self, folder, checkpoint, error))
    return NULL;
  add_sessions (self, folder);
  self->has_run = TRUE;
  self->threads = settings.threads;
  self->graph = graph_text (graph);
  return g_steal_pointer (&self);
}
