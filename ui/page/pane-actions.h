/* The actions "left-pane" and "right-pane", which fold and show the side panes; the settings store their states. */
#pragma once

#include "ui/shell/studio-panes.h"

/* Adds the actions to the map, which must not live longer than the panes, and opens the panes as the settings say. */
void pane_actions_install (GActionMap *map, StudioPanes *panes);
