/* The program builder: values, instructions, slots, inputs and outputs.
 *
 * Values and instructions are allocated separately, so that pointers from loom_value_info() and loom_program_instr()
 * stay valid while more are appended. */
#include "engine/program/loom-program.h"
#include "engine/program/prim-private.h"

struct _LoomProgram
{
  gatomicrefcount refs;
  LoomDType float_dtype;
  gboolean tf32;
  LoomRegion region;
  const char *origin, *device;
  guint recomputation, pass;
  gboolean is_recomputed;
  GPtrArray *values;   /* LoomValueInfo; index 0 is the value 0 and NULL */
  GPtrArray *instrs;   /* LoomInstr */
  GPtrArray *slots;    /* LoomSlot */
  GPtrArray *inputs;   /* LoomProgramInput */
  GPtrArray *outputs;  /* LoomProgramOutput */
  GPtrArray *ports;    /* LoomProgramPort */
  GHashTable *slot_of; /* name → index + 1 */
  GHashTable *port_of; /* the same for ports */
  /* Paths and devices, each stored once. They are no quarks, because these are never freed and their table is copied
   * whenever it grows. */
  GStringChunk *strings;
  GArray *passes;  /* LoomProgramPass */
  char *too_large; /* the error if a value has too many elements to count */
};

/* Adds or removes a reference on each program in the attributes. */
static void
hold_bodies (const LoomPrim *prim, gpointer attrs, gboolean hold)
{
  guint n = 0;
  LoomProgram **body = prim->bodies != NULL && attrs != NULL ? prim->bodies (attrs, &n) : NULL;

  for (guint i = 0; i < n; i++)
    if (hold)
      loom_program_ref (body[i]);
    else
      loom_program_unref (body[i]);
}

static void
free_instr (gpointer data)
{
  LoomInstr *instr = data;

  hold_bodies (instr->prim, instr->attrs, FALSE);
  g_free (instr->attrs);
  g_free (instr->in);
  g_free (instr->out);
  g_free (instr);
}

static void
free_slot (gpointer data)
{
  LoomSlot *slot = data;

  g_free (slot->name);
  g_free ((gpointer)slot->init.data);
  g_free (slot);
}

/* Frees an input, output or port, all of which begin with their name. */
static void
free_named (gpointer data)
{
  g_free (*(char **)data);
  g_free (data);
}

guint
loom_instr_n_operands (const LoomInstr *instr)
{
  guint n = instr->n_in;

  while (n > 0 && instr->in[n - 1] == 0)
    n--;
  return n;
}

LoomProgram *
loom_program_new (void)
{
  LoomProgram *p = g_new0 (LoomProgram, 1);

  g_atomic_ref_count_init (&p->refs);
  p->float_dtype = LOOM_F32;
  p->values = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (p->values, NULL);
  p->instrs = g_ptr_array_new_with_free_func (free_instr);
  p->slots = g_ptr_array_new_with_free_func (free_slot);
  p->inputs = g_ptr_array_new_with_free_func (free_named);
  p->outputs = g_ptr_array_new_with_free_func (free_named);
  p->ports = g_ptr_array_new_with_free_func (free_named);
  p->slot_of = g_hash_table_new (g_str_hash, g_str_equal);
  p->port_of = g_hash_table_new (g_str_hash, g_str_equal);
  p->strings = g_string_chunk_new (1024);
  p->passes = g_array_new (FALSE, FALSE, sizeof (LoomProgramPass));
  return p;
}

LoomProgram *
loom_program_ref (LoomProgram *p)
{
  g_atomic_ref_count_inc (&p->refs);
  return p;
}

void
loom_program_unref (LoomProgram *p)
{
  if (!g_atomic_ref_count_dec (&p->refs))
    return;
  g_hash_table_unref (p->slot_of);
  g_hash_table_unref (p->port_of);
  g_ptr_array_unref (p->values);
  g_ptr_array_unref (p->instrs);
  g_ptr_array_unref (p->slots);
  g_ptr_array_unref (p->inputs);
  g_ptr_array_unref (p->outputs);
  g_ptr_array_unref (p->ports);
  g_string_chunk_free (p->strings);
  g_array_unref (p->passes);
  g_free (p->too_large);
  g_free (p);
}

