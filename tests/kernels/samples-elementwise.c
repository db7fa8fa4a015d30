/* The samples of element-wise programs and of reductions. */
#include "tests/kernels/kernel-harness.h"

#include <string.h>

/* Such a shape with another length along one axis, from axis `first` on. */
static LoomTensorDesc
with_length (const char *dims, int first, int axis, gint64 length)
{
  LoomTensorDesc d = desc (F, dims);

  d.dim[axis] = length;
  d.rank -= first;
  memmove (d.dim, d.dim + first, (gsize)d.rank * sizeof *d.dim);
  return d;
}

/* Parts of operands, of full rank and of less, and one that repeats along its axis; and results that are written in
 * parts and whole ones, or no whole one. */
static void
part_samples (GPtrArray *all)
{
  static const struct
  {
    const char *dims;
    int axis;
  } shape[] = { { "33,8", 1 }, { "5,7", 1 }, { "4,3,2,5", 1 }, { "4,3,8,12", 2 },
                { "4,12", 0 }, { "3", 0 },   { "1,1", 1 },     { "30,40,300", 2 } };

  for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
    for (int whole = 0; whole < 2; whole++)
      {
        const char *dims = shape[v].dims;
        const int axis = shape[v].axis;
        const gint64 n = desc (F, dims).dim[axis];
        Sample *s
            = sample_add (all, "elementwise", TIGHT, "parts of %s along %d%s", dims, axis, whole ? " and all" : "");
        LoomElementwiseAttrs *a = &SAMPLE_ATTRS (s, LoomElementwiseAttrs);

        s->joined = TRUE;
        sample_in (s, with_length (dims, 0, axis, 4 * n), FILL_NORMAL, 0); /* a result's shape */
        sample_in (s, with_length (dims, axis, axis, 2 * n + 1), FILL_NORMAL, 0);
        sample_in (s, desc (F, dims), FILL_NORMAL, 0);
        sample_in (s, with_length (dims, 0, axis, 1), FILL_NORMAL, 0);
        sample_in (s, with_length (dims, 0, axis, 5), FILL_NORMAL, 0);
        sample_out (s, with_length (dims, 0, axis, 4 * n));
        sample_out (s, whole ? desc (F, dims) : with_length (dims, 0, axis, 2 * n));
        a->compute = F;
        a->n_in_parts = 5;
        a->in_part[0] = (LoomElementwisePart){ .tensor = 0, .axis = (int8_t)axis, .start = 0, .length = n };
        a->in_part[1] = (LoomElementwisePart){ .tensor = 0, .axis = (int8_t)axis, .start = 2 * n, .length = n };
        a->in_part[2] = (LoomElementwisePart){ .tensor = 0, .axis = (int8_t)axis, .start = n, .length = n };
        a->in_part[3] = (LoomElementwisePart){ .tensor = 1, .axis = 0, .start = n + 1, .length = n };
        a->in_part[4] = (LoomElementwisePart){ .tensor = 4, .axis = (int8_t)axis, .start = 3, .length = 1 };
        a->n_steps = 6;
        a->step[0] = (LoomElementwiseStep){ LOOM_SCALAR_ADD, { 5, 8 } };
        a->step[1] = (LoomElementwiseStep){ LOOM_SCALAR_SIGMOID, { 10 } };
        a->step[2] = (LoomElementwiseStep){ LOOM_SCALAR_TANH, { 6 } };
        a->step[3] = (LoomElementwiseStep){ LOOM_SCALAR_FMA, { 11, 12, 2 } };
        a->step[4] = (LoomElementwiseStep){ LOOM_SCALAR_MUL, { 7, 3 } };
        a->step[5] = (LoomElementwiseStep){ LOOM_SCALAR_ADD, { 14, 9 } };
        a->n_out_parts = 4;
        a->out_part[0] = (LoomElementwisePart){ .reg = 13, .axis = (int8_t)axis, .start = 0, .length = n };
        a->out_part[1] = (LoomElementwisePart){ .reg = 15, .axis = (int8_t)axis, .start = 3 * n, .length = n };
        a->out_part[2] = (LoomElementwisePart){ .reg = 12, .axis = (int8_t)axis, .start = n, .length = n };
        a->out_part[3] = (LoomElementwisePart){ .reg = 6, .axis = (int8_t)axis, .start = 2 * n, .length = n };
        a->out[1] = 11;
        for (int k = 0; !whole && k < 2; k++)
          a->out_part[a->n_out_parts++] = (LoomElementwisePart){
            .tensor = 1, .reg = k == 0 ? 11 : 2, .axis = (int8_t)axis, .start = k * n, .length = n
          };
      }
}

