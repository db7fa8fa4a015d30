/* The header bar of a window: shows the state of a page, and hides buttons that do not fit; the menu has them then. */
#pragma once

#include <adwaita.h>

#include "ui/page/studio-page.h"

#define STUDIO_TYPE_HEADER (studio_header_get_type ())
G_DECLARE_FINAL_TYPE (StudioHeader, studio_header, STUDIO, HEADER, AdwBin)

/* Shows title, undo, run and device of a page. */
void studio_header_show_page (StudioHeader *self, StudioPage *page);
/* The one of devices, or of the menu that has them in a narrow window. */
GtkWidget *studio_header_get_devices_button (StudioHeader *self);
void studio_header_set_size_class (StudioHeader *self, StudioSizeClass size_class);
