/* What is cheap to make is made again for the backward pass instead of being kept.
 *
 * A gradient often reads a value that one pass over memory can make from others that are kept anyway: the ReLU of a
 * normalised convolution, a GELU, the sum at the end of a residual block. Such a value is made a second time right
 * before the first gradient that reads it, and its bytes are free in between. A deep convolutional net so keeps little
 * more than its convolutions' results, for a few per cent of the convolutions' time; nothing is made again from what
 * would have to be kept for that alone. (Chen et al. 2016 trade whole segments; this takes only what costs next to
 * nothing.) */
#include "engine/plan/plan-private.h"

#include <string.h>

/* Below this many bytes a second pass costs more than it saves. */
#define WORTH_MAKING_AGAIN (1 << 20)

typedef struct
{
  Work *w;
  const WorkReaders *readers;
  int *first_reader;  /* of each value: the first instruction of the backward pass that reads it, else -1 */
  gboolean *through;  /* of each value: it is read there as an alias, or by the update */
  gboolean *again;    /* of each value: it is made again and so not kept */
  GHashTable *before; /* WorkInstr → GPtrArray of those to be put in front of it */
} Again;

static void
find_readers (Again *self)
{
  Work *w = self->w;

  for (guint v = 0; v < w->values->len; v++)
    self->first_reader[v] = -1;
  for (guint i = 0; i < w->instrs->len; i++)
    {
      const WorkInstr *instr = work_instr (w, i);

      if (instr->dead || instr->region == LOOM_REGION_FORWARD)
        continue;
      for (guint k = 0; k < instr->in->len; k++)
        {
          guint v = work_in (instr, k), root;

          if (v == 0)
            continue;
          root = work_root (w, v);
          if (self->first_reader[root] < 0)
            self->first_reader[root] = (int)i;
          if (v != root || instr->region == LOOM_REGION_UPDATE)
            self->through[root] = TRUE;
        }
    }
}

static gboolean
is_norm (const WorkInstr *instr)
{
  return strcmp (instr->primitive, "batch_norm") == 0;
}

/* Whether v stays alive until the backward pass whatever is decided here. */
static gboolean
is_kept (const Again *self, guint v)
{
  const WorkValue *value;

  v = work_root (self->w, v);
  value = work_value (self->w, v);
  return value->slot >= 0 || value->input >= 0 || value->is_uniform || value->is_output
         || (self->first_reader[v] >= 0 && !self->again[v]);
}

static WorkInstr *
producer_of (const Again *self, guint v)
{
  int p = work_value (self->w, v)->producer;

  return p >= 0 ? work_instr (self->w, (guint)p) : NULL;
}

static gboolean
norm_can_be_made (const Again *self, const WorkInstr *norm)
{
  for (guint k = 0; k < norm->in->len; k++)
    if (work_in (norm, k) != 0 && !is_kept (self, work_in (norm, k)))
      return FALSE;
  return is_kept (self, work_out (norm, 1)) && is_kept (self, work_out (norm, 2));
}

/* An operand of element-wise work: kept, or the result of a normalisation that one more pass gives. */
static gboolean
operand_can_be_made (const Again *self, guint v)
{
  const WorkInstr *p;

  if (is_kept (self, v))
    return TRUE;
  p = producer_of (self, v);
  return p != NULL && !p->dead && is_norm (p) && work_out (p, 0) == v && norm_can_be_made (self, p);
}

static gboolean
can_be_made (const Again *self, const WorkInstr *instr)
{
  if (is_norm (instr))
    return norm_can_be_made (self, instr);
  for (guint k = 0; k < instr->in->len; k++)
    if (!operand_can_be_made (self, work_in (instr, k)))
      return FALSE;
  return instr->steps != NULL && instr->out->len == 1 && instr->in->len > 0;
}

/* A value like v that the backward pass makes. */
static guint
twin_of (Again *self, guint v)
{
  LoomTensorDesc desc = work_value (self->w, v)->desc;
  WorkValue like = *work_value (self->w, v);
  guint twin = work_new_value (self->w, &desc, &like);

  work_value (self->w, twin)->region = LOOM_REGION_BACKWARD;
  return twin;
}

static WorkInstr *
copy_of (Again *self, const WorkInstr *instr, const char *primitive)
{
  WorkInstr *copy = work_new_instr (self->w, primitive, instr->attrs, instr->attrs_size);

  copy->prim = instr->prim; /* it is the same work, but for the statistics of a normalisation */
  copy->compute = instr->compute;
  copy->region = LOOM_REGION_BACKWARD;
  copy->origin = instr->origin;
  copy->device_name = instr->device_name;
  return copy;
}

static guint
make_norm (Again *self, const WorkInstr *norm, GPtrArray *made)
{
  WorkInstr *apply = copy_of (self, norm, "batch_norm_apply");
  guint in[5] = { work_in (norm, 0), work_out (norm, 1), work_out (norm, 2) }, out = twin_of (self, work_out (norm, 0));
  gboolean affine = ((const LoomNormAttrs *)norm->attrs)->affine;

  if (affine)
    {
      in[3] = work_in (norm, 1);
      in[4] = work_in (norm, 2);
    }
  g_array_append_vals (apply->in, in, affine ? 5 : 3);
  g_array_append_val (apply->out, out);
  g_string_append_printf (apply->label, "%s again", norm->label->str);
  g_ptr_array_add (made, apply);
  return out;
}

