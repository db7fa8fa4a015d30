/* Definitions that the reader and the writer of safetensors share. */
#pragma once

#include "engine/core/loom-tensor.h"

G_BEGIN_DECLS

/* The names of element types in headers; NULL for types that the format does not have. */
extern const char *const safetensors_dtype_names[LOOM_N_DTYPES];

G_END_DECLS
