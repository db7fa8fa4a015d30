/* Whether a node takes a tensor: asked of the operator itself, in a net of that one node.
 *
 * Tables of which layer follows which would have to be kept beside the operators. An operator's own type rule knows
 * it, and a net of a few nodes is inferred in some tens of microseconds, whatever the size of the graph around it. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

/* In the order of preference, the best last. */
typedef enum
{
  STUDIO_FIT_NOT,     /* no port for it, or refused */
  STUDIO_FIT_UNKNOWN, /* depends on what comes to other inputs */
  STUDIO_FIT_HINT,    /* accepted, with a warning */
  STUDIO_FIT_WELL
} StudioFit;

#define STUDIO_FIT_MAX 4

typedef struct
{
  StudioFit fit;
  guint n_outputs; /* of known type, at most STUDIO_FIT_MAX */
  LoomType output[STUDIO_FIT_MAX];
  const char *output_name[STUDIO_FIT_MAX]; /* static */
  char *said;                              /* the operator's sentence where it refuses or warns; NULL: none */
  char *port;                              /* that it blames */
} StudioFitAnswer;

/* Asks the operator of a node with these attributes about such inputs. input[i] belongs to the i-th input of the
 * operator (or of its variadic one); NULL: nothing is wired. Only for nodes with an operator and without expressions,
 * of others nothing is known. */
void studio_fit_ask (const LoomElement *node, const LoomType *const *input, guint n_inputs, StudioFitAnswer *answer);
void studio_fit_answer_clear (StudioFitAnswer *answer);

/* A detached node of the operator as an editor adds it: required parameters have the value of the operator table. */
LoomElement *studio_fit_fresh_node (const LoomOp *op, const char *id);
/* The parameter that a fresh node is most likely given another value of, with the value that it has; NULL: none. */
const LoomParamSpec *studio_fit_first_param (const LoomOp *op);

/* How well a fresh node takes this tensor, and at which input (which may be NULL). Where an operator has several
 * inputs the others are given what usually goes with it. */
StudioFit studio_fit_behind (const LoomOp *op, const LoomType *type, guint *input);
/* How well a fresh node feeds input `input` of a node whose other inputs have these types. */
StudioFit
studio_fit_before (const LoomOp *op, const LoomElement *node, const LoomType *const *input, guint n_inputs, guint at);

G_END_DECLS
