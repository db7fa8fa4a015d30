/* The methods of org.gradloom.Worker1: each passes a D-Bus call to the runner. */
#include "app/worker/worker.h"

#include <math.h>

typedef struct
{
  WorkerRunner *runner;
  LoomGraph *graph; /* the last one loaded without faults; frozen */
} Methods;

static void
methods_free (gpointer data, GClosure *closure)
{
  Methods *m = data;
  g_clear_pointer (&m->graph, loom_graph_unref);
  g_free (m);
}

static void
add_faults (GVariantBuilder *b, const LoomFaults *faults)
{
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *f = loom_faults_get (faults, i);
      if (!f->is_warning)
        g_variant_builder_add (b, "(ssss)", loom_error_code_name (f->code), f->node != NULL ? f->node : "",
                               f->port != NULL ? f->port : "", f->message);
    }
}

static gboolean
load_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *xml, const char *folder, gpointer data)
{
  Methods *m = data;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  GVariantBuilder b;

  g_clear_pointer (&m->graph, loom_graph_unref);
  g_variant_builder_init (&b, G_VARIANT_TYPE ("a(ssss)"));
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "the graph", faults, &error);
  if (graph == NULL)
    g_variant_builder_add (&b, "(ssss)", "PARSE", "", "", error->message);
  else
    {
      if (*folder)
        loom_graph_set_folder (graph, folder);
      g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
      g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
      add_faults (&b, faults);
      if (loom_faults_count (faults) == 0)
        m->graph = loom_graph_freeze (graph);
    }
  loom_bus_worker1_complete_load (bus, invocation, g_variant_builder_end (&b));
  return TRUE;
}

void
worker_start_clear (WorkerStart *start)
{
  g_free (start->device);
  g_free (start->out);
  g_free (start->resume);
  g_free (start->branch);
  g_free (start->replay);
  g_free (start->precision);
  g_free (start->weights);
  g_free (start->match);
  g_strfreev (start->set);
}

/* The options of Start: the key, its type, and where it is stored. */
static const struct
{
  const char *key, *type;
  gsize offset;
} start_option[] = {
  { "epochs", "x", G_STRUCT_OFFSET (WorkerStart, epochs) },
  { "batch_size", "x", G_STRUCT_OFFSET (WorkerStart, batch_size) },
  { "seed", "x", G_STRUCT_OFFSET (WorkerStart, seed) },
  { "lr", "d", G_STRUCT_OFFSET (WorkerStart, lr) },
  { "at_least", "d", G_STRUCT_OFFSET (WorkerStart, at_least) },
  { "threads", "i", G_STRUCT_OFFSET (WorkerStart, threads) },
  { "ranks", "i", G_STRUCT_OFFSET (WorkerStart, ranks) },
  { "paused", "b", G_STRUCT_OFFSET (WorkerStart, paused) },
  { "device", "s", G_STRUCT_OFFSET (WorkerStart, device) },
  { "out", "s", G_STRUCT_OFFSET (WorkerStart, out) },
  { "resume", "s", G_STRUCT_OFFSET (WorkerStart, resume) },
  { "resume_step", "x", G_STRUCT_OFFSET (WorkerStart, resume_step) },
  { "branch", "s", G_STRUCT_OFFSET (WorkerStart, branch) },
  { "branch_step", "x", G_STRUCT_OFFSET (WorkerStart, branch_step) },
  { "replay", "s", G_STRUCT_OFFSET (WorkerStart, replay) },
  { "steps", "x", G_STRUCT_OFFSET (WorkerStart, steps) },
  { "history", "x", G_STRUCT_OFFSET (WorkerStart, history) },
  { "checkpoint_seconds", "d", G_STRUCT_OFFSET (WorkerStart, checkpoint_seconds) },
  { "num_workers", "i", G_STRUCT_OFFSET (WorkerStart, num_workers) },
  { "tf32", "b", G_STRUCT_OFFSET (WorkerStart, tf32) },
  { "precision", "s", G_STRUCT_OFFSET (WorkerStart, precision) },
  { "weights", "s", G_STRUCT_OFFSET (WorkerStart, weights) },
  { "match", "s", G_STRUCT_OFFSET (WorkerStart, match) },
  { "set", "as", G_STRUCT_OFFSET (WorkerStart, set) },
};

static gboolean
read_option (WorkerStart *start, const char *key, GVariant *value, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (start_option); i++)
    {
      if (!g_str_equal (key, start_option[i].key))
        continue;
      if (!g_variant_is_of_type (value, G_VARIANT_TYPE (start_option[i].type)))
        {
          g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS,
                       "The option “%s” is of type “%s”, and must be of type “%s”.", key,
                       g_variant_get_type_string (value), start_option[i].type);
          return FALSE;
        }
      /* A dictionary may have a key twice: the last value applies, and the first string must be freed. */
      if (*start_option[i].type == 's')
        g_free (G_STRUCT_MEMBER (char *, start, start_option[i].offset));
      else if (*start_option[i].type == 'a')
        g_strfreev (G_STRUCT_MEMBER (char **, start, start_option[i].offset));
      g_variant_get (value, *start_option[i].type == 'a' ? "^as" : start_option[i].type,
                     G_STRUCT_MEMBER_P (start, start_option[i].offset));
      return TRUE;
    }
  g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS, "Start knows no option “%s”.", key);
  return FALSE;
}

