/* Requests the tensors of the card under the pointer from the worker, and writes them into the card's tooltip.
 *
 * The values of a node are requested together: the worker replies to all pending requests from one step, so that both
 * sides of a formula agree. If a step was taken in between, only the statistics of each value are shown. A card is
 * requested again at most twice a second, and not at all while the run is paused. */
#include "ui/pins/studio-hover-values.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-type.h"
#include "ui/pins/studio-worked-formula.h"
#include "ui/run/run-report.h"

#define INTERVAL  (G_USEC_PER_SEC / 2)
#define MAX_BYTES (512 * 512 * 4)

typedef struct
{
  StudioHoverValues *hover;
  guint generation, index; /* the generation of requests to which it belongs, and the index of its value */
} Question;

typedef struct
{
  char *name; /* of the port */
  GVariant *shape, *full, *data;
  gint64 step;
} Reply;

struct _StudioHoverValues
{
  GObject parent_instance;

  StudioDocument *document;
  StudioCanvas *canvas; /* weak */
  StudioRun *run;
  char *path; /* of the last requested card */
  const LoomOp *op;
  gboolean along_last; /* TRUE if the node computes along its last dimension */
  Reply reply[STUDIO_WORKED_MAX];
  guint n_inputs, n_waiting, generation;
  gint64 answered_at, step;
};

STUDIO_DEFINE_TYPE (StudioHoverValues, studio_hover_values, G_TYPE_OBJECT)

static void
clear_answer (Reply *reply)
{
  g_clear_pointer (&reply->name, g_free);
  g_clear_pointer (&reply->shape, g_variant_unref);
  g_clear_pointer (&reply->full, g_variant_unref);
  g_clear_pointer (&reply->data, g_variant_unref);
}

static void
forget (StudioHoverValues *self)
{
  for (guint i = 0; i < STUDIO_WORKED_MAX; i++)
    clear_answer (&self->reply[i]);
  g_clear_pointer (&self->path, g_free);
  self->generation++;
  self->n_waiting = 0;
  self->answered_at = 0;
  if (self->canvas != NULL)
    studio_canvas_set_numbers (self->canvas, NULL, NULL);
}

/* ---- replies --------------------------------------------------------------------------- */

/* Returns a tensor whose name is NULL if there is no reply. */
static StudioWorkedTensor
read_reply (const Reply *reply)
{
  StudioWorkedTensor t = { 0 };
  const gint64 *dim, *full;
  gsize n_dim, n_full, bytes;

  if (reply->data == NULL)
    return t;
  dim = g_variant_get_fixed_array (reply->shape, &n_dim, sizeof (gint64));
  full = g_variant_get_fixed_array (reply->full, &n_full, sizeof (gint64));
  t.value = g_variant_get_fixed_array (reply->data, &bytes, 1);
  t.columns = n_dim > 0 ? (gsize)dim[n_dim - 1] : 1;
  t.rows = n_dim > 1 ? (gsize)dim[n_dim - 2] : 1;
  if (n_full > LOOM_MAX_RANK || loom_dims_count (MIN (n_dim, 2), dim + MAX (n_dim, 2) - 2, bytes / sizeof (float)) == 0)
    return t;
  t.rank = (guint)n_full;
  memcpy (t.dim, full, n_full * sizeof (gint64));
  t.name = reply->name;
  return t;
}

static void
show (StudioHoverValues *self)
{
  const Reply *last = &self->reply[self->n_inputs];
  StudioWorkedTensor t[STUDIO_WORKED_MAX];
  gboolean exact = self->along_last;
  g_autofree char *text = NULL, *when = NULL, *all = NULL;

  for (guint i = 0; i <= self->n_inputs; i++)
    {
      t[i] = read_reply (&self->reply[i]);
      exact = exact && (t[i].name == NULL || self->reply[i].step == last->step);
    }
  self->answered_at = g_get_monotonic_time ();
  when = studio_run_dup_when (self->run, last->step, &self->step);
  if (last->data == NULL)
    self->step = -1;
  text = studio_worked_formula_text (self->op, t, self->n_inputs, &t[self->n_inputs], exact);
  if (text[0] == '\0' || self->canvas == NULL)
    return;
  all = g_strdup_printf (_ ("%1$s\nsample batch, %2$s"), text, when);
  studio_canvas_set_numbers (self->canvas, self->path, all);
}

static void
answer_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Question *question = data;
  g_autoptr (StudioHoverValues) self = question->hover;
  g_autoptr (GVariant) shape = NULL, full = NULL, values = NULL;
  Reply *reply = &self->reply[question->index];
  gint64 step;
  gboolean done = loom_bus_worker1_call_get_snapshot_finish (LOOM_BUS_WORKER1 (source), &step, &shape, &full, &values,
                                                             result, NULL);

  if (question->generation == self->generation)
    {
      if (done)
        {
          reply->shape = g_steal_pointer (&shape);
          reply->full = g_steal_pointer (&full);
          reply->data = g_steal_pointer (&values);
          reply->step = step;
        }
      if (--self->n_waiting == 0)
        show (self);
    }
  g_free (question);
}

