/* The devices that this machine can train on, as the worker's program lists them: asked for once, for all pages. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

#define STUDIO_TYPE_DEVICES (studio_devices_get_type ())
G_DECLARE_FINAL_TYPE (StudioDevices, studio_devices, STUDIO, DEVICES, GObject)

/* Signal "changed": the program has answered with other devices than before; "details": with the same ones, of which
 * other things may be said. The first call asks it; one object for the process (transfer none). */
StudioDevices *studio_devices_get (void);
/* The default first; NULL until the program has answered. */
const char *const *studio_devices_get_names (StudioDevices *self);
/* "cpu · 2 threads", "cuda:0 · emulated": the name, and what stands behind it. */
char *studio_devices_describe (StudioDevices *self, const char *name);

/* What cards have left changes, and others use them as well: asks once more where there are any, and "details" says
 * when it is known. */
void studio_devices_ask_again (StudioDevices *self);

G_END_DECLS
