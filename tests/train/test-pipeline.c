/* Pipelines: the schedules' slots; and steps that stages compute, as threads of this process, with the numbers of one
 * rank that has the whole net: example graphs in f64 on ref, within 1e-10 over some steps, with the same bits for both
 * schedules, also if stages synchronise after each slot, in an order in which no send waits forever. Each stage has
 * only its own weights, and 1F1B keeps fewer activations than GPipe. With GRADLOOM_TEST_DEVICE=cuda each stage has a
 * GPU, and they communicate by NCCL, in f32, in recorded steps. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/run/loom-exec.h"
#include "engine/train/loom-stages.h"
#include "tests/test-program.h"
#include "tests/train/read-outputs.h"

/* ---- schedules -------------------------------------------------------------------- */

/* Every pass occurs once, after its dependencies, and no stage runs two at a time. */
static void
check_schedule (LoomPipelineKind kind, int stages, int micros)
{
  g_autoptr (GArray) schedule = loom_pipeline_schedule (kind, stages, micros, TRUE);
  g_autofree int *slot = g_new (int, (gsize)(stages * 2 * micros));
  int last = -1;

  for (int i = 0; i < stages * 2 * micros; i++)
    slot[i] = -1;
  g_assert_cmpuint (schedule->len, ==, (guint)(stages * 2 * micros));
  for (guint i = 0; i < schedule->len; i++)
    {
      const LoomPipelineEvent *e = &g_array_index (schedule, LoomPipelineEvent, i);
      int *own = &slot[(e->stage * 2 + e->backward) * micros + e->micro];

      g_assert_cmpint (*own, ==, -1);
      g_assert_cmpint (e->slot, >=, last);
      *own = last = e->slot;
      if (!e->backward && e->stage > 0)
        g_assert_cmpint (e->slot, >, slot[((e->stage - 1) * 2) * micros + e->micro]);
      if (e->backward)
        g_assert_cmpint (e->slot, >,
                         e->stage + 1 < stages ? slot[((e->stage + 1) * 2 + 1) * micros + e->micro]
                                               : slot[(e->stage * 2) * micros + e->micro]);
    }
  for (int s = 0; s < stages; s++)
    {
      g_autofree int *of = g_new0 (int, 4 * (gsize)(micros + stages));

      for (int i = 0; i < 2 * micros; i++)
        g_assert_cmpint (of[slot[s * 2 * micros + i]]++, ==, 0);
      g_assert_cmpint (loom_pipeline_in_flight (schedule, s), ==,
                       kind == LOOM_PIPELINE_GPIPE ? micros : MIN (micros, stages - s));
    }
  g_assert_cmpfloat (fabs (loom_pipeline_bubble (schedule, stages) - (stages - 1.0) / (micros + stages - 1)), <, 1e-12);
}

static void
test_schedule (void)
{
  for (int stages = 1; stages <= 6; stages++)
    for (int micros = 1; micros <= 9; micros++)
      for (int kind = LOOM_PIPELINE_GPIPE; kind <= LOOM_PIPELINE_1F1B; kind++)
        check_schedule ((LoomPipelineKind)kind, stages, micros);
}

/* ---- steps --------------------------------------------------------------------------- */

#define MOST_STAGES 4

typedef struct
{
  const LoomProgram *whole;
  LoomComm *comm; /* NULL: undivided */
  LoomPipeline options;
  int steps;
  GPtrArray *feed;  /* LoomTensor of the whole batch, by input */
  GArray *loss;     /* double, all outputs of all steps */
  GPtrArray *end;   /* LoomTensor, by slot */
  GPtrArray *name;  /* of the slots */
  gsize parameters; /* bytes of them on this rank */
  gsize activations, arena;
  guint n_replays; /* of recorded steps */
  int ends_after;  /* number of steps after which this stage exits; 0: never */
  gboolean hangs;  /* it stays silent until the others have ended */
  char *error;     /* of a run that other stages have ended */
} Side;

static gboolean
on_card (void)
{
  return g_strcmp0 (g_getenv ("GRADLOOM_TEST_DEVICE"), "cuda") == 0;
}

/* (transfer full) */
static char *
device_of (const Side *side)
{
  return on_card () ? g_strdup_printf ("cuda:%d", side->options.stage) : g_strdup ("ref");
}

/* ---- recorded steps ------------------------------------------------------------------- */

