/* Lists the steps of a plan; see the header. */
#include "app/shared/listing-steps.h"

#include "app/shared/command.h"

#include <stdio.h>

#define WIDEST_LABEL 40

static const char *const phase_names[] = { "setup", "forward", "backward", "update" };
static const LoomTracePhase trace_phases[]
    = { LOOM_TRACE_NO_PHASE, LOOM_TRACE_FORWARD, LOOM_TRACE_BACKWARD, LOOM_TRACE_UPDATE };
static const char *const seconds_names[]
    = { [LOOM_SECONDS_UNKNOWN] = NULL, [LOOM_SECONDS_ESTIMATED] = "estimate", [LOOM_SECONDS_MEASURED] = "bench" };

/* One instruction as it is listed. */
typedef struct
{
  const LoomPlan *plan; /* a body's for instructions of a loop */
  const LoomPlanInstr *instr;
  guint index, phase, depth;
  double seconds;           /* negative: unknown */
  const char *seconds_from; /* "run", "bench", "estimate" or NULL */
  char *purpose;            /* of an instruction without a node */
} Row;

static void
row_clear (Row *row)
{
  g_free (row->purpose);
}

static guint
phase_of (const LoomPlan *plan, guint i)
{
  return i < loom_plan_n_setup (plan) ? 0 : 1 + (guint)loom_plan_instr (plan, i)->region;
}

static void
find_seconds (Row *row, LoomTraceTimes *times)
{
  const LoomPlanInstr *instr = row->instr;
  const char *node = instr->origin != NULL ? instr->origin : row->purpose;
  double expected;

  row->seconds = times != NULL && row->phase > 0
                     ? loom_trace_times_take (times, trace_phases[row->phase], instr->label, node)
                     : -1;
  if (row->seconds >= 0)
    {
      row->seconds_from = "run";
      return;
    }
  row->seconds_from = seconds_names[loom_plan_seconds (row->plan, instr, &expected)];
  if (row->seconds_from != NULL)
    row->seconds = expected;
}

static void
add_row (GArray *rows, const LoomPlan *plan, guint i, guint phase, guint depth, LoomTraceTimes *times)
{
  const LoomPlanInstr *instr = loom_plan_instr (plan, i);
  Row row = { .plan = plan, .instr = instr, .index = i, .phase = phase, .depth = depth };

  row.purpose = instr->origin == NULL ? loom_plan_purpose (plan, instr) : NULL;
  find_seconds (&row, depth == 0 ? times : NULL);
  g_array_append_val (rows, row);
  for (guint b = 0; b < instr->n_bodies; b++)
    for (guint k = 0; k < loom_plan_n_instrs (instr->body[b]); k++)
      add_row (rows, instr->body[b], k, phase, depth + 1, NULL);
}

/* Row by row, the instructions of a loop's bodies after the loop. (transfer full) */
static GArray *
list_rows (const LoomPlan *plan, LoomTraceTimes *times)
{
  GArray *rows = g_array_new (FALSE, TRUE, sizeof (Row));

  g_array_set_clear_func (rows, (GDestroyNotify)row_clear);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    add_row (rows, plan, i, phase_of (plan, i), 0, times);
  return rows;
}

static const char *
kernel_of (const LoomPlanInstr *instr)
{
  return instr->kernel != NULL ? instr->kernel->name : "copy between devices";
}

/* ---- JSON ------------------------------------------------------------------------ */

static void
add_buffers (LoomJson *json, const char *name, const Row *row, guint first, guint end)
{
  loom_json_begin_array (json, name);
  for (guint k = first; k < end; k++)
    if (row->instr->value[k] != G_MAXUINT)
      {
        g_autofree char *text = loom_plan_describe_value (row->plan, row->instr->value[k]);

        loom_json_string (json, NULL, text);
      }
  loom_json_end_array (json);
}

static void
end_line (LoomJson *json, GString *events)
{
  loom_json_end_object (json);
  g_string_append_printf (events, "%s\n", loom_json_text (json));
  loom_json_free (json);
}

