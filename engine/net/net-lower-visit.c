/* Lowers bodies that data choose: switch, and recurse along trees.
 *
 * Each body is lowered to a scratch program, as for scan. Slots that bodies read are operands of the instruction, the
 * same for all bodies; if one body updates a buffer (running statistics), the others return the old value. For bodies
 * that get rows, the rows are sorted first, by body or by level, so that the rows of each are adjacent, and the results
 * are sorted back. */
#include "engine/net/lower-region.h"

#include <string.h>

/* The number of sizes for which a body has plans, each half of the one before. A group of rows is padded to the next
 * larger size, so it costs less than twice its need, unless it is smaller than the smallest size. The levels of trees
 * differ more than choices do. */
#define SIZES_OF_LEVELS  LOOM_VISIT_MAX_SIZES
#define SIZES_OF_CHOICES 4

typedef struct
{
  NetRegion r;
  LoomVisitAttrs attrs;
  gint64 rows; /* 0: the bodies get whole operands */
  LoomValue order, place;
  LoomBodyCall call; /* extracts each body from a scratch program */
  GPtrArray *slots;  /* names of slots that bodies read, borrowed from scratch programs */
} Visit;

static gboolean
is_tree (const Visit *v)
{
  return v->r.loop->spec->kind == LOOM_LOOP_TREE;
}

static gboolean
is_from_children (const Visit *v, guint input)
{
  return loom_net_is_from_children (v->r.loop->local, input);
}

/* TRUE if an output's rows are results, because they are read. Values for parents are also passed along a link. */
static gboolean
has_row_results (const Visit *v, guint output)
{
  return loom_net_is_requested (v->r.l, v->r.node, output);
}

/* ---- rows --------------------------------------------------------------------------- */

static LoomValue
gather_rows (LoomProgram *p, LoomValue v, LoomValue order)
{
  return loom_emit (p, loom_prim ("gather_rows"), NULL, 2, (LoomValue[]){ v, order }, NULL);
}

/* [B, N, …] → [B·N, …] */
static LoomValue
merge (LoomProgram *p, LoomValue v)
{
  const LoomTensorDesc *d = value_desc (p, v);
  gint64 dims[LOOM_MAX_RANK] = { d->dim[0] * d->dim[1] };

  for (int i = 1; i < d->rank - 1; i++)
    dims[i] = d->dim[i + 1];
  return loom_reshape (p, v, d->rank - 1, dims);
}

/* [B·N, …] → the shape of an output. */
static LoomValue
put_back (const Visit *v, LoomValue rows, guint output)
{
  const LoomType *type = &v->r.runner->output[output];
  LoomValue sorted = gather_rows (v->r.outer, rows, v->place);
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  loom_shape_get (&type->shape, dims);
  return is_tree (v) ? loom_reshape (v->r.outer, sorted, type->shape.rank, dims) : sorted;
}

/* Sorts the rows by group, and computes each row's group. */
static void
sort_rows (Visit *v)
{
  LoomValue chosen = net_region_input (&v->r, v->r.module->n_inputs), out[4];
  LoomOrderAttrs attrs = { .groups = v->r.loop->n_bodies, .slots = v->r.loop->slots };

  if (v->rows == 0)
    {
      g_array_append_val (v->call.operand, chosen);
      return;
    }
  loom_emit (v->r.outer, loom_prim (is_tree (v) ? "level_rows" : "group_rows"), &attrs, 1, &chosen, out);
  v->order = out[0];
  v->place = out[1];
  g_array_append_vals (v->call.operand, out + 2, is_tree (v) ? 2 : 1);
}

/* ---- bodies -------------------------------------------------------------------------- */

static void
choose_sizes (Visit *v)
{
  LoomVisitAttrs *a = &v->attrs;
  guint most = MIN (is_tree (v) ? SIZES_OF_LEVELS : SIZES_OF_CHOICES, LOOM_VISIT_MAX_BODIES / v->r.loop->n_bodies);

  a->n_branches = v->r.loop->n_bodies;
  if (v->rows == 0)
    return;
  a->size[a->n_sizes++] = v->rows;
  while (a->n_sizes < most && a->size[a->n_sizes - 1] > 1)
    {
      a->size[a->n_sizes] = (a->size[a->n_sizes - 1] + 1) / 2;
      a->n_sizes++;
    }
}

/* Adds the inputs of a body: rows, links, and invariants. */
static void
add_borders (Visit *v, guint k)
{
  LoomProgram *p = v->call.from[k];
  guint b = k % v->attrs.n_branches;

  for (int links = 0; links < 2; links++)
    for (guint i = 0; i < v->r.module->n_inputs; i++)
      {
        guint node = loom_net_border (v->r.l->net, v->r.loop, b, i);
        const LoomNetNode *border = loom_net_node (v->r.l->net, node);
        gint64 dims[LOOM_SHAPE_MAX_RANK];
        LoomDType dtype = border->output[0].dtype;

        if (is_from_children (v, i) != links)
          continue;
        /* Values of another type than the graph's float keep it. */
        dtype = links ? program_dtype (v->r.l, dtype) : value_desc (v->r.outer, net_region_input (&v->r, i))->dtype;
        loom_shape_get (&border->output[0].shape, dims);
        v->r.l->value[node][0] = loom_program_input (p, border->path, dtype, border->output[0].shape.rank, dims);
        if (!links)
          g_array_append_val (v->call.in[k], v->r.l->value[node][0]);
      }
}

