/* Prints programs and plans as JSON; see the header. */
#include "app/shared/listing-json.h"

#include "app/shared/command.h"

static const char *const region_name[LOOM_N_REGIONS] = { "forward", "backward", "update" };
static const char *const kind_name[] = { "parameter", "buffer", "optimizer", "scalar" };

/* ---- one object ------------------------------------------------------- */

static LoomJson *
begin (const char *event, const char *part)
{
  LoomJson *b = command_event_new (event);

  if (part != NULL)
    loom_json_string (b, "part", part);
  return b;
}

/* The numbers of values; `none` (an absent operand, an unused result) becomes null. */
static void
add_value (LoomJson *b, const char *name, guint value, guint none)
{
  if (value == none)
    loom_json_null (b, name);
  else
    loom_json_int (b, name, value);
}

static void
add_values (LoomJson *b, const char *name, guint n, const guint *value, guint none)
{
  loom_json_begin_array (b, name);
  for (guint i = 0; i < n; i++)
    add_value (b, NULL, value[i], none);
  loom_json_end_array (b);
}

static void
add_type (LoomJson *b, LoomDType dtype, int rank, const gint64 *dim)
{
  loom_json_string (b, "dtype", loom_dtype_name (dtype));
  loom_json_ints (b, "shape", rank, dim);
}

/* ---- programs --------------------------------------------------------- */

static void
print_slots (const LoomProgram *p, const char *part)
{
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      LoomJson *b = begin ("slot", part);

      loom_json_string (b, "name", slot->name);
      loom_json_string (b, "kind", kind_name[slot->kind]);
      add_type (b, slot->dtype, slot->rank, slot->dim);
      loom_json_bool (b, "trainable", slot->kind == LOOM_SLOT_PARAMETER && slot->trainable);
      add_value (b, "read", slot->read, 0);
      add_value (b, "commit", slot->commit, 0);
      command_event_print (b);
    }
}

static void
print_instructions (const LoomProgram *p, const char *part)
{
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      g_autofree char *attrs = loom_prim_describe (instr->prim, instr->attrs);
      LoomJson *b = begin ("instruction", part);

      loom_json_int (b, "index", i);
      loom_json_string (b, "primitive", instr->prim->name);
      loom_json_string (b, "attributes", attrs);
      add_values (b, "in", instr->n_in, instr->in, 0);
      add_values (b, "out", instr->n_out, instr->out, 0);
      loom_json_string (b, "region", region_name[instr->region]);
      loom_json_string (b, "node", instr->origin);
      loom_json_string (b, "device", instr->device);
      loom_json_int (b, "recomputation", instr->recomputation);
      command_event_print (b);
    }
}

void
listing_print_program (const LoomProgram *p, const char *part)
{
  LoomJson *b = begin ("program", part);

  loom_json_int (b, "values", loom_program_n_values (p));
  loom_json_int (b, "instructions", loom_program_n_instrs (p));
  command_event_print (b);
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomProgramInput *input = loom_program_get_input (p, i);

      b = begin ("input", part);
      loom_json_string (b, "name", input->name);
      loom_json_int (b, "value", input->value);
      command_event_print (b);
    }
  print_slots (p, part);
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    {
      const LoomValueInfo *info = loom_value_info (p, v);

      b = begin ("value", part);
      loom_json_int (b, "value", v);
      add_type (b, info->desc.dtype, info->desc.rank, info->desc.dim);
      loom_json_string (b, "region", region_name[info->region]);
      loom_json_string (b, "node", info->origin);
      loom_json_string (b, "device", info->device);
      command_event_print (b);
    }
  print_instructions (p, part);
  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    {
      const LoomProgramOutput *output = loom_program_get_output (p, i);

      b = begin ("output", part);
      loom_json_string (b, "name", output->name);
      loom_json_int (b, "value", output->value);
      command_event_print (b);
    }
}

/* ---- plans ------------------------------------------------------------ */

static void
print_value (const LoomPlan *plan, guint i, const char *part)
{
  static const char *const place_name[] = { [LOOM_LOCATION_ARENA] = "arena",
                                            [LOOM_LOCATION_SETUP] = "once",
                                            [LOOM_LOCATION_SLOT] = "slot",
                                            [LOOM_LOCATION_INPUT] = "input" };
  const LoomPlanValue *v = loom_plan_value (plan, i);
  LoomProgram *p = loom_plan_program (plan);
  LoomJson *b;

  if (v->location.kind == LOOM_LOCATION_NONE)
    return;
  b = begin ("value", part);
  loom_json_int (b, "value", i);
  add_type (b, v->desc.dtype, v->desc.rank, v->desc.dim);
  loom_json_string (b, "layout", v->desc.layout == LOOM_LAYOUT_NHWC ? "nhwc" : "plain");
  loom_json_int (b, "bytes", (gint64)loom_desc_bytes (&v->desc));
  loom_json_string (b, "device", loom_plan_device (plan, v->location.device)->name);
  loom_json_string (b, "place", place_name[v->location.kind]);
  if (v->location.kind == LOOM_LOCATION_ARENA || v->location.kind == LOOM_LOCATION_SETUP)
    loom_json_int (b, "offset", (gint64)v->location.offset);
  else
    loom_json_string (b, "name",
                      v->location.kind == LOOM_LOCATION_SLOT ? loom_program_get_slot (p, v->location.index)->name
                                                             : loom_program_get_input (p, v->location.index)->name);
  loom_json_string (b, "owner", loom_owner_name (v->owner));
  loom_json_string (b, "node", v->origin);
  loom_json_int (b, "first", v->first);
  loom_json_int (b, "last", v->last);
  command_event_print (b);
}

