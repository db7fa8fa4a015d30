/* Implements studio-step-plan.h. */
#include "ui/timeline/studio-step-plan.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/worker/studio-planner.h"

#define CALM_MS 400 /* without a change, before the planner starts */

struct _StudioStepPlan
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  GPtrArray *events; /* NULL: none */
  char *message;     /* NULL: none */
  char *key;         /* of what was planned last */
  gboolean watched, is_of_run;
  GCancellable *cancellable; /* of the planner that runs; NULL: none */
  guint timer;
};

STUDIO_DEFINE_TYPE (StudioStepPlan, studio_step_plan, G_TYPE_OBJECT)

static guint changed_signal;

GPtrArray *
studio_step_plan_get_events (StudioStepPlan *self)
{
  return self->events;
}

const char *
studio_step_plan_get_message (StudioStepPlan *self)
{
  return self->message;
}

gboolean
studio_step_plan_is_of_run (StudioStepPlan *self)
{
  return self->is_of_run;
}

static void
set (StudioStepPlan *self, GPtrArray *events, const char *message)
{
  g_clear_pointer (&self->events, g_ptr_array_unref);
  self->events = events;
  g_free (self->message);
  self->message = g_strdup (message);
  g_signal_emit (self, changed_signal, 0);
}

static void
planned_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree GWeakRef *ref = data;
  g_autoptr (StudioStepPlan) self = g_weak_ref_get (ref);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) events = studio_planner_run_finish (result, &error);

  g_weak_ref_clear (ref);
  if (self == NULL || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  g_clear_object (&self->cancellable);
  set (self, g_steal_pointer (&events), error != NULL ? error->message : NULL);
}

static void
stop (StudioStepPlan *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
}

/* The text of the document's graph, or NULL with a sentence why it cannot be planned. (transfer full) */
static char *
dup_text (StudioStepPlan *self, GError **error)
{
  g_autofree char *xml = studio_document_dup_text_for_process (self->document, error);

  if (xml == NULL || loom_faults_count (studio_document_get_faults (self->document)) == 0)
    return g_steal_pointer (&xml);
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                       _ ("The graph has faults. What runs is listed when they are fixed."));
  return NULL;
}

static void
plan (StudioStepPlan *self)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  const int ranks = self->is_of_run ? studio_run_get_live_ranks (self->run) : studio_run_get_ranks (self->run);
  g_autoptr (GError) error = NULL;
  g_autofree char *xml = self->is_of_run ? g_strdup (studio_run_get_graph (self->run)) : dup_text (self, &error);
  GWeakRef *ref;

  if (xml == NULL)
    {
      set (self, NULL, error->message);
      return;
    }
  self->cancellable = g_cancellable_new ();
  ref = g_new0 (GWeakRef, 1);
  g_weak_ref_init (ref, self);
  studio_planner_run_async (xml, loom_graph_get_folder (graph), "--steps", ranks > 1 ? ranks : 0, self->cancellable,
                            planned_cb, ref);
}

static gboolean
timer_cb (gpointer data)
{
  StudioStepPlan *self = data;

  self->timer = 0;
  plan (self);
  return G_SOURCE_REMOVE;
}

/* Moving a card changes no plan, nor does an edit while a run trains. */
static void
changed_cb (StudioStepPlan *self)
{
  const gboolean of_run = studio_run_is_live (self->run) && studio_run_get_graph (self->run) != NULL;
  g_autofree char *graph = of_run
                               ? g_compute_checksum_for_string (G_CHECKSUM_SHA256, studio_run_get_graph (self->run), -1)
                               : g_strdup (studio_document_hash (self->document));
  g_autofree char *key = g_strdup_printf (
      "%s %d %d %u", graph, of_run, of_run ? studio_run_get_live_ranks (self->run) : studio_run_get_ranks (self->run),
      of_run ? 0 : loom_faults_count (studio_document_get_faults (self->document)));

  if (!self->watched || g_strcmp0 (key, self->key) == 0)
    return;
  stop (self);
  g_free (self->key);
  self->key = g_steal_pointer (&key);
  self->is_of_run = of_run;
  self->timer = g_timeout_add (self->events == NULL ? 0 : CALM_MS, timer_cb, self);
}

void
studio_step_plan_watch (StudioStepPlan *self, gboolean watch)
{
  if (self->watched == watch)
    return;
  self->watched = watch;
  if (watch)
    changed_cb (self);
  else if (self->timer != 0 || self->cancellable != NULL)
    {
      stop (self);
      g_clear_pointer (&self->key, g_free);
    }
}

/* ---- object ------------------------------------------------------------------------- */

static void
step_plan_dispose (GObject *object)
{
  StudioStepPlan *self = STUDIO_STEP_PLAN (object);

  stop (self);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  g_clear_pointer (&self->events, g_ptr_array_unref);
  g_clear_pointer (&self->message, g_free);
  g_clear_pointer (&self->key, g_free);
  G_OBJECT_CLASS (studio_step_plan_parent_class)->dispose (object);
}

static void
studio_step_plan_class_init (StudioStepPlanClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = step_plan_dispose;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_STEP_PLAN, 0);
}

StudioStepPlan *
studio_step_plan_new (StudioDocument *document, StudioRun *run)
{
  StudioStepPlan *self = g_object_new (STUDIO_TYPE_STEP_PLAN, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "ranks-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  return self;
}