/* alive: bytes by owner while it runs; NULL: unknown, for an instruction of a loop's body. */
static void
append_row (const Row *row, const char *part, const gsize *alive, GString *events)
{
  const LoomPlanInstr *instr = row->instr;
  const GPtrArray *nodes = loom_plan_instr_nodes (row->plan, row->index);
  LoomJson *json = command_event_new ("step");

  loom_json_string (json, "part", part);
  loom_json_string (json, "phase", phase_names[row->phase]);
  loom_json_int (json, "index", row->index);
  loom_json_int (json, "depth", row->depth);
  loom_json_string (json, "node", instr->origin);
  loom_json_begin_array (json, "nodes");
  for (guint i = 0; i < nodes->len; i++)
    loom_json_string (json, NULL, nodes->pdata[i]);
  loom_json_end_array (json);
  loom_json_string (json, "purpose", row->purpose);
  loom_json_string (json, "label", instr->label);
  loom_json_string (json, "kernel", kernel_of (instr));
  loom_json_string (json, "algorithm", instr->algorithm);
  loom_json_string (json, "device", loom_plan_device (row->plan, instr->device)->name);
  add_buffers (json, "reads", row, 0, instr->n_in);
  add_buffers (json, "writes", row, instr->n_in, instr->n_in + instr->n_out);
  loom_json_fixed (json, "bytes", instr->bytes, 0);
  loom_json_fixed (json, "flops", instr->flops, 0);
  if (row->seconds >= 0)
    loom_json_number (json, "seconds", row->seconds);
  else
    loom_json_null (json, "seconds");
  loom_json_string (json, "seconds_from", row->seconds_from);
  for (int o = 0; alive != NULL && o < LOOM_N_OWNERS; o++)
    loom_json_int (json, loom_owner_name ((LoomOwner)o), (gint64)alive[o]);
  end_line (json, events);
}

static void
append_storage (const LoomPlan *plan, const char *part, const LoomPlanStorage *s, const char *name, GString *events)
{
  LoomJson *json = command_event_new ("storage");

  loom_json_string (json, "part", part);
  loom_json_string (json, "device", loom_plan_device (plan, s->device)->name);
  loom_json_string (json, "node", s->node);
  loom_json_string (json, "name", name);
  loom_json_string (json, "owner", loom_owner_name (s->owner));
  loom_json_int (json, "bytes", (gint64)s->bytes);
  loom_json_int (json, "first", s->first);
  loom_json_int (json, "last", s->last);
  end_line (json, events);
}

static void
append_slots (const LoomPlan *plan, const char *part, GString *events)
{
  const LoomProgram *p = loom_plan_program (plan);
  g_autoptr (GPtrArray) nodes = loom_slot_nodes (p);

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      const LoomPlanStorage s = { .node = nodes->pdata[i],
                                  .device = loom_plan_slot_device (plan, i),
                                  .owner = loom_owner_of_slot (slot->kind),
                                  .bytes = loom_plan_slot_bytes (slot),
                                  .last = MAX (loom_plan_n_instrs (plan), 1) - 1 };

      append_storage (plan, part, &s, slot->name, events);
    }
}

void
listing_append_steps (const LoomPlan *plan, const char *part, LoomTraceTimes *times, GString *events)
{
  g_autoptr (GArray) rows = list_rows (plan, times);
  g_autoptr (GPtrArray) along = g_ptr_array_new_with_free_func (g_free);

  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    g_ptr_array_add (along, loom_plan_memory_along (plan, d));
  for (guint i = 0; i < rows->len; i++)
    {
      const Row *row = &g_array_index (rows, Row, i);
      const gsize *alive = row->depth == 0
                               ? (const gsize *)along->pdata[row->instr->device] + (gsize)row->index * LOOM_N_OWNERS
                               : NULL;

      append_row (row, part, alive, events);
    }
  append_slots (plan, part, events);
  for (guint i = 0; i < loom_plan_n_storages (plan); i++)
    append_storage (plan, part, loom_plan_storage (plan, i), NULL, events);
}

/* ---- text -------------------------------------------------------------------------- */

static gsize
sum_of (const gsize *row)
{
  gsize sum = 0;

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    sum += row[o];
  return sum;
}

/* "0.312", "~0.3" for an estimate, "·" if unknown: milliseconds. (transfer full) */
static char *
milliseconds (double seconds, const char *from)
{
  const gboolean estimated = g_strcmp0 (from, "estimate") == 0;
  const int digits = !estimated ? 3 : 1e3 * seconds < 0.1 ? 4 : 2;

  return seconds < 0 ? g_strdup ("·") : g_strdup_printf ("%s%.*f", estimated ? "~" : "", digits, 1e3 * seconds);
}

/* Prints text in a column of this many characters, or the whole text if it is longer. */
static void
print_column (const char *text, int width, gboolean right)
{
  const int space = MAX (0, width - (int)g_utf8_strlen (text, -1));

  printf ("%*s%s%*s  ", right ? space : 0, "", text, right ? 0 : space, "");
}

