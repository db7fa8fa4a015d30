/* Writes a node by its lowering: the planner's program, primitive by primitive, in ONNX.
 *
 * So every operator can be exported without code of its own, with the same values by construction. The lowerings for
 * several bindings must be equal except for numbers; if they are not (an unrolled loop over a dynamic size), the size
 * has to be fixed. */
#include "engine/onnx/onnx-export-prim.h"
#include "engine/onnx/prim-writers.h"

#include <math.h>
#include <string.h>

/* ---- accessors for primitives ------------------------------------------- */

static OnnxVar *
slot_var (OnnxPrim *q, const LoomSlot *slot)
{
  if (slot->kind == LOOM_SLOT_SCALAR)
    return onnx_number_var (q->all, slot->dtype, slot->init.a);
  if (g_hash_table_contains (q->all->weights, slot->name) || slot->init.kind != LOOM_INIT_DATA)
    return onnx_weight_var (q->all, slot->name);
  g_autoptr (LoomTensor) t = loom_tensor_new (slot->dtype, slot->rank, slot->dim, NULL);
  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i, slot->init.data[i]);
  return onnx_tensor_var (q->all, t, slot->name);
}

OnnxVar *
onnx_prim_value (OnnxPrim *q, LoomValue v)
{
  const LoomValueInfo *info;

  if (v == 0)
    return NULL;
  info = loom_value_info (q->p[0], v);
  if (q->var[v] == NULL && info->slot >= 0)
    q->var[v] = slot_var (q, loom_program_get_slot (q->p[0], (guint)info->slot));
  return q->var[v];
}

OnnxVar *
onnx_prim_in (OnnxPrim *q, guint i)
{
  return i < q->instr[0]->n_in ? onnx_prim_value (q, q->instr[0]->in[i]) : NULL;
}

const LoomTensorDesc *
onnx_prim_in_desc (OnnxPrim *q, guint i)
{
  return &loom_value_info (q->p[0], q->instr[0]->in[i])->desc;
}

const LoomTensorDesc *
onnx_prim_out_desc (OnnxPrim *q, guint i)
{
  return &loom_value_info (q->p[0], q->instr[0]->out[i])->desc;
}

void
onnx_prim_out (OnnxPrim *q, guint i, OnnxVar *v)
{
  LoomType type;

  if (i >= q->instr[0]->n_out || q->instr[0]->out[i] == 0)
    return;
  q->var[q->instr[0]->out[i]] = v;
  if (v == NULL)
    return;
  type = onnx_prim_type (q, q->instr[0]->out[i]);
  onnx_var_set_type (v, &type);
}

/* TRUE if another instruction or the node itself uses a result. */
gboolean
onnx_prim_is_wanted (OnnxPrim *q, guint i)
{
  LoomValue v = i < q->instr[0]->n_out ? q->instr[0]->out[i] : 0;

  for (guint k = 0; v != 0 && k < loom_program_n_instrs (q->p[0]); k++)
    {
      const LoomInstr *instr = loom_program_instr (q->p[0], k);
      for (guint j = 0; j < instr->n_in; j++)
        if (instr->in[j] == v)
          return TRUE;
    }
  for (guint k = 0; v != 0 && k < loom_program_n_outputs (q->p[0]); k++)
    if (loom_program_get_output (q->p[0], k)->value == v)
      return TRUE;
  return FALSE;
}

/* A size that is no product of symbols (rows of an image of dynamic height after a convolution) may still be a size of
 * an input of the node. */
OnnxSize
onnx_prim_size (OnnxPrim *q, const gint64 number[ONNX_BINDINGS])
{
  OnnxSize size = onnx_size_of (q->all, number);

  for (guint i = 0; !size.known && i < loom_program_n_inputs (q->p[0]); i++)
    {
      LoomValue v = loom_program_get_input (q->p[0], i)->value;
      for (int axis = 0; axis < loom_value_info (q->p[0], v)->desc.rank; axis++)
        {
          gboolean same = onnx_prim_value (q, v) != NULL;
          for (guint k = 0; k < q->n; k++)
            same = same && loom_value_info (q->p[k], v)->desc.dim[axis] == number[k];
          if (same)
            return (OnnxSize){ .known = TRUE, .of = onnx_prim_value (q, v), .axis = axis };
        }
    }
  return size;
}

