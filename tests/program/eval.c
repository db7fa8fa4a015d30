/* Implements the tests' evaluator, see eval.h. */
#include "tests/program/eval.h"

#include <math.h>
#include <string.h>

static LoomTensor *
new_tensor (const LoomTensorDesc *d)
{
  g_autoptr (GError) error = NULL;
  LoomTensor *t = loom_tensor_new (d->dtype, d->rank, d->dim, &error);

  g_assert_no_error (error);
  return t;
}

Eval *
eval_new (const LoomProgram *p)
{
  Eval *e = g_new0 (Eval, 1);
  LoomMessage message = { "" };
  const LoomBackend *ref = loom_backend_ref ();

  e->p = p;
  e->value = g_new0 (LoomTensor *, loom_program_n_values (p) + 1);
  e->kernel = g_new0 (LoomKernel *, loom_program_n_instrs (p) + 1);
  if (ref->device_open (0, 1, &e->device, &message) != LOOM_STATUS_OK)
    g_error ("%s", message.text);
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    e->value[v] = new_tensor (&loom_value_info (p, v)->desc);
  return e;
}

void
eval_free (Eval *e)
{
  for (guint i = 0; i < loom_program_n_instrs (e->p); i++)
    {
      if (e->kernel[i] != NULL)
        e->kernel[i]->free (e->kernel[i]);
    }
  for (LoomValue v = 1; v <= loom_program_n_values (e->p); v++)
    loom_tensor_unref (e->value[v]);
  loom_backend_ref ()->device_close (e->device);
  g_free (e->kernel);
  g_free (e->value);
  g_free (e);
}

LoomTensor *
eval_tensor (Eval *e, LoomValue v)
{
  return e->value[v];
}

static double
normal (GRand *rand)
{
  double u = 1 - g_rand_double (rand), v = g_rand_double (rand);

  return sqrt (-2 * log (u)) * cos (2 * G_PI * v);
}

void
eval_fill (LoomTensor *t, const char *range, GRand *rand)
{
  g_autofree gint64 *order = g_new (gint64, t->count + 1);
  gboolean is_float = loom_dtype_is_float (t->dtype);
  gint64 classes = 3;

  if (range != NULL && g_str_has_prefix (range, "class:"))
    classes = g_ascii_strtoll (range + 6, NULL, 10);
  for (gint64 i = 0; i < t->count; i++)
    {
      gint64 k = g_rand_int_range (rand, 0, (gint32)i + 1);

      order[i] = order[k];
      order[k] = i;
    }
  for (gint64 i = 0; i < t->count; i++)
    {
      double x = normal (rand);

      if (!is_float)
        x = g_rand_int_range (rand, 0, t->dtype == LOOM_BOOL ? 2 : (gint32)classes);
      else if (g_strcmp0 (range, "positive") == 0)
        x = 0.5 + fabs (x);
      else if (g_strcmp0 (range, "unit") == 0)
        x = 0.9 * sin (x);
      else if (g_strcmp0 (range, "probability") == 0)
        x = 0.5 + 0.4 * sin (x);
      else if (g_strcmp0 (range, "above1") == 0)
        x = 1.2 + fabs (x);
      else if (g_strcmp0 (range, "away0") == 0)
        x = x < 0 ? x - 0.2 : x + 0.2;
      else if (g_strcmp0 (range, "distinct") == 0)
        x = 0.25 * (double)order[i] - 0.1 * (double)t->count;
      loom_tensor_set (t, i, x);
    }
}

void
eval_fill_all (Eval *e, const char *range, GRand *rand)
{
  for (LoomValue v = 1; v <= loom_program_n_values (e->p); v++)
    {
      const LoomValueInfo *info = loom_value_info (e->p, v);
      const LoomSlot *slot = info->slot >= 0 ? loom_program_get_slot (e->p, info->slot) : NULL;

      if (info->input >= 0)
        eval_fill (e->value[v], range, rand);
      else if (slot != NULL && slot->kind == LOOM_SLOT_PARAMETER)
        eval_fill (e->value[v], NULL, rand);
      else if (slot != NULL)
        {
          for (gint64 i = 0; i < e->value[v]->count; i++)
            loom_tensor_set (e->value[v], i, slot->init.kind == LOOM_INIT_CONSTANT ? slot->init.a : 0);
        }
    }
}

