/* The contents of memory: follows a step in the order of the list and knows for each byte which value it holds. An
 * operand must find its own value in all of its bytes, so nothing is read before it is written or after it is
 * overwritten. check-order.c proves that every execution has this order for each byte. */
#include "engine/check/check-private.h"

#define ALIGNMENT 64

typedef struct
{
  const LoomPlan *plan;
  const CheckTrace *trace;
  GPtrArray *maps; /* CheckMap by space */
  LoomCheckReport *report;
} Memory;

static void
free_map (gpointer map)
{
  if (map != NULL)
    check_map_free (map);
}

/* ---- places ------------------------------------------------------------------- */

static void
check_place (Memory *self, guint value)
{
  const LoomPlanValue *v = loom_plan_value (self->plan, value), *root;
  const gsize bytes = loom_desc_bytes (&v->desc);
  g_autofree char *name = NULL;

  if (v->location.kind == LOOM_LOCATION_NONE || bytes == 0)
    return;
  name = check_name_value (self->plan, value);
  root = loom_plan_value (self->plan, MIN (v->root, loom_plan_n_values (self->plan) - 1));
  if (root->root != v->root || root->location.kind != v->location.kind || root->location.device != v->location.device
      || root->location.offset != v->location.offset || root->location.index != v->location.index)
    {
      check_fault (self->report, LOOM_CHECK_MEMORY, G_MAXUINT, value,
                   "%s is a view, but its bytes are not those of the value that it views", name);
      return;
    }
  if (bytes > loom_desc_bytes (&root->desc))
    check_fault (self->report, LOOM_CHECK_MEMORY, G_MAXUINT, value, "%s is larger than the value that it is a view of",
                 name);
  const guint space = check_space (self->plan, &v->location);

  if (space >= self->trace->n_spaces)
    check_fault (self->report, LOOM_CHECK_MEMORY, G_MAXUINT, value, "%s is in no memory of the plan", name);
  else if (v->location.offset + bytes > check_space_bytes (self->plan, space))
    check_fault (self->report, LOOM_CHECK_MEMORY, G_MAXUINT, value, "%s ends after its memory", name);
  if (v->location.offset % ALIGNMENT != 0)
    check_fault (self->report, LOOM_CHECK_MEMORY, G_MAXUINT, value, "%s is not aligned to %d bytes", name, ALIGNMENT);
}

/* ---- calls ---------------------------------------------------------------------- */

/* The range of a value in its space; FALSE if it has no bytes. */
static gboolean
range_of (const LoomPlan *plan, guint value, CheckAccess *range)
{
  const LoomPlanValue *v = value != G_MAXUINT ? loom_plan_value (plan, value) : NULL;

  if (v == NULL || v->location.kind == LOOM_LOCATION_NONE)
    return FALSE;
  *range = (CheckAccess){ .space = check_space (plan, &v->location),
                          .begin = v->location.offset,
                          .end = v->location.offset + loom_desc_bytes (&v->desc),
                          .value = v->root,
                          .named = value };
  return range->end > range->begin;
}

static gboolean
overlap (const CheckAccess *a, const CheckAccess *b)
{
  return a->space == b->space && a->begin < b->end && b->begin < a->end;
}

static guint
updated_operand (const LoomPlanInstr *instr, guint o)
{
  const LoomPrim *prim = check_prim (instr);

  return prim != NULL && prim->updates != NULL && instr->spec != NULL ? prim->updates (instr->spec->attrs, o)
                                                                      : LOOM_UPDATES_NOTHING;
}

/* Result o may have exactly the bytes of operand k. */
static gboolean
may_overwrite (const LoomPlanInstr *instr, guint o, guint k, const CheckAccess *result, const CheckAccess *operand)
{
  if (result->begin != operand->begin || result->end != operand->end)
    return FALSE;
  /* A rank's shard may be all of a tensor, and the gathered tensor be where it is (LoomComm.all_gather). */
  if (check_is (instr, "unshard") && o == k)
    return TRUE;
  return updated_operand (instr, o) == k
         || (instr->kernel != NULL && o < LOOM_EW_MAX_OUT && k < 32 && (instr->kernel->inplace[o] & (1u << k)) != 0);
}

/* The bytes of a call's operands, by address. */
static int
compare_ranges (gconstpointer a, gconstpointer b)
{
  const CheckAccess *x = a, *y = b;

  if (x->space != y->space)
    return x->space < y->space ? -1 : 1;
  return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : 0;
}

/* What a call writes shares no bytes with anything else that it accesses, except where the kernel allows it. An update
 * of all parameters has hundreds of operands, so only neighbours in the order of addresses are compared. */
