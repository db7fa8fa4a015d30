/* The samples of primitives that move, convert and create elements. */
#include "tests/kernels/kernel-harness.h"

/* Calls that a planner fuses from several: a part of a tensor with permuted axes, also reversed, and adjacent permuted
 * tensors, with sizes that leave remainders if several elements are moved at a time. */
static void
joined_moves (GPtrArray *all, LoomDType type)
{
  Sample *s;

  for (int width = 7; width <= 8; width++)
    {
      g_autofree char *x = g_strdup_printf ("2,9,%d", 3 * 5 * width), *y = g_strdup_printf ("2,5,9,%d", width);

      for (int k = 0; k < 3; k++)
        {
          s = sample_add (all, "move", 0, "head %d of %d %s", k, width, loom_dtype_name (type));
          sample_in (s, desc (type, x), FILL_CLASS, 100);
          sample_out (s, desc (type, y));
          SAMPLE_ATTRS (s, LoomMoveAttrs) = (LoomMoveAttrs){
            .n = 1,
            .part = { { .rank = 4,
                        .dim = { 2, 5, 9, width },
                        .from_start = k * 5 * width,
                        .from = { 9 * 15 * width, width, 15 * width, 1 },
                        .to = { 5 * 9 * width, 9 * width, width, 1 } } },
            .rank = 4,
            .dim = { 2, 5, 9, width },
          };
        }
      s = sample_add (all, "move", 0, "heads of %d %s", width, loom_dtype_name (type));
      for (int k = 0; k < 3; k++)
        sample_in (s, desc (type, y), FILL_CLASS, 100);
      sample_out (s, desc (type, x));
      SAMPLE_ATTRS (s, LoomMoveAttrs) = (LoomMoveAttrs){ .n = 3, .rank = 3, .dim = { 2, 9, 15 * width } };
      for (int k = 0; k < 3; k++)
        SAMPLE_ATTRS (s, LoomMoveAttrs).part[k] = (LoomMovePart){ .rank = 4,
                                                                  .dim = { 2, 9, 5, width },
                                                                  .from = { 5 * 9 * width, width, 9 * width, 1 },
                                                                  .to_start = k * 5 * width,
                                                                  .to = { 9 * 15 * width, 15 * width, width, 1 } };
    }
  s = sample_add (all, "move", 0, "backwards %s", loom_dtype_name (type));
  sample_in (s, desc (type, "40,70"), FILL_CLASS, 100);
  sample_out (s, desc (type, "35,40"));
  SAMPLE_ATTRS (s, LoomMoveAttrs) = (LoomMoveAttrs){
    .n = 1,
    .part = { { .rank = 2, .dim = { 35, 40 }, .from_start = 39 * 70 + 69, .from = { -2, -70 }, .to = { 40, 1 } } },
    .rank = 2,
    .dim = { 35, 40 },
  };
  s = sample_add (all, "move", 0, "scalar %s", loom_dtype_name (type));
  sample_in (s, desc (type, "5"), FILL_CLASS, 100);
  sample_out (s, desc (type, ""));
  SAMPLE_ATTRS (s, LoomMoveAttrs) = (LoomMoveAttrs){ .n = 1, .part = { { .from_start = 3 } } };
}

/* Sums of rows by index: few indices, many, and few for a large table, one row that all name, rows named by much of a
 * list, in widths that are read by pieces of 16 bytes or not. */
static void
sum_samples (GPtrArray *all)
{
  static const struct
  {
    const char *index, *g, *table;
    int named; /* rows that may be */
  } sum[] = {
    { "1", "1,8", "3,8", 3 },
    { "512", "512,12", "9,12", 9 },
    { "513", "513,12", "9,12", 9 },
    { "700", "700", "40", 40 },
    { "1000", "1000,7", "20,7", 1 },
    { "4,250", "4,250,16", "20,16", 20 },
    { "500", "500,2,4", "90000,2,4", 90000 },
    { "9000", "9000,24", "11,24", 3 },
    { "9000", "9000,3", "4000,3", 4000 },
  };

  for (int v = 0; v < (int)G_N_ELEMENTS (sum); v++)
    for (int narrow = 0; narrow < 2; narrow++)
      {
        LoomTensorDesc index = desc (narrow ? LOOM_I32 : LOOM_I64, sum[v].index);
        Sample *s = sample_add (all, "scatter_add_rows", 1e-4, "%s of %s by %s, %d rows named", sum[v].table, sum[v].g,
                                loom_dtype_name (index.dtype), sum[v].named);

        sample_in (s, index, FILL_CLASS, sum[v].named);
        sample_in (s, desc (F, sum[v].g), FILL_NORMAL, 0);
        sample_out (s, desc (F, sum[v].table));
      }
}