static LoomTensorDesc
desc_of (const LoomProgram *p, LoomValue v)
{
  LoomTensorDesc absent = { .dtype = LOOM_N_DTYPES };

  return v != 0 ? loom_value_info (p, v)->desc : absent;
}

static LoomKernel *
make_kernel (Eval *e, const LoomInstr *instr)
{
  g_autofree LoomTensorDesc *in = g_new0 (LoomTensorDesc, instr->n_in + 1);
  g_autofree LoomTensorDesc *out = g_new0 (LoomTensorDesc, instr->n_out + 1);
  LoomElementwiseAttrs attrs = { .n_steps = 1, .compute = LOOM_I64 };
  LoomKernelSpec spec = { instr->prim->name, instr->attrs, (int)instr->n_in, (int)instr->n_out, in, out };
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;

  for (guint k = 0; k < instr->n_in; k++)
    in[k] = desc_of (e->p, instr->in[k]);
  for (guint k = 0; k < instr->n_out; k++)
    out[k] = desc_of (e->p, instr->out[k]);
  if (instr->prim->flags & LOOM_PRIM_ELEMENTWISE)
    {
      attrs.step[0] = (LoomElementwiseStep){ .op = instr->prim->scalar, .arg = { 0, 1, 2 } };
      attrs.out[0] = (guint8)instr->n_in;
      for (guint k = 0; k < instr->n_in; k++)
        {
          if (loom_dtype_is_float (in[k].dtype))
            attrs.compute = loom_program_get_float (e->p);
        }
      spec.primitive = "elementwise";
      spec.attrs = &attrs;
    }
  if (loom_backend_ref ()->kernel_new (e->device, &spec, &kernel, &message) != LOOM_STATUS_OK)
    g_error ("no reference kernel for %s at %s: %s", instr->prim->name, instr->origin != NULL ? instr->origin : "-",
             message.text);
  return kernel;
}

/* Copies row `row` of a stack into a tensor, or the other way round. */
static void
move_row (LoomTensor *stack, gint64 row, LoomTensor *t, gboolean out)
{
  char *at = (char *)stack->data + row * (gint64)t->bytes;

  if (out)
    memcpy (at, t->data, t->bytes);
  else
    memcpy (t->data, at, t->bytes);
}

/* Evaluates the body for each row with a new evaluator. */
static void
run_scan (Eval *e, const LoomInstr *instr)
{
  const LoomScanAttrs *a = instr->attrs;
  g_autoptr (Eval) body = eval_new (a->body);

  for (gint64 t = 0; t < a->length; t++)
    {
      gint64 row = a->reverse ? a->length - 1 - t : t;

      for (guint i = 0; i < instr->n_in; i++)
        {
          LoomTensor *to = body->value[loom_program_get_input (a->body, i)->value], *from = e->value[instr->in[i]];

          if (i >= a->n_carried && i < a->n_carried + a->n_sequences)
            move_row (from, row, to, FALSE);
          else if (t == 0 || i >= a->n_carried)
            memcpy (to->data, from->data, to->bytes);
          else
            memcpy (to->data, e->value[instr->out[i]]->data, to->bytes);
        }
      eval_run (body);
      for (guint o = 0; o < instr->n_out; o++)
        {
          LoomTensor *from = body->value[loom_program_get_output (a->body, o)->value], *to = e->value[instr->out[o]];

          if (o < a->n_carried)
            memcpy (to->data, from->data, from->bytes);
          else
            move_row (to, row, from, TRUE);
        }
    }
}

