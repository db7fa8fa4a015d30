/* Walks a step of the run; see the header. */
#include "ui/stepper/studio-stepper.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"

typedef struct
{
  const char *method; /* of the worker */
  char *first;        /* its words; NULL: none */
  const char *second;
} Command;

struct _StudioStepper
{
  GObject parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas; /* weak */
  StudioRun *run;
  GQueue commands; /* Command */
  StudioStepPlace place;
  guint walk; /* the number of walks that have ended; a reply about an earlier walk is dropped */
  gboolean is_on, is_updating, in_flight, is_reading, must_read;
  gboolean is_kept; /* the bar stays between a step and the next one */
  GHashTable *chips;
  GPtrArray *marked; /* char *, ports; NULL: none */
};

G_DEFINE_FINAL_TYPE (StudioStepper, studio_stepper, G_TYPE_OBJECT)

enum
{
  CHANGED,
  BEGIN,
  MARKED,
  SAY,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

static void run_next (StudioStepper *self);

static void
command_free (gpointer data)
{
  Command *command = data;

  g_free (command->first);
  g_free (command);
}

static void
clear_place (StudioStepper *self)
{
  g_clear_pointer (&self->place.phase, g_free);
  g_clear_pointer (&self->place.node, g_free);
  g_clear_pointer (&self->place.scope, g_free);
}

static void
turn_off (StudioStepper *self)
{
  self->walk++;
  if (!self->is_on)
    return;
  self->is_on = FALSE;
  clear_place (self);
  g_hash_table_remove_all (self->chips);
  g_signal_emit (self, signals[CHANGED], 0);
}

/* There is no next step to wait for. */
static void
give_up (StudioStepper *self)
{
  g_queue_clear_full (&self->commands, command_free);
  self->is_updating = FALSE;
  if (self->is_kept)
    {
      self->is_kept = FALSE;
      g_signal_emit (self, signals[CHANGED], 0);
    }
  turn_off (self);
}

static void
say (StudioStepper *self, GError *error)
{
  g_dbus_error_strip_remote_error (error);
  g_signal_emit (self, signals[SAY], 0, error->message);
}

static LoomBusWorker1 *
proxy_of (StudioStepper *self)
{
  return studio_run_get_proxy (self->run);
}

/* ---- chips ------------------------------------------------------------ */

typedef struct
{
  StudioStepper *self;
  GArray *sources;
  guint walk;
} Reading;

static void read_values (StudioStepper *self);

static void
values_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Reading *reading = data;
  g_autoptr (StudioStepper) self = reading->self;
  g_autoptr (GVariant) values = NULL;
  gboolean done = loom_bus_worker1_call_get_step_values_finish (LOOM_BUS_WORKER1 (source), &values, result, NULL);

  self->is_reading = FALSE;
  if (self->must_read)
    read_values (self);
  else if (self->is_on && reading->walk == self->walk)
    {
      if (done)
        step_chips_fill (self->chips, reading->sources, values);
      else
        g_hash_table_remove_all (self->chips);
      g_signal_emit (self, signals[CHANGED], 0);
    }
  g_array_unref (reading->sources);
  g_free (reading);
}

/* One request in flight; a place that was left meanwhile is not read. */
static void
read_values (StudioStepper *self)
{
  /* The net comes first: making it replaces the scene. */
  LoomNet *net = studio_document_get_net (self->document);
  StudioScene *scene = studio_document_get_scene (self->document);
  g_auto (GStrv) ports = NULL;
  Reading *reading;

  self->must_read = self->is_reading;
  if (self->is_reading || !self->is_on || proxy_of (self) == NULL || scene == NULL || net == NULL
      || studio_document_run_changes (self->document) > 0)
    return;
  reading = g_new (Reading, 1);
  reading->self = g_object_ref (self);
  reading->walk = self->walk;
  ports = step_chips_ports (scene, net, &reading->sources);
  self->is_reading = TRUE;
  loom_bus_worker1_call_get_step_values (proxy_of (self), (const char *const *)ports, NULL, values_cb, reading);
}

/* ---- places ----------------------------------------------------------- */

