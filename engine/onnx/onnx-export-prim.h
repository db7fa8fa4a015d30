/* Shared by the files that export a node's lowering primitive by primitive. */
#pragma once

#include "engine/onnx/onnx-export-private.h"

G_BEGIN_DECLS

/* One instruction, in the program of each binding. */
typedef struct
{
  OnnxWrite *w;
  OnnxExport *all;
  guint n; /* bindings */
  LoomProgram *p[ONNX_BINDINGS];
  const LoomInstr *instr[ONNX_BINDINGS];
  OnnxVar **var; /* by value of the first program */
} OnnxPrim;

typedef struct
{
  const char *name;
  /* FALSE after onnx_refuse(), or if ONNX cannot express this call. */
  gboolean (*write) (OnnxPrim *q);
} OnnxPrimWriter;

extern const OnnxPrimWriter onnx_prims_shape[], onnx_prims_number[], onnx_prims_linalg[], onnx_prims_loop[],
    onnx_prims_visit[];

/* Writes the instructions of the programs, all of whose inputs have a value. */
void onnx_prim_write_program (OnnxPrim *q);
/* The model's value for a value of the first program; NULL if absent. */
OnnxVar *onnx_prim_value (OnnxPrim *q, LoomValue v);
/* The operand, or NULL where it is absent. */
OnnxVar *onnx_prim_in (OnnxPrim *q, guint i);
const LoomTensorDesc *onnx_prim_in_desc (OnnxPrim *q, guint i);
const LoomTensorDesc *onnx_prim_out_desc (OnnxPrim *q, guint i);
void onnx_prim_out (OnnxPrim *q, guint i, OnnxVar *v);
gboolean onnx_prim_is_wanted (OnnxPrim *q, guint i);
/* A dimension of a value, and the i64 at an offset of the attributes. */
OnnxSize onnx_prim_dim (OnnxPrim *q, LoomValue v, int axis);
OnnxSize onnx_prim_size (OnnxPrim *q, const gint64 number[ONNX_BINDINGS]);
gint64 onnx_prim_int (OnnxPrim *q, guint binding, gsize offset);
/* Shapes as tensors for Expand and its like; NULL after onnx_refuse(). */
OnnxVar *onnx_prim_shape_var (OnnxPrim *q, LoomValue v);
OnnxVar *onnx_prim_sizes_var (OnnxPrim *q, guint n, const OnnxSize *sizes);
/* A number that may depend on the dynamic sizes (1 / B of a mean), as a scalar; NULL after onnx_refuse(). */
OnnxVar *onnx_prim_number (OnnxPrim *q, LoomDType dtype, const double number[ONNX_BINDINGS]);
/* A value's type in the model; a size that is no product of the dynamic ones is left open. */
LoomType onnx_prim_type (const OnnxPrim *q, LoomValue v);
/* One more result of a body that is being written. Each is a value of its own, although two may be one, or an input. */
void onnx_prim_give (OnnxPrim *q, OnnxBody *body, OnnxVar *result, const LoomType *type);
/* Ends a Scan's body, whose nodes are being added, before the node has results: runtimes differ in the outer values
 * that a body may read, so it reads only constants. Each outer computed value becomes a state after the existing
 * n_states, which every iteration passes on unchanged. Returns their number. */
guint onnx_prim_close (OnnxExport *all, OnnxOutNode *node, OnnxBody *body, guint n_states);
/* The type ONNX computes in: f32, f64 or i64. */
LoomDType onnx_prim_compute_type (LoomDType dtype);

G_END_DECLS
