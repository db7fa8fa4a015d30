/* Placement: each instruction gets a device, a physical layout for its operands, and a kernel.
 *
 * One pass in program order: the layout of an operand is known when its consumer is reached, so
 * an instruction simply asks for the layout its device likes best and falls back to the plain one. Where an
 * operand lies in another layout or on another device, a visible copy is put in front, once per value. */
#include "engine/plan/plan-private.h"

#include <string.h>

typedef struct
{
  Work *w;
  WorkInstr *at; /* what is placed now: copies for it go in front of it; NULL: at the end */
} Placer;

static int
device_index (Work *w, const char *name, GError **error)
{
  LoomPlanDevice *device = loom_devices_get (w->devices, name, error);

  if (device == NULL)
    return -1;
  for (guint i = 0; i < w->plan_devices->len; i++)
    if (g_ptr_array_index (w->plan_devices, i) == device)
      return (int)i;
  g_ptr_array_add (w->plan_devices, device);
  return (int)w->plan_devices->len - 1;
}

/* Notes what cannot be done at a node, once for each kind of fault: a node's kernels are many, forward and backward. */
static void
refuse (Work *w, LoomErrorCode code, const char *node, const char *port, const char *fix, char *message /* taken */)
{
  for (guint i = 0; i < loom_faults_length (w->faults); i++)
    {
      const LoomFault *f = loom_faults_get (w->faults, i);

      if (f->code == code && g_strcmp0 (f->node, node) == 0)
        {
          g_free (message);
          return;
        }
    }
  {
    LoomFault *fault = loom_faults_add (w->faults, code, 0, node, port, "%s", message);

    if (fix != NULL)
      loom_fault_set_fix (fault, NULL, NULL, "%s", fix);
  }
  g_free (message);
}

/* The device of this name, which a node asked for; the plan's own, and a fault, where there is none. */
static int
device_of_name (Work *w, const char *name, const char *node)
{
  g_autoptr (GError) error = NULL;
  int device = name != NULL ? device_index (w, name, &error) : 0;

  if (error != NULL)
    refuse (w, error->code, node, "device", NULL, g_strdup (error->message));
  return MAX (device, 0);
}

static LoomPlanDevice *
device_at (Work *w, int device)
{
  return g_ptr_array_index (w->plan_devices, (guint)device);
}

/* Where both layouts are the same bytes no copy is needed: one channel, or one pixel. */
static gboolean
layouts_coincide (const LoomTensorDesc *d)
{
  return d->rank == 4 && (d->dim[1] == 1 || d->dim[2] * d->dim[3] == 1);
}

/* Its results lie where it runs. */
static void
settle_results_of (Work *w, const WorkInstr *instr)
{
  for (guint o = 0; o < instr->out->len; o++)
    if (work_out (instr, o) != 0)
      work_value (w, work_out (instr, o))->device = instr->device;
}

/* A copy of v that the planner makes. */
static WorkInstr *
insert_copy (Placer *p, const LoomPrim *prim, const void *attrs, guint from, guint to, int device)
{
  Work *w = p->w;
  WorkInstr *copy = work_insert (w, p->at, prim, attrs);

  copy->device = device;
  copy->origin = work_value (w, from)->origin;
  copy->region = work_value (w, from)->region;
  work_add_in (w, copy, from);
  work_add_out (w, copy, to);
  settle_results_of (w, copy);
  return copy;
}

static void
refuse_kernel (Work *w, const WorkInstr *instr, const LoomMessage *message, LoomStatus status)
{
  const LoomPlanDevice *device = device_at (w, instr->device);
  const char *dtype = instr->out->len > 0 && work_out (instr, 0) != 0
                          ? loom_dtype_name (work_value (w, work_out (instr, 0))->desc.dtype)
                          : "?";

  if (status == LOOM_STATUS_OUT_OF_MEMORY)
    refuse (w, LOOM_ERROR_OUT_OF_MEMORY, instr->origin, NULL, NULL,
            g_strdup_printf ("%s ran out of memory while it was planned: %s.", device->name, message->text));
  else
    refuse (w, LOOM_ERROR_NO_KERNEL, instr->origin, "device",
            message->text[0] != '\0' ? NULL : "Give it another device.",
            g_strdup_printf ("The device %s cannot compute %s in %s%s%s.", device->name, instr->label->str, dtype,
                             message->text[0] != '\0' ? ": " : "", message->text));
}

