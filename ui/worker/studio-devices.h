/* The devices of a machine, as the worker program lists them: of this one, requested once for all pages, and of hosts.
 */
#pragma once

#include <gio/gio.h>

#define STUDIO_TYPE_DEVICES (studio_devices_get_type ())
G_DECLARE_FINAL_TYPE (StudioDevices, studio_devices, STUDIO, DEVICES, GObject)

/* Signals: "changed": the list of devices is new; "details": the devices are the same, but their details may be new.
 * The first call starts the request; there is one object per process (transfer none). */
StudioDevices *studio_devices_get (void);
/* Likewise for a host (NULL: this machine); the first call starts no request, because it connects to the host. */
StudioDevices *studio_devices_get_of (const char *host);
/* The default comes first; NULL until the program has replied. */
const char *const *studio_devices_get_names (StudioDevices *self);
/* "cpu · 2 threads", "cuda:0 · emulated": the name and its details. */
char *studio_devices_describe (StudioDevices *self, const char *name);

/* Requests the list of a host, if no request is in flight; emits "changed" or "details". */
void studio_devices_ask_host (StudioDevices *self);
/* Why the host has not replied; NULL: it has, or no request has ended. */
const char *studio_devices_get_fault (StudioDevices *self);
/* The free memory of a device in bytes; 0: unknown. */
gint64 studio_devices_get_free (StudioDevices *self, const char *name);
/* The device that this machine plans with for that of a host: a processor if it does not have it itself. */
const char *studio_devices_stand_in (const char *device);
/* Requests the details again if there are cards, because free memory changes; emits "details". */
void studio_devices_ask_again (StudioDevices *self);
