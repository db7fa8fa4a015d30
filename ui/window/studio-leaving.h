/* Runs that go on behind the last window: each finishes its step and writes a checkpoint. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

/* After a window has gone: where it was the last one and a worker has not ended yet, the program stays for it. After
 * some seconds it asks once whether to go on waiting; whoever does not want to ends the workers by force. */
void studio_leaving_begin (GtkApplication *application);

G_END_DECLS
