/* Computes the head of a language model in chunks of its rows. The head is a product with one logit for each row and
 * class, its loss, and their gradients. With tens of thousands of classes the logits are by far the largest value of a
 * step, although each row is finished once its loss and gradient are known. So the product, the loss, the gradient of
 * the logits, and its contribution to the gradients of the product's operands are computed for one chunk after another
 * in the same memory. Losses and gradients of rows are concatenated; gradients of weights are added in the chunks'
 * order. Nothing is computed twice.
 *
 * The gradient of the logits is needed while the logits exist, so in the forward pass. It depends on the loss only by a
 * factor, the derivative of a mean, whose computation is moved to the front. If that factor depends on the loss itself,
 * or anything else reads the logits, the head is not split. */
#include "engine/plan/plan-linear-cross-entropy.h"

/* A chunk has at least this many bytes of logits and at least this many rows. Each chunk after the first costs a sum of
 * the weight's gradient [classes, width]: its product writes a part, and the sum reads two and writes one, 16 bytes an
 * element in f32, while the products make 6 operations for each element and row. So the sums take 16·F / (6·rows·B) of
 * the products' time, for any number of classes and any width, on a device of F operations and B bytes a second.
 *
 * On a CPU F/B is about 10, so 1,024 rows cost 3 %. An H100 has 3.3 TB/s, 50 TFLOP/s in f32 and 700 in bf16: 4,096 rows
 * cost 1 % of the products in f32. In bf16 parts take 2 bytes and their sum 4, 10 bytes an element or 9 % of the
 * products; 6 % of a head of 768 features, which also copies the logits. Fewer rows would save little more memory and
 * leave multiprocessors idle. These are estimates from the formula, not measurements. */
#define CHUNK_BYTES  (16 << 20)
#define MIN_ROWS     1024
#define MIN_ROWS_GPU 4096

typedef struct
{
  const PlanHead *of;
  PlanGraph *g;
  gint64 size;        /* bytes of a logit, as the loss reads it */
  GPtrArray *earlier; /* instructions to move before the head, in order */
} Head;

/* A result that is neither logits nor has rows is a sum, to which each chunk adds. */
static gboolean
is_sum (const PlanHeadPort *result)
{
  return result->value != 0 && !result->is_logits && result->rows < 0;
}

/* TRUE if the instruction can be split into chunks of rows. */
static gboolean
can_split (const Head *h, const PlanNode *instr)
{
  if (instr->recomputation != 0 || !plan_head_knows (h->of, instr)
      || (instr->steps == NULL && graph_value (h->g, node_in (instr, 0))->desc.rank != 2))
    return FALSE;
  for (guint o = 0; o < instr->out->len; o++)
    if (plan_head_result (h->of, instr, o).rows > 0)
      return FALSE;
  for (guint k = 0; k < instr->in->len; k++)
    if (plan_head_operand (h->of, instr, k).rows > 0)
      return FALSE;
  return TRUE;
}

/* TRUE if the producer of v is before the head, or can be moved there. */
static gboolean
is_early (Head *h, guint v, const PlanNode *first)
{
  PlanNode *producer = graph_value (h->g, graph_root (h->g, v))->producer;

  if (v == 0 || graph_is_ready (h->g, v, first) || g_ptr_array_find (h->earlier, producer, NULL))
    return TRUE;
  if (g_hash_table_contains (h->of->members, producer)
      || (producer->steps == NULL && !node_is (producer, "reduce") && !node_is (producer, "expand")
          && !node_is (producer, "fill") && !node_is (producer, "copy") && !node_is (producer, "permute")
          && !node_is (producer, "pad")))
    return FALSE;
  for (guint k = 0; k < producer->in->len; k++)
    if (!is_early (h, node_in (producer, k), first))
      return FALSE;
  g_ptr_array_add (h->earlier, producer);
  return TRUE;
}

