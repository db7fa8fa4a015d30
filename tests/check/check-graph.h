/* All programs of a graph, planned and checked: what its <train> says, the evaluation, and every rank's part; without a
 * <train> what nothing reads, with its gradients. */
#pragma once

#include "engine/loom-lab.h"

typedef enum
{
  CHECK_SOUND,
  CHECK_REFUSED, /* the graph has a fault, or a combination that the engine does not offer */
  CHECK_WRONG
} CheckOutcome;

typedef struct
{
  LoomDevices *devices;
  guint32 seed;     /* of the plans' options and of operands */
  gboolean meaning; /* evaluates small pieces */
  gboolean inject;  /* moves a value of each plan with a product before it is checked: to test the tests */
} CheckOptions;

/* Of the meaning of all plans, see LoomCheckReport. */
typedef struct
{
  guint64 all, by_rule, evaluated, too_large, unchecked;
} CheckPieces;

typedef struct
{
  CheckOutcome outcome;
  char *rule; /* of a wrong one: "memory", "plan" where there is no plan */
  char *text; /* the sentence, with the plan that it is about */
  guint n_plans;
  CheckPieces pieces;
} CheckResult;

void check_pieces_add (CheckPieces *self, const CheckPieces *more);
void check_result_clear (CheckResult *self);
void check_graph (const LoomGraph *graph, const CheckOptions *options, CheckResult *result);
/* Reads the text first. */
void check_text (const char *text, const CheckOptions *options, CheckResult *result);
