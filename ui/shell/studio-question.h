/* The dialog that asks before something is lost. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

/* Has the response "cancel"; callers add others. */
AdwMessageDialog *studio_question_new (GtkWindow *parent, const char *heading, const char *body);

G_END_DECLS
