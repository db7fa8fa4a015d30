/* Shared by the files of the window: studio-window.c (parts and layout), -actions.c (the table of commands), -guard.c
 * (questions before something is lost), -files.c (open, save, recent, recovery), -disk.c (what others do to the file),
 * -run.c (training), -status.c (title, faults, totals), -present.c (the projector), -frame.c (moving by the header). */
#pragma once

#include "ui/run/studio-run-bars.h"
#include "ui/run/studio-run-panel.h"
#include "ui/run/studio-times.h"
#include "ui/inspector/studio-inspector.h"
#include "ui/lesson/studio-lesson-pane.h"
#include "ui/palette/studio-outline.h"
#include "ui/palette/studio-palette.h"
#include "ui/run/studio-pin.h"
#include "ui/window/studio-action-list.h"
#include "ui/window/studio-commands.h"
#include "ui/window/studio-panes.h"
#include "ui/window/studio-window.h"

G_BEGIN_DECLS

typedef struct StudioAfter StudioAfter;

struct _StudioWindow
{
  AdwApplicationWindow parent_instance;

  /* from the template */
  GtkWidget *toasts, *all, *header, *title, *open_button, *new_button, *undo_button, *redo_button, *train_button,
      *step_button, *menu_button, *device_chip, *device_label;
  GtkWidget *recover_bar, *recover_notice, *recover_label;
  GtkWidget *disk_bar, *disk_notice, *disk_label, *disk_reload, *disk_save, *disk_dismiss;
  GtkWidget *minimap;
  GtkWidget *split, *upper, *middle, *stage, *canvas_overlay, *left_toggle, *right_toggle;
  StudioPanes *panes;
  GtkWidget *caption_card, *caption_label, *key_card, *key_label, *lr_card, *lr_card_entry;
  GtkWidget *status_line, *faults_button, *totals_label, *zoom_button;

  StudioDocument *document;
  StudioRun *run;
  StudioCanvas *canvas;
  StudioPalette *palette;
  StudioOutline *outline;
  StudioInspector *inspector;
  StudioRunBars *run_bars;
  StudioRunPanel *run_panel;
  StudioPins *pins;
  StudioTimes *times;
  StudioActionList *action_list;
  StudioLesson *lesson;
  StudioLessonPane *lesson_pane;
  const char *lesson_tab; /* the title of its tab; NULL: it is not there */
  GtkWidget *start_page, *faults_list;
  GtkWidget *history_pane; /* NULL while its page is not there */

  int room_shown;          /* for which StudioRoom the header was made; -1: none */
  gboolean start_empty;    /* "Empty graph": the start page is put away though there is nothing yet */
  gboolean panel_shown;    /* a run was started once */
  gboolean panel_folded;   /* by the user */
  gboolean panel_unplaced; /* it was shown before the window had a height to give it some of */
  gboolean presenting;
  int caption_room;          /* the height that captions have needed at most */
  gboolean zoom_shown;       /* soon: an idle is on its way */
  int fit_frames;            /* until the canvas has its size and is fitted; 0: not wanted */
  char **orphans;            /* journals of crashes, newest first */
  gboolean holder_dismissed; /* that another Studio has the file open is known */
  GtkWidget *help;           /* weak: its window */
  GtkWindow *question;       /* weak: the dialog that waits for an answer */
  GtkFileChooserNative *chooser;
  char **devices;             /* the worker's, the default first; NULL until it has answered */
  GHashTable *device_details; /* "2 threads", what a card is called: by the device's name */
  GtkWidget *lr_return;       /* what had the focus before the learning rate was asked for */
  guint elsewhere_timer;      /* while another window trains this graph */
};

/* ---- commands (-actions.c) ---- */
void studio_window_install_actions (StudioWindow *self);
void studio_window_update_actions (StudioWindow *self);
/* The table's rows, for studio_commands. */
guint studio_window_n_commands (void);
StudioCommand studio_window_get_command (guint i);

/* ---- lessons (-lesson.c) ---- */
void studio_window_setup_lesson (StudioWindow *self);
void studio_window_dispose_lesson (StudioWindow *self);
/* Shows the fields of the graph's lesson, which is begun where there is none. */
void studio_window_write_lesson (StudioWindow *self);
/* Another graph was opened. */
void studio_window_open_lesson (StudioWindow *self);

/* ---- questions (-guard.c) ---- */
typedef void (*StudioWindowThen) (StudioWindow *self, gpointer data);
/* A command that waits until no work would be lost by it. */
struct StudioAfter
{
  StudioWindow *window;
  StudioWindowThen then;
  gpointer data;
  GDestroyNotify destroy;
};
void studio_after_free (StudioAfter *after);
/* Changes that are in no file, or a run that goes on. */
gboolean studio_window_would_lose (StudioWindow *self);
/* Asks about both first; then is called unless the user cancels. Not when closing, the user may also keep the run and
 * have then called with a window of its own. destroy frees data. */
