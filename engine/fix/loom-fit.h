/* Determines whether a node accepts a tensor, by inference of a net of that one node.
 *
 * Tables of which layer follows which would have to be maintained in addition to the operators. An operator's own type
 * rule has this knowledge, and a net of a few nodes is inferred in some tens of microseconds, whatever the size of the
 * graph around it. */
#pragma once

#include "engine/net/loom-net.h"

/* In the order of preference, the best last. */
typedef enum
{
  LOOM_FIT_NOT,     /* no port for it, or refused */
  LOOM_FIT_UNKNOWN, /* depends on the types at other inputs */
  LOOM_FIT_HINT,    /* accepted, with a warning */
  LOOM_FIT_WELL
} LoomFit;

#define LOOM_FIT_MAX 4

typedef struct
{
  LoomFit fit;
  guint n_outputs; /* of known type, at most LOOM_FIT_MAX */
  LoomType output[LOOM_FIT_MAX];
  const char *output_name[LOOM_FIT_MAX]; /* static */
  char *said;                            /* the operator's error or warning; NULL: none */
  char *port;                            /* the port that it names */
} LoomFitAnswer;

/* Infers a node with these attributes for such inputs. input[i] is the type at the i-th input of the operator (or of
 * its variadic one); NULL: not wired. Only for nodes with an operator and without expressions; for others the result is
 * unknown. */
void loom_fit_infer (const LoomElement *node, const LoomType *const *input, guint n_inputs, LoomFitAnswer *answer);
void loom_fit_answer_clear (LoomFitAnswer *answer);

/* A detached node of the operator as an editor adds it: required parameters have the value of the operator table. */
LoomElement *loom_fit_fresh_node (const LoomOp *op, const char *id);
/* The parameter of a new node that the user is most likely to change, with its value; NULL: none. */
const LoomParamSpec *loom_fit_first_param (const LoomOp *op);

/* How well a new node accepts this tensor, and at which input (may be NULL). Other inputs get the tensors that usually
 * occur together. */
LoomFit loom_fit_after (const LoomOp *op, const LoomType *type, guint *input);
/* How well a new node feeds input `input` of a node whose other inputs have these types. */
LoomFit
loom_fit_before (const LoomOp *op, const LoomElement *node, const LoomType *const *input, guint n_inputs, guint at);
