/* The error domain: names and exit statuses of its codes. */
#include "engine/core/loom-error.h"

#include "engine/core/loom-refuse.h"

G_DEFINE_QUARK (loom - error - quark, loom_error)

/* Indexed by LoomErrorCode. */
static const struct
{
  const char *name;
  int exit_status;
} codes[] = {
  [LOOM_ERROR_PARSE] = { "PARSE", 1 },
  [LOOM_ERROR_SCHEMA] = { "SCHEMA", 1 },
  [LOOM_ERROR_UNKNOWN_OP] = { "UNKNOWN_OP", 1 },
  [LOOM_ERROR_PORT] = { "PORT", 1 },
  [LOOM_ERROR_SHAPE] = { "SHAPE", 1 },
  [LOOM_ERROR_DTYPE] = { "DTYPE", 1 },
  [LOOM_ERROR_CYCLE] = { "CYCLE", 1 },
  [LOOM_ERROR_NO_KERNEL] = { "NO_KERNEL", 3 },
  [LOOM_ERROR_OUT_OF_MEMORY] = { "OUT_OF_MEMORY", 3 },
  [LOOM_ERROR_DEVICE] = { "DEVICE", 3 },
  [LOOM_ERROR_DATA] = { "DATA", 1 },
  [LOOM_ERROR_IO] = { "IO", 5 },
  [LOOM_ERROR_DIST] = { "DIST", 3 },
  [LOOM_ERROR_CANCELLED] = { "CANCELLED", 130 },
  [LOOM_ERROR_NAN] = { "NAN", 4 },
  [LOOM_ERROR_USAGE] = { "USAGE", 2 },
  [LOOM_ERROR_OUTSIDE] = { "OUTSIDE", 1 },
};

/* A sentence may quote a name of a file or of its content, which may be no UTF-8; labels and JSON need that. */
static void
refuse (GError **error, LoomErrorCode code, const char *format, va_list args)
{
  GError *made = g_error_new_valist (LOOM_ERROR, code, format, args);

  if (!g_utf8_validate (made->message, -1, NULL))
    {
      char *valid = g_utf8_make_valid (made->message, -1);

      g_free (made->message);
      made->message = valid;
    }
  g_propagate_error (error, made);
}

gboolean
loom_refuse (GError **error, LoomErrorCode code, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  refuse (error, code, format, args);
  va_end (args);
  return FALSE;
}

gpointer
loom_refuse_null (GError **error, LoomErrorCode code, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  refuse (error, code, format, args);
  va_end (args);
  return NULL;
}

gboolean
loom_error_of_ranks (const char *text, GError **error)
{
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DIST, text);
  return FALSE;
}

const char *
loom_error_code_name (LoomErrorCode code)
{
  g_return_val_if_fail (code < G_N_ELEMENTS (codes), "UNKNOWN");

  return codes[code].name;
}

int
loom_error_exit_status (const GError *error)
{
  g_return_val_if_fail (error != NULL, 0);

  if (error->domain == G_FILE_ERROR)
    return 5;
  if (error->domain != LOOM_ERROR || error->code < 0 || error->code >= (int)G_N_ELEMENTS (codes))
    return 1;
  return codes[error->code].exit_status;
}
