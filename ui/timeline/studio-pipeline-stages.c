/* Runs `gradloom plan --stages` when the graph has not changed for REST_MS, and sends the stage of each node to the
 * canvas. */
#include "ui/timeline/studio-pipeline-stages.h"

#include <json-glib/json-glib.h>

#include "engine/loom.h"
#include "ui/charts/studio-type.h"
#include "ui/worker/studio-planner.h"

#define REST_MS 700

struct _StudioPipelineStages
{
  GObject parent_instance;

  StudioDocument *document;
  StudioCanvas *canvas; /* weak */
  GCancellable *cancellable;
  char *requested_hash; /* the hash of the graph of the last request */
  guint rest;
};

STUDIO_DEFINE_TYPE (StudioPipelineStages, studio_pipeline_stages, G_TYPE_OBJECT)

GHashTable *
studio_pipeline_stages_parse (GPtrArray *events)
{
  g_autoptr (GHashTable) stages = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < events->len; i++)
    {
      JsonObject *event = events->pdata[i];
      const char *kind = json_object_get_string_member_with_default (event, "event", "");
      JsonArray *paths = g_str_equal (kind, "stage") && json_object_has_member (event, "paths")
                             ? json_object_get_array_member (event, "paths")
                             : NULL;
      int stage = (int)json_object_get_int_member_with_default (event, "stage", 0);

      for (guint k = 0; paths != NULL && k < json_array_get_length (paths); k++)
        g_hash_table_insert (stages, g_strdup (json_array_get_string_element (paths, k)), GINT_TO_POINTER (stage + 1));
    }
  return g_hash_table_size (stages) > 0 ? g_steal_pointer (&stages) : NULL;
}

/* TRUE if the graph has a pipeline but does not assign its nodes to stages. */
static gboolean
needs_planning (StudioPipelineStages *self)
{
  LoomElement *train = loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_TRAIN);
  LoomElement *parallel = train != NULL ? loom_element_find (train, LOOM_TAG_PARALLEL) : NULL;
  const char *n = parallel != NULL ? loom_element_get (parallel, "pipeline") : NULL;
  g_autofree int *stage = NULL;
  LoomNet *net;

  if (n == NULL || g_ascii_strtoll (n, NULL, 10) < 2)
    return FALSE;
  net = studio_document_get_net (self->document);
  if (net == NULL || loom_faults_count (studio_document_get_faults (self->document)) > 0)
    return FALSE;
  stage = g_new0 (int, loom_net_n_nodes (net) + 1);
  return loom_net_stages (net, stage) == 0;
}

static void
answered_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioPipelineStages) self = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) events = studio_planner_run_finish (result, &error);
  g_autoptr (GHashTable) stages = events != NULL ? studio_pipeline_stages_parse (events) : NULL;

  if (self->canvas != NULL && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    studio_canvas_set_stages (self->canvas, stages);
}

static gboolean
rest_cb (gpointer data)
{
  StudioPipelineStages *self = data;
  LoomGraph *graph = studio_document_get_graph (self->document);
  const char *hash = studio_document_hash (self->document);
  g_autofree char *xml = NULL;

  self->rest = 0;
  if (g_strcmp0 (hash, self->requested_hash) == 0)
    return G_SOURCE_REMOVE;
  g_free (self->requested_hash);
  self->requested_hash = g_strdup (hash);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  xml = studio_document_dup_text_for_process (self->document, NULL);
  if (xml == NULL)
    {
      g_clear_pointer (&self->requested_hash, g_free); /* it is asked again when the user has agreed */
      studio_canvas_set_stages (self->canvas, NULL);
      return G_SOURCE_REMOVE;
    }
  self->cancellable = g_cancellable_new ();
  studio_planner_run_async (xml, loom_graph_get_folder (graph), "--stages", 0, self->cancellable, answered_cb,
                            g_object_ref (self));
  return G_SOURCE_REMOVE;
}

static void
changed_cb (StudioPipelineStages *self)
{
  g_clear_handle_id (&self->rest, g_source_remove);
  if (self->canvas == NULL)
    return;
  if (needs_planning (self))
    self->rest = g_timeout_add (REST_MS, rest_cb, self);
  else
    {
      g_cancellable_cancel (self->cancellable);
      g_clear_pointer (&self->requested_hash, g_free);
      studio_canvas_set_stages (self->canvas, NULL);
    }
}

static void
studio_pipeline_stages_dispose (GObject *object)
{
  StudioPipelineStages *self = STUDIO_PIPELINE_STAGES (object);

  g_clear_handle_id (&self->rest, g_source_remove);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_clear_weak_pointer (&self->canvas);
  g_clear_object (&self->document);
  g_clear_pointer (&self->requested_hash, g_free);
  G_OBJECT_CLASS (studio_pipeline_stages_parent_class)->dispose (object);
}

static void
studio_pipeline_stages_class_init (StudioPipelineStagesClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_pipeline_stages_dispose;
}

StudioPipelineStages *
studio_pipeline_stages_new (StudioDocument *document, StudioCanvas *canvas)
{
  StudioPipelineStages *self = g_object_new (STUDIO_TYPE_PIPELINE_STAGES, NULL);

  self->document = g_object_ref (document);
  g_set_weak_pointer (&self->canvas, canvas);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  changed_cb (self);
  return self;
}
