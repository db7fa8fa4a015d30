/* What Studio receives from a worker: signals, and the answers to what it asks. The bytes are records, each of which is
 * a signal with its arguments, a command of the user, or the answer to the oldest call that waits for one: a GVariant
 * of the method's type, or without bytes an error. GIO's own reading of messages is not fuzzed, and no worker is there.
 */
#include "tests/fuzz/readers.h"

#include <string.h>

#include "ui/evaluate/own-request.h"
#include "ui/pins/health-history.h"
#include "ui/pins/studio-pin-labels.h"
#include "ui/run/run-costs.h"
#include "ui/run/studio-run-private.h"
#include "ui/stepper/step-chips.h"
#include "ui/timeline/studio-inventory.h"
#include "ui/worker/studio-planner.h"

/* ---- in place of the worker ----------------------------------------------- */

struct _StudioWorker
{
  GObject parent_instance;
};

G_DEFINE_FINAL_TYPE (StudioWorker, studio_worker, G_TYPE_OBJECT)

static LoomBusWorker1 *proxy;

static void
studio_worker_class_init (StudioWorkerClass *klass)
{
  g_signal_new ("ended", STUDIO_TYPE_WORKER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
studio_worker_init (StudioWorker *self)
{
}

LoomBusWorker1 *
studio_worker_get_proxy (StudioWorker *self)
{
  return proxy;
}

const char *
studio_worker_get_pid (StudioWorker *self)
{
  return NULL;
}

gboolean
studio_worker_has_ended (StudioWorker *self)
{
  return FALSE;
}

void
studio_worker_finish (StudioWorker *self)
{
}

void
studio_worker_release (StudioWorker *self)
{
}

void
studio_worker_force_exit (StudioWorker *self)
{
}

int
studio_worker_cpu_devices (const char *graph_xml)
{
  return 1;
}

char *
studio_worker_find_program (GError **error)
{
  return NULL;
}

void
studio_worker_spawn_async (int cpu_devices, int ranks, GCancellable *cancellable, GAsyncReadyCallback callback,
                           gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, NULL, NULL, NULL);

  callback (NULL, G_ASYNC_RESULT (task), data);
}

StudioWorker *
studio_worker_spawn_finish (GAsyncResult *result, GError **error)
{
  return g_object_new (STUDIO_TYPE_WORKER, NULL);
}

void
studio_run_begin_on_host (StudioRun *self, gboolean resume)
{
}

gboolean
studio_run_take_host_end (StudioRun *self, const char *sentence)
{
  return FALSE;
}

/* ---- in place of GIO's: calls that wait for an answer ----------------------- */

typedef struct
{
  char *method;
  GAsyncReadyCallback callback;
  gpointer data;
  GCancellable *cancellable;
} Call;

static GQueue calls = G_QUEUE_INIT;
static GVariant *answer; /* to the call in progress; NULL: an error */

void
g_dbus_proxy_call (GDBusProxy *self, const char *method, GVariant *arguments, GDBusCallFlags flags, int timeout,
                   GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)
{
  Call *call = g_new (Call, 1);

  if (arguments != NULL)
    g_variant_unref (g_variant_ref_sink (arguments));
  *call = (Call){ g_strdup (method), callback, data, cancellable != NULL ? g_object_ref (cancellable) : NULL };
  g_queue_push_tail (&calls, call);
}

GVariant *
g_dbus_proxy_call_finish (GDBusProxy *self, GAsyncResult *result, GError **error)
{
  if (!g_task_had_error (G_TASK (result)) && answer != NULL)
    return g_variant_ref (answer);
  g_set_error_literal (error, g_task_had_error (G_TASK (result)) ? G_IO_ERROR : G_DBUS_ERROR,
                       g_task_had_error (G_TASK (result)) ? G_IO_ERROR_CANCELLED : G_DBUS_ERROR_FAILED,
                       "GDBus.Error:org.freedesktop.DBus.Error.Failed: It fails.");
  return NULL;
}

/* "(sax)" of the arguments of a method or a signal. (transfer full) */
static char *
type_of (GDBusArgInfo **arguments)
{
  GString *type = g_string_new ("(");

  for (guint i = 0; arguments != NULL && arguments[i] != NULL; i++)
    g_string_append (type, arguments[i]->signature);
  return g_string_free (g_string_append_c (type, ')'), FALSE);
}

static GVariant *
read_arguments (GDBusArgInfo **arguments, const guint8 *data, gsize size)
{
  g_autofree char *type = type_of (arguments);
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);
  g_autoptr (GVariant) raw = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE (type), bytes, FALSE));

  return g_variant_get_normal_form (raw);
}