void
loom_program_set_float (LoomProgram *p, LoomDType dtype)
{
  g_return_if_fail (loom_dtype_is_float (dtype));

  p->float_dtype = dtype;
}

LoomDType
loom_program_get_float (const LoomProgram *p)
{
  return p->float_dtype;
}

void
loom_program_set_tf32 (LoomProgram *p, gboolean tf32)
{
  p->tf32 = tf32;
}

gboolean
loom_program_get_tf32 (const LoomProgram *p)
{
  return p->tf32;
}

void
loom_program_set_region (LoomProgram *p, LoomRegion region)
{
  p->region = region;
}

LoomRegion
loom_program_get_region (const LoomProgram *p)
{
  return p->region;
}

void
loom_program_set_origin (LoomProgram *p, const char *path, const char *device)
{
  p->origin = path != NULL ? g_string_chunk_insert_const (p->strings, path) : NULL;
  p->device = device != NULL ? g_string_chunk_insert_const (p->strings, device) : NULL;
}

void
loom_program_get_origin (const LoomProgram *p, const char **path, const char **device)
{
  *path = p->origin;
  *device = p->device;
}

void
loom_program_set_recomputation (LoomProgram *p, guint number)
{
  p->recomputation = number;
}

void
loom_program_set_pass (LoomProgram *p, guint pass)
{
  p->pass = pass;
}

void
loom_program_set_recomputed (LoomProgram *p, gboolean is_recomputed)
{
  p->is_recomputed = is_recomputed;
}

gboolean
loom_program_get_recomputed (const LoomProgram *p)
{
  return p->is_recomputed;
}

/* A broadcast value inside a node (a gradient, an expansion) can be larger than any port of the graph. Such a value is
 * kept so that building continues, and the program reports that it cannot be planned. */
static void
check_size (LoomProgram *p, const LoomTensorDesc *desc)
{
  double elements = 1;

  for (int i = 0; i < desc->rank; i++)
    elements *= (double)desc->dim[i];
  if (elements > LOOM_MAX_ELEMENTS && p->too_large == NULL)
    p->too_large
        = g_strdup_printf ("%s%s needs a tensor of %.2g elements, more than any machine can hold. Use smaller sizes.",
                           p->origin != NULL ? "Node " : "The step", p->origin != NULL ? p->origin : "", elements);
}

gboolean
loom_program_is_countable (const LoomProgram *p, GError **error)
{
  if (p->too_large == NULL)
    return TRUE;
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SHAPE, p->too_large);
  return FALSE;
}

static LoomValue
add_value (LoomProgram *p, const LoomTensorDesc *desc)
{
  LoomValueInfo *info = g_new0 (LoomValueInfo, 1);

  check_size (p, desc);
  info->desc = *desc;
  info->producer = G_MAXUINT;
  info->region = p->region;
  info->origin = p->origin;
  info->device = p->device;
  info->slot = -1;
  info->input = -1;
  g_ptr_array_add (p->values, info);
  return p->values->len - 1;
}

/* An upper bound for the number of results: the outputs of the first body; other primitives have few more results than
 * operands. */
static guint
most_results (LoomProgram *p, const LoomPrim *prim, const void *attrs, guint n_in)
{
  guint most = n_in + 4, n = 0;
  LoomProgram **body = prim->bodies != NULL ? prim->bodies ((gpointer)attrs, &n) : NULL;

  for (guint i = 0; i < n; i++)
    {
      most = MAX (most, loom_program_n_outputs (body[i]));
      if (body[i]->too_large != NULL && p->too_large == NULL)
        p->too_large = g_strdup (body[i]->too_large);
    }
  return most;
}

/* Computes the types of an instruction's results, *n_out of them. (transfer full) */
static LoomTensorDesc *
infer_results (LoomProgram *p, const LoomPrim *prim, const void *attrs, guint n_in, const LoomValue *in, guint *n_out)
{
  g_autofree LoomTensorDesc *desc = g_new0 (LoomTensorDesc, n_in + 1);
  LoomTensorDesc *result = g_new0 (LoomTensorDesc, most_results (p, prim, attrs, n_in));
  g_autofree char *why = NULL;

  for (guint i = 0; i < n_in; i++)
    {
      if (in[i] == 0)
        desc[i].dtype = LOOM_N_DTYPES;
      else
        desc[i] = loom_value_info (p, in[i])->desc;
    }
  if (!prim->infer (attrs, n_in, desc, result, n_out, &why))
    g_error ("%s at %s: %s", prim->name, p->origin != NULL ? p->origin : "no node", why);
  return result;
}

