/* Writes the page that is shown: its words, what it asks for, what it shows. Every field is an attribute of <page>;
 * what is typed in one of them is one step of undo. */
#pragma once

#include <gtk/gtk.h>

#include "ui/lesson/studio-lesson.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_LESSON_EDITOR (studio_lesson_editor_get_type ())
G_DECLARE_FINAL_TYPE (StudioLessonEditor, studio_lesson_editor, STUDIO, LESSON_EDITOR, GtkWidget)

/* Signal "done": the learner's view is wanted again. */
StudioLessonEditor *studio_lesson_editor_new (StudioDocument *document, StudioLesson *lesson);

G_END_DECLS