static void
reply (const guint8 *data, gsize size)
{
  Call *call = g_queue_pop_head (&calls);

  if (call == NULL)
    return;
  const GDBusMethodInfo *method
      = g_dbus_interface_info_lookup_method (loom_bus_worker1_interface_info (), call->method);
  g_autoptr (GTask) task = g_task_new (proxy, NULL, NULL, NULL);
  const gboolean is_cancelled = call->cancellable != NULL && g_cancellable_is_cancelled (call->cancellable);

  if (is_cancelled)
    g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_CANCELLED, "It is cancelled.");
  else
    g_task_return_boolean (task, TRUE);
  answer = size > 0 ? read_arguments (method->out_args, data, size) : NULL;
  if (call->callback != NULL)
    call->callback (G_OBJECT (proxy), G_ASYNC_RESULT (task), call->data);
  g_clear_pointer (&answer, g_variant_unref);
  g_clear_object (&call->cancellable);
  g_free (call->method);
  g_free (call);
}

/* ---- signals ----------------------------------------------------------------- */

/* As a proxy of gdbus-codegen does: a GVariant, or the C type of the signature. */
static void
emit (const GDBusSignalInfo *signal, GVariant *arguments)
{
  g_autoptr (GString) name = g_string_new (NULL);
  const gsize n = g_variant_n_children (arguments);
  g_autofree GValue *value = g_new0 (GValue, n + 1);
  GSignalQuery query;

  for (const char *c = signal->name; *c != '\0'; c++)
    {
      if (g_ascii_isupper (*c) && c > signal->name)
        g_string_append_c (name, '-');
      g_string_append_c (name, g_ascii_tolower (*c));
    }
  g_signal_query (g_signal_lookup (name->str, LOOM_BUS_TYPE_WORKER1), &query);
  g_assert_cmpuint (query.n_params, ==, n);
  g_value_init (&value[0], G_TYPE_FROM_INSTANCE (proxy));
  g_value_set_object (&value[0], proxy);
  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (arguments, i);

      if (query.param_types[i] == G_TYPE_VARIANT)
        {
          g_value_init (&value[i + 1], G_TYPE_VARIANT);
          g_value_set_variant (&value[i + 1], child);
        }
      else
        g_dbus_gvariant_to_gvalue (child, &value[i + 1]);
    }
  g_signal_emitv (value, query.signal_id, 0, NULL);
  for (gsize i = 0; i <= n; i++)
    g_value_unset (&value[i]);
}

/* ---- requests ----------------------------------------------------------------- */

typedef struct
{
  StudioRun *run;
  RunCosts *costs;
  StudioPinLabels *labels;
  HealthHistory *health;
} Studio;

static void
nothing_cb (gpointer data)
{
}

static void
labels_cb (gpointer labels, gpointer data)
{
}

static void
replied (const OwnReply *answers, const char *why, gpointer owner)
{
  g_assert_true (why == NULL || g_utf8_validate (why, -1, NULL));
}

static void
costs (Studio *self, const guint8 *data, gsize size)
{
  run_costs_request (self->costs);
  run_costs_of (self->costs, "health:");
  g_free (run_costs_describe ((const char *)data, size, 1));
}

static void
labels (Studio *self, const guint8 *data, gsize size)
{
  studio_pin_labels_request (self->labels, proxy, size > 0 ? data[0] : 0);
}

static void
own_input (Studio *self, const guint8 *data, gsize size)
{
  float x[2] = { 0, 1 };
  const OwnSample sample = { .x = x, .count = 2, .rank = 1, .dim = { 2 } };

  own_request_all (proxy, &sample, 1, G_OBJECT (self->run), replied);
  own_request (proxy, TRUE, &sample, NULL, G_OBJECT (self->run), replied);
}

static void
commands (Studio *self, const guint8 *data, gsize size)
{
  switch (size > 0 ? data[0] % 7 : 0)
    {
    case 0:
      studio_run_pause (self->run);
      break;
    case 1:
      studio_run_resume (self->run);
      break;
    case 2:
      studio_run_step (self->run);
      break;
    case 3:
      studio_run_set_hyper (self->run, "lr", 0.5);
      break;
    case 4:
      studio_run_travel (self->run, size > 1 ? data[1] : -1);
      break;
    case 5:
      self->run->ranks.live = 2;
      studio_run_request_rank_memory (self->run);
      break;
    default:
      studio_run_start (self->run, "<graph/>", "/", "n", &self->run->options);
    }
}

