/* Chooses algorithms and layouts for the whole graph at once, and inserts the reorders between layouts.
 *
 * A device returns the options of an instruction, each with its algorithm, the layouts of operands and results, and an
 * estimated cost. If a value is needed in another layout than it is made in, a reorder costs something, once for all
 * its readers. plan-cost-solver.c minimises the sum of both. Its variables are the instructions and the values between
 * them. The states of an instruction are its combinations of layouts. A state of a value is the layout in which it is
 * made, with those in which it exists. Inputs and state have plain layout, and slots take plain values.
 *
 * Nothing is measured here. Choices are recorded in the cost table, and earlier choices, from a checkpoint, are used
 * again. */
#include "engine/plan/plan-cost-solver.h"
#include "engine/plan/plan-private.h"

#include <math.h>
#include <string.h>

#define LARGEST_TABLE 65536

typedef struct
{
  PlanNode *instr;
  guint number;
  guint n; /* options; 0: no kernel */
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  char *name[LOOM_MAX_OPTIONS]; /* the options' keys in the cost table; only if there is a choice */
  guint n_masks;
  guint best[LOOM_MAX_OPTIONS]; /* by combination of layouts: its cheapest option */
  guint chosen;                 /* the chosen combination */
  gboolean measured;            /* all options were measured; else they are estimated */
  gint variable;                /* -1: there is only one combination */
} Node;

/* The states of a value, as bits: it exists in plain layout, it exists in NHWC, it is made in NHWC. */
enum
{
  EXISTS_PLAIN = 1,
  EXISTS_NHWC = 2,
  MADE_NHWC = 4
};
static const guint value_states[]
    = { EXISTS_PLAIN, EXISTS_NHWC | MADE_NHWC, EXISTS_PLAIN | EXISTS_NHWC, EXISTS_PLAIN | EXISTS_NHWC | MADE_NHWC };
#define N_VALUE_STATES G_N_ELEMENTS (value_states)

typedef struct
{
  PlanGraph *g;
  GArray *nodes; /* Node */
  CostSolver *choice;
  gint *variable;    /* by value; -1: it has one layout */
  GPtrArray *ratios; /* by device: GArray of double, measured ÷ estimated time */
  double *scale;     /* by device: the factor for estimates */
  char *id;          /* the plan's name in the cost table */
} Layouts;

/* With one channel or one pixel both layouts are the same bytes, and no copy is needed. */
static gboolean
layouts_coincide (const LoomTensorDesc *d)
{
  return d->dim[1] == 1 || d->dim[2] * d->dim[3] == 1;
}

/* The value that determines v's layout: its root if that has v's shape. A view of another shape has a plain layout and
 * determines its own. */
static guint
layout_of (PlanGraph *g, guint v)
{
  guint root = graph_root (g, v);

  return plan_same_dims (&graph_value (g, v)->desc, &graph_value (g, root)->desc) ? root : v;
}

/* ---- options ------------------------------------------------------------- */

static void
clear_node (Node *node)
{
  for (guint i = 0; i < node->n; i++)
    g_free (node->name[i]);
}

/* Fills in the options of a copy between devices, which has one for each layout. */
static void
fill_transfer (PlanGraph *g, Node *node)
{
  node->option[node->n++] = (LoomKernelOption){ .algorithm = "copy" };
  if (graph_value (g, node_in (node->instr, 0))->desc.rank == 4)
    node->option[node->n++] = (LoomKernelOption){ .algorithm = "copy", .nhwc = 3 };
}

static void
drop_option (Node *node, guint i)
{
  g_clear_pointer (&node->name[i], g_free);
  node->n--;
  memmove (&node->option[i], &node->option[i + 1], (node->n - i) * sizeof node->option[0]);
  memmove (&node->name[i], &node->name[i + 1], (node->n - i) * sizeof node->name[0]);
  node->name[node->n] = NULL;
}

