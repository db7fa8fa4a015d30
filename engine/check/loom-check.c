/* The report of the checker. */
#include "engine/check/check-private.h"

static void
fault_free (gpointer data)
{
  LoomCheckFault *fault = data;

  g_free (fault->text);
  g_free (fault);
}

LoomCheckReport *
loom_check_report_new (void)
{
  LoomCheckReport *report = g_new0 (LoomCheckReport, 1);

  report->faults = g_ptr_array_new_with_free_func (fault_free);
  return report;
}

void
loom_check_report_free (LoomCheckReport *report)
{
  g_ptr_array_unref (report->faults);
  g_free (report);
}

void
check_fault (LoomCheckReport *report, LoomCheckRule rule, guint instr, guint value, const char *format, ...)
{
  LoomCheckFault *fault = g_new0 (LoomCheckFault, 1);
  va_list args;

  va_start (args, format);
  *fault = (LoomCheckFault){ rule, instr, value, g_strdup_vprintf (format, args) };
  va_end (args);
  g_ptr_array_add (report->faults, fault);
}
