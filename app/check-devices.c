/* Checks a graph by planning it; see the header. */
#include "app/check-devices.h"

#include <stdio.h>
#include <string.h>

#include "app/shared/listing-json.h"
#include "app/shared/listing.h"

void
check_memory_clear (CheckMemory *memory)
{
  g_clear_pointer (&memory->devices, g_ptr_array_unref);
  g_clear_pointer (&memory->bytes, g_array_unref);
}

static LoomPlanMemory *
memory_on (CheckMemory *memory, const char *device)
{
  LoomPlanMemory none = { 0 };
  guint i = 0;

  while (i < memory->devices->len && !g_str_equal (memory->devices->pdata[i], device))
    i++;
  if (i == memory->devices->len)
    {
      g_ptr_array_add (memory->devices, g_strdup (device));
      g_array_append_val (memory->bytes, none);
    }
  return &g_array_index (memory->bytes, LoomPlanMemory, i);
}

static gsize
sum_on (const CheckMemory *memory, guint device, gsize bytes[LOOM_N_OWNERS])
{
  gsize sum = 0;

  loom_plan_memory_sum (&g_array_index (memory->bytes, LoomPlanMemory, device), bytes);
  for (guint o = 0; o < LOOM_N_OWNERS; o++)
    sum += bytes[o];
  return sum;
}

/* Adds the memory of a plan: its arena if it is the largest so far, and the slots that no earlier plan has counted,
 * because plans share slots and arena. */
static void
add_plan (CheckMemory *memory, GHashTable *counted, const LoomPlan *plan)
{
  LoomProgram *p = loom_plan_program (plan);

  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      LoomPlanMemory *sum = memory_on (memory, loom_plan_device (plan, d)->name), m;

      loom_plan_memory (plan, d, &m);
      /* Slots are counted by name below, because not every plan has all slots. */
      memset (m.state, 0, sizeof m.state);
      loom_plan_memory_join (sum, &m);
      for (guint i = 0; i < loom_program_n_slots (p); i++)
        {
          const LoomSlot *slot = loom_program_get_slot (p, i);

          if (loom_plan_slot_device (plan, i) == d && g_hash_table_add (counted, slot->name))
            sum->state[loom_owner_of_slot (slot->kind)] += loom_plan_slot_bytes (slot);
        }
    }
}

/* ---- faults ----------------------------------------------------------- */

static gboolean
is_known (const LoomFaults *faults, const LoomFault *f)
{
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *g = loom_faults_get (faults, i);

      /* The plan of the update reports the same fault without a node, because a node's device also holds its weights
       * and their updates. */
      if (g->code == f->code
          && (g_strcmp0 (g->node, f->node) == 0 || (f->node == NULL && g_str_equal (g->message, f->message))))
        return TRUE;
    }
  return FALSE;
}

/* Adds the line of the node to the planner's error; errors without a node get the line of <train>. */
static void
place_faults (const LoomGraph *graph, const LoomNet *net, const LoomFaults *from, LoomFaults *to)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);

  for (guint i = 0; i < loom_faults_length (from); i++)
    {
      const LoomFault *f = loom_faults_get (from, i);
      int at = f->node != NULL ? loom_net_find (net, f->node) : -1;
      int line = at >= 0 ? loom_net_node (net, (guint)at)->line : train != NULL ? loom_element_line (train) : 0;

      if (is_known (to, f))
        continue;
      LoomFault *placed = loom_faults_add (to, f->code, line, f->node, f->port, "%s", f->message);
      loom_fault_copy_fix (placed, f);
    }
}

/* ---- planning --------------------------------------------------------- */

typedef struct
{
  const LoomGraph *graph;
  const LoomNet *net;
  LoomFaults *faults;
  LoomDevices *devices;
  const char *device;
  CheckMemory *memory; /* NULL: this plan is not counted */
  GHashTable *counted;
} Check;

/* Returns FALSE if the plan's own device does not exist: other plans need not be tried then. */
static gboolean
check_program (Check *c, LoomProgram *program, gboolean strict)
{
  g_autoptr (LoomFaults) found = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomPlanOptions options = { .device = c->device, .strict_devices = strict, .faults = found };
  g_autoptr (LoomPlan) plan = loom_plan_new (program, c->devices, &options, &error);

  place_faults (c->graph, c->net, found, c->faults);
  if (plan == NULL && loom_faults_length (found) == 0)
    {
      LoomElement *train = loom_element_find (loom_graph_root (c->graph), LOOM_TAG_TRAIN);

      loom_faults_add (c->faults, error->code, train != NULL ? loom_element_line (train) : 0, NULL,
                       train != NULL ? "device" : NULL, "%s%s", train != NULL ? "<train>: " : "", error->message);
      return FALSE;
    }
  if (plan != NULL && c->memory != NULL)
    add_plan (c->memory, c->counted, plan);
  return TRUE;
}

/* Sets each free symbol to 8, and B to the batch size: enough to plan, if such sizes are compatible. */
static LoomBinding
some_binding (const LoomNet *net, gint64 batch)
{
  LoomBinding binding = { 0 };

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint o = 0; o < loom_net_node (net, i)->n_outputs; o++)
      {
        const LoomShape *shape = &loom_net_node (net, i)->output[o].shape;

        for (int r = 0; r < shape->rank; r++)
          for (guint s = 0; s < LOOM_DIM_MAX_SYMBOLS; s++)
            if (g_ascii_isupper (shape->dim[r].symbol[s]))
              binding.value[shape->dim[r].symbol[s] - 'A'] = 8;
      }
  binding.value['B' - 'A'] = batch;
  return binding;
}