static LoomStatus (*real_graph_launch) (LoomDevice *device, void *graph, LoomStream *stream, LoomMessage *message);
static GPrivate replays;

static LoomStatus
counting_graph_launch (LoomDevice *device, void *graph, LoomStream *stream, LoomMessage *message)
{
  g_private_set (&replays, GUINT_TO_POINTER (GPOINTER_TO_UINT (g_private_get (&replays)) + 1));
  return real_graph_launch (device, graph, stream, message);
}

/* The device's vtable, which counts for this thread. */
static void
count_replays (LoomPlanDevice *d, LoomBackend *counting)
{
  *counting = *d->backend;
  real_graph_launch = counting->graph_launch;
  counting->graph_launch = counting_graph_launch;
  d->backend = counting;
  g_private_set (&replays, NULL);
}

/* ---- sides ---------------------------------------------------------------------------- */

static void
side_init (Side *side)
{
  side->loss = g_array_new (FALSE, FALSE, sizeof (double));
  side->end = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  side->name = g_ptr_array_new_with_free_func (g_free);
}

static void
side_clear (Side *side)
{
  g_array_unref (side->loss);
  g_ptr_array_unref (side->end);
  g_ptr_array_unref (side->name);
  g_clear_pointer (&side->options.stages, loom_stages_free);
  g_free (side->error);
}

static gpointer
run_side (gpointer data)
{
  Side *side = data;
  g_autoptr (GError) error = NULL;
  g_autofree char *device = device_of (side);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  LoomPlanDevice *d = loom_devices_get (devices, device, &error);
  const LoomBackend *backend = d != NULL ? d->backend : NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, device, 3);
  LoomPlanOptions options = { .device = device };
  LoomBackend counting;
  LoomMesh mesh = { .all = NULL };
  g_autoptr (LoomProgram) p = NULL;
  g_autoptr (LoomExec) exec = NULL;
  LoomPlanMemory memory;
  LoomPlan *plan;

  g_assert_no_error (error);
  if (on_card ())
    count_replays (d, &counting);
  if (side->comm != NULL)
    {
      mesh = loom_mesh_open (side->comm, (int[LOOM_MESH_AXES]){ 1, side->comm->size, 1 });
      options.mesh = &mesh;
      loom_state_set_mesh (state, &mesh);
    }
  p = side->comm != NULL ? loom_program_pipeline (side->whole, &side->options, &error)
                         : loom_program_ref ((LoomProgram *)side->whole);
  g_assert_no_error (error);
  plan = loom_plan_new (p, devices, &options, &error);
  g_assert_no_error (error);
  loom_plan_memory (plan, 0, &memory);
  side->parameters = memory.state[LOOM_OWNER_PARAMETERS];
  side->activations = memory.peak[LOOM_OWNER_ACTIVATIONS];
  side->arena = memory.arena;
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < side->feed->len; i++)
    loom_exec_feed (exec, i, ((LoomTensor *)side->feed->pdata[i])->data);
  for (int s = 0; s < side->steps; s++)
    {
      if (side->ends_after == 0 || s < side->ends_after)
        loom_exec_run (exec, &error);
      else if (!side->hangs)
        side->comm->abort (side->comm, "stage 1 has had enough");
      if (error != NULL || (side->ends_after > 0 && s >= side->ends_after))
        {
          side->error = error != NULL ? g_strdup (error->message) : NULL;
          if (error != NULL)
            side->comm->abort (side->comm, error->message);
          for (int i = 0; i < 1000 && side->ends_after > 0 && !side->comm->has_ended (side->comm); i++)
            g_usleep (10000);
          break;
        }
      read_outputs (side->loss, exec, p);
    }
  side->n_replays = GPOINTER_TO_UINT (g_private_get (&replays));
  for (guint i = 0; i < loom_state_n_slots (state) && side->error == NULL && side->ends_after == 0; i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_ptr_array_add (side->end, loom_state_get (state, name, &error));
      g_assert_no_error (error);
      g_ptr_array_add (side->name, g_strdup (name));
    }
  g_clear_pointer (&exec, loom_exec_free);
  d->backend = backend;
  return NULL;
}

