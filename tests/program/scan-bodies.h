/* Bodies of scans for tests: one of each kind that a rule distinguishes. */
#pragma once

#include "engine/program/loom-prim.h"

typedef struct
{
  const char *name;
  guint n_carried, n_sequences, n_whole, n_stacked;
  LoomProgram *(*body) (LoomDType dtype);
} ScanCase;

#define SCAN_MAX_OPERANDS 8
#define SCAN_KEYS         6 /* the number of keys of “looking” */

/* Samples of the bodies that are made; 3 at first. */
extern gint64 scan_case_rows;

/* Ends with a NULL name. */
extern const ScanCase scan_cases[];

/* Adds inputs of p for a case's operands, `length` rows a sequence; returns their number. */
guint scan_case_inputs (const ScanCase *c, LoomProgram *p, gint64 length, LoomDType dtype, LoomValue *in);
typedef enum
{
  SCAN_REVERSE = 1 << 0,
  SCAN_RECOMPUTE = 1 << 1,
  SCAN_NO_HOIST = 1 << 2
} ScanFlags;

/* Emits the scan over them. out[] receives its results, carried ones first; returns their number. */
guint scan_case_emit (const ScanCase *c, LoomProgram *p, gint64 length, ScanFlags flags, LoomDType dtype,
                      const LoomValue *in, LoomValue *out);
/* The same values without a loop. */
guint scan_case_unroll (const ScanCase *c, LoomProgram *p, gint64 length, gboolean reverse, LoomDType dtype,
                        const LoomValue *in, LoomValue *out);
