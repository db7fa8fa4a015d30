/* Replaces a sum of padded parts with one concatenation.
 *
 * A tensor may be split into slices: queries, keys and values of one product, or gates of a recurrent cell. Its
 * gradient is then a sum of padded parts: each part is written with zeros around it, read again and added. If the parts
 * are adjacent without a gap, their sum is a concatenation, which reads and writes each number once. The bits are the
 * same except for the sign of a zero and, if there are other summands between the parts, the order of addition.
 *
 * A sum of 16-bit floats is computed in f32 and rounded each time. Adding zeros changes nothing, so a sum of padded
 * parts can be joined in 16 bits too, also with one other summand, which is added to one part at each position in any
 * order. With more summands another order would change the rounding visibly. */
#include "engine/plan/plan-private.h"

typedef struct
{
  guint value;      /* the padded part */
  PlanNode *pad;    /* its producer */
  PlanNode *reader; /* the sum that adds it */
  gint64 first, n;  /* its range along the axis */
} Part;

static gboolean
is_16bit (LoomDType dtype)
{
  return dtype == LOOM_BF16 || dtype == LOOM_F16;
}

static gboolean
is_sum (PlanGraph *g, const PlanNode *instr)
{
  const LoomTensorDesc *out;

  if (instr == NULL || !node_is_step (instr, LOOM_SCALAR_ADD))
    return FALSE;
  out = &graph_value (g, node_out (instr, 0))->desc;
  return instr->in->len == 2 && (instr->compute == out->dtype || (instr->compute == LOOM_F32 && is_16bit (out->dtype)))
         && plan_same_dims (&graph_value (g, node_in (instr, 0))->desc, out)
         && plan_same_dims (&graph_value (g, node_in (instr, 1))->desc, out)
         && graph_value (g, node_in (instr, 0))->desc.dtype == out->dtype
         && graph_value (g, node_in (instr, 1))->desc.dtype == out->dtype;
}

/* The axis along which a pad extends its operand with zeros, if there is exactly one and no interior padding; else
 * −1. */
static int
axis_of (PlanGraph *g, const PlanNode *pad)
{
  const LoomPadTo *a = pad->attrs;
  const LoomTensorDesc *part = &graph_value (g, node_in (pad, 0))->desc;
  int axis = -1;

  if (a->kernel.value != 0)
    return -1;
  for (int i = 0; i < part->rank; i++)
    {
      if (a->kernel.step[i] != 1 && part->dim[i] != 1)
        return -1;
      if (part->dim[i] == a->to.dim[i])
        continue;
      if (axis >= 0)
        return -1;
      axis = i;
    }
  return axis;
}

/* Collects the padded parts of a sum of sums in the order of addition, and the inner sums, and counts the other
 * summands. */
static void
collect (PlanGraph *g, PlanNode *sum, GArray *parts, GPtrArray *inner, guint *n_others)
{
  for (guint k = 0; k < 2; k++)
    {
      guint v = node_in (sum, k);
      PlanNode *producer = graph_value (g, v)->producer;

      if (producer == NULL || producer->device_name != sum->device_name)
        ++*n_others;
      /* A part may belong to several sums, and then to several concatenations: two parts of a GRU's gates occur in the
       * gradients of both the input's and the state's product. */
      else if (is_sum (g, producer) && graph_only_reader (g, v, FALSE) == sum)
        {
          g_ptr_array_add (inner, producer);
          collect (g, producer, parts, inner, n_others);
        }
      else if (node_is (producer, "pad") && axis_of (g, producer) >= 0)
        {
          Part part = { .value = v, .pad = producer, .reader = sum };

          g_array_append_val (parts, part);
        }
      else
        ++*n_others;
    }
}

static int
compare_positions (const void *a, const void *b)
{
  const Part *x = a, *y = b;

  return x->first < y->first ? -1 : x->first > y->first;
}

/* Sorts the parts by position; FALSE if they do not fill the axis exactly. */
static gboolean
fill_axis (PlanGraph *g, GArray *parts, int axis)
{
  gint64 end = 0;

  for (guint i = 0; i < parts->len; i++)
    {
      Part *part = &g_array_index (parts, Part, i);

      if (axis_of (g, part->pad) != axis)
        return FALSE;
      part->first = ((const LoomPadTo *)part->pad->attrs)->kernel.start[axis];
      part->n = graph_value (g, node_in (part->pad, 0))->desc.dim[axis];
    }
  g_array_sort (parts, compare_positions);
  for (guint i = 0; i < parts->len; i++)
    {
      const Part *part = &g_array_index (parts, Part, i);

      if (part->first != end)
        return FALSE;
      end += part->n;
    }
  return end == graph_value (g, g_array_index (parts, Part, 0).value)->desc.dim[axis];
}

