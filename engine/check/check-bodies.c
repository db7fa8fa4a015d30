/* Evaluates loops and branches of a program: each body by an evaluator of its own, rows and links in plain tables. */
#include "engine/check/check-evaluate.h"

#include <string.h>

/* NULL: there is not enough memory. */
static CheckEval *
body_new (const CheckEval *eval, const LoomProgram *body)
{
  CheckEval *of = check_eval_new (body, NULL, eval->wide, eval->device);

  of->rounding = eval->rounding;
  for (LoomValue v = 1; v <= loom_program_n_values (body); v++)
    if (!check_eval_reserve (of, v))
      {
        check_eval_free (of);
        return NULL;
      }
  return of;
}

static LoomTensor *
input_of (CheckEval *body, guint i)
{
  return check_eval_value (body, loom_program_get_input (body->program, i)->value);
}

static LoomTensor *
output_of (CheckEval *body, guint o)
{
  return check_eval_value (body, loom_program_get_output (body->program, o)->value);
}

/* ---- scan ------------------------------------------------------------------------ */

static LoomStatus
run_scan (CheckEval *eval, const LoomInstr *instr, LoomMessage *message)
{
  const LoomScanAttrs *a = instr->attrs;
  g_autoptr (CheckEval) body = body_new (eval, a->body);
  LoomStatus status = body != NULL ? LOOM_STATUS_OK : LOOM_STATUS_OUT_OF_MEMORY;

  for (gint64 t = 0; t < a->length && status == LOOM_STATUS_OK; t++)
    {
      const gsize row = (gsize)(a->reverse ? a->length - 1 - t : t);

      for (guint i = 0; i < instr->n_in; i++)
        {
          LoomTensor *to = input_of (body, i);
          const char *from = check_eval_value (eval, instr->in[i])->data;

          if (i >= a->n_carried && i < a->n_carried + a->n_sequences)
            from += row * to->bytes;
          else if (i < a->n_carried && t > 0)
            from = check_eval_value (eval, instr->out[i])->data;
          memcpy (to->data, from, to->bytes);
        }
      status = check_eval_run_all (body, message);
      for (guint o = 0; o < instr->n_out && status == LOOM_STATUS_OK; o++)
        {
          const LoomTensor *from = output_of (body, o);

          if (instr->out[o] != 0)
            memcpy ((char *)check_eval_value (eval, instr->out[o])->data + (o < a->n_carried ? 0 : row * from->bytes),
                    from->data, from->bytes);
        }
    }
  return status;
}

/* ---- switch and visit ---------------------------------------------------------------- */

/* The values of a link: by slot, row and element. */
typedef struct
{
  double *value;
  gint64 width;
} Table;

/* Rows first … first + n-1 of a group, run by a body for `size` rows. */
typedef struct
{
  CheckEval *eval;
  const LoomInstr *instr;
  const LoomVisitAttrs *attrs;
  const Table *tables;
  gint64 size, first, n, group;
} Group;

static const gint64 *
dest_of (const Group *g)
{
  return check_eval_value (g->eval, g->instr->in[1])->data;
}

static void
fill_rows (const Group *g, LoomTensor *to, guint i, guint leading)
{
  const LoomTensor *from = check_eval_value (g->eval, g->instr->in[leading + i]);
  const gsize bytes = to->bytes / (gsize)g->size;

  memset (to->data, 0, to->bytes);
  for (gint64 r = 0; r < (i < g->attrs->n_zeroed ? g->n : g->size); r++)
    memcpy ((char *)to->data + (gsize)r * bytes,
            (const char *)from->data + (gsize)((g->first + r) % g->attrs->size[0]) * bytes, bytes);
}

static void
fill_link (const Group *g, LoomTensor *to, guint link)
{
  const Table *t = &g->tables[g->attrs->down ? link : link / g->attrs->slots];

  for (gint64 k = 0; k < to->count; k++)
    {
      const gint64 r = g->first + k / t->width;
      gint64 at = (g->attrs->down ? 0 : (gint64)(link % g->attrs->slots)) * g->attrs->size[0] + r;

      if (g->attrs->down && k / t->width < g->n)
        at = dest_of (g)[r];
      loom_tensor_set (to, k, k / t->width < g->n ? t->value[at * t->width + k % t->width] : 0);
    }
}

static void
fill_body (const Group *g, CheckEval *body)
{
  const LoomVisitAttrs *a = g->attrs;
  const guint leading = a->n_links > 0 ? 2 : 1, links = a->n_links * (a->down ? 1 : a->slots);

  for (guint i = 0; i < loom_program_n_inputs (body->program); i++)
    {
      LoomTensor *to = input_of (body, i);

      if (i < a->n_rows)
        fill_rows (g, to, i, leading);
      else if (i < a->n_rows + links)
        fill_link (g, to, i - a->n_rows);
      else
        {
          const guint whole = i - a->n_rows - links;

          memcpy (to->data, check_eval_value (g->eval, g->instr->in[leading + a->n_rows + whole])->data, to->bytes);
          if (whole < a->n_counters)
            *(gint64 *)to->data += g->group;
        }
    }
}