static gboolean
has_other_symbol (const LoomBinding *binding)
{
  for (guint i = 0; i < G_N_ELEMENTS (binding->value); i++)
    if (i != 'B' - 'A' && binding->value[i] != 0)
      return TRUE;
  return FALSE;
}

/* A missing device of a node is a fault, even if no plan can be made. */
static void
check_names (Check *c)
{
  for (guint i = 0; i < loom_net_n_nodes (c->net); i++)
    {
      const LoomNetNode *node = loom_net_node (c->net, i);
      g_autoptr (GError) error = NULL;

      if (node->device != NULL && loom_devices_get (c->devices, node->device, &error) == NULL)
        loom_faults_add (c->faults, error->code, node->line, node->path, "device", "%s", error->message);
    }
}

static void
check_memory (Check *c)
{
  for (guint d = 0; d < c->memory->devices->len; d++)
    {
      g_autoptr (GError) error = NULL;
      LoomPlanDevice *device = loom_devices_get (c->devices, c->memory->devices->pdata[d], NULL);
      gsize bytes[LOOM_N_OWNERS];

      if (device != NULL && !loom_plan_device_fits (device, sum_on (c->memory, d, bytes), "A step", &error))
        loom_faults_add (c->faults, error->code, 0, NULL, NULL, "%s", error->message)->is_warning = TRUE;
    }
}

static void
check_ends (Check *c, gint64 batch)
{
  LoomBinding binding = some_binding (c->net, batch);
  g_autoptr (GError) error = NULL;
  g_auto (Listing) l = { 0 };

  /* Memory that depends on unknown sizes would be a guess. */
  if (has_other_symbol (&binding))
    c->memory = NULL;
  if (listing_build_ends (c->graph, &binding, FALSE, &l, &error))
    check_program (c, l.program, l.strict_devices);
}

gboolean
check_devices (const LoomGraph *graph, const LoomNet *net, LoomTrainSpec *spec, gint64 batch, const char *device,
               LoomFaults *faults, CheckMemory *memory)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (0);
  g_autoptr (GHashTable) counted = g_hash_table_new (g_str_hash, g_str_equal);
  g_auto (Listing) training = { 0 };
  g_auto (Listing) evaluation = { 0 };
  g_autoptr (GError) failed = NULL;
  Check c
      = { graph, net, faults, devices, device != NULL ? device : spec != NULL ? spec->device : "cpu", memory, counted };

  memory->devices = g_ptr_array_new_with_free_func (g_free);
  memory->bytes = g_array_new (FALSE, TRUE, sizeof (LoomPlanMemory));
  if (spec == NULL || spec->precision != LOOM_F64)
    check_names (&c); /* in f64 this is a device of ref, or the graph's own */
  if (spec == NULL)
    check_ends (&c, batch);
  else if (listing_build_step (graph, spec, batch, TRUE, &training, &failed)
           && check_program (&c, training.program, training.strict_devices)
           && (training.step->update == NULL || check_program (&c, training.step->update, training.strict_devices)))
    {
      check_memory (&c);
      c.memory = NULL;
      if (listing_build_step (graph, spec, batch, FALSE, &evaluation, NULL))
        check_program (&c, evaluation.program, evaluation.strict_devices);
    }
  if (spec == NULL && c.memory != NULL)
    check_memory (&c);
  /* Other errors are those of the graph, which were reported, unless its data could be read until now. */
  if (failed != NULL
      && (g_error_matches (failed, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY) || loom_faults_length (faults) == 0))
    loom_faults_add (faults, failed->code, 0, NULL, NULL, "%s", failed->message);
  return loom_faults_count (faults) == 0;
}

/* ---- printing --------------------------------------------------------- */

void
check_memory_print (const CheckMemory *memory, gboolean trains, gint64 batch, gboolean json)
{
  if (json)
    {
      for (guint d = 0; d < memory->devices->len; d++)
        {
          gsize bytes[LOOM_N_OWNERS];

          sum_on (memory, d, bytes);
          listing_print_memory ("memory", NULL, memory->devices->pdata[d], bytes, NULL);
        }
      return;
    }
  if (memory->devices->len == 0)
    return;
  printf ("\n"
          "memory of %s with B = %" G_GINT64_FORMAT "\n",
          trains ? "a training step" : "an evaluation", batch);
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func (g_free);
  const guint columns = LOOM_N_OWNERS + 2;
  int width[LOOM_N_OWNERS + 2] = { 0 };

  g_ptr_array_add (cells, g_strdup ("device"));
  for (guint o = 0; o < LOOM_N_OWNERS; o++)
    g_ptr_array_add (cells, g_strdup (loom_owner_name ((LoomOwner)o)));
  g_ptr_array_add (cells, g_strdup ("total"));
  for (guint d = 0; d < memory->devices->len; d++)
    {
      gsize bytes[LOOM_N_OWNERS], total = sum_on (memory, d, bytes);

      g_ptr_array_add (cells, g_strdup (memory->devices->pdata[d]));
      for (guint o = 0; o < LOOM_N_OWNERS; o++)
        g_ptr_array_add (cells, loom_bytes_to_string ((double)bytes[o]));
      g_ptr_array_add (cells, loom_bytes_to_string ((double)total));
    }
  for (guint i = 0; i < cells->len; i++)
    width[i % columns] = MAX (width[i % columns], (int)g_utf8_strlen (cells->pdata[i], -1));
  for (guint i = 0; i < cells->len; i++)
    printf ("%*s%s", i % columns == 0 ? -width[0] : width[i % columns] + 2, (char *)cells->pdata[i],
            i % columns + 1 == columns ? "\n" : "");
}
