/* The GtkApplication of Studio: windows, accelerators, style, and the About dialog. */
#pragma once

#include <adwaita.h>

#define STUDIO_TYPE_APPLICATION (studio_application_get_type ())
G_DECLARE_FINAL_TYPE (StudioApplication, studio_application, STUDIO, APPLICATION, AdwApplication)

StudioApplication *studio_application_new (void);
