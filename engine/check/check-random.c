/* Random numbers and determinism.
 *
 * A random number is a function of (seed, stream, step, position), and a draw takes the positions of one result. So two
 * draws are independent if their streams differ: each node has its own, and a draw is repeated only to get the same
 * numbers again (recomputation, and a gradient that draws its mask again). In the program each recomputed draw must
 * repeat one that is not. The plan's draws are compared with the program's: none may appear, vanish, or have another
 * stream, size, seed or step.
 *
 * Sums have a fixed order in every algorithm that a back end lists for a call; the rule requires that the plan's
 * algorithm is one of these for its layouts, and that no product rounds to TF32 unless the program allows it. */
#include "engine/check/check-private.h"

typedef struct
{
  guint64 stream;
  gint64 count;     /* of numbers; 0: as many as the call needs (dropout of attention) */
  guint seed, step; /* values */
  guint place;      /* positions; G_MAXUINT or 0: 0, 1, … */
  const char *origin;
  guint instr;
} Draw;

typedef struct
{
  const LoomPlan *plan;
  LoomProgram *program;
  GArray *wanted, *made; /* Draw: of the program, of the plan */
  guint *copied;         /* by value of the plan: the value of which it is a copy on another device, else itself */
  LoomCheckReport *report;
} Random;

static gboolean
draws (const LoomPrim *prim, const void *attrs)
{
  return prim != NULL && ((prim->flags & LOOM_PRIM_RANDOM) != 0 || (prim->draws != NULL && prim->draws (attrs)));
}

/* The draw of a call. Attention has seed, step and place last; `random` has them first. */
static gboolean
find_draw (const LoomPrim *prim, const void *attrs, guint n_in, const guint *in, gint64 count, Draw *draw)
{
  if (!draws (prim, attrs))
    return FALSE;
  *draw = (Draw){ .seed = G_MAXUINT, .step = G_MAXUINT, .place = G_MAXUINT };
  if (g_str_equal (prim->name, "random") && n_in >= 2)
    {
      draw->stream = ((const LoomRandomAttrs *)attrs)->stream;
      draw->count = count;
      draw->seed = in[0];
      draw->step = in[1];
      draw->place = n_in > 2 ? in[2] : G_MAXUINT;
    }
  else if (g_str_has_prefix (prim->name, "attention") && n_in >= 3)
    {
      draw->stream = ((const LoomAttentionAttrs *)attrs)->stream;
      draw->seed = in[n_in - 3];
      draw->step = in[n_in - 2];
      draw->place = in[n_in - 1];
    }
  else
    return FALSE;
  return TRUE;
}

static void
find_wanted (Random *self)
{
  for (guint i = 0; i < loom_program_n_instrs (self->program); i++)
    {
      const LoomInstr *instr = loom_program_instr (self->program, i);
      const gint64 count = instr->n_out > 0 && instr->out[0] != 0
                               ? (gint64)loom_desc_count (&loom_value_info (self->program, instr->out[0])->desc)
                               : 0;
      Draw draw;

      if (!find_draw (instr->prim, instr->attrs, loom_instr_n_operands (instr), instr->in, count, &draw))
        continue;
      draw.origin = instr->origin;
      draw.instr = i;
      g_array_append_val (self->wanted, draw);
    }
}

static void
find_made (Random *self)
{
  for (guint i = 0; i < loom_plan_n_instrs (self->plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);
      const LoomPrim *prim = check_prim (instr);
      const guint out = instr->n_out > 0 ? check_out (instr, 0) : G_MAXUINT;
      const gint64 count = out != G_MAXUINT ? (gint64)loom_desc_count (&loom_plan_value (self->plan, out)->desc) : 0;
      Draw draw;

      if (instr->spec == NULL || !find_draw (prim, instr->spec->attrs, instr->n_in, instr->value, count, &draw))
        continue;
      draw.origin = instr->origin;
      draw.instr = i;
      g_array_append_val (self->made, draw);
    }
}

