/* The model of the learner's progress in the lessons of the document's graph: the current page, and which pages are
 * done.
 *
 * Goals are evaluated again when the document, its selection or the run's numbers change. A page that is done stays
 * done. Progress is stored in the state directory ("gradloom/lessons.ini") by the names of graph and lesson. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_LESSON (studio_lesson_get_type ())
G_DECLARE_FINAL_TYPE (StudioLesson, studio_lesson, STUDIO, LESSON, GObject)

/* Signals: "lessons-changed": lessons or pages were added, removed or edited; "page-changed": another page is current;
 * "progress": a clause or a page is done; "completed": the last page of a lesson is done. */
StudioLesson *studio_lesson_new (StudioDocument *document, StudioRun *run);

/* The current lesson; NULL: none. Valid until "lessons-changed". */
const LoomLesson *studio_lesson_get (StudioLesson *self);
guint studio_lesson_n_lessons (StudioLesson *self);
const char *studio_lesson_title (StudioLesson *self, guint i);
guint studio_lesson_which (StudioLesson *self);
void studio_lesson_choose (StudioLesson *self, guint i);

guint studio_lesson_n_pages (StudioLesson *self);
guint studio_lesson_page_index (StudioLesson *self);
const LoomLessonPage *studio_lesson_page (StudioLesson *self); /* NULL: none */
/* Shows page i; a page without a goal is done when the user leaves it forwards. */
void studio_lesson_show_page (StudioLesson *self, guint i);
gboolean studio_lesson_is_done (StudioLesson *self, guint page);
guint studio_lesson_n_done (StudioLesson *self);
/* TRUE if clause i of the current page's goal holds, or the page is done. */
gboolean studio_lesson_clause_holds (StudioLesson *self, guint i);
/* Sets the learner's answer on the current page. It is stored with the progress when the page is left or done, and by
 * studio_lesson_keep_answers(). */
void studio_lesson_answer (StudioLesson *self, const char *text);
const char *studio_lesson_get_answer (StudioLesson *self, guint page); /* NULL: none */
guint studio_lesson_n_answers (StudioLesson *self);
void studio_lesson_keep_answers (StudioLesson *self);
/* The name that the learner last handed in with, "" if there is none; of all lessons. (transfer full) */
char *studio_lesson_dup_learner (StudioLesson *self);
void studio_lesson_set_learner (StudioLesson *self, const char *name);
/* Clears the progress and restores the graph as it was opened, in one undo step. */
void studio_lesson_start_again (StudioLesson *self);
/* Call after a graph was opened: the lesson starts from its current content. */
void studio_lesson_opened (StudioLesson *self);
