/* Finds where a value that is not finite arose. */
#include "engine/train/nan-search.h"

#include "engine/core/loom-error.h"
#include "engine/run/loom-eager.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const LoomProgram *program;
  LoomState *state;
  LoomStep *own; /* the step of the program, if it is not the plan's; else NULL */
  const LoomInstr *instr;
  guint index;
  double value;
  GString *steps; /* the loops around it: " in step 3 of the 8 of loop"; NULL: none */
} FirstNonFinite;

static gboolean
visit (const LoomInstr *instr, guint index, LoomTensor *const *results, gpointer data)
{
  FirstNonFinite *first = data;

  for (guint r = 0; r < instr->n_out; r++)
    {
      const LoomTensor *t = results[r];
      if (t == NULL || !loom_dtype_is_float (t->dtype))
        continue;
      for (gint64 i = 0; i < t->count; i++)
        {
          double x = loom_tensor_get (t, i);
          if (!isfinite (x))
            {
              first->instr = instr;
              first->index = index;
              first->value = x;
              return FALSE;
            }
        }
    }
  return TRUE;
}

/* Stores the node and port, which views mark. */
static void
set_node (NanPlace *place, const char *node, const char *port)
{
  place->node = g_strdup (node);
  place->port = g_strdup (port);
}

/* If the batch itself is not finite, no search is needed. */
static gboolean
search_batch (const NanSearch *self, const LoomBatch *batch, NanPlace *place)
{
  const TrainModel *model = self->model;

  for (guint p = 0; p < batch->n_tensors; p++)
    for (gint64 i = 0; loom_dtype_is_float (batch->tensors[p]->dtype) && i < batch->tensors[p]->count; i++)
      if (!isfinite (loom_tensor_get (batch->tensors[p], i)))
        {
          const char *port = self->data->port_name[p];

          set_node (place, loom_net_node (model->net, (guint)model->spec->dataset_node)->path, strrchr (port, '.') + 1);
          place->sentence = g_strdup_printf (
              "The data contain a value that is not finite, in port %s, sample %" G_GINT64_FORMAT " of the training "
              "split",
              port, batch->samples[i / MAX (1, batch->tensors[p]->count / MAX (1, batch->n_own))]);
          return TRUE;
        }
  return FALSE;
}

/* If a loop returned a value that is not finite: finds the instruction of its body, and the iteration. If the loop
 * cannot be run step by step, the error names the loop. */
static void
search_loop (LoomEager *eager, FirstNonFinite *first)
{
  const LoomInstr *instr = first->instr;
  g_autoptr (LoomEagerLoop) loop = loom_eager_loop_new (eager, first->index, NULL);

  for (gint64 n = 0; loop != NULL && n < loom_eager_loop_length (loop); n++)
    {
      LoomEager *body = loom_eager_loop_enter (loop, n, NULL);

      first->instr = NULL;
      if (body == NULL || !loom_eager_run (body, FALSE, visit, first, NULL))
        break;
      if (first->instr == NULL)
        continue;
      if (first->steps == NULL)
        first->steps = g_string_new (NULL);
      g_string_append_printf (first->steps, ", in step %" G_GINT64_FORMAT " of the %" G_GINT64_FORMAT " of %s",
                              loom_eager_loop_row (loop, n) + 1, loom_eager_loop_length (loop),
                              instr->origin != NULL ? instr->origin : "a loop");
      if (loom_eager_is_loop (body, first->index))
        search_loop (body, first);
      return;
    }
  first->instr = instr;
}

/* Repeats the step, one instruction at a time, up to the first value that is not finite: with the plan's batch or, with
 * several ranks, only with this rank's samples. */