/* Replaces estimates with measurements, and records the ratio of both. */
static void
use_node_measurements (Layouts *self, Node *node, const LoomKernelSpec *spec, const char *words)
{
  GArray *ratios = g_ptr_array_index (self->ratios, (guint)node->instr->device);
  double estimate[LOOM_MAX_OPTIONS];

  for (guint i = 0; i < node->n; i++)
    estimate[i] = node->option[i].seconds;
  node->measured
      = plan_use_measurements (graph_device (self->g, node->instr->device), spec, words, node->option, node->n);
  for (guint i = 0; i < node->n && node->measured; i++)
    {
      double ratio = node->option[i].seconds / estimate[i];

      if (estimate[i] > 0 && ratio > 0)
        g_array_append_val (ratios, ratio);
    }
}

static int
ascending (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return x < y ? -1 : x > y;
}

/* The factor for estimates on a device: the median ratio of measured to estimated times of this plan's calls. Estimates
 * and measurements are added in one sum, so estimates that are only proportional to the truth must be scaled. */
static double
scale_of (GArray *ratios)
{
  if (ratios->len == 0)
    return 1;
  g_array_sort (ratios, ascending);
  return sqrt (g_array_index (ratios, double, (ratios->len - 1) / 2) * g_array_index (ratios, double, ratios->len / 2));
}

static void
fill_node (Layouts *self, Node *node, GChecksum *sum)
{
  const LoomPlanDevice *device = graph_device (self->g, node->instr->device);
  g_autofree char *words = node_describe (node->instr), *key = NULL;
  g_auto (PlanKernelCall) call = { 0 };

  if (node->instr->prim == NULL)
    {
      fill_transfer (self->g, node);
      return;
    }
  if (loom_plan_is_internal (node->instr->prim))
    {
      /* Bodies and host kernels take plain values; the plan of a body chooses the layouts inside it. */
      node->option[node->n++] = (LoomKernelOption){ .algorithm = node->instr->prim->bodies != NULL ? "loop" : "host" };
      g_checksum_update (sum, (const guchar *)words, (gssize)strlen (words) + 1);
      return;
    }
  if (node->instr->prim->flags & LOOM_PRIM_COLLECTIVE)
    {
      node->option[node->n++] = (LoomKernelOption){ .algorithm = "exchange" };
      g_checksum_update (sum, (const guchar *)words, (gssize)strlen (words) + 1);
      return;
    }
  node_kernel_call (self->g, &call, node->instr);
  call.spec.fixed = graph_fixed_operands (self->g, node->instr);
  node->n = graph_options (self->g, device, node->instr, &call.spec, node->option);
  use_node_measurements (self, node, &call.spec, words);
  key = loom_cost_call_key (&call.spec, words);
  g_checksum_update (sum, (const guchar *)key, (gssize)strlen (key) + 1);
  g_checksum_update (sum, (const guchar *)device->name, (gssize)strlen (device->name) + 1);
  /* A library may propose another configuration (after the colon) next time, so it is recorded even if it is the only
   * option. */
  for (guint i = 0; i < node->n && (node->n > 1 || strchr (node->option[0].algorithm, ':') != NULL); i++)
    node->name[i] = loom_cost_option_key (&call.spec, &node->option[i]);
  if (self->g->options.visit != NULL && node->n > 1)
    self->g->options.visit (device, &call.spec, words, node->option, node->n, self->g->options.visit_data);
}

static void
keep_option (Node *node, guint i)
{
  while (node->n > i + 1)
    drop_option (node, node->n - 1);
  while (node->n > 1)
    drop_option (node, 0);
}