OnnxSize
onnx_prim_dim (OnnxPrim *q, LoomValue v, int axis)
{
  gint64 number[ONNX_BINDINGS] = { 0 };

  for (guint k = 0; k < q->n; k++)
    number[k] = loom_value_info (q->p[k], v)->desc.dim[axis];
  return onnx_prim_size (q, number);
}

gint64
onnx_prim_int (OnnxPrim *q, guint binding, gsize offset)
{
  return *(const gint64 *)((const char *)q->instr[binding]->attrs + offset);
}

OnnxVar *
onnx_prim_sizes_var (OnnxPrim *q, guint n, const OnnxSize *sizes)
{
  OnnxVar *v = onnx_sizes_var (q->all, n, sizes);

  for (guint i = 0; i < n && v == NULL; i++)
    for (guint k = 0; k < G_N_ELEMENTS (sizes[i].symbol) && sizes[i].symbol[k]; k++)
      if (q->all->symbol_var[sizes[i].symbol[k] - 'A'] == NULL)
        onnx_refuse (q->w, "no input of the model determines the size %c. Fix it with --size, such as --size %c=1.",
                     sizes[i].symbol[k], sizes[i].symbol[k]);
  if (v == NULL)
    onnx_refuse (q->w,
                 "its sizes cannot be derived from the dynamic ones (%s). Fix them with --size, such as --size %c=1.",
                 q->all->symbols, q->all->symbols[0]);
  return v;
}

OnnxVar *
onnx_prim_shape_var (OnnxPrim *q, LoomValue v)
{
  OnnxSize sizes[LOOM_MAX_RANK];
  int rank = loom_value_info (q->p[0], v)->desc.rank;

  for (int i = 0; i < rank; i++)
    sizes[i] = onnx_prim_dim (q, v, i);
  return onnx_prim_sizes_var (q, (guint)rank, sizes);
}

static OnnxVar *
size_number (OnnxPrim *q, LoomDType dtype, const double *number)
{
  gint64 whole[ONNX_BINDINGS];

  for (guint k = 0; k < q->n; k++)
    {
      if (!(fabs (number[k]) < 1e15) || fabs (number[k] - round (number[k])) > 1e-9 * fabs (number[k]))
        return NULL;
      whole[k] = (gint64)round (number[k]);
    }
  OnnxSize size = onnx_size_of (q->all, whole);
  OnnxVar *v = onnx_sizes_var (q->all, 1, &size);
  if (v == NULL)
    return NULL;
  v = onnx_call (q->all, "Squeeze", ONNX_VARS (v, onnx_ints_var (q->all, 1, (gint64[]){ 0 })));
  onnx_var_is_ints (v, -1);
  return onnx_to_type (q->all, v, LOOM_I64, dtype);
}

OnnxVar *
onnx_prim_number (OnnxPrim *q, LoomDType dtype, const double number[ONNX_BINDINGS])
{
  double inverse[ONNX_BINDINGS] = { 0 };
  gboolean same = TRUE;
  OnnxVar *v;

  for (guint k = 0; k < q->n; k++)
    {
      same = same && number[k] == number[0];
      inverse[k] = 1 / number[k];
    }
  if (same)
    return onnx_number_var (q->all, dtype, number[0]);
  v = size_number (q, dtype, number);
  if (v == NULL && (v = size_number (q, dtype, inverse)) != NULL)
    {
      v = onnx_call (q->all, "Reciprocal", ONNX_VARS (v));
      onnx_var_set_type (v, &(LoomType){ .dtype = dtype });
    }
  if (v == NULL)
    onnx_refuse (
        q->w,
        "a number in it cannot be derived from the dynamic sizes (%s). Fix them with --size, such as --size %c=1.",
        q->all->symbols, q->all->symbols[0]);
  return v;
}

