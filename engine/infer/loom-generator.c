/* Generation token by token, with the state of earlier positions stored in slots.
 *
 * The net is lowered for the number of tokens that are read at once: the prompt, then one at a time. All these programs
 * share a state, whose slots contain keys, values and recurrent states (LoomCarry); the slot of the position determines
 * how much of them is valid. Whether a net can be run position by position is determined by comparing its programs at
 * two lengths. */
#include "engine/infer/loom-generator.h"

#include <string.h>

#include "engine/infer/predictor-private.h"
#include "engine/program/loom-position-mixing.h"

#define PREFIX "generate."

struct _LoomGenerator
{
  LoomPredictor *predictor;
  gint64 context;
  gboolean limited; /* sees at most `context` tokens */
  gboolean keeps;
  char *why;
  GArray *seen; /* gint64: the tokens in the context */
  GPtrArray *answers;
  LoomState *state; /* with the cached keys and values */
  LoomExec *one, *many;
  gint64 n_many; /* number of tokens that `many` reads */
};

void
loom_generator_free (LoomGenerator *self)
{
  if (self == NULL)
    return;
  loom_exec_free (self->one);
  loom_exec_free (self->many);
  g_clear_pointer (&self->state, loom_state_unref);
  g_clear_pointer (&self->answers, g_ptr_array_unref);
  g_array_unref (self->seen);
  g_free (self->why);
  g_free (self);
}

/* ---- programs -------------------------------------------------------------------- */

/* The program that reads n more tokens; keepers, which may be NULL, receives the nodes that store state. */
static LoomProgram *
program_for (LoomGenerator *self, gint64 n, GHashTable *keepers, GError **error)
{
  LoomPredictor *predictor = self->predictor;
  LoomLowerOptions options = predictor_lower_options (predictor, 1, &predictor->output);
  g_autoptr (LoomNet) net = predictor_net (predictor, 1, n, error);
  LoomProgram *p;
  LoomValue value;

  options.carry = (LoomCarry){ .prefix = PREFIX, .all = TRUE, .capacity = self->context, .nodes = keepers };
  p = net != NULL ? loom_lower (net, &options, &value, error) : NULL;
  if (p == NULL)
    return NULL;
  loom_program_output (p, "answer", value);
  /* The caller sets the position before each run. */
  loom_program_scalar_i64 (p, PREFIX LOOM_CARRY_POSITION, 0);
  return p;
}

static gboolean
uses_places (const LoomPredictor *predictor, GHashTable *keepers)
{
  GHashTableIter iter;
  gpointer path;

  g_hash_table_iter_init (&iter, keepers);
  while (g_hash_table_iter_next (&iter, &path, NULL))
    {
      int node = loom_net_find (predictor->net, path);

      if (node >= 0 && !loom_op_has_param (loom_net_node (predictor->net, (guint)node)->op, LOOM_STATEFUL))
        return TRUE;
    }
  return FALSE;
}

/* Compares the net at two lengths that its own sizes are unlikely to be multiples of. */
static void
find_keepers (LoomGenerator *self)
{
  gint64 long_one = MIN (self->context, 7), short_one = long_one - (long_one > 2 ? 2 : 1);
  g_autoptr (GHashTable) keepers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (LoomProgram) a = NULL, b = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *mixing = NULL;

  if (self->context < 2)
    return; /* there are no earlier positions */
  a = program_for (self, short_one, keepers, &error);
  b = a != NULL ? program_for (self, long_one, NULL, &error) : NULL;
  mixing = b != NULL ? loom_program_find_position_mixing (a, short_one, b, long_one, keepers)
                     : g_strdup ("the net supports only the length of its context");
  self->keeps = mixing == NULL;
  self->limited = uses_places (self->predictor, keepers);
  if (mixing != NULL)
    self->why = g_strdup_printf ("The whole context is computed again for each token, because no state of earlier "
                                 "tokens can be cached: %s.",
                                 mixing);
}

LoomGenerator *
loom_generator_new (LoomPredictor *predictor, gboolean keep, GError **error)
{
  LoomGenerator *self = g_new0 (LoomGenerator, 1);
  const LoomShape *shape = &loom_predictor_input (predictor)->shape;

  self->predictor = predictor;
  self->context = loom_dim_value (shape->dim[shape->rank - 1], NULL);
  self->seen = g_array_new (FALSE, FALSE, sizeof (gint64));
  find_keepers (self);
  if (!self->keeps)
    self->limited = TRUE;
  else if (!keep)
    self->keeps = FALSE;
  else
    self->state = loom_state_new (predictor->devices, predictor->device, predictor->seed);
  return self;
}

const char *
loom_generator_why (const LoomGenerator *self)
{
  return self->why;
}

/* ---- reading --------------------------------------------------------------------- */

static const gint64 *
context_from (const LoomGenerator *self, guint from)
{
  return &g_array_index (self->seen, gint64, from);
}

/* Reads the last n of the tokens, after the others. */
static gboolean
run_kept (LoomGenerator *self, guint n, GError **error)
{
  LoomExec **exec = n == 1 ? &self->one : &self->many;
  LoomPredictor *predictor = self->predictor;
  g_autoptr (LoomTensor) t = NULL;

  if (n != 1 && self->n_many != n)
    g_clear_pointer (exec, loom_exec_free);
  if (*exec == NULL)
    {
      g_autoptr (LoomProgram) p = program_for (self, n, NULL, error);

      *exec = p != NULL ? predictor_exec (predictor, self->state, p, error) : NULL;
      if (*exec == NULL)
        return FALSE;
      if (n != 1)
        self->n_many = n;
    }
  loom_state_set_scalar (self->state, PREFIX LOOM_CARRY_POSITION, (double)(self->seen->len - n));
  loom_exec_feed (*exec, 0, context_from (self, self->seen->len - n));
  if (!loom_exec_run (*exec, error))
    return FALSE;
  t = loom_exec_output (*exec, (guint)loom_exec_find_output (*exec, "answer"), error);
  self->answers
      = t != NULL ? loom_answers_new (t, predictor->output_name, predictor->output_kind, TRUE, 1, error) : NULL;
  return self->answers != NULL;
}

static gboolean
run_whole (LoomGenerator *self, GError **error)
{
  gint64 n = self->seen->len;
  g_autoptr (LoomTensor) x = loom_tensor_new (LOOM_I64, 1, &n, error);

  if (x == NULL)
    return FALSE;
  memcpy (x->data, self->seen->data, (gsize)n * sizeof (gint64));
  self->answers = loom_predictor_run (self->predictor, &x, 1, error);
  return self->answers != NULL;
}

const LoomAnswer *
loom_generator_read (LoomGenerator *self, const gint64 *tokens, guint n, GError **error)
{
  guint most = (guint)self->context;

  g_return_val_if_fail (n > 0, NULL);

  g_clear_pointer (&self->answers, g_ptr_array_unref);
  g_array_append_vals (self->seen, tokens, n);
  if (self->limited && self->seen->len > most)
    {
      /* Positions are counted from the first token in the context, so a shortened text starts at 0 again. */
      guint left = self->why != NULL || n >= most ? most : MAX (most / 2, n);

      g_array_remove_range (self->seen, 0, self->seen->len - left);
      n = left;
    }
  if (!(self->keeps ? run_kept (self, n, error) : run_whole (self, error)))
    return NULL;
  return self->answers->pdata[0];
}
