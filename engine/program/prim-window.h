/* Sliding windows in core primitives, for the expansions of convolution and pooling.
 *
 * A window operation over x [N,C,H,W] is a loop over the kernel's offsets; for each, a strided slice of the padded x
 * holds the element at that offset for every output position. The loop is short (nine for 3×3), so an expansion stays
 * readable. Private to engine/program. */
#pragma once

#include "engine/program/prim-private.h"

G_BEGIN_DECLS

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
LoomValue loom_window_take (LoomProgram *p, const LoomWindow *w, LoomValue padded, gint64 r, gint64 s);
/* The inverse: [N,C,P,Q] placed at offset (r, s) in zeros of the padded size. */
LoomValue loom_window_put (LoomProgram *p, const LoomWindow *w, LoomValue v, gint64 r, gint64 s);
/* [N,C,H,W] from the padded size. */
LoomValue loom_window_crop (LoomProgram *p, const LoomWindow *w, LoomValue padded);
/* a + b; 0 is an empty sum. */
LoomValue loom_add_to (LoomProgram *p, LoomValue sum, LoomValue v);

G_END_DECLS
