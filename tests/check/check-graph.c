/* Plans and checks all programs of a graph; see the header. */
#include "tests/check/check-graph.h"

#include "app/shared/listing.h"
#include "engine/check/loom-check.h"

#include <string.h>

#define MOST_RANKS 16

void
check_result_clear (CheckResult *self)
{
  g_clear_pointer (&self->rule, g_free);
  g_clear_pointer (&self->text, g_free);
  *self = (CheckResult){ .outcome = CHECK_SOUND };
}

void
check_pieces_add (CheckPieces *self, const CheckPieces *more)
{
  self->all += more->all;
  self->by_rule += more->by_rule;
  self->evaluated += more->evaluated;
  self->too_large += more->too_large;
  self->unchecked += more->unchecked;
}

typedef struct
{
  const LoomGraph *graph;
  const CheckOptions *options;
  CheckResult *result;
  LoomPlanOptions plan; /* without device and mesh */
  GPtrArray *plans;     /* owned: of all ranks, since known refers to them */
  LoomCheckKnown *known;
} Checking;

static gboolean
refuse (Checking *self, GError *error)
{
  self->result->outcome = CHECK_REFUSED;
  self->result->text = g_strdup (error->message);
  g_error_free (error);
  return FALSE;
}

static gboolean
blame (Checking *self, const char *rule, const char *what, const char *text)
{
  self->result->outcome = CHECK_WRONG;
  self->result->rule = g_strdup (rule);
  self->result->text = g_strdup_printf ("%s: %s", what, text);
  return FALSE;
}

/* ---- plans ------------------------------------------------------------ */

/* Moves the result of the first product past the end of its arena, as a wrong planner might. */
static void
inject_fault (const LoomPlan *plan)
{
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      if (instr->primitive != NULL && strcmp (instr->primitive, "matmul") == 0 && instr->n_out > 0)
        {
          LoomPlanValue *value = (LoomPlanValue *)loom_plan_value (plan, instr->value[instr->n_in]);

          if (value->location.kind == LOOM_LOCATION_ARENA)
            {
              value->location.offset += (gsize)1 << 40;
              return;
            }
        }
    }
}

static gboolean
check_report (Checking *self, const LoomCheckReport *report, const char *what)
{
  const LoomCheckFault *fault = report->faults->len > 0 ? g_ptr_array_index (report->faults, 0) : NULL;

  return fault == NULL || blame (self, loom_check_rule_name (fault->rule), what, fault->text);
}

/* NULL, and the result says why, if it is wrong. */
static LoomPlan *
check_program (Checking *self, LoomProgram *program, const char *device, const LoomMesh *mesh, const char *what)
{
  LoomPlanOptions options = self->plan;
  const LoomCheckOptions check
      = { .meaning = self->options->meaning, .max_operations = 2e4, .seed = self->options->seed, .known = self->known };
  LoomPlan *plan;
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();
  g_autoptr (GError) error = NULL;

  options.device = device;
  options.mesh = mesh;
  plan = loom_plan_new (program, self->options->devices, &options, &error);
  if (plan == NULL)
    {
      /* Combinations that the planner does not offer, which it says with a sentence about a node. */
      if (g_error_matches (error, LOOM_ERROR, LOOM_ERROR_NO_KERNEL))
        blame (self, "kernel", what, error->message);
      else
        blame (self, "plan", what, error->message);
      return NULL;
    }
  g_ptr_array_add (self->plans, plan);
  self->result->n_plans++;
  if (self->options->inject)
    inject_fault (plan);
  loom_check_plan (plan, &check, report);
  check_pieces_add (&self->result->pieces, &(CheckPieces){ report->n_pieces, report->n_by_rule, report->n_evaluated,
                                                           report->n_too_large, report->n_unchecked });
  return check_report (self, report, what) ? plan : NULL;
}

/* ---- steps ------------------------------------------------------------ */

static gboolean
check_step (Checking *self, const LoomTrainSpec *spec, gint64 batch, gboolean training)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomStep) step = loom_step_new (spec, batch, training, &error);
  const LoomPlan *plan, *update = NULL;

  if (step == NULL)
    return refuse (self, g_steal_pointer (&error));
  plan = check_program (self, step->program, spec->device, NULL, training ? "the training step" : "the evaluation");
  if (plan == NULL)
    return FALSE;
  if (step->update != NULL)
    update = check_program (self, step->update, spec->device, NULL, "the update");
  return step->update == NULL || update != NULL;
}

typedef struct
{
  int n;
  LoomComm *comm[MOST_RANKS];
  LoomMesh mesh[MOST_RANKS];
} Ranks;

static void
ranks_clear (Ranks *self)
{
  for (int k = 0; k < self->n; k++)
    {
      loom_mesh_close (&self->mesh[k]);
      self->comm[k]->free (self->comm[k]);
    }
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Ranks, ranks_clear)

static gboolean
ranks_init (Ranks *self, int n, const int size[LOOM_MESH_AXES])
{
  LoomMessage message = { "" };

  if (loom_comm_threads_new (n, self->comm, &message) != LOOM_STATUS_OK)
    return FALSE;
  self->n = n;
  for (int k = 0; k < n; k++)
    self->mesh[k] = loom_mesh_open (self->comm[k], size);
  return TRUE;
}

