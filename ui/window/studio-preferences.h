/* The window of preferences, which are of no graph. */
#pragma once

#include <adwaita.h>

void studio_preferences_present (GtkWindow *parent);
