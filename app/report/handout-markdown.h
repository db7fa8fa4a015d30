/* Markdown as blocks of a page. HTML in it stays text. */
#pragma once

#include "app/report/report-page.h"

void handout_add_markdown (ReportPage *page, const char *markdown);