/* ---- switch and visit ---------------------------------------------------------- */

/* The table of a link: by slot, row and element. */
typedef struct
{
  double *value;
  gint64 width;
} Table;

static void
fill_body (Eval *e, const LoomInstr *instr, Eval *body, const LoomProgram *program, const Table *tables, gint64 size,
           gint64 first, gint64 n, gint64 group)
{
  const LoomVisitAttrs *a = instr->attrs;
  guint leading = a->n_links > 0 ? 2 : 1, links = a->n_links * (a->down ? 1 : a->slots);

  for (guint i = 0; i < loom_program_n_inputs (program); i++)
    {
      LoomTensor *to = body->value[loom_program_get_input (program, i)->value], *from;
      guint link = i - a->n_rows, whole = i - a->n_rows - links;

      if (i < a->n_rows)
        {
          gsize bytes = to->bytes / (gsize)size;

          from = e->value[instr->in[leading + i]];
          memset (to->data, 0, to->bytes);
          for (gint64 r = 0; r < (i < a->n_zeroed ? n : size); r++)
            memcpy ((char *)to->data + (gsize)r * bytes, (char *)from->data + (gsize)((first + r) % a->size[0]) * bytes,
                    bytes);
        }
      else if (link < links)
        {
          const Table *t = &tables[a->down ? link : link / a->slots];

          for (gint64 k = 0; k < to->count; k++)
            {
              gint64 r = first + k / t->width, at = (a->down ? 0 : (gint64)(link % a->slots)) * a->size[0] + r;

              if (a->down && k / t->width < n)
                at = ((const gint64 *)e->value[instr->in[1]]->data)[r];
              loom_tensor_set (to, k, k / t->width < n ? t->value[at * t->width + k % t->width] : 0);
            }
        }
      else
        {
          from = e->value[instr->in[leading + a->n_rows + whole]];
          memcpy (to->data, from->data, to->bytes);
          if (whole < a->n_counters)
            *(gint64 *)to->data += group;
        }
    }
}

static void
take_body (Eval *e, const LoomInstr *instr, Eval *body, const LoomProgram *program, const Table *tables, gint64 size,
           gint64 first, gint64 n)
{
  const LoomVisitAttrs *a = instr->attrs;
  guint links = a->n_links * (a->down ? a->slots : 1);

  for (guint o = 0; o < loom_program_n_outputs (program); o++)
    {
      LoomTensor *from = body->value[loom_program_get_output (program, o)->value], *to;

      if (o < links)
        {
          const Table *t = &tables[a->down ? o / a->slots : o];

          for (gint64 k = 0; k < n * t->width; k++)
            {
              gint64 r = first + k / t->width;
              gint64 at = a->down ? (gint64)(o % a->slots) * a->size[0] + r
                                  : ((const gint64 *)e->value[instr->in[1]]->data)[r];

              t->value[at * t->width + k % t->width]
                  = (a->down ? 0 : t->value[at * t->width + k % t->width]) + loom_tensor_get (from, k);
            }
          continue;
        }
      to = e->value[instr->out[o - links]];
      if (o < links + a->n_sums)
        for (gint64 k = 0; k < to->count; k++)
          loom_tensor_set (to, k, loom_tensor_get (to, k) + loom_tensor_get (from, k));
      else
        memcpy ((char *)to->data + (gsize)first * (from->bytes / (gsize)size), from->data,
                from->bytes / (gsize)size * (gsize)n);
    }
}

static void
run_group (Eval *e, const LoomInstr *instr, const Table *tables, gint64 first, gint64 n, gint64 group)
{
  const LoomVisitAttrs *a = instr->attrs;
  guint size = MAX (a->n_sizes, 1) - 1;
  LoomProgram *program;

  while (a->size[size] < n)
    size--;
  program = a->body[size * a->n_branches + (a->levels ? 0 : (guint)group)];
  {
    g_autoptr (Eval) body = eval_new (program);

    fill_body (e, instr, body, program, tables, a->size[size], first, n, group);
    eval_run (body);
    take_body (e, instr, body, program, tables, a->size[size], first, n);
  }
}

