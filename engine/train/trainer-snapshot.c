/* Snapshots: what a view sees of a run, without touching it.
 *
 * A port is computed by a plan of its own, unfused and in evaluation mode, over the same state and on a fixed sample,
 * so the training plan stays fused, nothing is committed and no random number is drawn. Plans are kept for the ports
 * that were asked for lately, because a view asks again ten times a second. */
#include "engine/train/trainer-private.h"

#include <string.h>

#define SAMPLE 32 /* samples of the fixed batch */
#define KEEP   8  /* plans */

typedef struct
{
  char *port;
  LoomNet *net;
  LoomProgram *program;
  LoomExec *exec;
  guint output;
} Look;

struct _TrainerSnapshots
{
  GPtrArray *sample; /* LoomTensor for each port of the data set */
  gint64 n;
  GPtrArray *looks; /* newest first */
};

static void
look_free (Look *look)
{
  loom_exec_free (look->exec);
  loom_program_unref (look->program);
  loom_net_free (look->net);
  g_free (look->port);
  g_free (look);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Look, look_free)

void
trainer_snapshots_free (TrainerSnapshots *self)
{
  if (!self)
    return;
  g_clear_pointer (&self->sample, g_ptr_array_unref);
  g_ptr_array_unref (self->looks);
  g_free (self);
}

static TrainerSnapshots *
get_snapshots (LoomTrainer *t, GError **error)
{
  if (t->snapshots)
    return t->snapshots;
  LoomSplit split = trainer_dataset_validation (t->dataset);
  g_autoptr (GPtrArray) sample
      = trainer_dataset_sample (t->dataset, split == LOOM_N_SPLITS ? LOOM_SPLIT_TRAIN : split, SAMPLE, error);
  if (!sample)
    return NULL;
  for (guint i = 0; t->spec->precision == LOOM_F64 && i < sample->len; i++)
    {
      LoomTensor *one = sample->pdata[i];
      if (one->dtype != LOOM_F32)
        continue;
      LoomTensor *wide = loom_tensor_convert (one, LOOM_F64, FALSE, error);
      if (!wide)
        return NULL;
      sample->pdata[i] = wide;
      loom_tensor_unref (one);
    }
  t->snapshots = g_new0 (TrainerSnapshots, 1);
  t->snapshots->n = sample->len > 0 ? ((LoomTensor *)sample->pdata[0])->dim[0] : 1;
  t->snapshots->sample = g_steal_pointer (&sample);
  t->snapshots->looks = g_ptr_array_new_with_free_func ((GDestroyNotify)look_free);
  return t->snapshots;
}

/* The value of a port, or of "grad:WEIGHT", becomes the program's one output. */
static LoomProgram *
build_program (LoomTrainer *t, const LoomNet *net, const char *port, GError **error)
{
  LoomNetSource wanted = t->spec->loss;
  LoomValue value;
  LoomLowerOptions options = { .float_dtype = t->spec->precision == LOOM_F64 ? LOOM_F64 : LOOM_F32,
                               .n_wanted = 1,
                               .wanted = &wanted,
                               .seed = t->spec->seed,
                               .direct = t->spec->direct };
  gboolean is_gradient = g_str_has_prefix (port, "grad:");

  if (!is_gradient)
    {
      int node = loom_net_find_port (net, port, &wanted.output, error);
      if (node < 0)
        return NULL;
      wanted.node = node;
    }
  g_autoptr (LoomProgram) p = loom_lower (net, &options, &value, error);
  if (!p)
    return NULL;
  if (is_gradient)
    {
      const char *name = port + strlen ("grad:");
      int slot = loom_program_find_slot (p, name);
      LoomValue wrt, grad = 0;
      if (slot < 0)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, "The loss uses no weight “%s”.", name);
          return NULL;
        }
      wrt = loom_program_read (p, slot);
      if (!loom_differentiate (p, value, 0, 1, &wrt, &grad, error))
        return NULL;
      if (grad == 0)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, "No gradient reaches “%s”.", name);
          return NULL;
        }
      value = grad;
    }
  loom_program_output (p, "value", value);
  return g_steal_pointer (&p);
}

static Look *
look_new (LoomTrainer *t, TrainerSnapshots *s, const char *port, GError **error)
{
  g_autoptr (Look) look = g_new0 (Look, 1);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { 0 };
  LoomPlanOptions options = { .device = t->device, .no_fusion = TRUE };

  binding.value['B' - 'A'] = s->n;
  look->port = g_strdup (port);
  look->net = loom_net_new (t->graph, &binding, faults);
  if (!loom_faults_to_error (faults, NULL, error))
    return NULL;
  look->program = build_program (t, look->net, port, error);
  if (!look->program)
    return NULL;
  LoomPlan *plan = loom_plan_new (look->program, t->devices, &options, error);
  trainer_take_notes (t);
  if (!plan)
    return NULL;
  look->exec = loom_exec_new (plan, t->state, error);
  if (!look->exec)
    return NULL;

  guint n_feeds;
  g_autofree TrainerFeed *feed = NULL;
  if (!trainer_plan_feeds (t, look->program, &n_feeds, &feed, error))
    return NULL;
  for (guint i = 0; i < n_feeds; i++)
    loom_exec_feed (look->exec, feed[i].input, ((LoomTensor *)s->sample->pdata[feed[i].port])->data);
  look->output = loom_exec_find_output (look->exec, "value");
  return g_steal_pointer (&look);
}

static Look *
find_look (LoomTrainer *t, const char *port, GError **error)
{
  TrainerSnapshots *s = get_snapshots (t, error);
  if (!s)
    return NULL;
  for (guint i = 0; i < s->looks->len; i++)
    {
      Look *look = s->looks->pdata[i];
      if (g_str_equal (look->port, port))
        {
          g_ptr_array_insert (s->looks, 0, g_ptr_array_steal_index (s->looks, i));
          return look;
        }
    }
  Look *look = look_new (t, s, port, error);
  if (look)
    {
      g_ptr_array_insert (s->looks, 0, look);
      if (s->looks->len > KEEP)
        g_ptr_array_set_size (s->looks, KEEP);
      if (t->inbox.active && t->observer.memory)
        t->observer.memory (t, t->observer_data);
    }
  return look;
}

static LoomTensor *
answer (LoomTrainer *t, const char *port, GError **error)
{
  for (guint i = 0; i < loom_net_n_weights (t->net); i++)
    if (g_str_equal (loom_net_weight (t->net, i)->name, port) && loom_state_find (t->state, port) >= 0)
      return loom_state_get (t->state, port, error);

  Look *look = find_look (t, port, error);
  if (!look || !loom_exec_run (look->exec, error))
    return NULL;
  return loom_exec_output (look->exec, look->output, error);
}

void
trainer_snapshot_answer (LoomTrainer *t, TrainerSnapshotRequest *request)
{
  g_autoptr (LoomTensor) value = answer (t, request->port, &request->error);

  request->step = t->place.step;
  if (!value)
    return;
  /* An executor's output is only good until its next step, and the reader is another thread. */
  request->result = loom_tensor_new (value->dtype, value->rank, value->dim, &request->error);
  if (request->result)
    memcpy (request->result->data, value->data, value->bytes);
}
