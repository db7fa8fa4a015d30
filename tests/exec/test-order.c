/* Random programs on random lanes: the planner's order of pairs follows from lanes and events; values share bytes only
 * if one is dead before the other begins; and instructions that run in any order that lanes and events allow have the
 * bits of the schedule's order, over poisoned memory. Every second program is on two devices that copy without the
 * host. GRADLOOM_GRAPH_SEEDS="400" sets the number of programs. */
#include <string.h>

#include "engine/plan/plan-private.h"
#include "tests/exec/graph-case.h"
#include "tests/exec/place-nodes.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"

#define DEFAULT_SEEDS 24
#define ORDERS        3 /* besides the schedule's */
#define DEVICES       2
#define BEGINNING     (-1)
#define END           G_MAXINT

static LoomDevices *devices;

typedef struct
{
  Case *c;
  PlanGraph *w;
  GRand *rand;
  guint n;               /* instructions */
  gboolean *comes_after; /* n × n: the first is after the second */
} Lanes;

static PlanNode *
at (const Lanes *l, guint i)
{
  return g_ptr_array_index (l->w->schedule, i);
}

static gboolean
is_copy (const PlanNode *instr)
{
  return instr->prim == NULL;
}

/* The lane of an instruction: a copy is on its source's. */
static int
lane_device (const Lanes *l, const PlanNode *instr)
{
  return is_copy (instr) ? graph_value (l->w, graph_root (l->w, node_in (instr, 0)))->device : instr->device;
}

static gboolean
on_one_lane (const Lanes *l, guint i, guint j)
{
  return at (l, i)->stream == at (l, j)->stream && lane_device (l, at (l, i)) == lane_device (l, at (l, j));
}

/* ---- lanes and events ------------------------------------------------------- */

static void
wait_for (const Lanes *l, guint i, guint other)
{
  if (!on_one_lane (l, i, other) && !at (l, other)->setup)
    node_wait_for (at (l, i), at (l, other));
}

/* TRUE if a result overwrites operand k, which no later instruction may read. */
static gboolean
updates_operand (const PlanNode *instr, guint k)
{
  for (guint o = 0; instr->prim != NULL && instr->prim->updates != NULL && o < instr->out->len; o++)
    if (node_out (instr, o) != 0 && instr->prim->updates (instr->attrs, o) == k)
      return TRUE;
  return FALSE;
}

/* Random streams, with events for operands, and for values that are updated in place. */
static void
scatter (PlanGraph *w, const PlanPass *pass, gboolean ran, gpointer data)
{
  Lanes *l = data;

  if (!g_str_equal (pass->name, "overlap"))
    return;
  l->n = w->schedule->len;
  for (guint i = 0; i < l->n; i++)
    if (is_copy (at (l, i)))
      at (l, i)->stream = PLAN_STREAM_SEND;
    else if (!at (l, i)->setup)
      at (l, i)->stream = g_rand_int_range (l->rand, 0, PLAN_N_STREAMS);
  for (guint i = 0; i < l->n; i++)
    for (guint k = 0; k < at (l, i)->in->len; k++)
      for (guint j = 0; j < i && node_in (at (l, i), k) != 0; j++)
        {
          const guint root = graph_root (w, node_in (at (l, i), k));
          gboolean comes_first = FALSE;

          for (guint o = 0; o < at (l, j)->out->len; o++)
            comes_first |= node_out (at (l, j), o) != 0 && graph_root (w, node_out (at (l, j), o)) == root;
          for (guint o = 0; o < at (l, j)->in->len && updates_operand (at (l, i), k); o++)
            comes_first |= node_in (at (l, j), o) != 0 && graph_root (w, node_in (at (l, j), o)) == root;
          if (comes_first)
            wait_for (l, i, j);
        }
}

/* A copy follows all earlier work of both devices. */
static gboolean
is_copied_after (const Lanes *l, guint i, guint j)
{
  const PlanNode *copy = at (l, i), *other = at (l, j);

  return is_copy (copy) && !is_copy (other) && other->stream == PLAN_STREAM_COMPUTE
         && (other->device == copy->device || other->device == lane_device (l, copy));
}