/* Bodies have their own evaluators; links are plain tables. */
static void
run_visit (Eval *e, const LoomInstr *instr)
{
  const LoomVisitAttrs *a = instr->attrs;
  const gint64 *group = e->value[instr->in[0]]->data;
  g_autofree Table *tables = g_new0 (Table, a->n_links + 1);
  gint64 rows = a->size[0], done = 0;

  for (guint o = 0; o < a->n_sums; o++)
    memset (e->value[instr->out[o]]->data, 0, e->value[instr->out[o]]->bytes);
  for (guint l = 0; l < a->n_links; l++)
    {
      const LoomProgram *p = a->body[0];
      LoomValue v = loom_program_get_output (p, a->down ? l * a->slots : l)->value;

      tables[l].width = loom_desc_count (&loom_value_info (p, v)->desc) / rows;
      tables[l].value = g_new0 (double, (a->slots * rows + 1) * tables[l].width);
    }
  if (a->n_sizes == 0)
    run_group (e, instr, tables, 0, 0, group[0]);
  while (a->n_sizes > 0 && done < rows)
    {
      gint64 at = a->down ? rows - 1 - done : done, n = 1;

      while (done + n < rows && group[a->down ? at - n : at + n] == group[at])
        n++;
      run_group (e, instr, tables, a->down ? at - n + 1 : at, n, group[at]);
      done += n;
    }
  for (guint l = 0; l < a->n_links; l++)
    g_free (tables[l].value);
}

static void
run_on_host (Eval *e, const LoomInstr *instr)
{
  const void *in[8];
  void *out[8];
  LoomTensorDesc desc[16];
  LoomMessage message = { "" };

  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    desc[k] = desc_of (e->p, k < instr->n_in ? instr->in[k] : instr->out[k - instr->n_in]);
  for (guint k = 0; k < instr->n_in; k++)
    in[k] = e->value[instr->in[k]]->data;
  for (guint k = 0; k < instr->n_out; k++)
    out[k] = e->value[instr->out[k]]->data;
  if (instr->prim->on_host (instr->attrs, desc, in, out, &message) != LOOM_STATUS_OK)
    g_error ("%s: %s", instr->prim->name, message.text);
}

static void
run_instr (Eval *e, guint i)
{
  const LoomInstr *instr = loom_program_instr (e->p, i);
  g_autofree void **buffers = g_new0 (void *, instr->n_in + instr->n_out + 1);
  g_autofree void *scratch = NULL;
  LoomMessage message = { "" };
  LoomStatus status;

  if (instr->prim->view == LOOM_VIEW_ALWAYS)
    {
      memcpy (e->value[instr->out[0]]->data, e->value[instr->in[0]]->data, e->value[instr->in[0]]->bytes);
      return;
    }
  if (instr->prim->on_host != NULL)
    {
      run_on_host (e, instr);
      return;
    }
  if (instr->prim->bodies != NULL)
    {
      (instr->prim->n_distinct != NULL ? run_visit : run_scan) (e, instr);
      return;
    }
  if (e->kernel[i] == NULL)
    e->kernel[i] = make_kernel (e, instr);
  for (guint k = 0; k < instr->n_in; k++)
    buffers[k] = instr->in[k] != 0 ? e->value[instr->in[k]]->data : NULL;
  for (guint k = 0; k < instr->n_out; k++)
    buffers[instr->n_in + k] = instr->out[k] != 0 ? e->value[instr->out[k]]->data : NULL;
  for (guint k = 0; instr->prim->updates != NULL && k < instr->n_out; k++)
    {
      guint operand = instr->prim->updates (instr->attrs, k);

      memcpy (buffers[instr->n_in + k], buffers[operand], e->value[instr->in[operand]]->bytes);
      buffers[operand] = buffers[instr->n_in + k];
    }
  scratch = g_malloc (e->kernel[i]->scratch_bytes + 1);
  buffers[instr->n_in + instr->n_out] = e->kernel[i]->scratch_bytes > 0 ? scratch : NULL;
  status = e->kernel[i]->bind != NULL ? e->kernel[i]->bind (e->kernel[i], buffers, &message) : LOOM_STATUS_OK;
  if (status == LOOM_STATUS_OK)
    status = e->kernel[i]->run (e->kernel[i], NULL, buffers, &message);
  if (status != LOOM_STATUS_OK)
    g_error ("%s at %s: %s", instr->prim->name, instr->origin != NULL ? instr->origin : "-", message.text);
}