static void
elementwise_samples (GPtrArray *all)
{
  static const char *const shape[][4] = {
    /* a, b, c, y */
    { "5", "5", "5", "5" },
    { "", "", "", "" },
    { "0,3", "3", "1", "0,3" },
    { "1", "700", "700", "700" },
    { "33,70", "70", "33,1", "33,70" },
    { "4,1,5", "3,1", "4,3,5", "4,3,5" },
    { "2,3,4,5", "3,1,1", "1,3,1,1", "2,3,4,5" },
    { "2,1,3,1,2", "5,1,4,1", "2,5,3,4,2", "2,5,3,4,2" },
    { "24,32,9,9", "1,32,1,1", "24,32,9,9", "24,32,9,9" },
    { "3,5,8", "8", "5,1", "3,5,8" }, /* runs of four and single elements */
    { "2,1,2,1,3,1,2,3", "1,2,1,2,1,2,1,3", "2,1,1", "2,2,2,2,3,2,2,3" },
  };

  for (int op = 0; op < LOOM_N_SCALARS; op++)
    for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
      for (int special = 0; special < 2; special++)
        {
          int arity = loom_scalar_arity ((LoomScalarOp)op);
          static const Fill fills[] = { [LOOM_DOMAIN_ALL] = FILL_NORMAL,
                                        [LOOM_DOMAIN_POSITIVE] = FILL_POSITIVE,
                                        [LOOM_DOMAIN_UNIT] = FILL_UNIT,
                                        [LOOM_DOMAIN_ABOVE_1] = FILL_POSITIVE };
          Fill kind = special ? FILL_SPECIAL : fills[loom_scalar_domain ((LoomScalarOp)op)];
          Sample *s;

          /* Large arguments of sin, cos and tan are libm's affair, and at a value such as
           * -0.5·20 gelu cancels to nothing in both. */
          if (special && (op == LOOM_SCALAR_SIN || op == LOOM_SCALAR_COS || op == LOOM_SCALAR_TAN || v > 4))
            continue;
          s = sample_add (all, "elementwise", op == LOOM_SCALAR_POW ? 1e-5 : TIGHT, "%s %s%s",
                          loom_scalar_name ((LoomScalarOp)op), shape[v][3], special ? " special" : "");
          for (int i = 0; i < arity; i++)
            sample_in (s, desc (F, shape[v][arity == 1 ? 3 : i]), kind, 0);
          sample_out (s, desc (F, arity == 2 && v == 5 ? "4,3,5" : shape[v][3]));
          if (arity == 2 && v == 5)
            s->in[1] = desc (F, "4,3,5");
          if (arity == 2 && v == 7)
            s->out[0] = desc (F, "2,5,3,4,2");
          s->nhwc = s->out[0].rank == 4;
          SAMPLE_ATTRS (s, LoomElementwiseAttrs).compute = F;
          SAMPLE_ATTRS (s, LoomElementwiseAttrs).n_steps = 1;
          SAMPLE_ATTRS (s, LoomElementwiseAttrs).step[0] = (LoomElementwiseStep){ (LoomScalarOp)op, { 0, 1, 2 }, 1.25 };
          SAMPLE_ATTRS (s, LoomElementwiseAttrs).out[0] = (uint8_t)arity;
        }
  part_samples (all);
  /* A chain with two results, one of them bool, and an operand of another type. */
  for (int big = 0; big < 2; big++)
    {
      const char *dims = big ? "300,700" : "7,9";
      Sample *s = sample_add (all, "elementwise", TIGHT, "chain %s", dims);
      LoomElementwiseAttrs *a = &SAMPLE_ATTRS (s, LoomElementwiseAttrs);

      sample_in (s, desc (F, dims), FILL_NORMAL, 0);
      sample_in (s, desc (F, big ? "700" : "9"), FILL_NORMAL, 0);
      sample_in (s, desc (LOOM_I64, dims), FILL_CLASS, 5);
      sample_out (s, desc (F, dims));
      sample_out (s, desc (LOOM_BOOL, dims));
      sample_out (s, desc (F, dims));
      a->compute = F;
      a->n_steps = 5;
      a->step[0] = (LoomElementwiseStep){ LOOM_SCALAR_ADD, { 0, 1 } };
      a->step[1] = (LoomElementwiseStep){ LOOM_SCALAR_TANH, { 3 } };
      a->step[2] = (LoomElementwiseStep){ LOOM_SCALAR_CONST, { 0 }, 0.5 };
      a->step[3] = (LoomElementwiseStep){ LOOM_SCALAR_FMA, { 4, 5, 2 } };
      a->step[4] = (LoomElementwiseStep){ LOOM_SCALAR_GT, { 0, 5 } };
      a->out[0] = 6;
      a->out[1] = 7;
      a->out[2] = 4;
    }
  /* A bias, a relu and both results. */
  for (int rows = 33; rows < 35; rows++)
    {
      g_autofree char *dims = g_strdup_printf ("%d,12", rows);
      Sample *s = sample_add (all, "elementwise", TIGHT, "bias and relu %s", dims);

      sample_in (s, desc (F, dims), FILL_NORMAL, 0);
      sample_in (s, desc (F, rows == 33 ? "12" : ""), FILL_NORMAL, 0);
      sample_out (s, desc (F, dims));
      sample_out (s, desc (F, dims));
      SAMPLE_ATTRS (s, LoomElementwiseAttrs)
          = (LoomElementwiseAttrs){ F, 2, { { LOOM_SCALAR_ADD, { 0, 1 } }, { LOOM_SCALAR_RELU, { 2 } } }, { 3, 2 } };
    }
  /* 3³⁹ has more digits than a double, in which the remainder would be wrong. */
  for (int power = 39; power < 41; power++)
    {
      Sample *s = sample_add (all, "elementwise", 0, "i64 power %d", power);

      sample_in (s, desc (LOOM_I64, "7"), FILL_VALUE, 3);
      sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, power);
      sample_out (s, desc (LOOM_I64, "7"));
      SAMPLE_ATTRS (s, LoomElementwiseAttrs) = (LoomElementwiseAttrs){
        LOOM_I64,
        3,
        { { LOOM_SCALAR_POW, { 0, 1 } }, { LOOM_SCALAR_CONST, { 0 }, 1000003 }, { LOOM_SCALAR_MOD, { 2, 3 } } },
        { 4 }
      };
    }
  {
    static const LoomScalarOp ops[] = { LOOM_SCALAR_EQ,   LOOM_SCALAR_AND, LOOM_SCALAR_OR,        LOOM_SCALAR_XOR,
                                        LOOM_SCALAR_ADD,  LOOM_SCALAR_MAX, LOOM_SCALAR_DIV_TRUNC, LOOM_SCALAR_DIV_FLOOR,
                                        LOOM_SCALAR_FMOD, LOOM_SCALAR_MOD, LOOM_SCALAR_POW };

    for (int op = 0; op < (int)G_N_ELEMENTS (ops); op++)
      for (int sign = 0; sign < 3; sign++) /* of the first operand, of the second; a third step makes the outer one */
        {
          Sample *s = sample_add (all, "elementwise", 0, "i64 %s signs %d", loom_scalar_name (ops[op]), sign);

          sample_in (s, desc (LOOM_I64, "41,5"), FILL_CLASS, 9);
          sample_in (s, desc (LOOM_U8, "5"), FILL_CLASS, 4);
          sample_out (s, desc (op < 4 ? LOOM_BOOL : LOOM_I64, "41,5"));
          SAMPLE_ATTRS (s, LoomElementwiseAttrs)
              = (LoomElementwiseAttrs){ LOOM_I64,
                                        3,
                                        { { sign & 1 ? LOOM_SCALAR_NEG : LOOM_SCALAR_ID, { 0 } },
                                          { sign & 2 ? LOOM_SCALAR_NEG : LOOM_SCALAR_ID, { 1 } },
                                          { ops[op], { 2, 3 } } },
                                        { 4 } };
        }
  }
}

