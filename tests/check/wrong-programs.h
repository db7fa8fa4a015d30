/* Pairs of programs that differ in one detail: a plan of one must be refused as a plan of the other. */
#pragma once

#include "engine/program/loom-prim.h"

/* Values have the same numbers in both. */
typedef struct
{
  const char *name;
  LoomProgram *(*program) (gboolean wrong);
  gboolean has_rule; /* for the fused plan too */
} WrongProgram;

extern const WrongProgram wrong_programs[];
extern const guint n_wrong_programs;

/* Details of the second of two layers that are alike otherwise, so that evaluating the first would not show them. */
typedef enum
{
  LAYER_RIGHT,
  LAYER_FUNCTION,
  LAYER_CONSTANT,
  LAYER_OPERAND,
  LAYER_STREAM,
} LayerDetail;

LoomProgram *wrong_programs_two_layers (LayerDetail wrong);
