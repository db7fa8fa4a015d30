/* The trace of one step.
 *
 * A rank records when its exchanges begin and end. Exchanges of a line of the mesh are the same, in the same order, on
 * all of its ranks, so the records of all ranks show how long each waited until the last rank began; the rest is
 * communication. This requires no action within the step. An exchange that overlaps the computation
 * (engine/plan/plan-comm-thread.c, or a device's stream) is timed separately, and a wait of the computation for it is a
 * wait. */
#include "engine/train/step-trace.h"
#include "engine/core/loom-os.h"

#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-refuse.h"
#include "engine/train/loom-step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 1000000000 /* of the traces of all ranks */
#define WARM       5          /* steps before the one that is recorded for a file */
#define CLOCKS     9          /* number of barriers by which clocks of several machines are compared */

static const char nothing[] = "{\"traceEvents\":[]}";

void
step_trace_clear (StepTrace *self)
{
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->text, g_free);
  g_clear_pointer (&self->spans, g_array_unref);
  g_clear_pointer (&self->lanes, g_array_unref);
}

/* ---- recording ----------------------------------------------------------------- */

void
step_trace_choose (StepTrace *self, gint64 step, gint64 last)
{
  if (self->path != NULL && self->at == 0)
    self->at = MIN (step + 1 + WARM, last);
}

gboolean
step_trace_is_due (const StepTrace *self, gint64 step)
{
  return self->wanted || (self->path != NULL && step == self->at);
}

void
step_trace_begin (StepTrace *self, gint64 step)
{
  self->active = step_trace_is_due (self, step);
  if (!self->active)
    return;
  if (self->spans == NULL)
    {
      self->spans = g_array_new (FALSE, FALSE, sizeof (LoomExecSpan));
      self->lanes = g_array_new (FALSE, TRUE, sizeof (LoomTraceSpan));
    }
  g_array_set_size (self->lanes, 0);
  self->begin = loom_nanoseconds ();
}

/* TRUE if the computation waits for an exchange that overlaps it. */
static gboolean
is_wait (const LoomPlanInstr *instr)
{
  return loom_plan_exchanges (instr) && instr->n_in + instr->n_out == 0;
}

static double
bytes_between (const LoomPlan *plan, const LoomPlanInstr *instr, guint first, guint end)
{
  double bytes = 0;

  for (guint k = first; k < end; k++)
    if (instr->value[k] != G_MAXUINT)
      bytes += (double)loom_desc_bytes (&loom_plan_value (plan, instr->value[k])->desc);
  return bytes;
}

/* The bytes that are communicated, or read and written. A send has no results, so its operands count. */
static double
bytes_of (const LoomPlan *plan, const LoomPlanInstr *instr)
{
  double bytes;

  if (!loom_plan_exchanges (instr))
    return instr->bytes;
  bytes = bytes_between (plan, instr, instr->n_in, instr->n_in + instr->n_out);
  return bytes > 0 ? bytes : bytes_between (plan, instr, 0, instr->n_in);
}

/* An instruction's label. Stages have numbers along the pipeline, but readers of a trace know ranks by their numbers in
 * the whole run. (transfer full) */
static char *
label_of (const StepTrace *self, const LoomPlanInstr *instr)
{
  static const char rank[] = " rank ";
  const char *at = loom_plan_exchanges (instr) && instr->along == LOOM_MESH_PIPELINE && self->group->comm != NULL
                       ? strstr (instr->label, rank)
                       : NULL;
  char *rest = NULL;
  int other;

  if (at == NULL)
    return g_strdup (instr->label);
  other = (int)strtol (at + strlen (rank), &rest, 10);
  other = self->group->comm->rank
          + (other - self->group->mesh.at[LOOM_MESH_PIPELINE]) * self->group->mesh.size[LOOM_MESH_TENSOR];
  return g_strdup_printf ("%.*s%s%d%s", (int)(at - instr->label), instr->label, rank, other, rest);
}

/* The lane of a device, of communication between ranks, or of the copies that a device makes to others while it
 * computes. (transfer full) */
static char *
lane_of (const LoomPlan *plan, const LoomPlanInstr *instr)
{
  if (loom_plan_exchanges (instr))
    return g_strdup ("exchange");
  if (!instr->is_send)
    return g_strdup (loom_plan_device (plan, instr->device)->name);
  return g_strdup_printf ("from %s",
                          loom_plan_device (plan, loom_plan_value (plan, instr->value[0])->location.device)->name);
}

