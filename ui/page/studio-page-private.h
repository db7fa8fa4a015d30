/* The struct of a page, for studio-page.c and for tests that look into a page. */
#pragma once

#include "ui/lesson/studio-lesson-pane.h"
#include "ui/page/page-commands.h"
#include "ui/page/page-content.h"
#include "ui/page/page-run-views.h"
#include "ui/page/page-tabs.h"
#include "ui/page/page-title.h"
#include "ui/page/studio-comparing.h"
#include "ui/page/studio-disk-bar.h"
#include "ui/page/studio-proposal-bar.h"
#include "ui/page/studio-exporter.h"
#include "ui/page/studio-exporting.h"
#include "ui/page/studio-guard.h"
#include "ui/page/studio-evaluate-tab.h"
#include "ui/page/studio-health-line.h"
#include "ui/page/studio-layer-commands.h"
#include "ui/page/studio-handing-in.h"
#include "ui/page/studio-lesson-tab.h"
#include "ui/page/studio-navigation.h"
#include "ui/page/studio-page.h"
#include "ui/page/studio-presentation.h"
#include "ui/page/studio-run-windows.h"
#include "ui/page/studio-runs-tab.h"
#include "ui/page/studio-slides-tab.h"
#include "ui/page/studio-status-line.h"
#include "ui/page/studio-task-tab.h"
#include "ui/page/studio-timeline-dock.h"
#include "ui/run/studio-run-banners.h"
#include "ui/training/studio-training-settings.h"

struct _StudioPage
{
  AdwBin parent_instance;

  /* from the template */
  GtkWidget *toasts, *split, *upper, *middle, *stage, *canvas_overlay;
  StudioDiskBar *disk_bar;
  StudioProposalBar *proposal_bar;
  StudioRecordingBar *recording_bar;
  StudioPanes *panes;
  StudioCaption *caption;
  StudioKeyCard *key_card;
  StudioRateCard *rate_card;
  StudioStatusLine *status_line;

  /* what is shown */
  StudioDocument *document;
  StudioRun *run;
  StudioSlides *slides;
  PageTitle title;

  /* widgets, owned by their parents */
  StudioCanvas *canvas;
  StudioPalette *palette;
  StudioOutline *outline;
  StudioInspector *inspector;
  StudioTrainingSettings *training;
  StudioMemoryForecast *forecast;
  StudioRunBanners *run_bars;
  StudioRunPanel *run_panel;
  StudioFaultList *faults;
  StudioHealthLine *health_line;
  StudioPresentLayer *present_layer;

  PageRunViews views;

  /* controllers */
  PageContent content;
  StudioQuestions *questions;
  StudioSaver *saver;
  StudioGuard *guard;
  StudioRunner *runner;
  StudioRunWindows *windows;
  StudioPanelSplit *panel_split;
  StudioTimelineDock *dock;
  CanvasFitter *fitter;
  StudioPresentation *presentation;
  StudioLessonTab *lesson_tab;
  StudioHandingIn *handing_in;
  StudioTaskTab *task_tab;
  StudioEvaluateTab *evaluate_tab;
  StudioSlidesTab *slides_tab;
  StudioRunsTab *runs_tab;
  StudioComparing *comparing;
  PageTab history_tab, pytorch_tab, steps_tab, gradient_tab;
  StudioExporter exporter;
  StudioExporting exporting;
  StudioLayerCommands layer_commands;
  StudioNavigation navigation;
  StudioStartCover start_cover;

  GSimpleActionGroup *actions;
  gpointer parts[PAGE_N_PARTS]; /* of the commands */
  StudioCommandTarget target;
};