static gboolean
is_result (const WorkInstr *instr, guint v)
{
  for (guint o = 0; o < instr->out->len; o++)
    if (work_out (instr, o) == v)
      return TRUE;
  return FALSE;
}

/* What a step's result must be rounded to before another step reads it: a short float that would have been stored as
 * one. So a chain has the bits of its links, however it was fused. */
static LoomDType
rounding (Work *w, const WorkInstr *instr, guint s)
{
  guint result = g_array_index (instr->steps, WorkStep, s).result;
  LoomDType dtype = work_value (w, result)->desc.dtype;

  if (dtype != LOOM_BF16 && dtype != LOOM_F16)
    return LOOM_F64;
  for (guint k = s + 1; k < instr->steps->len; k++)
    for (int a = 0; a < loom_scalar_arity (g_array_index (instr->steps, WorkStep, k).op); a++)
      if (g_array_index (instr->steps, WorkStep, k).arg[a] == result)
        return dtype;
  return LOOM_F64;
}

/* A conversion that the registers have made already (their type is f32), or that the store makes. The step stays where
 * it is all that the kernel does. */
static gboolean
is_free_cast (Work *w, const WorkInstr *instr, guint s)
{
  const WorkStep *step = &g_array_index (instr->steps, WorkStep, s);
  const LoomTensorDesc *from = &work_value (w, step->arg[0])->desc, *to = &work_value (w, step->result)->desc;

  return step->op == LOOM_SCALAR_ID && instr->steps->len > 1 && loom_dtype_is_float (to->dtype)
         && from->dtype != to->dtype && instr->compute == LOOM_F32 && rounding (w, instr, s) == LOOM_F64
         && (s > 0 || !is_result (instr, step->result));
}

/* The kernel for the instruction with operands described by in and out. */
static LoomStatus
make_kernel (Work *w, WorkInstr *instr, const LoomTensorDesc *in, const LoomTensorDesc *out, LoomMessage *message)
{
  const LoomPlanDevice *device = device_at (w, instr->device);
  LoomElementwiseAttrs elementwise;
  LoomKernelSpec spec = { .primitive = work_kernel (instr),
                          .attrs = instr->attrs,
                          .n_in = (int)instr->in->len,
                          .n_out = (int)instr->out->len,
                          .in = in,
                          .out = out };

  message->text[0] = '\0';
  if (instr->steps != NULL)
    {
      g_autoptr (GHashTable) reg = g_hash_table_new (NULL, NULL);

      g_assert (instr->out->len <= LOOM_EW_MAX_OUT && instr->steps->len <= LOOM_EW_MAX_STEPS);
      memset (&elementwise, 0, sizeof elementwise);
      elementwise.compute = instr->compute;
      for (guint i = 0; i < instr->in->len; i++)
        g_hash_table_insert (reg, GUINT_TO_POINTER (work_in (instr, i)), GUINT_TO_POINTER (i));
      for (guint s = 0; s < instr->steps->len; s++)
        {
          const WorkStep *step = &g_array_index (instr->steps, WorkStep, s);
          LoomElementwiseStep *to = &elementwise.step[elementwise.n_steps];

          if (is_free_cast (w, instr, s))
            {
              g_hash_table_insert (reg, GUINT_TO_POINTER (step->result),
                                   g_hash_table_lookup (reg, GUINT_TO_POINTER (step->arg[0])));
              continue;
            }
          to->op = step->op;
          to->imm = step->imm;
          to->round = rounding (w, instr, s);
          for (int k = 0; k < loom_scalar_arity (step->op); k++)
            to->arg[k] = (uint8_t)GPOINTER_TO_UINT (g_hash_table_lookup (reg, GUINT_TO_POINTER (step->arg[k])));
          g_hash_table_insert (reg, GUINT_TO_POINTER (step->result),
                               GUINT_TO_POINTER (instr->in->len + (guint)elementwise.n_steps++));
        }
      for (guint o = 0; o < MIN (instr->out->len, LOOM_EW_MAX_OUT); o++)
        elementwise.out[o]
            = (uint8_t)GPOINTER_TO_UINT (g_hash_table_lookup (reg, GUINT_TO_POINTER (work_out (instr, o))));
      spec.attrs = &elementwise;
    }
  return device->backend->kernel_new (device->device, &spec, &instr->kernel, message);
}