static const LoomTracePhase phases[LOOM_N_REGIONS] = { [LOOM_REGION_FORWARD] = LOOM_TRACE_FORWARD,
                                                       [LOOM_REGION_BACKWARD] = LOOM_TRACE_BACKWARD,
                                                       [LOOM_REGION_UPDATE] = LOOM_TRACE_UPDATE };

static void
add_instr (StepTrace *self, const LoomPlan *plan, const LoomExecSpan *span)
{
  const LoomPlanInstr *instr = span->instr;
  g_autofree char *purpose = instr->origin == NULL ? loom_plan_purpose (plan, instr) : NULL;
  LoomTraceSpan to = { .rank = self->group->comm != NULL ? self->group->comm->rank : 0,
                       /* A copy between devices has no kernel and computes nothing, either. */
                       .kind = is_wait (instr)                                        ? LOOM_TRACE_WAIT
                               : loom_plan_exchanges (instr) || instr->kernel == NULL ? LOOM_TRACE_EXCHANGE
                                                                                      : LOOM_TRACE_COMPUTE,
                       .phase = phases[instr->region],
                       .pass = (gint32)instr->pass,
                       .along = instr->along,
                       .begin = span->begin,
                       .end = span->end,
                       .bytes = bytes_of (plan, instr) };

  g_autofree char *label = NULL, *lane = lane_of (plan, instr);

  /* “F3 matmul”: in the forward pass of the third micro-batch. */
  if (instr->pass > 0 && to.kind == LOOM_TRACE_COMPUTE)
    label = g_strdup_printf ("%c%u %s", instr->pass % 2 == 1 ? 'F' : 'B', (instr->pass + 1) / 2, instr->label);
  else
    label = label_of (self, instr);
  loom_trace_add (self->lanes, &to, lane, label, instr->origin != NULL ? instr->origin : purpose);
}

gboolean
step_trace_run (StepTrace *self, LoomExec *exec, GError **error)
{
  gint64 waited = loom_nanoseconds ();
  gboolean ok;

  if (self->lanes->len == 0)
    {
      LoomTraceSpan wait = { .rank = self->group->comm != NULL ? self->group->comm->rank : 0,
                             .kind = LOOM_TRACE_WAIT,
                             .begin = self->begin,
                             .end = waited };

      loom_trace_add (self->lanes, &wait, self->model->device, "wait", "the batch");
    }
  g_array_set_size (self->spans, 0);
  loom_exec_trace (exec, self->spans);
  ok = loom_exec_run (exec, error);
  loom_exec_trace (exec, NULL);
  for (guint i = 0; ok && i < self->spans->len; i++)
    add_instr (self, loom_exec_plan (exec), &g_array_index (self->spans, LoomExecSpan, i));
  return ok;
}

/* ---- all ranks together ----------------------------------------------------------- */

static int
compare (gconstpointer a, gconstpointer b)
{
  gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

  return x < y ? -1 : x > y;
}

/* The offset of this machine's clock from rank 0's, measured by barriers, which all ranks leave at about the same time.
 */
static gboolean
compare_clocks (LoomComm *comm, gint64 *ahead, GError **error)
{
  gint64 away[CLOCKS];
  LoomMessage message = { "" };

  *ahead = 0;
  for (int i = 0; i < CLOCKS && comm->local_size < comm->size; i++)
    {
      gint64 own, first;

      if (!rank_group_check (comm->barrier (comm, &message), &message, error))
        return FALSE;
      own = first = loom_nanoseconds ();
      if (!rank_group_check (comm->broadcast (comm, &first, sizeof first, 0, &message), &message, error))
        return FALSE;
      away[i] = own - first;
    }
  if (comm->local_size < comm->size)
    {
      qsort (away, CLOCKS, sizeof *away, compare);
      *ahead = away[CLOCKS / 2];
    }
  return TRUE;
}

/* FALSE: the ranks do not have these numbers of bytes, of whole spans. */
static gboolean
add_bytes (const int64_t *bytes, int n, int64_t *sum)
{
  *sum = 0;
  for (int k = 0; k < n; k++)
    {
      if (bytes[k] < 0 || bytes[k] > MOST_BYTES || bytes[k] % (int64_t)sizeof (LoomTraceSpan) != 0)
        return FALSE;
      *sum += bytes[k];
    }
  return *sum <= MOST_BYTES;
}

