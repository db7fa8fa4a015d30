/* The values that observers query from all ranks. */
#include "engine/train/rank-reports.h"

#include "engine/core/loom-bytes.h"
#include "engine/core/loom-json.h"
#include "engine/core/loom-os.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define STAYS 3    /* seconds after a query until losses are no longer reported */
#define MOST  4096 /* steps that are kept for the next query */

void
rank_reports_init (RankReports *self)
{
  self->before = loom_bytes_of_process (FALSE);
  if (self->group->comm != NULL)
    self->all = g_new (double, (gsize)self->group->comm->size);
}

void
rank_reports_clear (RankReports *self)
{
  g_clear_pointer (&self->kept, g_free);
  g_clear_pointer (&self->all, g_free);
  g_clear_pointer (&self->memory, g_free);
}

int
rank_reports_wanted (RankReports *self)
{
  if ((self->wanted & RANK_REPORT_LOSSES) && loom_monotonic () - self->queried > STAYS * G_USEC_PER_SEC)
    self->wanted &= ~RANK_REPORT_LOSSES;
  return self->wanted;
}

/* ---- between two steps ---------------------------------------------------------------- */

void
rank_reports_batch (RankReports *self, double own, gint64 part, double share)
{
  if (part == 0)
    self->own = 0;
  self->own += own * share;
}

/* A step's row of kept[]: its number, its loss, and the loss of each rank. */
static double *
row (const RankReports *self, guint i)
{
  return self->kept + (gsize)i * (2 + (gsize)self->group->comm->size);
}

/* No text is formatted within a step, only in a query. */
static void
keep_losses (RankReports *self, gint64 step, double loss, const double *own)
{
  if (self->n_kept == MOST)
    {
      memmove (self->kept, row (self, MOST / 2), (gsize)((char *)row (self, MOST) - (char *)row (self, MOST / 2)));
      self->n_kept = MOST / 2;
    }
  double *to = row (self, self->n_kept++);
  to[0] = (double)step;
  to[1] = loss;
  memcpy (to + 2, own, (gsize)self->group->comm->size * sizeof *own);
}

static void
add_losses (const RankReports *self, const double *from, GString *text)
{
  g_autoptr (LoomJson) line = loom_json_new ();

  loom_json_begin_object (line, NULL);
  loom_json_int (line, "step", (gint64)from[0]);
  loom_json_exact (line, "loss", from[1]);
  loom_json_begin_array (line, "ranks");
  for (int k = 0; k < self->group->comm->size; k++)
    loom_json_exact (line, NULL, from[2 + k]);
  loom_json_end_array (line);
  loom_json_end_object (line);
  g_string_append (text, loom_json_text (line));
  g_string_append_c (text, '\n');
}

static RankMemory
own_memory (RankReports *self)
{
  RankMemory own = { .process = getpid (), .before = (gint64)self->before };

  own.resident = (gint64)loom_bytes_of_process (FALSE);
  own.most = (gint64)loom_bytes_of_process (TRUE);
  self->measure (&own, self->measure_data);
  return own;
}

static void
add_memory (GString *text, int rank, const RankMemory *memory)
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
keep_memory (RankReports *self, int n, const RankMemory *all)
{
  GString *text = g_string_new (NULL);

  for (int k = 0; k < n; k++)
    add_memory (text, k, &all[k]);
  g_free (self->memory);
  self->memory = g_string_free (text, FALSE);
}

gboolean
rank_reports_step (RankReports *self, gint64 step, double loss, GError **error)
{
  if (self->on & RANK_REPORT_LOSSES)
    {
      if (!rank_group_gather (self->group, &self->own, sizeof self->own, self->all, error))
        return FALSE;
      if (self->group->comm->rank == 0)
        keep_losses (self, step, loss, self->all);
    }
  return rank_reports_round (self, error);
}

gboolean
rank_reports_round (RankReports *self, GError **error)
{
  g_autofree RankMemory *memory = NULL;
  RankMemory own;

  if ((self->on & RANK_REPORT_MEMORY) == 0)
    return TRUE;
  own = own_memory (self);
  memory = g_new (RankMemory, (gsize)self->group->comm->size);
  if (!rank_group_gather (self->group, &own, sizeof own, memory, error))
    return FALSE;
  if (self->group->comm->rank == 0)
    keep_memory (self, self->group->comm->size, memory);
  /* Once for each query. */
  self->on &= ~RANK_REPORT_MEMORY;
  self->wanted &= ~RANK_REPORT_MEMORY;
  return TRUE;
}

void
rank_reports_served (RankReports *self, gint64 step, double loss, const double *own)
{
  if ((self->on & RANK_REPORT_LOSSES) == 0)
    return;
  self->all[0] = NAN;
  memcpy (self->all + 1, own, (gsize)(self->group->comm->size - 1) * sizeof *own);
  keep_losses (self, step, loss, self->all);
}

/* ---- queries --------------------------------------------------------------------------- */

char *
rank_reports_losses (RankReports *self)
{
  GString *text = g_string_new (NULL);

  self->wanted |= RANK_REPORT_LOSSES;
  self->queried = loom_monotonic ();
  if (self->kept == NULL && self->group->comm != NULL)
    self->kept = g_new (double, (2 + (gsize)self->group->comm->size) * MOST);
  for (guint i = 0; i < self->n_kept; i++)
    add_losses (self, row (self, i), text);
  self->n_kept = 0;
  return g_string_free (text, FALSE);
}

char *
rank_reports_memory (RankReports *self)
{
  self->wanted |= RANK_REPORT_MEMORY;
  if (self->group->comm == NULL)
    {
      RankMemory own = own_memory (self);

      keep_memory (self, 1, &own);
    }
  return g_strdup (self->memory != NULL ? self->memory : "");
}