static void
print_instruction (const LoomPlan *plan, guint i, const char *part)
{
  const LoomPlanInstr *instr = loom_plan_instr (plan, i);
  LoomJson *b = begin ("instruction", part);

  loom_json_int (b, "index", i);
  loom_json_bool (b, "setup", i < loom_plan_n_setup (plan));
  loom_json_string (b, "primitive", instr->primitive);
  loom_json_string (b, "label", instr->label);
  loom_json_string (b, "algorithm", instr->algorithm);
  loom_json_string (b, "kernel", instr->kernel != NULL ? instr->kernel->name : NULL);
  loom_json_string (b, "device", loom_plan_device (plan, instr->device)->name);
  loom_json_string (b, "region", region_name[instr->region]);
  loom_json_string (b, "node", instr->origin);
  add_values (b, "in", instr->n_in, instr->value, G_MAXUINT);
  add_values (b, "out", instr->n_out, instr->value + instr->n_in, G_MAXUINT);
  if (instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
    {
      loom_json_int (b, "scratch_offset", (gint64)instr->scratch);
      loom_json_int (b, "scratch_bytes", (gint64)instr->kernel->scratch_bytes);
    }
  if (instr->until != G_MAXUINT)
    loom_json_int (b, "until", instr->until);
  loom_json_number (b, "flops", instr->flops);
  loom_json_number (b, "bytes", instr->bytes);
  command_event_print (b);
}

void
listing_print_memory (const char *event, const char *part, const char *device, const gsize bytes[LOOM_N_OWNERS],
                      const LoomPlanMemory *memory)
{
  LoomJson *b = begin (event, part);
  gint64 total = 0;

  loom_json_string (b, "device", device);
  for (guint o = 0; o < LOOM_N_OWNERS; o++)
    {
      loom_json_int (b, loom_owner_name ((LoomOwner)o), (gint64)bytes[o]);
      total += (gint64)bytes[o];
    }
  loom_json_int (b, "total", total);
  if (memory != NULL)
    {
      loom_json_int (b, "arena", (gint64)memory->arena);
      loom_json_int (b, "lower_bound", (gint64)memory->lower_bound);
    }
  command_event_print (b);
}

static void
print_lane (const char *part, const char *device, const char *lane, const char *what, gsize bytes, GPtrArray *names)
{
  LoomJson *b;

  if (names->len == 0)
    return;
  b = begin ("lane", part);
  loom_json_string (b, "device", device);
  loom_json_string (b, "lane", lane);
  loom_json_int (b, "bytes", (gint64)bytes);
  loom_json_begin_array (b, what);
  for (guint i = 0; i < names->len; i++)
    loom_json_string (b, NULL, names->pdata[i]);
  loom_json_end_array (b);
  command_event_print (b);
}

/* A device's other lists, next to its instructions (loom-plan.h); exchange and send lanes appear as "until" of their
 * instructions. */
static void
print_lanes (const LoomPlan *plan, guint device, const char *part)
{
  LoomProgram *p = loom_plan_program (plan);
  const char *name = loom_plan_device (plan, device)->name;
  LoomPlanArea results = loom_plan_results (plan, device);
  g_autoptr (GPtrArray) up = g_ptr_array_new (), down = g_ptr_array_new ();

  for (guint i = 0; i < loom_plan_n_uploads (plan); i++)
    if (loom_plan_upload (plan, i)->device == device)
      g_ptr_array_add (up, loom_program_get_input (p, loom_plan_upload (plan, i)->input)->name);
  for (guint o = 0; o < loom_program_n_outputs (p) && results.bytes > 0; o++)
    if (loom_plan_is_result (plan, o)
        && loom_plan_value (plan, loom_plan_output_value (plan, o))->location.device == device)
      g_ptr_array_add (down, loom_program_get_output (p, o)->name);
  print_lane (part, name, "upload", "inputs", loom_plan_staging (plan, device).bytes, up);
  print_lane (part, name, "results", "outputs", results.bytes, down);
}

void
listing_print_plan (const LoomPlan *plan, const char *part)
{
  LoomProgram *p = loom_plan_program (plan);
  LoomJson *b = begin ("plan", part);

  loom_json_int (b, "instructions", loom_plan_n_instrs (plan));
  loom_json_int (b, "setup", loom_plan_n_setup (plan));
  loom_json_begin_array (b, "devices");
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    loom_json_string (b, NULL, loom_plan_device (plan, d)->name);
  loom_json_end_array (b);
  command_event_print (b);
  for (guint i = 1; i < loom_plan_n_values (plan); i++)
    print_value (plan, i, part);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    print_instruction (plan, i, part);
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      b = begin ("input", part);
      loom_json_string (b, "name", loom_program_get_input (p, i)->name);
      add_value (b, "value", loom_plan_input_value (plan, i), G_MAXUINT); /* null: unused */
      command_event_print (b);
    }
  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    {
      b = begin ("output", part);
      loom_json_string (b, "name", loom_program_get_output (p, i)->name);
      loom_json_int (b, "value", loom_plan_output_value (plan, i));
      command_event_print (b);
    }
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      LoomPlanMemory memory;
      gsize bytes[LOOM_N_OWNERS];

      loom_plan_memory (plan, d, &memory);
      loom_plan_memory_sum (&memory, bytes);
      listing_print_memory ("memory", part, loom_plan_device (plan, d)->name, bytes, &memory);
      print_lanes (plan, d, part);
    }
}

void
listing_print_pass (const LoomPlanPass *pass, const char *part)
{
  LoomJson *b = begin ("pass", part);

  loom_json_string (b, "name", pass->name);
  loom_json_string (b, "doc", pass->doc);
  loom_json_bool (b, "ran", pass->ran);
  loom_json_int (b, "instructions", pass->n_instrs);
  loom_json_int (b, "bytes", (gint64)pass->bytes);
  command_event_print (b);
}
