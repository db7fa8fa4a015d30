/* The interface between the files that read ONNX's recurrent layers: onnx-map-recurrent.c maps those of PyTorch's form
 * to Gradloom's layers, onnx-map-cell.c writes the others as a loop over a cell. */
#pragma once

#include "engine/onnx/onnx-private.h"

/* Inputs of the node. */
enum
{
  ONNX_RNN_X,
  ONNX_RNN_W,
  ONNX_RNN_R,
  ONNX_RNN_B,
  ONNX_RNN_LENGTHS,
  ONNX_RNN_H,
  ONNX_RNN_C,
  ONNX_RNN_P
};

typedef struct
{
  const char *name; /* ONNX's */
  double alpha, beta;
} OnnxActivation;

typedef struct
{
  guint gates;    /* number of gates: 1 rnn, 3 gru, 4 lstm */
  const char *op; /* Gradloom's operator */
  gint64 hidden;  /* number of features of the state */
  guint directions;
  gboolean reverse; /* of a single direction */
  gboolean batch_first;
  gboolean has_clip;
  double clip;
  gboolean after;              /* gru: linear_before_reset; the reset gate is applied to the product with the state */
  gboolean couples;            /* lstm: input_forget */
  OnnxActivation act[2][3];    /* by direction: of the gates, of the new state, of the cell */
  const OnnxWire *x, *lengths; /* lengths i64 [B], or NULL */
} OnnxRecurrent;

/* Rows of one direction of an input, in blocks of `hidden` rows: numbers of the model, or a wire. */
typedef struct
{
  LoomTensor *tensor;
  const OnnxWire *wire;
} OnnxPart;

/* The blocks order[0], order[1] … of input i [directions, blocks · hidden, …]. */
OnnxPart
onnx_recurrent_part (OnnxCtx *c, const OnnxRecurrent *r, guint i, guint direction, guint n, const guint *order);
void onnx_recurrent_clear (OnnxPart *part);
/* The initial state of one direction, or NULL: [B, hidden] of input ONNX_RNN_H or ONNX_RNN_C. */
const OnnxWire *onnx_recurrent_state (OnnxCtx *c, const OnnxRecurrent *r, guint i, guint direction);
/* Sets the outputs of a direction: y [T, B, hidden] (or [B, T, hidden]), and h and c [B, hidden]. */
void onnx_draw_cell (OnnxCtx *c, const OnnxRecurrent *r, guint direction, const OnnxWire *out[3]);