/* The scope of the step is shown, and its card in it. */
static void
show_card (StudioStepper *self)
{
  if (!g_str_equal (studio_document_get_scope_path (self->document), self->place.scope))
    studio_canvas_focus_path (self->canvas, self->place.node);
  studio_canvas_keep_in_sight (self->canvas, self->place.node);
}

static void
take_place (StudioStepper *self, GVariant *place)
{
  clear_place (self);
  g_variant_get (place, "(xsssuuxxbbi)", &self->place.step, &self->place.phase, &self->place.node, &self->place.scope,
                 &self->place.index, &self->place.count, &self->place.iteration, &self->place.iterations,
                 &self->place.has_inside, &self->place.is_end, &self->place.rank);
  self->is_on = TRUE;
  self->is_kept = FALSE;
  if (self->canvas != NULL && self->place.node[0] != '\0')
    show_card (self);
  g_signal_emit (self, signals[CHANGED], 0);
  read_values (self);
}

typedef struct
{
  StudioStepper *self;
  guint walk;
} Move;

static void
moved_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree Move *move = data;
  g_autoptr (StudioStepper) self = move->self;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_proxy_call_finish (G_DBUS_PROXY (source), result, &error);
  g_autoptr (GVariant) place = NULL;

  self->in_flight = FALSE;
  if (self->run == NULL || source != (GObject *)proxy_of (self))
    return;
  if (move->walk != self->walk)
    {
      run_next (self);
      return;
    }
  if (reply == NULL)
    {
      g_queue_clear_full (&self->commands, command_free);
      say (self, error);
      if (!self->is_on)
        give_up (self);
      return;
    }
  place = g_variant_get_child_value (reply, 0);
  take_place (self, place);
  run_next (self);
}

static void
call (StudioStepper *self, const char *method, GVariant *parameters)
{
  Move *move = g_new (Move, 1);

  *move = (Move){ g_object_ref (self), self->walk };
  self->in_flight = TRUE;
  g_dbus_proxy_call (G_DBUS_PROXY (proxy_of (self)), method, parameters, G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL,
                     moved_cb, move);
}

/* ---- commands --------------------------------------------------------- */

/* Commands do not wait for a run that a fault or a question prevents. */
static void
begin_run (StudioStepper *self)
{
  g_signal_emit (self, signals[BEGIN], 0);
  if (!studio_run_is_live (self->run))
    give_up (self);
}

/* TRUE if the run stands still, so that a walk can begin; otherwise it will, and its state is reported. */
static gboolean
stands_still (StudioStepper *self)
{
  switch (studio_run_get_state (self->run))
    {
    case STUDIO_RUN_PAUSED:
    case STUDIO_RUN_DONE:
    case STUDIO_RUN_STOPPED:
      if (proxy_of (self) != NULL)
        return TRUE;
      begin_run (self);
      return FALSE;
    case STUDIO_RUN_RUNNING:
      studio_run_pause (self->run);
      return FALSE;
    case STUDIO_RUN_STARTING:
      return FALSE;
    case STUDIO_RUN_IDLE:
    case STUDIO_RUN_FAILED:
    case STUDIO_RUN_LOST:
      begin_run (self);
      return FALSE;
    }
  g_return_val_if_reached (FALSE);
}

static void
run_next (StudioStepper *self)
{
  Command *command;

  if (self->in_flight || g_queue_is_empty (&self->commands) || !stands_still (self))
    return;
  if (!self->is_on)
    {
      if (studio_document_run_changes (self->document) > 0)
        {
          g_queue_clear_full (&self->commands, command_free);
          g_signal_emit (self, signals[SAY], 0,
                         _ ("The run trains an earlier version of the graph. Restart it to take this one apart."));
          return;
        }
      call (self, "BeginStep", NULL);
      return;
    }
  command = g_queue_pop_head (&self->commands);
  if (command->method == NULL) /* the walk was begun for nothing else */
    run_next (self);
  else if (command->second != NULL)
    call (self, command->method, g_variant_new ("(ss)", command->first, command->second));
  else
    call (self, command->method, g_variant_new ("(s)", command->first));
  command_free (command);
}

