/* Pictures of coloured shapes, with a sentence that describes one or two of them: a task for networks that describe
 * pictures (Vinyals et al., "Show and tell: a neural image caption generator", 2015), small enough for a processor;
 * generative models can use the pictures too. A picture of one shape also has a class, its colour and kind: a
 * substitute for ImageNet, in the size for which its networks were made. A picture of several shapes has a mask, the
 * kind of shape at every pixel.
 *
 * A picture is painted when it is read: 1,000 of 224 × 224 would take 600 MB, and painting one takes less than a
 * hundredth of the time that such a network needs for it.
 *
 * "a large red circle above a small blue square". Two shapes are in opposite halves, so that the sentence is the only
 * one that begins with its shape. Tokens are words; y_in is y one position later after a start token, and y ends with
 * an end token; positions after it are ignored. */
#include <math.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-boxes.h"
#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-vocabulary.h"

#define STREAM      11
#define N_COLORS    4
#define N_KINDS     3
#define MAX_WORDS   11 /* length of "a small red circle left of a large blue square" and the end token */
#define SUBPIXELS   4  /* a side: shapes have smooth edges */
#define SMALL_SHARE 0.11
#define LARGE_SIZE  0.19 /* relative to the picture's side: half the size of a shape */

enum
{
  A = LOOM_TOKEN_END + 1,
  SIZES,
  COLORS = SIZES + 2,
  KINDS = COLORS + N_COLORS,
  RELATIONS = KINDS + N_KINDS,
  OF = RELATIONS + 4,
  N_WORDS
};

static const char *const words[N_WORDS - A]
    = { "a",      "small",    "large", "red",   "green", "blue",  "yellow", "circle",
        "square", "triangle", "above", "below", "left",  "right", "of" };
static const float colors[N_COLORS][3]
    = { { 0.9f, 0.1f, 0.1f }, { 0.1f, 0.8f, 0.2f }, { 0.15f, 0.25f, 0.95f }, { 0.95f, 0.85f, 0.1f } };

#define MOST_SHAPES 8

typedef enum
{
  SENTENCE,
  CLASS,
  MASK,
  BOXES
} TargetType;

static const char *const target_types[] = { "sentence", "class", "mask", "boxes", NULL };

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("5000", "500"),
  { LOOM_OPTION ("target_type", ENUM, "sentence"), .choices = target_types,
    .doc = "sentence: y_in and y, i64 [B,11]; class: y i64 [B], colour and kind of the one shape; mask: y i64 [B,H,W], "
           "the kind at each pixel, 0 without a shape; boxes: y f32 [B,shapes,5], the kind and the corners x1, y1, x2, "
           "y2 of each shape, -1 for none, and the maps heat [B,3,h,w] and size [B,5,h,w] for a detector." },
  { LOOM_OPTION ("size", INT, "32"), LOOM_RANGE (8, 512), .doc = "The height and width of the pictures." },
  { LOOM_OPTION ("shapes", INT, "2"), LOOM_RANGE (1, MOST_SHAPES),
    .doc = "The largest number of shapes in a picture; a sentence describes at most two." },
  { LOOM_OPTION ("noise", FLOAT, "0"), LOOM_RANGE (0, 1),
    .doc = "The standard deviation of the noise on each pixel, which is clipped to the range 0 to 1." },
  LOOM_BOXES_PARAMS,
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

typedef struct
{
  LoomDataset base;
  gint64 size, most;
  double noise;
  guint64 seed;
  TargetType target;
} Shapes;

typedef struct
{
  guint32 size, color, kind;
  double x, y, radius; /* as fractions of the side */
} Shape;

static TargetType
target_of (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  const char *text = loom_option_string (klass, options, "target_type");
  guint found = 0;

  while (!g_str_equal (target_types[found], text))
    found++;
  return (TargetType)found;
}

static LoomBoxes
boxes_of (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  return (LoomBoxes){ .most = loom_option_int (klass, options, "shapes"),
                      .n_classes = N_KINDS,
                      .stride = loom_option_int (klass, options, "stride") };
}

static const gint64 n_classes_of[]
    = { [SENTENCE] = N_WORDS, [CLASS] = N_COLORS * N_KINDS, [MASK] = 1 + N_KINDS, [BOXES] = N_KINDS };

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 size = loom_option_int (klass, options, "size"), places = MAX_WORDS, dims[] = { 3, size, size };
  const gint64 shapes = loom_option_int (klass, options, "shapes");
  const TargetType target = target_of (klass, options);

  if (target == CLASS && shapes != 1)
    return loom_refuse (error, LOOM_ERROR_SCHEMA,
                        "A picture of two shapes has no class. Set shapes to 1, or target_type to sentence.");
  if (target == SENTENCE && shapes > 2)
    return loom_refuse (error, LOOM_ERROR_SCHEMA,
                        "A sentence describes at most two shapes. Set shapes to 2, or target_type to mask.");
  if (target == SENTENCE && loom_option_float (klass, options, "flip") > 0)
    return loom_refuse (error, LOOM_ERROR_SCHEMA,
                        "Sentences with “left of” would be wrong for mirrored pictures. Remove flip.");
  loom_info_add_port (info, "x", LOOM_F32, 3, dims);
  if (target == SENTENCE)
    {
      loom_info_add_port (info, "y_in", LOOM_I64, 1, &places);
      loom_info_add_port (info, "y", LOOM_I64, 1, &places);
    }
  else if (target == BOXES)
    {
      const LoomBoxes boxes = boxes_of (klass, options);

      if (!loom_boxes_describe (&boxes, klass, dims, info, error))
        return FALSE;
    }
  else
    loom_info_add_port (info, "y", LOOM_I64, target == MASK ? 2 : 0, dims + 1);
  loom_info_set_generated (info, klass, options);
  info->n_classes = n_classes_of[target];
  return TRUE;
}