static GPtrArray *
feed_for (const LoomProgram *p)
{
  GPtrArray *feed = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomTensorDesc *d = &loom_value_info (p, loom_program_get_input (p, i)->value)->desc;
      LoomTensor *t = loom_tensor_new (d->dtype, d->rank, d->dim, NULL);

      for (gint64 k = 0; k < t->count; k++)
        loom_tensor_set (t, k,
                         loom_dtype_is_float (d->dtype) ? (double)(k * 37 % 101 - 50) / 64 : (double)(k * 5 % 7 % 2));
      g_ptr_array_add (feed, t);
    }
  return feed;
}

static void
compare (const Side *a, const Side *b, double tolerance, const char *what)
{
  g_assert_cmpuint (a->loss->len, ==, b->loss->len);
  for (guint i = 0; i < a->loss->len; i++)
    {
      double x = g_array_index (a->loss, double, i), y = g_array_index (b->loss, double, i);

      if (!(fabs (x - y) <= tolerance * MAX (1, fabs (x))))
        g_error ("%s: output %u is %.17g, and %.17g in one", what, i, y, x);
    }
  g_assert_cmpuint (a->end->len, ==, b->end->len);
  for (guint i = 0; i < a->end->len; i++)
    {
      const LoomTensor *x = a->end->pdata[i], *y = b->end->pdata[i];
      double norm = 0, away = 0;

      g_assert_cmpint (x->count, ==, y->count);
      for (gint64 k = 0; k < x->count; k++)
        {
          double u = loom_tensor_get (x, k), v = loom_tensor_get (y, k);

          norm += u * u;
          away += (u - v) * (u - v);
        }
      if (!(sqrt (away) <= tolerance * (1e-3 + sqrt (norm))))
        g_error ("%s: %s is %g away, its norm %g", what, (const char *)a->name->pdata[i], sqrt (away), sqrt (norm));
    }
}

static void
run_stages (Side *side, int stages, const Side *like, const LoomStep *step, LoomPipelineKind kind, int micros,
            gboolean meet)
{
  LoomComm *comm[MOST_STAGES];
  GThread *thread[MOST_STAGES];
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (stages, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < stages; k++)
    {
      g_autoptr (LoomDevices) devices = loom_devices_new (1);
      g_autoptr (GError) error = NULL;

      side[k] = *like;
      side[k].comm = comm[k];
      side[k].options.kind = kind;
      side[k].options.micros = micros;
      side[k].options.stage = k;
      /* One that is to be lost: stage 1. */
      side[k].ends_after = like->ends_after != 0 && k == 1 ? 2 : 0;
      if (like->hangs)
        comm[k]->timeout = 1;
      g_autofree char *device = device_of (&side[k]);

      side[k].options.stages = loom_stages_choose (step, stages, devices, device, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (side[k].options.stages->meet, ==, on_card ());
      side[k].options.stages->meet = meet;
      side_init (&side[k]);
      thread[k] = g_thread_new ("rank", run_side, &side[k]);
    }
  for (int k = 0; k < stages; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < stages; k++)
    comm[k]->free (comm[k]);
}

/* A send waits for its receive, and a collective for all ranks: runs the exchanges of each stage in their order until
 * all are done. */
static void
check_order (const Side *side, int stages, const char *what)
{
  g_autoptr (GPtrArray) program = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_program_unref);
  guint at[MOST_STAGES] = { 0 };
  gboolean moved = TRUE;

  for (int k = 0; k < stages; k++)
    g_ptr_array_add (program, loom_program_pipeline (side[k].whole, &side[k].options, NULL));
  while (moved)
    {
      const LoomInstr *next[MOST_STAGES] = { NULL };
      guint together = 0;

      moved = FALSE;
      for (int k = 0; k < stages; k++)
        {
          const LoomProgram *p = program->pdata[k];

          while (at[k] < loom_program_n_instrs (p)
                 && !(loom_program_instr (p, at[k])->prim->flags & LOOM_PRIM_COLLECTIVE))
            at[k]++;
          next[k] = at[k] < loom_program_n_instrs (p) ? loom_program_instr (p, at[k]) : NULL;
          together += next[k] != NULL && !g_str_equal (next[k]->prim->name, "send")
                      && !g_str_equal (next[k]->prim->name, "receive");
        }
      for (int k = 0; k < stages; k++)
        {
          const LoomTransferAttrs *send = next[k] != NULL ? next[k]->attrs : NULL, *receive;

          if (send == NULL || (together < (guint)stages && !g_str_equal (next[k]->prim->name, "send")))
            continue;
          if (together == (guint)stages)
            {
              g_assert_cmpstr (next[k]->prim->name, ==, next[0]->prim->name);
              at[k]++;
              moved = TRUE;
              continue;
            }
          receive = next[send->rank] != NULL ? next[send->rank]->attrs : NULL;
          if (receive == NULL || !g_str_equal (next[send->rank]->prim->name, "receive") || receive->rank != k)
            continue;
          /* NCCL has no tags: messages match in order. */
          g_assert_cmpint (receive->tag, ==, send->tag);
          g_assert_cmpint (receive->exchange_slot, ==, send->exchange_slot);
          at[k]++;
          at[send->rank]++;
          next[send->rank] = NULL;
          moved = TRUE;
        }
    }
  for (int k = 0; k < stages; k++)
    if (at[k] < loom_program_n_instrs (program->pdata[k]))
      g_error ("%s: stage %d waits for ever in “%s”", what, k,
               loom_program_instr (program->pdata[k], at[k])->prim->name);
}