/* Adds the links after the rows, in the order of outputs and of their children. */
static void
add_link_inputs (Visit *v, guint k)
{
  for (guint o = 0; o < v->r.module->n_outputs; o++)
    {
      const char *carry = loom_element_get (v->r.module->locals[v->r.module->outputs[o]].element, LOOM_CARRY);

      for (guint s = 0; carry != NULL && s < MAX (v->r.loop->slots, 1); s++)
        for (guint i = 0; i < v->r.module->n_inputs; i++)
          {
            const char *id = v->r.module->locals[v->r.module->inputs[i]].id;
            g_autofree char *name = v->r.loop->slots > 0 ? g_strdup_printf ("%s%u", carry, s) : g_strdup (carry);

            if (is_from_children (v, i) && strcmp (id, name) == 0)
              g_array_append_val (v->call.in[k], v->r.l->value[loom_net_border (v->r.l->net, v->r.loop, 0, i)][0]);
          }
    }
}

static LoomValue
body_output (const Visit *v, guint k, guint o)
{
  LoomValue value = net_region_input (&v->r, loom_net_body_output (v->r.module, k % v->attrs.n_branches, o));

  return net_region_copy (v->call.from[k], value);
}

static void
add_outputs (Visit *v, guint k)
{
  for (guint o = 0; is_tree (v) && o < v->r.module->n_outputs; o++)
    if (loom_net_carried_input (v->r.module, o) >= 0)
      {
        LoomValue value = body_output (v, k, o);

        g_array_append_val (v->call.out[k], value);
      }
  for (guint o = 0; o < v->r.module->n_outputs; o++)
    if (has_row_results (v, o))
      {
        LoomValue value = body_output (v, k, o);

        g_array_append_val (v->call.out[k], value);
      }
}

static void
note_slots (Visit *v, const LoomProgram *p)
{
  for (guint s = 0; s < loom_program_n_slots (p); s++)
    {
      const char *name = loom_program_get_slot (p, s)->name;

      if (!g_ptr_array_find_with_equal_func (v->slots, name, g_str_equal, NULL))
        g_ptr_array_add (v->slots, (gpointer)name);
    }
}

/* Lowers a body for n rows, or for all rows. */
static gboolean
lower_body (Visit *v, guint k)
{
  LoomProgram *p = v->call.from[k] = net_region_new_body (&v->r);

  add_borders (v, k);
  if (!net_region_lower_body (&v->r, k % v->attrs.n_branches, p, NULL, NULL))
    return FALSE;
  net_region_set_origin (&v->r, p);
  if (is_tree (v))
    add_link_inputs (v, k);
  add_outputs (v, k);
  note_slots (v, p);
  return TRUE;
}

/* FALSE with an error: bodies over groups of rows cannot update batch statistics. */
static gboolean
check_statistics (Visit *v, const LoomProgram *body)
{
  for (guint s = 0; v->rows > 0 && s < loom_program_n_slots (body); s++)
    if (loom_program_get_slot (body, s)->commit != 0)
      {
        g_set_error (&v->r.l->error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                     "%s is a statistic of the batch, but a body of %s reads only some rows of it. Use layer_norm or "
                     "group_norm there%s.",
                     loom_program_get_slot (body, s)->name, v->r.runner->path,
                     is_tree (v) ? "" : ", or set index to one number for the whole batch");
        return FALSE;
      }
  return TRUE;
}

static gboolean
lower_bodies (Visit *v)
{
  const LoomNet *net = v->r.l->net;
  gboolean ok = TRUE;

  for (guint size = 0; ok && size < MAX (v->attrs.n_sizes, 1); size++)
    {
      LoomNet *typed = size > 0 ? loom_net_retype (net, v->r.loop, v->rows, v->attrs.size[size], &v->r.l->error) : NULL;

      ok = size == 0 || typed != NULL;
      if (typed != NULL)
        v->r.l->net = typed;
      for (guint b = 0; ok && b < v->attrs.n_branches; b++)
        ok = lower_body (v, size * v->attrs.n_branches + b)
             && check_statistics (v, v->call.from[size * v->attrs.n_branches + b]);
      v->r.l->net = net;
      g_clear_pointer (&typed, loom_net_retype_free);
    }
  return ok;
}

/* ---- state ------------------------------------------------------------------------------ */

static const LoomSlot *
slot_named (const LoomProgram *p, const char *name)
{
  for (guint s = 0; s < loom_program_n_slots (p); s++)
    if (g_str_equal (loom_program_get_slot (p, s)->name, name))
      return loom_program_get_slot (p, s);
  return NULL;
}

