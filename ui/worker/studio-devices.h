/* The devices of this machine, as the worker program lists them; requested once for all pages. */
#pragma once

#include <gio/gio.h>

#define STUDIO_TYPE_DEVICES (studio_devices_get_type ())
G_DECLARE_FINAL_TYPE (StudioDevices, studio_devices, STUDIO, DEVICES, GObject)

/* Signals: "changed": the list of devices is new; "details": the devices are the same, but their details may be new.
 * The first call starts the request; there is one object per process (transfer none). */
StudioDevices *studio_devices_get (void);
/* The default comes first; NULL until the program has replied. */
const char *const *studio_devices_get_names (StudioDevices *self);
/* "cpu · 2 threads", "cuda:0 · emulated": the name and its details. */
char *studio_devices_describe (StudioDevices *self, const char *name);

/* Requests the details again if there are cards, because free memory changes; emits "details". */
void studio_devices_ask_again (StudioDevices *self);