/* ---- pictures ---------------------------------------------------------------- */

/* x and y: relative to the shape's middle, in units of its radius. */
static gboolean
is_inside (guint32 kind, double x, double y)
{
  return kind == 0   ? x * x + y * y <= 1
         : kind == 1 ? fabs (x) <= 1 && fabs (y) <= 1
                     : fabs (y) <= 1 && fabs (x) <= (y + 1) / 2;
}

static double
coverage (const Shape *shape, gint64 size, gint64 column, gint64 line)
{
  int n = 0;

  for (int i = 0; i < SUBPIXELS * SUBPIXELS; i++)
    {
      const double x = ((double)column + (i % SUBPIXELS + 0.5) / SUBPIXELS) / (double)size;
      const double y = ((double)line + (i / SUBPIXELS + 0.5) / SUBPIXELS) / (double)size;

      n += is_inside (shape->kind, (x - shape->x) / shape->radius, (y - shape->y) / shape->radius);
    }
  return (double)n / (SUBPIXELS * SUBPIXELS);
}

/* Also writes the shape's class into the mask [H,W] where it covers at least half a pixel; mask may be NULL. */
static void
paint (const Shape *shape, gint64 size, float *picture, gint64 *mask)
{
  const gint64 x0 = (gint64)((shape->x - shape->radius) * (double)size),
               y0 = (gint64)((shape->y - shape->radius) * (double)size);
  const gint64 n = (gint64)(2 * shape->radius * (double)size) + 2;

  for (gint64 line = y0; line < MIN (y0 + n, size); line++)
    for (gint64 column = x0; column < MIN (x0 + n, size); column++)
      {
        const float share = (float)coverage (shape, size, column, line);

        for (int c = 0; c < 3 && share > 0; c++)
          {
            float *value = picture + (c * size + line) * size + column;

            *value += share * (colors[shape->color][c] - *value);
          }
        if (mask != NULL && share >= 0.5f)
          mask[line * size + column] = 1 + shape->kind;
      }
}

/* ---- samples ------------------------------------------------------------------ */

/* A coordinate between low and high, at least the radius from both. */
static double
draw_coordinate (LoomSampleRandom *random, double low, double high, double radius)
{
  return low + radius + loom_sample_uniform (random) * (high - low - 2 * radius);
}

/* half: 0 above, 1 below, 2 left, 3 right; 4: anywhere. */
static Shape
draw_shape (LoomSampleRandom *random, guint half)
{
  Shape shape = {
    loom_sample_below (random, 2), loom_sample_below (random, N_COLORS), loom_sample_below (random, N_KINDS), 0, 0, 0
  };

  shape.radius = shape.size == 0 ? SMALL_SHARE : LARGE_SIZE;
  shape.x = draw_coordinate (random, half == 3 ? 0.5 : 0, half == 2 ? 0.5 : 1, shape.radius);
  shape.y = draw_coordinate (random, half == 1 ? 0.5 : 0, half == 0 ? 0.5 : 1, shape.radius);
  return shape;
}

static int
append_shape (const Shape *shape, gint64 *token, int n)
{
  token[n++] = A;
  token[n++] = SIZES + shape->size;
  token[n++] = COLORS + shape->color;
  token[n++] = KINDS + shape->kind;
  return n;
}

/* Ends y with an end token; later positions are ignored. y_in is one position later. */
static void
finish_sentence (gint64 *y_in, gint64 *y, int n)
{
  y[n] = LOOM_TOKEN_END;
  for (int t = 0; t < MAX_WORDS; t++)
    {
      y_in[t] = t == 0 ? LOOM_TOKEN_START : t <= n ? y[t - 1] : LOOM_TOKEN_PADDING;
      if (t > n)
        y[t] = LOOM_TARGET_IGNORED;
    }
}

/* y_in and y of row i. */
static void
make_sentence (const Shapes *self, LoomSampleRandom *random, gboolean two, const Shape *first, guint32 relation,
               gint64 i, LoomTensor *const row[])
{
  gint64 *y_in = (gint64 *)row[1]->data + i * MAX_WORDS, *y = (gint64 *)row[2]->data + i * MAX_WORDS;
  int n = append_shape (first, y, 0);

  if (two)
    {
      const Shape second = draw_shape (random, relation ^ 1);

      paint (&second, self->size, (float *)row[0]->data + i * 3 * self->size * self->size, NULL);
      y[n++] = RELATIONS + relation;
      if (relation >= 2)
        y[n++] = OF;
      n = append_shape (&second, y, n);
    }
  finish_sentence (y_in, y, n);
}

