/* The struct of a window, for studio-window.c and for tests that look into a window. */
#pragma once

#include "ui/shell/studio-action-list.h"
#include "ui/shell/studio-commands.h"
#include "ui/window/studio-closing.h"
#include "ui/window/studio-header.h"
#include "ui/window/studio-opener.h"
#include "ui/window/studio-recovery-bar.h"
#include "ui/window/studio-window.h"

/* The parts that commands belong to. */
typedef enum
{
  WINDOW_ITSELF,
  WINDOW_TABS,
  WINDOW_OPENER,
  WINDOW_RECOVERY,
  WINDOW_CLOSING,
  WINDOW_ACTIONS,
  WINDOW_N_PARTS
} WindowPart;

struct _StudioWindow
{
  AdwApplicationWindow parent_instance;

  /* from the template */
  GtkWidget *all;
  StudioHeader *header;
  StudioRecoveryBar *recovery_bar;
  AdwTabBar *tab_bar;
  AdwTabView *tab_view;

  StudioTabs *tabs;
  StudioOpener *opener;
  StudioQuestions *questions; /* about several pages */
  StudioClosing close;
  StudioActionList *action_list;
  gpointer parts[WINDOW_N_PARTS]; /* of the commands */
  StudioCommandTarget target;
  GtkWidget *help;     /* weak: the Help window */
  GtkWidget *operator; /* weak: the window with an operator's documentation */
  gboolean has_size_class, presenting;
};
