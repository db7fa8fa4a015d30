/* Implements page-content.h. */
#include "ui/page/page-content.h"

#include "ui/document/studio-document-origin.h"
#include "ui/page/graph-file.h"
#include "ui/page/recording-file.h"
#include "ui/run/studio-rank-count.h"

void
page_content_open_tabs (PageContent *self)
{
  studio_lesson_tab_open (self->lesson_tab);
  const gboolean has_lesson = studio_lesson_get (studio_lesson_tab_get_lesson (self->lesson_tab)) != NULL;
  /* The pages of a lesson say when to set the number of ranks, after a look at one. */
  if (!has_lesson)
    {
      /* A larger number than the field offers is for a cluster, and not for this machine. */
      const int wanted = studio_rank_count_required (self->document);
      studio_run_set_ranks (self->run, wanted <= STUDIO_RANK_COUNT_MAX ? wanted : 1);
    }
  studio_task_tab_open (self->task_tab, has_lesson);
}

static void
begin (PageContent *self)
{
  studio_recording_bar_end_replay (self->recording_bar);
  studio_panel_split_hide (self->panel_split);
  studio_runner_open (self->runner);
  page_content_open_tabs (self);
  self->opened (self->data);
}

static gboolean
show (PageContent *self, gboolean is_open)
{
  if (!is_open)
    return FALSE;
  begin (self);
  studio_document_select_only (self->document, 0);
  canvas_fitter_start (self->fitter);
  return TRUE;
}

gboolean
page_content_open_file (PageContent *self, GFile *file, GError **error)
{
  return show (self, graph_file_open (self->document, file, error));
}

gboolean
page_content_open_text (PageContent *self, const char *text, gssize length, GError **error)
{
  return show (self, studio_document_open_text (self->document, text, length, NULL, error));
}

gboolean
page_content_open_example (PageContent *self, const char *name, GError **error)
{
  return show (self, graph_file_open_example (self->document, name, error));
}

gboolean
page_content_open_recording (PageContent *self, const char *path, GError **error)
{
  g_autoptr (Recording) recording = recording_read (path, error);
  if (recording == NULL || !show (self, studio_document_open_part (self->document, recording->graph, path, error)))
    return FALSE;
  studio_panel_split_show (self->panel_split);
  studio_recording_bar_play (self->recording_bar, g_steal_pointer (&recording));
  return TRUE;
}

void
page_content_reset (PageContent *self)
{
  studio_document_reset (self->document);
  self->cover->is_dismissed = FALSE;
  begin (self);
}

gboolean
page_content_recover (PageContent *self, const char *journal, GError **error)
{
  gboolean whole = studio_document_recover (self->document, journal, error);
  begin (self);
  canvas_fitter_start (self->fitter);
  return whole;
}