/* Texts of snapshots, which other views read. */
static void
texts (Studio *self, const guint8 *data, gsize size)
{
  g_autoptr (GPtrArray) nodes = loom_health_from_text ((const char *)data, size),
                        lines = studio_planner_parse_events ((const char *)data, size);
  g_autoptr (GArray) spans = loom_trace_parse ((const char *)data, size, NULL, NULL);
  g_autofree char *summary = NULL;
  g_autoptr (GListStore) rows = studio_inventory_nodes (lines, lines, &(StudioInventorySum){ .total = 0 }),
                         parameters = studio_inventory_parameters (lines, &summary);

  if (nodes != NULL)
    {
      health_history_add (self->health, (gint64)size, nodes);
      health_history_diagnose (self->health, nodes);
    }
}

/* Values of a step that is taken apart. */
static void
chips (Studio *self, const guint8 *data, gsize size)
{
  const GDBusMethodInfo *method
      = g_dbus_interface_info_lookup_method (loom_bus_worker1_interface_info (), "GetStepValues");
  g_autoptr (GVariant) all = read_arguments (method->out_args, data, size);
  g_autoptr (GVariant) values = g_variant_get_child_value (all, g_variant_n_children (all) - 1);
  g_autoptr (GArray) sources = g_array_new (FALSE, TRUE, sizeof (LoomNetSource));
  g_autoptr (GHashTable) found = step_chips_new ();

  g_array_set_size (sources, (guint)(g_variant_n_children (values) / 2));
  for (guint i = 0; i < sources->len; i++)
    g_array_index (sources, LoomNetSource, i).node = i;
  step_chips_fill (found, sources, values);
  for (guint i = 0; i < sources->len; i++)
    g_free (step_chip_words (step_chips_find (found, &g_array_index (sources, LoomNetSource, i))));
}

/* What is shown of the run. */
static void
show (Studio *self)
{
  gint64 step;

  for (guint i = 0; i < studio_run_n_metrics (self->run); i++)
    studio_run_get_metric (self->run, i);
  g_free (studio_run_dup_when (self->run, 3, &step));
  g_free (studio_run_dup_stall (self->run));
  studio_run_get_loss (self->run);
}

static void (*const actions[]) (Studio *, const guint8 *, gsize) = { costs, labels, own_input, commands, texts, chips };

#define HEAD 3 /* bytes of a record before its own: what, and how many */

static void
run_studio (const FuzzReader *self, const guint8 *data, gsize size)
{
  GDBusSignalInfo **signals = loom_bus_worker1_interface_info ()->signals;
  g_autoptr (StudioWorker) worker = g_object_new (STUDIO_TYPE_WORKER, NULL);
  guint n_signals = 0;
  Studio studio = { .run = studio_run_new (), .health = health_history_new () };

  while (signals[n_signals] != NULL)
    n_signals++;
  if (proxy == NULL)
    proxy = g_object_new (LOOM_BUS_TYPE_WORKER1_PROXY, NULL);
  studio.run->folder = g_strdup ("/nonexistent");
  studio.costs = run_costs_new (studio.run, nothing_cb, NULL);
  studio.labels = studio_pin_labels_new ("data.x", "data.y#*", labels_cb, NULL);
  studio_run_connect_worker (studio.run, worker);
  for (const guint8 *at = data, *end = data + size; end - at >= HEAD;)
    {
      const guint what = at[0] % (n_signals + G_N_ELEMENTS (actions) + 2);
      const gsize n = MIN ((gsize)(at[1] | at[2] << 8), (gsize)(end - at) - HEAD);

      if (what < n_signals)
        {
          g_autoptr (GVariant) arguments = read_arguments (signals[what]->args, at + HEAD, n);

          emit (signals[what], arguments);
        }
      else if (what < n_signals + G_N_ELEMENTS (actions))
        actions[what - n_signals](&studio, at + HEAD, n);
      else if (what == n_signals + G_N_ELEMENTS (actions))
        reply (at + HEAD, n);
      else
        g_signal_emit_by_name (worker, "ended", n > 0 ? "It has ended." : NULL);
      show (&studio);
      at += HEAD + n;
    }
  studio_pin_labels_free (studio.labels);
  run_costs_free (studio.costs);
  health_history_free (studio.health);
  studio_run_close (studio.run);
  while (!g_queue_is_empty (&calls))
    reply (NULL, 0);
  g_object_unref (studio.run);
}

