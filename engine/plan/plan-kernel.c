/* Queries devices for kernels: forms the call of an instruction, and lists the device's options for it with their costs
 * from the cost table.
 *
 * Fusion passes call graph_has_kernel() with the fused call before they fuse, and plan-layout.c chooses among
 * the options. The pass "kernels" then builds the kernel of each chosen option. */
#include "engine/plan/plan-collective.h"
#include "engine/plan/plan-private.h"

#include <string.h>

typedef struct
{
  LoomCosts base;
  const LoomPlanDevice *device;
} DeviceCosts;

static double
estimate (const LoomCosts *costs, const LoomKernelSpec *spec, const LoomKernelOption *option, double flops,
          double bytes)
{
  const LoomPlanDevice *device = ((const DeviceCosts *)costs)->device;

  return loom_cost_table_estimate (device->costs, device->backend->name, spec, option, flops, bytes);
}

/* ---- options --------------------------------------------------------------- */

gboolean
plan_use_measurements (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
                       LoomKernelOption *option, guint n)
{
  g_autofree char *call = NULL;
  double seconds[LOOM_MAX_OPTIONS];

  if (n < 2 || !loom_cost_table_has_measured (device->costs, device->cost_key))
    return FALSE;
  call = loom_cost_call_key (spec, attributes);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *key = loom_cost_option_key (spec, &option[i]);

      seconds[i] = loom_cost_table_measured (device->costs, device->cost_key, call, key);
      if (seconds[i] < 0)
        return FALSE;
    }
  for (guint i = 0; i < n; i++)
    option[i].seconds = seconds[i];
  return TRUE;
}

guint
plan_estimate_options (const LoomPlanDevice *device, const LoomKernelSpec *spec,
                       LoomKernelOption option[LOOM_MAX_OPTIONS], LoomMessage *message)
{
  DeviceCosts costs = { { estimate }, device };
  int n;

  message->text[0] = '\0';
  n = device->backend->options (device->device, spec, &costs.base, option, LOOM_MAX_OPTIONS, message);
  if (n > 0)
    message->text[0] = '\0'; /* it is about an option that does not exist */
  return (guint)MAX (n, 0);
}

guint
loom_plan_options (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
                   LoomKernelOption option[LOOM_MAX_OPTIONS], LoomMessage *message)
{
  guint n = plan_estimate_options (device, spec, option, message);

  plan_use_measurements (device, spec, attributes, option, n);
  return n;
}

/* Makes the kernel to find out why a device returned no options: options() returns none also if the device is lost or
 * out of memory. message is left unchanged if there is nothing to add. */
static LoomStatus
try_kernel (const LoomPlanDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  LoomMessage why = { "" };
  LoomStatus status = device->backend->kernel_new (device->device, spec, kernel, &why);

  if (status != LOOM_STATUS_OK && (status != LOOM_STATUS_UNSUPPORTED || why.text[0] != '\0'))
    *message = why;
  return status;
}

static guint64
layouts_of (const LoomKernelSpec *spec)
{
  guint64 nhwc = 0;

  for (int i = 0; i < MIN (spec->n_in + spec->n_out, 64); i++)
    if ((i < spec->n_in ? &spec->in[i] : &spec->out[i - spec->n_in])->layout == LOOM_LAYOUT_NHWC)
      nhwc |= (guint64)1 << i;
  return nhwc;
}

/* ---- calls ------------------------------------------------------------------ */

static gboolean
is_result (const PlanNode *instr, guint v)
{
  for (guint o = 0; o < instr->out->len; o++)
    if (node_out (instr, o) == v)
      return TRUE;
  return FALSE;
}

/* The type to which a step's result must be rounded before another step reads it: the 16-bit float in which the unfused
 * instruction would store it. So fusion changes no bits. */
static LoomDType
rounding (PlanGraph *g, const PlanNode *instr, guint s)
{
  guint result = node_step (instr, s)->result;
  LoomDType dtype = graph_value (g, result)->desc.dtype;

  if (dtype != LOOM_BF16 && dtype != LOOM_F16)
    return LOOM_F64;
  for (guint k = s + 1; k < instr->steps->len; k++)
    for (int a = 0; a < loom_scalar_arity (node_step (instr, k)->op); a++)
      if (node_step (instr, k)->arg[a] == result)
        return dtype;
  return LOOM_F64;
}

