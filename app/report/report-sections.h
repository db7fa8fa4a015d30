/* The sections of a report, from the data of a run to blocks. */
#pragma once

#include "app/report/report-data.h"
#include "app/report/report-page.h"

typedef struct
{
  const char *title; /* marked for translation */
  /* TRUE: the section has something to say of this run; NULL: always. */
  gboolean (*applies) (const ReportData *data);
  /* The page keeps pointers into the data. */
  void (*add) (ReportPage *page, const ReportData *data);
} ReportSection;

/* In the order of the report; NULL after the last one. */
const ReportSection *report_section (guint i);

/* report-curves.c, report-predictions.c: sections with pictures. */
void report_add_curves (ReportPage *page, const ReportData *data);
gboolean report_has_curves (const ReportData *data);
void report_add_predictions (ReportPage *page, const ReportData *data);
void report_add_attention (ReportPage *page, const ReportData *data);
gboolean report_has_attention (const ReportData *data);
