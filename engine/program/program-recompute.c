/* Activation recomputation (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016): values computed inside
 * a marked node are recomputed for the backward pass instead of kept.
 *
 * A scope is a marked node, one for each of its repetitions; scopes nest as paths do. If a backward instruction of a
 * scope reads a value that the scope computes, the instructions of that value are repeated before the first reader,
 * back to the scope's inputs. No other instruction moves, so the repeated ones are as late as possible, and they are
 * bit-identical: random numbers are functions of their keys, and commits name the first computation. In nested scopes
 * the repetition of the outer one leaves out the values of the inner one, which repeats them later. Each scope's
 * repeated instructions have a number, so that the planner does not merge them with the originals. */
#include "engine/program/program-body.h"

#include "engine/core/loom-compare.h"

#include <string.h>

typedef struct _Scope Scope;
struct _Scope
{
  Scope *parent;
  guint depth, number;
  GHashTable *recomputed; /* value of the first program → its recomputed value in the second */
};

typedef struct
{
  LoomRewrite r;
  GHashTable *marked;    /* paths of marked nodes; borrowed */
  GHashTable *by_path;   /* path → Scope; owned */
  GHashTable *by_origin; /* interned origin → Scope, or NULL */
  gboolean *kept;        /* by value: it lives until the backward pass anyway */
} Pass;

static void
scope_free (gpointer data)
{
  Scope *scope = data;

  g_hash_table_unref (scope->recomputed);
  g_free (scope);
}

/* The innermost scope of a path. */
static Scope *
scope_of_path (Pass *pass, const char *path)
{
  Scope *scope = NULL;

  for (const char *end = path; *end != '\0';)
    {
      g_autofree char *head = NULL;
      Scope *inner;

      end += strcspn (end, ".");
      head = g_strndup (path, (gsize)(end - path));
      if (*end == '.')
        end++;
      if (!g_hash_table_contains (pass->marked, head))
        continue;
      inner = g_hash_table_lookup (pass->by_path, head);
      if (inner == NULL)
        {
          inner = g_new0 (Scope, 1);
          inner->parent = scope;
          inner->depth = scope != NULL ? scope->depth + 1 : 1;
          inner->number = g_hash_table_size (pass->by_path) + 1;
          inner->recomputed = g_hash_table_new (NULL, NULL);
          g_hash_table_insert (pass->by_path, g_steal_pointer (&head), inner);
        }
      scope = inner;
    }
  return scope;
}

static Scope *
scope_of (Pass *pass, const char *origin)
{
  gpointer known;

  if (origin == NULL)
    return NULL;
  if (!g_hash_table_lookup_extended (pass->by_origin, origin, NULL, &known))
    {
      known = scope_of_path (pass, origin);
      g_hash_table_insert (pass->by_origin, (gpointer)origin, known);
    }
  return known;
}

/* The innermost scope that contains both scopes, or NULL. */
static Scope *
common_scope (Scope *a, Scope *b)
{
  while (a != b)
    {
      if (a == NULL || b == NULL)
        return NULL;
      if (a->depth >= b->depth)
        a = a->parent;
      else
        b = b->parent;
    }
  return a;
}

static Scope *
outermost (Scope *scope)
{
  while (scope != NULL && scope->parent != NULL)
    scope = scope->parent;
  return scope;
}

/* The instruction of the forward pass that computes v inside a scope, or NULL. A loop is not repeated: its backward
 * pass recomputes each iteration (scan-gradient.c) from the carried values. */
static const LoomInstr *
repeated_producer (Pass *pass, LoomValue v, Scope **scope)
{
  const LoomValueInfo *info = v != 0 ? loom_value_info (pass->r.from, v) : NULL;
  const LoomInstr *instr;

  *scope = NULL;
  if (info == NULL || info->producer == G_MAXUINT)
    return NULL;
  instr = loom_program_instr (pass->r.from, info->producer);
  if (instr->region != LOOM_REGION_FORWARD || (instr->prim->flags & LOOM_PRIM_LOOP) != 0)
    return NULL;
  *scope = scope_of (pass, instr->origin);
  return *scope != NULL ? instr : NULL;
}

/* Marks values that stay in memory because a reader in the backward pass is outside their scope, possibly in another
 * scope that is recomputed from them. Their own scope reads them too, instead of repeating them. */
static void
find_kept (Pass *pass)
{
  const LoomProgram *p = pass->r.from;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      Scope *reader = outermost (scope_of (pass, instr->origin));

      for (guint k = 0; k < instr->n_in; k++)
        {
          Scope *scope;

          if (repeated_producer (pass, instr->in[k], &scope) != NULL && outermost (scope) != reader
              && (instr->region != LOOM_REGION_FORWARD || reader != NULL))
            pass->kept[instr->in[k]] = TRUE;
        }
    }
  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    pass->kept[loom_program_get_output (p, i)->value] = TRUE;
}