/* By following every lane and every event. */
static void
find_after (Lanes *l)
{
  l->comes_after = g_new0 (gboolean, l->n * l->n + 1);
  for (guint i = 0; i < l->n; i++)
    for (guint j = i; j-- > 0;)
      {
        gboolean direct = at (l, j)->setup || on_one_lane (l, i, j) || is_copied_after (l, i, j)
                          || (at (l, i)->after != NULL && g_ptr_array_find (at (l, i)->after, at (l, j), NULL));

        if (!direct)
          continue;
        l->comes_after[i * l->n + j] = TRUE;
        for (guint m = 0; m < j; m++)
          l->comes_after[i * l->n + m] |= l->comes_after[j * l->n + m];
      }
}

static void
check_order (Lanes *l)
{
  for (guint i = 0; i < l->n; i++)
    for (guint j = 0; j < l->n; j++)
      {
        PlanSpan span = { { 0 }, { 0 } };
        gboolean is_over;

        /* Memory belongs to one device: the accesses to it there, and their successors there. */
        if (at (l, i)->setup || at (l, j)->setup || i == j || lane_device (l, at (l, i)) != lane_device (l, at (l, j)))
          continue;
        plan_span_touch (&span, l->w->order, plan_order_reads_at (l->w->order, j));
        is_over = plan_span_is_over (&span, l->w->order, plan_order_reads_at (l->w->order, i), FALSE);
        if (is_over != l->comes_after[i * l->n + j])
          case_complain (l->c, "instruction %u is %s %u, which the planner does not know", i,
                         is_over ? "not after" : "after", j);
      }
}

/* ---- memory ----------------------------------------------------------------- */

/* Bytes of the arena and their accesses. */
typedef struct
{
  guint value; /* root; 0: scratch */
  int device;
  gsize offset, bytes;
  GArray *touches; /* int: instructions, BEGINNING, END */
} Piece;

static void
touch (Piece *piece, int instr)
{
  g_array_append_val (piece->touches, instr);
}

static void
clear_piece (Piece *piece)
{
  g_array_unref (piece->touches);
}

static GArray *
find_pieces (const Lanes *l)
{
  PlanGraph *w = l->w;
  GArray *pieces = g_array_new (FALSE, TRUE, sizeof (Piece));

  g_array_set_clear_func (pieces, (GDestroyNotify)clear_piece);
  for (guint v = 1; v < w->values->len; v++)
    {
      const PlanValue *value = graph_value (w, v);
      const PlanStorage *s
          = value->storage >= 0 ? &g_array_index (w->storages, PlanStorage, (guint)value->storage) : NULL;
      Piece piece = { .value = v, .device = value->device, .touches = g_array_new (FALSE, FALSE, sizeof (int)) };
      gboolean stays = FALSE;

      if (value->alias != 0 || s == NULL || !graph_in_arena (w, s))
        {
          clear_piece (&piece);
          continue;
        }
      piece.offset = s->offset;
      piece.bytes = loom_desc_bytes (&value->desc);
      if (value->input >= 0)
        touch (&piece, BEGINNING);
      for (guint i = 0; i < l->n; i++)
        {
          for (guint k = 0; k < at (l, i)->in->len; k++)
            if (node_in (at (l, i), k) != 0 && graph_root (w, node_in (at (l, i), k)) == v)
              touch (&piece, (int)i);
          for (guint o = 0; o < at (l, i)->out->len; o++)
            if (node_out (at (l, i), o) == v)
              touch (&piece, (int)i);
        }
      for (guint u = 1; u < w->values->len; u++)
        stays |= graph_root (w, u) == v && (graph_value (w, u)->is_output || graph_value (w, u)->commit >= 0);
      if (stays)
        touch (&piece, END);
      g_array_append_val (pieces, piece);
    }
  for (guint i = 0; i < l->n; i++)
    if (at (l, i)->kernel != NULL && at (l, i)->kernel->scratch_bytes > 0 && !at (l, i)->setup)
      {
        Piece piece = { 0, at (l, i)->device, at (l, i)->scratch_offset, at (l, i)->kernel->scratch_bytes,
                        g_array_new (FALSE, FALSE, sizeof (int)) };

        touch (&piece, (int)i);
        g_array_append_val (pieces, piece);
      }
  return pieces;
}

/* The instruction may read a and write b in the same memory. */
static gboolean
works_in_place (const Lanes *l, const PlanNode *instr, guint a, guint b)
{
  for (guint o = 0; o < instr->out->len && instr->kernel != NULL; o++)
    for (guint k = 0; k < instr->in->len && node_out (instr, o) == b && b != 0; k++)
      if (node_in (instr, k) != 0 && graph_root (l->w, node_in (instr, k)) == a
          && (updates_operand (instr, k)
              || (o < LOOM_EW_MAX_OUT && k < 32 && (instr->kernel->inplace[o] & (1u << k)) != 0)))
        return TRUE;
  return FALSE;
}