LoomDType
onnx_prim_compute_type (LoomDType dtype)
{
  return dtype == LOOM_F64 ? LOOM_F64 : loom_dtype_is_float (dtype) ? LOOM_F32 : LOOM_I64;
}

/* ---- all instructions --------------------------------------------------------- */

#define DECLARE(name) extern const OnnxPrimWriter onnx_prim_##name;
LOOM_ROWS (DECLARE)

static const OnnxPrimWriter *
find_writer (const LoomPrim *prim)
{
#define ROW(name) &onnx_prim_##name,
  static const OnnxPrimWriter *const writers[] = { LOOM_ROWS (ROW) };

  for (guint i = 0; i < G_N_ELEMENTS (writers); i++)
    if (g_str_equal (writers[i]->name, prim->flags & LOOM_PRIM_ELEMENTWISE ? "elementwise" : prim->name))
      return writers[i];
  return NULL;
}

static LoomProgram *
lower (OnnxWrite *w, guint binding)
{
  const LoomNetNode *node = loom_net_node (w->all->bound[binding], w->index);
  g_autofree LoomNetSource *given = g_new0 (LoomNetSource, node->n_inputs + 1);
  g_autofree LoomNetSource *wanted = g_new0 (LoomNetSource, node->n_outputs + 1);
  g_autofree LoomValue *value = g_new0 (LoomValue, node->n_outputs + 1);
  LoomLowerOptions options = { .float_dtype = LOOM_F32, .given = given, .wanted = wanted };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->input[i].node != G_MAXUINT && !loom_net_is_weight (w->all->bound[binding], &node->input[i])
        && !loom_net_is_from_body (w->all->bound[binding], w->index, i))
      given[options.n_given++] = node->input[i];
  for (guint i = 0; i < node->n_outputs; i++)
    if (w->all->wanted[w->index][i])
      wanted[options.n_wanted++] = (LoomNetSource){ w->index, i };
  LoomProgram *p = loom_lower (w->all->bound[binding], &options, value, &error);
  if (p == NULL)
    {
      onnx_refuse (w, "%s", error->message);
      return NULL;
    }
  for (guint i = 0; i < options.n_wanted; i++)
    {
      g_autofree char *name = g_strdup_printf ("%u", wanted[i].output);
      loom_program_output (p, name, value[i]);
    }
  return p;
}

static LoomProgram **
bodies_of (const LoomInstr *instr, guint *n)
{
  *n = 0;
  return instr->prim->bodies != NULL ? instr->prim->bodies ((gpointer)instr->attrs, n) : NULL;
}

static gboolean
has_writers (const LoomProgram *p)
{
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      guint n;
      LoomProgram **bodies = bodies_of (loom_program_instr (p, i), &n);

      if (find_writer (loom_program_instr (p, i)->prim) == NULL)
        return FALSE;
      for (guint b = 0; b < n; b++)
        if (!has_writers (bodies[b]))
          return FALSE;
    }
  return TRUE;
}

/* TRUE if the instructions and their operands are the same, and only numbers differ. */
static gboolean
is_alike (const LoomProgram *a, const LoomProgram *b)
{
  if (loom_program_n_instrs (a) != loom_program_n_instrs (b) || loom_program_n_values (a) != loom_program_n_values (b))
    return FALSE;
  for (guint i = 0; i < loom_program_n_instrs (a); i++)
    {
      const LoomInstr *x = loom_program_instr (a, i), *y = loom_program_instr (b, i);
      guint n, m;

      if (x->prim != y->prim || x->n_in != y->n_in || x->n_out != y->n_out
          || memcmp (x->in, y->in, x->n_in * sizeof *x->in) != 0
          || memcmp (x->out, y->out, x->n_out * sizeof *x->out) != 0)
        return FALSE;
      LoomProgram **inner = bodies_of (x, &n), **other = bodies_of (y, &m);
      for (guint k = 0; k < n; k++)
        if (n != m || !is_alike (inner[k], other[k]))
          return FALSE;
    }
  return TRUE;
}