void studio_window_guard (StudioWindow *self, gboolean closing, StudioWindowThen then, gpointer data,
                          GDestroyNotify destroy);
/* With the response "cancel", to which others are added. */
AdwMessageDialog *studio_window_new_question (StudioWindow *self, const char *heading, const char *body);
/* TRUE while a question waits for its answer; shows it. */
gboolean studio_window_is_asking (StudioWindow *self);

/* ---- files ---- */
/* Saves, asking where and whether as needed; after (transfer full, may be NULL) follows only a save. */
void studio_window_save_then (StudioWindow *self, StudioAfter *after);
void studio_window_save_over (StudioWindow *self, StudioAfter *after);      /* the same file, whatever is in it */
void studio_window_save_elsewhere (StudioWindow *self, StudioAfter *after); /* asks where */
void studio_window_forget_after (gpointer after);                           /* NULL-safe */
void studio_window_open_asking (StudioWindow *self, GFile *file);
void studio_window_new_file (StudioWindow *self);
void studio_window_choose_file (StudioWindow *self);
void studio_window_save (StudioWindow *self);
void studio_window_save_as (StudioWindow *self);
void studio_window_open_example (StudioWindow *self, const char *name);
void studio_window_offer_recovery (StudioWindow *self);
void studio_window_recover (StudioWindow *self);
void studio_window_discard_recovery (StudioWindow *self);
void studio_window_fill_recent (StudioWindow *self);
void studio_window_export_map (StudioWindow *self);
void studio_window_export_chart (StudioWindow *self, const char *what);

/* ---- what others do to the file (-disk.c) ---- */
void studio_window_setup_disk (StudioWindow *self);
void studio_window_update_disk (StudioWindow *self);
void studio_window_reload (StudioWindow *self);
void studio_window_dismiss_disk (StudioWindow *self);
/* Takes after, which may be NULL. */
void studio_window_ask_to_overwrite (StudioWindow *self, StudioAfter *after);
/* The window that has this file, or NULL. */
StudioWindow *studio_window_for_file (GtkApplication *application, GFile *file);

/* ---- training ---- */
void studio_window_train (StudioWindow *self); /* train, pause or go on, as the button says */
void studio_window_step (StudioWindow *self);
void studio_window_restart (StudioWindow *self);
/* From the newest checkpoint, where and for as long as the document says. */
void studio_window_continue (StudioWindow *self);
void studio_window_continue_slower (StudioWindow *self); /* at a tenth of the learning rate */
void studio_window_show_run (StudioWindow *self);
/* "watch": short runs are stretched; "full": as fast as they can. */
void studio_window_set_speed (StudioWindow *self, const char *speed);
const char *studio_window_get_speed (void);
void studio_window_setup_run (StudioWindow *self);
void studio_window_find_devices (StudioWindow *self);
void studio_window_set_device (StudioWindow *self, const char *device);

/* ---- title and status line ---- */
void studio_window_setup_status (StudioWindow *self);
void studio_window_update_title (StudioWindow *self);
void studio_window_show_faults (StudioWindow *self);

/* ---- the window's frame (-frame.c) ---- */
void studio_window_setup_frame (StudioWindow *self);

/* ---- panes, and what the header has room for (-panes.c) ---- */
/* The main menu, with what the header has no room for. To be called again when devices or recent graphs are others. */
void studio_window_update_menu (StudioWindow *self);
void studio_window_setup_panes (StudioWindow *self);
/* The minimap and what else lies over the canvas, with their actions. */
void studio_window_setup_view (StudioWindow *self);
void studio_window_update_panes (StudioWindow *self); /* for this document, and for who looks at it */

/* ---- history (-history.c) ---- */
/* Shows the page of the history, or takes it away where it is what is seen. */
void studio_window_toggle_history (StudioWindow *self);
gboolean studio_window_sees_page (StudioWindow *self, const char *name);

/* ---- presentation ---- */
void studio_window_setup_presentation (StudioWindow *self);
void studio_window_set_presenting (StudioWindow *self, gboolean on);
void studio_window_ask_learning_rate (StudioWindow *self);

/* ---- window ---- */
void studio_window_toast (StudioWindow *self, const char *sentence);
/* Its tooltip does not lie over its menu. To be called again for another menu. */
void studio_window_hide_tooltip_behind (GtkWidget *menu_button);
void studio_window_update_layout (StudioWindow *self);
void studio_window_show_panel (StudioWindow *self);
/* Fits the graph into the canvas once the layout has settled. */
void studio_window_fit_soon (StudioWindow *self);
/* The path of the one selected node; NULL otherwise. */
char *studio_window_dup_selected_path (StudioWindow *self);
void studio_window_dump_geometry (StudioWindow *self);
void studio_dump_widgets (GtkNative *window); /* the part of it that any window has */

G_END_DECLS