static void
push (StudioStepper *self, const char *method, const char *first, const char *second)
{
  const Command *last = g_queue_peek_tail (&self->commands);
  Command *command;

  /* A key that is held down repeats faster than a large net is computed. */
  if (last != NULL && g_strcmp0 (method, "MoveStep") == 0 && g_strcmp0 (last->method, method) == 0)
    return;
  command = g_new (Command, 1);
  *command = (Command){ method, g_strdup (first), second };
  g_queue_push_tail (&self->commands, command);
  run_next (self);
}

void
studio_stepper_next (StudioStepper *self)
{
  push (self, "MoveStep", "next", NULL);
}

void
studio_stepper_back (StudioStepper *self)
{
  push (self, "MoveStep", "back", NULL);
}

void
studio_stepper_into (StudioStepper *self)
{
  push (self, "MoveStep", "into", NULL);
}

void
studio_stepper_out (StudioStepper *self)
{
  push (self, "MoveStep", "out", NULL);
}

void
studio_stepper_forward (StudioStepper *self)
{
  push (self, "FinishPhase", "forward", NULL);
}

void
studio_stepper_backward (StudioStepper *self)
{
  push (self, "FinishPhase", "backward", NULL);
}

/* The run itself takes the step; when it stands again, the next one begins. */
void
studio_stepper_update (StudioStepper *self)
{
  if (self->is_on && studio_run_get_state (self->run) == STUDIO_RUN_PAUSED && !self->in_flight)
    {
      self->is_updating = self->is_kept = TRUE;
      studio_run_step (self->run);
    }
  else
    push (self, "FinishPhase", "update", NULL);
}

static char *
dup_selected (StudioStepper *self)
{
  return studio_document_n_selected (self->document) == 1
             ? studio_document_dup_node_path (self->document, studio_document_get_selected (self->document, 0))
             : NULL;
}

void
studio_stepper_go_to_selected (StudioStepper *self)
{
  g_autofree char *path = dup_selected (self);
  const gboolean is_backward
      = self->is_on && (g_str_equal (self->place.phase, "backward") || g_strcmp0 (self->place.node, path) == 0);

  if (path == NULL)
    g_signal_emit (self, signals[SAY], 0, _ ("Select the layer to run to."));
  else
    push (self, "GoToNode", path, is_backward ? "backward" : "forward");
}

void
studio_stepper_go_to (StudioStepper *self, const char *node, const char *phase)
{
  push (self, "GoToNode", node, g_str_equal (phase, "backward") ? "backward" : "forward");
}

void
studio_stepper_end (StudioStepper *self)
{
  if ((self->is_on || self->in_flight) && proxy_of (self) != NULL)
    loom_bus_worker1_call_end_step (proxy_of (self), NULL, NULL, NULL);
  give_up (self);
}

/* ---- what is shown ---------------------------------------------------- */

gboolean
studio_stepper_is_on (StudioStepper *self)
{
  return self->is_on;
}

gboolean
studio_stepper_is_between (StudioStepper *self)
{
  return self->is_kept && !self->is_on;
}

const StudioStepPlace *
studio_stepper_get_place (StudioStepper *self)
{
  return self->is_on ? &self->place : NULL;
}

GHashTable *
studio_stepper_get_chips (StudioStepper *self)
{
  return self->chips;
}

void
studio_stepper_mark (StudioStepper *self, GPtrArray *ports)
{
  g_clear_pointer (&self->marked, g_ptr_array_unref);
  self->marked = ports;
  g_signal_emit (self, signals[MARKED], 0);
}

const GPtrArray *
studio_stepper_get_marked (StudioStepper *self)
{
  return self->marked;
}

/* The chip of the first output of the card where it stands. */
static char *
dup_value_words (StudioStepper *self)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  const guint item = scene != NULL ? studio_scene_card_of (scene, self->place.node) : STUDIO_NO_ITEM;

  /* Until they are read, chips belong to the place before. */
  if (self->is_reading || item == STUDIO_NO_ITEM || scene->item[item].n_outputs == 0)
    return NULL;
  return step_chip_words (step_chips_find (self->chips, &scene->item[item].output[0].source));
}