/* TRUE if all instructions can be split and can be computed at the head's position. */
static gboolean
can_chunk (Head *h)
{
  const PlanNode *first;

  first = h->of->instrs->pdata[0];
  for (guint i = 0; i < h->of->instrs->len; i++)
    {
      const PlanNode *instr = h->of->instrs->pdata[i];

      if (!can_split (h, instr))
        return FALSE;
      for (guint k = 0; k < instr->in->len; k++)
        {
          const PlanHeadPort in = plan_head_operand (h->of, instr, k);
          const PlanNode *producer = in.value != 0 ? graph_value (h->g, graph_root (h->g, in.value))->producer : NULL;

          /* Within a chunk, an instruction reads from another one only logits or the ln Σ exp of rows. */
          if (!in.is_logits && g_hash_table_contains (h->of->members, (gpointer)producer))
            {
              if (in.rows < 0 || !node_is (producer, "cross_entropy"))
                return FALSE;
            }
          else if (!in.is_logits && !is_early (h, in.value, first))
            return FALSE;
        }
    }
  return TRUE;
}

static gint64
min_rows (const Head *h)
{
  return graph_is_on_gpu (h->g, h->of->device_name) ? MIN_ROWS_GPU : MIN_ROWS;
}

/* The number of chunks; 1 if splitting saves too little, since a chunk's part of a weight's gradient takes memory
 * too. */
static gint64
count_chunks (const Head *h)
{
  const gint64 row = h->of->classes * h->size;
  const gint64 least = MAX (min_rows (h), CHUNK_BYTES / MAX (row, 1)), n = h->of->rows / least;
  gint64 more = 0;

  for (guint i = 0; i < h->of->instrs->len && n > 1; i++)
    {
      const PlanNode *instr = h->of->instrs->pdata[i];

      for (guint o = 0; o < instr->out->len; o++)
        {
          const PlanHeadPort result = plan_head_result (h->of, instr, o);

          if (is_sum (&result))
            more += (gint64)loom_desc_bytes (&graph_value (h->g, result.value)->desc);
        }
    }
  return n > 1 && more < row * (h->of->rows - h->of->rows / n) / 2 ? n : 1;
}

/* ---- splitting -------------------------------------------------------------------------- */

typedef struct
{
  Head *h;
  PlanNode *before;
  guint chunk;         /* its number, from 1 */
  gint64 from, n;      /* its rows */
  GHashTable *here;    /* by key_of(): the chunk's version of a value */
  GHashTable *results; /* by number of a result: GArray of guint, its parts from all chunks */
} Chunking;

/* Inserts an instruction of the chunk that corresponds to `like`. */
static PlanNode *
insert_for (Chunking *c, const PlanNode *like, const LoomPrim *prim, const void *attrs, const char *label)
{
  PlanNode *instr = graph_insert_like (c->h->g, c->before, like, prim, attrs, label);

  instr->region = LOOM_REGION_FORWARD;
  instr->chunk = c->chunk;
  return instr;
}

/* Inserts an element-wise step with one or two operands. */
static guint
insert_step (Chunking *c, const PlanNode *like, LoomScalarOp op, LoomDType dtype, guint a, guint b)
{
  const char *name = op == LOOM_SCALAR_ID ? "copy" : "add";
  PlanNode *instr = insert_for (c, like, loom_prim (name), NULL, op == LOOM_SCALAR_ID ? "cast" : name);
  LoomTensorDesc desc = graph_value (c->h->g, a)->desc;
  PlanStep step = { .op = op, .arg = { a, b } };

  desc.dtype = dtype;
  step.result = graph_new_value (c->h->g, &desc, graph_value (c->h->g, a));
  instr->compute = loom_program_get_float (c->h->g->program);
  instr->steps = g_array_new (FALSE, FALSE, sizeof (PlanStep));
  g_array_append_val (instr->steps, step);
  graph_add_in (c->h->g, instr, a);
  if (b != 0)
    graph_add_in (c->h->g, instr, b);
  graph_add_out (c->h->g, instr, step.result);
  return step.result;
}

static guint
value_of (Chunking *c, guint v, int rank, gint64 first, gint64 second)
{
  const PlanValue *like = graph_value (c->h->g, v);

  return graph_new_value (c->h->g,
                          &(LoomTensorDesc){ .dtype = like->desc.dtype, .rank = rank, .dim = { first, second } }, like);
}

