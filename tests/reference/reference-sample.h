/* One stored sample of an operator: what PyTorch computed for it, run again here. */
#pragma once

#include "engine/loom-lab.h"

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

typedef struct
{
  const LoomTensorFile *file; /* data/OPERATOR.safetensors */
  const char *number;          /* which sample: tensors are NUMBER/in.PORT and so on */
  JsonObject *about;           /* its description, see make.py */
} Sample;

typedef struct
{
  LoomDevices *devices;
  const char *device;
  LoomDType dtype;
  double tolerance; /* times the sample's "scale" */
  double worst;     /* the largest difference that was met, where it was allowed */
} SampleManner;

/* NULL where every output, gradient and committed buffer is as stored; else what is wrong first. */
char *sample_run (const Sample *sample, SampleManner *manner);

/* Largest difference, relative to the largest finite number of what is expected (at least 0.01); infinite where shapes
 * differ, or what is not finite. */
double tensor_difference (const LoomTensor *is, const LoomTensor *should);

G_END_DECLS