/* TRUE for a conversion that the registers (f32) or the store make anyway. It is kept if the kernel does nothing
 * else. */
static gboolean
is_free_cast (PlanGraph *g, const PlanNode *instr, guint s)
{
  const PlanStep *step = node_step (instr, s);
  const LoomTensorDesc *from = &graph_value (g, step->arg[0])->desc, *to = &graph_value (g, step->result)->desc;

  return step->kind == PLAN_STEP_SCALAR && step->op == LOOM_SCALAR_ID && instr->steps->len > 1
         && loom_dtype_is_float (to->dtype) && from->dtype != to->dtype && instr->compute == LOOM_F32
         && rounding (g, instr, s) == LOOM_F64 && (s > 0 || !is_result (instr, step->result));
}

/* The part of operand or result i that a step reads or writes. */
static LoomElementwisePart
part_of (const PlanStep *step, guint i)
{
  return (LoomElementwisePart){
    .tensor = (uint8_t)i, .axis = (int8_t)step->axis, .start = step->start, .length = step->length
  };
}

static guint
find (guint v, guint n, const guint *values)
{
  guint i = 0;

  while (i < n && values[i] != v)
    i++;
  g_assert (i < n);
  return i;
}

/* Numbers the registers (the operands first, then their slices, then each step's result) and fills in the steps over
 * them. */
static void
fill_elementwise (PlanGraph *g, const PlanNode *instr, guint n_in, const guint *in, guint n_out, const guint *out,
                  LoomElementwiseAttrs *attrs)
{
  g_autoptr (GHashTable) reg = g_hash_table_new (NULL, NULL);
  guint first;

  g_assert (n_out <= LOOM_EW_MAX_OUT && plan_steps_fit (instr->steps));
  attrs->compute = instr->compute;
  for (guint i = 0; i < n_in; i++)
    g_hash_table_insert (reg, GUINT_TO_POINTER (in[i]), GUINT_TO_POINTER (i));
  for (guint s = 0; s < instr->steps->len; s++)
    {
      const PlanStep *step = node_step (instr, s);

      if (step->kind != PLAN_STEP_LOAD_SLICE)
        continue;
      g_hash_table_insert (reg, GUINT_TO_POINTER (step->result), GUINT_TO_POINTER (n_in + (guint)attrs->n_in_parts));
      attrs->in_part[attrs->n_in_parts++] = part_of (step, find (step->arg[0], n_in, in));
    }
  first = n_in + (guint)attrs->n_in_parts;
  for (guint s = 0; s < instr->steps->len; s++)
    {
      const PlanStep *step = node_step (instr, s);
      LoomElementwiseStep *to = &attrs->step[attrs->n_steps];

      if (step->kind == PLAN_STEP_LOAD_SLICE)
        continue;
      if (step->kind == PLAN_STEP_STORE_SLICE)
        {
          LoomElementwisePart part = part_of (step, find (step->result, n_out, out));

          part.reg = (uint8_t)GPOINTER_TO_UINT (g_hash_table_lookup (reg, GUINT_TO_POINTER (step->arg[0])));
          attrs->out_part[attrs->n_out_parts++] = part;
          continue;
        }
      if (is_free_cast (g, instr, s))
        {
          g_hash_table_insert (reg, GUINT_TO_POINTER (step->result),
                               g_hash_table_lookup (reg, GUINT_TO_POINTER (step->arg[0])));
          continue;
        }
      to->op = step->op;
      to->imm = step->imm;
      to->round = rounding (g, instr, s);
      for (int k = 0; k < loom_scalar_arity (step->op); k++)
        to->arg[k] = (uint8_t)GPOINTER_TO_UINT (g_hash_table_lookup (reg, GUINT_TO_POINTER (step->arg[k])));
      g_hash_table_insert (reg, GUINT_TO_POINTER (step->result), GUINT_TO_POINTER (first + (guint)attrs->n_steps++));
    }
  for (guint o = 0; o < n_out; o++)
    attrs->out[o] = (uint8_t)GPOINTER_TO_UINT (g_hash_table_lookup (reg, GUINT_TO_POINTER (out[o])));
}

