/* Sliding windows in core primitives, for the expansions of convolution and pooling.
 *
 * A window operation over x [N,C,H,W] is a loop over the kernel's offsets; for each, a strided slice of the padded x
 * has the element at that offset for every output position. The loop is short (nine offsets for 3×3), so an expansion
 * stays readable. */
#pragma once

#include "engine/program/prim-private.h"

typedef struct
{
  gint64 kernel[2], stride[2], dilation[2];
  gint64 lead[2];   /* padding at top and left */
  gint64 in[2];     /* H, W */
  gint64 out[2];    /* P, Q */
  gint64 padded[2]; /* the extent of all windows, at least lead + in */
} LoomWindow;

/* Computes `padded` from the rest. */
void loom_window_finish (LoomWindow *w);
LoomValue loom_window_pad (LoomProgram *p, const LoomWindow *w, LoomValue x, double value);
/* [N,C,P,Q]: the element at offset (r, s) of every window. */
LoomValue loom_window_read (LoomProgram *p, const LoomWindow *w, LoomValue padded, gint64 r, gint64 s);
/* The inverse: v [N,C,P,Q] at offset (r, s) of every window, zeros elsewhere, in the padded size. */
LoomValue loom_window_write (LoomProgram *p, const LoomWindow *w, LoomValue v, gint64 r, gint64 s);
/* Crops the padded size to [N,C,H,W]. */
LoomValue loom_window_crop (LoomProgram *p, const LoomWindow *w, LoomValue padded);
/* a + b; 0 is an empty sum. */
LoomValue loom_add_to (LoomProgram *p, LoomValue sum, LoomValue v);