/* The rows of a value for the chunk: a slice of the whole value. */
static guint
slice_of (Chunking *c, const PlanNode *like, guint v)
{
  const LoomTensorDesc whole = graph_value (c->h->g, v)->desc;
  LoomSliceTo to = { .to = { .rank = whole.rank } };
  PlanNode *slice;
  guint part;

  for (int i = 0; i < whole.rank; i++)
    {
      to.kernel.start[i] = i == 0 ? c->from : 0;
      to.kernel.step[i] = 1;
      to.to.dim[i] = i == 0 ? c->n : whole.dim[i];
    }
  part = value_of (c, v, whole.rank, c->n, whole.rank > 1 ? whole.dim[1] : 0);
  slice = insert_for (c, like, loom_prim ("slice"), &to, "slice");
  graph_add_in (c->h->g, slice, v);
  graph_add_out (c->h->g, slice, part);
  return part;
}

/* The key of v among the chunk's values: all views of a value that the chunk makes have one key. */
static gpointer
key_of (const Chunking *c, guint v)
{
  const guint root = graph_root (c->h->g, v);

  return GUINT_TO_POINTER (g_hash_table_contains (c->h->of->members, graph_value (c->h->g, root)->producer) ? root : v);
}

static guint
operand_of (Chunking *c, const PlanNode *instr, guint k)
{
  const PlanHeadPort in = plan_head_operand (c->h->of, instr, k);
  const guint v = in.value;
  guint now;

  if (v == 0 || (!in.is_logits && in.rows < 0))
    return v;
  now = GPOINTER_TO_UINT (g_hash_table_lookup (c->here, key_of (c, v)));
  if (now == 0)
    {
      now = slice_of (c, instr, v);
      g_hash_table_insert (c->here, key_of (c, v), GUINT_TO_POINTER (now));
    }
  return now;
}

/* Adds the chunk's part to the sum of the previous ones, in f32 at least. */
static void
add_up (Chunking *c, const PlanNode *instr, guint v, guint part)
{
  GArray *parts = g_hash_table_lookup (c->results, GUINT_TO_POINTER (v));
  const LoomDType dtype = graph_value (c->h->g, v)->desc.dtype, sum = dtype == LOOM_F64 ? LOOM_F64 : LOOM_F32;

  if (dtype != sum)
    part = insert_step (c, instr, LOOM_SCALAR_ID, sum, part, 0);
  if (parts->len == 0)
    g_array_append_val (parts, part);
  else
    g_array_index (parts, guint, 0)
        = insert_step (c, instr, LOOM_SCALAR_ADD, sum, g_array_index (parts, guint, 0), part);
}

/* The chunk's version of result o. */
static guint
result_of (Chunking *c, const PlanHeadPort *result)
{
  const guint v = result->value;
  const LoomTensorDesc *whole = &graph_value (c->h->g, v)->desc;

  if (result->is_logits)
    return value_of (c, v, 2, c->n, c->h->of->classes);
  if (!is_sum (result))
    return value_of (c, v, whole->rank, c->n, whole->rank > 1 ? whole->dim[1] : 0);
  return graph_value_like (c->h->g, v);
}

/* Repeats the instruction for the chunk. */
static void
chunk_instr (Chunking *c, const PlanNode *instr)
{
  PlanGraph *g = c->h->g;
  g_autofree guint *in = g_new (guint, instr->in->len);
  PlanNode *copy;

  for (guint k = 0; k < instr->in->len; k++)
    in[k] = operand_of (c, instr, k);
  copy = insert_for (c, instr, instr->prim, instr->attrs, instr->label->str);
  copy->compute = instr->compute;
  if (instr->steps != NULL)
    {
      copy->steps = g_array_sized_new (FALSE, FALSE, sizeof (PlanStep), instr->steps->len);
      g_array_append_vals (copy->steps, instr->steps->data, instr->steps->len);
    }
  for (guint k = 0; k < instr->in->len; k++)
    {
      graph_add_in (g, copy, node_in (instr, k));
      graph_set_in (g, copy, k, in[k]);
    }
  for (guint o = 0; o < instr->out->len; o++)
    {
      const PlanHeadPort result = plan_head_result (c->h->of, instr, o);
      const guint v = result.value, now = v != 0 ? result_of (c, &result) : 0;

      for (guint s = 0; copy->steps != NULL && s < copy->steps->len; s++)
        if (node_step (copy, s)->result == v)
          node_step (copy, s)->result = now;
      graph_add_out (g, copy, now);
      if (v == 0)
        continue;
      g_hash_table_insert (c->here, key_of (c, v), GUINT_TO_POINTER (now));
      if (is_sum (&result))
        add_up (c, instr, v, now);
      else if (!result.is_logits)
        g_array_append_val ((GArray *)g_hash_table_lookup (c->results, GUINT_TO_POINTER (v)), now);
    }
}