/* The spans of all ranks, in order. */
static GArray *
gather_spans (StepTrace *self, GError **error)
{
  LoomComm *comm = self->group->comm;
  GArray *own = self->lanes;
  g_autofree int64_t *bytes = g_new0 (int64_t, (gsize)comm->size), *eight = g_new (int64_t, (gsize)comm->size);
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (LoomTraceSpan));
  int64_t mine = (int64_t)(own->len * sizeof (LoomTraceSpan)), sum;
  LoomMessage message = { "" };

  for (int k = 0; k < comm->size; k++)
    eight[k] = sizeof mine;
  if (!rank_group_check (comm->all_gather (comm, &mine, bytes, eight, &message), &message, error))
    return NULL;
  if (!add_bytes (bytes, comm->size, &sum))
    return loom_refuse_null (error, LOOM_ERROR_DIST, "The traces of the ranks are larger than 1 GB.");
  g_array_set_size (all, (guint)(sum / (int64_t)sizeof (LoomTraceSpan)));
  if (!rank_group_check (comm->all_gather (comm, own->data, all->data, bytes, &message), &message, error))
    return NULL;
  return g_steal_pointer (&all);
}

/* TRUE for a transfer between stages of a pipeline. */
static gboolean
is_between_two (const LoomTraceSpan *span)
{
  return span->kind == LOOM_TRACE_EXCHANGE
         && (g_str_has_prefix (span->label, "send ") || g_str_has_prefix (span->label, "receive "));
}

/* TRUE for a copy between devices of one rank. */
static gboolean
is_copy (const LoomTraceSpan *span)
{
  return span->kind == LOOM_TRACE_EXCHANGE && g_str_has_prefix (span->label, "copy ");
}

/* The key of an exchange, equal on all ranks of a line: its axis, its first rank, and its number. (transfer full) */
static char *
name_of (const LoomMesh *mesh, const LoomTraceSpan *span, guint k)
{
  LoomMesh first = loom_mesh (span->rank, mesh->size);

  first.at[span->along] = 0;
  return g_strdup_printf ("%d %d %d %d %u", span->along, first.at[0], first.at[1], first.at[2], k);
}

/* Calls func for each exchange of a line with its key. */
static void
foreach_exchange (GArray *spans, const LoomMesh *mesh,
                  void (*func) (GArray *spans, guint i, char *name, GHashTable *last), GHashTable *last)
{
  guint k[LOOM_MESH_AXES] = { 0 }, len = spans->len;
  gint32 rank = -1;

  for (guint i = 0; i < len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);

      if (span->rank != rank)
        memset (k, 0, sizeof k);
      rank = span->rank;
      if (span->kind == LOOM_TRACE_EXCHANGE && !is_between_two (span) && !is_copy (span))
        func (spans, i, name_of (mesh, span, k[span->along]++), last);
    }
}

/* The time at which the last rank begins it, by key. */
static void
find_last (GArray *spans, guint i, char *name, GHashTable *last)
{
  gint64 begin = g_array_index (spans, LoomTraceSpan, i).begin, *known = g_hash_table_lookup (last, name);

  if (known != NULL)
    begin = MAX (begin, *known);
  g_hash_table_insert (last, name, g_memdup2 (&begin, sizeof begin));
}

/* An exchange that began before the others arrived is divided into a wait and an exchange. */
static void
split_wait (GArray *spans, guint i, char *name, GHashTable *last)
{
  LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i), wait = *span;
  gint64 begin = MIN (*(gint64 *)g_hash_table_lookup (last, name), span->end);

  g_free (name);
  if (begin <= span->begin)
    return;
  wait.kind = LOOM_TRACE_WAIT;
  wait.end = span->begin = begin;
  wait.bytes = 0;
  g_array_append_val (spans, wait);
}

/* A stage that receives waits until the other one has sent: until the end of the first unmatched span of that node,
 * micro-batch and rank. */
static void
split_receives (GArray *spans)
{
  guint len = spans->len;
  g_autoptr (GHashTable) sent = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_queue_free);

  for (int receiving = 0; receiving < 2; receiving++)
    for (guint i = 0; i < len; i++)
      {
        LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i), wait = *span;
        int other = 0, micro = 0;
        GQueue *queue;
        gint64 *end;

        if (!is_between_two (span) || g_str_has_prefix (span->label, "receive ") != receiving
            || sscanf (span->label,
                       receiving ? "receive from rank %d, micro-batch %d" : "send to rank %d, micro-batch %d", &other,
                       &micro)
                   < 1)
          continue;
        g_autofree char *key = g_strdup_printf ("%d %d %d %s", receiving ? other : span->rank,
                                                receiving ? span->rank : other, micro, span->node);
        queue = g_hash_table_lookup (sent, key);
        if (!receiving)
          {
            if (queue == NULL)
              g_hash_table_insert (sent, g_steal_pointer (&key), queue = g_queue_new ());
            g_queue_push_tail (queue, g_memdup2 (&span->end, sizeof span->end));
            continue;
          }
        end = queue != NULL ? g_queue_pop_head (queue) : NULL;
        if (end != NULL && *end > span->begin)
          {
            wait.kind = LOOM_TRACE_WAIT;
            wait.end = span->begin = MIN (*end, span->end);
            wait.bytes = 0;
            g_array_append_val (spans, wait);
          }
        g_free (end);
      }
}

