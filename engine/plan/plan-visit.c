/* Makes the kernel of switch and visit and reserves its scratch memory; plan-visit-run.c runs it.
 *
 * The kernel has several bodies, each with its own plan, and numbers in the data choose which body a row goes through.
 * The outer plan sees one kernel. Its scratch memory holds one arena, which the bodies use in turn, the rows of a
 * group, and the tables of the links between levels; its size does not depend on the number of groups. Rows are copied
 * in and results copied out, because the addresses of a group's rows are not multiples of 64 bytes, the alignment on
 * which kernels rely. */
#include "engine/plan/plan-visit.h"

static void
kernel_free (LoomKernel *kernel)
{
  if (kernel != NULL)
    kernel->free (kernel);
}

static void
visit_free (LoomKernel *self)
{
  Visit *v = (Visit *)self;

  plan_schedule_clear (&v->s);
  for (guint k = 0; k < MAX (v->attrs.n_sizes, 1) * v->attrs.n_links; k++)
    {
      kernel_free (v->link_kernels[k].spread);
      kernel_free (v->link_kernels[k].add);
      kernel_free (v->link_kernels[k].take);
    }
  for (guint k = 0; k < v->attrs.n_sums; k++)
    kernel_free (v->add[k]);
  g_free (v->is_zero);
  g_free (v->link_kernels);
  g_free (v->add);
  g_free (v->in_bytes);
  g_free (v->out_bytes);
  g_free (v->input_offset);
  g_free (v->table_offset);
  g_free (v->group);
  g_free (v->counter);
  g_free (v->list);
  g_free (v->zeros);
  g_free (v->has_sum);
  g_free (v);
}

static gboolean
make_body (Visit *v, guint k, LoomDevices *devices, const LoomPlanOptions *options, GError **error)
{
  const LoomProgram *program = v->attrs.body[k];

  for (guint s = 0; s < v->attrs.n_sums; s++)
    {
      LoomValue sum = loom_program_get_output (program, visit_n_links_out (&v->attrs) + s)->value;
      double value;

      v->is_zero[k * v->attrs.n_sums + s] = loom_value_is_fill (program, sum, &value) && value == 0;
    }
  v->s.body[k] = plan_body_new (devices, v->s.device, options, v->attrs.body[k], 0, error);
  return v->s.body[k] != NULL;
}

static LoomKernel *
make_kernel (const Visit *v, LoomKernelSpec *spec, gsize *most, GError **error)
{
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;
  LoomStatus status = loom_plan_kernel_new (v->s.device, spec, &kernel, NULL, &message);

  if (status == LOOM_STATUS_OK)
    {
      kernel->site = -1;
      *most = MAX (*most, kernel->scratch_bytes);
      return kernel;
    }
  loom_plan_device_error (status, spec->primitive, message.text, error);
  return NULL;
}

/* Makes the kernels that copy a link's rows, [rows, width], to rows of its table, [table, width], and back. */
static gboolean
make_link_kernel (const Visit *v, VisitLinkKernels *m, gint64 rows, const LoomTensorDesc *d, gsize *most,
                  GError **error)
{
  gint64 width = loom_desc_count (d) / MAX (d->dim[0], 1), table = visit_table_rows (v);
  const LoomTensorDesc value = { .dtype = d->dtype, .rank = 2, .dim = { rows, width } };
  const LoomTensorDesc all = { .dtype = d->dtype, .rank = 2, .dim = { table, width } };
  const LoomTensorDesc index = { .dtype = LOOM_I64, .rank = 1, .dim = { rows } };
  const LoomTensorDesc column = { .dtype = LOOM_I64, .rank = 2, .dim = { rows, 1 } };
  const LoomTensorDesc wide = { .dtype = LOOM_I64, .rank = 2, .dim = { rows, width } };
  const LoomScatterAttrs add = { .axis = 0, .mode = LOOM_SCATTER_ADD };
  const LoomTensorDesc take_in[] = { all, index }, add_in[] = { all, wide, value };

  if (v->attrs.down)
    {
      m->take = make_kernel (
          v, &(LoomKernelSpec){ .primitive = "gather_rows", .n_in = 2, .n_out = 1, .in = take_in, .out = &value }, most,
          error);
      return m->take != NULL;
    }
  m->spread = make_kernel (
      v, &(LoomKernelSpec){ .primitive = "expand", .n_in = 1, .n_out = 1, .in = &column, .out = &wide }, most, error);
  if (m->spread != NULL)
    m->add = make_kernel (
        v, &(LoomKernelSpec){ .primitive = "scatter", .attrs = &add, .n_in = 3, .n_out = 1, .in = add_in, .out = &all },
        most, error);
  return m->add != NULL;
}