static void
print_heading (const GArray *rows, guint from)
{
  const guint phase = g_array_index (rows, Row, from).phase;
  double seconds = 0;
  guint n = 0;

  for (guint i = from; i < rows->len && g_array_index (rows, Row, i).phase == phase; i++)
    if (g_array_index (rows, Row, i).depth == 0)
      {
        n++;
        seconds += MAX (0, g_array_index (rows, Row, i).seconds);
      }
  printf ("%s%s: %u steps, %.3f ms\n", from > 0 ? "\n" : "", phase_names[phase], n, 1e3 * seconds);
}

/* The paths of the nodes, or the purpose of a step without a node. (transfer full) */
static char *
name_of (const Row *row)
{
  const GPtrArray *nodes = loom_plan_instr_nodes (row->plan, row->index);
  g_autoptr (GString) name = g_string_new (NULL);

  for (guint i = 0; i < nodes->len; i++)
    g_string_append_printf (name, "%s%s", i > 0 ? " + " : "", (const char *)nodes->pdata[i]);
  return command_printable (name->len > 0 ? name->str : row->purpose != NULL ? row->purpose : "·");
}

static void
print_row (const Row *row, const gsize *alive, const int width[2])
{
  g_autofree char *node = name_of (row);
  g_autofree char *name = g_strdup_printf ("%*s%u", (int)(2 * row->depth), "", row->index);
  g_autofree char *bytes = loom_bytes_to_string (row->instr->bytes),
                  *ms = milliseconds (row->seconds, row->seconds_from);
  g_autofree char *live = alive != NULL ? loom_bytes_to_string ((double)sum_of (alive)) : g_strdup ("");

  print_column (name, 5, TRUE);
  print_column (node, width[0], FALSE);
  print_column (row->instr->label, width[1], FALSE);
  print_column (bytes, 9, TRUE);
  print_column (ms, 9, TRUE);
  print_column (live, 9, TRUE);
  printf ("%s\n", kernel_of (row->instr));
}

/* The moment with the most memory, and the largest blocks that are alive then. */
static void
print_peak (const LoomPlan *plan, guint device, const gsize *along)
{
  const char *separator = "";
  guint peak = 0;

  for (guint i = 1; i < loom_plan_n_instrs (plan); i++)
    if (sum_of (along + (gsize)i * LOOM_N_OWNERS) > sum_of (along + (gsize)peak * LOOM_N_OWNERS))
      peak = i;
  if (loom_plan_n_instrs (plan) == 0)
    return;
  g_autofree char *most = loom_bytes_to_string ((double)sum_of (along + (gsize)peak * LOOM_N_OWNERS));
  printf ("\nmost memory on %s: %s at step %u (", loom_plan_device (plan, device)->name, most, peak);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    {
      const gsize bytes = along[(gsize)peak * LOOM_N_OWNERS + (gsize)o];
      g_autofree char *text = loom_bytes_to_string ((double)bytes);

      if (bytes == 0)
        continue;
      printf ("%s%s %s", separator, loom_owner_name ((LoomOwner)o), text);
      separator = ", ";
    }
  printf (")\n");
}

void
listing_print_steps (const LoomPlan *plan, const char *part, LoomTraceTimes *times)
{
  g_autoptr (GArray) rows = list_rows (plan, times);
  g_autoptr (GPtrArray) along = g_ptr_array_new_with_free_func (g_free);
  int width[2] = { 4, 10 }; /* of the node and of the operations */

  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    g_ptr_array_add (along, loom_plan_memory_along (plan, d));
  for (guint i = 0; i < rows->len; i++)
    {
      g_autofree char *node = name_of (&g_array_index (rows, Row, i));

      width[0] = MAX (width[0], (int)g_utf8_strlen (node, -1));
      width[1] = MAX (width[1], (int)g_utf8_strlen (g_array_index (rows, Row, i).instr->label, -1));
    }
  width[1] = MIN (width[1], WIDEST_LABEL);
  if (g_str_equal (part, "step"))
    printf (" step  %-*s  %-*s  %9s  %9s  %9s  kernel\n", width[0], "node", width[1], "operations", "bytes", "ms",
            "alive");
  for (guint i = 0; i < rows->len; i++)
    {
      const Row *row = &g_array_index (rows, Row, i);

      if (i == 0 || row->phase != g_array_index (rows, Row, i - 1).phase)
        print_heading (rows, i);
      print_row (row,
                 row->depth == 0 ? (const gsize *)along->pdata[row->instr->device] + (gsize)row->index * LOOM_N_OWNERS
                                 : NULL,
                 width);
    }
  for (guint d = 0; d < along->len; d++)
    print_peak (plan, d, along->pdata[d]);
}
