/* Calls of the worker's D-Bus interface: a method and the bytes of its arguments, as GVariant reads them, whatever they
 * are. Methods, and the views that they ask for, are those of the worker; its runner, which has threads, is one trainer
 * of a finished run. GIO's own reading of messages is not fuzzed. */
#include "tests/fuzz/readers.h"

#include <string.h>

#include "app/worker/worker.h"
#include "tests/train/train-test.h"

static const char xml[] = TRAIN_TEST_SPIRALS ("n=\"40\"", "4") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" "
                                                               "batch_size=\"8\" epochs=\"2\"/></graph>";

static LoomTrainer *trainer;
static guint n_answers; /* of the call in progress, which must have one */

/* ---- in place of GIO's: an invocation is its arguments -------------------- */

GVariant *
g_dbus_method_invocation_get_parameters (GDBusMethodInvocation *invocation)
{
  return (GVariant *)invocation;
}

void
g_dbus_method_invocation_return_value (GDBusMethodInvocation *invocation, GVariant *answer)
{
  n_answers++;
  if (answer != NULL)
    g_variant_unref (g_variant_ref_sink (answer));
}

void
g_dbus_method_invocation_return_gerror (GDBusMethodInvocation *invocation, const GError *error)
{
  n_answers++;
  fuzz_check_error (error);
}

void
g_dbus_method_invocation_return_error_literal (GDBusMethodInvocation *invocation, GQuark domain, gint code,
                                               const char *message)
{
  n_answers++;
  g_assert_true (g_utf8_validate (message, -1, NULL));
}

void
g_dbus_method_invocation_return_error (GDBusMethodInvocation *invocation, GQuark domain, gint code, const char *format,
                                       ...)
{
  n_answers++;
}

/* ---- in place of the worker's threads ------------------------------------ */

gboolean
worker_runner_start (WorkerRunner *runner, LoomGraph *graph, WorkerStart *start, GError **error)
{
  g_clear_pointer (&graph, loom_graph_unref);
  worker_start_clear (start);
  return TRUE;
}

gboolean
worker_runner_post (WorkerRunner *runner, LoomCommandKind kind, const char *name, double value, GError **error)
{
  return kind != LOOM_COMMAND_SET_HYPER || loom_trainer_check_hyper (trainer, name, value, error);
}

gboolean
worker_runner_set_pace (WorkerRunner *runner, double seconds, GError **error)
{
  WorkerPace pace = { 0 };

  worker_pace_set (&pace, seconds);
  return TRUE;
}

gboolean
worker_runner_checkpoint (WorkerRunner *runner, GDBusMethodInvocation *invocation, GError **error)
{
  g_dbus_method_invocation_return_value (invocation, NULL);
  return TRUE;
}

static void
answer (GDBusMethodInvocation *invocation, GVariant *value, const GError *error)
{
  if (value != NULL)
    g_dbus_method_invocation_return_value (invocation, value);
  else
    g_dbus_method_invocation_return_gerror (invocation, error);
}

void
worker_runner_snapshot (WorkerRunner *runner, GDBusMethodInvocation *invocation, const char *port, GVariant *index,
                        guint32 max_bytes)
{
  g_autoptr (GError) error = NULL;
  gsize n;
  const gint64 *at = g_variant_get_fixed_array (index, &n, sizeof *at);

  GVariant *value = worker_snapshot (trainer, port, at, n, max_bytes, &error);

  answer (invocation, value, error);
}

void
worker_runner_view (WorkerRunner *runner, GDBusMethodInvocation *invocation, WorkerView view)
{
  g_autoptr (GError) error = NULL;

  GVariant *value = view (trainer, (GVariant *)invocation, &error);

  answer (invocation, value, error);
}

void
worker_runner_compute (WorkerRunner *runner, GDBusMethodInvocation *invocation, WorkerView view)
{
  g_autoptr (GError) error = NULL;

  GVariant *value = view (NULL, (GVariant *)invocation, &error);

  answer (invocation, value, error);
}

gboolean
worker_runner_set_breakpoints (WorkerRunner *runner, GDBusMethodInvocation *invocation, GVariant *list, GError **error)
{
  g_autoptr (GArray) all = worker_read_breakpoints (list, error);

  if (all == NULL)
    return FALSE;
  loom_trainer_set_breakpoints (trainer, (const LoomBreakpoint *)(gconstpointer)all->data, all->len);
  g_dbus_method_invocation_return_value (invocation, NULL);
  return TRUE;
}

void
worker_outbox_problem (WorkerOutbox *outbox, const char *code, const char *node, const char *port, const char *message)
{
}

/* ---- calls --------------------------------------------------------------- */

static const char *const methods[][2] = {
  { "Load", "('<graph xmlns=\"urn:gradloom:graph\" version=\"1\"/>', '')" },
  { "Start", "({'epochs': <int64 3>, 'lr': <0.5>, 'device': <'cpu'>, 'set': <['a=b']>, 'paused': <true>},)" },
  { "SetHyper", "('lr', 0.5)" },
  { "SetPace", "(3.0,)" },
  { "Checkpoint", "()" },
  { "GetSnapshot", "('hidden.weight', [int64 0, -1], uint32 64)" },
  { "GetSnapshot", "('bins:scores', @ax [], uint32 64)" },
  { "Predict", "([int64 1, 2], [byte 0, 0, 128, 63, 0, 0, 0, 128], @a(saxay) [])" },
  { "BeginStep", "()" },
  { "MoveStep", "('next',)" },
  { "FinishPhase", "('backward',)" },
  { "GoToNode", "('act', 'backward')" },
  { "EndStep", "()" },
  { "GetStepValues", "(['hidden', 'grad:scores'],)" },
  { "GetDerivatives", "('scores', int64 1)" },
  { "ComputeGraph", "('<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"c\" op=\"constant\" "
                    "value=\"2\"/></graph>', ['c'])" },
  { "GetGraphDerivatives", "('<graph xmlns=\"urn:gradloom:graph\" version=\"1\"/>', 'c', int64 0)" },
  { "SetBreakpoints", "([('hidden', 'equals', 0.5)],)" },
  { "Travel", "(int64 2,)" },
};