static void
move_samples (GPtrArray *all)
{
  static const struct
  {
    const char *x, *y;
    int perm[4];
  } permutes[] = { { "5", "5", { 0 } },
                   { "3,4", "4,3", { 1, 0 } },
                   { "130,70", "70,130", { 1, 0 } },
                   { "2,3,4,5", "2,4,5,3", { 0, 2, 3, 1 } },
                   { "4,6,5,8", "4,5,6,8", { 0, 2, 1, 3 } },
                   { "3,4,5,2", "2,5,4,3", { 3, 2, 1, 0 } },
                   { "0,4", "4,0", { 1, 0 } },
                   { "20,30,40", "40,20,30", { 2, 0, 1 } } };
  static const LoomDType types[] = { LOOM_F32, LOOM_I64, LOOM_U8, LOOM_BF16 };
  static const struct
  {
    const char *x, *y;
  } expands[] = { { "", "3,4" }, { "4", "3,4" },      { "3,1", "3,4" }, { "2,1,3,1", "2,5,3,4" },
                  { "1", "0" },  { "5,1", "2,5,600" } };
  Sample *s;

  for (int t = 0; t < 4; t++)
    {
      for (int v = 0; v < (int)G_N_ELEMENTS (permutes); v++)
        {
          s = sample_add (all, "permute", 0, "%s to %s %s", permutes[v].x, permutes[v].y, loom_dtype_name (types[t]));
          sample_in (s, desc (types[t], permutes[v].x), FILL_CLASS, 100);
          sample_out (s, desc (types[t], permutes[v].y));
          for (int d = 0; d < 4; d++)
            SAMPLE_ATTRS (s, LoomPermuteAttrs).perm[d] = permutes[v].perm[d];
        }
      for (int v = 0; v < (int)G_N_ELEMENTS (expands); v++)
        {
          s = sample_add (all, "expand", 0, "%s to %s %s", expands[v].x, expands[v].y, loom_dtype_name (types[t]));
          sample_in (s, desc (types[t], expands[v].x), FILL_CLASS, 100);
          sample_out (s, desc (types[t], expands[v].y));
        }
      s = sample_add (all, "slice", 0, "steps %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "4,9,7"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,4,3"));
      SAMPLE_ATTRS (s, LoomSliceAttrs) = (LoomSliceAttrs){ { 1, 1, 3 }, { 2, 2, 1 } };
      s = sample_add (all, "slice", 0, "empty %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "4,9"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "4,0"));
      SAMPLE_ATTRS (s, LoomSliceAttrs) = (LoomSliceAttrs){ { 0, 9 }, { 1, 1 } };
      s = sample_add (all, "slice", 0, "rank 4 %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,6,5,4"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,3,5,2"));
      SAMPLE_ATTRS (s, LoomSliceAttrs) = (LoomSliceAttrs){ { 0, 1, 0, 1 }, { 1, 2, 1, 1 } };
      s->nhwc = TRUE;
      s = sample_add (all, "slice", 0, "backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "4,9,7"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,9,7"));
      SAMPLE_ATTRS (s, LoomSliceAttrs) = (LoomSliceAttrs){ { 3, 8, 6 }, { -2, -1, -1 } };
      s = sample_add (all, "slice", 0, "last axis backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "33,70"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "33,70"));
      SAMPLE_ATTRS (s, LoomSliceAttrs) = (LoomSliceAttrs){ { 0, 69 }, { 1, -1 } };
      s = sample_add (all, "slice", 0, "channels backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,6,5,4"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,6,5,4"));
      SAMPLE_ATTRS (s, LoomSliceAttrs) = (LoomSliceAttrs){ { 0, 5, 0, 3 }, { 1, -1, 1, -1 } };
      s->nhwc = TRUE;
      s = sample_add (all, "pad", 0, "backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,4,7"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "4,9,7"));
      SAMPLE_ATTRS (s, LoomPadAttrs) = (LoomPadAttrs){ { 3, 8, 6 }, { -2, -1, -1 }, 3 };
      s = sample_add (all, "pad", 0, "channels backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,6,5,3"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,6,5,4"));
      SAMPLE_ATTRS (s, LoomPadAttrs) = (LoomPadAttrs){ { 0, 5, 4, 3 }, { 1, -1, -1, -1 }, 1 };
      s->nhwc = TRUE;
      s = sample_add (all, "pad", 0, "steps %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,4,3"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "4,9,7"));
      SAMPLE_ATTRS (s, LoomPadAttrs) = (LoomPadAttrs){ { 1, 1, 3 }, { 2, 2, 1 }, 3 };
      s = sample_add (all, "pad", 0, "scalar %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "1,1"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "3,5"));
      SAMPLE_ATTRS (s, LoomPadAttrs) = (LoomPadAttrs){ { 2, 1 }, { 1, 1 }, 0 };
      for (int axis = 0; axis < 4; axis++)
        {
          s = sample_add (all, "concat", 0, "axis %d %s", axis, loom_dtype_name (types[t]));
          for (int i = 0; i < 3; i++)
            {
              sample_in (s, desc (types[t], "2,3,4,5"), FILL_CLASS, 100);
              s->in[i].dim[axis] = i == 1 ? 0 : i + 2;
            }
          sample_out (s, desc (types[t], "2,3,4,5"));
          s->out[0].dim[axis] = 6;
          SAMPLE_ATTRS (s, LoomConcatAttrs).axis = axis;
          s->nhwc = TRUE;
        }
      joined_moves (all, types[t]);
      s = sample_add (all, "fill", 0, "%s", loom_dtype_name (types[t]));
      sample_out (s, desc (types[t], "3,50"));
      SAMPLE_ATTRS (s, LoomFillAttrs).value = 3;
      for (int axis = 0; axis < 2; axis++)
        {
          s = sample_add (all, "iota", 0, "axis %d %s", axis, loom_dtype_name (types[t]));
          sample_out (s, desc (types[t], "6,5"));
          SAMPLE_ATTRS (s, LoomIotaAttrs) = (LoomIotaAttrs){ axis, 2, 3 };
        }
    }
  for (int from = 0; from < LOOM_N_DTYPES; from++)
    for (int to = 0; to < LOOM_N_DTYPES; to++)
      {
        gboolean real = loom_dtype_is_float ((LoomDType)from) && loom_dtype_is_float ((LoomDType)to);

        if (from == LOOM_F64 || to == LOOM_F64)
          continue; /* f32 becomes f64 on the reference side anyway */
        s = sample_add (all,
                        from == to       ? "reorder"
                        : to == LOOM_F32 ? "cast"
                                         : "copy",
                        0, "%s to %s", loom_dtype_name ((LoomDType)from), loom_dtype_name ((LoomDType)to));
        sample_in (s, desc ((LoomDType)from, "2,3,4,5"), real ? FILL_NORMAL : FILL_CLASS, 100);
        sample_out (s, desc ((LoomDType)to, "2,3,4,5"));
        s->nhwc = TRUE;
      }
  /* A value that does not fit, NaN and infinities included, becomes the smallest i64 and of that the lowest bits. */
  for (int to = LOOM_I64; to < LOOM_N_DTYPES; to++)
    for (int special = 0; special < 2; special++)
      {
        s = sample_add (all, "copy", 0, "%s f32 to %s", special ? "special" : "signed",
                        loom_dtype_name ((LoomDType)to));
        sample_in (s, desc (F, "77"), special ? FILL_SPECIAL : FILL_NORMAL, 0);
        sample_out (s, desc ((LoomDType)to, "77"));
      }
  s = sample_add (all, "copy", 0, "large");
  sample_in (s, desc (F, "8,40,30,30"), FILL_NORMAL, 0);
  sample_out (s, desc (F, "8,40,30,30"));
  s->nhwc = TRUE;
  for (int narrow = 0; narrow < 2; narrow++)
    for (int v = 0; v < 3; v++)
      {
        static const char *const table[] = { "5,3", "50,64", "7" }, *const index[] = { "4", "2,30", "0" },
                                 *const y[] = { "4,3", "2,30,64", "0" };
        LoomDType type = narrow ? LOOM_I32 : LOOM_I64;

        s = sample_add (all, "gather_rows", 0, "%s by %s %s", table[v], index[v], loom_dtype_name (type));
        sample_in (s, desc (F, table[v]), FILL_NORMAL, 0);
        sample_in (s, desc (type, index[v]), FILL_CLASS, 5);
        sample_out (s, desc (F, y[v]));
        s = sample_add (all, "scatter_add_rows", 1e-5, "%s by %s %s", table[v], index[v], loom_dtype_name (type));
        sample_in (s, desc (type, index[v]), FILL_CLASS, 5);
        sample_in (s, desc (F, y[v]), FILL_NORMAL, 0);
        sample_out (s, desc (F, table[v]));
      }
  sum_samples (all);
  /* Rows that nothing names. */
  s = sample_add (all, "scatter_add_rows", 1e-4, "many rows");
  sample_in (s, desc (LOOM_I64, "300"), FILL_CLASS, 1500);
  sample_in (s, desc (F, "300,300"), FILL_NORMAL, 0);
  sample_out (s, desc (F, "1500,300"));
  s = sample_add (all, "fill", 0, "f32 fraction");
  sample_out (s, desc (F, "3,100"));
  SAMPLE_ATTRS (s, LoomFillAttrs).value = 0.125;
  s = sample_add (all, "pad", 0, "below 0");
  sample_in (s, desc (F, "4,5"), FILL_NORMAL, 0);
  sample_out (s, desc (F, "6,17"));
  SAMPLE_ATTRS (s, LoomPadAttrs) = (LoomPadAttrs){ { 1, 2 }, { 1, 3 }, -1.5 };
  s = sample_add (all, "iota", 0, "f32 middle axis");
  sample_out (s, desc (F, "2,9,4"));
  SAMPLE_ATTRS (s, LoomIotaAttrs) = (LoomIotaAttrs){ 1, -3, 0.5 };
  s = sample_add (all, "scatter_add_rows", 1e-4, "large");
  sample_in (s, desc (LOOM_I64, "2000"), FILL_CLASS, 300);
  sample_in (s, desc (F, "2000,130"), FILL_NORMAL, 0);
  sample_out (s, desc (F, "300,130"));
}

static void
random_samples (GPtrArray *all)
{
  const LoomTensorDesc absent = { .dtype = LOOM_N_DTYPES, .rank = 1 };
  static const char *const shape[] = { "", "5", "1001", "0", "100,300" };

  for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
    for (int kind = 0; kind < 5; kind++)
      {
        static const char *const name[] = { "uniform", "normal", "exponential", "whole", "mask" };
        static const LoomRandomKind kinds[] = { LOOM_RANDOM_UNIFORM, LOOM_RANDOM_NORMAL, LOOM_RANDOM_EXPONENTIAL,
                                                LOOM_RANDOM_UNIFORM, LOOM_RANDOM_MASK };
        Sample *s = sample_add (all, "random", kind == 1 || kind == 2 ? 1e-6 : 0, "%s %s", name[kind], shape[v]);

        sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, v == 2 ? 12345678901.0 : 42);
        sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, 7);
        if (kind == 4)
          {
            sample_in (s, absent, FILL_VALUE, 0);
            sample_in (s, desc (F, ""), FILL_VALUE, 0.3);
            s->wide = 1u << 3;
          }
        sample_out (s, desc (kind == 3 ? LOOM_I64 : kind == 4 ? LOOM_BOOL : F, shape[v]));
        SAMPLE_ATTRS (s, LoomRandomAttrs) = (LoomRandomAttrs){ kinds[kind], G_GUINT64_CONSTANT (0x123456789abcdef0) };
      }
  /* Rows of a longer tensor, which begin anywhere in a block of Philox. */
  for (int kind = LOOM_RANDOM_UNIFORM; kind <= LOOM_RANDOM_MASK; kind++)
    {
      Sample *s = sample_add (all, "random", kind > 0 ? 1e-6 : 0, "rows %d", kind);

      sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, 42);
      sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, 7);
      sample_in (s, desc (LOOM_I64, "3,2"), FILL_CLASS, 1000000);
      if (kind == LOOM_RANDOM_MASK)
        {
          sample_in (s, desc (F, ""), FILL_VALUE, 0.3);
          s->wide = 1u << 3;
        }
      sample_out (s, desc (kind == LOOM_RANDOM_MASK ? LOOM_BOOL : F, "3,2,5,7"));
      SAMPLE_ATTRS (s, LoomRandomAttrs)
          = (LoomRandomAttrs){ (LoomRandomKind)kind, G_GUINT64_CONSTANT (0x123456789abcdef0) };
    }
}

void
samples_move (GPtrArray *all)
{
  move_samples (all);
  random_samples (all);
}