/* Paints from 1 to `most` shapes anywhere, later ones over earlier ones. mask or boxes [most,5] is NULL. */
static void
make_several (const Shapes *self, LoomSampleRandom *random, float *x, gint64 *mask, float *boxes)
{
  const guint32 n = 1 + loom_sample_below (random, (guint32)self->most);
  const double side = (double)self->size;

  for (gint64 k = 0; mask != NULL && k < self->size * self->size; k++)
    mask[k] = 0;
  for (gint64 k = 0; boxes != NULL && k < self->most * LOOM_BOX_NUMBERS; k++)
    boxes[k] = k % LOOM_BOX_NUMBERS == 0 ? LOOM_BOX_NONE : 0;
  for (guint32 k = 0; k < n; k++)
    {
      const Shape shape = draw_shape (random, 4);
      const double r = shape.radius,
                   box[] = { (shape.x - r) * side, (shape.y - r) * side, (shape.x + r) * side, (shape.y + r) * side };

      paint (&shape, self->size, x, mask);
      if (boxes != NULL)
        loom_boxes_set (boxes, k, shape.kind, box, self->size, self->size);
    }
}

/* Row i of the ports' tensors. */
static void
make (const Shapes *self, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const gint64 area = self->size * self->size, count = 3 * area;
  float *x = (float *)row[0]->data + i * count;

  for (gint64 k = 0; k < count; k++)
    x[k] = 0;
  if (self->target == MASK)
    make_several (self, random, x, (gint64 *)row[1]->data + i * area, NULL);
  else if (self->target == BOXES)
    make_several (self, random, x, NULL, (float *)row[1]->data + i * self->most * LOOM_BOX_NUMBERS);
  else
    {
      const gboolean two = loom_sample_below (random, (guint32)self->most) > 0;
      const guint32 relation = loom_sample_below (random, 4);
      const Shape first = draw_shape (random, two ? relation : 4);

      paint (&first, self->size, x, NULL);
      if (self->target == CLASS)
        ((gint64 *)row[1]->data)[i] = first.color * N_KINDS + first.kind;
      else
        make_sentence (self, random, two, &first, relation, i, row);
    }
  for (gint64 k = 0; k < count && self->noise > 0; k++)
    {
      const float value = x[k] + (float)self->noise * loom_sample_normal (random);

      x[k] = CLAMP (value, 0, 1);
    }
}

static gboolean
read_shapes (const LoomDataset *base, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
             GError **error)
{
  const Shapes *self = (const Shapes *)base;

  for (guint i = 0; i < n; i++)
    {
      LoomSampleRandom random = loom_sample_random (self->seed, STREAM, split, indices[i]);

      make (self, &random, i, out);
    }
  return TRUE;
}

static void
name_classes (Shapes *self)
{
  LoomDataset *base = &self->base;

  base->class_names = g_new0 (char *, (gsize)base->info.n_classes + 1);
  if (self->target == CLASS)
    for (int i = 0; i < N_COLORS * N_KINDS; i++)
      base->class_names[i] = g_strjoin (" ", words[COLORS - A + i / N_KINDS], words[KINDS - A + i % N_KINDS], NULL);
  if (self->target == MASK)
    for (int i = 0; i <= N_KINDS; i++)
      base->class_names[i] = g_strdup (i == 0 ? "background" : words[KINDS - A + i - 1]);
  for (int i = 0; self->target == BOXES && i < N_KINDS; i++)
    base->class_names[i] = g_strdup (words[KINDS - A + i]);
  if (self->target != SENTENCE)
    return;
  for (int i = 0; i < N_WORDS; i++)
    base->class_names[i] = g_strdup (i < A ? loom_token_names[i] : words[i - A]);
  base->separator = " ";
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_autoptr (LoomDataset) base = NULL;
  Shapes *self = g_new0 (Shapes, 1);

  base = &self->base;
  base->klass = klass;
  self->size = loom_option_int (klass, options, "size");
  self->most = loom_option_int (klass, options, "shapes");
  self->noise = loom_option_float (klass, options, "noise");
  self->seed = (guint64)loom_option_int (klass, options, "seed");
  self->target = target_of (klass, options);
  base->mask_port = self->target == MASK ? 1 : 0;
  if (self->target == BOXES)
    {
      base->boxes = g_new (LoomBoxes, 1);
      *base->boxes = boxes_of (klass, options);
    }
  if (!describe (klass, options, &base->info, error))
    return NULL;
  name_classes (self);
  return g_steal_pointer (&base);
}

static void
free_shapes (LoomDataset *base)
{
  g_free (base);
}

const LoomDatasetClass loom_dataset_shapes = {
  .name = "shapes",
  .title = "Coloured shapes",
  .doc = "Pictures of coloured shapes, each with a class, a sentence that describes it, a mask or boxes: a task "
         "for classification, captions, segmentation or detection.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = read_shapes,
  .free = free_shapes,
  .has_pictures = TRUE,
};
