/* The samples of softmax, cross-entropy and the norms. */
#include "tests/kernels/kernel-harness.h"

static void
cross_entropy_samples (GPtrArray *all)
{
  /* Vocabularies: none, rows that begin between multiples of 16 bytes, of a warp and of a block, one that is cut into
   * pieces; strided classes. */
  static const char *const shape[]
      = { "16,3",   "32,10", "7,33,5", "3,4,70", "2,5,9,8", "0,4",    "300,257", "6,1",
          "3,1500", "5,7",   "4,1000", "3,1024", "2,1025",  "2,4099", "2,50257", "2,3,300" };

  for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
    {
      LoomTensorDesc x = desc (F, shape[v]), loss = x, target;

      for (int d = 1; d + 1 < x.rank; d++)
        loss.dim[d] = x.dim[d + 1];
      loss.rank--;
      target = loss;
      target.dtype = LOOM_I64;
      for (int ignore = 0; ignore < 2; ignore++)
        {
          Sample *s = sample_add (all, "cross_entropy", TIGHT, "%s%s", shape[v], ignore ? " ignore" : "");

          sample_in (s, x, FILL_NORMAL, 0);
          sample_in (s, target, FILL_CLASS, (double)x.dim[1]);
          sample_out (s, loss);
          sample_out (s, loss);
          SAMPLE_ATTRS (s, LoomCrossEntropyAttrs).ignore_index = ignore ? 1 : -100;
          s->wide = 1 << 2 | 1 << 3;
          s = sample_add (all, "cross_entropy_grad", 1e-5, "%s%s", shape[v], ignore ? " ignore" : "");
          sample_in (s, x, FILL_NORMAL, 0);
          sample_in (s, target, FILL_CLASS, (double)x.dim[1]);
          sample_in (s, loss, FILL_POSITIVE, 0);
          sample_in (s, loss, FILL_NORMAL, 0);
          sample_out (s, x);
          SAMPLE_ATTRS (s, LoomCrossEntropyAttrs).ignore_index = ignore ? 1 : -100;
          s->wide = 1 << 2 | 1 << 3;
        }
    }
}

/* Rows that are longer than there are classes, and gradients in 16 bits of logits in 16 bits or in f32. */
static void
padded_entropy_samples (GPtrArray *all)
{
  static const struct
  {
    const char *shape;
    gint64 classes;
  } padded[] = { { "16,8", 3 },      { "9,33", 33 },       { "5,24,4", 17 },   { "3,1048", 1042 },
                 { "4,1024", 1001 }, { "2,50264", 50257 }, { "3,4104", 4096 }, { "2,4104,2", 4099 } };

  for (guint v = 0; v < G_N_ELEMENTS (padded); v++)
    for (int narrow = 0; narrow < 2; narrow++)
      {
        LoomTensorDesc x = desc (F, padded[v].shape), loss = x, target;
        const gboolean whole = padded[v].classes == x.dim[1];
        Sample *s;

        for (int d = 1; d + 1 < x.rank; d++)
          loss.dim[d] = x.dim[d + 1];
        loss.rank--;
        target = loss;
        target.dtype = LOOM_I64;
        if (!narrow)
          {
            s = sample_add (all, "cross_entropy", TIGHT, "%s, %d classes", padded[v].shape, (int)padded[v].classes);
            sample_in (s, x, FILL_NORMAL, 0);
            sample_in (s, target, FILL_CLASS, (double)padded[v].classes);
            sample_out (s, loss);
            sample_out (s, loss);
            SAMPLE_ATTRS (s, LoomCrossEntropyAttrs) = (LoomCrossEntropyAttrs){ 1, whole ? 0 : padded[v].classes };
            s->wide = 1 << 2 | 1 << 3;
            s->joined = TRUE;
          }
        s = sample_add (all, "cross_entropy_grad", 1e-5, "%s, %d classes%s", padded[v].shape, (int)padded[v].classes,
                        narrow ? " narrow" : "");
        sample_in (s, x, FILL_NORMAL, 0);
        sample_in (s, target, FILL_CLASS, (double)padded[v].classes);
        sample_in (s, loss, FILL_POSITIVE, 0);
        sample_in (s, loss, FILL_NORMAL, 0);
        sample_out (s, x);
        SAMPLE_ATTRS (s, LoomCrossEntropyAttrs) = (LoomCrossEntropyAttrs){ 1, whole ? 0 : padded[v].classes };
        s->wide = (narrow ? 1 << 0 : 0) | 1 << 2 | 1 << 3;
        s->joined = TRUE;
      }
}

static void
softmax_samples (GPtrArray *all)
{
  static const char *const shape[]
      = { "5", "16,3", "32,10", "7,33,5", "3,4,70", "2,5,9,8", "0,4", "300,257", "6,1", "3,1500", "4,1029" };

  for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
    {
      LoomTensorDesc x = desc (F, shape[v]);

      for (int axis = 0; axis < x.rank; axis++)
        for (int log = 0; log < 2; log++)
          {
            Sample *s = sample_add (all, "softmax", TIGHT, "%s axis %d%s", shape[v], axis, log ? " log" : "");

            sample_in (s, x, FILL_NORMAL, 0);
            sample_out (s, x);
            SAMPLE_ATTRS (s, LoomSoftmaxAttrs) = (LoomSoftmaxAttrs){ axis, log };
            s = sample_add (all, "softmax_grad", 2e-5, "%s axis %d%s", shape[v], axis, log ? " log" : "");
            sample_in (s, x, FILL_NORMAL, 0);
            sample_in (s, x, FILL_UNIT, 0);
            sample_out (s, x);
            SAMPLE_ATTRS (s, LoomSoftmaxAttrs) = (LoomSoftmaxAttrs){ axis, log };
          }
    }
}