static void
call_init (PlanGraph *g, PlanKernelCall *call, const PlanNode *instr, guint n_in, const guint *in, guint n_out,
           const guint *out)
{
  memset (call, 0, sizeof *call);
  call->desc = g_new0 (LoomTensorDesc, n_in + n_out + 1);
  for (guint i = 0; i < n_in + n_out; i++)
    {
      guint v = i < n_in ? in[i] : out[i - n_in];

      if (v != 0)
        call->desc[i] = graph_value (g, v)->desc;
      else
        call->desc[i].dtype = LOOM_N_DTYPES;
    }
  call->spec = (LoomKernelSpec){ .primitive = node_kernel (instr),
                                 .attrs = instr->attrs,
                                 .n_in = (int)n_in,
                                 .n_out = (int)n_out,
                                 .in = call->desc,
                                 .out = call->desc + n_in,
                                 .tf32 = loom_plan_rounds_to_tf32 (g->program, instr->prim) };
  if (instr->steps == NULL)
    return;
  fill_elementwise (g, instr, n_in, in, n_out, out, &call->elementwise);
  call->spec.attrs = &call->elementwise;
}

void
node_kernel_call (PlanGraph *g, PlanKernelCall *call, const PlanNode *instr)
{
  g_autofree guint *in = g_new (guint, instr->in->len + 1);

  for (guint k = 0; k < instr->in->len; k++)
    in[k] = node_in (instr, k);
  call_init (g, call, instr, instr->in->len, in, instr->out->len, (const guint *)(const void *)instr->out->data);
}

void
plan_kernel_call_clear (PlanKernelCall *call)
{
  g_clear_pointer (&call->desc, g_free);
}

char *
node_describe (const PlanNode *instr)
{
  GString *s;

  if (instr->steps == NULL)
    return instr->prim != NULL ? loom_prim_describe (instr->prim, instr->attrs) : NULL;
  s = g_string_new (NULL);
  for (guint i = 0; i < instr->steps->len; i++)
    g_string_append_printf (s, "%s%s", i > 0 ? "," : "", loom_scalar_name (node_step (instr, i)->op));
  return g_string_free (s, FALSE);
}

/* ---- queries ----------------------------------------------------------------- */

/* Reports that a device failed during a query for a kernel; FALSE if the status is of another kind. */
static gboolean
report_failure (PlanGraph *g, const LoomPlanDevice *device, const char *origin, LoomStatus status,
                const LoomMessage *message)
{
  g_autofree char *where = g_strdup_printf ("Planning on %s", device->name);
  g_autoptr (GError) error = NULL;

  if (status != LOOM_STATUS_OUT_OF_MEMORY && status != LOOM_STATUS_DEVICE && status != LOOM_STATUS_DEVICE_LOST)
    return FALSE;
  loom_plan_device_error (status, where, message->text, &error);
  graph_report_fault (g, error->code, origin, NULL, NULL, g_strdup (error->message));
  return TRUE;
}

/* Drops options with NHWC operands or results if the plan has plain layouts only; returns the number of those left. */
static guint
keep_allowed (const PlanGraph *g, LoomKernelOption *option, guint n)
{
  guint n_kept = 0;

  for (guint i = 0; i < n; i++)
    if (!g->options.no_layout || option[i].nhwc == 0)
      option[n_kept++] = option[i];
  return n_kept;
}

guint
graph_options (PlanGraph *g, const LoomPlanDevice *device, const PlanNode *instr, const LoomKernelSpec *spec,
               LoomKernelOption option[LOOM_MAX_OPTIONS])
{
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;
  LoomStatus status;
  guint n = plan_estimate_options (device, spec, option, &message);

  if (n > 0)
    return keep_allowed (g, option, n);
  status = try_kernel (device, spec, &kernel, &message);
  report_failure (g, device, instr->origin, status, &message);
  if (status != LOOM_STATUS_OK)
    return 0;
  /* A kernel could be made, so the failure was temporary. */
  kernel->free (kernel);
  return keep_allowed (g, option, plan_estimate_options (device, spec, option, &message));
}

