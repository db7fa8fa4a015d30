/* Computes how many windows fit along one, two or three dimensions, and reads sequences as images. */
#include "engine/ops/op-layers.h"

const LoomPortSpec loom_op_port_space[LOOM_MAX_SPACE][2] = {
  { LOOM_OP_SPACE_1, { NULL } },
  { LOOM_OP_SPACE_2, { NULL } },
  { LOOM_OP_SPACE_3, { NULL } },
};

int
loom_op_dimensions (const LoomInfer *ctx)
{
  return (int)strlen (loom_infer_op (ctx)->inputs->axes) - 2;
}

int
loom_op_space_of (const LoomInfer *ctx, const char *list)
{
  const LoomParamSpec *spec = loom_infer_op (ctx)->params;

  while (!g_str_equal (spec->name, list))
    spec++;
  return spec->length;
}

gboolean
loom_op_space (LoomInfer *ctx, int n, const char *hint, const char *why)
{
  static const char *const what[]
      = { "sequences, batch × channels × length", "images, batch × channels × height × width",
          "volumes, batch × channels × depth × height × width" };

  return loom_op_rank (ctx, 0, "input", n + 2, n + 2, what[n - 1], hint) && loom_op_needs_float (ctx, 0, "input", why);
}

/* The number of windows: ⌊(n + pad - dilation·(kernel - 1) - 1)/stride⌋ + 1, or with ⌈⌉ if the last window may
 * exceed the input but must begin inside the input or its left padding. FALSE if no window fits. */
static gboolean
count_windows (LoomDim n, const LoomWindows *w, int i, gboolean ceil_mode, LoomDim *out)
{
  gint64 reach = w->dilation[i] * (w->kernel[i] - 1) + 1, room, windows;

  *out = loom_dim_unknown ();
  if (!loom_dim_is_known (n))
    {
      if (w->stride[i] == 1 && w->front[i] + w->back[i] == reach - 1)
        *out = n;
      return TRUE;
    }
  room = n.coef + w->front[i] + w->back[i] - reach;
  if (room < 0 && !(ceil_mode && room + w->stride[i] - 1 >= 0))
    return FALSE;
  windows = (room + (ceil_mode ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
  if (ceil_mode && (windows - 1) * w->stride[i] >= n.coef + w->front[i])
    windows--;
  *out = loom_dim (windows);
  return windows > 0;
}

static char *
join (int n, const gint64 *values, const char *between)
{
  GString *s = g_string_new (NULL);

  for (int i = 0; i < n; i++)
    g_string_append_printf (s, "%s%" G_GINT64_FORMAT, i > 0 ? between : "", values[i]);
  return g_string_free (s, FALSE);
}

char *
loom_op_times (int n, const gint64 *values)
{
  return join (n, values, "×");
}

gboolean
loom_op_windows (LoomInfer *ctx, const LoomWindows *w, gboolean ceil_mode, const char *hint, LoomShape *shape)
{
  const LoomType *x = loom_infer_input (ctx, 0);

  for (int i = 0; i < w->n; i++)
    {
      int axis = x->shape.rank - w->n + i;
      g_autofree char *text = NULL, *kernel = NULL;

      if (count_windows (x->shape.dim[axis], w, i, ceil_mode, &shape->dim[axis]))
        continue;
      text = loom_shape_to_string (&x->shape);
      kernel = join (w->n, w->kernel, " × ");
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "kernel_size", "A window of %s does not fit into %s. %s", kernel, text,
                        hint);
      return FALSE;
    }
  return TRUE;
}

LoomValue
loom_op_as_images (LoomProgram *p, LoomValue v)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;

  if (d.rank != 3)
    return v;
  return loom_reshape (p, v, 4, (gint64[]){ d.dim[0], d.dim[1], 1, d.dim[2] });
}