/* The slot as a body declares it. *commits: TRUE if a body updates it. */
static const LoomSlot *
find_slot (const Visit *v, const char *name, gboolean *commits)
{
  const LoomSlot *found = NULL;

  *commits = FALSE;
  for (guint k = 0; k < v->call.n; k++)
    {
      const LoomSlot *slot = slot_named (v->call.from[k], name);

      found = found != NULL ? found : slot;
      *commits |= slot != NULL && slot->commit != 0;
    }
  return found;
}

/* Adds an operand for all bodies. For trees the step number is combined with the level. */
static void
add_slot (Visit *v, const LoomSlot *slot, gboolean commits, gboolean counts, GArray *committed)
{
  int outer, inner;
  LoomValue now = net_region_read (v->r.outer, slot, &outer);

  if (counts)
    now = net_region_scale_step (&v->r, now);
  g_array_append_val (v->call.operand, now);
  v->attrs.n_counters += counts;
  v->attrs.n_whole++;
  if (commits)
    g_array_append_val (committed, outer);
  for (guint k = 0; k < v->call.n; k++)
    {
      LoomValue in = net_region_read (v->call.from[k], slot, &inner), next;
      const LoomSlot *own = loom_program_get_slot (v->call.from[k], (guint)inner);

      g_array_append_val (v->call.in[k], in);
      next = net_region_copy (v->call.from[k], own->commit != 0 ? own->commit : in);
      if (commits)
        g_array_append_val (v->call.out[k], next);
    }
}

static void
add_slots (Visit *v, GArray *committed)
{
  for (int counters = 1; counters >= 0; counters--)
    for (guint i = 0; i < v->slots->len; i++)
      {
        const char *name = v->slots->pdata[i];
        gboolean commits, counts = is_tree (v) && net_region_is_step (&v->r, name);
        const LoomSlot *slot = find_slot (v, name, &commits);

        if (counts == counters)
          add_slot (v, slot, commits, counts, committed);
      }
}

/* ---- the instruction ------------------------------------------------------------------------ */

static void
add_inputs (Visit *v)
{
  for (guint i = 0; i < v->r.module->n_inputs; i++)
    {
      LoomValue operand;

      if (is_from_children (v, i))
        continue;
      operand = net_region_input (&v->r, i);
      if (is_tree (v))
        operand = merge (v->r.outer, operand);
      if (v->rows > 0)
        operand = gather_rows (v->r.outer, operand, v->order);
      g_array_append_val (v->call.operand, operand);
      *(v->rows > 0 ? &v->attrs.n_rows : &v->attrs.n_whole) += 1;
    }
}

static void
count_links (Visit *v)
{
  v->attrs.slots = MAX (v->r.loop->slots, 1);
  v->attrs.levels = is_tree (v);
  for (guint o = 0; is_tree (v) && o < v->r.module->n_outputs; o++)
    v->attrs.n_links += loom_net_carried_input (v->r.module, o) >= 0;
}

static void
emit (Visit *v, const GArray *committed)
{
  LoomVisitAttrs *a = &v->attrs;
  guint n_results = v->call.out[0]->len - a->n_links, k = 0;
  g_autofree LoomValue *out = NULL;

  *(v->rows > 0 ? &a->n_row_results : &a->n_sums) = n_results;
  out = loom_body_call_emit (&v->call, v->r.outer, loom_prim (v->rows > 0 ? "visit" : "switch"), a, n_results);
  for (guint o = 0; o < v->r.module->n_outputs; o++)
    if (has_row_results (v, o))
      {
        v->r.l->value[v->r.node][o] = v->rows > 0 ? put_back (v, out[k], o) : out[k];
        k++;
      }
  for (guint c = 0; c < committed->len; c++)
    loom_program_commit (v->r.outer, g_array_index (committed, int, c), out[k + c]);
}

gboolean
loom_net_lower_visit (NetLowering *l, guint i)
{
  Visit v = { .r = net_region (l, i) };
  g_autoptr (GArray) committed = g_array_new (FALSE, FALSE, sizeof (int));
  const LoomTensorDesc *chosen = value_desc (l->program, net_region_input (&v.r, v.r.module->n_inputs));
  gboolean ok;

  for (int d = 0; d < chosen->rank; d++)
    v.rows = MAX (v.rows, 1) * chosen->dim[d];
  v.slots = g_ptr_array_new ();
  choose_sizes (&v);
  loom_body_call_init (&v.call, v.attrs.n_branches * MAX (v.attrs.n_sizes, 1));
  count_links (&v);
  net_region_set_origin (&v.r, v.r.outer);
  ok = lower_bodies (&v);
  net_region_set_origin (&v.r, v.r.outer);
  if (ok)
    {
      sort_rows (&v);
      add_inputs (&v);
      add_slots (&v, committed);
      emit (&v, committed);
    }
  loom_body_call_clear (&v.call);
  g_ptr_array_unref (v.slots);
  return ok;
}
