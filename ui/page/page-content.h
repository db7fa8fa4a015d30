/* Opens another graph in a page's document, and ends what was shown of a run of the earlier one. */
#pragma once

#include "ui/page/canvas-fitter.h"
#include "ui/page/studio-lesson-tab.h"
#include "ui/page/studio-panel-split.h"
#include "ui/page/studio-recording-bar.h"
#include "ui/page/studio-runner.h"
#include "ui/page/studio-start-cover.h"
#include "ui/page/studio-task-tab.h"

typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  StudioRecordingBar *recording_bar;
  StudioPanelSplit *panel_split;
  StudioRunner *runner;
  CanvasFitter *fitter;
  StudioStartCover *cover;
  StudioLessonTab *lesson_tab;
  StudioTaskTab *task_tab;
  void (*opened) (gpointer data); /* called when the document has another graph */
  gpointer data;
} PageContent;

/* Shows the pages about the graph of the document, and sets the number of ranks that it needs. */
void page_content_open_tabs (PageContent *self);
gboolean page_content_open_file (PageContent *self, GFile *file, GError **error);
gboolean page_content_open_text (PageContent *self, const char *text, gssize length, GError **error);
/* name: "lessons/spirals". */
gboolean page_content_open_example (PageContent *self, const char *name, GError **error);
/* Opens the graph of a recording, and plays it. */
gboolean page_content_open_recording (PageContent *self, const char *path, GError **error);
/* Empties the document, and shows the start page. */
void page_content_reset (PageContent *self);
/* FALSE with the error if only a part could be recovered. */
gboolean page_content_recover (PageContent *self, const char *journal, GError **error);
