/* Detects whether a program mixes positions of a sequence: finds the sequence axis of each value, and the instructions
 * that combine elements along it.
 *
 * Shape rules are not repeated here: the net is lowered for two lengths, and the axis whose size differs is the
 * sequence axis. A primitive's rule decides whether it keeps positions separate (position-rules.c). */
#include "engine/program/loom-position-mixing.h"
#include "engine/program/position-rules.h"

#include <string.h>

typedef struct
{
  const LoomProgram *a;
  int *axis; /* by value: its sequence axis */
} Sequence;

/* ---- values ------------------------------------------------------------------- */

static int
axis_of (const LoomTensorDesc *a, gint64 n_a, const LoomTensorDesc *b, gint64 n_b)
{
  int axis = LOOM_NO_AXIS;

  if (a->rank != b->rank)
    return LOOM_UNCLEAR_AXIS;
  for (int i = 0; i < a->rank; i++)
    {
      if (a->dim[i] == b->dim[i])
        continue;
      if (axis != LOOM_NO_AXIS || a->dim[i] % n_a != 0 || a->dim[i] / n_a * n_b != b->dim[i])
        return LOOM_UNCLEAR_AXIS;
      axis = i;
    }
  return axis;
}

/* ---- instructions ----------------------------------------------------------------- */

/* TRUE for a node that stores what it needs of earlier positions (`keepers`), if only its loop, which iterates over
 * positions, has a sequence axis. */
static gboolean
is_trusted (const Sequence *w, const LoomInstr *instr, GHashTable *keepers)
{
  const LoomScanAttrs *scan = instr->attrs;

  if (keepers == NULL || instr->origin == NULL || !g_hash_table_contains (keepers, instr->origin))
    return FALSE;
  if ((instr->prim->flags & LOOM_PRIM_LOOP) == 0)
    return TRUE;
  for (guint k = 0; k < instr->n_in; k++)
    {
      gboolean steps = k >= scan->n_carried && k < scan->n_carried + scan->n_sequences;

      if (w->axis[instr->in[k]] != (steps ? 0 : LOOM_NO_AXIS))
        return FALSE;
    }
  return TRUE;
}

static gboolean
keeps_apart (const Sequence *w, const LoomInstr *instr)
{
  LoomPositionCall c = { .instr = instr, .to = LOOM_NO_AXIS };
  gboolean some = FALSE;

  for (guint k = 0; k < instr->n_in; k++)
    {
      int axis = w->axis[instr->in[k]];

      if (axis == LOOM_UNCLEAR_AXIS)
        return FALSE;
      some = some || axis >= 0;
      if (k < G_N_ELEMENTS (c.in))
        {
          c.axis[k] = axis;
          c.in[k] = instr->in[k] != 0 ? value_desc (w->a, instr->in[k]) : NULL;
        }
    }
  for (guint k = instr->n_out; k-- > 0;)
    {
      if (instr->out[k] == 0)
        continue;
      if (w->axis[instr->out[k]] == LOOM_UNCLEAR_AXIS)
        return FALSE;
      some = some || w->axis[instr->out[k]] >= 0;
      c.to = w->axis[instr->out[k]];
      c.out = value_desc (w->a, instr->out[k]);
    }
  if (!some)
    return TRUE;
  if (c.out == NULL)
    return FALSE;
  return instr->prim->separates_positions != NULL && instr->prim->separates_positions (&c);
}

/* TRUE if both programs have the same instructions and the same state. */
static gboolean
are_alike (const LoomProgram *a, const LoomProgram *b)
{
  if (loom_program_n_values (a) != loom_program_n_values (b) || loom_program_n_instrs (a) != loom_program_n_instrs (b)
      || loom_program_n_slots (a) != loom_program_n_slots (b))
    return FALSE;
  for (guint i = 0; i < loom_program_n_instrs (a); i++)
    {
      const LoomInstr *x = loom_program_instr (a, i), *y = loom_program_instr (b, i);

      if (x->prim != y->prim || x->n_in != y->n_in || x->n_out != y->n_out
          || (x->n_in > 0 && memcmp (x->in, y->in, x->n_in * sizeof *x->in) != 0)
          || (x->n_out > 0 && memcmp (x->out, y->out, x->n_out * sizeof *x->out) != 0))
        return FALSE;
    }
  for (guint i = 0; i < loom_program_n_slots (a); i++)
    {
      const LoomSlot *x = loom_program_get_slot (a, i), *y = loom_program_get_slot (b, i);

      if (!g_str_equal (x->name, y->name) || x->rank != y->rank
          || memcmp (x->dim, y->dim, (gsize)x->rank * sizeof *x->dim) != 0)
        return FALSE;
    }
  return TRUE;
}

char *
loom_program_find_position_mixing (const LoomProgram *a, gint64 n_a, const LoomProgram *b, gint64 n_b,
                                   GHashTable *keepers)
{
  g_autofree int *axis = g_new (int, loom_program_n_values (a) + 1);
  Sequence w = { a, axis };

  g_return_val_if_fail (n_a > 0 && n_b > 0 && n_a != n_b, NULL);

  if (!are_alike (a, b))
    return g_strdup ("the structure of the net depends on the length");
  axis[0] = LOOM_NO_AXIS; /* the operand is absent */
  for (LoomValue v = 1; v <= loom_program_n_values (a); v++)
    axis[v] = axis_of (value_desc (a, v), n_a, value_desc (b, v), n_b);
  for (guint i = 0; i < loom_program_n_instrs (a); i++)
    {
      const LoomInstr *instr = loom_program_instr (a, i);

      if (!is_trusted (&w, instr, keepers) && !keeps_apart (&w, instr))
        return g_strdup_printf ("“%s” (%s) mixes positions", instr->origin != NULL ? instr->origin : "the net",
                                instr->prim->name);
    }
  return NULL;
}