LoomValue
loom_emit (LoomProgram *p, const LoomPrim *prim, const void *attrs, guint n_in, const LoomValue *in, LoomValue *out)
{
  guint n_out = 0;
  g_autofree LoomTensorDesc *result = infer_results (p, prim, attrs, n_in, in, &n_out);
  LoomInstr *instr = g_new0 (LoomInstr, 1);

  instr->prim = prim;
  instr->attrs = prim->attrs_size > 0 ? g_memdup2 (attrs, prim->attrs_size) : NULL;
  hold_bodies (prim, instr->attrs, TRUE);
  instr->n_in = n_in;
  instr->n_out = n_out;
  instr->in = g_memdup2 (in, n_in * sizeof *in);
  instr->out = g_new0 (LoomValue, n_out);
  instr->region = p->region;
  instr->origin = p->origin;
  instr->device = p->device;
  instr->recomputation = p->recomputation;
  instr->pass = p->pass;
  instr->is_recomputed = p->is_recomputed;
  for (guint i = 0; i < n_out; i++)
    {
      LoomValueInfo *info;

      /* A shape rule marks results that the attributes do not request. */
      if (desc_is_absent (&result[i]))
        continue;
      instr->out[i] = add_value (p, &result[i]);
      info = p->values->pdata[instr->out[i]];
      info->producer = p->instrs->len;
      info->result = i;
    }
  g_ptr_array_add (p->instrs, instr);
  if (out != NULL)
    memcpy (out, instr->out, n_out * sizeof *out);
  return instr->out[0];
}

void
loom_program_extend (LoomProgram *p, guint index, const void *attrs, LoomValue *out)
{
  LoomInstr *instr = p->instrs->pdata[index];
  guint n_out = 0, before = instr->n_out;
  g_autofree LoomTensorDesc *result = infer_results (p, instr->prim, attrs, instr->n_in, instr->in, &n_out);
  gpointer old = instr->attrs;

  g_return_if_fail (n_out >= before);

  instr->attrs = g_memdup2 (attrs, instr->prim->attrs_size);
  hold_bodies (instr->prim, instr->attrs, TRUE);
  hold_bodies (instr->prim, old, FALSE);
  g_free (old);
  instr->out = g_renew (LoomValue, instr->out, n_out);
  instr->n_out = n_out;
  for (guint i = before; i < n_out; i++)
    {
      LoomValueInfo *info;

      instr->out[i] = out[i - before] = add_value (p, &result[i]);
      info = p->values->pdata[instr->out[i]];
      info->producer = index;
      info->result = i;
      info->region = instr->region;
      info->origin = instr->origin;
      info->device = instr->device;
    }
}

LoomValue
loom_program_input (LoomProgram *p, const char *name, LoomDType dtype, int rank, const gint64 *dims)
{
  LoomTensorDesc desc = loom_desc_make (dtype, rank, dims);
  LoomProgramInput *input = g_new0 (LoomProgramInput, 1);

  input->name = g_strdup (name);
  input->value = add_value (p, &desc);
  ((LoomValueInfo *)p->values->pdata[input->value])->input = p->inputs->len;
  g_ptr_array_add (p->inputs, input);
  return input->value;
}

int
loom_program_slot (LoomProgram *p, const char *name, LoomSlotKind kind, LoomDType dtype, int rank, const gint64 *dims,
                   const LoomInit *init, gboolean trainable)
{
  int known = loom_program_find_slot (p, name);
  LoomSlot *slot;

  if (known >= 0)
    return known;
  slot = g_new0 (LoomSlot, 1);
  slot->name = g_strdup (name);
  slot->kind = kind;
  slot->dtype = dtype;
  slot->rank = rank;
  slot->trainable = trainable;
  for (int i = 0; i < rank; i++)
    slot->dim[i] = dims[i];
  if (init != NULL)
    slot->init = *init;
  if (slot->init.data != NULL)
    {
      LoomTensorDesc desc = loom_desc_make (dtype, rank, dims);

      slot->init.data = g_memdup2 (slot->init.data, loom_desc_count (&desc) * sizeof (double));
    }
  g_ptr_array_add (p->slots, slot);
  g_hash_table_insert (p->slot_of, slot->name, GUINT_TO_POINTER (p->slots->len));
  return p->slots->len - 1;
}