/* What follows the normalisation. The gradient of a sum without a ReLU is that of the normalisation alone. */
enum
{
  NOTHING,
  RELU,
  SUM,
  SUM_RELU,
  SUM_RELU_TWO, /* its gradient's cotangent is a sum of two */
  N_AFTER
};

static void
batch_norm_samples (GPtrArray *all, const char *shape, int affine, int after)
{
  static const char *const primitives[] = { "batch_norm", "batch_norm_grad", "batch_norm_apply" };
  static const char *const name[N_AFTER] = { "", " relu", " add", " add relu", " add of two relu" };
  gboolean sum = after >= SUM, relu = after != NOTHING && after != SUM, two = after == SUM_RELU_TWO;
  LoomTensorDesc x = desc (F, shape), c = { F, 0, 1, { x.dim[1] } };

  for (int v = 0; v < 3; v++)
    {
      gboolean grad = v == 1;
      Sample *s;

      if (grad ? after == SUM : two)
        continue;
      s = sample_add (all, primitives[v], grad ? 1e-4 : 2e-5, "%s%s%s", shape, affine ? " affine" : "", name[after]);
      /* Sums of two that 16 bits hold: the reference does not round them. */
      sample_in (s, x, two ? FILL_CLASS : FILL_NORMAL, 50);
      if (grad)
        sample_in (s, x, FILL_NORMAL, 0);
      if (v > 0)
        {
          /* An element equal to the mean is at the kink of a relu without a bias. */
          sample_in (s, c, grad && relu && !affine ? FILL_VALUE : FILL_NORMAL, 0x1p-20);
          sample_in (s, c, FILL_POSITIVE, 0);
        }
      for (int i = 0; i < (grad && (!relu || sum) ? 1 : 2) * affine; i++)
        sample_in (s, c, FILL_NORMAL, 0);
      if (sum)
        sample_in (s, x, FILL_NORMAL, 0);
      if (two)
        sample_in (s, x, FILL_CLASS, 20);
      sample_out (s, x);
      for (int i = 0; i < (grad ? 2 * affine : v == 0 ? 2 : 0); i++)
        sample_out (s, c);
      if (grad && sum)
        sample_out (s, x);
      SAMPLE_ATTRS (s, LoomNormAttrs)
          = (LoomNormAttrs){ .eps = 1e-5, .affine = affine, .act = relu ? LOOM_SCALAR_RELU : LOOM_SCALAR_ID };
      s->nhwc = s->mixed = TRUE;
    }
}

static void
norm_samples (GPtrArray *all)
{
  static const char *const batch[]
      = { "4,3", "3,5,7", "2,6,5,5", "16,40,13,13", "1,2,1,2", "300,6", "5,33,40,16", "70,2,8,9" };
  static const char *const layer[]
      = { "5", "4,3", "3,5,70", "2,3,4,5", "300,129", "3,4200", "2,4101", "131,64", "150,264" };

  for (int affine = 0; affine < 2; affine++)
    {
      for (int v = 0; v < N_AFTER * (int)G_N_ELEMENTS (batch); v++)
        batch_norm_samples (all, batch[v / N_AFTER], affine, v % N_AFTER);
      for (int v = 0; v < (int)G_N_ELEMENTS (layer); v++)
        {
          LoomTensorDesc x = desc (F, layer[v]);

          for (int axes = 1; axes <= x.rank; axes++)
            {
              LoomTensorDesc rows = x, row = { F, 0, axes, { 0 } };
              Sample *s = sample_add (all, "layer_norm", 2e-5, "%s last %d%s", layer[v], axes, affine ? " affine" : "");

              rows.rank = x.rank - axes;
              for (int d = 0; d < axes; d++)
                row.dim[d] = x.dim[rows.rank + d];
              sample_in (s, x, FILL_POSITIVE, 0);
              for (int i = 0; i < 2 * affine; i++)
                sample_in (s, row, FILL_NORMAL, 0);
              sample_out (s, x);
              sample_out (s, rows);
              sample_out (s, rows);
              SAMPLE_ATTRS (s, LoomNormAttrs) = (LoomNormAttrs){ 1e-5, axes, affine };
              s->mixed = TRUE;
              s->wide = axes % 2; /* a result in 16 bits of rows in f32 */
              for (int around = 0; around < 2; around++)
                {
                  s = sample_add (all, "layer_norm_grad", 1e-4, "%s last %d%s%s", layer[v], axes,
                                  affine ? " affine" : "", around ? " and what goes around it" : "");
                  sample_in (s, x, FILL_NORMAL, 0);
                  sample_in (s, x, FILL_NORMAL, 0);
                  sample_in (s, rows, FILL_NORMAL, 0);
                  sample_in (s, rows, FILL_POSITIVE, 0);
                  if (affine)
                    sample_in (s, row, FILL_NORMAL, 0);
                  if (around)
                    sample_in (s, x, FILL_NORMAL, 0);
                  sample_out (s, x);
                  for (int i = 0; i < 2 * affine; i++)
                    sample_out (s, row);
                  SAMPLE_ATTRS (s, LoomNormAttrs) = (LoomNormAttrs){ 1e-5, axes, affine };
                  s->mixed = TRUE;
                }
            }
        }
    }
}

void
samples_norms (GPtrArray *all)
{
  softmax_samples (all);
  cross_entropy_samples (all);
  padded_entropy_samples (all);
  norm_samples (all);
}