/* The type of a method's arguments. (transfer full) */
static char *
type_of (const GDBusMethodInfo *method)
{
  g_autoptr (GString) type = g_string_new ("(");

  for (guint i = 0; method->in_args != NULL && method->in_args[i] != NULL; i++)
    g_string_append (type, method->in_args[i]->signature);
  return g_string_free (g_string_append_c (g_steal_pointer (&type), ')'), FALSE);
}

static GVariant *
read_arguments (const char *type, const guint8 *data, gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);
  g_autoptr (GVariant) raw = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE (type), bytes, FALSE));

  return g_variant_get_normal_form (raw);
}

static LoomBusWorker1 *
make_worker (void)
{
  static LoomBusWorker1 *bus;
  g_autoptr (GError) error = NULL;

  if (bus != NULL)
    return bus;
  bus = loom_bus_worker1_skeleton_new ();
  worker_connect_methods (bus, NULL);
  trainer = train_test_new (xml, (LoomTrainerOptions){ .steps = 4 });
  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_STOPPED);
  return bus;
}

/* "GetSnapshot" is the signal "handle-get-snapshot". (transfer full) */
static char *
signal_of (const char *method)
{
  GString *name = g_string_new ("handle");

  for (const char *c = method; *c != '\0'; c++)
    {
      if (g_ascii_isupper (*c))
        g_string_append_c (name, '-');
      g_string_append_c (name, g_ascii_tolower (*c));
    }
  return g_string_free (name, FALSE);
}

/* As a skeleton of gdbus-codegen does: an argument is a GVariant, or the C type of its signature. */
static void
call (LoomBusWorker1 *bus, const char *method, GVariant *arguments)
{
  g_autofree char *name = signal_of (method);
  const guint signal = g_signal_lookup (name, LOOM_BUS_TYPE_WORKER1);
  const gsize n = g_variant_n_children (arguments);
  g_autofree GValue *value = g_new0 (GValue, n + 2);
  GValue result = G_VALUE_INIT;
  GSignalQuery query;

  g_signal_query (signal, &query);
  g_assert_cmpuint (query.n_params, ==, n + 1);
  g_value_init (&value[0], G_TYPE_FROM_INSTANCE (bus));
  g_value_set_object (&value[0], bus);
  g_value_init (&value[1], G_TYPE_POINTER);
  g_value_set_pointer (&value[1], arguments);
  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (arguments, i);

      if (query.param_types[i + 1] == G_TYPE_VARIANT)
        {
          g_value_init (&value[i + 2], G_TYPE_VARIANT);
          g_value_set_variant (&value[i + 2], child);
        }
      else
        g_dbus_gvariant_to_gvalue (child, &value[i + 2]);
    }
  /* The invocation is no object here. */
  g_value_init (&result, G_TYPE_BOOLEAN);
  n_answers = 0;
  g_signal_emitv (value, signal, 0, &result);
  g_assert_true (g_value_get_boolean (&result) && n_answers == 1);
  for (gsize i = 0; i < n + 2; i++)
    g_value_unset (&value[i]);
}

static void
run_bus (const FuzzReader *self, const guint8 *data, gsize size)
{
  LoomBusWorker1 *bus = make_worker ();

  if (size == 0)
    return;
  const char *const *row = methods[data[0] % G_N_ELEMENTS (methods)];
  const GDBusMethodInfo *method = g_dbus_interface_info_lookup_method (loom_bus_worker1_interface_info (), row[0]);
  g_autofree char *type = type_of (method);
  g_autoptr (GVariant) arguments = read_arguments (type, data + 1, size - 1);

  call (bus, row[0], arguments);
}

static void
add_seeds (const FuzzReader *self, GPtrArray *seeds)
{
  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    {
      const GDBusMethodInfo *method
          = g_dbus_interface_info_lookup_method (loom_bus_worker1_interface_info (), methods[i][0]);
      g_autofree char *type = type_of (method);
      g_autoptr (GError) error = NULL;
      g_autoptr (GVariant) value = g_variant_parse (G_VARIANT_TYPE (type), methods[i][1], NULL, NULL, &error);
      g_autofree guint8 *bytes = NULL;
      const guint8 which = (guint8)i;
      GByteArray *seed = g_byte_array_new ();

      g_assert_no_error (error);
      g_byte_array_append (seed, &which, 1);
      g_byte_array_append (seed, g_variant_get_data (value), (guint)g_variant_get_size (value));
      g_ptr_array_add (seeds, g_byte_array_free_to_bytes (seed));
    }
}

static const char *const bus_words[]
    = { "next",   "back",       "into",           "out",           "forward",      "backward",
        "update", "hidden",     "scores",         "hidden.weight", "grad:",        "update:",
        "bins:",  "norm:",      "time:",          "samples:",      "now:",         "trace:",
        "nodes:", "losses:",    "ranks:",         "health:",       "words:data.x", "words:data.x#",
        "equals", "not_finite", "gradient_above", "dead_above",    "lr",           "at_least",
        NULL };

const FuzzReader fuzz_bus_readers[] = {
  { "bus", run_bus, FUZZ_WORDS, .words = bus_words, .add = add_seeds },
  { NULL },
};
