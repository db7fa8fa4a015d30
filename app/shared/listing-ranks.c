/* Lists how a step is partitioned among ranks; see the header. */
#include "app/shared/listing-ranks.h"

#include "app/shared/command.h"

#include <stdio.h>
#include <string.h>

gboolean
listing_comm_init (ListingComm *self, int ranks, GError **error)
{
  LoomMessage message = { "" };

  *self = (ListingComm){ .ranks = 1 };
  if (ranks < 2)
    return TRUE;
  self->rank = g_new0 (LoomComm *, (gsize)ranks);
  if (loom_comm_threads_new (ranks, self->rank, &message) == LOOM_STATUS_OK)
    {
      self->ranks = ranks;
      return TRUE;
    }
  g_clear_pointer (&self->rank, g_free);
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, message.text);
  return FALSE;
}

void
listing_comm_clear (ListingComm *self)
{
  for (int k = 0; self->rank != NULL && k < self->ranks; k++)
    self->rank[k]->free (self->rank[k]);
  g_clear_pointer (&self->rank, g_free);
}

gboolean
listing_ranks_init (ListingRanks *self, const LoomTrainSpec *spec, int ranks, GError **error)
{
  int size[LOOM_MESH_AXES];

  if (!loom_train_spec_mesh (spec, ranks, size, error) || !listing_comm_init (&self->comm, ranks, error))
    return FALSE;
  self->mesh = g_new0 (LoomMesh, (gsize)ranks);
  self->ranks = ranks;
  for (int k = 0; k < ranks; k++)
    self->mesh[k] = loom_mesh_open (self->comm.rank[k], size);
  return TRUE;
}

void
listing_ranks_clear (ListingRanks *self)
{
  for (int k = 0; k < self->ranks; k++)
    loom_mesh_close (&self->mesh[k]);
  listing_comm_clear (&self->comm);
  g_clear_pointer (&self->mesh, g_free);
}

/* ---- dividing ---------------------------------------------------------------- */

gboolean
listing_divide (LoomStep *step, LoomTrainSpec *spec, const LoomMesh *mesh, LoomDevices *devices, const char *device,
                GError **error)
{
  LoomParallel *parallel = &spec->parallel;

  if (parallel->pipeline > 1 && parallel->stages == NULL)
    parallel->stages = loom_stages_choose (step, mesh->size[LOOM_MESH_PIPELINE], devices, device, NULL, error);
  if (parallel->pipeline > 1 && parallel->stages == NULL)
    return FALSE;
  return loom_step_divide (step, spec, mesh, error);
}

/* ---- communication ---------------------------------------------------------- */

static double
bytes_of (const LoomProgram *p, guint n, const LoomValue *values)
{
  double bytes = 0;

  for (guint k = 0; k < n; k++)
    if (values[k] != 0)
      bytes += (double)loom_desc_bytes (&loom_value_info (p, values[k])->desc);
  return bytes;
}

/* The bytes that a rank sends per step: all except its own shard of a gathered or reduced value, and twice that for an
 * all-reduce (Thakur, Rabenseifner and Gropp 2005). */
static double
sent_by (const LoomProgram *p, const LoomMesh *mesh, guint *calls)
{
  double bytes = 0;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      if ((instr->prim->flags & LOOM_PRIM_COLLECTIVE) == 0)
        continue;
      /* The larger side is the whole value; an all-reduce has it on both sides. */
      double in = bytes_of (p, instr->n_in, instr->in), out = bytes_of (p, instr->n_out, instr->out);
      if (instr->prim->flags & LOOM_PRIM_SIDE_EFFECT)
        {
          /* A send to one rank, or a broadcast. */
          bytes += in;
          *calls += in > 0;
          continue;
        }
      int ranks = mesh->size[loom_collective_along (instr->prim, instr->attrs)];
      bytes += (in == out ? 2 * in : MAX (in, out)) * (ranks - 1) / ranks;
      *calls += 1;
    }
  return bytes;
}

/* ---- the table ------------------------------------------------------------------ */

typedef struct
{
  gsize bytes[LOOM_N_OWNERS], total;
  double sent;
  guint calls;
} Row;

static gboolean
add_plan (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options, LoomPlanMemory *memory,
          GError **error)
{
  g_autoptr (LoomPlan) plan = loom_plan_new (program, devices, options, error);
  LoomPlanMemory m;

  if (plan == NULL)
    return FALSE;
  loom_plan_memory (plan, 0, &m);
  loom_plan_memory_join (memory, &m);
  return TRUE;
}

