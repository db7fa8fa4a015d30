/* Figures for the choice of devices: the planned memory of each rank of the next run, and the time of a step with 1, 2
 * and 4 replicas of the graph. They come from `gradloom plan --memory` and `gradloom simulate`, in processes of their
 * own. The latter measures kernels on this machine for some seconds. */
#pragma once

#include "ui/document/studio-document.h"

typedef struct
{
  guint64 owner[LOOM_N_OWNERS], total; /* planned bytes */
} DeviceShard;

typedef struct
{
  int ranks;
  double seconds; /* of a step */
  double speedup; /* samples per second, relative to one replica of the graph */
} DeviceTime;

typedef struct _DeviceFigures DeviceFigures;

/* changed is called when an answer has come. */
DeviceFigures *device_figures_new (StudioDocument *document, void (*changed) (gpointer data), gpointer data);
void device_figures_free (DeviceFigures *self);
/* Computes the shards of this number of ranks again, and forgets the times of another graph. device NULL: the graph's.
 */
void device_figures_request_shards (DeviceFigures *self, int ranks, const char *device);
/* Measures kernels for some seconds, for 1, 2 and 4 replicas of this number of ranks each. */
void device_figures_request_times (DeviceFigures *self, int replica);

const GArray *device_figures_shards (const DeviceFigures *self); /* DeviceShard by rank; empty: not known */
const GArray *device_figures_times (const DeviceFigures *self);  /* DeviceTime; empty: not known */
gboolean device_figures_is_busy (const DeviceFigures *self);     /* times are being measured */
/* The reason why there are no shards or no times, a sentence; NULL: none. */
const char *device_figures_why (const DeviceFigures *self);