static void
check_meetings (int stages, int micros, const Side *truth, const Side *like, const LoomStep *step,
                LoomPipelineKind kind, const char *what)
{
  Side side[MOST_STAGES] = { 0 };

  run_stages (side, stages, truth, step, kind, micros, TRUE);
  check_order (side, stages, what);
  for (int k = 0; k < stages; k++)
    {
      compare (&like[k], &side[k], 0, what);
      side_clear (&side[k]);
    }
}

static void
check_stages (int stages, int micros, const Side *truth, const LoomStep *step, const char *path)
{
  Side first[MOST_STAGES] = { 0 };

  for (int kind = LOOM_PIPELINE_GPIPE; kind <= LOOM_PIPELINE_1F1B; kind++)
    {
      Side side[MOST_STAGES] = { 0 };
      g_autofree char *what
          = g_strdup_printf ("%s, %d stages, %d micro-batches, schedule %d", path, stages, micros, kind);
      gsize parameters = 0;

      run_stages (side, stages, truth, step, (LoomPipelineKind)kind, micros, FALSE);
      check_meetings (stages, micros, truth, side, step, (LoomPipelineKind)kind, what);
      for (int k = 0; k < stages; k++)
        {
          compare (truth, &side[k], 1e-10, what);
          compare (&side[0], &side[k], 0, what);
          parameters += side[k].parameters;
          /* Each has a part. */
          g_assert_cmpuint (side[k].parameters, <, truth->parameters);
        }
      /* Slots begin at multiples of 64 bytes. */
      g_assert_cmpuint (parameters, <=, truth->parameters + (gsize)stages * 64 * truth->end->len);
      for (int k = 0; k < stages && kind == LOOM_PIPELINE_1F1B; k++)
        {
          compare (&first[k], &side[k], 0, what);
          g_test_message ("%s: stage %d needs %zu bytes of activations in an arena of %zu, GPipe %zu in %zu", what, k,
                          side[k].activations, side[k].arena, first[k].activations, first[k].arena);
          if (micros > stages)
            g_assert_cmpuint (side[k].arena, <=, first[k].arena);
          if (micros > 2 * stages && k == stages - 1)
            g_assert_cmpuint (side[k].arena, <, first[k].arena);
        }
      for (int k = 0; k < stages; k++)
        if (kind == LOOM_PIPELINE_GPIPE)
          first[k] = side[k];
        else
          side_clear (&side[k]);
    }
  for (int k = 0; k < stages; k++)
    side_clear (&first[k]);
}

typedef struct
{
  const char *path;
  int samples, steps, stages, micros;
} Case;

/* A case's step, and the run of one rank with the whole net. */
typedef struct
{
  LoomGraph *graph;
  LoomNet *net;
  LoomTrainSpec *spec;
  LoomStep *step;
  GPtrArray *feed;
  Side truth;
} Whole;

static void
whole_init (Whole *self, const Case *c)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", c->path, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;

  *self = (Whole){ .truth = { .options = { .samples = c->samples }, .steps = c->steps } };
  self->graph = loom_graph_read_file (path, faults, &error);
  g_assert_no_error (error);
  self->net = loom_net_new (self->graph, NULL, faults);
  self->spec = loom_train_spec_new (self->graph, self->net, faults);
  g_assert_nonnull (self->spec);
  self->spec->precision = on_card () ? LOOM_F32 : LOOM_F64;
  self->step = loom_step_new (self->spec, c->samples, TRUE, &error);
  g_assert_no_error (error);
  self->feed = feed_for (self->step->program);
  self->truth.whole = self->step->program;
  self->truth.feed = self->feed;
  side_init (&self->truth);
  run_side (&self->truth);
}