void
loom_program_part_slot (LoomProgram *p, int index, const LoomSlotPart *part)
{
  LoomSlot *slot = p->slots->pdata[index];

  g_return_if_fail (!slot->is_shard && slot->part.of == 0 && slot->read == 0);
  g_return_if_fail (slot->dim[part->axis] % (part->blocks * part->of) == 0);
  slot->part = *part;
  slot->dim[part->axis] /= part->of;
}

int
loom_slot_whole (const LoomSlot *slot, gint64 *dim)
{
  gboolean is_other = slot->is_shard || slot->is_placed;
  int rank = is_other ? slot->whole_rank : slot->rank;

  for (int i = 0; i < rank; i++)
    dim[i] = is_other ? slot->whole_dim[i] : slot->dim[i];
  if (slot->part.of > 0)
    dim[slot->part.axis] *= slot->part.of;
  return rank;
}

static void
keep_shape (LoomSlot *slot)
{
  slot->whole_rank = slot->rank;
  for (int i = 0; i < slot->rank; i++)
    slot->whole_dim[i] = slot->dim[i];
}

void
loom_program_shard_slot (LoomProgram *p, int index, gint64 first, gint64 count)
{
  LoomSlot *slot = p->slots->pdata[index];

  g_return_if_fail (!slot->is_shard && !slot->is_placed && slot->read == 0);
  keep_shape (slot);
  slot->is_shard = TRUE;
  slot->rank = 1;
  slot->dim[0] = count;
  slot->first = first;
}

void
loom_program_place_slot (LoomProgram *p, int index, gboolean here)
{
  LoomSlot *slot = p->slots->pdata[index];

  g_return_if_fail (!slot->is_placed && slot->read == 0);
  if (!slot->is_shard)
    keep_shape (slot);
  slot->is_placed = TRUE;
  slot->is_here = here;
  if (here)
    return;
  slot->rank = 1;
  slot->dim[0] = slot->first = 0;
}

LoomValue
loom_program_read (LoomProgram *p, int index)
{
  LoomSlot *slot = p->slots->pdata[index];
  LoomTensorDesc desc;

  if (slot->read != 0)
    return slot->read;
  desc = loom_desc_make (slot->dtype, slot->rank, slot->dim);
  slot->read = add_value (p, &desc);
  ((LoomValueInfo *)p->values->pdata[slot->read])->slot = index;
  return slot->read;
}

void
loom_program_commit (LoomProgram *p, int index, LoomValue value)
{
  LoomSlot *slot = p->slots->pdata[index];
  LoomTensorDesc desc = loom_desc_make (slot->dtype, slot->rank, slot->dim);
  const LoomTensorDesc *given = &loom_value_info (p, value)->desc;

  g_return_if_fail (given->dtype == slot->dtype && loom_desc_same_shape (given, &desc));

  slot->commit = value;
}

void
loom_program_rename_slot (LoomProgram *p, int index, const char *name)
{
  LoomSlot *slot = p->slots->pdata[index];

  g_return_if_fail (loom_program_find_slot (p, name) < 0);

  g_hash_table_remove (p->slot_of, slot->name);
  g_free (slot->name);
  slot->name = g_strdup (name);
  g_hash_table_insert (p->slot_of, slot->name, GUINT_TO_POINTER ((guint)index + 1));
}

void
loom_program_drop_commits (LoomProgram *p)
{
  for (guint i = 0; i < p->slots->len; i++)
    ((LoomSlot *)p->slots->pdata[i])->commit = 0;
}

LoomValue
loom_program_scalar (LoomProgram *p, const char *name, double initial)
{
  LoomInit init = { LOOM_INIT_CONSTANT, initial, 0, NULL };

  return loom_program_read (p, loom_program_slot (p, name, LOOM_SLOT_SCALAR, p->float_dtype, 0, NULL, &init, FALSE));
}

