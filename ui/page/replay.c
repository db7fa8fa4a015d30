/* Implements replay.h. Each kind of event is a row of a table. */
#include "ui/page/replay.h"

#define COMMAND_SECONDS 3
#define MOST_METRICS    64
#define MOST_STEPS      0x1p53 /* the largest number that a double counts to */

struct _Replay
{
  Recording *recording;
  StudioDocument *document;
  StudioRun *run;
  guint next; /* the event that is played next */
  double position, commanded;
  const char *note, *command, *selected; /* of the recording */
  const char *graph;                     /* the one to be shown; NULL: as it is */
  gboolean reveal;                       /* selected is to be shown */
  GHashTable *metrics;                   /* the names of those that are shown, of the recording */
};

/* ---- kinds -------------------------------------------------------------------- */

static void
play_graph (Replay *self, JsonNode *value)
{
  self->graph = json_node_get_string (value);
  self->reveal = TRUE; /* another graph has other nodes */
}

static void
play_selection (Replay *self, JsonNode *value)
{
  self->selected = json_node_get_string (value);
  self->reveal = TRUE;
}

static void
play_note (Replay *self, JsonNode *value)
{
  self->note = json_node_get_string (value);
}

static void
play_command (Replay *self, JsonNode *value)
{
  self->command = json_node_get_string (value);
}

/* The state itself is not set: there is no worker that could be paused or stopped. */
static void
play_state (Replay *self, JsonNode *value)
{
  if (g_str_equal (json_node_get_string (value), RECORDING_STARTING))
    studio_run_take_begin (self->run);
}

/* 0 without it. */
static gint64
integer (JsonObject *event, const char *name)
{
  const double value = recording_get_number (event, name);

  return value > 0 ? (gint64)MIN (value, MOST_STEPS) : 0;
}

/* A run keeps the curves of all metrics that it has ever had. */
static gboolean
is_shown (Replay *self, const char *metric)
{
  if (g_hash_table_size (self->metrics) < MOST_METRICS)
    g_hash_table_add (self->metrics, (gpointer)metric);
  return g_hash_table_contains (self->metrics, metric);
}

static void
play_run (Replay *self, JsonNode *value)
{
  JsonObject *event = json_node_get_object (value);
  JsonNode *given = json_object_get_member (event, "metrics");
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  GVariantBuilder metrics;
  JsonObjectIter iter;
  const char *name, *split = recording_get_text (event, "split");
  JsonNode *metric;

  g_variant_builder_init (&metrics, G_VARIANT_TYPE ("ad"));
  if (given != NULL && JSON_NODE_HOLDS_OBJECT (given))
    {
      json_object_iter_init_ordered (&iter, json_node_get_object (given));
      while (json_object_iter_next_ordered (&iter, &name, &metric))
        if (is_shown (self, name))
          {
            g_ptr_array_add (names, (gpointer)name);
            g_variant_builder_add (&metrics, "d", JSON_NODE_HOLDS_VALUE (metric) ? json_node_get_double (metric) : NAN);
          }
    }
  g_ptr_array_add (names, NULL);
  g_autoptr (GVariant) values = g_variant_ref_sink (g_variant_builder_end (&metrics));
  if (g_strcmp0 (recording_get_text (event, "event"), "eval") == 0)
    studio_run_take_evaluation (self->run, split != NULL ? split : "val", integer (event, "step"),
                                integer (event, "epoch"), recording_get_number (event, "loss"),
                                (const char *const *)names->pdata, values);
  else
    {
      GVariantBuilder points;

      g_variant_builder_init (&points, G_VARIANT_TYPE ("a(xxddad)"));
      g_variant_builder_add (&points, "(xxdd@ad)", integer (event, "step"), integer (event, "epoch"),
                             recording_get_number (event, "loss"), recording_get_number (event, "lr"), values);
      g_autoptr (GVariant) point = g_variant_ref_sink (g_variant_builder_end (&points));
      studio_run_take_metrics (self->run, (const char *const *)names->pdata, point, 1);
      if (json_object_has_member (event, "total_steps"))
        studio_run_take_progress (self->run, integer (event, "step"), integer (event, "total_steps"),
                                  integer (event, "epoch"), integer (event, "epochs"), 0, NAN);
    }
}

static const struct
{
  const char *kind;
  void (*play) (Replay *self, JsonNode *value);
  JsonNodeType type; /* of its value; other ones do nothing */
} kinds[] = {
  { "graph", play_graph, JSON_NODE_VALUE }, { "selection", play_selection, JSON_NODE_VALUE },
  { "note", play_note, JSON_NODE_VALUE },   { "command", play_command, JSON_NODE_VALUE },
  { "state", play_state, JSON_NODE_VALUE }, { "run", play_run, JSON_NODE_OBJECT },
};

static void
play (Replay *self, const RecordingEvent *event)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_equal (kinds[i].kind, event->kind) && JSON_NODE_TYPE (event->value) == kinds[i].type
        && (kinds[i].type != JSON_NODE_VALUE || json_node_get_value_type (event->value) == G_TYPE_STRING))
      kinds[i].play (self, event->value);
  if (g_str_equal (event->kind, "command"))
    self->commanded = event->at;
}

/* ---- time --------------------------------------------------------------------- */

/* Only the last graph up to a time is shown, and the last selection, of nodes that are in it. */
static void
show (Replay *self)
{
  if (self->graph != NULL && !studio_document_replace (self->document, self->graph, self->recording->title, NULL))
    g_message ("A graph of the recording cannot be read.");
  if (self->reveal && !studio_document_reveal (self->document, self->selected))
    studio_document_select_only (self->document, 0);
  self->graph = NULL;
  self->reveal = FALSE;
}

void
replay_seek (Replay *self, double seconds)
{
  if (seconds < self->position)
    {
      studio_run_reset (self->run);
      self->next = 0;
      self->note = self->selected = "";
      self->command = NULL;
      self->graph = self->recording->graph;
      self->reveal = TRUE;
    }
  self->position = CLAMP (seconds, 0, replay_get_length (self));
  for (; self->next < self->recording->events->len; self->next++)
    {
      const RecordingEvent *event = &g_array_index (self->recording->events, RecordingEvent, self->next);

      if (event->at > self->position)
        break;
      play (self, event);
    }
  show (self);
}

double
replay_get_length (const Replay *self)
{
  return recording_get_length (self->recording);
}

double
replay_get_position (const Replay *self)
{
  return self->position;
}

const char *
replay_get_note (const Replay *self)
{
  return self->note;
}

const char *
replay_get_command (const Replay *self)
{
  return self->position <= self->commanded + COMMAND_SECONDS ? self->command : NULL;
}

/* ---- object ------------------------------------------------------------------- */

Replay *
replay_new (Recording *recording, StudioDocument *document, StudioRun *run)
{
  Replay *self = g_new0 (Replay, 1);

  self->recording = recording;
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->note = self->selected = "";
  self->metrics = g_hash_table_new (g_str_hash, g_str_equal);
  return self;
}

void
replay_free (Replay *self)
{
  g_hash_table_unref (self->metrics);
  recording_free (self->recording);
  g_object_unref (self->document);
  g_object_unref (self->run);
  g_free (self);
}
