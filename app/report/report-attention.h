/* The attention weights of a trained net for one sample. */
#pragma once

#include "app/report/report-data.h"

#define REPORT_MOST_MAPS  4   /* layers with attention that a report shows */
#define REPORT_MOST_HEADS 8   /* of each */
#define REPORT_MOST_CELLS 256 /* positions of a shown row or column */

GPtrArray *report_attention_list_new (void); /* of ReportAttention */
/* Fills attention, no_attention and tokens from the first sample of the split that is evaluated by default. */
void report_attention_compute (ReportData *self, const LoomPredictorOptions *options);
