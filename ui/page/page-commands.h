/* The table of the commands of a page: which function of which part runs each. */
#pragma once

#include "ui/shell/studio-commands.h"

/* The parts of a page that commands belong to, by their types. */
typedef enum
{
  PAGE_DOCUMENT,     /* StudioDocument */
  PAGE_CANVAS,       /* StudioCanvas */
  PAGE_RUN,          /* StudioRun */
  PAGE_RUNNER,       /* StudioRunner */
  PAGE_WINDOWS,      /* StudioRunWindows */
  PAGE_SAVER,        /* StudioSaver */
  PAGE_DISK_BAR,     /* StudioDiskBar */
  PAGE_PROPOSAL_BAR, /* StudioProposalBar */
  PAGE_RECORDING,    /* StudioRecordingBar */
  PAGE_EXPORTER,     /* StudioExporter */
  PAGE_EXPORTING,    /* StudioExporting */
  PAGE_DOCK,         /* StudioTimelineDock */
  PAGE_LAYER,        /* StudioLayerCommands */
  PAGE_COVER,        /* StudioStartCover */
  PAGE_NAVIGATION,   /* StudioNavigation */
  PAGE_STATUS,       /* StudioStatusLine */
  PAGE_HEALTH,       /* StudioHealthLine */
  PAGE_HISTORY,      /* PageTab */
  PAGE_PYTORCH,      /* PageTab */
  PAGE_COMPARING,    /* StudioComparing */
  PAGE_TASK,         /* StudioTaskTab */
  PAGE_EVALUATE,     /* StudioEvaluateTab */
  PAGE_LESSON,       /* StudioLessonTab */
  PAGE_SLIDES,       /* StudioSlidesTab */
  PAGE_PRESENTATION, /* StudioPresentation */
  PAGE_STEPPER,      /* StudioStepper */
  PAGE_RUNS,         /* StudioRunsTab */
  PAGE_STEPS,        /* PageTab */
  PAGE_GRADIENTS,    /* PageTab */
  PAGE_N_PARTS
} PagePart;

/* Adds an action for each command to the map. */
void page_commands_install (GActionMap *map, const StudioCommandTarget *target);
/* Adds the commands of pages and canvases to the list of all. */
void page_commands_add (void);
