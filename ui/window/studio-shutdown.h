/* Keeps the application alive after its last window has closed until the workers have finished their step and written a
 * checkpoint. */
#pragma once

#include <adwaita.h>

/* Call after a window was destroyed. If it was the last one and a worker has not exited yet, the application is held.
 * After some seconds a dialog offers to wait or to end the workers by force. */
void studio_shutdown_begin (GtkApplication *application);