/* Inputs of the program have the names of the ports that the node reads. */
static void
feed (OnnxPrim *q)
{
  const LoomNet *net = q->all->bound[0];
  const LoomNetNode *node = loom_net_node (net, q->w->index);

  for (guint i = 0; i < node->n_inputs; i++)
    {
      if (node->input[i].node == G_MAXUINT || loom_net_is_weight (net, &node->input[i])
          || loom_net_is_from_body (net, q->w->index, i))
        continue;
      g_autofree char *name = loom_net_port_name (net, node->input[i].node, node->input[i].output);
      for (guint k = 0; k < loom_program_n_inputs (q->p[0]); k++)
        if (g_str_equal (loom_program_get_input (q->p[0], k)->name, name))
          q->var[loom_program_get_input (q->p[0], k)->value] = onnx_write_in (q->w, i);
    }
}

void
onnx_prim_write_program (OnnxPrim *q)
{
  for (guint i = 0; i < loom_program_n_instrs (q->p[0]) && !q->w->failed; i++)
    {
      for (guint k = 0; k < q->n; k++)
        q->instr[k] = loom_program_instr (q->p[k], i);
      const OnnxPrimWriter *writer = find_writer (q->instr[0]->prim);
      if ((writer == NULL || !writer->write (q)) && !q->w->failed)
        onnx_refuse (q->w, "ONNX has no operator for %s, which it consists of.", q->instr[0]->prim->name);
    }
}

static void
set_outputs (OnnxPrim *q)
{
  for (guint i = 0; i < loom_program_n_outputs (q->p[0]) && !q->w->failed; i++)
    {
      const LoomProgramOutput *output = loom_program_get_output (q->p[0], i);
      OnnxVar *v = onnx_prim_value (q, output->value);
      if (v != NULL)
        onnx_write_out (q->w, (guint)g_ascii_strtoull (output->name, NULL, 10), v);
    }
}

void
onnx_write_lowered (OnnxWrite *w)
{
  OnnxPrim q = { .w = w, .all = w->all, .n = w->all->n_bound };
  gboolean alike = TRUE;

  for (guint k = 0; k < q.n && !w->failed; k++)
    {
      /* The number of parts into which a size is cut may depend on it. */
      if (loom_net_node (w->all->bound[k], w->index)->n_outputs != w->node->n_outputs)
        {
          alike = FALSE;
          break;
        }
      g_autoptr (LoomProgram) p = lower (w, k);
      if (p != NULL && !has_writers (p))
        {
          g_autoptr (GError) error = NULL;
          q.p[k] = loom_program_expand (p, &error);
          if (q.p[k] == NULL)
            onnx_refuse (w, "%s", error->message);
        }
      else
        q.p[k] = g_steal_pointer (&p);
      alike = alike && (q.p[k] == NULL || is_alike (q.p[0], q.p[k]));
    }
  if (!w->failed && !alike)
    onnx_refuse (w, "its computation needs fixed sizes, but %s dynamic. Fix them with --size, such as --size %c=1.",
                 w->all->symbols[1] ? "some are" : "one is", w->all->symbols[0]);
  if (!w->failed)
    {
      q.var = g_new0 (OnnxVar *, loom_program_n_values (q.p[0]) + 1);
      feed (&q);
      onnx_prim_write_program (&q);
      set_outputs (&q);
      g_free (q.var);
    }
  for (guint k = 0; k < q.n; k++)
    g_clear_pointer (&q.p[k], loom_program_unref);
}
