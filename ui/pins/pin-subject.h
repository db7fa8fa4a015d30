/* The kind of a pinned tensor: an output, a weight, the gradient or the update of one; and the names of its axes. */
#pragma once

#include "engine/loom.h"

/* Prefixes of a tensor in a <pin>, as the worker reads them. */
#define PIN_GRADIENT "grad:"
#define PIN_UPDATE   "update:"

typedef struct
{
  gboolean is_typed; /* rank is known */
  gsize rank;
  gint64 dims[LOOM_SHAPE_MAX_RANK]; /* 0: not known before a run */
  gsize n_loops;                    /* leading axes that count iterations */
  char letter[LOOM_SHAPE_MAX_RANK]; /* of an axis, as in LoomNetAxes; 0: none */
  gboolean is_gradient, is_update;
  gboolean is_weight;    /* a weight, or its gradient or update */
  gboolean is_attention; /* weights of attention: the last two axes are targets and sources */
  gboolean is_embedding; /* the table of an embedding: the first axis is of tokens */
  gboolean is_integer;
  gboolean is_prediction; /* what the loss compares with targets */
  gboolean has_plane;     /* the prediction has a surface over two inputs */
} PinSubject;

/* net may lack the tensor: the subject then has rank 0. */
void pin_subject_init (PinSubject *self, const LoomNet *net, const char *tensor);
/* Sets the sizes of a value. */
void pin_subject_set_shape (PinSubject *self, gsize rank, const gint64 *dims);
/* TRUE if its values depend on samples: all but those of weights, and updates. */
gboolean pin_subject_is_of_samples (const PinSubject *self);
/* The name of an axis: "channel". */
const char *pin_subject_axis (const PinSubject *self, gsize axis);
/* The name of a tensor without its prefix, and its name for display: "gradient of conv1". */
const char *pin_tensor_name (const char *tensor);
char *pin_tensor_title (const char *tensor);
/* The path of the node of a tensor: the longest prefix that is a node; the tensor's name if there is none. */
char *pin_tensor_node (const LoomNet *net, const char *tensor);