LoomValue
loom_program_scalar_i64 (LoomProgram *p, const char *name, gint64 initial)
{
  LoomInit init = { LOOM_INIT_CONSTANT, (double)initial, 0, NULL };

  return loom_program_read (p, loom_program_slot (p, name, LOOM_SLOT_SCALAR, LOOM_I64, 0, NULL, &init, FALSE));
}

void
loom_program_output (LoomProgram *p, const char *name, LoomValue value)
{
  LoomProgramOutput *output = g_new0 (LoomProgramOutput, 1);

  output->name = g_strdup (name);
  output->value = value;
  g_ptr_array_add (p->outputs, output);
}

void
loom_program_set_port (LoomProgram *p, const char *name, LoomValue value)
{
  guint known = GPOINTER_TO_UINT (g_hash_table_lookup (p->port_of, name));
  LoomProgramPort *port;

  if (known > 0)
    {
      ((LoomProgramPort *)g_ptr_array_index (p->ports, known - 1))->value = value;
      return;
    }
  port = g_new (LoomProgramPort, 1);
  *port = (LoomProgramPort){ g_strdup (name), value };
  g_ptr_array_add (p->ports, port);
  g_hash_table_insert (p->port_of, port->name, GUINT_TO_POINTER (p->ports->len));
}

LoomValue
loom_program_find_port (const LoomProgram *p, const char *name)
{
  guint known = GPOINTER_TO_UINT (g_hash_table_lookup (p->port_of, name));

  return known > 0 ? loom_program_get_port (p, known - 1)->value : 0;
}

guint
loom_program_n_ports (const LoomProgram *p)
{
  return p->ports->len;
}

const LoomProgramPort *
loom_program_get_port (const LoomProgram *p, guint i)
{
  return g_ptr_array_index (p->ports, i);
}

LoomValue
loom_program_find_output (const LoomProgram *p, const char *name)
{
  for (guint i = 0; i < p->outputs->len; i++)
    {
      const LoomProgramOutput *output = p->outputs->pdata[i];

      if (g_str_equal (output->name, name))
        return output->value;
    }
  return 0;
}

guint
loom_program_n_values (const LoomProgram *p)
{
  return p->values->len - 1;
}

const LoomValueInfo *
loom_value_info (const LoomProgram *p, LoomValue v)
{
  g_return_val_if_fail (v > 0 && v < p->values->len, NULL);

  return p->values->pdata[v];
}

guint
loom_program_n_instrs (const LoomProgram *p)
{
  return p->instrs->len;
}

const LoomInstr *
loom_program_instr (const LoomProgram *p, guint i)
{
  return p->instrs->pdata[i];
}

guint
loom_program_n_slots (const LoomProgram *p)
{
  return p->slots->len;
}

const LoomSlot *
loom_program_get_slot (const LoomProgram *p, guint i)
{
  return p->slots->pdata[i];
}

int
loom_program_find_slot (const LoomProgram *p, const char *name)
{
  return (int)GPOINTER_TO_UINT (g_hash_table_lookup (p->slot_of, name)) - 1;
}

guint
loom_program_n_inputs (const LoomProgram *p)
{
  return p->inputs->len;
}

const LoomProgramInput *
loom_program_get_input (const LoomProgram *p, guint i)
{
  return p->inputs->pdata[i];
}

guint
loom_program_n_outputs (const LoomProgram *p)
{
  return p->outputs->len;
}

const LoomProgramOutput *
loom_program_get_output (const LoomProgram *p, guint i)
{
  return p->outputs->pdata[i];
}

guint
loom_program_n_passes (const LoomProgram *p)
{
  return p->passes->len;
}

const LoomProgramPass *
loom_program_pass (const LoomProgram *p, guint i)
{
  return &g_array_index (p->passes, LoomProgramPass, i);
}

void
loom_program_add_pass (LoomProgram *p, const LoomProgramPass *pass)
{
  g_array_append_vals (p->passes, pass, 1);
}

gsize
loom_program_bytes (const LoomProgram *p)
{
  gsize bytes = 0;

  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    if (loom_value_info (p, v)->producer != G_MAXUINT)
      bytes += loom_desc_bytes (&loom_value_info (p, v)->desc);
  return bytes;
}
