/* Pictures of one or two coloured shapes, with a sentence that says what is on them: a task for networks that describe
 * pictures (Vinyals et al., "Show and tell: a neural image caption generator", 2015), small enough for a processor; the
 * pictures are also material for whoever wants to generate some.
 *
 * "a large red circle above a small blue square". Two shapes lie in opposite halves, so that the sentence is the only
 * one that begins with its shape. Tokens are words; y_in is y one place later behind a start token, and y ends with an
 * end token, behind which nothing counts. */
#include <math.h>

#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-vocabulary.h"

#define STREAM      11
#define PLACES      11 /* "a small red circle left of a large blue square", and the end */
#define SUBPIXELS   4  /* a side: shapes have smooth edges */
#define SMALL_SHARE 0.11
#define LARGE_SHARE 0.19 /* of the picture's side: half of a shape's */

enum
{
  A = LOOM_TOKEN_END + 1,
  SIZES,
  COLORS = SIZES + 2,
  KINDS = COLORS + 4,
  RELATIONS = KINDS + 3,
  OF = RELATIONS + 4,
  N_WORDS
};

static const char *const words[N_WORDS - A]
    = { "a",      "small",    "large", "red",   "green", "blue",  "yellow", "circle",
        "square", "triangle", "above", "below", "left",  "right", "of" };
static const float colors[4][3]
    = { { 0.9f, 0.1f, 0.1f }, { 0.1f, 0.8f, 0.2f }, { 0.15f, 0.25f, 0.95f }, { 0.95f, 0.85f, 0.1f } };

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("5000", "500"),
  { .name = "size",
    .type = LOOM_DATASET_INT,
    .def = "32",
    .minimum = 8,
    .maximum = 512,
    .doc = "Height and width of the pictures." },
  { .name = "shapes",
    .type = LOOM_DATASET_INT,
    .def = "2",
    .minimum = 1,
    .maximum = 2,
    .doc = "The most shapes in a picture." },
  { .name = "noise",
    .type = LOOM_DATASET_FLOAT,
    .def = "0",
    .minimum = 0,
    .maximum = 1,
    .doc = "Standard deviation of what is added to each number of a picture, which stays within 0 to 1." },
  { .name = NULL },
};

typedef struct
{
  gint64 size, most;
  double noise;
} Shapes;

typedef struct
{
  guint32 size, color, kind;
  double x, y, radius; /* as shares of the side */
} Shape;

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 size = loom_option_int (klass, options, "size"), places = PLACES, dims[] = { 3, size, size };

  loom_info_add_port (info, "x", LOOM_F32, 3, dims);
  loom_info_add_port (info, "y_in", LOOM_I64, 1, &places);
  loom_info_add_port (info, "y", LOOM_I64, 1, &places);
  loom_info_set_generated (info, klass, options);
  info->n_classes = N_WORDS;
  return TRUE;
}

/* ---- pictures ---------------------------------------------------------------- */

/* x and y from the shape's middle, where its radius is 1. */
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

static void
paint (const Shape *shape, gint64 size, float *picture)
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
      }
}

/* ---- samples ------------------------------------------------------------------ */

/* A place between low and high that leaves room for the radius. */
static double
draw_place (LoomSampleRandom *random, double low, double high, double radius)
{
  return low + radius + loom_sample_uniform (random) * (high - low - 2 * radius);
}

/* half: 0 above, 1 below, 2 left, 3 right; 4: anywhere. */
static Shape
draw_shape (LoomSampleRandom *random, guint half)
{
  Shape shape
      = { loom_sample_below (random, 2), loom_sample_below (random, 4), loom_sample_below (random, 3), 0, 0, 0 };

  shape.radius = shape.size == 0 ? SMALL_SHARE : LARGE_SHARE;
  shape.x = draw_place (random, half == 3 ? 0.5 : 0, half == 2 ? 0.5 : 1, shape.radius);
  shape.y = draw_place (random, half == 1 ? 0.5 : 0, half == 0 ? 0.5 : 1, shape.radius);
  return shape;
}

static int
say_shape (const Shape *shape, gint64 *token, int n)
{
  token[n++] = A;
  token[n++] = SIZES + shape->size;
  token[n++] = COLORS + shape->color;
  token[n++] = KINDS + shape->kind;
  return n;
}

static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const Shapes *shapes = data;
  const gint64 count = 3 * shapes->size * shapes->size;
  float *x = (float *)row[0]->data + i * count;
  gint64 *y_in = (gint64 *)row[1]->data + i * PLACES, *y = (gint64 *)row[2]->data + i * PLACES;
  const gboolean two = loom_sample_below (random, (guint32)shapes->most) > 0;
  const guint32 relation = loom_sample_below (random, 4);
  const Shape first = draw_shape (random, two ? relation : 4);
  int n = say_shape (&first, y, 0);

  paint (&first, shapes->size, x);
  if (two)
    {
      const Shape second = draw_shape (random, relation ^ 1);

      paint (&second, shapes->size, x);
      y[n++] = RELATIONS + relation;
      if (relation >= 2)
        y[n++] = OF;
      n = say_shape (&second, y, n);
    }
  y[n] = LOOM_TOKEN_END;
  for (int t = 0; t < PLACES; t++)
    {
      y_in[t] = t == 0 ? LOOM_TOKEN_START : t <= n ? y[t - 1] : LOOM_TOKEN_PADDING;
      if (t > n)
        y[t] = LOOM_TARGET_IGNORED;
    }
  for (gint64 k = 0; k < count && shapes->noise > 0; k++)
    x[k] = CLAMP (x[k] + (float)shapes->noise * loom_sample_normal (random), 0, 1);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const Shapes shapes = {
    .size = loom_option_int (klass, options, "size"),
    .most = loom_option_int (klass, options, "shapes"),
    .noise = loom_option_float (klass, options, "noise"),
  };
  LoomDataset *self = loom_table_generate (klass, options, STREAM, make, &shapes, error);

  if (self == NULL)
    return NULL;
  self->class_names = g_new0 (char *, N_WORDS + 1);
  for (int i = 0; i < N_WORDS; i++)
    self->class_names[i] = g_strdup (i < A ? loom_token_names[i] : words[i - A]);
  self->separator = " ";
  return self;
}

const LoomDatasetClass loom_dataset_shapes = {
  .name = "shapes",
  .title = "Shapes and sentences",
  .doc = "Pictures of coloured shapes, each with a sentence that describes it: a task for captions.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