/* Adds an option that the device does not list but can make when requested by name. */
static gboolean
request_by_name (Layouts *self, Node *node, const char *name)
{
  g_autofree char *algorithm = g_strdup (name), *words = node_describe (node->instr);
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  char *space = strrchr (algorithm, ' ');
  g_auto (PlanKernelCall) call = { 0 };
  LoomMessage message;
  guint n;

  if (space == NULL)
    return FALSE;
  *space = '\0';
  node_kernel_call (self->g, &call, node->instr);
  call.spec.fixed = graph_fixed_operands (self->g, node->instr);
  call.spec.algorithm = algorithm;
  n = loom_plan_options (graph_device (self->g, node->instr->device), &call.spec, words, option, &message);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *key = loom_cost_option_key (&call.spec, &option[i]);

      if (g_str_equal (key, name))
        {
          keep_option (node, 0);
          node->option[0] = option[i];
          g_free (node->name[0]);
          node->name[0] = g_steal_pointer (&key);
          return TRUE;
        }
    }
  return FALSE;
}

/* Keeps only the option that an earlier plan chose, if the device still has it. */
static void
keep_choice (Layouts *self, Node *node)
{
  const LoomPlanDevice *device = graph_device (self->g, node->instr->device);
  g_autofree char *before
      = node->n > 0 && node->name[0] != NULL ? loom_cost_table_choice (device->costs, self->id, node->number) : NULL;

  if (before == NULL)
    return;
  for (guint i = 0; i < node->n; i++)
    if (g_str_equal (node->name[i], before))
      {
        keep_option (node, i);
        return;
      }
  if (!request_by_name (self, node, before))
    {
      g_autofree char *note
          = g_strdup_printf ("The kernel “%s” that the run used before is not available on %s, so another kernel is "
                             "used and the last bits may differ.",
                             before, device->name);

      loom_cost_table_note (device->costs, note);
    }
}

/* Keeps only the cheapest option of each combination of layouts. */
static void
group_options (Node *node)
{
  for (guint i = 0; i < node->n; i++)
    {
      guint m = 0;

      while (m < node->n_masks && node->option[node->best[m]].nhwc != node->option[i].nhwc)
        m++;
      if (m == node->n_masks)
        node->best[node->n_masks++] = i;
      else if (node->option[i].seconds < node->option[node->best[m]].seconds)
        node->best[m] = i;
    }
}

static guint64
mask_of (const Node *node, guint m)
{
  return node->n_masks > 0 ? node->option[node->best[m]].nhwc : 0;
}

static guint
operand (const PlanNode *instr, guint i)
{
  return i < instr->in->len ? node_in (instr, i) : node_out (instr, i - instr->in->len);
}

static guint
n_operands (const PlanNode *instr)
{
  return MIN (instr->in->len + instr->out->len, 64);
}

/* ---- the problem ------------------------------------------------------------ */

/* Seconds of a reorder of v on its device; INFINITY: the device has none. */
static double
reorder_cost (const Layouts *self, guint v, gboolean to_nhwc)
{
  PlanGraph *g = self->g;
  int device = graph_value (g, graph_root (g, v))->device;
  const LoomTensorDesc *d = &graph_value (g, v)->desc;
  LoomCopyTo attrs = { d->dtype };
  LoomKernelSpec spec = { .primitive = "copy", .attrs = &attrs, .n_in = 1, .n_out = 1, .in = d, .out = d };
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomMessage message;
  double least = INFINITY;
  guint n;

  if (layouts_coincide (d))
    return 0;
  n = plan_estimate_options (graph_device (g, device), &spec, option, &message);
  if (!plan_use_measurements (graph_device (g, device), &spec, NULL, option, n))
    for (guint i = 0; i < n; i++)
      option[i].seconds *= self->scale[device];
  for (guint i = 0; i < n; i++)
    if (option[i].nhwc == (to_nhwc ? 2 : 1))
      least = MIN (least, option[i].seconds);
  return least;
}

/* TRUE if an instruction reads v in another shape, which needs the plain layout. */
static gboolean
is_reshaped (PlanGraph *g, guint v)
{
  for (const PlanUse *use = graph_value (g, v)->first_use; use != NULL; use = use->next)
    if (use->instr == NULL && !plan_same_dims (&graph_value (g, use->at)->desc, &graph_value (g, v)->desc)
        && graph_is_used (g, use->at))
      return TRUE;
  return FALSE;
}

