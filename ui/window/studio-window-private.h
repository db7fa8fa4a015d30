/* Shared by the files of the window: studio-window.c (parts), -tabs.c (its pages), -actions.c (the table of commands),
 * -header.c (what the header bar shows of the page), -open.c, -recovery.c, -close.c (what would be lost), -present.c
 * (the projector), -frame.c (moving by the header). */
#pragma once

#include "ui/window/studio-action-list.h"
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

  StudioPage *page; /* weak: the one that is seen; NULL while there is none */
  StudioActionList *action_list;
  AdwTabPage *menu_tab; /* weak: the tab whose menu is open */
  int room_shown;       /* for which StudioRoom the header was made; -1: none */
  gboolean presenting, closing;
  StudioPage *leaving; /* whose tab closes without a question; NULL but for that moment */
  char **orphans;      /* journals of crashes, newest first */
  GtkWidget *help;     /* weak: its window */
  GtkWidget *operator; /* weak: the window of an operator's documentation */
  GtkWindow *question; /* weak: the dialog that asks about several pages */
  GtkFileChooserNative *chooser;
};

/* Without a page: for one that comes from another window. */
StudioWindow *studio_window_new_bare (GtkApplication *application);
/* Shows a page after the one that is seen. */
void studio_window_insert_page (StudioWindow *self, StudioPage *page);
/* The page that is seen where nothing was done in it, else another one. */
StudioPage *studio_window_get_free_page (StudioWindow *self);
/* A sentence in the page that is seen. */
void studio_window_toast (StudioWindow *self, const char *sentence);

/* ---- commands (-actions.c) ---- */
void studio_window_install_actions (StudioWindow *self);
void studio_window_enable (StudioWindow *self, const char *action, gboolean enabled);

/* ---- tabs (-tabs.c) ---- */
void studio_window_setup_tabs (StudioWindow *self);
/* No page is seen any more; its actions hold parts of it. */
void studio_window_drop_page (StudioWindow *self);
AdwTabPage *studio_window_get_tab (StudioWindow *self, StudioPage *page);
/* The tab that a command is about: the one whose menu is open, else the one that is seen. */
AdwTabPage *studio_window_get_meant_tab (StudioWindow *self);
void studio_window_close_tab (StudioWindow *self);
void studio_window_close_other_tabs (StudioWindow *self);
/* Closes a page's tab without a question: it was answered. */
void studio_window_drop_tab (StudioWindow *self, StudioPage *page);
void studio_window_tab_to_window (StudioWindow *self);

/* ---- the header bar (-header.c) ---- */
void studio_window_setup_header (StudioWindow *self);
void studio_window_update_header (StudioWindow *self);
/* Shows the parts of the header that there is room for. */
void studio_window_update_room (StudioWindow *self);

/* ---- files (-open.c, -recovery.c) ---- */
void studio_window_new_graph (StudioWindow *self);
void studio_window_choose_file (StudioWindow *self);
void studio_window_open_example (StudioWindow *self, const char *name);
/* The example of an operator as a graph of its own. */
void studio_window_open_example_of (StudioWindow *self, const char *op);
void studio_window_setup_recovery (StudioWindow *self);
void studio_window_recover (StudioWindow *self);
void studio_window_recover_all (StudioWindow *self);
void studio_window_discard_recovery (StudioWindow *self);

/* ---- where a graph begins (-start.c) ---- */
/* Files that are dropped on the window are taken. */
void studio_window_setup_start (StudioWindow *self);
/* The window “New from Data”. */
void studio_window_new_from_data (StudioWindow *self);

/* ---- closing (-close.c) ---- */
/* TRUE: it asks first, and goes by itself when it may. */
gboolean studio_window_ask_to_close (StudioWindow *self);
/* Closes all pages but this one; asks first, once for all of them, where something would be lost. */
void studio_window_close_pages_but (StudioWindow *self, StudioPage *page);

/* ---- presentation (-present.c) ---- */
void studio_window_setup_presentation (StudioWindow *self);
void studio_window_set_presenting (StudioWindow *self, gboolean on);

/* ---- the window's frame (-frame.c) ---- */
void studio_window_setup_frame (StudioWindow *self);

G_END_DECLS