/* Measures one rank, and replaces the row if it needs more memory. */
static gboolean
measure (LoomTrainSpec *spec, gint64 batch, const ListingRanks *ranks, int rank, LoomDevices *devices,
         const LoomPlanOptions *options, Row *row, GError **error)
{
  g_autoptr (LoomStep) step = loom_step_new (spec, batch, TRUE, error);
  LoomPlanOptions own = *options;
  LoomPlanMemory memory = { 0 };
  gsize bytes[LOOM_N_OWNERS], total = 0;

  if (step == NULL)
    return FALSE;
  if (!listing_divide (step, spec, &ranks->mesh[rank], devices, options->device, error))
    return FALSE;
  own.mesh = &ranks->mesh[rank];
  if (!add_plan (step->program, devices, &own, &memory, error)
      || (step->update != NULL && !add_plan (step->update, devices, &own, &memory, error)))
    return FALSE;
  loom_plan_memory_sum (&memory, bytes);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    total += bytes[o];
  if (total <= row->total)
    return TRUE;
  *row = (Row){ .total = total };
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    row->bytes[o] = bytes[o];
  row->sent = (double)spec->accumulate * sent_by (step->program, own.mesh, &row->calls);
  row->calls *= (guint)spec->accumulate;
  if (step->update != NULL)
    row->sent += sent_by (step->update, own.mesh, &row->calls);
  return TRUE;
}

static void
print_row (const char *strategy, const Row *row, gboolean chosen, gboolean json)
{
  if (json)
    {
      LoomJson *line = command_event_new ("strategy");

      loom_json_string (line, "strategy", strategy);
      loom_json_bool (line, "chosen", chosen);
      loom_json_int (line, "memory", (gint64)row->total);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        loom_json_int (line, loom_owner_name ((LoomOwner)o), (gint64)row->bytes[o]);
      loom_json_fixed (line, "sent", row->sent, 0);
      loom_json_int (line, "calls", row->calls);
      command_event_print (line);
      return;
    }
  printf ("%c %-8s", chosen ? '*' : ' ', strategy);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    {
      g_autofree char *text = loom_bytes_to_string ((double)row->bytes[o]);

      printf (" %12s", text);
    }
  g_autofree char *total = loom_bytes_to_string ((double)row->total), *sent = loom_bytes_to_string (row->sent);
  printf (" %10s %10s in %u\n", total, sent, row->calls);
}

/* ---- a pipeline ----------------------------------------------------------------- */

static void
print_stage_nodes (const LoomStep *step, const LoomStages *stages, int stage, const LoomStageCost *cost, gboolean json)
{
  const char *first = NULL, *last = NULL;

  for (guint i = 0; i < loom_net_n_nodes (step->net); i++)
    {
      const LoomNetNode *node = loom_net_node (step->net, i);

      if (node->loop != G_MAXUINT || loom_net_is_dataset (step->net, i)
          || loom_stages_get (stages, node->path) != stage)
        continue;
      first = first != NULL ? first : node->path;
      last = node->path;
    }
  if (json)
    {
      LoomJson *line = command_event_new ("stage");

      loom_json_int (line, "stage", stage);
      loom_json_string (line, "first", first);
      loom_json_string (line, "last", last);
      loom_json_int (line, "nodes", cost->nodes);
      loom_json_fixed (line, "ms", cost->seconds * 1e3, 3);
      loom_json_begin_array (line, "paths");
      for (guint i = 0; i < loom_net_n_nodes (step->net); i++)
        if (!loom_net_is_dataset (step->net, i)
            && loom_stages_get (stages, loom_net_node (step->net, i)->path) == stage)
          loom_json_string (line, NULL, loom_net_node (step->net, i)->path);
      loom_json_end_array (line);
      command_event_print (line);
      return;
    }
  printf ("  %2d  %8.3f ms  %4u  %s … %s\n", stage, cost->seconds * 1e3, cost->nodes, first != NULL ? first : "",
          last != NULL ? last : "");
}