static LoomKernel *
make_add (const Visit *v, const LoomTensorDesc *d, gsize *most, GError **error)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomValue a = loom_program_input (p, "a", d->dtype, d->rank, d->dim);
  LoomValue b = loom_program_input (p, "b", d->dtype, d->rank, d->dim);
  const LoomTensorDesc in[] = { *d, *d };
  LoomKernelSpec spec = { .n_in = 2, .n_out = 1, .in = in, .out = d };
  LoomElementwiseAttrs attrs;

  loom_program_set_float (p, d->dtype);
  loom_binary (p, LOOM_SCALAR_ADD, a, b);
  loom_plan_spec_of_instr (p, loom_program_instr (p, 0), &spec.primitive, &spec.attrs, &attrs);
  return make_kernel (v, &spec, most, error);
}

static const LoomTensorDesc *
output_desc (const Visit *v, guint body, guint o)
{
  const LoomProgram *p = v->attrs.body[body];

  return &loom_value_info (p, loom_program_get_output (p, o)->value)->desc;
}

static gboolean
make_link_kernels (Visit *v, gsize *most, GError **error)
{
  const LoomVisitAttrs *a = &v->attrs;
  guint links = visit_n_links_out (a);
  gboolean ok = TRUE;

  for (guint size = 0; size < a->n_sizes; size++)
    for (guint l = 0; ok && l < a->n_links; l++)
      ok = make_link_kernel (v, &v->link_kernels[size * a->n_links + l], a->size[size],
                             output_desc (v, size * a->n_branches, a->down ? l * a->slots : l), most, error);
  for (guint s = 0; ok && visit_has_rows (v) && s < a->n_sums; s++)
    {
      v->add[s] = make_add (v, output_desc (v, 0, links + s), most, error);
      ok = v->add[s] != NULL;
    }
  return ok;
}

/* Computes the bytes of a row of each input and output; for a value without rows, of the whole. */
static void
compute_row_bytes (Visit *v)
{
  const LoomVisitAttrs *a = &v->attrs;
  guint links = visit_n_links_out (a);
  gsize rows = (gsize)MAX (visit_n_rows (v), 1);

  v->in_bytes = g_new0 (gsize, v->n_in + 1);
  v->out_bytes = g_new0 (gsize, v->n_out + 1);
  for (guint i = 0; i < v->n_in; i++)
    {
      const LoomProgram *p = a->body[0];

      v->in_bytes[i] = loom_desc_bytes (&loom_value_info (p, loom_program_get_input (p, i)->value)->desc)
                       / (i < visit_first_whole (v) ? rows : 1);
    }
  for (guint o = 0; o < v->n_out; o++)
    v->out_bytes[o] = loom_desc_bytes (output_desc (v, 0, o)) / (o < links || o >= links + a->n_sums ? rows : 1);
}

