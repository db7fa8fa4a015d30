/* The struct of StudioWindow, shared by studio-window.c (construction), -tabs.c (pages), -actions.c (commands),
 * -header.c (header bar), -open.c, -start.c and -recovery.c (opening), -close.c, -present.c (full screen) and -frame.c
 * (moving by the header). */
#pragma once

#include "ui/shell/studio-action-list.h"
#include "ui/shell/studio-commands.h"
#include "ui/shell/studio-question.h"
#include "ui/window/studio-window.h"

G_BEGIN_DECLS

struct _StudioWindow
{
  AdwApplicationWindow parent_instance;

  /* from the template */
  GtkWidget *all, *header, *title, *open_button, *new_button, *undo_button, *redo_button, *train_button, *step_button,
      *menu_button, *device_chip, *device_label, *device_name, *device_short, *left_toggle, *right_toggle;
  GtkWidget *recover_bar, *recover_notice, *recover_label, *recover_all;
  AdwTabBar *tab_bar;
  AdwTabView *tab_view;

  StudioPage *page; /* weak: the current page; NULL: none */
  StudioActionList *action_list;
  gpointer parts[1]; /* of the commands: the window */
  StudioCommandTarget target;
  AdwTabPage *menu_tab; /* weak: the tab whose context menu is open */
  int size_class_shown; /* the StudioSizeClass of the header's current layout; -1: none */
  gboolean presenting, closing;
  StudioPage *leaving;        /* the page whose tab is being closed without a question; else NULL */
  char **orphans;             /* paths of journals left by crashes, newest first */
  GtkWidget *help;            /* weak: the Help window */
  GtkWidget *operator;        /* weak: the window with an operator's documentation */
  StudioQuestions *questions; /* about several pages */
  GtkFileChooserNative *chooser;
};

/* Without a page, for a tab dragged out of another window. */
StudioWindow *studio_window_new_bare (GtkApplication *application);
/* Adds a page after the current one. */
void studio_window_insert_page (StudioWindow *self, StudioPage *page);
/* Returns the current page if it is untouched, else a new one. */
StudioPage *studio_window_get_free_page (StudioWindow *self);
/* Shows a message in the current page. */
void studio_window_toast (StudioWindow *self, const char *sentence);

/* ---- commands (-actions.c) ---- */
void studio_window_install_actions (StudioWindow *self);
void studio_window_enable (StudioWindow *self, const char *action, gboolean enabled);

/* ---- tabs (-tabs.c) ---- */
void studio_window_setup_tabs (StudioWindow *self);
/* Clears the current page; its actions hold references to it. */
void studio_window_drop_page (StudioWindow *self);
AdwTabPage *studio_window_get_tab (StudioWindow *self, StudioPage *page);
/* The tab for a command: the one whose context menu is open, else the current one. */
AdwTabPage *studio_window_get_meant_tab (StudioWindow *self);
void studio_window_close_tab (StudioWindow *self);
void studio_window_close_other_tabs (StudioWindow *self);
/* Closes a page's tab without a question. */
void studio_window_drop_tab (StudioWindow *self, StudioPage *page);
void studio_window_tab_to_window (StudioWindow *self);

/* ---- the header bar (-header.c) ---- */
void studio_window_setup_header (StudioWindow *self);
void studio_window_update_header (StudioWindow *self);
/* Shows the parts of the header that fit. */
void studio_window_update_size_class (StudioWindow *self);

/* ---- files (-open.c, -recovery.c) ---- */
/* Returns the page of any window that has this file open, also through a symbolic link; or NULL. */
StudioPage *studio_window_find_page (GFile *file);
void studio_window_new_graph (StudioWindow *self);
void studio_window_choose_file (StudioWindow *self);
void studio_window_open_example (StudioWindow *self, const char *name);
/* Opens the example of an operator as a new graph. */
void studio_window_open_example_of (StudioWindow *self, const char *op);
void studio_window_setup_recovery (StudioWindow *self);
void studio_window_recover (StudioWindow *self);
void studio_window_recover_all (StudioWindow *self);
void studio_window_discard_recovery (StudioWindow *self);

/* ---- starting a graph (-start.c) -------- */
/* Accepts files dropped on the window. */
void studio_window_setup_start (StudioWindow *self);
/* Opens the window “New from Data”. */
void studio_window_new_from_data (StudioWindow *self);

/* ---- closing (-close.c) ---- */
/* TRUE: a dialog is shown first, and the window destroys itself later. */
gboolean studio_window_ask_to_close (StudioWindow *self);
/* Closes all other pages, after one dialog if something would be lost. */
void studio_window_close_pages_but (StudioWindow *self, StudioPage *page);

/* ---- presentation (-present.c) ---- */
void studio_window_setup_presentation (StudioWindow *self);
void studio_window_set_presenting (StudioWindow *self, gboolean on);

/* ---- window frame (-frame.c) ---------- */
void studio_window_setup_frame (StudioWindow *self);

G_END_DECLS