/* TRUE if a slot takes v, or a view of the same shape. */
static gboolean
is_committed (PlanGraph *g, guint v)
{
  if (graph_value (g, v)->commit >= 0)
    return TRUE;
  for (const PlanUse *use = graph_value (g, v)->first_use; use != NULL; use = use->next)
    if (use->instr == NULL && graph_value (g, use->at)->commit >= 0)
      return TRUE;
  return FALSE;
}

static void
add_value (Layouts *self, guint v)
{
  PlanGraph *g = self->g;
  gboolean made = graph_root (g, v) == v && graph_value (g, v)->producer != NULL;
  gboolean plain = is_reshaped (g, v) || is_committed (g, v);
  double cost[N_VALUE_STATES];

  if (self->variable[v] >= 0)
    return;
  for (guint s = 0; s < N_VALUE_STATES; s++)
    {
      guint state = value_states[s];

      cost[s] = 0;
      if ((state & EXISTS_PLAIN) && (state & EXISTS_NHWC))
        cost[s] = reorder_cost (self, v, !(state & MADE_NHWC));
      if ((!made && (state & MADE_NHWC)) || (plain && !(state & EXISTS_PLAIN)))
        cost[s] = INFINITY;
    }
  self->variable[v] = (gint)cost_solver_add (self->choice, N_VALUE_STATES, cost);
}

/* The cost of a value's state for an instruction that reads or makes it, as its operand or result i, in a layout: 0 if
 * the state allows that, else INFINITY. */
static double
layout_cost (const PlanNode *instr, guint i, gboolean nhwc, guint state)
{
  gboolean ok
      = i < instr->in->len ? (state & (nhwc ? EXISTS_NHWC : EXISTS_PLAIN)) != 0 : nhwc == ((state & MADE_NHWC) != 0);

  return ok ? 0 : INFINITY;
}

static void
join_operand (Layouts *self, Node *node, guint i)
{
  guint v = operand (node->instr, i), n = MAX (node->n_masks, 1);
  g_autofree double *cost = NULL;
  gint variable;

  if (v == 0)
    return;
  variable = self->variable[layout_of (self->g, v)];
  if (variable < 0)
    return;
  cost = g_new (double, n *N_VALUE_STATES);
  for (guint m = 0; m < n; m++)
    for (guint s = 0; s < N_VALUE_STATES; s++)
      cost[m * N_VALUE_STATES + s] = layout_cost (node->instr, i, (mask_of (node, m) >> i) & 1, value_states[s]);
  if (node->variable >= 0)
    cost_solver_pair (self->choice, (guint)node->variable, (guint)variable, cost);
  else
    cost_solver_bias (self->choice, (guint)variable, cost);
}

static void
solve (Layouts *self)
{
  g_autofree guint *state = NULL;
  guint n = 0;

  for (guint k = 0; k < self->nodes->len; k++)
    {
      Node *node = &g_array_index (self->nodes, Node, k);
      double cost[LOOM_MAX_OPTIONS];

      node->variable = -1;
      if (node->n_masks == 0 || (node->n_masks == 1 && mask_of (node, 0) == 0))
        continue;
      for (guint i = 0; i < n_operands (node->instr); i++)
        for (guint m = 0; m < node->n_masks; m++)
          if ((mask_of (node, m) >> i) & 1)
            add_value (self, layout_of (self->g, operand (node->instr, i)));
      if (node->n_masks == 1)
        continue;
      for (guint m = 0; m < node->n_masks; m++)
        cost[m] = node->option[node->best[m]].seconds;
      node->variable = (gint)cost_solver_add (self->choice, node->n_masks, cost);
      n++;
    }
  if (n == 0)
    return;
  for (guint k = 0; k < self->nodes->len; k++)
    {
      Node *node = &g_array_index (self->nodes, Node, k);

      for (guint i = 0; i < n_operands (node->instr); i++)
        join_operand (self, node, i);
    }
  state = g_new0 (guint, cost_solver_n (self->choice) + 1);
  cost_solver_solve (self->choice, LARGEST_TABLE, state);
  for (guint k = 0; k < self->nodes->len; k++)
    {
      Node *node = &g_array_index (self->nodes, Node, k);

      if (node->variable >= 0)
        node->chosen = state[node->variable];
    }
}

