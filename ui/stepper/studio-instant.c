/* Computes graphs without data; see the header. One request is in flight; an edit meanwhile makes another one follow.
 */
#include "ui/stepper/studio-instant.h"

#include "ui/charts/studio-type.h"

struct _StudioInstant
{
  GObject parent_instance;
  StudioDocument *document;
  StudioWorker *worker; /* NULL: not needed so far */
  GCancellable *cancellable;
  gboolean is_spawning, in_flight, must_compute;
  guint idle;
  GHashTable *chips;
};

G_DEFINE_FINAL_TYPE (StudioInstant, studio_instant, G_TYPE_OBJECT)

static guint changed_signal;

static void compute (StudioInstant *self);

static void
clear_chips (StudioInstant *self)
{
  if (g_hash_table_size (self->chips) == 0)
    return;
  g_hash_table_remove_all (self->chips);
  g_signal_emit (self, changed_signal, 0);
}

static gboolean
has_data (const LoomNet *net)
{
  for (guint i = 0; net != NULL && i < loom_net_n_nodes (net); i++)
    {
      const LoomOp *op = loom_net_node (net, i)->op;

      if (op != NULL && (op->role == LOOM_ROLE_DATASET || op->role == LOOM_ROLE_INPUT))
        return TRUE;
    }
  return FALSE;
}

/* The worker refuses graphs that are too large; they have no chips. */
static gboolean
is_without_data (StudioInstant *self)
{
  LoomNet *net = studio_document_get_net (self->document);

  if (net == NULL || loom_net_n_nodes (net) == 0 || has_data (net)
      || loom_faults_count (studio_document_get_faults (self->document)) > 0)
    return FALSE;
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      if (node->op == NULL || !node->typed)
        return FALSE;
    }
  return TRUE;
}

typedef struct
{
  StudioInstant *self;
  GArray *sources;
} Request;

static void
computed_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Request *request = data;
  g_autoptr (StudioInstant) self = request->self;
  g_autoptr (GVariant) values = NULL;
  const gboolean done = loom_bus_worker1_call_compute_graph_finish (LOOM_BUS_WORKER1 (source), &values, result, NULL);

  self->in_flight = FALSE;
  if (self->document != NULL && self->must_compute)
    compute (self);
  else if (self->document != NULL && done && self->idle == 0)
    {
      step_chips_fill (self->chips, request->sources, values);
      g_signal_emit (self, changed_signal, 0);
    }
  else
    clear_chips (self);
  g_array_unref (request->sources);
  g_free (request);
}

static void
spawned_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioInstant) self = data;

  self->is_spawning = FALSE;
  self->worker = studio_worker_spawn_finish (result, NULL);
  if (self->worker != NULL && self->document == NULL)
    studio_worker_finish (self->worker);
  else if (self->worker != NULL)
    compute (self);
}

static void
compute (StudioInstant *self)
{
  g_autofree char *xml = NULL;
  g_auto (GStrv) ports = NULL;
  Request *request;

  self->must_compute = self->in_flight;
  if (self->in_flight || self->is_spawning)
    return;
  if (!is_without_data (self))
    {
      clear_chips (self);
      if (self->worker != NULL && has_data (studio_document_get_net (self->document)))
        {
          studio_worker_finish (self->worker);
          g_clear_object (&self->worker);
        }
      return;
    }
  if (self->worker == NULL || studio_worker_has_ended (self->worker))
    {
      g_clear_object (&self->worker);
      self->is_spawning = TRUE;
      studio_worker_spawn_async (1, 1, self->cancellable, spawned_cb, g_object_ref (self));
      return;
    }
  request = g_new (Request, 1);
  request->self = g_object_ref (self);
  xml = loom_graph_write (studio_document_get_graph (self->document), NULL);
  ports = step_chips_ports (studio_document_get_scene (self->document), studio_document_get_net (self->document),
                            &request->sources);
  self->in_flight = TRUE;
  loom_bus_worker1_call_compute_graph (studio_worker_get_proxy (self->worker), xml, (const char *const *)ports,
                                       self->cancellable, computed_cb, request);
}

static gboolean
idle_cb (gpointer data)
{
  StudioInstant *self = data;

  self->idle = 0;
  compute (self);
  return G_SOURCE_REMOVE;
}

/* After inference, which a burst of edits shares. */
static void
scope_cb (StudioInstant *self)
{
  if (self->idle == 0)
    self->idle = g_idle_add (idle_cb, self);
}

/* Chips are found by the numbers of nodes, which an edit changes. */
static void
net_cb (StudioInstant *self)
{
  clear_chips (self);
  scope_cb (self);
}

GHashTable *
studio_instant_get_chips (StudioInstant *self)
{
  return self->chips;
}

LoomBusWorker1 *
studio_instant_get_proxy (StudioInstant *self)
{
  return self->worker != NULL && g_hash_table_size (self->chips) > 0 ? studio_worker_get_proxy (self->worker) : NULL;
}

static void
instant_dispose (GObject *object)
{
  StudioInstant *self = STUDIO_INSTANT (object);

  g_clear_handle_id (&self->idle, g_source_remove);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->document);
  if (self->worker != NULL)
    studio_worker_finish (self->worker);
  g_clear_object (&self->worker);
  G_OBJECT_CLASS (studio_instant_parent_class)->dispose (object);
}

static void
instant_finalize (GObject *object)
{
  StudioInstant *self = STUDIO_INSTANT (object);

  g_object_unref (self->cancellable);
  g_hash_table_unref (self->chips);
  G_OBJECT_CLASS (studio_instant_parent_class)->finalize (object);
}

static void
studio_instant_class_init (StudioInstantClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = instant_dispose;
  G_OBJECT_CLASS (klass)->finalize = instant_finalize;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_INSTANT, 0);
}

static void
studio_instant_init (StudioInstant *self)
{
  self->cancellable = g_cancellable_new ();
  self->chips = step_chips_new ();
}

StudioInstant *
studio_instant_new (StudioDocument *document)
{
  StudioInstant *self = g_object_new (STUDIO_TYPE_INSTANT, NULL);

  self->document = g_object_ref (document);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (net_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "scope-changed", G_CALLBACK (scope_cb), self, G_CONNECT_SWAPPED);
  return self;
}
