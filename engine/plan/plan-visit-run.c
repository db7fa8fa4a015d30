/* Runs the kernel of switch and visit. The host reads which rows form each group. For each group it copies the rows'
 * inputs to the smallest body that holds them, runs the body's kernels, and copies the results out. plan-visit.c makes
 * the kernel. */
#include "engine/plan/plan-visit.h"

#include <string.h>

/* ---- bytes ---------------------------------------------------------------------- */

static LoomStatus
copy (const Visit *v, LoomStream *stream, void *to, const void *from, gsize bytes, LoomCopyKind kind,
      LoomMessage *message)
{
  return plan_body_copy (v->s.device, stream, to, from, bytes, kind, message);
}

static LoomStatus
clear (const Visit *v, LoomStream *stream, void *to, gsize bytes, LoomMessage *message)
{
  if (v->s.device->info.host_memory)
    {
      memset (to, 0, bytes);
      return LOOM_STATUS_OK;
    }
  return copy (v, stream, to, v->zeros, bytes, LOOM_COPY_HOST_TO_DEVICE, message);
}

/* Returns n numbers of a buffer for the host. If the host cannot read the buffer, they are copied to `mirror`. */
static const gint64 *
read_numbers (const Visit *v, LoomStream *stream, const void *buffer, gint64 n, gint64 *mirror, LoomStatus *status,
              LoomMessage *message)
{
  if (v->s.device->info.host_memory || *status != LOOM_STATUS_OK)
    return buffer;
  *status = copy (v, stream, mirror, buffer, (gsize)n * sizeof (gint64), LOOM_COPY_DEVICE_TO_HOST, message);
  if (*status == LOOM_STATUS_OK)
    *status = v->s.device->backend->stream_sync (v->s.device->device, stream, message);
  return mirror;
}

/* ---- links ------------------------------------------------------------------------ */

static VisitLinkKernels *
link_kernels_of (const Visit *v, guint body, guint link)
{
  return &v->link_kernels[body / v->attrs.n_branches * v->attrs.n_links + link];
}

/* Writes the rows of the parents' tables for the n rows from `first` on; padding rows get the unused row. */
static LoomStatus
write_parent_rows (const Visit *v, LoomStream *stream, gint64 first, gint64 n, gint64 size, LoomMessage *message)
{
  gint64 *list = v->s.device->info.host_memory ? (gint64 *)(gpointer)(v->s.scratch + v->index) : v->list;

  for (gint64 i = 0; i < size; i++)
    list[i] = i < n ? v->dest[first + i] : visit_table_rows (v) - 1;
  if (v->s.device->info.host_memory)
    return LOOM_STATUS_OK;
  return copy (v, stream, v->s.scratch + v->index, list, (gsize)size * sizeof (gint64), LOOM_COPY_HOST_TO_DEVICE,
               message);
}

static LoomStatus
run_kernel (const Visit *v, LoomKernel *kernel, LoomStream *stream, guint n, void *const *buffers, LoomMessage *message)
{
  void *all[5];

  for (guint k = 0; k < n; k++)
    all[k] = buffers[k];
  all[n] = kernel->scratch_bytes > 0 ? v->s.scratch + v->kernel : NULL;
  return kernel->run (kernel, stream, all, message);
}

/* Copies a group's rows of link tables to the inputs of the body. */
static LoomStatus
load_links (Visit *v, LoomStream *stream, guint body, gint64 first, gint64 n, LoomMessage *message)
{
  const LoomVisitAttrs *a = &v->attrs;
  gint64 size = a->size[body / a->n_branches];
  LoomStatus status = LOOM_STATUS_OK;

  for (guint i = 0; i < visit_n_links_in (a) && status == LOOM_STATUS_OK; i++)
    {
      guint input = v->attrs.n_rows + i, link = a->down ? i : i / a->slots;
      gsize bytes = v->in_bytes[input];
      char *table = v->s.scratch + v->table_offset[link], *to = v->s.scratch + v->input_offset[input];

      plan_body_set (&v->s.body[body]->in[input], to);
      if (a->down)
        {
          void *buffers[] = { table, v->s.scratch + v->index, to };

          status = run_kernel (v, link_kernels_of (v, body, link)->take, stream, 3, buffers, message);
          continue;
        }
      status = copy (v, stream, to, table + (gsize)(i % a->slots * visit_n_rows (v) + first) * bytes, (gsize)n * bytes,
                     LOOM_COPY_WITHIN, message);
      if (status == LOOM_STATUS_OK && size > n)
        status = clear (v, stream, to + (gsize)n * bytes, (gsize)(size - n) * bytes, message);
    }
  return status;
}

