/* Prints the listing of `gradloom plan`: kernels, devices and memory. */
#include "engine/plan/plan-private.h"

#include "engine/core/loom-bytes.h"

static void
append_desc (GString *s, const LoomTensorDesc *d)
{
  g_string_append (s, loom_dtype_name (d->dtype));
  g_string_append_c (s, '[');
  for (int i = 0; i < d->rank; i++)
    g_string_append_printf (s, "%s%" G_GINT64_FORMAT, i > 0 ? "×" : "", (gint64)d->dim[i]);
  g_string_append_c (s, ']');
  if (d->layout == LOOM_LAYOUT_NHWC)
    g_string_append (s, " nhwc");
}

static void
append_location (GString *s, const LoomPlan *plan, const LoomPlanValue *v)
{
  switch (v->location.kind)
    {
    case LOOM_LOCATION_ARENA:
      g_string_append_printf (s, "@%" G_GSIZE_FORMAT, v->location.offset);
      break;
    case LOOM_LOCATION_SETUP:
      g_string_append_printf (s, "once@%" G_GSIZE_FORMAT, v->location.offset);
      break;
    case LOOM_LOCATION_SLOT:
      g_string_append_printf (s, "%s", loom_program_get_slot (plan->program, v->location.index)->name);
      break;
    case LOOM_LOCATION_INPUT:
      g_string_append_printf (s, "%s", loom_program_get_input (plan->program, v->location.index)->name);
      break;
    case LOOM_LOCATION_NONE:
    default:
      g_string_append_c (s, '-');
    }
}

char *
loom_plan_describe_value (const LoomPlan *plan, guint value)
{
  const LoomPlanValue *v = loom_plan_value (plan, value);
  GString *s = g_string_new (NULL);

  append_desc (s, &v->desc);
  g_string_append_c (s, ' ');
  append_location (s, plan, v);
  return g_string_free (s, FALSE);
}

/* Appends spaces up to a column, counted in characters, not bytes. */
static void
pad_to (GString *s, gsize line_start, glong column)
{
  glong n = g_utf8_strlen (s->str + line_start, (gssize)(s->len - line_start));

  for (; n < column; n++)
    g_string_append_c (s, ' ');
  g_string_append_c (s, ' ');
}

static void
append_instr (GString *s, const LoomPlan *plan, guint i, guint depth)
{
  static const char *const region_letter = "fbu";
  const LoomPlanInstr *instr = loom_plan_instr (plan, i);
  gsize start = s->len;

  g_string_append_printf (s, "%*s%4u %c %s", (int)(2 * depth), "", i,
                          i < plan->n_setup ? 's' : region_letter[instr->region],
                          instr->origin != NULL ? instr->origin : "·");
  pad_to (s, start, 26);
  g_string_append (s, instr->label);
  pad_to (s, start, 58);
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->value[instr->n_in + k] != G_MAXUINT)
      {
        const LoomPlanValue *v = loom_plan_value (plan, instr->value[instr->n_in + k]);

        if (k > 3)
          {
            g_string_append_printf (s, "… %u more", instr->n_out - k);
            break;
          }
        append_desc (s, &v->desc);
        g_string_append_c (s, ' ');
        append_location (s, plan, v);
        g_string_append (s, "  ");
      }
  pad_to (s, start, 96);
  /* The name of a kernel often begins with its algorithm. */
  if (instr->kernel != NULL && instr->algorithm != NULL && !g_str_has_prefix (instr->kernel->name, instr->algorithm))
    g_string_append_printf (s, "%s: ", instr->algorithm);
  g_string_append_printf (s, "%s", instr->kernel != NULL ? instr->kernel->name : "copy between devices");
  if (plan->plan_devices->len > 1)
    g_string_append_printf (s, "  on %s", loom_plan_device (plan, instr->device)->name);
  g_string_append_c (s, '\n');
  for (guint b = 0; b < instr->n_bodies; b++)
    for (guint k = 0; k < loom_plan_n_instrs (instr->body[b]); k++)
      append_instr (s, instr->body[b], k, depth + 1);
}