static void
walk (const TrainModel *model, StepPlan *plan, const LoomBatch *batch, const char *device, FirstNonFinite *first,
      GError **error)
{
  g_autoptr (LoomEager) eager = NULL;

  first->program = first->own != NULL ? first->own->program : plan->step->program;
  eager = loom_eager_new ((LoomProgram *)first->program, first->state, model->devices, device, error);

  if (eager == NULL)
    return;
  for (guint i = 0; i < plan->n_inputs; i++)
    loom_eager_feed (eager, plan->input[i].input,
                     step_input_data (&plan->input[i], batch->tensors[plan->input[i].port]));
  loom_eager_run (eager, FALSE, visit, first, error);
  if (first->instr != NULL && loom_eager_is_loop (eager, first->index))
    search_loop (eager, first);
}

/* "node fc", or for an instruction of no node "the update of fc.weight". (transfer full) */
static char *
name_of (const FirstNonFinite *first)
{
  const LoomInstr *instr = first->instr;
  char *name;

  if (instr->origin != NULL)
    return g_strdup_printf ("node %s", instr->origin);
  name = loom_program_purpose (first->program, instr->prim, instr->region, instr->n_out, instr->out);
  name[0] = g_ascii_tolower (name[0]);
  return name;
}

/* Repeats the batch and describes where it failed. */
static char *
search (const NanSearch *self, StepPlan *plan, const LoomBatch *batch, LoomStep *own, LoomState *state, NanPlace *place)
{
  static const char *const region[LOOM_N_REGIONS] = { "forward pass", "backward pass", "update" };
  FirstNonFinite first = { .own = own, .state = state };
  g_autoptr (GError) error = NULL;
  g_autofree char *name = NULL, *steps = NULL;
  char *sentence;

  walk (self->model, plan, batch, self->model->device, &first, &error);
  /* The eager executor keeps every value, and a card may not have memory for that in addition to the run. */
  if (g_error_matches (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY))
    walk (self->model, plan, batch, "cpu", &first, NULL);
  if (first.instr == NULL)
    return g_strdup ("Repeating the batch instruction by instruction did not show where it arose");
  if (first.instr->origin != NULL)
    set_node (place, first.instr->origin, NULL);
  place->weights_overflow = first.instr->region != LOOM_REGION_UPDATE;
  name = name_of (&first);
  steps = first.steps != NULL ? g_string_free (first.steps, FALSE) : NULL;
  sentence = g_strdup_printf ("It first appeared at %s (%s, %s)%s, as %s", name, first.instr->prim->name,
                              region[first.instr->region], steps != NULL ? steps : "",
                              isnan (first.value) ? "NaN"
                              : first.value > 0   ? "infinity"
                                                  : "minus infinity");
  return sentence;
}

void
nan_place_clear (NanPlace *place)
{
  g_free (place->node);
  g_free (place->port);
  g_free (place->sentence);
  *place = (NanPlace){ 0 };
}

void
nan_search (const NanSearch *self, gint64 step, StepPlan *plan, const LoomBatch *batch, NanPlace *place)
{
  const TrainModel *model = self->model;
  const gboolean is_part = rank_group_has_several (self->group);
  /* A rank cannot run a program alone that is partitioned over all ranks. */
  g_autoptr (LoomStep) own = is_part ? loom_step_new (model->spec, batch->n_own, TRUE, NULL) : NULL;
  g_autoptr (LoomState) state = NULL;
  /* Shards of a state are gathered by all ranks or by none. */
  const gboolean lacking = rank_group_any_says (self->group, is_part && own == NULL);

  nan_place_clear (place);
  loom_state_set_scalar (model->state, "step", (double)step);
  if (!loom_state_is_divided (model->state))
    state = loom_state_ref (model->state);
  else if (!lacking)
    state = rank_group_whole_state (model, own->program, NULL);
  place->is_of_data = search_batch (self, batch, place);
  if (!place->is_of_data)
    place->sentence = state != NULL && (own != NULL || !is_part)
                          ? search (self, plan, batch, own, state, place)
                          : g_strdup ("Repeating the step on this rank alone did not show where it arose");
  /* The result of one rank's search determines on all ranks whether a checkpoint of the run is useful. */
  place->weights_overflow = rank_group_any_says (self->group, place->weights_overflow);
}