static LoomStatus
store_links (Visit *v, LoomStream *stream, guint body, gint64 first, gint64 n, LoomMessage *message)
{
  const LoomVisitAttrs *a = &v->attrs;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint o = 0; o < visit_n_links_out (a) && status == LOOM_STATUS_OK; o++)
    {
      guint link = a->down ? o / a->slots : o;
      char *table = v->s.scratch + v->table_offset[link], *from = plan_body_output (v->s.body[body], o);

      if (a->down)
        status = copy (v, stream, table + (gsize)(o % a->slots * visit_n_rows (v) + first) * v->out_bytes[o], from,
                       (gsize)n * v->out_bytes[o], LOOM_COPY_WITHIN, message);
      else
        {
          void *spread[] = { v->s.scratch + v->index, v->s.scratch + v->wide };
          void *add[] = { table, v->s.scratch + v->wide, from, table };

          status = run_kernel (v, link_kernels_of (v, body, link)->spread, stream, 2, spread, message);
          if (status == LOOM_STATUS_OK)
            status = run_kernel (v, link_kernels_of (v, body, link)->add, stream, 4, add, message);
        }
    }
  return status;
}

/* ---- a group ------------------------------------------------------------------ */

/* Copies rows of an operand to the body's input, and fills the rest with zeros or other rows. */
static LoomStatus
copy_rows (const Visit *v, LoomStream *stream, const char *from, guint i, gint64 first, gint64 n, gint64 size,
           LoomMessage *message)
{
  gsize bytes = v->in_bytes[i];
  char *to = v->s.scratch + v->input_offset[i];
  gint64 all = i < v->attrs.n_zeroed ? n : size, straight = MIN (all, visit_n_rows (v) - first);
  LoomStatus status;

  status = copy (v, stream, to, from + (gsize)first * bytes, (gsize)straight * bytes, LOOM_COPY_WITHIN, message);
  if (status == LOOM_STATUS_OK && all > straight)
    status = copy (v, stream, to + (gsize)straight * bytes, from, (gsize)(all - straight) * bytes, LOOM_COPY_WITHIN,
                   message);
  if (status == LOOM_STATUS_OK && size > all)
    status = clear (v, stream, to + (gsize)all * bytes, (gsize)(size - all) * bytes, message);
  return status;
}

/* Sets a counter of the body: its operand plus the group's index. */
static LoomStatus
set_counter (const Visit *v, LoomStream *stream, guint k, gint64 group, LoomMessage *message)
{
  gint64 *to = (gint64 *)(gpointer)(v->s.scratch + v->input_offset[visit_first_whole (v) + k]);

  v->counter[v->attrs.n_counters + k] = v->counter[k] + group;
  return copy (v, stream, to, &v->counter[v->attrs.n_counters + k], sizeof (gint64), LOOM_COPY_HOST_TO_DEVICE, message);
}

static LoomStatus
set_inputs (Visit *v, LoomStream *stream, void *const *buffers, guint body, gint64 first, gint64 n, gint64 group,
            LoomMessage *message)
{
  const LoomVisitAttrs *a = &v->attrs;
  PlanBodyPort *in = v->s.body[body]->in;
  gint64 size = a->size[body / a->n_branches];
  LoomStatus status = LOOM_STATUS_OK;

  for (guint i = 0; i < v->n_in && status == LOOM_STATUS_OK; i++)
    {
      guint operand = visit_operand (a, i), whole = i - visit_first_whole (v);
      char *from = operand != G_MAXUINT ? buffers[operand] : NULL;

      if (in[i].value == G_MAXUINT || from == NULL)
        continue;
      if (i < a->n_rows)
        {
          plan_body_set (&in[i], v->s.scratch + v->input_offset[i]);
          status = copy_rows (v, stream, from, i, first, n, size, message);
        }
      else if (whole < a->n_counters)
        {
          plan_body_set (&in[i], v->s.scratch + v->input_offset[i]);
          status = set_counter (v, stream, whole, group, message);
        }
      else if (in[i].is_bound)
        status = copy (v, stream, in[i].at, from, v->in_bytes[i], LOOM_COPY_WITHIN, message);
      else
        plan_body_set (&in[i], from);
    }
  if (status == LOOM_STATUS_OK && a->n_links > 0)
    status = write_parent_rows (v, stream, first, n, size, message);
  return status == LOOM_STATUS_OK ? load_links (v, stream, body, first, n, message) : status;
}