/* ---- the program's draws -------------------------------------------------------- */

static int
compare_draws (gconstpointer a, gconstpointer b)
{
  const Draw *x = a, *y = b;

  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  return x->instr != y->instr ? (x->instr < y->instr ? -1 : 1) : 0;
}

/* Two nodes with one stream would draw the same numbers. */
static void
check_streams (Random *self)
{
  for (guint i = 1; i < self->wanted->len; i++)
    {
      const Draw *a = &g_array_index (self->wanted, Draw, i - 1), *b = &g_array_index (self->wanted, Draw, i);

      if (a->stream == b->stream && g_strcmp0 (a->origin, b->origin) != 0)
        check_fault (self->report, LOOM_CHECK_RANDOM, G_MAXUINT, G_MAXUINT,
                     "%s and %s draw from one stream of random numbers, %016" G_GINT64_MODIFIER "x",
                     a->origin != NULL ? a->origin : "the program", b->origin != NULL ? b->origin : "the program",
                     a->stream);
    }
}

/* TRUE if the program draws the same numbers outside of a recomputation. */
static gboolean
is_repeated (const Random *self, guint at)
{
  const Draw *again = &g_array_index (self->wanted, Draw, at);

  for (guint i = 0; i < self->wanted->len; i++)
    {
      const Draw *first = &g_array_index (self->wanted, Draw, i);

      if (first->stream == again->stream && first->count == again->count && first->seed == again->seed
          && loom_program_instr (self->program, first->instr)->recomputation == 0)
        return TRUE;
    }
  return FALSE;
}

/* TRUE if the program computes the node of a draw outside of a recomputation, too. A stage of a pipeline may draw again
 * what only another stage has drawn. */
static gboolean
has_first (const Random *self, guint at)
{
  const Draw *again = &g_array_index (self->wanted, Draw, at);

  for (guint i = 0; i < self->wanted->len; i++)
    {
      const Draw *first = &g_array_index (self->wanted, Draw, i);

      if (g_strcmp0 (first->origin, again->origin) == 0
          && loom_program_instr (self->program, first->instr)->recomputation == 0)
        return TRUE;
    }
  return FALSE;
}

/* A recomputation draws what was drawn before, or its results would be others. */
static void
check_recomputed (Random *self)
{
  for (guint i = 0; i < self->wanted->len; i++)
    {
      const Draw *draw = &g_array_index (self->wanted, Draw, i);

      if (loom_program_instr (self->program, draw->instr)->recomputation != 0 && has_first (self, i)
          && !is_repeated (self, i))
        check_fault (self->report, LOOM_CHECK_RANDOM, G_MAXUINT, G_MAXUINT,
                     "the recomputation of %s draws other numbers than its first computation",
                     draw->origin != NULL ? draw->origin : "the program");
    }
}

/* ---- the plan's draws -------------------------------------------------------------- */

static guint
original (const Random *self, guint value)
{
  guint root = value != G_MAXUINT ? check_root (self->plan, value) : G_MAXUINT;

  while (root != G_MAXUINT && self->copied[root] != root)
    root = self->copied[root];
  return root;
}

/* TRUE if both are the same value; a computed one may have become another value with the same number, which the meaning
 * shows. */
static gboolean
same_number (const Random *self, guint made, guint wanted)
{
  const gboolean absent = wanted == 0 || wanted == G_MAXUINT;

  if (made == G_MAXUINT || absent)
    return (made == G_MAXUINT) == absent;
  if (loom_value_info (self->program, wanted)->slot < 0 && loom_value_info (self->program, wanted)->input < 0)
    return TRUE;
  return original (self, made) == original (self, wanted);
}

static gboolean
matches (const Random *self, const Draw *made, const Draw *wanted)
{
  return made->stream == wanted->stream && made->count == wanted->count && same_number (self, made->seed, wanted->seed)
         && same_number (self, made->step, wanted->step) && same_number (self, made->place, wanted->place);
}