/* ---- reorders ------------------------------------------------------------------- */

/* Returns v, a root or a reshape of plain bytes, in a layout; if it does not exist in it, inserts a reorder before
 * `at`. */
static guint
in_layout (PlanGraph *g, PlanNode *at, guint v, LoomLayout layout)
{
  LoomTensorDesc desc = graph_value (g, v)->desc;
  LoomCopyTo to = { desc.dtype };
  PlanNode *reorder;
  guint other;

  if (desc.layout == layout || desc.rank != 4)
    return v;
  if (graph_value (g, v)->other_layout != 0)
    return graph_value (g, v)->other_layout;
  desc.layout = layout;
  other = graph_new_value (g, &desc, graph_value (g, v));
  graph_value (g, v)->other_layout = other;
  graph_value (g, other)->other_layout = v;
  if (layouts_coincide (&desc))
    {
      graph_set_alias (g, other, v);
      graph_value (g, other)->device = graph_value (g, graph_root (g, v))->device;
      return other;
    }
  reorder = graph_insert_copy (g, at, loom_prim ("copy"), &to, v, other, graph_value (g, graph_root (g, v))->device);
  g_string_assign (reorder->label, layout == LOOM_LAYOUT_NHWC ? "reorder→NHWC" : "reorder→NCHW");
  return other;
}

/* A reshaped view needs plain bytes: if its root is NHWC, the view becomes a reshape of a plain copy. A view of the
 * root's own shape has the root's layout. */
static void
fix_view_layout (PlanGraph *g, PlanNode *at, guint v)
{
  guint root = graph_root (g, v);

  if (root == v || graph_value (g, root)->desc.layout == LOOM_LAYOUT_PLAIN
      || graph_value (g, v)->desc.layout != LOOM_LAYOUT_PLAIN)
    return;
  if (layout_of (g, v) == root)
    graph_value (g, v)->desc.layout = graph_value (g, root)->desc.layout;
  else
    graph_set_alias (g, v, in_layout (g, at, root, LOOM_LAYOUT_PLAIN));
}

static void
apply_to_operand (PlanGraph *g, PlanNode *instr, guint k, LoomLayout layout)
{
  guint v = node_in (instr, k), wanted;

  if (v == 0)
    return;
  fix_view_layout (g, instr, v);
  /* A view of the same shape that has the wanted layout stays; otherwise the root gets a reordered copy that all
   * readers share. */
  wanted = graph_value (g, v)->desc.layout == layout ? v : in_layout (g, instr, layout_of (g, v), layout);
  if (wanted != v)
    graph_set_in (g, instr, k, wanted);
}

static void
apply (PlanGraph *g, const Node *node)
{
  PlanNode *instr = node->instr;
  guint64 nhwc = mask_of (node, node->chosen);

  if (node->n > 0 && instr->prim != NULL)
    instr->algorithm = node->option[node->best[node->chosen]].algorithm;
  for (guint k = 0; k < instr->in->len; k++)
    apply_to_operand (g, instr, k, k < 64 && ((nhwc >> k) & 1) ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN);
  for (guint o = 0; o < instr->out->len; o++)
    if (node_out (instr, o) != 0 && instr->in->len + o < 64 && ((nhwc >> (instr->in->len + o)) & 1))
      graph_value (g, node_out (instr, o))->desc.layout = LOOM_LAYOUT_NHWC;
}

