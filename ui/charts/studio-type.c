/* Implements studio-type.h. */
#include "ui/charts/studio-type.h"

guint
studio_signal_new (const char *name, GType type, guint n, ...)
{
  va_list types;
  guint signal;

  va_start (types, n);
  signal = g_signal_new_valist (name, type, G_SIGNAL_RUN_LAST, NULL, NULL, NULL, NULL, G_TYPE_NONE, n, types);
  va_end (types);
  return signal;
}