gboolean
graph_has_kernel (PlanGraph *g, const PlanNode *instr, guint n_in, const guint *in, guint n_out, const guint *out)
{
  const char *name = instr->device_name != NULL ? instr->device_name : g->options.device;
  const LoomPlanDevice *device = loom_devices_get (g->devices, name, NULL);
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  g_auto (PlanKernelCall) call = { 0 };

  /* A missing device is reported by the placement pass. */
  if (device == NULL)
    return FALSE;
  call_init (g, &call, instr, n_in, in, n_out, out);
  return graph_options (g, device, instr, &call.spec, option) > 0;
}

gboolean
graph_has_small_kernel (PlanGraph *g, const PlanNode *instr, guint n_in, const guint *in, guint n_out, const guint *out,
                        gsize limit)
{
  const char *name = instr->device_name != NULL ? instr->device_name : g->options.device;
  const LoomPlanDevice *device = loom_devices_get (g->devices, name, NULL);
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;
  g_auto (PlanKernelCall) call = { 0 };
  gboolean small;

  if (device == NULL)
    return FALSE;
  call_init (g, &call, instr, n_in, in, n_out, out);
  if (try_kernel (device, &call.spec, &kernel, &message) != LOOM_STATUS_OK)
    return FALSE;
  small = kernel->scratch_bytes < limit;
  kernel->free (kernel);
  return small;
}

gboolean
graph_is_on_gpu (PlanGraph *g, const char *device_name)
{
  const LoomPlanDevice *device
      = loom_devices_get (g->devices, device_name != NULL ? device_name : g->options.device, NULL);

  return device != NULL && !device->info.host_memory;
}

/* ---- kernels ---------------------------------------------------------------- */

LoomStatus
loom_plan_kernel_new (const LoomPlanDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel,
                      const char **algorithm, LoomMessage *message)
{
  guint64 nhwc = layouts_of (spec);
  g_autofree LoomTensorDesc *plain = g_new (LoomTensorDesc, (guint)(spec->n_in + spec->n_out) + 1);
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomKernelSpec call = *spec;
  LoomStatus status = LOOM_STATUS_UNSUPPORTED;
  guint n;

  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    {
      plain[i] = i < spec->n_in ? spec->in[i] : spec->out[i - spec->n_in];
      plain[i].layout = LOOM_LAYOUT_PLAIN;
    }
  call.in = plain;
  call.out = plain + spec->n_in;
  call.algorithm = NULL;
  n = loom_plan_options (device, &call, NULL, option, message);
  call = *spec;
  if (spec->algorithm != NULL)
    {
      status = device->backend->kernel_new (device->device, &call, kernel, message);
      for (guint i = 0; i < n; i++)
        if (option[i].algorithm != NULL && g_str_equal (option[i].algorithm, spec->algorithm))
          option[i].algorithm = NULL;
    }
  else if (n == 0)
    {
      call.algorithm = NULL;
      status = try_kernel (device, &call, kernel, message);
    }
  /* A library may refuse an option that it has listed; then the next one is tried, in a fixed order. */
  while (status == LOOM_STATUS_UNSUPPORTED)
    {
      guint best = n;

      for (guint i = 0; i < n; i++)
        if (option[i].algorithm != NULL && option[i].nhwc == nhwc
            && (best == n || option[i].seconds < option[best].seconds))
          best = i;
      if (best == n)
        break;
      call.algorithm = option[best].algorithm;
      status = device->backend->kernel_new (device->device, &call, kernel, message);
      option[best].algorithm = NULL;
    }
  if (algorithm != NULL)
    *algorithm = status == LOOM_STATUS_OK ? call.algorithm : NULL;
  return status;
}