static gboolean
read_options (WorkerStart *start, GVariant *options, GError **error)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_iter_init (&iter, options);
  while (g_variant_iter_next (&iter, "{&sv}", &key, &value))
    {
      gboolean known = read_option (start, key, value, error);
      g_variant_unref (value);
      if (!known)
        return FALSE;
    }
  if (!worker_pace_is_valid (start->at_least))
    {
      g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS, "“at_least” must be from 0 to %g seconds.",
                   WORKER_PACE_MAX_SECONDS);
      return FALSE;
    }
  return TRUE;
}

/* An option can be left out in two ways, by a missing key or a key without a value; D-Bus supports only the first. */
static gboolean
start_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, GVariant *options, gpointer data)
{
  Methods *m = data;
  WorkerStart start = { .seed = -1, .lr = NAN };
  g_autoptr (GError) error = NULL;

  if (!read_options (&start, options, &error))
    {
      worker_start_clear (&start);
      g_dbus_method_invocation_return_gerror (invocation, error);
      return TRUE;
    }
  if (m->graph == NULL && start.resume == NULL && start.branch == NULL && start.replay == NULL)
    {
      worker_start_clear (&start);
      g_dbus_method_invocation_return_error_literal (invocation, G_DBUS_ERROR, G_DBUS_ERROR_FAILED,
                                                     "The graph has faults, or none is loaded.");
      return TRUE;
    }
  if (worker_runner_start (m->runner, m->graph != NULL ? loom_graph_ref (m->graph) : NULL, &start, &error))
    loom_bus_worker1_complete_start (bus, invocation);
  else
    g_dbus_method_invocation_return_gerror (invocation, error);
  return TRUE;
}

/* Pause, Resume, StepBatch and Stop differ only in the command, which is the closure's data. */
typedef struct
{
  Methods *methods;
  LoomCommandKind kind;
} PostClosure;

static gboolean
post_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gpointer data)
{
  PostClosure *closure = data;
  g_autoptr (GError) error = NULL;

  if (worker_runner_post (closure->methods->runner, closure->kind, NULL, 0, &error))
    g_dbus_method_invocation_return_value (invocation, NULL);
  else
    g_dbus_method_invocation_return_gerror (invocation, error);
  return TRUE;
}

static void
connect_post (LoomBusWorker1 *bus, const char *signal, Methods *methods, LoomCommandKind kind)
{
  PostClosure *closure = g_new (PostClosure, 1);
  *closure = (PostClosure){ methods, kind };
  g_signal_connect_data (bus, signal, G_CALLBACK (post_cb), closure, (GClosureNotify)(GCallback)g_free, 0);
}

static gboolean
set_hyper_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *name, double value, gpointer data)
{
  Methods *m = data;
  g_autoptr (GError) error = NULL;

  if (worker_runner_post (m->runner, LOOM_COMMAND_SET_HYPER, name, value, &error))
    loom_bus_worker1_complete_set_hyper (bus, invocation);
  else
    g_dbus_method_invocation_return_gerror (invocation, error);
  return TRUE;
}

static gboolean
set_pace_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, double seconds, gpointer data)
{
  Methods *m = data;
  g_autoptr (GError) error = NULL;

  if (!worker_pace_is_valid (seconds))
    g_dbus_method_invocation_return_error (invocation, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS,
                                           "A pace must be from 0 to %g seconds.", WORKER_PACE_MAX_SECONDS);
  else if (worker_runner_set_pace (m->runner, seconds, &error))
    loom_bus_worker1_complete_set_pace (bus, invocation);
  else
    g_dbus_method_invocation_return_gerror (invocation, error);
  return TRUE;
}

static gboolean
checkpoint_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gpointer data)
{
  Methods *m = data;
  g_autoptr (GError) error = NULL;

  if (!worker_runner_checkpoint (m->runner, invocation, &error))
    g_dbus_method_invocation_return_gerror (invocation, error);
  return TRUE;
}

static gboolean
snapshot_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *port, GVariant *index,
             guint32 max_bytes, gpointer data)
{
  Methods *m = data;
  worker_runner_snapshot (m->runner, invocation, port, index, max_bytes);
  return TRUE;
}

static gboolean
predict_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, GVariant *shape, GVariant *samples,
            GVariant *others, gpointer data)
{
  Methods *m = data;
  worker_runner_view (m->runner, invocation, worker_predict);
  return TRUE;
}

void
worker_connect_methods (LoomBusWorker1 *bus, WorkerRunner *runner)
{
  Methods *m = g_new0 (Methods, 1);
  m->runner = runner;

  g_signal_connect_data (bus, "handle-load", G_CALLBACK (load_cb), m, methods_free, 0);
  g_signal_connect (bus, "handle-start", G_CALLBACK (start_cb), m);
  connect_post (bus, "handle-pause", m, LOOM_COMMAND_PAUSE);
  connect_post (bus, "handle-resume", m, LOOM_COMMAND_RESUME);
  connect_post (bus, "handle-step-batch", m, LOOM_COMMAND_STEP);
  connect_post (bus, "handle-stop", m, LOOM_COMMAND_STOP);
  g_signal_connect (bus, "handle-set-hyper", G_CALLBACK (set_hyper_cb), m);
  g_signal_connect (bus, "handle-set-pace", G_CALLBACK (set_pace_cb), m);
  g_signal_connect (bus, "handle-checkpoint", G_CALLBACK (checkpoint_cb), m);
  g_signal_connect (bus, "handle-get-snapshot", G_CALLBACK (snapshot_cb), m);
  g_signal_connect (bus, "handle-predict", G_CALLBACK (predict_cb), m);
  worker_connect_step (bus, runner);
}
