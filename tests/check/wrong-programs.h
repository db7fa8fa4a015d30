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