static guint
make_elementwise (Again *self, const WorkInstr *instr, GPtrArray *made)
{
  WorkInstr *copy = copy_of (self, instr, instr->primitive);
  guint out;

  copy->steps = g_array_sized_new (FALSE, FALSE, sizeof (WorkStep), instr->steps->len);
  g_array_append_vals (copy->steps, instr->steps->data, instr->steps->len);
  for (guint k = 0; k < instr->in->len; k++)
    {
      guint v = work_in (instr, k), now = is_kept (self, v) ? v : make_norm (self, producer_of (self, v), made);

      g_array_append_val (copy->in, now);
      for (guint s = 0; s < copy->steps->len && now != v; s++)
        for (guint a = 0; a < 3; a++)
          if (g_array_index (copy->steps, WorkStep, s).arg[a] == v)
            g_array_index (copy->steps, WorkStep, s).arg[a] = now;
    }
  out = twin_of (self, work_out (instr, 0));
  /* The inner results are names of registers and may be shared; the last one is the value. */
  for (guint s = 0; s < copy->steps->len; s++)
    if (g_array_index (copy->steps, WorkStep, s).result == work_out (instr, 0))
      g_array_index (copy->steps, WorkStep, s).result = out;
  g_array_append_val (copy->out, out);
  g_string_append_printf (copy->label, "%s again", instr->label->str);
  g_ptr_array_add (made, copy);
  return out;
}

static void
make_again (Again *self, const WorkInstr *instr)
{
  Work *w = self->w;
  guint y = work_out (instr, 0), now;
  int first = self->first_reader[y];
  GPtrArray *made = g_hash_table_lookup (self->before, work_instr (w, (guint)first));

  if (made == NULL)
    {
      made = g_ptr_array_new ();
      g_hash_table_insert (self->before, work_instr (w, (guint)first), made);
    }
  now = is_norm (instr) ? make_norm (self, instr, made) : make_elementwise (self, instr, made);
  self->again[y] = TRUE;
  for (guint r = self->readers->start[y]; r < self->readers->start[y + 1]; r++)
    {
      WorkInstr *reader = work_instr (w, self->readers->instr[r]);

      if (reader->dead || reader->region == LOOM_REGION_FORWARD)
        continue;
      for (guint k = 0; k < reader->in->len; k++)
        if (work_in (reader, k) == y)
          g_array_index (reader->in, guint, k) = now;
      for (guint s = 0; reader->steps != NULL && s < reader->steps->len; s++)
        for (guint a = 0; a < 3; a++)
          if (g_array_index (reader->steps, WorkStep, s).arg[a] == y)
            g_array_index (reader->steps, WorkStep, s).arg[a] = now;
    }
}

static void
insert_made (Again *self)
{
  Work *w = self->w;
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify)work_instr_free);

  for (guint i = 0; i < w->instrs->len; i++)
    {
      const GPtrArray *made = g_hash_table_lookup (self->before, work_instr (w, i));

      for (guint k = 0; made != NULL && k < made->len; k++)
        g_ptr_array_add (all, g_ptr_array_index (made, k));
      g_ptr_array_add (all, work_instr (w, i));
    }
  g_ptr_array_set_free_func (w->instrs, NULL);
  g_ptr_array_unref (w->instrs);
  w->instrs = all;
  for (guint i = 0; i < all->len; i++)
    for (guint k = 0; k < work_instr (w, i)->out->len && !work_instr (w, i)->dead; k++)
      if (work_out (work_instr (w, i), k) != 0)
        work_value (w, work_out (work_instr (w, i), k))->producer = (int)i;
}

void
work_make_again (Work *w)
{
  guint n = w->values->len; /* those that are added have no say */
  g_autofree int *first_reader = g_new (int, n);
  g_autofree gboolean *through = g_new0 (gboolean, n), *again = g_new0 (gboolean, n);
  g_autoptr (GHashTable) before = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
  g_autoptr (WorkReaders) readers = work_readers_new (w);
  Again self = { w, readers, first_reader, through, again, before };

  find_readers (&self);
  for (guint i = 0; i < w->instrs->len; i++)
    {
      const WorkInstr *instr = work_instr (w, i);
      const WorkValue *y;
      guint v;

      if (instr->dead || instr->region != LOOM_REGION_FORWARD || (instr->steps == NULL && !is_norm (instr)))
        continue;
      v = work_out (instr, 0);
      if (v == 0)
        continue;
      y = work_value (w, v);
      if (first_reader[v] >= 0 && !through[v] && !y->is_output && y->commit < 0 && !y->is_uniform
          && loom_desc_bytes (&y->desc) >= WORTH_MAKING_AGAIN && can_be_made (&self, instr))
        make_again (&self, instr);
    }
  if (g_hash_table_size (before) > 0)
    insert_made (&self);
}
