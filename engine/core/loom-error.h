/* Errors that a user can cause are GErrors in this domain, whose sentence names the problem, where it is, and a remedy.
 * Errors that only a programmer can cause are assertions. */
#pragma once

#include <glib.h>

#define LOOM_ERROR (loom_error_quark ())

typedef enum
{
  LOOM_ERROR_PARSE,
  LOOM_ERROR_SCHEMA,
  LOOM_ERROR_UNKNOWN_OP,
  LOOM_ERROR_PORT,
  LOOM_ERROR_SHAPE,
  LOOM_ERROR_DTYPE,
  LOOM_ERROR_CYCLE,
  LOOM_ERROR_NO_KERNEL,
  LOOM_ERROR_OUT_OF_MEMORY,
  LOOM_ERROR_DEVICE,
  LOOM_ERROR_DATA,
  LOOM_ERROR_IO,
  LOOM_ERROR_DIST,
  LOOM_ERROR_CANCELLED,
  LOOM_ERROR_NAN,
  LOOM_ERROR_USAGE,
  LOOM_ERROR_OUTSIDE /* a guard refused data outside the graph's folder */
} LoomErrorCode;

GQuark loom_error_quark (void);

/* Sets DIST for a failed communication of ranks; always returns FALSE. text: the error of the call. */
gboolean loom_error_of_ranks (const char *text, GError **error);

/* "PARSE", "SHAPE", …: the name in --json output and in documents. */
const char *loom_error_code_name (LoomErrorCode code);

/* The exit status of the command line for this error: 1 graph, data or weights; 2 usage; 3 device or memory; 4 NaN; 5
 * I/O; 130 cancelled. */
int loom_error_exit_status (const GError *error);
