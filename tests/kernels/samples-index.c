/* Samples of primitives that work along an axis by index: gather, scatter, sort, cumsum. */
#include "tests/kernels/kernel-harness.h"

/* An index points into x along its axis; it may be shorter than x elsewhere. */
static const struct
{
  const char *x, *index;
  int axis;
} places[] = {
  { "5", "7", 0 },
  { "5", "0", 0 },
  { "1", "1", 0 },
  { "4,6", "4,3", 1 },
  { "4,6", "9,6", 0 },
  { "4,6", "2,3", 0 },
  { "4,6", "3,8", 1 },
  { "3,4,5", "3,7,5", 1 },
  { "3,4,5", "2,2,3", 1 },
  { "3,4,5", "2,3,2", 0 },
  { "2,3,4,5", "2,3,1,5", 2 },
  { "2,3,4,5", "1,2,9,4", 2 },
  { "0,4", "0,3", 1 },
  { "4,0", "3,0", 0 },
  { "300,40", "300,17", 1 },
  { "700,33", "400,33", 0 },
  { "2,90,3,20", "2,150,3,20", 1 },
};

static void
place_samples (GPtrArray *all, LoomDType real)
{
  static const char *const mode[] = { "replace", "add", "mul", "max", "min" };

  for (int v = 0; v < (int)G_N_ELEMENTS (places); v++)
    for (int narrow = 0; narrow < 2; narrow++)
      {
        LoomTensorDesc x = desc (real, places[v].x), index = desc (narrow ? LOOM_I32 : LOOM_I64, places[v].index);
        Sample *s = sample_add (all, "gather", 0, "%s %s by %s %s", loom_dtype_name (real), places[v].x,
                                loom_dtype_name (index.dtype), places[v].index);
        LoomTensorDesc src = index;

        src.dtype = real;
        sample_in (s, x, real == LOOM_BOOL ? FILL_CLASS : FILL_NORMAL, 2);
        sample_in (s, index, FILL_CLASS, (double)x.dim[places[v].axis]);
        sample_out (s, src);
        SAMPLE_ATTRS (s, LoomGatherAttrs) = (LoomGatherAttrs){ places[v].axis };
        for (int m = 0; m < (real == LOOM_BOOL ? 1 : (int)G_N_ELEMENTS (mode)); m++)
          {
            gboolean whole = real != LOOM_F32;

            s = sample_add (all, "scatter", m == 1 || m == 2 ? 1e-5 : 0, "%s %s %s by %s %s", mode[m],
                            loom_dtype_name (real), places[v].x, loom_dtype_name (index.dtype), places[v].index);
            sample_in (s, x, whole ? FILL_CLASS : FILL_NORMAL, 3);
            sample_in (s, index, FILL_CLASS, (double)x.dim[places[v].axis]);
            sample_in (s, src, whole ? FILL_CLASS : FILL_NORMAL, 2);
            sample_out (s, x);
            SAMPLE_ATTRS (s, LoomScatterAttrs) = (LoomScatterAttrs){ places[v].axis, (LoomScatterMode)m };
          }
      }
}

static const struct
{
  const char *x;
  int axis;
} rows[] = {
  { "1", 0 },     { "0", 0 },       { "7", 0 },       { "4,6", 1 },     { "4,6", 0 },      { "3,5,4", 1 },
  { "0,3", 1 },   { "3,0", 1 },     { "3,0", 0 },     { "49", 0 },      { "1000", 0 },     { "33,65", 1 },
  { "65,33", 0 }, { "2,70,19", 1 }, { "300,200", 1 }, { "200,300", 0 }, { "5,48,1,3", 1 }, { "1,5,100,2", 2 },
  { "3584", 0 },  { "3585", 0 },    { "15000", 0 },   { "2,7300", 1 },  { "4000,3", 0 },
};

static void
row_samples (GPtrArray *all, LoomDType real)
{
  for (int v = 0; v < (int)G_N_ELEMENTS (rows); v++)
    for (int way = 0; way < 4; way++)
      {
        LoomTensorDesc x = desc (real, rows[v].x), indices = x;
        double limit = real == LOOM_BOOL ? 2 : real == LOOM_I64 ? 1e15 : 100000;
        Fill fill = real == LOOM_BOOL               ? FILL_CLASS
                    : real == LOOM_F32 && (way & 1) ? FILL_SPECIAL
                    : real == LOOM_F32 || (way & 1) ? FILL_NORMAL
                                                    : FILL_CLASS;
        Sample *s;

        /* Few different numbers, of both signs, if way is odd: equal ones keep their order. */
        indices.dtype = LOOM_I64;
        s = sample_add (all, "sort", 0, "%s %s axis %d%s", loom_dtype_name (real), rows[v].x, rows[v].axis,
                        way & 2 ? " descending" : "");
        sample_in (s, x, fill, limit);
        sample_out (s, x);
        sample_out (s, indices);
        SAMPLE_ATTRS (s, LoomSortAttrs) = (LoomSortAttrs){ rows[v].axis, (way & 2) != 0 };
        if (real == LOOM_BOOL)
          continue;
        s = sample_add (all, "cumsum", 2e-6, "%s %s axis %d%s%s", loom_dtype_name (real), rows[v].x, rows[v].axis,
                        way & 1 ? " exclusive" : "", way & 2 ? " reverse" : "");
        sample_in (s, x, real == LOOM_F32 ? FILL_NORMAL : FILL_CLASS, 9);
        sample_out (s, x);
        SAMPLE_ATTRS (s, LoomCumsumAttrs) = (LoomCumsumAttrs){ rows[v].axis, (way & 1) != 0, (way & 2) != 0 };
      }
}

/* require returns its operand; the program's error is tested in tests/cli. */
static void
require_samples (GPtrArray *all)
{
  static const char *const shape[] = { "", "5", "0", "2,3,4,5", "300,40" };

  for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
    {
      Sample *s = sample_add (all, "require", 0, "%s", shape[v]);

      sample_in (s, desc (F, shape[v]), FILL_NORMAL, 0);
      sample_in (s, desc (LOOM_BOOL, "3"), FILL_VALUE, 1);
      sample_out (s, desc (F, shape[v]));
      g_strlcpy (SAMPLE_ATTRS (s, LoomRequireAttrs).what, "what it says",
                 sizeof SAMPLE_ATTRS (s, LoomRequireAttrs).what);
    }
}

/* The gate of an update that is open, and of one that is closed without a fault; a fault is tested by runs. */
static void
gate_samples (GPtrArray *all)
{
  for (int finite = 0; finite < 2; finite++)
    {
      Sample *s = sample_add (all, "update_gate", 0, "%s", finite ? "open" : "tolerated");

      sample_in (s, desc (F, ""), FILL_VALUE, finite);
      sample_in (s, desc (F, ""), FILL_VALUE, 1);
      sample_out (s, desc (F, ""));
      sample_out (s, desc (F, ""));
    }
}

void
samples_index (GPtrArray *all)
{
  static const LoomDType types[] = { LOOM_F32, LOOM_I64, LOOM_I32 };

  for (int t = 0; t < (int)G_N_ELEMENTS (types); t++)
    {
      place_samples (all, types[t]);
      row_samples (all, types[t]);
    }
  require_samples (all);
  gate_samples (all);
  place_samples (all, LOOM_BOOL);
  row_samples (all, LOOM_BOOL);
}