void
eval_run (Eval *e)
{
  for (guint i = 0; i < loom_program_n_instrs (e->p); i++)
    run_instr (e, i);
}

double
eval_scalar (Eval *e, LoomValue v)
{
  g_assert_cmpint (e->value[v]->count, ==, 1);
  return loom_tensor_get (e->value[v], 0);
}

void
eval_check_gradients (Eval *e, LoomValue loss, guint n, const LoomValue *wrt, const LoomValue *grads, const char *what)
{
  const double h = 1e-5;
  g_autofree double **said = g_new0 (double *, n + 1);

  eval_run (e);
  for (guint k = 0; k < n; k++)
    {
      LoomTensor *x = e->value[wrt[k]];

      said[k] = g_new0 (double, x->count + 1);
      for (gint64 i = 0; grads[k] != 0 && i < x->count; i++)
        said[k][i] = loom_tensor_get (e->value[grads[k]], i);
    }
  for (guint k = 0; k < n; k++)
    {
      LoomTensor *x = e->value[wrt[k]];

      for (gint64 i = 0; i < x->count; i++)
        {
          double at = loom_tensor_get (x, i), up, down, slope;

          loom_tensor_set (x, i, at + h);
          eval_run (e);
          up = eval_scalar (e, loss);
          loom_tensor_set (x, i, at - h);
          eval_run (e);
          down = eval_scalar (e, loss);
          loom_tensor_set (x, i, at);
          slope = (up - down) / (2 * h);
          if (!(fabs (slope - said[k][i]) <= 1e-6 + 2e-6 * fabs (slope)))
            {
              g_autofree char *listing = loom_program_print (e->p);

              g_test_message ("%s", listing);
              g_test_message ("%s, operand %u, element %" G_GINT64_FORMAT " (%g): gradient %.10g, difference %.10g",
                              what, k, i, at, said[k][i], slope);
              g_test_fail ();
              k = n;
              break;
            }
        }
    }
  for (guint k = 0; said[k] != NULL; k++)
    g_free (said[k]);
}

LoomValue
eval_contract (LoomProgram *p, guint n, const LoomValue *y, GRand *rand)
{
  LoomValue sum = 0;

  for (guint k = 0; k < n; k++)
    {
      LoomTensorDesc d = loom_value_info (p, y[k])->desc;
      g_autofree LoomValue *part = NULL;
      gint64 count = loom_desc_count (&d);
      LoomValue r, v;

      if (!loom_dtype_is_float (d.dtype))
        continue;
      /* The sum of no elements is 0, and so must all gradients be. */
      part = g_new (LoomValue, count + 1);
      for (gint64 i = 0; i < count; i++)
        part[i] = loom_fill (p, d.dtype, 1, (gint64[]){ 1 }, normal (rand));
      v = y[k];
      if (count > 0)
        {
          r = loom_reshape (p, loom_concat (p, (guint)count, part, 0), d.rank, d.dim);
          v = loom_binary (p, LOOM_SCALAR_MUL, v, r);
        }
      v = loom_sum_all (p, v);
      sum = sum == 0 ? v : loom_binary (p, LOOM_SCALAR_ADD, sum, v);
    }
  return sum;
}