/* The first draw of the program with this stream, or the end. */
static guint
find_stream (const GArray *draws, guint64 stream)
{
  guint low = 0, high = draws->len;

  while (low < high)
    {
      const guint middle = (low + high) / 2;

      if (g_array_index (draws, Draw, middle).stream < stream)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static gboolean
has_match (const Random *self, const Draw *made)
{
  for (guint i = find_stream (self->wanted, made->stream);
       i < self->wanted->len && g_array_index (self->wanted, Draw, i).stream == made->stream; i++)
    if (matches (self, made, &g_array_index (self->wanted, Draw, i)))
      return TRUE;
  return FALSE;
}

/* The instructions of the program whose results are used. */
static gboolean *
find_used (const Random *self)
{
  LoomProgram *p = self->program;
  const guint n = loom_program_n_instrs (p);
  gboolean *used = g_new0 (gboolean, n + 1);
  g_autofree gboolean *value = g_new0 (gboolean, loom_program_n_values (p) + 1);

  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    value[loom_program_get_output (p, i)->value] = TRUE;
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    value[loom_program_get_slot (p, i)->commit] = TRUE;
  for (guint i = n; i-- > 0;)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      used[i] = (instr->prim->flags & LOOM_PRIM_SIDE_EFFECT) != 0;
      for (guint o = 0; o < instr->n_out; o++)
        used[i] |= instr->out[o] != 0 && value[instr->out[o]];
      /* A view's other operands are for its gradient. */
      for (guint k = 0; used[i] && k < (instr->prim->view == LOOM_VIEW_ALWAYS ? 1 : instr->n_in); k++)
        if (instr->in[k] != 0)
          value[instr->in[k]] = TRUE;
    }
  return used;
}

static void
check_draws (Random *self)
{
  g_autofree gboolean *used = find_used (self);

  for (guint i = 0; i < self->made->len; i++)
    {
      const Draw *made = &g_array_index (self->made, Draw, i);
      g_autofree char *name = check_name_instr (self->plan, made->instr);

      if (!has_match (self, made))
        check_fault (self->report, LOOM_CHECK_RANDOM, made->instr, G_MAXUINT,
                     "%s draws numbers that the program does not draw: another stream, size, seed or step", name);
    }
  for (guint i = 0; i < self->wanted->len; i++)
    {
      const Draw *wanted = &g_array_index (self->wanted, Draw, i);
      const guint at = find_stream (self->made, wanted->stream);

      if (used[wanted->instr]
          && (at == self->made->len || g_array_index (self->made, Draw, at).stream != wanted->stream))
        check_fault (self->report, LOOM_CHECK_RANDOM, G_MAXUINT, G_MAXUINT, "the draw of %s is missing",
                     wanted->origin != NULL ? wanted->origin : "the program");
    }
}

/* ---- loops ------------------------------------------------------------------------- */

/* In the body of a loop every draw depends on a value that differs between iterations. */
static void
check_loop (Random *self, guint i, const LoomScanAttrs *scan)
{
  LoomProgram *body = scan->body;
  g_autofree gboolean *varies = g_new0 (gboolean, loom_program_n_values (body) + 1);

  for (guint k = 0; k < MIN (scan->n_carried + scan->n_sequences, loom_program_n_inputs (body)); k++)
    varies[loom_program_get_input (body, k)->value] = TRUE;
  for (guint b = 0; b < loom_program_n_instrs (body); b++)
    {
      const LoomInstr *instr = loom_program_instr (body, b);
      gboolean any = FALSE;
      Draw draw;

      for (guint k = 0; k < instr->n_in; k++)
        any |= varies[instr->in[k]];
      for (guint o = 0; o < instr->n_out; o++)
        varies[instr->out[o]] = any;
      varies[0] = FALSE;
      if (scan->length < 2 || !find_draw (instr->prim, instr->attrs, loom_instr_n_operands (instr), instr->in, 0, &draw)
          || varies[draw.seed] || varies[draw.step] || (draw.place != G_MAXUINT && varies[draw.place]))
        continue;
      check_fault (self->report, LOOM_CHECK_RANDOM, i, G_MAXUINT,
                   "every iteration of the loop draws the same numbers for %s",
                   instr->origin != NULL ? instr->origin : "its body");
    }
}

/* ---- determinism --------------------------------------------------------------------- */

static gboolean
is_listed (const LoomPlanInstr *instr, const LoomPlanDevice *device)
{
  const guint n_tensors = (guint)(instr->spec->n_in + instr->spec->n_out);
  g_autofree LoomTensorDesc *plain = g_new (LoomTensorDesc, n_tensors + 1);
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomKernelSpec call = *instr->spec;
  LoomMessage message = { "" };
  guint64 nhwc = 0;
  int n;

  for (guint k = 0; k < n_tensors; k++)
    {
      plain[k] = k < instr->n_in ? instr->spec->in[k] : instr->spec->out[k - instr->n_in];
      if (plain[k].layout == LOOM_LAYOUT_NHWC && k < 64)
        nhwc |= (guint64)1 << k;
      plain[k].layout = LOOM_LAYOUT_PLAIN;
    }
  call.in = plain;
  call.out = plain + instr->n_in;
  n = device->backend->options (device->device, &call, NULL, option, LOOM_MAX_OPTIONS, &message);
  for (int k = 0; k < n; k++)
    if (option[k].nhwc == nhwc && g_strcmp0 (option[k].algorithm, instr->algorithm) == 0)
      return TRUE;
  return FALSE;
}

static void
check_algorithm (Random *self, guint i)
{
  const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);
  const LoomPrim *prim = check_prim (instr);
  g_autofree char *name = NULL;

  if (instr->spec == NULL)
    return;
  if (instr->spec->tf32 && !loom_program_get_tf32 (self->program))
    {
      name = check_name_instr (self->plan, i);
      check_fault (self->report, LOOM_CHECK_RANDOM, i, G_MAXUINT, "%s rounds to TF32, which the program forbids", name);
    }
  if (instr->algorithm == NULL
      || (prim != NULL && ((prim->flags & LOOM_PRIM_COLLECTIVE) != 0 || loom_plan_is_internal (prim))))
    return;
  if (is_listed (instr, loom_plan_device (self->plan, instr->device)))
    return;
  name = check_name_instr (self->plan, i);
  check_fault (self->report, LOOM_CHECK_RANDOM, i, G_MAXUINT,
               "%s is computed by “%s”, which the device does not list for this call and its layouts", name,
               instr->algorithm);
}

void
check_random (const LoomPlan *plan, LoomCheckReport *report)
{
  const guint n = loom_plan_n_values (plan);
  g_autoptr (GArray) wanted = g_array_new (FALSE, FALSE, sizeof (Draw)),
                     made = g_array_new (FALSE, FALSE, sizeof (Draw));
  g_autofree guint *copied = g_new (guint, n + 1);
  Random self = { plan, loom_plan_program (plan), wanted, made, copied, report };

  for (guint v = 0; v <= n; v++)
    copied[v] = v;
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      if (instr->kernel == NULL && instr->n_in == 1 && instr->n_out == 1)
        copied[check_root (plan, check_out (instr, 0))] = check_root (plan, check_in (instr, 0));
      check_algorithm (&self, i);
      if (instr->spec != NULL && check_prim (instr) != NULL && (check_prim (instr)->flags & LOOM_PRIM_LOOP) != 0)
        check_loop (&self, i, instr->spec->attrs);
    }
  find_wanted (&self);
  find_made (&self);
  g_array_sort (wanted, compare_draws);
  g_array_sort (made, compare_draws);
  check_streams (&self);
  check_recomputed (&self);
  check_draws (&self);
}