static void
reduce_samples (GPtrArray *all)
{
  static const char *const shape[] = { "1",     "7",       "100000", "33,70",  "70,33",     "4,5,6,7", "0,4",
                                       "2,1,3", "500,300", "9001,5", "40,264", "2,136,2,4", "" };

  for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
    {
      LoomTensorDesc x = desc (F, shape[v]);

      for (guint axes = 0; axes < 1u << x.rank; axes++)
        for (int op = LOOM_REDUCE_SUM; op <= LOOM_REDUCE_PROD; op++)
          for (int special = 0; special < 2; special++)
            {
              gboolean extreme = op == LOOM_REDUCE_MAX || op == LOOM_REDUCE_MIN;
              Sample *s;

              if ((loom_desc_count (&x) == 0 && extreme) || (special && !extreme)
                  || (op == LOOM_REDUCE_PROD && loom_desc_count (&x) > 500))
                continue;
              s = sample_add (all, "reduce", 2e-5, "op %d of %s over %x%s", op, shape[v], axes,
                              special ? " special" : "");
              sample_in (s, x, special ? FILL_SPECIAL : FILL_NORMAL, 0);
              sample_out (s, x);
              for (int d = 0; d < x.rank; d++)
                if ((axes >> d) & 1)
                  s->out[0].dim[d] = 1;
              SAMPLE_ATTRS (s, LoomReduceAttrs) = (LoomReduceAttrs){ (LoomReduceOp)op, axes };
              s->nhwc = x.rank == 4;
            }
      for (int axis = 0; axis < x.rank && loom_desc_count (&x) > 0; axis++)
        for (int largest = 0; largest < 2; largest++)
          {
            Sample *s = sample_add (all, "argreduce", 0, "%s axis %d %s", shape[v], axis, largest ? "max" : "min");

            sample_in (s, x, largest ? FILL_SPECIAL : FILL_CLASS, 4);
            sample_out (s, x);
            s->out[0].dtype = LOOM_I64;
            s->out[0].dim[axis] = 1;
            SAMPLE_ATTRS (s, LoomArgReduceAttrs) = (LoomArgReduceAttrs){ largest, axis };
            if (x.dim[axis] < 3)
              continue;
            /* The last two elements along the axis do not count. */
            s = sample_add (all, "argreduce", 0, "%s axis %d %s padded", shape[v], axis, largest ? "max" : "min");
            sample_in (s, x, largest ? FILL_SPECIAL : FILL_CLASS, 4);
            sample_out (s, x);
            s->out[0].dtype = LOOM_I64;
            s->out[0].dim[axis] = 1;
            SAMPLE_ATTRS (s, LoomArgReduceAttrs) = (LoomArgReduceAttrs){ largest, axis, x.dim[axis] - 2 };
            s->joined = TRUE;
          }
    }
  {
    Sample *s = sample_add (all, "reduce", 0, "i64");

    sample_in (s, desc (LOOM_I64, "5,9"), FILL_CLASS, 100);
    sample_out (s, desc (LOOM_I64, "5,1"));
    SAMPLE_ATTRS (s, LoomReduceAttrs) = (LoomReduceAttrs){ LOOM_REDUCE_SUM, 2 };
  }
}

void
samples_elementwise (GPtrArray *all)
{
  elementwise_samples (all);
  reduce_samples (all);
}