char *
studio_stepper_dup_text (StudioStepper *self)
{
  static const struct
  {
    const char *phase, *format;
  } formats[] = {
    { "forward", N_ ("Forward %1$u of %2$u") },
    { "backward", N_ ("Backward %1$u of %2$u") },
    { "update", N_ ("Update") },
  };
  GString *s = g_string_new (NULL);
  g_autofree char *value = self->is_on ? dup_value_words (self) : NULL;

  if (!self->is_on)
    return g_string_free (s, FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_str_equal (formats[i].phase, self->place.phase))
      {
        if (i < 2)
          g_string_append_printf (s, _ (formats[i].format), self->place.index, self->place.count);
        else
          g_string_append (s, _ ("Update: the next weights are computed"));
      }
  if (self->place.node[0] != '\0')
    g_string_append_printf (s, ": %s", self->place.node);
  if (self->place.iterations > 0)
    g_string_append_printf (s, _ (" · iteration %1$d of %2$d"), (int)self->place.iteration + 1,
                            (int)self->place.iterations);
  if (self->place.rank >= 0)
    g_string_append_printf (s, _ (" · samples of rank %d"), self->place.rank);
  if (value != NULL)
    g_string_append_printf (s, " · %s", value);
  return g_string_free (s, FALSE);
}

/* ---- object ----------------------------------------------------------- */

static void
state_cb (StudioStepper *self)
{
  const StudioRunState state = studio_run_get_state (self->run);

  if (state == STUDIO_RUN_RUNNING || state == STUDIO_RUN_STARTING)
    {
      turn_off (self);
      return;
    }
  if (self->is_updating && state == STUDIO_RUN_PAUSED)
    {
      self->is_updating = FALSE;
      turn_off (self);
      push (self, NULL, NULL, NULL);
      return;
    }
  /* A run that has failed or was stopped must not begin again. */
  if (state != STUDIO_RUN_PAUSED && (state != STUDIO_RUN_DONE || self->is_updating))
    {
      give_up (self);
      return;
    }
  run_next (self);
}

static void
scope_cb (StudioStepper *self)
{
  if (self->is_on)
    read_values (self);
}

static void
document_cb (StudioStepper *self)
{
  if ((self->is_on || self->in_flight) && studio_document_run_changes (self->document) > 0)
    studio_stepper_end (self);
  else
    scope_cb (self);
}

static void
stepper_dispose (GObject *object)
{
  StudioStepper *self = STUDIO_STEPPER (object);

  g_queue_clear_full (&self->commands, command_free);
  clear_place (self);
  self->is_on = self->must_read = FALSE;
  if (self->run != NULL)
    g_signal_handlers_disconnect_by_data (self->run, self);
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  g_clear_weak_pointer (&self->canvas);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  g_clear_pointer (&self->chips, g_hash_table_unref);
  g_clear_pointer (&self->marked, g_ptr_array_unref);
  G_OBJECT_CLASS (studio_stepper_parent_class)->dispose (object);
}

static void
studio_stepper_class_init (StudioStepperClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = stepper_dispose;
  signals[CHANGED] = studio_signal_new ("changed", STUDIO_TYPE_STEPPER, 0);
  signals[BEGIN] = studio_signal_new ("begin", STUDIO_TYPE_STEPPER, 0);
  signals[MARKED] = studio_signal_new ("marked", STUDIO_TYPE_STEPPER, 0);
  signals[SAY] = studio_signal_new ("say", STUDIO_TYPE_STEPPER, 1, G_TYPE_STRING);
}

static void
studio_stepper_init (StudioStepper *self)
{
  g_queue_init (&self->commands);
  self->chips = step_chips_new ();
}

StudioStepper *
studio_stepper_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run)
{
  StudioStepper *self = g_object_new (STUDIO_TYPE_STEPPER, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_set_weak_pointer (&self->canvas, canvas);
  g_signal_connect_swapped (run, "state-changed", G_CALLBACK (state_cb), self);
  g_signal_connect_swapped (document, "changed", G_CALLBACK (document_cb), self);
  g_signal_connect_swapped (document, "scope-changed", G_CALLBACK (scope_cb), self);
  return self;
}