/* v (a value with bytes of its own, or an alias of equal shape) in the wanted layout. */
static guint
in_layout (Placer *p, guint v, LoomLayout layout)
{
  Work *w = p->w;
  LoomTensorDesc desc = work_value (w, v)->desc, in[1], out[1];
  LoomCopyTo to = { desc.dtype };
  WorkInstr *reorder;
  LoomMessage message;
  LoomStatus status;
  guint other;

  if (desc.layout == layout || desc.rank != 4)
    return v;
  if (work_value (w, v)->other_layout != 0)
    return work_value (w, v)->other_layout;
  in[0] = desc;
  desc.layout = layout;
  out[0] = desc;
  other = work_new_value (w, &desc, work_value (w, v));
  work_value (w, v)->other_layout = other;
  work_value (w, other)->other_layout = v;
  if (layouts_coincide (&desc))
    {
      work_set_alias (w, other, v);
      work_value (w, other)->device = work_value (w, work_root (w, v))->device;
      return other;
    }
  reorder = insert_copy (p, loom_prim ("copy"), &to, v, other, work_value (w, work_root (w, v))->device);
  g_string_assign (reorder->label, layout == LOOM_LAYOUT_NHWC ? "reorder→NHWC" : "reorder→NCHW");
  status = make_kernel (w, reorder, in, out, &message);
  if (status != LOOM_STATUS_OK)
    refuse_kernel (w, reorder, &message, status);
  return other;
}

/* An alias made by a reshape means plain bytes. When its root turned out to be NHWC it is given the plain twin. */
static void
settle_alias (Placer *p, guint v)
{
  Work *w = p->w;
  guint root = work_root (w, v);

  if (root == v || work_value (w, root)->desc.layout == LOOM_LAYOUT_PLAIN
      || work_value (w, v)->desc.layout != LOOM_LAYOUT_PLAIN)
    return;
  if (work_same_dims (&work_value (w, v)->desc, &work_value (w, root)->desc))
    work_value (w, v)->desc.layout = work_value (w, root)->desc.layout;
  else
    work_set_alias (w, v, in_layout (p, root, LOOM_LAYOUT_PLAIN));
}

/* v on another device, where `node` reads it, by a copy that the listing and the canvas show. */
static guint
on_device (Placer *p, guint v, int device, const char *node)
{
  Work *w = p->w;
  guint root = work_root (w, v), copy;
  WorkInstr *transfer;

  if (work_value (w, root)->device == device)
    return v;
  if (w->options.strict_devices)
    refuse (
        w, LOOM_ERROR_DEVICE, node, "device", "Give both nodes one device, or take strict_devices away.",
        g_strdup_printf ("Expected all tensors on one device, but the value of node %s is on %s and is needed on %s.",
                         work_value (w, v)->origin != NULL ? work_value (w, v)->origin : "(none)",
                         device_at (w, work_value (w, root)->device)->name, device_at (w, device)->name));
  /* A device that computes in the plain layout alone may have no kernel that reorders: the bytes leave in order. */
  if (work_value (w, root)->desc.layout != LOOM_LAYOUT_PLAIN && !device_at (w, device)->info.prefers_nhwc)
    {
      settle_alias (p, v);
      v = in_layout (p, v, LOOM_LAYOUT_PLAIN);
      root = work_root (w, v);
    }
  copy = work_value (w, root)->on_device;
  if (copy == 0 || work_value (w, copy)->device != device)
    {
      copy = work_new_value (w, &work_value (w, root)->desc, work_value (w, root));
      work_value (w, root)->on_device = copy;
      transfer = insert_copy (p, NULL, NULL, root, copy, device);
      g_string_printf (transfer->label, "copy %s→%s", device_at (w, work_value (w, root)->device)->name,
                       device_at (w, device)->name);
    }
  if (v == root)
    return copy;
  {
    guint alias = work_new_value (w, &work_value (w, v)->desc, work_value (w, v));

    work_set_alias (w, alias, copy);
    return alias;
  }
}