static gboolean
precedes (const Lanes *l, const Piece *a, const Piece *b)
{
  for (guint i = 0; i < a->touches->len; i++)
    for (guint j = 0; j < b->touches->len; j++)
      {
        int x = g_array_index (a->touches, int, i), y = g_array_index (b->touches, int, j);

        if (x == END || y == BEGINNING)
          return FALSE;
        if (x == BEGINNING || y == END || l->comes_after[(guint)y * l->n + (guint)x])
          continue;
        if (x != y || !works_in_place (l, at (l, (guint)x), a->value, b->value))
          return FALSE;
      }
  return TRUE;
}

static void
check_memory (Lanes *l, guint *n_shared)
{
  g_autoptr (GArray) pieces = find_pieces (l);
  const GArray *storages = l->w->storages;

  /* An execution in the schedule's order may share memory that is separate there. */
  for (guint i = 0; i < storages->len; i++)
    for (guint j = 0; j < i; j++)
      {
        const PlanStorage *a = &g_array_index (storages, PlanStorage, i),
                          *b = &g_array_index (storages, PlanStorage, j);

        if (a->device == b->device && (a->last < b->first || b->last < a->first)
            && !plan_spans_are_disjoint (&a->span, &b->span))
          case_complain (l->c, "storages %u and %u are apart in the schedule, but not in the order of lanes", i, j);
      }

  for (guint i = 0; i < pieces->len; i++)
    for (guint j = 0; j < i; j++)
      {
        const Piece *a = &g_array_index (pieces, Piece, i), *b = &g_array_index (pieces, Piece, j);

        if (a->device != b->device || a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes)
          continue;
        *n_shared += 1;
        if (!precedes (l, a, b) && !precedes (l, b, a))
          case_complain (l->c, "values %u and %u share bytes, and nothing orders all of the one before the other",
                         a->value, b->value);
      }
}

/* A value that replaces a slot's before the step ends is written after all readers of the old one. */
static void
check_slots (Lanes *l)
{
  PlanGraph *w = l->w;

  for (guint v = 1; v < w->values->len; v++)
    {
      const PlanValue *value = graph_value (w, v);
      guint old, writer;

      if (value->commit < 0 || value->producer == NULL
          || g_array_index (w->storages, PlanStorage, (guint)value->storage).slot != value->commit)
        continue;
      old = loom_program_get_slot (w->program, (guint)value->commit)->read;
      g_assert_true (g_ptr_array_find (w->schedule, value->producer, &writer));
      for (guint i = 0; i < l->n; i++)
        for (guint k = 0; k < at (l, i)->in->len; k++)
          if (old != 0 && node_in (at (l, i), k) != 0 && graph_root (w, node_in (at (l, i), k)) == graph_root (w, old)
              && !l->comes_after[writer * l->n + i]
              && (i != writer || !works_in_place (l, at (l, i), graph_root (w, old), v)))
            case_complain (l->c, "the old value of slot %d is read by %u, and %u may be before that", value->commit, i,
                           writer);
    }
}

/* ---- any order ----------------------------------------------------------------- */

typedef struct
{
  Lanes *l;
  LoomState *state;
  GPtrArray *inputs; /* LoomTensor */
  char *arena[DEVICES], *once[DEVICES];
} Memory;

static void *
address_of (const Memory *m, guint v)
{
  PlanGraph *w = m->l->w;
  const PlanStorage *s;

  if (v == 0 || graph_value (w, graph_root (w, v))->storage < 0)
    return NULL;
  s = &g_array_index (w->storages, PlanStorage, (guint)graph_value (w, graph_root (w, v))->storage);
  if (s->slot >= 0)
    return loom_state_address (
        m->state, (guint)loom_state_find (m->state, loom_program_get_slot (w->program, (guint)s->slot)->name));
  if (s->input >= 0 && !graph_in_arena (w, s))
    return ((LoomTensor *)m->inputs->pdata[s->input])->data;
  return (s->once ? m->once : m->arena)[s->device] + s->offset;
}

