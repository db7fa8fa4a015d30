/* Bodies of scans for tests, see scan-bodies.h. */
#include "tests/program/scan-bodies.h"

#include "engine/program/program-body.h"

#define ROWS   scan_case_rows
#define WIDTH  4
#define INPUTS 2

gint64 scan_case_rows = 3;

static LoomProgram *
begin (LoomDType dtype)
{
  LoomProgram *p = loom_program_new ();

  loom_program_set_float (p, dtype);
  loom_program_set_origin (p, "loop", NULL);
  return p;
}

static LoomValue
input (LoomProgram *p, const char *name, LoomDType dtype, int rank, gint64 a, gint64 b)
{
  return loom_program_input (p, name, dtype, rank, (gint64[]){ a, b });
}

/* h' = tanh (x·Wᵀ + h·Uᵀ + b), stacked: Elman's network. */
static LoomProgram *
elman (LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue h = input (p, "h", dtype, 2, ROWS, WIDTH), x = input (p, "x", dtype, 2, ROWS, INPUTS);
  LoomValue w = input (p, "w", dtype, 2, WIDTH, INPUTS), u = input (p, "u", dtype, 2, WIDTH, WIDTH);
  LoomValue b = input (p, "b", dtype, 1, WIDTH, 0), sum;

  sum = loom_binary (p, LOOM_SCALAR_ADD, loom_matmul (p, x, w, FALSE, TRUE), loom_matmul (p, h, u, FALSE, TRUE));
  h = loom_unary (p, LOOM_SCALAR_TANH, loom_binary (p, LOOM_SCALAR_ADD, sum, b));
  loom_program_output (p, "h", h);
  loom_program_output (p, "y", h);
  return p;
}

static LoomValue
columns (LoomProgram *p, LoomValue v, gint64 first)
{
  return loom_slice (p, v, (gint64[]){ 0, first }, (gint64[]){ 1, 1 }, (gint64[]){ ROWS, WIDTH });
}

/* Two carried values, four gates. */
static LoomProgram *
lstm (LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue h = input (p, "h", dtype, 2, ROWS, WIDTH), c = input (p, "c", dtype, 2, ROWS, WIDTH);
  LoomValue x = input (p, "x", dtype, 2, ROWS, 4 * WIDTH), u = input (p, "u", dtype, 2, 4 * WIDTH, WIDTH);
  LoomValue gates = loom_binary (p, LOOM_SCALAR_ADD, x, loom_matmul (p, h, u, FALSE, TRUE));
  LoomValue i = loom_unary (p, LOOM_SCALAR_SIGMOID, columns (p, gates, 0));
  LoomValue f = loom_unary (p, LOOM_SCALAR_SIGMOID, columns (p, gates, WIDTH));
  LoomValue g = loom_unary (p, LOOM_SCALAR_TANH, columns (p, gates, 2 * WIDTH));
  LoomValue o = loom_unary (p, LOOM_SCALAR_SIGMOID, columns (p, gates, 3 * WIDTH));

  c = loom_binary (p, LOOM_SCALAR_ADD, loom_binary (p, LOOM_SCALAR_MUL, f, c), loom_binary (p, LOOM_SCALAR_MUL, i, g));
  h = loom_binary (p, LOOM_SCALAR_MUL, o, loom_unary (p, LOOM_SCALAR_TANH, c));
  loom_program_output (p, "h", h);
  loom_program_output (p, "c", c);
  loom_program_output (p, "y", h);
  return p;
}

/* A whole operand that is multiplied element by element, twice: its gradient is no matrix product. A row that ends (x >
 * 0.5 as a mask) keeps its value. */
static LoomProgram *
masked (LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue h = input (p, "h", dtype, 2, ROWS, WIDTH), x = input (p, "x", dtype, 2, ROWS, 1);
  LoomValue w = input (p, "w", dtype, 2, ROWS, WIDTH), next;
  LoomValue mask = loom_binary (p, LOOM_SCALAR_GT, x, loom_const (p, dtype, 0.5));

  next = loom_unary (p, LOOM_SCALAR_SIN, loom_binary (p, LOOM_SCALAR_MUL, h, w));
  next = loom_binary (p, LOOM_SCALAR_ADD, next, loom_binary (p, LOOM_SCALAR_MUL, x, w));
  next = loom_ternary (p, LOOM_SCALAR_SELECT, mask, h, next);
  loom_program_output (p, "h", next);
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_MUL, next, next));
  loom_program_output (p, "before", h);
  return p;
}