static void
report_no_kernel (PlanGraph *g, const PlanNode *instr, const LoomMessage *message, LoomStatus status)
{
  const LoomPlanDevice *device = graph_device (g, instr->device);
  const char *dtype = instr->out->len > 0 && node_out (instr, 0) != 0
                          ? loom_dtype_name (graph_value (g, node_out (instr, 0))->desc.dtype)
                          : "?";
  g_autofree char *purpose = graph_purpose (g, instr);

  if (!report_failure (g, device, instr->origin, status, message))
    graph_report_fault (g, LOOM_ERROR_NO_KERNEL, instr->origin, "device",
                        message->text[0] != '\0' ? "Another device may support it." : "Give it another device.",
                        g_strdup_printf ("%s%she device %s cannot compute %s in %s%s%s.",
                                         purpose != NULL ? purpose : "", purpose != NULL ? ": t" : "T", device->name,
                                         instr->label->str, dtype, message->text[0] != '\0' ? ": " : "",
                                         message->text));
}

static void
make_own (PlanGraph *g, PlanNode *instr)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomPlanOptions options = g->options;
  guint n_in = instr->in->len, n_out = instr->out->len;
  g_autofree LoomTensorDesc *desc = g_new0 (LoomTensorDesc, n_in + n_out + 1);

  for (guint k = 0; k < n_in + n_out; k++)
    {
      guint v = k < n_in ? node_in (instr, k) : node_out (instr, k - n_in);

      if (v != 0)
        desc[k] = graph_value (g, v)->desc;
      else
        desc[k].dtype = LOOM_N_DTYPES;
    }
  options.faults = faults;
  instr->kernel = loom_plan_internal_kernel_new (g->devices, graph_device (g, instr->device), &options, instr->prim,
                                                 instr->attrs, n_in, n_out, desc, &error);
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *f = loom_faults_get (faults, i);

      graph_report_fault (g, f->code, f->node, f->port, f->fix, g_strdup (f->message));
    }
  if (error != NULL && loom_faults_length (faults) == 0)
    graph_report_fault (g, error->code, instr->origin, NULL, NULL, g_strdup (error->message));
}

static void
report_call (PlanGraph *g, const PlanNode *instr, const LoomKernelSpec *spec)
{
  g_autoptr (GPtrArray) nodes = NULL;
  LoomPlanCall call = { .device = graph_device (g, instr->device),
                        .spec = spec,
                        .kernel = instr->kernel,
                        .label = instr->label->str,
                        .algorithm = instr->algorithm,
                        .region = instr->region };

  if (g->options.on_call == NULL || instr->kernel == NULL)
    return;
  nodes = plan_nodes_of (g, instr);
  call.n_nodes = nodes->len;
  call.node = (const char *const *)nodes->pdata;
  g->options.on_call (&call, g->options.on_call_data);
}

guint64
graph_fixed_operands (PlanGraph *g, const PlanNode *instr)
{
  guint64 fixed = 0;

  for (guint k = 0; k < MIN (instr->in->len, 64) && !instr->setup; k++)
    if (node_in (instr, k) != 0 && graph_is_fixed (g, node_in (instr, k)))
      fixed |= (guint64)1 << k;
  return fixed;
}

void
pass_make_kernels (PlanGraph *g)
{
  graph_find_setup (g);
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      LoomMessage message = { "" };
      g_auto (PlanKernelCall) call = { 0 };
      LoomStatus status;

      if (instr->prim == NULL)
        continue;
      node_kernel_call (g, &call, instr);
      if (loom_plan_is_internal (instr->prim))
        {
          make_own (g, instr);
          report_call (g, instr, &call.spec);
          continue;
        }
      if (instr->prim->flags & LOOM_PRIM_COLLECTIVE)
        {
          instr->kernel = plan_collective_new (g->options.mesh, graph_device (g, instr->device), instr->prim,
                                               &call.spec, &message);
          if (instr->kernel == NULL)
            report_no_kernel (g, instr, &message, LOOM_STATUS_UNSUPPORTED);
          report_call (g, instr, &call.spec);
          continue;
        }
      call.spec.algorithm = instr->algorithm;
      call.spec.fixed = graph_fixed_operands (g, instr);
      status = loom_plan_kernel_new (graph_device (g, instr->device), &call.spec, &instr->kernel, &instr->algorithm,
                                     &message);
      if (status != LOOM_STATUS_OK)
        report_no_kernel (g, instr, &message, status);
      report_call (g, instr, &call.spec);
    }
  graph_faults_to_error (g);
}
