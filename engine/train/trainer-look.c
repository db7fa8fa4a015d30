/* What a view asks of all ranks: the loss of each one's samples, step by step, and what each holds of the memory.
 *
 * Rank 0 is asked, and tells the others before the next step, as it tells them of a trace (trainer-ranks.c). While
 * losses are asked for, steps have plans of their own, which make each rank's loss as well; as long as nobody asks,
 * nothing is computed, exchanged or kept. */
#include "engine/core/loom-bytes.h"
#include "engine/train/trainer-private.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define STAYS 3    /* seconds behind a question, after which losses are told no more */
#define MOST  4096 /* steps that wait for the next question */

/* What a rank tells of its memory. Plain memory. */
typedef struct
{
  gint64 process, before, resident, most;
  guint64 bytes[LOOM_N_OWNERS], used, total;
  char device[32];
} Memory;

void
trainer_look_init (LoomTrainer *t)
{
  TrainerLook *look = &t->look;

  look->before = loom_bytes_of_process (FALSE);
  if (t->comm == NULL)
    return;
  look->all = g_new (double, (gsize)t->comm->size);
  look->bytes = g_new (int64_t, (gsize)t->comm->size);
}

void
trainer_look_free (TrainerLook *look)
{
  g_free (look->kept);
  g_free (look->all);
  g_free (look->bytes);
  g_free (look->memory);
}

int
trainer_look_wanted (LoomTrainer *t)
{
  TrainerLook *look = &t->look;

  if ((look->wanted & TRAINER_LOOK_LOSSES) && g_get_monotonic_time () - look->asked > STAYS * G_USEC_PER_SEC)
    look->wanted &= ~TRAINER_LOOK_LOSSES;
  return look->wanted;
}

/* ---- between two steps ---------------------------------------------------------------- */

void
trainer_look_batch (LoomTrainer *t, const TrainerPlan *plan, gint64 part, double share)
{
  if (part == 0)
    t->look.own = 0;
  t->look.own += plan->own >= 0 ? loom_exec_scalar (plan->exec, (guint)plan->own) * share : NAN;
}

static gboolean
gather (LoomTrainer *t, const void *own, gsize size, void *all, GError **error)
{
  LoomMessage message = { "" };

  for (int k = 0; k < t->comm->size; k++)
    t->look.bytes[k] = (int64_t)size;
  return trainer_ok (t->comm->all_gather (t->comm, own, all, t->look.bytes, &message), &message, error);
}

/* A step's row of kept[]: its number, its loss, and that of each rank. */
static double *
row (const LoomTrainer *t, guint i)
{
  return t->look.kept + (gsize)i * (2 + (gsize)t->comm->size);
}

/* Nothing is made within a step: the answer makes the text. */
static void
keep_losses (LoomTrainer *t, double loss, const double *own)
{
  TrainerLook *look = &t->look;

  if (look->n_kept == MOST)
    {
      memmove (look->kept, row (t, MOST / 2), (gsize)((char *)row (t, MOST) - (char *)row (t, MOST / 2)));
      look->n_kept = MOST / 2;
    }
  double *to = row (t, look->n_kept++);
  to[0] = (double)t->place.step;
  to[1] = loss;
  memcpy (to + 2, own, (gsize)t->comm->size * sizeof *own);
}

static void
add_losses (const LoomTrainer *t, const double *from, GString *text)
{
  g_autoptr (LoomJson) line = loom_json_new ();

  loom_json_begin_object (line, NULL);
  loom_json_int (line, "step", (gint64)from[0]);
  loom_json_exact (line, "loss", from[1]);
  loom_json_begin_array (line, "ranks");
  for (int k = 0; k < t->comm->size; k++)
    loom_json_exact (line, NULL, from[2 + k]);
  loom_json_end_array (line);
  loom_json_end_object (line);
  g_string_append (text, loom_json_text (line));
  g_string_append_c (text, '\n');
}

static Memory
own_memory (LoomTrainer *t)
{
  Memory own = { .process = getpid (), .before = (gint64)t->look.before };
  gsize bytes[LOOM_N_OWNERS] = { 0 };

  own.resident = (gint64)loom_bytes_of_process (FALSE);
  own.most = (gint64)loom_bytes_of_process (TRUE);
  loom_trainer_memory (t, bytes);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    own.bytes[o] = bytes[o];
  trainer_memory_ask (t);
  own.used = t->device_memory.used;
  own.total = t->device_memory.total;
  g_strlcpy (own.device, t->device, sizeof own.device);
  return own;
}

