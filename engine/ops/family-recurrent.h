/* Shared by the recurrent layers: rnn, lstm and gru, as PyTorch has them. */
#pragma once

#include "engine/ops/op-private.h"

G_BEGIN_DECLS

/* More layers than this are two nodes, one behind the other. */
#define LOOM_RECURRENT_MAX_LAYERS 8

/* The values of one step inside the loop's body, in the body's program. */
typedef struct
{
  LoomProgram *p;
  gint64 batch, hidden;
  LoomValue x;    /* [batch, gates·hidden]: the input's share of the gates, biases that can be added to it included */
  LoomValue h, c; /* [batch, output], [batch, hidden] */
  LoomValue w;    /* weight_hh [gates·hidden, output] */
  LoomValue bias; /* bias_hh where it is no part of x, else 0 */
  LoomScalarOp activation;
} LoomRecurrentStep;

typedef struct
{
  guint gates;
  gboolean has_cell;      /* it carries c beside h */
  gboolean splits_biases; /* bias_hh stays in the loop */
  /* h, and c, become those behind the step. */
  void (*step) (LoomRecurrentStep *s);
} LoomRecurrentCell;

/* The ports of a layer: input, h_0, (c_0,) lengths, and the weights of every layer and direction. */
#define LOOM_RECURRENT_INPUT                                                                                           \
  { "input", "Steps by samples by features [T, B, features]; [B, T, features] with batch_first." },                    \
  {                                                                                                                    \
    "h_0", "The hidden state before the first step [layers · directions, B, features]; zeros where nothing is wired.", \
        LOOM_PORT_OPTIONAL                                                                                             \
  }
#define LOOM_RECURRENT_LENGTHS                                                                                         \
  {                                                                                                                    \
    "lengths",                                                                                                         \
        "How many steps of each sample count, i64 [B]: after them the state stays and the output is 0. If nothing is " \
        "wired, all count.",                                                                                           \
        LOOM_PORT_OPTIONAL                                                                                             \
  }
/* Listings name those of the first layer; the others are alike, with their layer's number. */
#define LOOM_RECURRENT_FIRST                                                                                           \
  { "weight_ih_l0",                                                                                                    \
    "Ties the first layer’s weights of the input to another tensor; likewise weight_ih_l1 …, and with "            \
    "_reverse those of the other direction.",                                                                          \
    LOOM_PORT_WEIGHT },                                                                                                \
      { "weight_hh_l0", "Ties the weights of the state, likewise.", LOOM_PORT_WEIGHT },                                \
      { "bias_ih_l0", "Ties the bias of the input, likewise.", LOOM_PORT_WEIGHT },                                     \
      { "bias_hh_l0", "Ties the bias of the state, likewise.", LOOM_PORT_WEIGHT },                                     \
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
  { .name = "hidden_size",                                                                                             \
    .type = LOOM_PARAM_INT,                                                                                            \
    .fresh = "64",                                                                                                     \
    .minimum = 1,                                                                                                      \
    .maximum = 1e6,                                                                                                    \
    .unit = "features",                                                                                                \
    .doc = "How many numbers the state has." },                                                                        \
      { .name = "num_layers",                                                                                          \
        .type = LOOM_PARAM_INT,                                                                                        \
        .def = "1",                                                                                                    \
        .minimum = 1,                                                                                                  \
        .maximum = LOOM_RECURRENT_MAX_LAYERS,                                                                          \
        .unit = "layers",                                                                                              \
        .doc = "How many layers are stacked, each reading the outputs of the one below." },                            \
      { .name = "bias", .type = LOOM_PARAM_BOOL, .def = "true", .doc = "Adds learnt numbers to the gates." },          \
      { .name = "batch_first",                                                                                         \
        .type = LOOM_PARAM_BOOL,                                                                                       \
        .def = "false",                                                                                                \
        .doc = "Samples are the first dimension of input and output, and steps the second." },                         \
      { .name = "dropout",                                                                                             \
        .type = LOOM_PARAM_FLOAT,                                                                                      \
        .def = "0",                                                                                                    \
        .minimum = 0,                                                                                                  \
        .maximum = 1,                                                                                                  \
        .hyper = TRUE,                                                                                                 \
        .doc = "The share of each layer’s outputs, but the last one’s, that is dropped in training." },                \
      { .name = LOOM_STATEFUL,                                                                                         \
        .type = LOOM_PARAM_BOOL,                                                                                       \
        .def = "false",                                                                                                \
        .doc = "In training a batch begins with the state that the batch before has left: windows of a text are then " \
               "read in order, and gradients end at a window’s beginning.",                                            \
        .advanced = TRUE },                                                                                            \
  {                                                                                                                    \
    .name = "bidirectional", .type = LOOM_PARAM_BOOL, .def = "false",                                                  \
    .doc = "A second loop goes from the last step to the first; both outputs lie side by side."                        \
  }

extern const LoomPortSpec loom_op_port_recurrent[], loom_op_port_recurrent_cell[];

void loom_op_infer_recurrent (LoomInfer *ctx, const LoomRecurrentCell *cell);
void loom_op_lower_recurrent (LoomLower *ctx, const LoomRecurrentCell *cell);
double loom_op_recurrent_flops (const LoomInfer *ctx, const LoomRecurrentCell *cell);
char *loom_op_recurrent_summary (const LoomInfer *ctx);

/* Gate k of [batch, gates·hidden]. */
LoomValue loom_recurrent_gate (const LoomRecurrentStep *s, LoomValue gates, guint k);
/* x + h·Wᵀ */
LoomValue loom_recurrent_gates (const LoomRecurrentStep *s);

G_END_DECLS