/* Makes the result from the chunks' parts. */
static void
join_result (Chunking *c, PlanNode *instr, guint o)
{
  PlanGraph *g = c->h->g;
  const PlanHeadPort result = plan_head_result (c->h->of, instr, o);
  const guint v = result.value;
  const GArray *parts = g_hash_table_lookup (c->results, GUINT_TO_POINTER (v));
  PlanNode *made;

  if (v == 0 || result.is_logits || !graph_is_used (g, v))
    return;
  if (is_sum (&result))
    {
      /* The sum is f32, so a conversion to f32 is removed instead of rounding first. */
      PlanNode *cast = graph_only_upcast (g, v, instr->device_name);
      const guint sum = g_array_index (parts, guint, 0), to = cast != NULL ? node_out (cast, 0) : v;
      const LoomDType dtype = graph_value (g, to)->desc.dtype;
      const guint last
          = graph_value (g, sum)->desc.dtype == dtype ? sum : insert_step (c, instr, LOOM_SCALAR_ID, dtype, sum, 0);

      made = graph_value (g, last)->producer;
      node_step (made, made->steps->len - 1)->result = to;
      graph_set_out (g, made, 0, to);
      if (cast != NULL)
        graph_erase (g, cast);
      return;
    }
  made = insert_for (c, instr, loom_prim ("concat"), &(LoomConcatAttrs){ .axis = 0 }, "concat");
  for (guint i = 0; i < parts->len; i++)
    graph_add_in (g, made, g_array_index (parts, guint, i));
  graph_add_out (g, made, v);
}

static void
cut (Head *h, gint64 chunks)
{
  g_autoptr (GHashTable) results = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
  Chunking c = { .h = h, .before = h->of->instrs->pdata[0], .results = results };

  for (guint i = 0; i < h->earlier->len; i++)
    {
      PlanNode *instr = h->earlier->pdata[i];

      instr->region = LOOM_REGION_FORWARD;
      graph_move (h->g, instr, c.before);
    }
  for (guint i = 0; i < h->of->instrs->len; i++)
    {
      const PlanNode *instr = h->of->instrs->pdata[i];

      for (guint o = 0; o < instr->out->len; o++)
        g_hash_table_insert (results, GUINT_TO_POINTER (node_out (instr, o)),
                             g_array_new (FALSE, FALSE, sizeof (guint)));
    }
  for (gint64 i = 0; i < chunks; i++)
    {
      g_autoptr (GHashTable) here = g_hash_table_new (NULL, NULL);

      c.here = here;
      c.chunk = (guint)i + 1;
      c.from = h->of->rows * i / chunks;
      c.n = h->of->rows * (i + 1) / chunks - c.from;
      for (guint k = 0; k < h->of->instrs->len; k++)
        chunk_instr (&c, h->of->instrs->pdata[k]);
    }
  for (guint i = 0; i < h->of->instrs->len; i++)
    {
      PlanNode *instr = h->of->instrs->pdata[i];

      for (guint o = 0; o < instr->out->len; o++)
        join_result (&c, instr, o);
    }
  for (guint i = 0; i < h->of->instrs->len; i++)
    graph_erase (h->g, h->of->instrs->pdata[i]);
}

static void
chunk_head (PlanHead *of, PlanNode *loss)
{
  g_autoptr (GPtrArray) earlier = g_ptr_array_new ();
  const LoomTensorDesc *d = &graph_value (of->g, node_in (loss, 0))->desc;
  Head h = { .of = of, .g = of->g, .size = (gint64)loom_dtype_size (d->dtype), .earlier = earlier };

  if ((gint64)loom_desc_bytes (d) >= 2 * CHUNK_BYTES && d->dim[0] >= 2 * MIN_ROWS && plan_head_find (of, loss)
      && can_chunk (&h) && count_chunks (&h) > 1)
    cut (&h, count_chunks (&h));
}

void
pass_chunk_heads (PlanGraph *g)
{
  plan_heads_each (g, chunk_head);
}