static void
check_sharing (Memory *self, guint i)
{
  const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (CheckAccess));
  g_autofree char *name = NULL;

  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    {
      CheckAccess range;

      if (!range_of (self->plan, instr->value[k], &range))
        continue;
      range.is_write = k >= instr->n_in;
      range.value = k;
      g_array_append_val (ranges, range);
    }
  if (instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
    {
      const LoomLocation arena = { .kind = LOOM_LOCATION_ARENA, .device = instr->device };
      const CheckAccess scratch = { .space = check_space (self->plan, &arena),
                                    .begin = instr->scratch,
                                    .end = instr->scratch + instr->kernel->scratch_bytes,
                                    .value = G_MAXUINT,
                                    .named = G_MAXUINT,
                                    .is_write = TRUE };

      g_array_append_val (ranges, scratch);
      if (scratch.end > check_space_bytes (self->plan, scratch.space) || scratch.begin % ALIGNMENT != 0)
        {
          g_autofree char *whose = check_name_instr (self->plan, i);

          check_fault (self->report, LOOM_CHECK_MEMORY, i, G_MAXUINT, "the scratch memory of %s is outside the arena",
                       whose);
        }
    }
  g_array_sort (ranges, compare_ranges);
  for (guint a = 0; a < ranges->len; a++)
    for (guint b = a + 1; b < ranges->len; b++)
      {
        const CheckAccess *x = &g_array_index (ranges, CheckAccess, a), *y = &g_array_index (ranges, CheckAccess, b);
        const CheckAccess *result = x->is_write ? x : y, *other = x->is_write ? y : x;

        if (!overlap (x, y))
          break;
        if (!result->is_write
            || (!other->is_write && result->value != G_MAXUINT
                && may_overwrite (instr, result->value - instr->n_in, other->value, result, other)))
          continue;
        if (name == NULL)
          name = check_name_instr (self->plan, i);
        g_autofree char *what = result->named != G_MAXUINT ? check_name_value (self->plan, result->named)
                                                           : g_strdup ("its scratch memory"),
                        *with = other->named != G_MAXUINT ? check_name_value (self->plan, other->named)
                                                          : g_strdup ("its scratch memory");

        check_fault (self->report, LOOM_CHECK_MEMORY, i, result->named,
                     "%s writes %s over bytes of %s, which its kernel does not allow", name, what, with);
      }
}

/* TRUE for attention whose operands and results are rows inside larger tensors (LoomAttentionRows): infer() knows it
 * only with tensors of its own. */
static gboolean
is_attention_in_place (const LoomKernelSpec *spec)
{
  return (strcmp (spec->primitive, "attention") == 0 || strcmp (spec->primitive, "attention_grad") == 0)
         && ((const LoomAttentionAttrs *)spec->attrs)->in_place;
}

/* The results have the sizes that the primitive makes of its operands, as far as it knows the call: a fused one may
 * have more operands and results. */
static void
check_sizes (Memory *self, guint i)
{
  const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);
  const LoomPrim *prim = check_prim (instr);
  const guint max = prim != NULL ? MAX (prim->max_out, instr->n_out) : 0;
  g_autofree LoomTensorDesc *out = g_new0 (LoomTensorDesc, max + 1);
  g_autofree char *why = NULL, *name = NULL;
  guint n = 0;

  if (prim == NULL || prim->infer == NULL || instr->spec == NULL || is_attention_in_place (instr->spec)
      || !prim->infer (instr->spec->attrs, instr->n_in, instr->spec->in, out, &n, &why))
    return;
  for (guint o = 0; o < MIN (n, instr->n_out); o++)
    {
      if (check_out (instr, o) == G_MAXUINT || loom_desc_count (&out[o]) == loom_desc_count (&instr->spec->out[o]))
        continue;
      name = check_name_instr (self->plan, i);
      check_fault (self->report, LOOM_CHECK_MEMORY, i, check_out (instr, o),
                   "%s makes %" G_GINT64_FORMAT " elements, and its result has %" G_GINT64_FORMAT, name,
                   (gint64)loom_desc_count (&out[o]), (gint64)loom_desc_count (&instr->spec->out[o]));
      return;
    }
}

/* A kernel that runs bodies has room for each body's arena and setup results. */
static void
check_bodies (Memory *self, guint i)
{
  const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);
  g_autofree char *name = NULL;

  for (guint k = 0; k < instr->n_bodies && name == NULL; k++)
    {
      LoomPlanMemory memory;
      gsize bytes;

      loom_plan_memory (instr->body[k], 0, &memory);
      bytes = memory.arena;
      for (int owner = 0; owner < LOOM_N_OWNERS; owner++)
        bytes += memory.once[owner];
      if (bytes <= instr->kernel->scratch_bytes)
        continue;
      name = check_name_instr (self->plan, i);
      check_fault (self->report, LOOM_CHECK_MEMORY, i, G_MAXUINT,
                   "%s has %" G_GSIZE_FORMAT " bytes of scratch memory, and its body %u needs %" G_GSIZE_FORMAT, name,
                   instr->kernel->scratch_bytes, k, bytes);
    }
}