/* The programs of one rank, planned. */
static gboolean
check_rank (Checking *self, LoomTrainSpec *spec, gint64 batch, gboolean training, const Ranks *ranks, int rank,
            LoomPlan **plan, LoomPlan **update)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomStep) step = loom_step_new (spec, batch, training, &error);
  const LoomMesh *mesh = &ranks->mesh[rank];
  LoomParallel *parallel = &spec->parallel;
  g_autofree char *what
      = g_strdup_printf ("rank %d of %d, %s", rank, ranks->n, training ? "the training step" : "the evaluation");
  g_autofree char *other = g_strdup_printf ("rank %d of %d, the update", rank, ranks->n);

  if (step == NULL)
    return refuse (self, g_steal_pointer (&error));
  if (parallel->pipeline > 1 && parallel->stages == NULL)
    parallel->stages
        = loom_stages_choose (step, mesh->size[LOOM_MESH_PIPELINE], self->options->devices, spec->device, NULL, &error);
  if ((parallel->pipeline > 1 && parallel->stages == NULL) || !loom_step_divide (step, spec, mesh, &error))
    return refuse (self, g_steal_pointer (&error));
  *plan = check_program (self, step->program, spec->device, mesh, what);
  if (*plan != NULL && step->update != NULL)
    *update = check_program (self, step->update, spec->device, mesh, other);
  return *plan != NULL && (step->update == NULL || *update != NULL);
}

static gboolean
check_ranks_of (Checking *self, LoomPlan *const *plan, int n, const char *what)
{
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();

  if (plan[0] == NULL)
    return TRUE;
  if (loom_check_ranks ((const LoomPlan *const *)plan, (guint)n, report))
    loom_check_exchanges ((const LoomPlan *const *)plan, (guint)n, report);
  return check_report (self, report, what);
}

/* All ranks' parts of a step. */
static gboolean
check_divided (Checking *self, LoomTrainSpec *spec, gboolean training)
{
  const int n = (int)loom_parallel_least (&spec->parallel);
  int size[LOOM_MESH_AXES] = { 1, 1, 1 };
  g_auto (Ranks) ranks = { 0 };
  LoomPlan *plan[MOST_RANKS] = { NULL }, *update[MOST_RANKS] = { NULL };
  g_autoptr (GError) error = NULL;
  gboolean ok = TRUE;

  if (n > MOST_RANKS || !loom_train_spec_mesh (spec, n, size, &error))
    {
      if (error == NULL)
        g_set_error (&error, LOOM_ERROR, LOOM_ERROR_USAGE, "Too many ranks.");
      return refuse (self, g_steal_pointer (&error));
    }
  if (!ranks_init (&ranks, n, size))
    return TRUE;
  for (int k = 0; k < n && ok; k++)
    ok = check_rank (self, spec, spec->batch_size * size[LOOM_MESH_DATA], training, &ranks, k, &plan[k], &update[k]);
  ok = ok && check_ranks_of (self, plan, n, training ? "the ranks' training steps" : "the ranks' evaluations")
       && check_ranks_of (self, update, n, "the ranks' updates");
  return ok;
}

static gboolean
check_training (Checking *self, LoomTrainSpec *spec)
{
  const gboolean serves = spec->parallel.server;

  if (!check_step (self, spec, spec->batch_size, TRUE) || !check_step (self, spec, spec->batch_size, FALSE))
    return FALSE;
  if (serves)
    { /* Ranks that push gradients have the step, and the server the update: nothing is divided. */
      spec->gathers = TRUE;
      return check_step (self, spec, spec->batch_size, TRUE);
    }
  if (loom_parallel_least (&spec->parallel) < 2)
    return TRUE;
  return check_divided (self, spec, TRUE) && check_divided (self, spec, FALSE);
}

/* ---- graphs ------------------------------------------------------------ */

/* Sizes that data decide, as if there were this many of each. */
#define COUNTED 3

static gboolean
check_ends (Checking *self, const LoomNet *net)
{
  g_auto (Listing) l = { 0 };
  LoomBinding binding = { .value = { ['B' - 'A'] = self->options->seed % 13 == 0 ? 20000 : 4 } };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    if (loom_net_node (net, i)->own_symbol != 0)
      binding.value[loom_net_node (net, i)->own_symbol - 'A'] = COUNTED;
  if (!listing_build_ends (self->graph, &binding, TRUE, &l, &error))
    return refuse (self, g_steal_pointer (&error));
  return check_program (self, l.program, self->options->seed % 5 == 0 ? "ref" : "cpu", NULL, "the graph") != NULL;
}

static gboolean
has_faults (Checking *self, LoomFaults *faults)
{
  g_autoptr (GError) error = NULL;

  return !loom_faults_to_error (faults, NULL, &error) && !refuse (self, g_steal_pointer (&error));
}

void
check_graph (const LoomGraph *graph, const CheckOptions *options, CheckResult *result)
{
  const guint32 seed = options->seed * 2654435761u;
  g_autoptr (GPtrArray) plans = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_plan_free);
  g_autoptr (LoomCheckKnown) known = loom_check_known_new ();
  Checking self
      = { .graph = graph,
          .options = options,
          .result = result,
          .plans = plans,
          .known = known,
          .plan
          = { .no_fusion = seed >> 28 == 0, .no_reuse = (seed >> 24 & 15) == 0, .no_layout = (seed >> 20 & 15) == 0 } };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = NULL;

  if (has_faults (&self, faults))
    return;
  if (loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN) == NULL)
    {
      check_ends (&self, net);
      return;
    }
  spec = loom_train_spec_new (graph, net, faults);
  if (!has_faults (&self, faults) && spec != NULL)
    check_training (&self, spec);
}

void
check_text (const char *text, const CheckOptions *options, CheckResult *result)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "model", faults, &error);

  if (graph != NULL)
    loom_faults_to_error (faults, NULL, &error);
  if (error == NULL)
    check_graph (graph, options, result);
  else
    {
      result->outcome = CHECK_REFUSED;
      result->text = g_strdup (error->message);
    }
}