/* Erases a part's sum; readers of the sum read its other operand instead. If that is a part too, its reader is
 * updated. */
static void
drop_summand (PlanGraph *g, GArray *parts, const Part *part)
{
  PlanNode *sum = part->reader;
  guint other = node_in (sum, node_in (sum, 0) == part->value ? 1 : 0), out = node_out (sum, 0);

  for (guint i = 0; i < parts->len; i++)
    if (g_array_index (parts, Part, i).value == other)
      g_array_index (parts, Part, i).reader = graph_only_reader (g, out, FALSE);
  graph_erase (g, sum);
  graph_replace (g, out, other);
}

/* Gives the result of a changed sum a new value number: the old number denotes the program's value. */
static void
renumber (PlanGraph *g, PlanNode *sum)
{
  const guint old = node_out (sum, 0);
  PlanNode *reader = graph_only_reader (g, old, FALSE);
  guint now;

  if (sum->dead || reader == NULL)
    return;
  now = graph_value_like (g, old);
  node_step (sum, 0)->result = now;
  graph_set_out (g, sum, 0, now);
  for (guint k = 0; k < reader->in->len; k++)
    if (node_in (reader, k) == old)
      graph_set_in (g, reader, k, now);
}

/* Inserts the concatenation before the last sum, where all parts are available, in place of that sum's part, and
 * removes the other parts from their sums. FALSE if the device has no such kernel. */
static gboolean
join (PlanGraph *g, GArray *parts, int axis)
{
  LoomConcatAttrs attrs = { .axis = axis };
  const Part *last = &g_array_index (parts, Part, 0);
  g_autofree guint *in = g_new (guint, parts->len);
  PlanNode *concat;
  guint result;

  for (guint i = 1; i < parts->len; i++)
    if (!node_is_before (g_array_index (parts, Part, i).reader, last->reader))
      last = &g_array_index (parts, Part, i);
  concat = graph_insert_like (g, last->reader, last->pad, loom_prim ("concat"), &attrs, "concat");
  result = graph_value_like (g, last->value);
  for (guint i = 0; i < parts->len; i++)
    {
      in[i] = node_in (g_array_index (parts, Part, i).pad, 0);
      graph_add_in (g, concat, in[i]);
    }
  graph_add_out (g, concat, result);
  if (!graph_has_kernel (g, concat, parts->len, in, 1, &result))
    {
      graph_erase (g, concat);
      return FALSE;
    }
  graph_set_in (g, last->reader, node_in (last->reader, 0) == last->value ? 0 : 1, result);
  for (guint i = 0; i < parts->len; i++)
    if (g_array_index (parts, Part, i).value != last->value)
      drop_summand (g, parts, &g_array_index (parts, Part, i));
  return TRUE;
}

/* TRUE if the sum's reader is no sum. Inner sums are handled with the outermost one. */
static gboolean
is_outermost (PlanGraph *g, const PlanNode *sum)
{
  const PlanNode *reader = graph_only_reader (g, node_out (sum, 0), FALSE);

  return reader == NULL || reader->device_name != sum->device_name || !is_sum (g, reader);
}

void
pass_fuse_padded_parts (PlanGraph *g)
{
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (Part));
  g_autoptr (GPtrArray) inner = g_ptr_array_new ();

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      guint n_others = 0;

      if (!is_sum (g, instr) || !is_outermost (g, instr))
        continue;
      g_array_set_size (parts, 0);
      g_ptr_array_set_size (inner, 0);
      collect (g, instr, parts, inner, &n_others);
      if (parts->len >= 2 && (n_others <= 1 || !is_16bit (graph_value (g, node_out (instr, 0))->desc.dtype)))
        {
          int axis = axis_of (g, g_array_index (parts, Part, 0).pad);

          if (fill_axis (g, parts, axis) && join (g, parts, axis))
            for (guint i = 0; i < inner->len; i++)
              renumber (g, inner->pdata[i]);
        }
    }
}