/* The fraction of the time from the first pass's beginning to the last one's end in which ranks do not compute.
 * Negative: there are no passes. */
static double
measure_bubble (const GArray *spans, int ranks)
{
  gint64 first = G_MAXINT64, last = 0, busy = 0;

  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);

      if (span->kind != LOOM_TRACE_COMPUTE || span->pass == 0)
        continue;
      first = MIN (first, span->begin);
      last = MAX (last, span->end);
      busy += span->end - span->begin;
    }
  return last > first ? 1 - (double)busy / ((double)ranks * (double)(last - first)) : -1;
}

static gboolean
join_ranks (StepTrace *self, GError **error)
{
  gint64 ahead;
  GArray *all;

  if (!compare_clocks (self->group->comm, &ahead, error))
    return FALSE;
  for (guint i = 0; i < self->lanes->len; i++)
    {
      LoomTraceSpan *span = &g_array_index (self->lanes, LoomTraceSpan, i);

      span->begin -= ahead;
      span->end -= ahead;
    }
  all = gather_spans (self, error);
  if (all == NULL)
    return FALSE;
  if (self->group->comm->rank == 0)
    {
      g_autoptr (GHashTable) last = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

      foreach_exchange (all, &self->group->mesh, find_last, last);
      foreach_exchange (all, &self->group->mesh, split_wait, last);
      split_receives (all);
    }
  g_array_unref (self->lanes);
  self->lanes = all;
  return TRUE;
}

/* (transfer full) */
static char *
title_of (const StepTrace *self, gint64 step)
{
  int stages = self->model->spec->parallel.pipeline;
  double bubble = stages > 1 && self->group->comm != NULL ? measure_bubble (self->lanes, self->group->comm->size) : -1;
  int micros = bubble >= 0 ? loom_step_microbatches (self->model->spec, self->model->spec->batch_size,
                                                     self->group->mesh.size[LOOM_MESH_DATA])
                           : 0;

  if (bubble < 0)
    return g_strdup_printf ("step %" G_GINT64_FORMAT, step);
  return g_strdup_printf ("step %" G_GINT64_FORMAT ": bubble %.1f %%; ideal (K-1)/(M+K-1) = %d/%d = %.1f %%", step,
                          bubble * 100, stages - 1, micros + stages - 1, 100 * (stages - 1.0) / (micros + stages - 1));
}

/* The run's own trace is in its folder; another is written to the user's path. */
static gboolean
write_file (const StepTrace *self, LoomFolder *files, GError **error)
{
  const char *text = self->text;

  return self->is_optional && files != NULL ? loom_folder_replace (files, LOOM_TRACE_FILE, text, strlen (text), error)
                                            : loom_file_replace (self->path, text, strlen (text), error);
}

gboolean
step_trace_end (StepTrace *self, gint64 step, LoomFolder *files, GError **error)
{
  gint64 first = G_MAXINT64;
  g_autofree char *title = NULL;
  gboolean to_file = self->path != NULL && step == self->at;

  self->active = self->wanted = FALSE;
  if (self->group->comm != NULL && self->group->comm->size > 1 && !join_ranks (self, error))
    return FALSE;
  if (self->group->comm != NULL && self->group->comm->rank > 0)
    return TRUE;
  for (guint i = 0; i < self->lanes->len; i++)
    first = MIN (first, g_array_index (self->lanes, LoomTraceSpan, i).begin);
  for (guint i = 0; i < self->lanes->len; i++)
    {
      g_array_index (self->lanes, LoomTraceSpan, i).begin -= first;
      g_array_index (self->lanes, LoomTraceSpan, i).end -= first;
    }
  loom_trace_sort (self->lanes);
  title = title_of (self, step);
  g_free (self->text);
  self->text = loom_trace_to_text (self->lanes, title);
  if (to_file)
    self->is_written = write_file (self, files, error);
  return !to_file || self->is_written;
}

const char *
step_trace_text (StepTrace *self)
{
  self->wanted = TRUE;
  return self->text != NULL ? self->text : nothing;
}
