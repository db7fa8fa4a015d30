/* Lists the reserved attributes; see the header. */
#include "engine/ops/loom-reserved.h"

#include <string.h>

#include "engine/graph/loom-grammar.h"
#include "engine/ops/loom-param.h"

/* f64 is missing: only a whole run computes in it, on the device ref. */
static const char *const computed_in[] = { "f32", "bf16", "f16", NULL };

/* The kinds of splits of all operators (LoomWeightSplit). */
static const char *const split_by[] = { "column", "row", "heads", "vocabulary", NULL };

static const LoomReserved reserved[] = {
  { .spec = { LOOM_PARAM ("title", STRING, ""), .doc = "The label of the card, shown instead of the name." },
    .is_cosmetic = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  /* The choices are open, because the available devices depend on the machine. */
  { .spec = { LOOM_PARAM ("device", STRING, ""),
              .doc = "The device that computes the node; if not set, the device of the training." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { LOOM_PARAM ("frozen", BOOL, "false"),
              .doc = "Whether the weights stay fixed while the others are trained (requires_grad=False)." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { LOOM_PARAM ("dtype", STRING, ""), .choices = computed_in,
              .doc = "The precision of the node in training; if not set, the precision of the training." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec
    = { LOOM_PARAM ("recompute", BOOL, "false"),
        .doc
        = "Whether the activations are recomputed in the backward pass instead of stored: slower, with less memory." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { LOOM_PARAM ("stage", INT, ""), LOOM_RANGE (0, LOOM_MAX_STAGES - 1),
              .doc = "The pipeline stage of this node, if the ranks are stages of a pipeline; the nodes after it "
                     "inherit the stage." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { LOOM_PARAM ("split", STRING, ""), .choices = split_by,
              .doc = "How the weights are sharded over the ranks of a tensor-parallel run; see <parallel>." } },
  { .spec = { LOOM_PARAM (LOOM_WEIGHT_INIT, STRING, ""), .choices = loom_initializer_texts,
              .doc = "The initial values of the weights, a function of torch.nn.init; if not set, those of PyTorch's "
                     "layer." },
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { LOOM_PARAM (LOOM_BIAS_INIT, STRING, ""), .choices = loom_initializer_texts,
              .doc = "The initial values of the biases, as weight_init." },
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec
    = { LOOM_PARAM ("repeat", INT, ""), LOOM_RANGE (1, LOOM_MAX_COPIES), .doc = "The number of copies in sequence." },
    .shown = LOOM_SHOWN_AT_INSTANCES },
  { .spec = { LOOM_PARAM ("share", BOOL, "false"), .doc = "Whether the copies of a repeat share their weights." } },
  { .spec = { LOOM_PARAM ("mute", BOOL, "false"), .doc = "Whether the node is excluded from the computation." } },
  { { NULL } },
};

const LoomReserved *
loom_reserved (void)
{
  return reserved;
}

const LoomReserved *
loom_reserved_find (const char *name)
{
  for (const LoomReserved *r = reserved; r->spec.name != NULL; r++)
    if (strcmp (r->spec.name, name) == 0)
      return r;
  return NULL;
}

gboolean
loom_is_reserved (const char *name)
{
  return g_strv_contains (loom_grammar (LOOM_TAG_NODE)->identity, name) || loom_reserved_find (name) != NULL;
}
