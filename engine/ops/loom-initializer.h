/* Declares the initial values that a node can choose for its weights: weight_init="kaiming_normal(mode=fan_out)".
 *
 * One table has the functions of torch.nn.init with their parameters; the net, the inspector, the manual and the export
 * to PyTorch read it. The values depend on the seed and the weight's name alone (engine/run/state-init.c). */
#pragma once

#include "engine/ops/loom-op.h"

#define LOOM_WEIGHT_INIT            "weight_init"
#define LOOM_BIAS_INIT              "bias_init"
#define LOOM_INITIALIZER_MAX_PARAMS 4

typedef struct _LoomInitializer LoomInitializer;

typedef struct
{
  const char *name; /* PyTorch's */
  double value;     /* default; of a word: its index */
  double minimum, maximum;
  gboolean is_integer;
  const char *const *choices; /* words; NULL: a number */
} LoomInitializerParam;

struct _LoomInitializer
{
  const char *name; /* "kaiming_normal" */
  const char *doc, *formula, *source;
  int least_rank, most_rank;                                   /* of the weight */
  LoomInitializerParam param[LOOM_INITIALIZER_MAX_PARAMS + 1]; /* ends with name NULL */
  /* Fills in the values for a weight. fan: its inputs and outputs per unit. Returns why it does not fit, as a clause.
   */
  const char *(*make) (const double *value, const LoomShape *shape, const gint64 fan[2], LoomInit *init);
};

/* A text that is parsed: a function and the values of its parameters. */
typedef struct
{
  const LoomInitializer *function;
  double value[LOOM_INITIALIZER_MAX_PARAMS];
  gboolean is_given[LOOM_INITIALIZER_MAX_PARAMS];
} LoomInitializerCall;

const LoomInitializer *loom_initializers (void); /* ends with name NULL */
/* Every function with its parameters at their defaults, as texts, ending with NULL. */
extern const char *const loom_initializer_texts[];

/* Parses “NAME” or “NAME(PARAMETER=VALUE, …)”. Returns FALSE with a sentence and the likely text (or NULL). */
gboolean loom_initializer_parse (const char *text, LoomInitializerCall *call, char **why, char **fix);
/* Replaces the initial values of a declared weight by those that its node chooses; a fault if they do not fit. */
void loom_initializer_apply (LoomInfer *ctx, LoomWeightSpec *spec);
/* TRUE if weight_init applies to a weight of this name; else bias_init does. */
gboolean loom_initializer_is_weight (const char *name);
/* The operator has a weight that the attribute applies to. */
gboolean loom_initializer_concerns (const LoomOp *op, const char *attribute);
