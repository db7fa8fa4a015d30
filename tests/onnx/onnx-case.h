/* One case of ONNX's own tests: a model, inputs and the outputs that are right. */
#pragma once

#include "engine/onnx/loom-onnx.h"
#include "engine/run/loom-exec.h"

typedef enum
{
  CASE_PASSED,
  CASE_FAILED,     /* it was imported, and something is wrong */
  CASE_UNSUPPORTED /* the importer refused it, or its data are of a type that we lack */
} CaseVerdict;

/* Runs the case in this folder on each device, with every set of data that it has. *why receives the reason of a
 * failure. (transfer full) */
CaseVerdict case_run (LoomDevices *devices, const char *folder, char **why);
