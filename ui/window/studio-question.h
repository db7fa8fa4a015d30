/* The dialogs that ask before something would be lost. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

/* With the response "cancel", to which others are added. */
AdwMessageDialog *studio_question_new (GtkWindow *parent, const char *heading, const char *body);

G_END_DECLS