/* Computes all offsets in scratch, and its size. */
static gsize
assign_offsets (Visit *v, gsize most)
{
  const LoomVisitAttrs *a = &v->attrs;
  gsize scratch = 0, arena = 0, once = 0, widest = 0, largest = 0;

  for (guint k = 0; k < v->s.n_bodies; k++)
    {
      arena = MAX (arena, v->s.body[k]->arena_bytes);
      once = MAX (once, v->s.body[k]->once_bytes);
    }
  arena = plan_schedule_reserve (&scratch, arena);
  once = plan_schedule_reserve (&scratch, once);
  for (guint k = 0; k < v->s.n_bodies; k++)
    {
      v->s.body[k]->arena_at = arena;
      v->s.body[k]->once_at = once;
    }
  v->kernel = plan_schedule_reserve (&scratch, most);
  v->input_offset = g_new0 (gsize, v->n_in + 1);
  v->table_offset = g_new0 (gsize, a->n_links + 1);
  for (guint i = 0; i < v->n_in; i++)
    {
      gboolean is_row = i < visit_first_whole (v), is_fixed = FALSE;
      gsize bytes = v->in_bytes[i] * (is_row ? (gsize)visit_n_rows (v) : 1);

      for (guint k = 0; k < v->s.n_bodies; k++)
        is_fixed |= v->s.body[k]->in[i].is_bound;
      if (is_row || is_fixed || i < visit_first_whole (v) + a->n_counters)
        v->input_offset[i] = plan_schedule_reserve (&scratch, bytes);
      for (guint k = 0; k < v->s.n_bodies; k++)
        {
          v->s.body[k]->in[i].is_fixed = v->s.body[k]->in[i].is_bound;
          v->s.body[k]->in[i].offset = v->input_offset[i];
        }
      if (is_row)
        largest = MAX (largest, bytes);
    }
  for (guint l = 0; l < a->n_links; l++)
    {
      gsize bytes = v->out_bytes[a->down ? l * a->slots : l];

      v->table_offset[l] = plan_schedule_reserve (&scratch, (gsize)visit_table_rows (v) * bytes);
      largest = MAX (largest, (gsize)visit_table_rows (v) * bytes);
      widest = MAX (widest, bytes / loom_dtype_size (output_desc (v, 0, a->down ? l * a->slots : l)->dtype));
    }
  if (a->n_links > 0)
    v->index = plan_schedule_reserve (&scratch, (gsize)visit_n_rows (v) * sizeof (gint64));
  if (a->n_links > 0 && !a->down)
    v->wide = plan_schedule_reserve (&scratch, (gsize)visit_n_rows (v) * widest * sizeof (gint64));
  for (guint s = 0; s < a->n_sums; s++)
    largest = MAX (largest, v->out_bytes[visit_n_links_out (a) + s]);
  if (!v->s.device->info.host_memory)
    v->zeros = g_malloc0 (largest + 1);
  /* Never 0, so that a non-NULL address identifies the memory. */
  return scratch + PLAN_BODY_ALIGNMENT;
}

LoomKernel *
loom_plan_visit_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                     const LoomPrim *prim, const void *attrs, GError **error)
{
  Visit *v = g_new0 (Visit, 1);
  gsize most = 0;
  gboolean ok = TRUE;

  v->attrs = *(const LoomVisitAttrs *)attrs;
  v->n_in = visit_n_inputs (&v->attrs);
  v->n_out = visit_n_outputs (&v->attrs);
  v->n_operands = visit_n_leading (&v->attrs) + v->attrs.n_rows + v->attrs.n_whole;
  plan_schedule_init (&v->s, device, visit_n_bodies (&v->attrs));
  v->link_kernels = g_new0 (VisitLinkKernels, MAX (v->attrs.n_sizes, 1) * v->attrs.n_links + 1);
  v->add = g_new0 (LoomKernel *, v->attrs.n_sums + 1);
  v->is_zero = g_new0 (gboolean, v->s.n_bodies * v->attrs.n_sums + 1);
  v->group = g_new0 (gint64, MAX (visit_n_rows (v), 1));
  v->list = g_new0 (gint64, 2 * visit_n_rows (v) + 1);
  v->counter = g_new0 (gint64, 2 * v->attrs.n_counters + 1);
  v->has_sum = g_new0 (gboolean, v->attrs.n_sums + 1);
  compute_row_bytes (v);
  for (guint k = 0; k < v->s.n_bodies && ok; k++)
    ok = make_body (v, k, devices, options, error);
  ok = ok && make_link_kernels (v, &most, error);
  if (!ok)
    {
      visit_free (&v->s.base);
      return NULL;
    }
  v->s.name = g_strdup_printf ("%s of %u bodies", prim->name, v->attrs.n_branches);
  v->s.base = (LoomKernel){
    .run = visit_run, .free = visit_free, .scratch_bytes = assign_offsets (v, most), .name = v->s.name
  };
  return &v->s.base;
}
