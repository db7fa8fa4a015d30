/* Writes nodes that run modules: instances and their copies, and the loops scan, switch and recurse. */
#include "engine/pytorch/pytorch-private.h"

#include <string.h>

/* "Block(32, drop=0.1)": makes the instance. */
static char *
construct (PyScope *s, const LoomNetLocal *local, const LoomNetInstance *instance)
{
  const PyClass *class = g_hash_table_lookup (s->w->class_of, instance);
  const GPtrArray *values = g_hash_table_lookup (class->values, instance);
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%s(", class->name);
  for (guint i = 0; i < class->arguments->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s_%s", local->id, (char *)class->arguments->pdata[i]);
      g_autofree char *prefix = g_strdup_printf ("\4%s=", (char *)class->arguments->pdata[i]);
      g_autofree char *mark = loom_pytorch_mark (prefix, name, values->pdata[i], NULL);

      g_string_append (text, mark);
    }
  return g_string_free (g_string_append_c (text, ')'), FALSE);
}

/* "a, b, _": the variables of a module's outputs. */
static char *
targets (PyScope *s, guint k, const LoomNetInstance *inside)
{
  guint n = loom_net_instance_n_ports (inside, TRUE);
  GString *text = g_string_new (NULL);

  for (guint o = 0; o < n; o++)
    {
      const char *id = loom_net_instance_local (inside, loom_net_instance_port (inside, TRUE, o)).id;
      const char *name = loom_pytorch_is_read (s, k, o) ? loom_pytorch_output (s, k, o, n, n > 1 ? id : NULL) : "_";

      g_string_append_printf (text, "%s%s", o > 0 ? ", " : "", name);
    }
  return g_string_free (text, FALSE);
}

static char *
inputs (PyScope *s, guint k, guint first, guint n)
{
  GString *text = g_string_new (NULL);

  for (guint i = first; i < n; i++)
    {
      g_autofree char *value = loom_pytorch_input (s, k, i);
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", value != NULL ? value : "None");
    }
  return g_string_free (text, FALSE);
}

/* The copies as the value of a member: one module, or a list. */
static char *
construct_all (PyScope *s, const LoomNetLocal *local, guint k, gboolean as_list)
{
  g_autofree char *first = construct (s, local, loom_net_instance_copy (s->instance, k, 0));
  GString *text;
  gboolean alike = TRUE;

  if (!as_list)
    return g_steal_pointer (&first);
  text = g_string_new ("nn.ModuleList([");
  for (guint i = 0; i < local->n_copies; i++)
    {
      g_autofree char *one = construct (s, local, loom_net_instance_copy (s->instance, k, i));

      alike &= strcmp (one, first) == 0;
      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", one);
    }
  if (alike)
    g_string_printf (text, "nn.ModuleList(%s for _ in range(%u))", first, local->n_copies);
  else
    g_string_append (text, "])");
  return g_string_free (text, FALSE);
}

static gboolean
is_recomputed (const LoomNetLocal *local)
{
  return g_strcmp0 (loom_element_get (local->element, "recompute"), "true") == 0;
}

static char *
call (const LoomNetLocal *local, const char *module, const char *arguments)
{
  if (is_recomputed (local))
    return g_strdup_printf ("torch.utils.checkpoint.checkpoint(%s, %s, use_reentrant=False)", module, arguments);
  return g_strdup_printf ("%s(%s)", module, arguments);
}

void
loom_pytorch_write_module (PyScope *s, guint k)
{
  LoomNetLocal local = loom_net_instance_local (s->instance, k);
  const LoomNetInstance *inside = loom_net_instance_copy (s->instance, k, 0);
  gboolean is_list = local.repeated && !local.shared;
  g_autofree char *member = loom_pytorch_member ("self", local.id, FALSE), *made = NULL, *left = NULL, *all = NULL;
  guint n_outputs = loom_net_instance_n_ports (inside, TRUE);

  made = construct_all (s, &local, k, is_list);
  loom_pytorch_init (s, &local, g_strdup_printf ("%s = %s", member, made));
  if (local.muted)
    {
      g_autofree char *first = inputs (s, k, 0, 1);
      for (guint o = 0; o < n_outputs; o++)
        loom_pytorch_set_output (s, k, o, n_outputs, first);
      return;
    }
  if (!local.repeated)
    {
      all = inputs (s, k, 0, local.n_inputs);
      left = targets (s, k, inside);
      g_autofree char *value = call (&local, member, all);
      loom_pytorch_forward (s, &local, g_strdup_printf ("%s = %s", left, value));
      return;
    }
  /* The first output of a copy is the first input of the next one. */
  g_autofree char *first = loom_pytorch_input (s, k, 0), *others = inputs (s, k, 1, local.n_inputs);
  const char *id = loom_net_instance_local (inside, loom_net_instance_port (inside, TRUE, 0)).id;
  const char *state = loom_pytorch_output (s, k, 0, n_outputs, n_outputs > 1 ? id : NULL);
  g_autofree char *rest = targets (s, k, inside), *arguments = NULL, *value = NULL;

  if (g_str_has_prefix (rest, "_"))
    {
      g_autofree char *unread = rest;
      rest = g_strdup_printf ("%s%s", state, unread + 1);
    }
  arguments = g_strdup_printf ("%s%s%s", state, *others != 0 ? ", " : "", others);
  loom_pytorch_forward (s, &local, g_strdup_printf ("%s = %s", state, first));
  loom_pytorch_forward (s, &local,
                        is_list ? g_strdup_printf ("for layer in %s:", member)
                                : g_strdup_printf ("for _ in range(%u):", local.n_copies));
  s->indent++;
  value = call (&local, is_list ? "layer" : member, arguments);
  loom_pytorch_forward (s, &local, g_strdup_printf ("%s = %s", rest, value));
  s->indent--;
}

/* ---- loops ---------------------------------------------------------------------- */

/* The zeros with which a carried input begins. rows: the first size, if it is known otherwise. */
static char *
zeros (PyScope *s, const LoomNetLocal *local, const LoomNetInstance *body, guint input, const char *rows)
{
  guint port = loom_net_instance_port (body, FALSE, input);
  guint index = loom_net_instance_node (s->w->net, body, port, 0);
  const LoomType *type = loom_net_node (s->w->net, index)->output;
  LoomShape shape = type->shape;
  g_autofree char *sizes = NULL, *dtype = loom_pytorch_dtype (type->dtype);

  if (rows != NULL)
    {
      GString *text = g_string_new ("(");

      g_string_append (text, rows);
      for (int d = 1; d < shape.rank; d++)
        {
          g_autofree char *dim = loom_pytorch_dim (s, local, shape.dim[d]);
          g_string_append_printf (text, ", %s", dim);
        }
      sizes = g_string_free (g_string_append (text, shape.rank == 1 ? ",)" : ")"), FALSE);
    }
  else
    sizes = loom_pytorch_shape (s, local, &shape);
  return g_strdup_printf ("torch.zeros(%s, dtype=%s)", sizes, dtype);
}

typedef struct
{
  PyScope *s;
  guint k;
  LoomNetLocal local;
  const LoomNetInstance *body;
  guint n_inputs, n_outputs;
  char *member;
  const LoomInfer *infer;
} Loop;

static LoomNetLocal
port_local (const Loop *l, gboolean outputs, guint port)
{
  return loom_net_instance_local (l->body, loom_net_instance_port (l->body, outputs, port));
}

/* The input to which an output is carried, or −1. */
static int
carried_to (const Loop *l, guint output)
{
  for (guint i = 0; i < l->n_inputs; i++)
    if (loom_net_instance_carrier (l->body, i) == (int)output)
      return (int)i;
  return -1;
}

/* A variable of the loop that is no output of the node. */
static char *
variable (const Loop *l, const char *suffix)
{
  g_autofree char *name = g_strdup_printf ("%s_%s", l->local.id, suffix);

  return loom_pytorch_identifier (l->s->used, name);
}

static void
write_scan (const Loop *l)
{
  gint64 axis = loom_infer_int (l->infer, "axis");
  gboolean reverse = loom_infer_bool (l->infer, "reverse");
  g_auto (GStrv) state = g_new0 (char *, l->n_inputs + 1), made = g_new0 (char *, l->n_outputs + 1);
  g_autofree char *steps = NULL, *lengths = loom_pytorch_input (l->s, l->k, l->n_inputs), *t = variable (l, "t");
  g_autoptr (GString) arguments = g_string_new (NULL), left = g_string_new (NULL);

  if (loom_infer_bool (l->infer, LOOM_STATEFUL))
    {
      loom_pytorch_refuse (l->s->w, l->s->instance, &l->local, "a stateful scan has no counterpart");
      return;
    }
  for (guint i = 0; i < l->n_inputs; i++)
    {
      LoomBorder border = loom_net_instance_border (l->s->w->net, l->body, i);
      g_autofree char *value = loom_pytorch_input (l->s, l->k, i);

      if (border == LOOM_BORDER_SEQUENCE && steps == NULL)
        steps = g_strdup_printf ("%s.shape[%" G_GINT64_FORMAT "]", value, axis);
      if (border == LOOM_BORDER_CARRIED)
        {
          state[i] = variable (l, port_local (l, FALSE, i).id);
          if (value == NULL)
            value = zeros (l->s, &l->local, l->body, i, NULL);
          loom_pytorch_forward (l->s, &l->local, g_strdup_printf ("%s = %s", state[i], value));
        }
      else
        state[i] = border == LOOM_BORDER_SEQUENCE
                       ? g_strdup_printf ("%s.select(%" G_GINT64_FORMAT ", %s)", value, axis, t)
                       : g_strdup (value);
      g_string_append_printf (arguments, "%s%s", i > 0 ? ", " : "", state[i]);
    }
  for (guint o = 0; o < l->n_outputs; o++)
    {
      int input = carried_to (l, o);

      made[o] = variable (l, port_local (l, TRUE, o).id);
      g_string_append_printf (left, "%s%s", o > 0 ? ", " : "", made[o]);
      if (input < 0 && loom_pytorch_is_read (l->s, l->k, o))
        loom_pytorch_forward (
            l->s, &l->local,
            g_strdup_printf ("%s = []", loom_pytorch_output (l->s, l->k, o, l->n_outputs, port_local (l, TRUE, o).id)));
    }
  loom_pytorch_forward (
      l->s, &l->local, g_strdup_printf (reverse ? "for %s in reversed(range(%s)):" : "for %s in range(%s):", t, steps));
  l->s->indent++;
  loom_pytorch_forward (l->s, &l->local, g_strdup_printf ("%s = %s(%s)", left->str, l->member, arguments->str));
  for (guint o = 0; o < l->n_outputs; o++)
    {
      int input = carried_to (l, o);
      g_autofree char *value = NULL;

      /* After the end of a sample its state stays, and its outputs are 0. */
      if (lengths == NULL)
        value = g_strdup (made[o]);
      else
        {
          g_autofree char *valid = g_strdup_printf ("(%s < %s).view(-1, *[1] * (%s.dim() - 1))", t, lengths, made[o]);
          value = g_strdup_printf ("torch.where(%s, %s, %s)", valid, made[o], input >= 0 ? state[input] : "0");
        }
      if (input >= 0)
        loom_pytorch_forward (l->s, &l->local, g_strdup_printf ("%s = %s", state[input], value));
      else if (loom_pytorch_is_read (l->s, l->k, o))
        loom_pytorch_forward (l->s, &l->local, g_strdup_printf ("%s.append(%s)", l->s->outputs[l->k][o], value));
    }
  l->s->indent--;
  for (guint o = 0; o < l->n_outputs; o++)
    {
      int input = carried_to (l, o);

      if (input >= 0)
        loom_pytorch_set_output (l->s, l->k, o, l->n_outputs, state[input]);
      else if (loom_pytorch_is_read (l->s, l->k, o))
        loom_pytorch_forward (l->s, &l->local,
                              g_strdup_printf ("%s = torch.stack(%s%s, %" G_GINT64_FORMAT ")", l->s->outputs[l->k][o],
                                               l->s->outputs[l->k][o], reverse ? "[::-1]" : "", axis));
    }
}

static void
write_switch (const Loop *l)
{
  g_autofree char *all = inputs (l->s, l->k, 0, l->n_inputs), *left = NULL;
  g_autofree char *index = loom_pytorch_input (l->s, l->k, l->n_inputs);

  for (guint b = 0; b < l->local.n_copies; b++)
    {
      const LoomNetInstance *body = loom_net_instance_copy (l->s->instance, l->k, b);
      gboolean same = TRUE;

      for (guint i = 0; i < l->n_inputs; i++)
        same &= loom_net_instance_first_port (body, FALSE, i) == i;
      for (guint o = 0; o < l->n_outputs; o++)
        same &= loom_net_instance_first_port (body, TRUE, o) == o;
      if (!same)
        {
          loom_pytorch_refuse (
              l->s->w, l->s->instance, &l->local,
              "its modules list their ports in different orders; write the nodes of one in the order of "
              "the other");
          return;
        }
    }
  loom_pytorch_need (l->s->w, "switch");
  left = targets (l->s, l->k, l->body);
  loom_pytorch_forward (l->s, &l->local, g_strdup_printf ("%s = switch(%s, %s, %s)", left, l->member, index, all));
}

static void
write_tree (const Loop *l)
{
  gint64 arity = loom_infer_int (l->infer, "arity");
  g_autofree char *parent = loom_pytorch_input (l->s, l->k, l->n_inputs), *left = NULL;
  g_autoptr (GString) begin = g_string_new (NULL), given = g_string_new (NULL), carried = g_string_new (NULL);
  g_autoptr (GString) order = g_string_new (NULL);
  g_autofree int *number = g_new (int, l->n_outputs + 1);
  guint n_carried = 0, place = 0;

  for (guint o = 0; o < l->n_outputs; o++)
    number[o] = -1;
  /* Carried inputs come first, those of one output together. */
  for (guint i = 0; i < l->n_inputs; i++)
    {
      int output = loom_net_instance_carrier (l->body, i);

      if (output >= 0 && number[output] < 0)
        {
          g_autofree char *zero = zeros (l->s, &l->local, l->body, i, "1");
          number[output] = (int)n_carried++;
          g_string_append_printf (begin, "%s, ", zero);
          for (guint j = 0; j < l->n_inputs; j++)
            if (loom_net_instance_carrier (l->body, j) == output)
              g_string_append_printf (order, "%s%s", place++ > 0 ? ", " : "", port_local (l, FALSE, j).id);
        }
    }
  for (guint i = 0; i < l->n_inputs; i++)
    if (loom_net_instance_carrier (l->body, i) < 0)
      {
        g_autofree char *value = loom_pytorch_input (l->s, l->k, i);
        g_string_append_printf (given, "%s, ", value);
        g_string_append_printf (order, "%s%s", place++ > 0 ? ", " : "", port_local (l, FALSE, i).id);
      }
  for (guint o = 0; o < l->n_outputs; o++)
    if (number[o] >= 0)
      g_string_append_printf (carried, "%d, ", number[o]);
    else
      g_string_append (carried, "None, ");
  loom_pytorch_need (l->s->w, "recurse");
  left = targets (l->s, l->k, l->body);
  GString *arguments = g_string_new (NULL), *call = g_string_new (NULL);
  g_auto (GStrv) names = g_strsplit (order->str, ", ", -1);
  /* The body is called by position, in the order above. */
  for (guint i = 0; i < l->n_inputs; i++)
    for (guint j = 0; names[j] != NULL; j++)
      if (strcmp (names[j], port_local (l, FALSE, i).id) == 0)
        g_string_append_printf (call, "%sa[%u]", i > 0 ? ", " : "", j);
  g_string_append_printf (arguments, "recurse(lambda *a: %s(%s), %s, (%s), (%s), (%s), %" G_GINT64_FORMAT ")",
                          l->member, call->str, parent, begin->str, given->str, carried->str, arity);
  loom_pytorch_forward (l->s, &l->local, g_strdup_printf ("%s = %s", left, arguments->str));
  g_string_free (arguments, TRUE);
  g_string_free (call, TRUE);
}

void
loom_pytorch_write_loop (PyScope *s, guint k)
{
  Loop l = { .s = s, .k = k, .local = loom_net_instance_local (s->instance, k) };
  const LoomLoop *spec = loom_op_loop (l.local.op);
  g_autofree char *made = NULL, *member = loom_pytorch_member ("self", l.local.id, FALSE);

  l.body = loom_net_instance_copy (s->instance, k, 0);
  l.member = member;
  l.n_inputs = loom_net_instance_n_ports (l.body, FALSE);
  l.n_outputs = loom_net_instance_n_ports (l.body, TRUE);
  l.infer = loom_net_infer (s->w->net, loom_net_instance_node (s->w->net, s->instance, k, 0));
  if (l.local.repeated || l.local.muted)
    {
      loom_pytorch_refuse (s->w, s->instance, &l.local,
                           "a %s that is repeated or muted has no counterpart; put it into a "
                           "module",
                           l.local.op->name);
      return;
    }
  made = construct_all (s, &l.local, k, spec->kind == LOOM_LOOP_SWITCH);
  loom_pytorch_init (s, &l.local, g_strdup_printf ("%s = %s", member, made));
  if (spec->kind == LOOM_LOOP_SCAN)
    write_scan (&l);
  else if (spec->kind == LOOM_LOOP_SWITCH)
    write_switch (&l);
  else
    write_tree (&l);
}