static void
print_bubble (const LoomTrainSpec *spec, int stages, int micros, gboolean json)
{
  static const char *const name[] = { "gpipe", "1f1b" };

  for (int kind = LOOM_PIPELINE_GPIPE; kind <= LOOM_PIPELINE_1F1B; kind++)
    {
      g_autoptr (GArray) schedule = loom_pipeline_schedule ((LoomPipelineKind)kind, stages, micros, TRUE);
      double bubble = loom_pipeline_bubble (schedule, stages);
      int kept = loom_pipeline_in_flight (schedule, 0);

      if (json)
        {
          LoomJson *line = command_event_new ("schedule");

          loom_json_string (line, "schedule", name[kind]);
          loom_json_bool (line, "chosen", spec->parallel.schedule == (LoomPipelineKind)kind);
          loom_json_int (line, "microbatches", micros);
          loom_json_fixed (line, "bubble", bubble, 6);
          loom_json_int (line, "in_flight", kept);
          command_event_print (line);
        }
      else
        printf ("%c %-6s %d micro-batches, the first stage keeps %d; bubble (K-1)/(M+K-1) = %d/%d = %.1f %%\n",
                spec->parallel.schedule == (LoomPipelineKind)kind ? '*' : ' ', name[kind], micros, kept, stages - 1,
                micros + stages - 1, bubble * 100);
    }
}

static void
print_stages (const LoomStep *step, const LoomStages *stages, int n, const LoomStageCost *costs, gboolean json)
{
  if (!json)
    printf ("stages, their times by the cost table, and nodes with weights or after them:\n");
  for (int s = 0; s < n; s++)
    print_stage_nodes (step, stages, s, &costs[s], json);
}

gboolean
listing_print_stages (LoomTrainSpec *spec, gint64 batch, int n, LoomDevices *devices, const char *device, gboolean json,
                      GError **error)
{
  g_autoptr (LoomStep) step = loom_step_new (spec, batch, TRUE, error);
  g_autofree LoomStageCost *costs = g_new0 (LoomStageCost, (gsize)n);
  g_autoptr (LoomStages) stages = step != NULL ? loom_stages_choose (step, n, devices, device, costs, error) : NULL;

  if (stages == NULL)
    return FALSE;
  print_stages (step, stages, n, costs, json);
  return TRUE;
}

static gboolean
print_pipeline (LoomTrainSpec *spec, gint64 batch, const ListingRanks *ranks, LoomDevices *devices,
                const LoomPlanOptions *options, gboolean json, GError **error)
{
  static const char *const name[] = { "gpipe", "1f1b" };
  g_autoptr (LoomStep) step = loom_step_new (spec, batch, TRUE, error);
  const LoomMesh *mesh = &ranks->mesh[0];
  const int n = mesh->size[LOOM_MESH_PIPELINE];
  g_autofree LoomStageCost *costs = g_new0 (LoomStageCost, (gsize)n);
  LoomPipelineKind chosen = spec->parallel.schedule;
  g_autoptr (LoomStages) stages = NULL;
  gboolean ok = TRUE;

  if (step == NULL)
    return FALSE;
  stages = loom_stages_choose (step, n, devices, options->device, costs, error);
  if (stages == NULL)
    return FALSE;
  if (!json)
    printf ("\n");
  print_stages (step, stages, n, costs, json);
  print_bubble (spec, n, loom_step_microbatches (spec, batch, mesh->size[LOOM_MESH_DATA]), json);
  if (!json)
    {
      if (ranks->ranks > n)
        printf ("\n%d replicas of each stage, each on %d rank%s\n", mesh->size[LOOM_MESH_DATA],
                mesh->size[LOOM_MESH_TENSOR], mesh->size[LOOM_MESH_TENSOR] > 1 ? "s that share its weights" : "");
      printf ("\nmemory of each rank of a stage, and bytes that it sends per step:\n%-10s", "");
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        printf (" %12s", loom_owner_name ((LoomOwner)o));
      printf (" %10s %10s\n", "together", "sent");
    }
  for (int kind = LOOM_PIPELINE_GPIPE; kind <= LOOM_PIPELINE_1F1B && ok; kind++)
    for (int s = 0; s < n && ok; s++)
      {
        g_autofree char *what = g_strdup_printf ("%s %d", name[kind], s);
        /* Of a stage's ranks the first has the largest and the last the smallest shards. */
        int first = s * mesh->size[LOOM_MESH_TENSOR],
            last = first + ranks->ranks - (n - 1) * mesh->size[LOOM_MESH_TENSOR] - 1;
        Row row = { 0 };

        spec->parallel.schedule = (LoomPipelineKind)kind;
        ok = measure (spec, batch, ranks, first, devices, options, &row, error)
             && (last == first || measure (spec, batch, ranks, last, devices, options, &row, error));
        if (ok)
          print_row (what, &row, chosen == (LoomPipelineKind)kind, json);
      }
  spec->parallel.schedule = chosen;
  return ok;
}