/* Nothing is carried: a map, with a sum as a whole operand's gradient, and a result that is an operand. */
static LoomProgram *
mapped (LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue x = input (p, "x", dtype, 2, ROWS, WIDTH), b = input (p, "b", dtype, 1, WIDTH, 0);
  LoomValue y = loom_unary (p, LOOM_SCALAR_TANH, loom_binary (p, LOOM_SCALAR_ADD, x, b));

  loom_program_output (p, "y", y);
  loom_program_output (p, "x", x);
  return p;
}

/* An unchanged carried value, one that an operand replaces, and an integer counter. */
static LoomProgram *
shifted (LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue stays = input (p, "stays", dtype, 1, WIDTH, 0), last = input (p, "last", dtype, 1, WIDTH, 0);
  LoomValue count = loom_program_input (p, "count", LOOM_I64, 0, NULL), x = input (p, "x", dtype, 1, WIDTH, 0);
  LoomValue one = loom_fill (p, LOOM_I64, 0, NULL, 1);
  LoomValue y
      = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_MUL, stays, last), loom_cast (p, count, dtype));

  loom_program_output (p, "stays", stays);
  loom_program_output (p, "last", x);
  loom_program_output (p, "count", loom_binary (p, LOOM_SCALAR_ADD, count, one));
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_ADD, y, x));
  return p;
}

/* A loop in a loop: the inner one runs over the columns' sum with the outer's carried value as a whole operand. */
static LoomProgram *
nested (LoomDType dtype)
{
  LoomProgram *inner = elman (dtype), *p = begin (dtype);
  LoomValue h = input (p, "h", dtype, 2, ROWS, WIDTH),
            x = loom_program_input (p, "x", dtype, 3, (gint64[]){ 2, ROWS, INPUTS });
  LoomValue w = input (p, "w", dtype, 2, WIDTH, INPUTS), u = input (p, "u", dtype, 2, WIDTH, WIDTH);
  LoomValue b = input (p, "b", dtype, 1, WIDTH, 0), out[2];
  LoomScanAttrs attrs = { .body = inner, .length = 2, .n_carried = 1, .n_sequences = 1, .n_stacked = 1 };

  loom_emit (p, loom_prim ("scan"), &attrs, 5, (LoomValue[]){ h, x, w, u, b }, out);
  loom_program_unref (inner);
  loom_program_output (p, "h", loom_unary (p, LOOM_SCALAR_SIN, out[0]));
  loom_program_output (p, "y", out[1]);
  return p;
}

/* Each row attends to all keys: tanh of the sum of its product and each key, as in additive attention. */
static LoomProgram *
looking (LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue h = input (p, "h", dtype, 2, ROWS, WIDTH), x = input (p, "x", dtype, 2, ROWS, WIDTH);
  LoomValue keys = loom_program_input (p, "keys", dtype, 3, (gint64[]){ ROWS, SCAN_KEYS, WIDTH });
  LoomValue u = input (p, "u", dtype, 2, WIDTH, WIDTH), seen;

  seen = loom_reshape (p, loom_matmul (p, h, u, FALSE, TRUE), 3, (gint64[]){ ROWS, 1, WIDTH });
  seen = loom_unary (p, LOOM_SCALAR_TANH, loom_binary (p, LOOM_SCALAR_ADD, seen, keys));
  seen = loom_binary (p, LOOM_SCALAR_MUL, seen, loom_fill (p, dtype, 0, NULL, 1.0 / SCAN_KEYS));
  h = loom_reduce (p, LOOM_REDUCE_SUM, seen, 1u << 1, FALSE);
  loom_program_output (p, "h", loom_unary (p, LOOM_SCALAR_SIN, loom_binary (p, LOOM_SCALAR_ADD, h, x)));
  return p;
}

/* Statistics over the samples, which therefore need each other. */
static LoomProgram *
normalised (LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue h = input (p, "h", dtype, 2, ROWS, WIDTH), x = input (p, "x", dtype, 2, ROWS, WIDTH), out[3];
  const LoomNormAttrs attrs = { .eps = 1e-5 };

  loom_emit (p, loom_prim ("batch_norm"), &attrs, 3, (LoomValue[]){ loom_binary (p, LOOM_SCALAR_ADD, h, x), 0, 0 },
             out);
  h = loom_unary (p, LOOM_SCALAR_TANH, out[0]);
  loom_program_output (p, "h", h);
  loom_program_output (p, "y", h);
  return p;
}

