/* Declares the code that the recurrent layers rnn, lstm and gru share; they follow PyTorch. */
#pragma once

#include "engine/ops/op-private.h"

/* More layers than this need two nodes in sequence. */
#define LOOM_RECURRENT_MAX_LAYERS 8

/* The values of one step in the body of the loop, in the program of the body. */
typedef struct
{
  LoomProgram *p;
  gint64 batch, hidden;
  LoomValue x;    /* [batch, gates·hidden]: the input projection, with the biases that can be added to it */
  LoomValue h, c; /* [batch, output], [batch, hidden] */
  LoomValue w;    /* weight_hh [gates·hidden, output] */
  LoomValue bias; /* bias_hh if it is not part of x, else 0 */
  LoomScalarOp activation;
} LoomRecurrentStep;

typedef struct
{
  guint gates;
  gboolean has_cell;      /* whether it carries c in addition to h */
  gboolean splits_biases; /* whether bias_hh is added in the loop */
  /* Replaces h, and c, by those after the step. */
  void (*step) (LoomRecurrentStep *s);
} LoomRecurrentCell;

extern const LoomRecurrentCell loom_recurrent_rnn, loom_recurrent_lstm, loom_recurrent_gru;

/* The ports of a layer: input, h_0, (c_0,) lengths, and the weights of every layer and direction. */
#define LOOM_RECURRENT_INPUT                                                                                           \
  { "input", "The sequence [T, B, features]; [B, T, features] with batch_first." },                                    \
  {                                                                                                                    \
    "h_0", "The initial hidden state [layers · directions, B, features]; zeros if not wired.", LOOM_PORT_OPTIONAL      \
  }
#define LOOM_RECURRENT_LENGTHS                                                                                         \
  {                                                                                                                    \
    "lengths",                                                                                                         \
        "The number of valid steps of each sample, i64 [B]: after them the state is unchanged and the output is 0. "   \
        "If not wired, all steps are valid.",                                                                          \
        LOOM_PORT_OPTIONAL                                                                                             \
  }
/* Listings name those of the first layer; the others differ only in the number of the layer. */
#define LOOM_RECURRENT_FIRST                                                                                           \
  { "weight_ih_l0",                                                                                                    \
    "Ties weight_ih_l0, the input projection of the first layer, to another tensor; likewise weight_ih_l1 …, and "   \
    "with _reverse those of the reverse direction.",                                                                   \
    LOOM_PORT_WEIGHT },                                                                                                \
      { "weight_hh_l0", "Ties the projection of the state, likewise.", LOOM_PORT_WEIGHT },                             \
      { "bias_ih_l0", "Ties the bias of the input projection, likewise.", LOOM_PORT_WEIGHT },                          \
      { "bias_hh_l0", "Ties the bias of the state projection, likewise.", LOOM_PORT_WEIGHT },                          \
      LOOM_RECURRENT_DIRECTION (0, "_reverse")
#define LOOM_RECURRENT_WEIGHT(name, layer, suffix)                                                                     \
  {                                                                                                                    \
    name "_l" #layer suffix, NULL, LOOM_PORT_WEIGHT                                                                    \
  }
#define LOOM_RECURRENT_DIRECTION(layer, suffix)                                                                        \
  LOOM_RECURRENT_WEIGHT ("weight_ih", layer, suffix), LOOM_RECURRENT_WEIGHT ("weight_hh", layer, suffix),              \
      LOOM_RECURRENT_WEIGHT ("bias_ih", layer, suffix), LOOM_RECURRENT_WEIGHT ("bias_hh", layer, suffix)
#define LOOM_RECURRENT_LAYER(layer) LOOM_RECURRENT_DIRECTION (layer, ""), LOOM_RECURRENT_DIRECTION (layer, "_reverse")
#define LOOM_RECURRENT_PROJECTION(layer)                                                                               \
  LOOM_RECURRENT_WEIGHT ("weight_hr", layer, ""), LOOM_RECURRENT_WEIGHT ("weight_hr", layer, "_reverse")
#define LOOM_RECURRENT_LATER(macro) macro (1), macro (2), macro (3), macro (4), macro (5), macro (6), macro (7)

/* The parameters that all have. */
#define LOOM_RECURRENT_PARAMS                                                                                          \
  { LOOM_PARAM_FRESH ("hidden_size", INT, "64"), LOOM_RANGE (1, 1e6), .unit = "features",                              \
    .doc = "The size of the hidden state." },                                                                          \
      { LOOM_PARAM ("num_layers", INT, "1"), LOOM_RANGE (1, LOOM_RECURRENT_MAX_LAYERS), .unit = "layers",              \
        .doc = "The number of stacked layers; each reads the output of the one before." },                             \
      { LOOM_PARAM ("bias", BOOL, "true"), .doc = "Whether the gates have learnable biases." },                        \
      { LOOM_PARAM ("batch_first", BOOL, "false"),                                                                     \
        .doc = "Whether the batch is the first dimension of input and output: [B, T, features]." },                    \
      { LOOM_PARAM ("dropout", FLOAT, "0"), LOOM_RANGE (0, 1), .hyper = TRUE,                                          \
        .doc = "The dropout probability of the output of each layer except the last, in training." },                  \
      { LOOM_PARAM (LOOM_STATEFUL, BOOL, "false"),                                                                     \
        .doc = "Whether a batch in training begins with the final state of the batch before (truncated "               \
               "backpropagation through time): the windows of a text are then read in order, and gradients end at "    \
               "the beginning of a window.",                                                                           \
        .advanced = TRUE },                                                                                            \
  {                                                                                                                    \
    LOOM_PARAM ("bidirectional", BOOL, "false"),                                                                       \
        .doc = "Whether a second loop runs from the last step to the first; the outputs of both are concatenated."     \
  }

extern const LoomPortSpec loom_op_port_recurrent[], loom_op_port_recurrent_cell[];

/* The cell of a recurrent operator. */
const LoomRecurrentCell *loom_recurrent_cell (const LoomInfer *ctx);

/* Rules of the layers rnn, lstm and gru. */
void loom_op_infer_recurrent (LoomInfer *ctx);
void loom_op_lower_recurrent (LoomLower *ctx);
double loom_op_recurrent_flops (const LoomInfer *ctx);
char *loom_op_recurrent_summary (const LoomInfer *ctx);

/* Gate k of [batch, gates·hidden]. */
LoomValue loom_recurrent_gate (const LoomRecurrentStep *s, LoomValue gates, guint k);
/* x + h·Wᵀ */
LoomValue loom_recurrent_gates (const LoomRecurrentStep *s);