/* Which operands would be NHWC if the instruction ran on images; FALSE when it has nothing to do with them. */
static gboolean
image_operands (Work *w, const WorkInstr *instr, guint32 *in, guint32 *out)
{
  *in = *out = 0;
  if (instr->steps != NULL)
    {
      const LoomTensorDesc *o = &work_value (w, work_out (instr, 0))->desc;
      gboolean any = FALSE;

      if (o->rank != 4)
        return FALSE;
      for (guint k = 0; k < instr->in->len; k++)
        {
          const LoomTensorDesc *d = &work_value (w, work_in (instr, k))->desc;

          if (d->rank == 4 && loom_desc_count (d) == loom_desc_count (o))
            {
              *in |= 1u << k;
              any |= d->layout == LOOM_LAYOUT_NHWC;
            }
        }
      *out = (1u << instr->out->len) - 1;
      return any;
    }
  for (guint k = 0; k < MIN (instr->in->len, 32); k++)
    if (work_in (instr, k) != 0 && work_value (w, work_in (instr, k))->desc.rank == 4)
      *in |= instr->prim->image_in & 1u << k;
  for (guint k = 0; k < MIN (instr->out->len, 32); k++)
    if (work_out (instr, k) != 0 && work_value (w, work_out (instr, k))->desc.rank == 4)
      *out |= instr->prim->image_out & 1u << k;
  return *in != 0;
}

/* Whether anything about it can be computed before the first step. */
static gboolean
is_setup (Work *w, const WorkInstr *instr)
{
  for (guint i = 0; i < instr->in->len; i++)
    {
      const WorkValue *v;

      if (work_in (instr, i) == 0)
        continue;
      v = work_value (w, work_root (w, work_in (instr, i)));
      if (v->producer == NULL || !v->producer->setup)
        return FALSE;
    }
  return TRUE;
}

/* Whether a result takes the place of operand k. */
static gboolean
is_updated (const WorkInstr *instr, guint k)
{
  for (guint o = 0; instr->prim->updates != NULL && o < instr->out->len; o++)
    if (work_out (instr, o) != 0 && instr->prim->updates (instr->attrs, o) == k)
      return TRUE;
  return FALSE;
}

/* What moves nothing needs no kernel on any device: between two of them it is the transfer itself. */
static void
place_alias (Placer *p, WorkInstr *instr)
{
  Work *w = p->w;
  guint moved = on_device (p, work_in (instr, 0), instr->device, instr->origin);

  work_set_alias (w, work_out (instr, 0), moved);
  work_erase (w, instr);
}

/* Brings operand k to the instruction's device. */
static void
place_operand (Placer *p, WorkInstr *instr, guint k)
{
  Work *w = p->w;
  guint v = work_in (instr, k), moved = on_device (p, v, instr->device, instr->origin);

  settle_alias (p, moved);
  if (moved == v)
    return;
  /* It works in place, so a copy of a parameter is nothing that it could update. */
  if (is_updated (instr, k))
    {
      int slot = work_value (w, work_root (w, v))->slot;

      refuse (w, LOOM_ERROR_DEVICE, instr->origin, NULL, NULL,
              g_strdup_printf ("%s on %s was asked to update %s, which lives on another device.", instr->label->str,
                               device_at (w, instr->device)->name,
                               slot >= 0 ? loom_program_get_slot (w->program, (guint)slot)->name : "a value"));
    }
  work_set_in (w, instr, k, moved);
}

