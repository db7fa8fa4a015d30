/* Who uses what: how often a value is read, by whom, and which instructions nobody needs. Every pass asks this. */
#include "engine/plan/plan-private.h"

void
work_count_uses (Work *w)
{
  for (guint v = 1; v < w->values->len; v++)
    work_value (w, v)->n_uses = 0;
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      if (instr->dead)
        continue;
      for (guint k = 0; k < instr->in->len; k++)
        if (work_in (instr, k) != 0)
          work_value (w, work_in (instr, k))->n_uses++;
    }
  /* A use of an alias is a use of what it stands for: chains are walked from the far end. */
  for (guint v = 1; v < w->values->len; v++)
    {
      WorkValue *value = work_value (w, v);

      value->n_uses += (value->is_output ? 1 : 0) + (value->commit >= 0 ? 1 : 0);
    }
  for (guint v = w->values->len - 1; v >= 1; v--)
    {
      WorkValue *value = work_value (w, v);

      if (value->alias != 0 && value->n_uses > 0)
        work_value (w, work_root (w, v))->n_uses += value->n_uses;
    }
}

WorkReaders *
work_readers_new (Work *w)
{
  WorkReaders *readers = g_new0 (WorkReaders, 1);
  g_autofree guint *next = NULL;

  readers->n = w->values->len;
  readers->start = g_new0 (guint, readers->n + 1);
  for (int pass = 0; pass < 2; pass++)
    {
      for (guint i = 0; i < w->instrs->len; i++)
        {
          const WorkInstr *instr = work_instr (w, i);

          for (guint k = 0; k < instr->in->len && !instr->dead; k++)
            {
              guint root = work_in (instr, k) != 0 ? work_root (w, work_in (instr, k)) : 0;

              if (root == 0)
                continue;
              if (pass == 0)
                readers->start[root + 1]++;
              else
                readers->instr[next[root]++] = i;
            }
        }
      if (pass == 1)
        break;
      for (guint v = 0; v < readers->n; v++)
        readers->start[v + 1] += readers->start[v];
      readers->instr = g_new (guint, readers->start[readers->n] + 1);
      next = g_memdup2 (readers->start, readers->n * sizeof *next);
    }
  return readers;
}

void
work_readers_free (WorkReaders *readers)
{
  g_free (readers->start);
  g_free (readers->instr);
  g_free (readers);
}

WorkInstr *
work_only_reader (Work *w, const WorkReaders *readers, guint v, gboolean aliases, guint *index)
{
  const WorkValue *value = work_value (w, v);

  if (value->n_uses != 1 || value->is_output || value->commit >= 0 || v >= readers->n)
    return NULL;
  for (guint r = readers->start[v]; r < readers->start[v + 1]; r++)
    {
      WorkInstr *instr = work_instr (w, readers->instr[r]);

      for (guint k = 0; k < instr->in->len && !instr->dead; k++)
        if (work_in (instr, k) == v || (aliases && work_in (instr, k) != 0 && work_root (w, work_in (instr, k)) == v))
          {
            if (index != NULL)
              *index = readers->instr[r];
            return instr;
          }
    }
  return NULL;
}

void
work_remove_dead (Work *w)
{
  g_autofree gboolean *wanted = g_new0 (gboolean, w->values->len);

  for (guint v = 1; v < w->values->len; v++)
    if (work_value (w, v)->is_output || work_value (w, v)->commit >= 0)
      wanted[work_root (w, v)] = TRUE;
  for (guint i = w->instrs->len; i-- > 0;)
    {
      WorkInstr *instr = work_instr (w, i);
      gboolean needed = FALSE;

      if (instr->dead)
        continue;
      for (guint k = 0; k < instr->out->len; k++)
        needed |= work_out (instr, k) != 0 && wanted[work_out (instr, k)];
      if (!needed)
        {
          instr->dead = TRUE;
          continue;
        }
      for (guint k = 0; k < instr->in->len; k++)
        if (work_in (instr, k) != 0)
          wanted[work_root (w, work_in (instr, k))] = TRUE;
    }
}
