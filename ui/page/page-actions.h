/* Enables and disables the commands of a page, and updates its actions that have a state. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/page/studio-panel-split.h"
#include "ui/run/studio-run-panel.h"
#include "ui/run/studio-run.h"

/* What decides about it. */
typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  gboolean is_comparing, is_presenting;
  gboolean has_disk_notice, has_proposal, is_proposal_on;
  gboolean is_start_dismissed;
} PageFacts;

void page_actions_update (GActionMap *map, const PageFacts *facts);

/* Adds the action "speed": "watch" or "full". The map must not live longer than its arguments. */
void page_actions_install_speed (GActionMap *map, StudioRun *run, StudioRunPanel *panel);
/* Adds the action "run-panel", which folds the panel. */
void page_actions_install_panel (GActionMap *map, StudioPanelSplit *split);