static void
check_call (Memory *self, guint i)
{
  const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);

  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    {
      const guint value = instr->value[k];
      const LoomPlanValue *v = value != G_MAXUINT ? loom_plan_value (self->plan, value) : NULL;
      g_autofree char *name = NULL;

      if (v == NULL || loom_desc_bytes (&v->desc) == 0)
        continue;
      if (v->location.kind == LOOM_LOCATION_NONE)
        {
          name = check_name_instr (self->plan, i);
          check_fault (self->report, LOOM_CHECK_MEMORY, i, value, "%s uses a value that has no memory", name);
        }
      else if (instr->kernel != NULL && v->location.device != instr->device)
        {
          name = check_name_instr (self->plan, i);
          check_fault (self->report, LOOM_CHECK_MEMORY, i, value, "%s uses a value of another device", name);
        }
      if (instr->spec != NULL
          && !check_same_desc (k < instr->n_in ? &instr->spec->in[k] : &instr->spec->out[k - instr->n_in], &v->desc))
        {
          g_free (name);
          name = check_name_instr (self->plan, i);
          check_fault (self->report, LOOM_CHECK_MEMORY, i, value,
                       "the kernel of %s was made for another shape, type or layout of an operand or result", name);
        }
    }
  for (guint o = 0; o < instr->n_out; o++)
    {
      const guint k = updated_operand (instr, o);
      CheckAccess result, operand;

      if (k >= instr->n_in || !range_of (self->plan, check_out (instr, o), &result)
          || !range_of (self->plan, check_in (instr, k), &operand))
        continue;
      if (result.space != operand.space || result.begin != operand.begin || result.end != operand.end)
        {
          g_autofree char *name = check_name_instr (self->plan, i);

          check_fault (self->report, LOOM_CHECK_MEMORY, i, check_out (instr, o),
                       "%s has a result that is not in the memory of the operand that it updates", name);
        }
    }
  if (instr->kernel == NULL && instr->n_in == 1 && instr->n_out == 1 && check_in (instr, 0) != G_MAXUINT
      && check_out (instr, 0) != G_MAXUINT
      && loom_desc_bytes (&loom_plan_value (self->plan, check_in (instr, 0))->desc)
             != loom_desc_bytes (&loom_plan_value (self->plan, check_out (instr, 0))->desc))
    {
      g_autofree char *name = check_name_instr (self->plan, i);

      check_fault (self->report, LOOM_CHECK_MEMORY, i, G_MAXUINT, "%s copies values of different sizes", name);
    }
  check_sharing (self, i);
  check_sizes (self, i);
  check_bodies (self, i);
}

/* ---- contents --------------------------------------------------------------------- */

static void
report_read (Memory *self, guint op, const CheckAccess *access, const CheckBytes *found)
{
  const guint instr = g_array_index (self->trace->ops, CheckOp, op).instr;
  const gboolean at_end = instr == G_MAXUINT;
  g_autofree char *reader = at_end ? g_strdup ("the end of a step") : check_name_instr (self->plan, instr),
                  *value = check_name_value (self->plan, access->named);

  if (found->writer == G_MAXUINT)
    check_fault (self->report, LOOM_CHECK_MEMORY, instr, access->named, "%s reads %s, which nothing has written",
                 reader, value);
  else if (found->value == G_MAXUINT)
    check_fault (self->report, LOOM_CHECK_MEMORY, instr, access->named,
                 "%s reads %s, whose bytes are not written yet, or were used as scratch memory since", reader, value);
  else
    {
      g_autofree char *other = check_name_value (self->plan, found->value),
                      *writer
                      = check_name_instr (self->plan, g_array_index (self->trace->ops, CheckOp, found->writer).instr);

      check_fault (self->report, LOOM_CHECK_MEMORY, instr, access->named,
                   "%s reads %s, but its bytes hold %s, which %s has written", reader, value, other, writer);
    }
}

static void
follow (Memory *self, guint op, const CheckAccess *access)
{
  CheckMap **map = (CheckMap **)&g_ptr_array_index (self->maps, access->space);
  CheckBytes **piece;
  guint n;

  if (*map == NULL)
    *map = check_map_new (0);
  if (access->is_write)
    {
      check_map_write (*map, access->begin, access->end, access->value, op);
      return;
    }
  piece = check_map_cut (*map, access->begin, access->end, &n);
  for (guint i = 0; i < n; i++)
    if (piece[i]->value != access->value || piece[i]->start != access->begin)
      {
        report_read (self, op, access, piece[i]);
        return;
      }
}

void
check_memory (const LoomPlan *plan, LoomCheckReport *report)
{
  g_autoptr (CheckTrace) trace = check_trace_new (plan);
  g_autoptr (GPtrArray) maps = g_ptr_array_new_with_free_func (free_map);
  Memory self = { plan, trace, maps, report };

  g_ptr_array_set_size (maps, (int)trace->n_spaces);
  for (guint v = 1; v < loom_plan_n_values (plan); v++)
    check_place (&self, v);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    check_call (&self, i);
  for (guint i = 0; i < trace->ops->len; i++)
    {
      const CheckOp *op = &g_array_index (trace->ops, CheckOp, i);

      for (guint k = 0; k < op->n_accesses; k++)
        follow (&self, i, &g_array_index (trace->accesses, CheckAccess, op->first_access + k));
    }
}
