/* Shared by tests of layouts and of their consequences. */
#pragma once

#include "ui/layout/studio-layout.h"
#include "ui/scene/studio-flow.h"

/* Brings a layout into the scene, as the file would. */
static inline void
scene_take_layout (StudioScene *scene, const StudioLayout *layout)
{
  studio_scene_set_flow (scene, layout->flow);
  for (guint i = 0; i < scene->n_items; i++)
    {
      scene->item[i].x = layout->x[i];
      scene->item[i].y = layout->y[i];
    }
  for (guint a = 0; a < scene->n_annotations; a++)
    {
      scene->annotation[a].x = layout->annotation[a].x;
      scene->annotation[a].y = layout->annotation[a].y;
      scene->annotation[a].width = layout->annotation[a].width;
      scene->annotation[a].height = layout->annotation[a].height;
    }
}
