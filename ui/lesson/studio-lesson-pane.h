/* The pane next to the canvas that shows the graph's lesson, or its <doc> if it has none. */
#pragma once

#include <adwaita.h>

#include "ui/lesson/studio-lesson.h"

#define STUDIO_TYPE_LESSON_PANE (studio_lesson_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioLessonPane, studio_lesson_pane, STUDIO, LESSON_PANE, AdwBin)

/* Signals: "follow"(const char *path): a link to a node was activated; "hand-in": the learner wants to hand in. */
StudioLessonPane *studio_lesson_pane_new (StudioDocument *document, StudioLesson *lesson);
/* Shows the editor of the page; adds a lesson if there is none. */
void studio_lesson_pane_edit (StudioLessonPane *self);
/* TRUE if there is text to show. */
gboolean studio_lesson_pane_has_text (StudioLessonPane *self);
