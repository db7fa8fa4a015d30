/* Implements run-settings.h. */
#include "ui/page/run-settings.h"

#include "ui/worker/studio-devices.h"
#include "ui/training/studio-training-settings.h"

#define WATCH_SECONDS 30

static gboolean full_speed;

const char *
run_settings_get_device (StudioDocument *document)
{
  const char *const *names = studio_devices_get_names (studio_devices_get ());
  LoomElement *train = loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_TRAIN);
  const char *device = train != NULL ? loom_element_get (train, "device") : NULL;
  return device != NULL || names == NULL ? device : names[0];
}

void
run_settings_set_device (StudioDocument *document, const char *device)
{
  studio_training_set (document, "device", device);
}

void
run_settings_set_speed (StudioRun *run, StudioRunPanel *panel, const char *speed)
{
  full_speed = g_str_equal (speed, "full");
  studio_run_set_pace (run, full_speed ? 0 : WATCH_SECONDS);
  studio_run_panel_set_speed (panel, speed);
}

const char *
run_settings_get_speed (void)
{
  return full_speed ? "full" : "watch";
}
