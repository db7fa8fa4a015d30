/* Reads and writes sliding windows with slices and pads of core primitives, as prim-window.h describes. */
#include "engine/program/prim-window.h"

void
loom_window_finish (LoomWindow *w)
{
  for (int i = 0; i < 2; i++)
    {
      gint64 reach = (w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;

      w->padded[i] = MAX (reach, w->lead[i] + w->in[i]);
    }
}

/* The dims [N, C, …] of v with other rows and columns. */
static void
with_size (LoomProgram *p, LoomValue v, const gint64 *size, gint64 *dims)
{
  const LoomTensorDesc *d = value_desc (p, v);

  dims[0] = d->dim[0];
  dims[1] = d->dim[1];
  dims[2] = size[0];
  dims[3] = size[1];
}

LoomValue
loom_window_pad (LoomProgram *p, const LoomWindow *w, LoomValue x, double value)
{
  gint64 start[4] = { 0, 0, w->lead[0], w->lead[1] }, dims[4];

  with_size (p, x, w->padded, dims);
  return loom_pad (p, x, start, NULL, dims, value);
}

LoomValue
loom_window_read (LoomProgram *p, const LoomWindow *w, LoomValue padded, gint64 r, gint64 s)
{
  gint64 start[4] = { 0, 0, r * w->dilation[0], s * w->dilation[1] };
  gint64 step[4] = { 1, 1, w->stride[0], w->stride[1] }, dims[4];

  with_size (p, padded, w->out, dims);
  return loom_slice (p, padded, start, step, dims);
}

LoomValue
loom_window_write (LoomProgram *p, const LoomWindow *w, LoomValue v, gint64 r, gint64 s)
{
  gint64 start[4] = { 0, 0, r * w->dilation[0], s * w->dilation[1] };
  gint64 step[4] = { 1, 1, w->stride[0], w->stride[1] }, dims[4];

  with_size (p, v, w->padded, dims);
  return loom_pad (p, v, start, step, dims, 0);
}

LoomValue
loom_window_crop (LoomProgram *p, const LoomWindow *w, LoomValue padded)
{
  gint64 start[4] = { 0, 0, w->lead[0], w->lead[1] }, dims[4];

  with_size (p, padded, w->in, dims);
  return loom_slice (p, padded, start, NULL, dims);
}

LoomValue
loom_add_to (LoomProgram *p, LoomValue sum, LoomValue v)
{
  return sum == 0 ? v : loom_binary (p, LOOM_SCALAR_ADD, sum, v);
}
