/* Words about a graph: its title and subtitle for window and tab, and its totals for the status line. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

typedef struct
{
  char *title;              /* "LeNet", "LeNet, trained version" */
  char *subtitle;           /* "Edited · 61,706 parameters · 4.2 MB" */
  char *totals;             /* "12 layers · 61,706 parameters · 833 kFLOP per sample" */
  double parameters, bytes; /* of the weights, when the net was valid last */
  guint64 counted;          /* the number of that net */
} PageTitle;

/* TRUE if title or subtitle are new. */
gboolean page_title_update (PageTitle *self, StudioDocument *document, StudioRun *run);
void page_title_clear (PageTitle *self);
