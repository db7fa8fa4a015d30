/* Finds the weights of an attention that a graph computes with operators: a softmax that a product mixes keys with,
 * also out of a scan, whose iterations are then the targets. */
#pragma once

#include "engine/loom.h"

typedef struct
{
  LoomNetSource weights;     /* the softmax */
  const LoomNetSource *keys; /* what its product mixes; of the net */
  guint scan;                /* the loop whose iterations are the targets; G_MAXUINT: none */
} PinAlignment;

/* FALSE if the output is none, or if its last two axes are not targets and sources. */
gboolean pin_alignment_find (const LoomNet *net, const LoomNetSource *output, PinAlignment *self);
