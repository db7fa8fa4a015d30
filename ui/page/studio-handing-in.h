/* Hands in the lesson: asks for a name and a file, and writes the run with the learner's answers. */
#pragma once

#include "ui/lesson/studio-lesson.h"
#include "ui/shell/studio-question.h"

#define STUDIO_TYPE_HANDING_IN (studio_handing_in_get_type ())
G_DECLARE_FINAL_TYPE (StudioHandingIn, studio_handing_in, STUDIO, HANDING_IN, GObject)

/* toasts: an AdwToastOverlay for sentences. questions: outlives the object. */
StudioHandingIn *studio_handing_in_new (StudioDocument *document, StudioRun *run, StudioLesson *lesson,
                                        GtkWidget *toasts, StudioQuestions *questions);
void studio_handing_in_ask (StudioHandingIn *self);
/* The file that the dialog would write. Errors: those of loom_hand_in_new(). */
gboolean studio_handing_in_write (StudioHandingIn *self, const char *path, GError **error);
