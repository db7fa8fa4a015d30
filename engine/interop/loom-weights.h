/* Comparison of a safetensors file's tensors with those of a graph, and the sentences about mismatches.
 *
 * Running, evaluating, predicting, exporting and beginning from another run all ask this; each decides by itself what
 * follows from it. */
#pragma once

#include "engine/interop/loom-safetensors.h"

G_BEGIN_DECLS

typedef enum
{
  LOOM_WEIGHT_FITS, /* same shape; floats are converted to floats, anything else must have its type */
  LOOM_WEIGHT_MISSING,
  LOOM_WEIGHT_DIFFERS /* another shape, numbers where floats are wanted, or a type that cannot be read */
} LoomWeightFit;

/* (out) at: the tensor's number in the file, where it is there. here, there: "3 × 4", with its type where the type is
 * what differs; there is NULL where it is missing. All may be NULL. */
LoomWeightFit loom_weight_fit (const LoomSafetensors *file, const char *name, const LoomType *want, guint *at,
                               char **here, char **there);
/* "fc.weight is missing (10 × 4)", "fc.weight is 10 × 4 here, 3 × 4 in the file". */
char *loom_weight_mismatch (const char *name, const char *here, const char *there);
/* Appends that as an indented line. */
void loom_weight_add_mismatch (GString *lines, const char *name, const char *here, const char *there);
/* DATA: "The weights in PATH do not fit this graph:" and the lines. partial: --partial would take those that do. */
void loom_weights_set_error (GError **error, const char *path, const char *lines, gboolean partial);

G_END_DECLS
