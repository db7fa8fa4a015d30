/* The window of preferences, which are of no graph. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

void studio_preferences_present (GtkWindow *parent);

G_END_DECLS
