/* The interface between the files of constant folding: onnx-fold.c has the table and computes, onnx-fold-pick.c
 * rearranges elements. */
#pragma once

#include "engine/onnx/onnx-private.h"

#define FOLD_MAX_RESULT 4096 /* elements; a larger tensor is a weight or data */
#define FOLD_MAX_IN     16

typedef struct
{
  OnnxImport *all;
  const Onnx__NodeProto *node;
  int elem_type; /* ONNX's type of the result; 0: not known */
  guint n;
  const LoomTensor *in[FOLD_MAX_IN]; /* NULL: omitted */
} Fold;

gint64 fold_attr_int (const Fold *f, const char *name, gint64 def);
/* The numbers of a tensor of sizes; NULL if it is none. */
LoomTensor *fold_make (LoomDType dtype, int rank, const gint64 *dims);
void fold_copy_element (LoomTensor *to, gint64 at, const LoomTensor *from, gint64 i);
/* Stores an integer in the result's type, with wrap-around. */
void fold_set_integer (const Fold *f, LoomTensor *t, gint64 at, gint64 value);
/* A list of integers from an attribute or an input; −1 if there is neither. */
int fold_ints (const Fold *f, const char *name, guint input, gint64 values[LOOM_SHAPE_MAX_RANK]);

/* Folds a node; NULL if the result is not known. */
LoomTensor *fold_identity (const Fold *f);
LoomTensor *fold_unsqueeze (const Fold *f);
LoomTensor *fold_squeeze (const Fold *f);
LoomTensor *fold_reshape (const Fold *f);
LoomTensor *fold_cast (const Fold *f);
LoomTensor *fold_gather (const Fold *f);
LoomTensor *fold_slice (const Fold *f);
LoomTensor *fold_transpose (const Fold *f);
LoomTensor *fold_concat (const Fold *f);
LoomTensor *fold_where (const Fold *f);
LoomTensor *fold_expand (const Fold *f);
