/* Reads the events of a run for its report. */
#pragma once

#include "app/report/report-data.h"

/* Fills losses, evaluations, changes and branch. A run without events has none. Errors: IO. */
gboolean report_events_read (ReportData *self, LoomFolder *run, GError **error);