static LoomStatus
run_instr (const Memory *m, guint i)
{
  const PlanNode *instr = at (m->l, i);
  g_autoptr (GPtrArray) buffers = g_ptr_array_new ();
  LoomKernel *kernel = instr->kernel;
  LoomMessage message;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = 0; k < instr->in->len; k++)
    g_ptr_array_add (buffers, address_of (m, node_in (instr, k)));
  for (guint o = 0; o < instr->out->len; o++)
    g_ptr_array_add (buffers, address_of (m, node_out (instr, o)));
  if (kernel == NULL)
    {
      memcpy (buffers->pdata[1], buffers->pdata[0],
              loom_desc_bytes (&graph_value (m->l->w, node_out (instr, 0))->desc));
      return LOOM_STATUS_OK;
    }
  g_ptr_array_add (buffers, kernel->scratch_bytes > 0 ? m->arena[instr->device] + instr->scratch_offset : NULL);
  if (kernel->bind != NULL)
    status = kernel->bind (kernel, buffers->pdata, &message);
  return status != LOOM_STATUS_OK ? status : kernel->run (kernel, NULL, buffers->pdata, &message);
}

static gboolean
may_run (const Lanes *l, const gboolean *done, guint i)
{
  for (guint j = 0; j < l->n; j++)
    if (l->comes_after[i * l->n + j] && !done[j])
      return FALSE;
  return !done[i];
}

/* The next of those that may run: the first, or one drawn at random. */
static guint
choose (const Lanes *l, const gboolean *done, gboolean at_random)
{
  guint chosen = l->n, n = 0;

  for (guint i = 0; i < l->n; i++)
    if (may_run (l, done, i) && (n == 0 || (at_random && g_rand_int_range (l->rand, 0, (int)n + 1) == 0)))
      {
        chosen = i;
        n++;
      }
  return chosen;
}

/* All outputs and slots after a step; NULL if its numbers are a fault. */
static GBytes *
run (Lanes *l, gboolean at_random)
{
  PlanGraph *w = l->w;
  const guint n_inputs = loom_program_n_inputs (w->program);
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", l->c->seed);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autofree gboolean *done = g_new0 (gboolean, l->n + 1);
  g_autoptr (GByteArray) all = g_byte_array_new ();
  gsize once[DEVICES] = { 0 };
  Memory m = { .l = l, .state = state, .inputs = inputs };
  LoomStatus status = LOOM_STATUS_OK;

  g_assert_true (loom_state_add_slots (state, w->program, NULL));
  for (guint i = 0; i < w->storages->len; i++)
    if (g_array_index (w->storages, PlanStorage, i).once)
      once[g_array_index (w->storages, PlanStorage, i).device] += g_array_index (w->storages, PlanStorage, i).bytes;
  for (guint d = 0; d < w->plan_devices->len; d++)
    {
      m.arena[d] = g_aligned_alloc (1, graph_arena_bytes (w, d) + 64, 64);
      m.once[d] = g_aligned_alloc (1, once[d] + 64, 64);
      memset (m.arena[d], 0xff, graph_arena_bytes (w, d));
    }
  for (guint i = 0; i < n_inputs; i++)
    {
      const LoomProgramInput *input = loom_program_get_input (w->program, i);
      const LoomTensorDesc *d = &loom_value_info (w->program, input->value)->desc;
      LoomTensor *t = loom_tensor_new (d->dtype, d->rank, d->dim, NULL);

      random_graph_fill (l->c->source, input->name, t);
      g_ptr_array_add (inputs, t);
      if (graph_is_used (w, input->value) && g_array_index (w->input_copied, gboolean, i))
        memcpy (address_of (&m, input->value), t->data, t->bytes);
    }
  for (guint i = 0; i < l->n && status == LOOM_STATUS_OK; i++)
    {
      guint next = choose (l, done, at_random);

      status = run_instr (&m, next);
      done[next] = TRUE;
    }
  for (guint v = 1; v < w->values->len && status == LOOM_STATUS_OK; v++)
    {
      const PlanValue *value = graph_value (w, v);
      guint slot;

      if (value->commit < 0)
        continue;
      slot = (guint)loom_state_find (state, loom_program_get_slot (w->program, (guint)value->commit)->name);
      if (address_of (&m, v) != loom_state_address (state, slot))
        memcpy (loom_state_address (state, slot), address_of (&m, v), loom_desc_bytes (&value->desc));
    }
  for (guint o = 0; o < w->output_value->len && status == LOOM_STATUS_OK; o++)
    {
      guint v = g_array_index (w->output_value, guint, o);

      g_byte_array_append (all, address_of (&m, v), (guint)loom_desc_bytes (&graph_value (w, v)->desc));
    }
  for (guint i = 0; i < loom_state_n_slots (state) && status == LOOM_STATUS_OK; i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_autoptr (LoomTensor) t = loom_state_get (state, name, NULL);
      g_byte_array_append (all, t->data, (guint)t->bytes);
    }
  for (guint d = 0; d < DEVICES; d++)
    {
      g_aligned_free (m.arena[d]);
      g_aligned_free (m.once[d]);
    }
  return status == LOOM_STATUS_OK ? g_byte_array_free_to_bytes (g_steal_pointer (&all)) : NULL;
}

