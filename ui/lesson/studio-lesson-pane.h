/* A page beside the canvas: the lesson of the graph, or what its <doc> says where it has none. */
#pragma once

#include <gtk/gtk.h>

#include "ui/lesson/studio-lesson.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_LESSON_PANE (studio_lesson_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioLessonPane, studio_lesson_pane, STUDIO, LESSON_PANE, GtkWidget)

/* Signal "follow"(const char *path): a link to a node was pressed. */
StudioLessonPane *studio_lesson_pane_new (StudioDocument *document, StudioLesson *lesson);
/* Shows the fields of the page instead, in a lesson that is begun where there is none. */
void studio_lesson_pane_edit (StudioLessonPane *self);
/* Whether there is anything to read. */
gboolean studio_lesson_pane_has_text (StudioLessonPane *self);

G_END_DECLS