/* ---- requests ---------------------------------------------------------------------------- */

static void
request_value (StudioHoverValues *self, LoomBusWorker1 *proxy, guint index, const char *name, const char *tensor)
{
  Question *question = g_new (Question, 1);

  *question = (Question){ g_object_ref (self), self->generation, index };
  self->reply[index].name = g_strdup (name);
  self->n_waiting++;
  run_report_async (proxy, tensor, MAX_BYTES, NULL, answer_cb, question);
}

/* Returns the name of the tensor that an input reads, a port of another node or a weight; NULL: none. (transfer full)
 */
static char *
dup_tensor_of (const LoomNet *net, guint node, guint input)
{
  const LoomNetNode *n = loom_net_node (net, node);
  const LoomNetSource *source = &n->input[input];
  int weight = source->node == G_MAXUINT          ? loom_net_find_weight (net, node, n->input_spec[input].name)
               : loom_net_is_weight (net, source) ? loom_net_source_weight (net, source)
                                                  : -1;

  if (weight >= 0)
    return g_strdup (loom_net_weight (net, (guint)weight)->name);
  return source->node != G_MAXUINT ? loom_net_port_name (net, source->node, source->output) : NULL;
}

static void
ask_all (StudioHoverValues *self, LoomBusWorker1 *proxy, const LoomNet *net, guint node)
{
  const LoomNetNode *n = loom_net_node (net, node);
  const char *dim = loom_element_get (n->element, "dim");
  g_autofree char *out = loom_net_port_name (net, node, 0);
  gboolean variadic = n->n_inputs > 0 && (n->input_spec[0].flags & LOOM_PORT_VARIADIC) != 0;

  self->op = n->op;
  /* The worked formula of a linear layer reads its weights by rows. */
  self->along_last = (dim == NULL || strcmp (dim, "-1") == 0)
                     && g_strcmp0 (loom_element_get (n->element, "weight_layout"), "in_out") != 0;
  self->n_inputs = variadic ? 0 : MIN (n->n_inputs, STUDIO_WORKED_MAX - 1);
  for (guint i = 0; i < self->n_inputs; i++)
    {
      g_autofree char *tensor = dup_tensor_of (net, node, i);

      if (tensor != NULL)
        request_value (self, proxy, i, n->input_spec[i].name, tensor);
    }
  request_value (self, proxy, self->n_inputs, n->output_spec[0].name, out);
}

static gboolean
is_fresh (StudioHoverValues *self, const char *path)
{
  if (g_strcmp0 (self->path, path) != 0)
    return FALSE;
  return self->n_waiting > 0 || self->step == studio_run_get_step (self->run)
         || g_get_monotonic_time () - self->answered_at < INTERVAL;
}

static void
describe_cb (StudioHoverValues *self, const char *path)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);
  StudioRunState state = studio_run_get_state (self->run);
  LoomNet *net;
  int node;

  if (proxy == NULL || state == STUDIO_RUN_STARTING || state == STUDIO_RUN_IDLE || state == STUDIO_RUN_FAILED
      || !studio_document_run_has (self->document, path))
    {
      if (self->path != NULL)
        forget (self);
      return;
    }
  net = studio_document_get_net (self->document);
  node = loom_net_find (net, path);
  if (is_fresh (self, path))
    return;
  if (g_strcmp0 (self->path, path) != 0)
    forget (self);
  for (guint i = 0; i < STUDIO_WORKED_MAX; i++)
    clear_answer (&self->reply[i]);
  if (node < 0 || loom_net_node (net, (guint)node)->op == NULL || loom_net_node (net, (guint)node)->n_outputs == 0)
    return;
  g_free (self->path);
  self->path = g_strdup (path);
  self->generation++;
  ask_all (self, proxy, net, (guint)node);
}

static void
studio_hover_values_dispose (GObject *object)
{
  StudioHoverValues *self = STUDIO_HOVER_VALUES (object);

  g_clear_weak_pointer (&self->canvas);
  if (self->run != NULL)
    forget (self);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_hover_values_parent_class)->dispose (object);
}

static void
studio_hover_values_class_init (StudioHoverValuesClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_hover_values_dispose;
}

StudioHoverValues *
studio_hover_values_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run)
{
  StudioHoverValues *self = g_object_new (STUDIO_TYPE_HOVER_VALUES, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_set_weak_pointer (&self->canvas, canvas);
  g_signal_connect_object (canvas, "describe", G_CALLBACK (describe_cb), self, G_CONNECT_SWAPPED);
  return self;
}