static void
take_link (const Group *g, const LoomTensor *from, guint o)
{
  const LoomVisitAttrs *a = g->attrs;
  const Table *t = &g->tables[a->down ? o / a->slots : o];

  for (gint64 k = 0; k < g->n * t->width; k++)
    {
      const gint64 r = g->first + k / t->width, at = a->down ? (gint64)(o % a->slots) * a->size[0] + r : dest_of (g)[r];
      double *to = &t->value[at * t->width + k % t->width];

      *to = (a->down ? 0 : *to) + loom_tensor_get (from, k);
    }
}

static void
take_body (const Group *g, CheckEval *body)
{
  const LoomVisitAttrs *a = g->attrs;
  const guint links = a->n_links * (a->down ? a->slots : 1);

  for (guint o = 0; o < loom_program_n_outputs (body->program); o++)
    {
      const LoomTensor *from = output_of (body, o);
      LoomTensor *to
          = o >= links && g->instr->out[o - links] != 0 ? check_eval_value (g->eval, g->instr->out[o - links]) : NULL;

      if (o < links)
        take_link (g, from, o);
      else if (to != NULL && o < links + a->n_sums)
        for (gint64 k = 0; k < to->count; k++)
          loom_tensor_set (to, k, loom_tensor_get (to, k) + loom_tensor_get (from, k));
      else if (to != NULL && g->size > 0)
        memcpy ((char *)to->data + (gsize)g->first * (from->bytes / (gsize)g->size), from->data,
                from->bytes / (gsize)g->size * (gsize)g->n);
      else if (to != NULL)
        memcpy (to->data, from->data, from->bytes);
    }
}

static LoomStatus
run_group (Group *g, LoomMessage *message)
{
  const LoomVisitAttrs *a = g->attrs;
  const gint64 branch = a->levels ? 0 : g->group;
  guint size = MAX (a->n_sizes, 1) - 1;
  LoomStatus status;

  if (branch < 0 || branch >= a->n_branches)
    return LOOM_STATUS_INDEX;
  while (size > 0 && a->size[size] < g->n)
    size--;
  g->size = a->size[size];
  {
    g_autoptr (CheckEval) body = body_new (g->eval, a->body[size * a->n_branches + (guint)branch]);

    if (body == NULL)
      return LOOM_STATUS_OUT_OF_MEMORY;
    fill_body (g, body);
    status = check_eval_run_all (body, message);
    if (status == LOOM_STATUS_OK)
      take_body (g, body);
  }
  return status;
}

static Table *
tables_new (const LoomVisitAttrs *a)
{
  Table *tables = g_new0 (Table, a->n_links + 1);

  for (guint l = 0; l < a->n_links; l++)
    {
      const LoomValue v = loom_program_get_output (a->body[0], a->down ? l * a->slots : l)->value;

      tables[l].width = loom_desc_count (&loom_value_info (a->body[0], v)->desc) / MAX (a->size[0], 1);
      tables[l].value = g_new0 (double, (a->slots * a->size[0] + 1) * MAX (tables[l].width, 1));
    }
  return tables;
}

/* TRUE if every row's link names a slot of a row, or the end of the table: none. */
static gboolean
has_places (CheckEval *eval, const LoomInstr *instr, gint64 rows)
{
  const LoomVisitAttrs *a = instr->attrs;
  const gint64 *dest = check_eval_value (eval, instr->in[1])->data;

  for (gint64 r = 0; r < rows; r++)
    if (dest[r] < 0 || dest[r] > (gint64)a->slots * a->size[0])
      return FALSE;
  return TRUE;
}

static LoomStatus
run_visit (CheckEval *eval, const LoomInstr *instr, LoomMessage *message)
{
  const LoomVisitAttrs *a = instr->attrs;
  const gint64 *group = check_eval_value (eval, instr->in[0])->data;
  g_autofree Table *tables = tables_new (a);
  const gint64 rows = a->n_sizes > 0 ? a->size[0] : 0;
  Group g = { .eval = eval, .instr = instr, .attrs = a, .tables = tables };
  LoomStatus status = a->n_links > 0 && !has_places (eval, instr, rows) ? LOOM_STATUS_INDEX : LOOM_STATUS_OK;

  for (guint o = 0; o < a->n_sums; o++)
    if (instr->out[o] != 0)
      memset (check_eval_value (eval, instr->out[o])->data, 0, check_eval_value (eval, instr->out[o])->bytes);
  if (a->n_sizes == 0 && status == LOOM_STATUS_OK)
    {
      g.group = group[0];
      status = run_group (&g, message);
    }
  for (gint64 done = 0; done < rows && status == LOOM_STATUS_OK; done += g.n)
    {
      const gint64 at = a->down ? rows - 1 - done : done;

      g.n = 1;
      while (done + g.n < rows && group[a->down ? at - g.n : at + g.n] == group[at])
        g.n++;
      g.first = a->down ? at - g.n + 1 : at;
      g.group = group[at];
      status = run_group (&g, message);
    }
  for (guint l = 0; l < a->n_links; l++)
    g_free (tables[l].value);
  return status;
}

LoomStatus
check_eval_run_bodies (CheckEval *eval, const LoomInstr *instr, LoomMessage *message)
{
  return instr->prim->n_distinct != NULL ? run_visit (eval, instr, message) : run_scan (eval, instr, message);
}
