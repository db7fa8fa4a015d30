/* Compares the tensors of a file with the weights of a graph, and formats sentences about mismatches.
 *
 * Running, evaluating, predicting, exporting and continuing from another run all use it, and each decides what a
 * mismatch means. */
#pragma once

#include "engine/interop/loom-safetensors.h"

typedef enum
{
  LOOM_WEIGHT_FITS, /* the same shape, and the same type or both floats */
  LOOM_WEIGHT_MISSING,
  LOOM_WEIGHT_DIFFERS /* another shape, another kind of number, or a type that cannot be read */
} LoomWeightFit;

/* A tensor that lacks sizes of 1 before the others, or has more of them, has those of the graph from then on.
 * (out) at: the tensor's number in the file if it exists. (out) here, there: "3 × 4", with the type if the types
 * differ; there is NULL if the tensor is missing. All may be NULL. */
LoomWeightFit
loom_weight_fit (LoomTensorFile *file, const char *name, const LoomType *want, guint *at, char **here, char **there);
/* Leaves a prefix out of the file's names if all these weights are then found. Returns a sentence's predicate about
 * that, and about the member of a checkpoint that was read: "has its weights in “state_dict”, with “module.” before
 * each name"; NULL if there is nothing to say. (transfer full) */
char *loom_weights_fit_names (LoomTensorFile *file, const char *const *names, guint n);
/* "fc.weight is missing (10 × 4)", "fc.weight is 10 × 4 here, 3 × 4 in the file". */
char *loom_weight_mismatch (const char *name, const char *here, const char *there);
/* Appends that sentence as an indented line. */
void loom_weight_add_mismatch (GString *lines, const char *name, const char *here, const char *there);
/* The DATA error "The weights in PATH do not fit this graph:" with these lines. partial: --partial would accept those
 * that fit. */
void loom_weights_set_error (GError **error, const char *path, const char *lines, gboolean partial);
