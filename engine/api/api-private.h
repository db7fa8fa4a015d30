/* Shared by the files of the library: handles for objects of the engine. */
#pragma once

#include "engine/api/gradloom.h"
#include "engine/loom-run.h"

G_BEGIN_DECLS

struct _GradloomGraph
{
  LoomGraph *graph;
  char *run; /* the folder of its run; NULL: read from a file or a text */
};

/* A GradloomTensor is a LoomTensor. */
static inline LoomTensor *
tensor_of (const GradloomTensor *tensor)
{
  return (LoomTensor *)tensor;
}

static inline GradloomTensor *
tensor_for (LoomTensor *tensor)
{
  return (GradloomTensor *)tensor;
}

/* f64 [n, positions, classes] from n LoomAnswer, which all have the same sizes; kind may be NULL. */
GradloomTensor *answers_tensor (const GPtrArray *answers, GradloomAnswer *kind, GError **error);

G_END_DECLS