/* Measures a parameter server and one of its workers: the server has the optimiser state and answers all workers; a
 * worker pushes its accumulated gradients. */
static gboolean
measure_server (LoomTrainSpec *spec, gint64 batch, const ListingRanks *ranks, LoomDevices *devices,
                const LoomPlanOptions *options, Row *server, Row *trains, GError **error)
{
  g_autoptr (LoomStep) step = NULL;
  LoomPlanOptions own = *options;
  LoomPlanMemory memory[2] = { 0 };
  double gradients = 0, weights = 0;

  own.mesh = NULL;
  spec->gathers = TRUE;
  step = loom_step_new (spec, MAX (1, loom_comm_shard (batch, 0, ranks->ranks - 1).count), TRUE, error);
  spec->gathers = FALSE;
  if (step == NULL || !add_plan (step->update, devices, &own, &memory[0], error)
      || !add_plan (step->program, devices, &own, &memory[1], error))
    return FALSE;
  for (guint i = 0; i < loom_program_n_slots (step->program); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (step->program, i);
      LoomTensorDesc d = { .dtype = slot->dtype, .rank = slot->rank };

      memcpy (d.dim, slot->dim, (gsize)slot->rank * sizeof d.dim[0]);
      if (g_str_has_prefix (slot->name, LOOM_SLOT_ACCUMULATE))
        gradients += (double)loom_desc_bytes (&d);
      else if (slot->kind == LOOM_SLOT_PARAMETER)
        weights += (double)loom_desc_bytes (&d);
    }
  *server = (Row){ .sent = weights * (ranks->ranks - 1), .calls = (guint)ranks->ranks - 1 };
  *trains = (Row){ .sent = gradients, .calls = 1 };
  loom_plan_memory_sum (&memory[0], server->bytes);
  loom_plan_memory_sum (&memory[1], trains->bytes);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    {
      server->total += server->bytes[o];
      trains->total += trains->bytes[o];
    }
  return TRUE;
}

gboolean
listing_print_strategies (LoomTrainSpec *spec, gint64 batch, const ListingRanks *ranks, LoomDevices *devices,
                          const LoomPlanOptions *options, gboolean json, GError **error)
{
  static const char *const name[] = { "data", "zero1", "zero2", "zero3" };
  LoomShards chosen = spec->parallel.shards;
  gboolean ok = TRUE;

  if (spec->parallel.pipeline > 1)
    return print_pipeline (spec, batch, ranks, devices, options, json, error);
  const gboolean divides = spec->optimizer->emit != NULL;

  if (!json)
    {
      printf ("\nmemory of each of %d ranks, and bytes that it sends per step:\n%-10s", ranks->ranks, "");
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        printf (" %12s", loom_owner_name ((LoomOwner)o));
      printf (" %10s %10s\n", "together", "sent");
    }
  for (guint s = 0; s < (divides ? G_N_ELEMENTS (name) : 1) && ok; s++)
    {
      Row row = { 0 };

      spec->parallel.shards = (LoomShards)s;
      /* Shards differ by at most one sample or element: the first and the last rank have both kinds. */
      ok = measure (spec, batch, ranks, 0, devices, options, &row, error)
           && measure (spec, batch, ranks, ranks->ranks - 1, devices, options, &row, error);
      if (ok)
        print_row (name[s], &row, s == chosen && !spec->parallel.server, json);
    }
  spec->parallel.shards = chosen;
  if (ok && ranks->ranks > 1 && spec->optimizer->emit != NULL && !spec->optimizer->takes_no_gradients
      && spec->accumulate == 1 && spec->ema == 0)
    {
      Row server, trains;

      ok = measure_server (spec, batch, ranks, devices, options, &server, &trains, error);
      if (ok)
        {
          print_row ("server", &server, spec->parallel.server, json);
          print_row ("served", &trains, spec->parallel.server, json);
        }
    }
  return ok;
}