const ScanCase scan_cases[] = {
  { "elman", 1, 1, 3, 1, elman },
  { "lstm", 2, 1, 1, 1, lstm },
  { "masked", 1, 1, 1, 2, masked },
  { "mapped", 0, 1, 1, 2, mapped },
  { "shifted", 3, 1, 0, 1, shifted },
  { "nested", 1, 1, 3, 1, nested },
  { "looking", 1, 1, 2, 0, looking },
  { "normalised", 1, 1, 0, 1, normalised },
  { NULL },
};

guint
scan_case_inputs (const ScanCase *c, LoomProgram *p, gint64 length, LoomDType dtype, LoomValue *in)
{
  g_autoptr (LoomProgram) body = c->body (dtype);
  guint n = loom_program_n_inputs (body);

  g_assert_cmpuint (n, <=, SCAN_MAX_OPERANDS);
  for (guint i = 0; i < n; i++)
    {
      const LoomProgramInput *from = loom_program_get_input (body, i);
      LoomTensorDesc d = loom_value_info (body, from->value)->desc;
      gboolean sequence = i >= c->n_carried && i < c->n_carried + c->n_sequences;
      gint64 dims[LOOM_MAX_RANK + 1] = { length };

      for (int r = 0; r < d.rank; r++)
        dims[r + sequence] = d.dim[r];
      in[i] = loom_program_input (p, from->name, d.dtype, d.rank + sequence, dims);
    }
  return n;
}

guint
scan_case_emit (const ScanCase *c, LoomProgram *p, gint64 length, ScanFlags flags, LoomDType dtype, const LoomValue *in,
                LoomValue *out)
{
  g_autoptr (LoomProgram) body = c->body (dtype);
  LoomScanAttrs attrs = { .body = body,
                          .length = length,
                          .n_carried = c->n_carried,
                          .n_sequences = c->n_sequences,
                          .n_stacked = c->n_stacked,
                          .reverse = (flags & SCAN_REVERSE) != 0,
                          .recompute = (flags & SCAN_RECOMPUTE) != 0,
                          .no_hoist = (flags & SCAN_NO_HOIST) != 0 };

  loom_program_set_origin (p, "loop", NULL);
  loom_emit (p, loom_prim ("scan"), &attrs, loom_program_n_inputs (body), in, out);
  return c->n_carried + c->n_stacked;
}

/* [rows…] → row t of [length, rows…] */
static LoomValue
row_of (LoomProgram *p, LoomValue v, gint64 t)
{
  const LoomTensorDesc d = loom_value_info (p, v)->desc;
  gint64 start[LOOM_MAX_RANK] = { t }, step[LOOM_MAX_RANK], to[LOOM_MAX_RANK];

  for (int r = 0; r < d.rank; r++)
    {
      step[r] = 1;
      to[r] = r == 0 ? 1 : d.dim[r];
    }
  return loom_reshape (p, loom_slice (p, v, start, step, to), d.rank - 1, d.dim + 1);
}

static LoomValue
as_row (LoomProgram *p, LoomValue v)
{
  const LoomTensorDesc d = loom_value_info (p, v)->desc;
  gint64 dims[LOOM_MAX_RANK] = { 1 };

  for (int r = 0; r < d.rank; r++)
    dims[r + 1] = d.dim[r];
  return loom_reshape (p, v, d.rank + 1, dims);
}

guint
scan_case_unroll (const ScanCase *c, LoomProgram *p, gint64 length, gboolean reverse, LoomDType dtype,
                  const LoomValue *in, LoomValue *out)
{
  g_autoptr (LoomProgram) body = c->body (dtype);
  guint n = loom_program_n_inputs (body);
  LoomValue now[SCAN_MAX_OPERANDS], rows[4][16];
  g_autofree LoomValue *map = g_new0 (LoomValue, loom_program_n_values (body) + 1);

  g_assert (length <= 16 && c->n_stacked <= 4);
  for (guint i = 0; i < n; i++)
    now[i] = in[i];
  loom_program_set_origin (p, "loop", NULL);
  for (gint64 t = 0; t < length; t++)
    {
      gint64 row = reverse ? length - 1 - t : t;

      for (guint i = 0; i < c->n_sequences; i++)
        now[c->n_carried + i] = row_of (p, in[c->n_carried + i], row);
      loom_program_inline (p, body, now, map);
      for (guint o = 0; o < c->n_carried + c->n_stacked; o++)
        {
          LoomValue v = map[loom_program_get_output (body, o)->value];

          if (o < c->n_carried)
            now[o] = out[o] = v;
          else
            rows[o - c->n_carried][row] = as_row (p, v);
        }
    }
  for (guint o = 0; o < c->n_stacked; o++)
    out[c->n_carried + o] = loom_concat (p, (guint)length, rows[o], 0);
  return c->n_carried + c->n_stacked;
}