/* Outputs that are reshapes of an NHWC value need plain bytes, and so do the values of slots. */
static void
fix_result_layouts (PlanGraph *g)
{
  guint n = g->values->len;

  for (guint v = 1; v < n; v++)
    {
      int commit = graph_value (g, v)->commit;
      guint moved;

      if (!graph_value (g, v)->is_output && commit < 0)
        continue;
      fix_view_layout (g, NULL, v);
      if (commit < 0 || graph_value (g, v)->desc.layout == LOOM_LAYOUT_PLAIN)
        continue;
      moved = in_layout (g, NULL, layout_of (g, v), LOOM_LAYOUT_PLAIN);
      graph_value (g, v)->commit = -1;
      graph_commit (g, moved, commit);
    }
}

/* Of a body, whose results a loop or a branch copies as bytes, every output is plain; executors convert other plans'
 * outputs. */
static void
make_outputs_plain (PlanGraph *g)
{
  for (guint o = 0; o < g->output_value->len; o++)
    {
      const guint v = g_array_index (g->output_value, guint, o);
      guint plain;

      if (graph_value (g, v)->desc.layout == LOOM_LAYOUT_PLAIN)
        continue;
      plain = in_layout (g, NULL, layout_of (g, v), LOOM_LAYOUT_PLAIN);
      graph_value (g, v)->is_output = FALSE;
      graph_value (g, plain)->is_output = TRUE;
      g_array_index (g->output_value, guint, o) = plain;
    }
}

/* ---- the pass ---------------------------------------------------------------------- */

static void
record_choice (Layouts *self, const Node *node)
{
  const LoomPlanDevice *device = graph_device (self->g, node->instr->device);
  guint best = node->best[node->chosen];

  if (node->name[best] != NULL)
    loom_cost_table_choose (device->costs, self->id, node->number, node->name[best]);
}

void
pass_choose_layouts (PlanGraph *g)
{
  g_autoptr (GArray) nodes = g_array_new (FALSE, TRUE, sizeof (Node));
  g_autoptr (CostSolver) choice = cost_solver_new ();
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree gint *variable = g_new (gint, g->values->len + 1);
  g_autoptr (GPtrArray) ratios = g_ptr_array_new_with_free_func ((GDestroyNotify)g_array_unref);
  g_autofree char *id = NULL;
  g_autofree double *scale = g_new (double, g->plan_devices->len + 1);
  Layouts self = { g, nodes, choice, variable, ratios, scale, NULL };
  guint number = 0;

  g_array_set_clear_func (nodes, (GDestroyNotify)clear_node);
  for (guint d = 0; d < g->plan_devices->len; d++)
    g_ptr_array_add (ratios, g_array_new (FALSE, FALSE, sizeof (double)));
  graph_find_setup (g);
  memset (variable, -1, (g->values->len + 1) * sizeof *variable);
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      Node node = { .instr = instr, .number = number++, .variable = -1 };

      fill_node (&self, &node, sum);
      g_array_append_val (nodes, node);
    }
  self.id = id = g_strndup (g_checksum_get_string (sum), 16);
  for (guint d = 0; d < ratios->len; d++)
    scale[d] = scale_of (g_ptr_array_index (ratios, d));
  for (guint k = 0; k < nodes->len; k++)
    {
      Node *node = &g_array_index (nodes, Node, k);

      for (guint i = 0; i < node->n && !node->measured; i++)
        node->option[i].seconds *= scale[node->instr->device];
      keep_choice (&self, node);
      group_options (node);
    }
  solve (&self);
  for (guint k = 0; k < nodes->len; k++)
    {
      record_choice (&self, &g_array_index (nodes, Node, k));
      apply (g, &g_array_index (nodes, Node, k));
    }
  fix_result_layouts (g);
  if (g->options.resident_inputs)
    make_outputs_plain (g);
}