static void
check_runs (Lanes *l, guint *n_ran)
{
  g_autoptr (GBytes) in_turn = run (l, FALSE);

  *n_ran += in_turn != NULL;
  for (guint k = 0; in_turn != NULL && k < ORDERS; k++)
    {
      g_autoptr (GBytes) permuted = run (l, TRUE);

      if (permuted == NULL || !g_bytes_equal (in_turn, permuted))
        case_complain (l->c, "another order of its lanes gives other bits");
    }
}

/* ---- seeds -------------------------------------------------------------------- */

/* Numbers that a step changes, and that something else reads as they were. */
static void
add_counters (LoomProgram *p)
{
  for (int i = 0; i < 4; i++)
    {
      g_autofree char *name = g_strdup_printf ("counter%d", i), *seen = g_strdup_printf ("seen%d", i);
      LoomValue count = loom_program_scalar (p, name, i + 1);

      loom_program_output (p, seen, loom_unary (p, LOOM_SCALAR_SQRT, count));
      loom_program_commit (p, loom_program_find_slot (p, name),
                           loom_binary (p, LOOM_SCALAR_ADD, count, loom_const (p, LOOM_F32, 1)));
    }
}

static gboolean
run_seed (guint32 seed, guint *n_shared, guint *n_ran)
{
  const LoomPlanOptions options = { .device = "cpu", .no_reuse = FALSE, .flat_gradients = seed % 4 == 3 };
  g_autoptr (RandomGraph) source = random_graph_new (seed, 10 + seed % 7);
  g_autofree char *text = random_graph_text (source);
  Case c = {
    .seed = seed, .source = source, .training = TRUE, .update = TRUE, .devices = devices, .wrong = g_string_new (NULL)
  };
  g_autoptr (LoomProgram) p = NULL;
  Lanes l = { .c = &c, .rand = g_rand_new_with_seed (seed) };

  case_read (&c, text);
  if (seed % 2 == 1 && c.wrong->len == 0)
    place_nodes (c.graph, loom_graph_root (c.graph), l.rand, (const char *[]){ "cpu", "cpu:1" }, 2, 1);
  if (case_bind_sizes (&c) && c.wrong->len == 0)
    p = case_program (&c, LOOM_F32, FALSE);
  if (p != NULL)
    add_counters (p);
  l.w = p != NULL ? graph_new (p, devices, &options) : NULL;
  if (l.w != NULL && graph_run_passes (l.w, scatter, &l, NULL))
    {
      find_after (&l);
      check_order (&l);
      check_memory (&l, n_shared);
      check_slots (&l);
      check_runs (&l, n_ran);
    }
  g_free (l.comes_after);
  graph_free (l.w);
  g_rand_free (l.rand);
  return case_end (&c, "order", seed, FALSE);
}

static void
test_order (void)
{
  const char *asked = g_getenv ("GRADLOOM_GRAPH_SEEDS");
  guint seeds = asked != NULL ? (guint)g_ascii_strtoull (asked, NULL, 10) : DEFAULT_SEEDS;
  guint wrong = 0, n_shared = 0, n_ran = 0;

  for (guint seed = 0; seed < seeds; seed++)
    wrong += !run_seed (seed, &n_shared, &n_ran);
  g_test_message ("%u programs ran, %u pairs of values share bytes", n_ran, n_shared);
  g_assert_cmpuint (wrong, ==, 0);
  g_assert_cmpuint (n_ran, >, seeds / 2);
  g_assert_cmpuint (n_shared, >, 0);
}

TEST_FILE (argc, argv)
{
  int status;

  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  g_test_init (&argc, &argv, NULL);
  devices = loom_devices_new (1);
  g_test_add_func ("/run/order", test_order);
  status = g_test_run ();
  loom_devices_unref (devices);
  return status;
}