static void
whole_clear (Whole *self)
{
  side_clear (&self->truth);
  g_ptr_array_unref (self->feed);
  loom_step_free (self->step);
  loom_train_spec_free (self->spec);
  loom_net_free (self->net);
  loom_graph_unref (self->graph);
}

static void
test_graph (gconstpointer data)
{
  const Case *c = data;
  Whole whole;

  whole_init (&whole, c);
  for (int stages = 2; stages <= c->stages; stages++)
    check_stages (stages, c->micros, &whole.truth, whole.step, c->path);
  whole_clear (&whole);
}

/* ---- on GPUs --------------------------------------------------------------------------- */

static const Case on_cards = { "lessons/spirals.xml", 13, 5, 3, 7 };

/* Steps are recorded, including communication between stages, and have the bits of launched ones. */
static void
test_card (void)
{
  Whole whole;

  whole_init (&whole, &on_cards);
  for (int stages = 2; stages <= on_cards.stages; stages++)
    for (int kind = LOOM_PIPELINE_GPIPE; kind <= LOOM_PIPELINE_1F1B; kind++)
      {
        Side recorded[MOST_STAGES] = { 0 }, launched[MOST_STAGES] = { 0 };

        run_stages (recorded, stages, &whole.truth, whole.step, (LoomPipelineKind)kind, on_cards.micros, TRUE);
        g_setenv ("GRADLOOM_CUDA_GRAPHS", "0", TRUE);
        run_stages (launched, stages, &whole.truth, whole.step, (LoomPipelineKind)kind, on_cards.micros, TRUE);
        g_unsetenv ("GRADLOOM_CUDA_GRAPHS");
        for (int k = 0; k < stages; k++)
          {
            compare (&whole.truth, &recorded[k], 2e-5, "on GPUs");
            compare (&recorded[k], &launched[k], 0, "launched");
            g_assert_cmpuint (recorded[k].n_replays, ==, (guint)on_cards.steps - 1);
            g_assert_cmpuint (launched[k].n_replays, ==, 0);
            side_clear (&recorded[k]);
            side_clear (&launched[k]);
          }
      }
  whole_clear (&whole);
}

/* Stage 1 exits after two steps, or hangs: the other stage, whose send is not received, ends with an error. */
static void
test_gone (gconstpointer hangs)
{
  Whole whole;
  Side side[MOST_STAGES] = { 0 };

  whole_init (&whole, &on_cards);
  whole.truth.ends_after = -1; /* only of stage 1: see run_stages() */
  whole.truth.hangs = hangs != NULL;
  run_stages (side, 2, &whole.truth, whole.step, LOOM_PIPELINE_1F1B, on_cards.micros, TRUE);
  g_assert_nonnull (side[0].error);
  if (strstr (side[0].error, hangs != NULL ? "has not ended within 1 seconds" : "stage 1 has had enough") == NULL)
    g_error ("%s", side[0].error);
  for (int k = 0; k < 2; k++)
    side_clear (&side[k]);
  whole.truth.ends_after = 0;
  whole_clear (&whole);
}

static const Case cases[] = {
  { "lessons/spirals.xml", 13, 20, 3, 7 },
  { "lessons/spirals.xml", 1, 5, 3, 4 }, /* a batch of one sample has one micro-batch */
  { "lessons/spirals.xml", 2, 5, 2, 1 }, /* as any may have */
  { "lessons/self-attention.xml", 7, 5, 2, 3 },
  { "models/adding-lstm.xml", 5, 2, 2, 2 },
};

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  if (on_card ())
    {
      g_test_add_func ("/pipeline/card", test_card);
      g_test_add_data_func ("/pipeline/card/lost", NULL, test_gone);
      g_test_add_data_func ("/pipeline/card/hangs", "hangs", test_gone);
      return g_test_run ();
    }
  g_test_add_func ("/pipeline/schedule", test_schedule);
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      g_autofree char *name = g_strdup_printf ("/pipeline/%s/%d", cases[c].path, cases[c].samples);

      g_test_add_data_func (name, &cases[c], test_graph);
    }
  return g_test_run ();
}
