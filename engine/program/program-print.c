/* Prints the listing of a program: inputs, one line per instruction by region, outputs.
 *
 * Columns are fixed (results, operation with attributes, types, origin), because tests compare listings. */
#include "engine/program/prim-private.h"

static const char *const region_title[LOOM_N_REGIONS] = { "forward", "backward", "update" };
static const char *const kind_name[] = { "parameter", "buffer", "optimizer", "scalar" };

static void
append_value (GString *s, LoomValue v)
{
  if (v == 0)
    g_string_append_c (s, '-');
  else
    g_string_append_printf (s, "%%%u", v);
}

static void
append_type (GString *s, const LoomTensorDesc *desc)
{
  g_autofree char *text = loom_desc_to_string (desc);

  g_string_append (s, text);
}

/* Pads the line that began at `start` to a column, counting characters, not bytes. */
static void
pad_to (GString *s, gsize start, glong column)
{
  glong n = g_utf8_strlen (s->str + start, -1);

  do
    g_string_append_c (s, ' ');
  while (++n < column);
}

static void
append_instr (GString *s, const LoomProgram *p, const LoomInstr *instr)
{
  gsize start = s->len;
  g_autofree char *attrs = loom_prim_describe (instr->prim, instr->attrs);

  g_string_append (s, "  ");
  for (guint k = 0; k < instr->n_out; k++)
    {
      g_string_append (s, k > 0 ? ", " : "");
      append_value (s, instr->out[k]);
    }
  g_string_append_printf (s, " = %s", instr->prim->name);
  for (guint k = 0, n = instr->n_in; k < n; k++)
    {
      if (instr->in[k] == 0 && k + 1 == n)
        break;
      g_string_append (s, k > 0 ? ", " : " ");
      append_value (s, instr->in[k]);
    }
  if (attrs != NULL)
    g_string_append_printf (s, " {%s}", attrs);
  pad_to (s, start, 56);
  for (guint k = 0; k < instr->n_out; k++)
    {
      if (instr->out[k] == 0)
        continue;
      g_string_append (s, k > 0 ? " " : "");
      append_type (s, value_desc (p, instr->out[k]));
    }
  if (instr->origin != NULL)
    {
      pad_to (s, start, 80);
      g_string_append (s, instr->origin);
    }
  if (instr->device != NULL)
    g_string_append_printf (s, " on %s", instr->device);
  g_string_append_c (s, '\n');
}

/* Appends the listings of its bodies, indented by four. */
static void
append_bodies (GString *s, const LoomInstr *instr)
{
  guint n = 0;
  LoomProgram **body = instr->prim->bodies != NULL ? instr->prim->bodies (instr->attrs, &n) : NULL;

  if (instr->prim->n_distinct != NULL)
    n = instr->prim->n_distinct (instr->attrs);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *text = loom_program_print (body[i]);
      g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

      for (guint k = 0; lines[k] != NULL; k++)
        if (lines[k][0] != '\0')
          g_string_append_printf (s, "    %s\n", lines[k]);
    }
}

static void
append_slot (GString *s, const LoomSlot *slot)
{
  gsize start = s->len;
  LoomTensorDesc desc = loom_desc_make (slot->dtype, slot->rank, slot->dim);

  g_string_append (s, "  ");
  append_value (s, slot->read);
  g_string_append_printf (s, " = %s %s", kind_name[slot->kind], slot->name);
  if (slot->kind == LOOM_SLOT_PARAMETER && !slot->trainable)
    g_string_append (s, " frozen");
  if (slot->kind == LOOM_SLOT_SCALAR)
    g_string_append_printf (s, " %g", slot->init.a);
  pad_to (s, start, 56);
  append_type (s, &desc);
  g_string_append_c (s, '\n');
}

/* Appends the passes of a stage, in order. */
static void
append_passes (GString *s, const LoomProgram *p)
{
  const LoomInstr *last = NULL;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      if (instr->pass > 0 && (last == NULL || last->pass != instr->pass))
        g_string_append_printf (s, "%s of micro-batch %u\n", instr->pass % 2 == 1 ? "forward pass" : "backward pass",
                                (instr->pass + 1) / 2);
      else if (instr->pass == 0 && (last == NULL || last->pass != 0 || last->region != instr->region))
        g_string_append_printf (s, "%s\n", region_title[instr->region]);
      append_instr (s, p, instr);
      append_bodies (s, instr);
      last = instr;
    }
}

static gboolean
has_passes (const LoomProgram *p)
{
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    if (loom_program_instr (p, i)->pass > 0)
      return TRUE;
  return FALSE;
}

char *
loom_program_print (const LoomProgram *p)
{
  GString *s = g_string_new (NULL);

  if (loom_program_n_inputs (p) > 0)
    g_string_append (s, "inputs\n");
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomProgramInput *input = loom_program_get_input (p, i);
      gsize start = s->len;

      g_string_append_printf (s, "  %%%u = %s", input->value, input->name);
      pad_to (s, start, 56);
      append_type (s, value_desc (p, input->value));
      g_string_append_c (s, '\n');
    }
  if (loom_program_n_slots (p) > 0)
    g_string_append (s, "slots\n");
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    append_slot (s, loom_program_get_slot (p, i));
  if (has_passes (p))
    append_passes (s, p);
  for (int region = 0; region < LOOM_N_REGIONS && !has_passes (p); region++)
    {
      gboolean any = FALSE;

      for (guint i = 0; i < loom_program_n_instrs (p); i++)
        {
          const LoomInstr *instr = loom_program_instr (p, i);

          if (instr->region != region)
            continue;
          if (!any)
            g_string_append_printf (s, "%s\n", region_title[region]);
          any = TRUE;
          append_instr (s, p, instr);
          append_bodies (s, instr);
        }
    }
  if (loom_program_n_outputs (p) > 0)
    g_string_append (s, "outputs\n");
  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    {
      const LoomProgramOutput *output = loom_program_get_output (p, i);

      g_string_append_printf (s, "  %s = %%%u\n", output->name, output->value);
    }
  for (guint i = 0, n = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if (slot->commit == 0)
        continue;
      if (n++ == 0)
        g_string_append (s, "commits\n");
      g_string_append_printf (s, "  %s = %%%u\n", slot->name, slot->commit);
    }
  return g_string_free (s, FALSE);
}
