/* Finds where a NaN came from.
 *
 * The step that went wrong committed nothing, so it can be repeated: eagerly, a primitive at a time, with the same
 * batch, seed and step. The first value that is not finite names its node. Of a loop the steps are walked through. */
#include "engine/train/trainer-private.h"

#include "engine/run/loom-eager.h"

#include <math.h>

typedef struct
{
  const LoomProgram *program;
  LoomState *state;
  LoomStep *own; /* which has the program, where it is not the plan's; else NULL */
  const LoomInstr *instr;
  guint index;
  double value;
  GString *steps; /* of the loops that it lies in: " in step 3 of the 8 of loop"; NULL: in none */
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

/* The place of the failure, for views that mark it. */
static void
set_failed_node (LoomTrainer *t, const char *node, const char *port)
{
  g_free (t->failed_node);
  g_free (t->failed_port);
  t->failed_node = g_strdup (node);
  t->failed_port = g_strdup (port);
}

/* A weight or a batch that is not finite needs no search. */
static char *
bad_start (LoomTrainer *t, const LoomBatch *batch)
{
  for (guint p = 0; p < batch->n_tensors; p++)
    for (gint64 i = 0; loom_dtype_is_float (batch->tensors[p]->dtype) && i < batch->tensors[p]->count; i++)
      if (!isfinite (loom_tensor_get (batch->tensors[p], i)))
        {
          set_failed_node (t, loom_net_node (t->net, (guint)t->spec->dataset_node)->path,
                           strrchr (t->port_name[p], '.') + 1);
          return g_strdup_printf (
              "The data contain a value that is not finite, in port %s, sample %" G_GINT64_FORMAT " of the training "
              "split",
              t->port_name[p], batch->samples[i / MAX (1, batch->tensors[p]->count / MAX (1, batch->n_own))]);
        }
  return NULL;
}

/* Where a loop gave a value that is not finite: the instruction of its body, and in which step. A loop of which nobody
 * can find out stays the place that is named. */
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

/* The step once more, an instruction at a time, up to the first value that is not finite: of the plan's batch or, where
 * several ranks have a part each, of this rank's samples alone. */
static void
walk (LoomTrainer *t, TrainerPlan *plan, const LoomBatch *batch, const char *device, FirstNonFinite *first,
      GError **error)
{
  g_autoptr (LoomEager) eager = NULL;

  first->program = first->own != NULL ? first->own->program : plan->step->program;
  eager = loom_eager_new ((LoomProgram *)first->program, first->state, t->devices, device, error);

  if (eager == NULL)
    return;
  for (guint i = 0; i < plan->n_feeds; i++)
    loom_eager_feed (eager, plan->feed[i].input,
                     trainer_feed_data (&plan->feed[i], batch->tensors[plan->feed[i].port]));
  loom_eager_run (eager, FALSE, visit, first, error);
  if (first->instr != NULL && loom_eager_is_loop (eager, first->index))
    search_loop (eager, first);
}

/* "node fc", or for what belongs to none "the update of fc.weight". (transfer full) */
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

/* Repeats the batch and says where it failed. */
static char *
search (LoomTrainer *t, TrainerPlan *plan, const LoomBatch *batch, LoomStep *own, LoomState *state)
{
  static const char *const region[LOOM_N_REGIONS] = { "forward pass", "backward pass", "update" };
  FirstNonFinite first = { .own = own, .state = state };
  g_autoptr (GError) error = NULL;
  g_autofree char *name = NULL, *steps = NULL;
  char *sentence;

  walk (t, plan, batch, t->device, &first, &error);
  /* Every value of the walk stays, which may be more than a card has beside the run. */
  if (g_error_matches (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY))
    walk (t, plan, batch, "cpu", &first, NULL);
  if (first.instr == NULL)
    return g_strdup ("Repeating the batch instruction by instruction did not show the place");
  if (first.instr->origin != NULL)
    set_failed_node (t, first.instr->origin, NULL);
  t->weights_overflow = first.instr->region != LOOM_REGION_UPDATE;
  name = name_of (&first);
  steps = first.steps != NULL ? g_string_free (first.steps, FALSE) : NULL;
  sentence = g_strdup_printf ("It first appeared at %s (%s, %s)%s, as %s", name, first.instr->prim->name,
                              region[first.instr->region], steps != NULL ? steps : "",
                              isnan (first.value) ? "NaN"
                              : first.value > 0   ? "infinity"
                                                  : "minus infinity");
  return sentence;
}

/* From the newest checkpoint, as the weights of now would fail again. */
static char *
resume_hint (LoomTrainer *t)
{
  char lr[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *from = t->clock.saved_step > 0
                              ? g_strdup_printf ("Continue from step %" G_GINT64_FORMAT, t->clock.saved_step)
                              : g_strdup ("No step is saved yet; begin again");

  g_autofree char *words = loom_trainer_resume_words (t);

  return g_strdup_printf (" %s with: %s --lr %s", from, words,
                          g_ascii_formatd (lr, sizeof lr, "%.4g", t->place.base_lr / 10));
}

void
trainer_explain_nan (LoomTrainer *t, TrainerPlan *plan, const LoomBatch *batch, GError **error)
{
  g_autofree char *where = bad_start (t, batch), *go_on = NULL;
  gboolean is_part = t->comm != NULL && t->comm->size > 1;
  /* A program that is divided among ranks is walked through by none of them. */
  g_autoptr (LoomStep) own = is_part ? loom_step_new (t->graph, t->spec, batch->n_own, TRUE, NULL) : NULL;
  g_autoptr (LoomState) state = NULL;
  /* Parts of a state are gathered by all ranks or by none. */
  gboolean lacking = trainer_any_rank (t, is_part && own == NULL);
  const char *hint = "The weights are those before that step.";

  loom_state_set_scalar (t->state, "step", t->place.step);
  if (!loom_state_is_divided (t->state))
    state = loom_state_ref (t->state);
  else if (!lacking)
    state = trainer_whole_state (t, own->program, NULL);
  if (where == NULL)
    {
      where = state != NULL && (own != NULL || !is_part)
                  ? search (t, plan, batch, own, state)
                  : g_strdup ("Repeating the step on this rank alone did not show the place");
      hint = "A smaller learning rate, gradient clipping or scaled inputs usually help.";
    }
  /* What one rank found among its own samples decides for all whether the run is worth a checkpoint. */
  t->weights_overflow = trainer_any_rank (t, t->weights_overflow);
  if (t->weights_overflow && t->folder != NULL && t->place.base_lr > 0)
    go_on = resume_hint (t);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_NAN,
               "The numbers of step %" G_GINT64_FORMAT " (epoch %" G_GINT64_FORMAT ") are no longer finite. %s. %s%s",
               t->place.step + 1, t->place.epoch + 1, where, hint, go_on != NULL ? go_on : "");
}