static LoomStatus
take_outputs (Visit *v, LoomStream *stream, void *const *buffers, guint body, gint64 first, gint64 n,
              LoomMessage *message)
{
  const LoomVisitAttrs *a = &v->attrs;
  guint links = visit_n_links_out (a);
  LoomStatus status = store_links (v, stream, body, first, n, message);

  for (guint o = links; o < v->n_out && status == LOOM_STATUS_OK; o++)
    {
      char *to = buffers[v->n_operands + o - links], *from = plan_body_output (v->s.body[body], o);
      guint sum = o - links;

      if (to == NULL || (sum < a->n_sums && v->is_zero[body * a->n_sums + sum]))
        continue;
      if (sum >= a->n_sums)
        status = copy (v, stream, to + (gsize)first * v->out_bytes[o], from, (gsize)n * v->out_bytes[o],
                       LOOM_COPY_WITHIN, message);
      else if (v->has_sum[sum])
        status = run_kernel (v, v->add[sum], stream, 3, (void *[]){ to, from, to }, message);
      else
        status = copy (v, stream, to, from, v->out_bytes[o], LOOM_COPY_WITHIN, message);
      if (sum < a->n_sums)
        v->has_sum[sum] = TRUE;
    }
  return status;
}

static LoomStatus
call (Visit *v, LoomStream *stream, void *const *buffers, guint body, gint64 first, gint64 n, gint64 group,
      LoomMessage *message)
{
  LoomStatus status = set_inputs (v, stream, buffers, body, first, n, group, message);

  /* Setup results are recomputed for each group, because another body has used the memory since. */
  if (status == LOOM_STATUS_OK)
    status = plan_body_prepare (v->s.body[body], stream, message);
  if (status == LOOM_STATUS_OK)
    status = plan_body_run (v->s.body[body], stream, message);
  return status == LOOM_STATUS_OK ? take_outputs (v, stream, buffers, body, first, n, message) : status;
}

/* ---- all groups --------------------------------------------------------------- */

/* The smallest body for at least n rows. */
static guint
find_body (const Visit *v, gint64 n, gint64 group)
{
  const LoomVisitAttrs *a = &v->attrs;
  guint size = a->n_sizes - 1;

  while (size > 0 && a->size[size] < n)
    size--;
  return size * a->n_branches + (a->levels ? 0 : (guint)group);
}

static LoomStatus
run_groups (Visit *v, LoomStream *stream, void *const *buffers, const gint64 *group, LoomMessage *message)
{
  gint64 rows = visit_n_rows (v), done = 0;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint l = 0; l < v->attrs.n_links && status == LOOM_STATUS_OK; l++)
    {
      guint o = v->attrs.down ? l * v->attrs.slots : l;

      status = clear (v, stream, v->s.scratch + v->table_offset[l], (gsize)visit_table_rows (v) * v->out_bytes[o],
                      message);
    }
  while (done < rows && status == LOOM_STATUS_OK)
    {
      gint64 at = v->attrs.down ? rows - 1 - done : done, n = 1, first;

      while (done + n < rows && group[v->attrs.down ? at - n : at + n] == group[at])
        n++;
      first = v->attrs.down ? at - n + 1 : at;
      status = call (v, stream, buffers, find_body (v, n, group[at]), first, n, group[at], message);
      done += n;
    }
  return status;
}

static LoomStatus
run_one (Visit *v, LoomStream *stream, void *const *buffers, gint64 index, LoomMessage *message)
{
  if (index >= 0 && index < v->attrs.n_branches)
    return call (v, stream, buffers, (guint)index, 0, 0, 0, message);
  g_snprintf (message->text, sizeof message->text, "index is %" G_GINT64_FORMAT ", but the bodies are numbered 0 … %u",
              index, v->attrs.n_branches - 1);
  return LOOM_STATUS_NO_RESULT;
}

LoomStatus
visit_run (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Visit *v = (Visit *)self;
  const LoomVisitAttrs *a = &v->attrs;
  LoomStatus status = plan_schedule_fix (&v->s, buffers[v->n_operands + a->n_sums + a->n_row_results], message);
  const gint64 *group;

  group = read_numbers (v, stream, buffers[0], visit_has_rows (v) ? visit_n_rows (v) : 1, v->group, &status, message);
  if (a->n_links > 0)
    v->dest = (gint64 *)read_numbers (v, stream, buffers[1], visit_n_rows (v), v->list + visit_n_rows (v), &status,
                                      message);
  for (guint k = 0; k < a->n_counters && status == LOOM_STATUS_OK; k++)
    v->counter[k]
        = *read_numbers (v, stream, buffers[visit_n_leading (a) + a->n_rows + k], 1, &v->counter[k], &status, message);
  memset (v->has_sum, 0, sizeof (gboolean) * a->n_sums);
  if (status == LOOM_STATUS_OK)
    status = visit_has_rows (v) ? run_groups (v, stream, buffers, group, message)
                                : run_one (v, stream, buffers, group[0], message);
  for (guint k = 0; k < a->n_sums && status == LOOM_STATUS_OK; k++)
    if (!v->has_sum[k] && buffers[v->n_operands + k] != NULL)
      status = clear (v, stream, buffers[v->n_operands + k], v->out_bytes[visit_n_links_out (a) + k], message);
  return status;
}
