/* Programs and plans as JSON; see the header. */
#include "app/listing-json.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <stdio.h>

static const char *const region_name[LOOM_N_REGIONS] = { "forward", "backward", "update" };
static const char *const kind_name[] = { "parameter", "buffer", "optimizer", "scalar" };

/* ---- one object ------------------------------------------------------- */

static JsonBuilder *
begin (const char *event, const char *part)
{
  JsonBuilder *b = json_builder_new_immutable ();

  json_builder_begin_object (b);
  json_builder_set_member_name (b, "event");
  json_builder_add_string_value (b, event);
  if (part != NULL)
    {
      json_builder_set_member_name (b, "part");
      json_builder_add_string_value (b, part);
    }
  return b;
}

static void
end (JsonBuilder *b)
{
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *text = NULL;

  json_builder_end_object (b);
  root = json_builder_get_root (b);
  text = json_to_string (root, FALSE);
  puts (text);
  g_object_unref (b);
}

/* NULL is written as null. */
static void
add_string (JsonBuilder *b, const char *name, const char *value)
{
  json_builder_set_member_name (b, name);
  if (value != NULL)
    json_builder_add_string_value (b, value);
  else
    json_builder_add_null_value (b);
}

static void
add_int (JsonBuilder *b, const char *name, gint64 value)
{
  json_builder_set_member_name (b, name);
  json_builder_add_int_value (b, value);
}

static void
add_bool (JsonBuilder *b, const char *name, gboolean value)
{
  json_builder_set_member_name (b, name);
  json_builder_add_boolean_value (b, value);
}

static void
add_number (JsonBuilder *b, const char *name, double value)
{
  json_builder_set_member_name (b, name);
  if (isfinite (value))
    json_builder_add_double_value (b, value);
  else
    json_builder_add_null_value (b);
}

/* Numbers of values; `none` (an operand that is absent, a result that nobody wants) is null. */
static void
add_values (JsonBuilder *b, const char *name, guint n, const guint *value, guint none)
{
  json_builder_set_member_name (b, name);
  json_builder_begin_array (b);
  for (guint i = 0; i < n; i++)
    if (value[i] == none)
      json_builder_add_null_value (b);
    else
      json_builder_add_int_value (b, value[i]);
  json_builder_end_array (b);
}

static void
add_value (JsonBuilder *b, const char *name, guint value, guint none)
{
  json_builder_set_member_name (b, name);
  if (value == none)
    json_builder_add_null_value (b);
  else
    json_builder_add_int_value (b, value);
}

static void
add_type (JsonBuilder *b, LoomDType dtype, int rank, const gint64 *dim)
{
  add_string (b, "dtype", loom_dtype_name (dtype));
  json_builder_set_member_name (b, "shape");
  json_builder_begin_array (b);
  for (int i = 0; i < rank; i++)
    json_builder_add_int_value (b, dim[i]);
  json_builder_end_array (b);
}

/* ---- programs --------------------------------------------------------- */

static void
print_slots (const LoomProgram *p, const char *part)
{
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      JsonBuilder *b = begin ("slot", part);

      add_string (b, "name", slot->name);
      add_string (b, "kind", kind_name[slot->kind]);
      add_type (b, slot->dtype, slot->rank, slot->dim);
      add_bool (b, "trainable", slot->kind == LOOM_SLOT_PARAMETER && slot->trainable);
      add_value (b, "read", slot->read, 0);
      add_value (b, "commit", slot->commit, 0);
      end (b);
    }
}

static void
print_instructions (const LoomProgram *p, const char *part)
{
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      g_autofree char *attrs = instr->prim->describe != NULL ? instr->prim->describe (instr->attrs) : NULL;
      JsonBuilder *b = begin ("instruction", part);

      add_int (b, "index", i);
      add_string (b, "primitive", instr->prim->name);
      add_string (b, "attributes", attrs);
      add_values (b, "in", instr->n_in, instr->in, 0);
      add_values (b, "out", instr->n_out, instr->out, 0);
      add_string (b, "region", region_name[instr->region]);
      add_string (b, "node", instr->origin);
      add_string (b, "device", instr->device);
      add_int (b, "recomputation", instr->recomputation);
      end (b);
    }
}

void
listing_print_program (const LoomProgram *p, const char *part)
{
  JsonBuilder *b = begin ("program", part);

  add_int (b, "values", loom_program_n_values (p));
  add_int (b, "instructions", loom_program_n_instrs (p));
  end (b);
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomProgramInput *input = loom_program_get_input (p, i);

      b = begin ("input", part);
      add_string (b, "name", input->name);
      add_int (b, "value", input->value);
      end (b);
    }
  print_slots (p, part);
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    {
      const LoomValueInfo *info = loom_value_info (p, v);

      b = begin ("value", part);
      add_int (b, "value", v);
      add_type (b, info->desc.dtype, info->desc.rank, info->desc.dim);
      add_string (b, "region", region_name[info->region]);
      add_string (b, "node", info->origin);
      add_string (b, "device", info->device);
      end (b);
    }
  print_instructions (p, part);
  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    {
      const LoomProgramOutput *output = loom_program_get_output (p, i);

      b = begin ("output", part);
      add_string (b, "name", output->name);
      add_int (b, "value", output->value);
      end (b);
    }
}

/* ---- plans ------------------------------------------------------------ */

