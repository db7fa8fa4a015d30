/* The widget that edits the current page of a lesson: its text, goal, and what it shows. Every entry is an attribute of
 * <page>; typing in one of them is one undo step. */
#pragma once

#include <adwaita.h>

#include "ui/lesson/studio-lesson.h"

#define STUDIO_TYPE_LESSON_EDITOR (studio_lesson_editor_get_type ())
G_DECLARE_FINAL_TYPE (StudioLessonEditor, studio_lesson_editor, STUDIO, LESSON_EDITOR, AdwBin)

/* Signal "done": return to the learner's view. */
StudioLessonEditor *studio_lesson_editor_new (StudioDocument *document, StudioLesson *lesson);
