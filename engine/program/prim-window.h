/* Sliding windows in core primitives: what the expansions of convolution and pooling are made of.
 *
 * A window operation over x [N,C,H,W] is a loop over the kernel's offsets; at each, a strided slice of the padded x
 * holds, for every output place, the element under that offset. The loop is short (nine for 3×3), so an expansion
 * stays readable. Private to engine/program. */
#pragma once

#include "engine/program/prim-private.h"

G_BEGIN_DECLS

typedef struct
{
  gint64 kernel[2], stride[2], dilation[2];
  gint64 lead[2];   /* padding at top and left */
  gint64 in[2];     /* H, W */
  gint64 out[2];    /* P, Q */
  gint64 padded[2]; /* what all windows together cover, at least lead + in */
} LoomWindow;

/* Fills padded from the rest. */
void loom_window_finish (LoomWindow *w);
LoomValue loom_window_pad (LoomProgram *p, const LoomWindow *w, LoomValue x, double value);
/* [N,C,P,Q]: the element under offset (r, s) of every window. */
LoomValue loom_window_take (LoomProgram *p, const LoomWindow *w, LoomValue padded, gint64 r, gint64 s);
/* The opposite: [N,C,P,Q] placed under offset (r, s) in zeros of the padded size. */
LoomValue loom_window_put (LoomProgram *p, const LoomWindow *w, LoomValue v, gint64 r, gint64 s);
/* [N,C,H,W] out of the padded size. */
LoomValue loom_window_crop (LoomProgram *p, const LoomWindow *w, LoomValue padded);
/* a + b, where 0 is nothing yet. */
LoomValue loom_add_to (LoomProgram *p, LoomValue sum, LoomValue v);

G_END_DECLS