static void
print_value (const LoomPlan *plan, guint i, const char *part)
{
  static const char *const place_name[]
      = { [LOOM_PLACE_ARENA] = "arena",
          [LOOM_PLACE_ONCE] = "once",
          [LOOM_PLACE_SLOT] = "slot",
          [LOOM_PLACE_INPUT] = "input" };
  const LoomPlanValue *v = loom_plan_value (plan, i);
  LoomProgram *p = loom_plan_program (plan);
  JsonBuilder *b;

  if (v->place.kind == LOOM_PLACE_NONE)
    return;
  b = begin ("value", part);
  add_int (b, "value", i);
  add_type (b, v->desc.dtype, v->desc.rank, v->desc.dim);
  add_string (b, "layout", v->desc.layout == LOOM_LAYOUT_NHWC ? "nhwc" : "plain");
  add_int (b, "bytes", (gint64)loom_desc_bytes (&v->desc));
  add_string (b, "device", loom_plan_device (plan, v->place.device)->name);
  add_string (b, "place", place_name[v->place.kind]);
  if (v->place.kind == LOOM_PLACE_ARENA || v->place.kind == LOOM_PLACE_ONCE)
    add_int (b, "offset", (gint64)v->place.offset);
  else
    add_string (b, "name",
                v->place.kind == LOOM_PLACE_SLOT ? loom_program_get_slot (p, v->place.index)->name
                                                 : loom_program_get_input (p, v->place.index)->name);
  add_string (b, "owner", loom_owner_name (v->owner));
  add_string (b, "node", v->origin);
  add_int (b, "first", v->first);
  add_int (b, "last", v->last);
  end (b);
}

static void
print_instruction (const LoomPlan *plan, guint i, const char *part)
{
  const LoomPlanInstr *instr = loom_plan_instr (plan, i);
  JsonBuilder *b = begin ("instruction", part);

  add_int (b, "index", i);
  add_bool (b, "setup", i < loom_plan_n_setup (plan));
  add_string (b, "primitive", instr->primitive);
  add_string (b, "label", instr->label);
  add_string (b, "algorithm", instr->algorithm);
  add_string (b, "kernel", instr->kernel != NULL ? instr->kernel->name : NULL);
  add_string (b, "device", loom_plan_device (plan, instr->device)->name);
  add_string (b, "region", region_name[instr->region]);
  add_string (b, "node", instr->origin);
  add_values (b, "in", instr->n_in, instr->value, G_MAXUINT);
  add_values (b, "out", instr->n_out, instr->value + instr->n_in, G_MAXUINT);
  if (instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
    {
      add_int (b, "scratch_offset", (gint64)instr->scratch);
      add_int (b, "scratch_bytes", (gint64)instr->kernel->scratch_bytes);
    }
  add_number (b, "flops", instr->flops);
  add_number (b, "bytes", instr->bytes);
  end (b);
}

void
listing_print_memory (const char *event, const char *part, const char *device, const gsize bytes[LOOM_N_OWNERS],
                      const LoomPlanMemory *memory)
{
  JsonBuilder *b = begin (event, part);
  gint64 total = 0;

  add_string (b, "device", device);
  for (guint o = 0; o < LOOM_N_OWNERS; o++)
    {
      add_int (b, loom_owner_name ((LoomOwner)o), (gint64)bytes[o]);
      total += (gint64)bytes[o];
    }
  add_int (b, "total", total);
  if (memory != NULL)
    {
      add_int (b, "arena", (gint64)memory->arena);
      add_int (b, "lower_bound", (gint64)memory->lower_bound);
    }
  end (b);
}

void
listing_print_plan (const LoomPlan *plan, const char *part)
{
  LoomProgram *p = loom_plan_program (plan);
  JsonBuilder *b = begin ("plan", part);

  add_int (b, "instructions", loom_plan_n_instrs (plan));
  add_int (b, "setup", loom_plan_n_setup (plan));
  json_builder_set_member_name (b, "devices");
  json_builder_begin_array (b);
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    json_builder_add_string_value (b, loom_plan_device (plan, d)->name);
  json_builder_end_array (b);
  end (b);
  for (guint i = 1; i < loom_plan_n_values (plan); i++)
    print_value (plan, i, part);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    print_instruction (plan, i, part);
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      b = begin ("input", part);
      add_string (b, "name", loom_program_get_input (p, i)->name);
      add_value (b, "value", loom_plan_input_value (plan, i), G_MAXUINT); /* null: nothing needs it */
      end (b);
    }
  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    {
      b = begin ("output", part);
      add_string (b, "name", loom_program_get_output (p, i)->name);
      add_int (b, "value", loom_plan_output_value (plan, i));
      end (b);
    }
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      LoomPlanMemory memory;
      gsize bytes[LOOM_N_OWNERS];

      loom_plan_memory (plan, d, &memory);
      loom_plan_memory_sum (&memory, bytes);
      listing_print_memory ("memory", part, loom_plan_device (plan, d)->name, bytes, &memory);
    }
}

void
listing_print_pass (const LoomPlanPass *pass, const char *part)
{
  JsonBuilder *b = begin ("pass", part);

  add_string (b, "name", pass->name);
  add_string (b, "doc", pass->doc);
  json_builder_set_member_name (b, "ran");
  json_builder_add_boolean_value (b, pass->ran);
  add_int (b, "instructions", pass->n_instrs);
  add_int (b, "bytes", (gint64)pass->bytes);
  end (b);
}