/* Appends the bytes of a step on a device by owner: the state, and everything else at the peak. */
static void
append_memory (GString *s, const LoomPlan *plan, guint device)
{
  LoomPlanMemory m;
  gsize bytes[LOOM_N_OWNERS], total = 0;
  g_autofree char *arena = NULL, *least = NULL, *sum = NULL;
  const char *separator = "";

  loom_plan_memory (plan, device, &m);
  loom_plan_memory_sum (&m, bytes);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    total += bytes[o];
  arena = loom_bytes_to_string ((double)m.arena);
  least = loom_bytes_to_string ((double)m.lower_bound);
  sum = loom_bytes_to_string ((double)total);
  g_string_append_printf (s, "\nmemory on %s: %s (", loom_plan_device (plan, device)->name, sum);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    if (bytes[o] > 0)
      {
        g_autofree char *text = loom_bytes_to_string ((double)bytes[o]);

        g_string_append_printf (s, "%s%s %s", separator, loom_owner_name ((LoomOwner)o), text);
        separator = ", ";
      }
  g_string_append_printf (s, "); in an arena of %s, of which %s are alive at once\n", arena, least);
}

/* Appends "x, y: 3.1 KB"; `names` has the names joined. */
static void
append_names (GString *s, const GString *names, gsize bytes)
{
  g_autofree char *size = loom_bytes_to_string ((double)bytes);

  g_string_append_printf (s, "%s: %s", names->str, size);
}

static void
add_name (GString *names, const char *name)
{
  g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", name);
}

static void
append_sends (GString *s, const LoomPlan *plan, guint device)
{
  for (guint i = 0; i < plan->instrs->len; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      if (!instr->is_send || loom_plan_value (plan, instr->value[0])->location.device != device)
        continue;
      g_string_append_printf (s, "%s%u to %s", s->len > 0 ? "; " : "", i, loom_plan_device (plan, instr->device)->name);
      if (instr->until != G_MAXUINT)
        g_string_append_printf (s, " until %u", instr->until);
    }
}

/* Appends the other lanes of a device, and the events that order them with its instructions. */
static void
append_lanes (GString *s, const LoomPlan *plan, guint device)
{
  LoomPlanArea staging = loom_plan_staging (plan, device), results = loom_plan_results (plan, device);
  g_autoptr (GString) up = g_string_new (NULL), down = g_string_new (NULL), exchange = g_string_new (NULL),
                      send = g_string_new (NULL);

  for (guint i = 0; i < loom_plan_n_uploads (plan); i++)
    if (loom_plan_upload (plan, i)->device == device)
      add_name (up, loom_program_get_input (plan->program, loom_plan_upload (plan, i)->input)->name);
  for (guint o = 0; o < loom_program_n_outputs (plan->program) && results.bytes > 0; o++)
    if (loom_plan_is_result (plan, o)
        && loom_plan_value (plan, loom_plan_output_value (plan, o))->location.device == device)
      add_name (down, loom_program_get_output (plan->program, o)->name);
  for (guint i = 0; i < plan->instrs->len; i++)
    if (loom_plan_instr (plan, i)->device == device && loom_plan_instr (plan, i)->until != G_MAXUINT
        && !loom_plan_instr (plan, i)->is_send)
      g_string_append_printf (exchange, "%s%u until %u", exchange->len > 0 ? "; " : "", i,
                              loom_plan_instr (plan, i)->until);
  append_sends (send, plan, device);
  if (up->len + down->len + exchange->len + send->len == 0)
    return;
  g_string_append_printf (s, "\nlanes of %s in addition to its instructions:\n", loom_plan_device (plan, device)->name);
  if (up->len > 0)
    {
      g_string_append (s, "  upload    ");
      append_names (s, up, staging.bytes);
      g_string_append_printf (
          s, " from page-locked memory during the previous step; copied to the arena before %u, and free then\n",
          plan->n_setup);
    }
  if (exchange->len > 0)
    g_string_append_printf (s, "  exchange  %s\n", exchange->str);
  if (send->len > 0)
    g_string_append_printf (s, "  send      %s\n", send->str);
  if (down->len > 0)
    {
      g_string_append (s, "  results   ");
      append_names (s, down, results.bytes);
      g_string_append (s, " to page-locked memory in one copy after the last instruction\n");
    }
}

char *
loom_plan_print (const LoomPlan *plan)
{
  GString *s = g_string_new (NULL);

  g_string_append_printf (s,
                          "%u instructions, %u of them once before the first step "
                          "(s setup, f forward, b backward, u update)\n",
                          plan->instrs->len, plan->n_setup);
  for (guint i = 0; i < plan->instrs->len; i++)
    append_instr (s, plan, i, 0);
  for (guint d = 0; d < plan->plan_devices->len; d++)
    append_memory (s, plan, d);
  for (guint d = 0; d < plan->plan_devices->len; d++)
    append_lanes (s, plan, d);
  g_string_append_printf (s, "kernels chosen by cost table %s (%s)\n",
                          loom_cost_table_hash (loom_devices_costs (plan->devices)),
                          loom_cost_table_origin (loom_devices_costs (plan->devices)));
  return g_string_free (s, FALSE);
}
