/* Sets an error and returns, in one statement. */
#pragma once

#include "engine/core/loom-error.h"

/* Sets an error of LOOM_ERROR and returns FALSE; the second form, for functions that return a pointer, NULL. */
gboolean loom_refuse (GError **error, LoomErrorCode code, const char *format, ...) G_GNUC_PRINTF (3, 4);
gpointer loom_refuse_null (GError **error, LoomErrorCode code, const char *format, ...) G_GNUC_PRINTF (3, 4);