static void
place_instr (Placer *p, WorkInstr *instr)
{
  Work *w = p->w;
  g_autofree LoomTensorDesc *in = g_new0 (LoomTensorDesc, instr->in->len + 1);
  g_autofree LoomTensorDesc *out = g_new0 (LoomTensorDesc, instr->out->len + 1);
  guint32 image_in, image_out;
  LoomStatus status = LOOM_STATUS_UNSUPPORTED;
  LoomMessage message = { "" };
  gboolean nhwc;

  instr->device = device_of_name (w, instr->device_name, instr->origin);
  if (instr->crosses_only)
    {
      place_alias (p, instr);
      return;
    }
  for (guint k = 0; k < instr->in->len; k++)
    if (work_in (instr, k) != 0)
      place_operand (p, instr, k);

  nhwc = image_operands (w, instr, &image_in, &image_out) && !w->options.no_layout
         && device_at (w, instr->device)->info.prefers_nhwc && instr->in->len < 32;
  for (int attempt = nhwc ? 0 : 1; attempt < 2 && status == LOOM_STATUS_UNSUPPORTED; attempt++)
    {
      for (guint k = 0; k < instr->in->len; k++)
        {
          if (work_in (instr, k) == 0)
            {
              in[k].dtype = LOOM_N_DTYPES;
              continue;
            }
          in[k] = work_value (w, work_in (instr, k))->desc;
          in[k].layout = attempt == 0 && (image_in & (1u << k)) ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN;
        }
      for (guint k = 0; k < instr->out->len; k++)
        {
          if (work_out (instr, k) == 0)
            {
              out[k].dtype = LOOM_N_DTYPES;
              continue;
            }
          out[k] = work_value (w, work_out (instr, k))->desc;
          out[k].layout = attempt == 0 && (image_out & (1u << k)) ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN;
        }
      status = make_kernel (w, instr, in, out, &message);
    }
  if (status != LOOM_STATUS_OK)
    refuse_kernel (w, instr, &message, status);

  for (guint k = 0; k < instr->in->len; k++)
    if (work_in (instr, k) != 0)
      {
        guint v = in_layout (p, work_in (instr, k), in[k].layout);

        if (v != work_in (instr, k))
          work_set_in (w, instr, k, v);
      }
  for (guint k = 0; k < instr->out->len; k++)
    if (work_out (instr, k) != 0)
      work_value (w, work_out (instr, k))->desc.layout = out[k].layout;
  instr->setup = is_setup (w, instr);
  settle_results_of (w, instr);
}

/* A slot takes its next value where it lives, and as plain bytes. */
static void
settle_commit (Placer *p, guint v)
{
  Work *w = p->w;
  int commit = work_value (w, v)->commit;
  const LoomSlot *slot = loom_program_get_slot (w->program, (guint)commit);
  int device = slot->read != 0 ? work_value (w, work_root (w, slot->read))->device : 0;
  guint moved = in_layout (p, on_device (p, v, device, work_value (w, v)->origin), LOOM_LAYOUT_PLAIN);

  if (moved != v)
    {
      work_value (w, v)->commit = -1;
      work_value (w, moved)->commit = commit;
    }
}

/* Outputs and commits that are reshapes of an NHWC value need the plain bytes. */
static void
settle_results (Placer *p)
{
  Work *w = p->w;
  guint n = w->values->len;

  for (guint v = 1; v < n; v++)
    if (work_value (w, v)->is_output || work_value (w, v)->commit >= 0)
      {
        guint root = work_root (w, v);

        if (work_value (w, root)->producer == NULL && work_value (w, root)->slot < 0 && work_value (w, root)->input < 0)
          continue;
        settle_alias (p, v);
        if (work_value (w, v)->commit >= 0)
          settle_commit (p, v);
      }
}

/* What the caller is told where it does not take the list: the first fault, as one sentence. */
static void
faults_to_error (Work *w)
{
  const LoomFault *f;

  if (loom_faults_length (w->faults) == 0)
    return;
  f = loom_faults_get (w->faults, 0);
  g_set_error (&w->error, LOOM_ERROR, f->code, "%s%s%s%s%s%s", f->node != NULL ? "Node " : "",
               f->node != NULL ? f->node : "", f->node != NULL ? ": " : "", f->message, f->fix != NULL ? " " : "",
               f->fix != NULL ? f->fix : "");
}

void
work_place (Work *w)
{
  Placer p = { w, NULL };

  if (device_index (w, w->options.device, &w->error) < 0)
    return;
  for (guint v = 1; v < w->values->len; v++)
    if (work_value (w, v)->slot >= 0 || work_value (w, v)->input >= 0)
      work_value (w, v)->device = device_of_name (w, work_value (w, v)->device_name, work_value (w, v)->origin);
  for (p.at = work_first (w); p.at != NULL; p.at = work_next (p.at))
    place_instr (&p, p.at);
  settle_results (&p);
  faults_to_error (w);
}

void
work_schedule (Work *w)
{
  for (int setup = 1; setup >= 0; setup--)
    for (WorkInstr *instr = work_first (w); instr != NULL; instr = work_next (instr))
      if (instr->setup == setup)
        g_ptr_array_add (w->schedule, instr);
}