/* ---- inputs to begin with ---------------------------------------------------------- */

static void
add_record (GByteArray *seed, guint what, gconstpointer data, gsize n)
{
  const guint8 head[HEAD] = { (guint8)what, (guint8)n, (guint8)(n >> 8) };

  g_byte_array_append (seed, head, sizeof head);
  g_byte_array_append (seed, data, (guint)n);
}

static void
add_text (GByteArray *seed, guint what, GDBusArgInfo **arguments, const char *text)
{
  g_autofree char *type = type_of (arguments);
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) value = g_variant_parse (G_VARIANT_TYPE (type), text, NULL, NULL, &error);

  g_assert_no_error (error);
  add_record (seed, what, g_variant_get_data (value), g_variant_get_size (value));
}

static void
add_seeds (const FuzzReader *self, GPtrArray *seeds)
{
  static const char *const sent[][2] = {
    { "StateChanged", "('running', '')" },
    { "Metrics", "(['accuracy'], [(1, 1, 0.5, 0.1, [0.25]), (2, 1, 0.4, 0.1, [0.5])], 2)" },
    { "Evaluated", "('val', 2, 1, 0.5, ['accuracy'], [0.5])" },
    { "Progress", "(2, 30, 1, 3, 100.0, 5.0)" },
    { "Waits", "(0.1, 0.2, 0.3, uint32 2)" },
    { "Hyper", "('lr', 0.1)" },
    { "Memory", "('cuda', {'parameters': 100, 'used': 5, 'total': 9, 'peak': 6})" },
    { "Problem", "('NOTE', 'fc', '', 'The loss is not finite.')" },
    { "CheckpointWritten", "(2, '/run/checkpoints/2')" },
    { "StateChanged", "('paused', 'Step 2 is done.')" },
  };
  static const char health[] = "{\"node\":\"fc\",\"verdict\":\"dead\",\"dead\":0.5,\"weights\":1.5}\n"
                               "{\"view\":\"health:\",\"requests\":3,\"seconds\":0.5}\n"
                               "{\"event\":\"node\",\"node\":\"fc\",\"device\":\"cpu\",\"total\":64}\n";
  const GDBusInterfaceInfo *bus = loom_bus_worker1_interface_info ();
  guint n_signals = 0;
  GByteArray *seed = g_byte_array_new ();

  while (bus->signals[n_signals] != NULL)
    n_signals++;
  for (guint i = 0; i < G_N_ELEMENTS (sent); i++)
    for (guint s = 0; s < n_signals; s++)
      if (g_str_equal (bus->signals[s]->name, sent[i][0]))
        add_text (seed, s, bus->signals[s]->args, sent[i][1]);
  for (guint a = 0; a < G_N_ELEMENTS (actions); a++)
    {
      if (actions[a] == texts || actions[a] == costs)
        add_record (seed, n_signals + a, health, strlen (health));
      else if (actions[a] == chips)
        add_text (
            seed, n_signals + a,
            g_dbus_interface_info_lookup_method ((GDBusInterfaceInfo *)bus, "GetStepValues")->out_args,
            "([(true, [2], 2, 0, 1.0, 1.0, 0.5, 0.0, 2.0, 1.0, [1, 2]), (true, [], 1, 0, 1.0, 1.0, 0.0, 1.0, 1.0, "
            "1.0, [1])],)");
      else
        add_record (seed, n_signals + a, "\4\1", 2);
    }
  for (guint i = 0; i < 8; i++)
    add_text (seed, n_signals + G_N_ELEMENTS (actions),
              g_dbus_interface_info_lookup_method ((GDBusInterfaceInfo *)bus, "GetSnapshot")->out_args,
              "(2, [3], [3], [byte 1, 0, 0, 0])");
  g_ptr_array_add (seeds, g_byte_array_free_to_bytes (seed));
}

static const char *const studio_words[]
    = { "running",  "paused", "done",    "stopped", "failed", "preparing",  "val",          "test",
        "lr",       "NOTE",   "REFUSED", "used",    "total",  "{\"node\":", "\"seconds\":", "\"total\":",
        "[[[[[[[[", "null",   "\n",      "1e309",   "\xff",   NULL };

const FuzzReader fuzz_studio_readers[] = {
  { "studio", run_studio, FUZZ_WORDS, .words = studio_words, .add = add_seeds },
  { NULL },
};
