/* One stored sample of an operator: PyTorch's results, computed again here. */
#pragma once

#include "engine/loom-lab.h"

#include <json-glib/json-glib.h>

typedef struct
{
  LoomTensorFile *file; /* data/OPERATOR.safetensors */
  const char *number;   /* which sample: tensors are NUMBER/in.PORT and so on */
  JsonObject *about;    /* its description, see make.py */
} Sample;

typedef struct
{
  LoomDevices *devices;
  const char *device;
  LoomDType dtype;
  double tolerance; /* times the sample's "scale" */
  double worst;     /* the largest allowed difference that occurred */
} SampleManner;

/* NULL if every output, gradient and committed buffer is as stored; else the first difference. */
char *sample_run (const Sample *sample, SampleManner *manner);

/* The largest difference, relative to the largest finite expected number (at least 0.01); infinite if shapes or
 * non-finite elements differ. */
double tensor_difference (const LoomTensor *is, const LoomTensor *should);