/* The scope whose repetition of v is read in scope `reader`; NULL: v itself is read. */
static Scope *
repeating_scope (Pass *pass, LoomValue v, Scope *reader)
{
  Scope *scope;

  if (reader == NULL || repeated_producer (pass, v, &scope) == NULL || pass->kept[v])
    return NULL;
  return common_scope (scope, reader);
}

static LoomValue
look_up (Pass *pass, LoomValue v, Scope *reader)
{
  Scope *scope = repeating_scope (pass, v, reader);

  return scope != NULL ? GPOINTER_TO_UINT (g_hash_table_lookup (scope->recomputed, GUINT_TO_POINTER (v)))
                       : loom_rewrite_value (&pass->r, v);
}

static void
repeat_instr (Pass *pass, const LoomInstr *instr, Scope *scope)
{
  LoomProgram *to = pass->r.to;
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out + 1);

  for (guint k = 0; k < instr->n_in; k++)
    in[k] = look_up (pass, instr->in[k], scope);
  loom_program_set_region (to, LOOM_REGION_BACKWARD);
  loom_program_set_origin (to, instr->origin, instr->device);
  loom_program_set_recomputation (to, scope->number);
  loom_emit (to, instr->prim, instr->attrs, instr->n_in, in, out);
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      g_hash_table_insert (scope->recomputed, GUINT_TO_POINTER (instr->out[k]), GUINT_TO_POINTER (out[k]));
}

/* Repeats the instructions that a reader in scope `reader` needs for v, in the order of the forward pass. A scope may
 * contain a very long chain, so this uses an explicit stack, with recursion only for an enclosing scope. */
static void
repeat (Pass *pass, LoomValue v, Scope *reader)
{
  Scope *scope = repeating_scope (pass, v, reader);
  g_autoptr (GArray) pending = NULL, order = NULL;
  g_autoptr (GHashTable) seen = NULL;

  if (scope == NULL || g_hash_table_contains (scope->recomputed, GUINT_TO_POINTER (v)))
    return;
  pending = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  order = g_array_new (FALSE, FALSE, sizeof (guint));
  seen = g_hash_table_new (NULL, NULL);
  g_array_append_val (pending, v);
  while (pending->len > 0)
    {
      LoomValue next = g_array_index (pending, LoomValue, pending->len - 1);
      guint index = loom_value_info (pass->r.from, next)->producer;
      const LoomInstr *instr = loom_program_instr (pass->r.from, index);

      g_array_set_size (pending, pending->len - 1);
      if (!g_hash_table_add (seen, GUINT_TO_POINTER (index + 1)))
        continue;
      g_array_append_val (order, index);
      for (guint k = 0; k < instr->n_in; k++)
        {
          Scope *where = repeating_scope (pass, instr->in[k], scope);

          if (where == scope && !g_hash_table_contains (scope->recomputed, GUINT_TO_POINTER (instr->in[k])))
            g_array_append_val (pending, instr->in[k]);
          else if (where != NULL && where != scope)
            repeat (pass, instr->in[k], scope);
        }
    }
  g_array_sort (order, loom_compare_uints);
  for (guint i = 0; i < order->len; i++)
    repeat_instr (pass, loom_program_instr (pass->r.from, g_array_index (order, guint, i)), scope);
}

LoomProgram *
loom_program_recompute (const LoomProgram *p, GHashTable *scopes)
{
  Pass pass = { .marked = scopes };

  loom_rewrite_begin (&pass.r, p, "recomputation", "Recomputes the values of marked nodes for the backward pass.");
  pass.by_path = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, scope_free);
  pass.by_origin = g_hash_table_new (NULL, NULL);
  pass.kept = g_new0 (gboolean, loom_program_n_values (p) + 1);
  find_kept (&pass);
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);
      Scope *reader = instr->region == LOOM_REGION_BACKWARD ? scope_of (&pass, instr->origin) : NULL;

      for (guint k = 0; k < instr->n_in; k++)
        {
          repeat (&pass, instr->in[k], reader);
          in[k] = look_up (&pass, instr->in[k], reader);
        }
      loom_rewrite_copy (&pass.r, instr, in);
    }
  g_free (pass.kept);
  g_hash_table_unref (pass.by_origin);
  g_hash_table_unref (pass.by_path);
  return loom_rewrite_end (&pass.r);
}
