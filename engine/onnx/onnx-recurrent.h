/* Shared by the files that read ONNX's recurrent layers: onnx-map-recurrent.c maps those of PyTorch's form to its
 * layers, onnx-map-cell.c composes the others as a loop over a cell. */
#pragma once

#include "engine/onnx/onnx-private.h"

G_BEGIN_DECLS

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
  guint gates;    /* 1 rnn, 3 gru, 4 lstm */
  const char *op; /* ours */
  gint64 hidden;  /* features of the state */
  guint directions;
  gboolean reverse; /* of the only direction */
  gboolean batch_first;
  gboolean has_clip;
  double clip;
  gboolean after;              /* gru: linear_before_reset, the reset gate weighs the product with the state */
  gboolean couples;            /* lstm: input_forget */
  OnnxActivation act[2][3];    /* by direction: of the gates, of what is new, of the cell */
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
/* The state before the first step of one direction, or NULL: [B, hidden] of input ONNX_RNN_H or ONNX_RNN_C. */
const OnnxWire *onnx_recurrent_state (OnnxCtx *c, const OnnxRecurrent *r, guint i, guint direction);
/* The outputs of a direction: y [T, B, hidden] (or [B, T, hidden]), and h and c [B, hidden]. */
void onnx_draw_cell (OnnxCtx *c, const OnnxRecurrent *r, guint direction, const OnnxWire *out[3]);

G_END_DECLS