static void
add_memory (GString *text, int rank, const Memory *memory)
{
  g_autoptr (LoomJson) line = loom_json_new ();
  guint64 sum = 0;

  loom_json_begin_object (line, NULL);
  loom_json_int (line, "rank", rank);
  loom_json_int (line, "process", memory->process);
  loom_json_string (line, "device", memory->device);
  loom_json_begin_object (line, "bytes");
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    {
      loom_json_int (line, loom_owner_name ((LoomOwner)o), (gint64)memory->bytes[o]);
      sum += memory->bytes[o];
    }
  loom_json_end_object (line);
  loom_json_int (line, "held", (gint64)sum);
  loom_json_int (line, "process_before", memory->before);
  loom_json_int (line, "process_now", memory->resident);
  loom_json_int (line, "process_most", memory->most);
  if (memory->total > 0)
    {
      loom_json_int (line, "device_used", (gint64)memory->used);
      loom_json_int (line, "device_total", (gint64)memory->total);
    }
  loom_json_end_object (line);
  g_string_append (text, loom_json_text (line));
  g_string_append_c (text, '\n');
}

static void
keep_memory (LoomTrainer *t, int n, const Memory *all)
{
  GString *text = g_string_new (NULL);

  for (int k = 0; k < n; k++)
    add_memory (text, k, &all[k]);
  g_free (t->look.memory);
  t->look.memory = g_string_free (text, FALSE);
}

gboolean
trainer_look_step (LoomTrainer *t, double loss, GError **error)
{
  if (t->look.on & TRAINER_LOOK_LOSSES)
    {
      if (!gather (t, &t->look.own, sizeof t->look.own, t->look.all, error))
        return FALSE;
      if (t->comm->rank == 0)
        keep_losses (t, loss, t->look.all);
    }
  return trainer_look_round (t, error);
}

gboolean
trainer_look_round (LoomTrainer *t, GError **error)
{
  g_autofree Memory *memory = NULL;
  Memory own;

  if ((t->look.on & TRAINER_LOOK_MEMORY) == 0)
    return TRUE;
  own = own_memory (t);
  memory = g_new (Memory, (gsize)t->comm->size);
  if (!gather (t, &own, sizeof own, memory, error))
    return FALSE;
  if (t->comm->rank == 0)
    keep_memory (t, t->comm->size, memory);
  /* Once for each question. */
  t->look.on &= ~TRAINER_LOOK_MEMORY;
  t->look.wanted &= ~TRAINER_LOOK_MEMORY;
  return TRUE;
}

void
trainer_look_served (LoomTrainer *t, double loss, const double *own)
{
  if ((t->look.on & TRAINER_LOOK_LOSSES) == 0)
    return;
  t->look.all[0] = NAN;
  memcpy (t->look.all + 1, own, (gsize)(t->comm->size - 1) * sizeof *own);
  keep_losses (t, loss, t->look.all);
}

/* ---- answers --------------------------------------------------------------------------- */

LoomTensor *
trainer_text_answer (const char *text, GError **error)
{
  gint64 n = (gint64)strlen (text);
  LoomTensor *answer = loom_tensor_new (LOOM_U8, 1, &n, error);

  if (answer != NULL)
    memcpy (answer->data, text, (gsize)n);
  return answer;
}

LoomTensor *
trainer_losses_answer (LoomTrainer *t, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  TrainerLook *look = &t->look;

  look->wanted |= TRAINER_LOOK_LOSSES;
  look->asked = g_get_monotonic_time ();
  if (look->kept == NULL && t->comm != NULL)
    look->kept = g_new (double, (2 + (gsize)t->comm->size) * MOST);
  for (guint i = 0; i < look->n_kept; i++)
    add_losses (t, row (t, i), text);
  look->n_kept = 0;
  return trainer_text_answer (text->str, error);
}

LoomTensor *
trainer_memory_answer (LoomTrainer *t, GError **error)
{
  t->look.wanted |= TRAINER_LOOK_MEMORY;
  if (t->comm == NULL)
    {
      Memory own = own_memory (t);

      keep_memory (t, 1, &own);
    }
  return trainer_text_answer (t->look.memory != NULL ? t->look.memory : "", error);
}
