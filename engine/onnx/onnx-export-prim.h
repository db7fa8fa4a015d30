/* The state of exporting a node's lowering primitive by primitive (OnnxLowered), shared by onnx-export-prim-*.c. */
#pragma once

#include "engine/onnx/onnx-export-private.h"

/* An instruction, in the program of each binding. */
typedef struct
{
  OnnxWrite *w;
  OnnxExport *all;
  guint n; /* number of bindings */
  LoomProgram *p[ONNX_BINDINGS];
  const LoomInstr *instr[ONNX_BINDINGS];
  OnnxVar **var; /* by value of the first program */
} OnnxPrim;

typedef struct
{
  const char *name;
  /* Writes a primitive. FALSE after onnx_refuse(), or if ONNX cannot express this call. */
  gboolean (*write) (OnnxPrim *q);
} OnnxPrimWriter;

/* The row of a primitive, which prim-writers.h collects. */
#define ONNX_PRIM(name_, write_)                                                                                       \
  extern const OnnxPrimWriter onnx_prim_##name_;                                                                       \
  const OnnxPrimWriter onnx_prim_##name_ = { #name_, write_ };

/* Writes the instructions of the programs. All inputs must have a value in the model. */
void onnx_prim_write_program (OnnxPrim *q);
/* The value in the model for a value of the first program; NULL if it is absent. */
OnnxVar *onnx_prim_value (OnnxPrim *q, LoomValue v);
/* An operand's value in the model, or NULL if it is absent. */
OnnxVar *onnx_prim_in (OnnxPrim *q, guint i);
const LoomTensorDesc *onnx_prim_in_desc (OnnxPrim *q, guint i);
const LoomTensorDesc *onnx_prim_out_desc (OnnxPrim *q, guint i);
void onnx_prim_out (OnnxPrim *q, guint i, OnnxVar *v);
gboolean onnx_prim_is_wanted (OnnxPrim *q, guint i);
/* A dimension of a value, and an i64 in the attributes, as a size. */
OnnxSize onnx_prim_dim (OnnxPrim *q, LoomValue v, int axis);
OnnxSize onnx_prim_size (OnnxPrim *q, const gint64 number[ONNX_BINDINGS]);
gint64 onnx_prim_int (OnnxPrim *q, guint binding, gsize offset);
/* A shape as a tensor, for Expand and others; NULL after onnx_refuse(). */
OnnxVar *onnx_prim_shape_var (OnnxPrim *q, LoomValue v);
OnnxVar *onnx_prim_sizes_var (OnnxPrim *q, guint n, const OnnxSize *sizes);
/* A number that may depend on the dynamic sizes (1 / B of a mean), as a scalar; NULL after onnx_refuse(). */
OnnxVar *onnx_prim_number (OnnxPrim *q, LoomDType dtype, const double number[ONNX_BINDINGS]);
/* A value's type in the model; a size that is no product of dynamic ones is unknown. */
LoomType onnx_prim_type (const OnnxPrim *q, LoomValue v);
/* Adds a result to a body that is being written. Each result is a new value, even if two are equal or one is an
 * input. */
void onnx_prim_give (OnnxPrim *q, OnnxBody *body, OnnxVar *result, const LoomType *type);
/* Ends the body of a Scan that is being written, before the node has results. Runtimes differ in the outer values that
 * a body may read, so it reads only constants: each computed outer value becomes a state after the existing n_states,
 * which every iteration passes on unchanged. Returns the number of these states. */
guint onnx_prim_close (OnnxExport *all, OnnxOutNode *node, OnnxBody *body, guint n_states);
/* The type in which ONNX computes: f32, f64 or i64. */
LoomDType onnx_prim_compute_type (LoomDType dtype);
