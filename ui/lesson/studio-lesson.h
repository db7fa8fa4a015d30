/* Where a learner stands in the lessons of the document's graph: which page is shown, which are done.
 *
 * Goals are looked at again when the document, its selection or the run's numbers change. A page once done stays done.
 * Progress is kept in the state directory ("gradloom/lessons.ini") by the names of graph and lesson. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_LESSON (studio_lesson_get_type ())
G_DECLARE_FINAL_TYPE (StudioLesson, studio_lesson, STUDIO, LESSON, GObject)

/* Signals: "lessons-changed" when other lessons or pages are there; "page-changed" when another page is shown;
 * "progress" when a clause or a page has become done; "completed" when the last page of a lesson has. */
StudioLesson *studio_lesson_new (StudioDocument *document, StudioRun *run);

/* The lesson that is shown; NULL where the graph has none. Valid until "lessons-changed". */
const LoomLesson *studio_lesson_get (StudioLesson *self);
guint studio_lesson_n_lessons (StudioLesson *self);
const char *studio_lesson_title (StudioLesson *self, guint i);
guint studio_lesson_which (StudioLesson *self);
void studio_lesson_choose (StudioLesson *self, guint i);

guint studio_lesson_n_pages (StudioLesson *self);
guint studio_lesson_page_index (StudioLesson *self);
const LoomLessonPage *studio_lesson_page (StudioLesson *self); /* NULL where there is none */
/* Goes to a page; one without a goal is done when it is left forwards. */
void studio_lesson_show_page (StudioLesson *self, guint i);
gboolean studio_lesson_is_done (StudioLesson *self, guint page);
guint studio_lesson_n_done (StudioLesson *self);
/* Whether clause i of the shown page's goal holds now, or the page was done before. */
gboolean studio_lesson_clause_holds (StudioLesson *self, guint i);
/* Takes the text that the learner has typed as answer to the shown page. */
void studio_lesson_answer (StudioLesson *self, const char *text);
/* Forgets what was done, and takes the graph back to what was opened, as one step that can be undone. */
void studio_lesson_start_again (StudioLesson *self);
/* Call when another graph was opened: its present content is what a lesson starts from. */
void studio_lesson_opened (StudioLesson *self);

G_END_DECLS
