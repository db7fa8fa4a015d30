/* Shared by the files of a page: studio-page.c (parts), -layout.c (what of them is seen), -commands.c (the table
 * of commands), -actions.c (what runs them), -guard.c (questions before something is lost), -save.c, -open.c,
 * -pictures.c (files), -disk.c (what others do to the file), -run.c (training), -status.c (title and totals), -faults.c
 * (their list), -panes.c, -view.c, -lesson.c, -task.c (the picture of the task), -present.c and -caption.c (the
 * projector), -slides.c (the views of a lecture), -rate.c (the learning rate), -geometry.c (for tests). */
#pragma once

#include "ui/run/studio-hover-values.h"
#include "ui/run/studio-run-banners.h"
#include "ui/run/studio-run-panel.h"
#include "ui/run/studio-task.h"
#include "ui/run/studio-pipeline-stages.h"
#include "ui/run/studio-node-times.h"
#include "ui/inspector/studio-inspector.h"
#include "ui/lesson/studio-lesson-pane.h"
#include "ui/palette/studio-outline.h"
#include "ui/palette/studio-palette.h"
#include "ui/present/studio-present-layer.h"
#include "ui/present/studio-slides-pane.h"
#include "ui/run/studio-pin.h"
#include "ui/shell/studio-commands.h"
#include "ui/run/studio-devices.h"
#include "ui/page/studio-page.h"

G_BEGIN_DECLS

typedef struct StudioAfter StudioAfter;

struct _StudioPage
{
  AdwBin parent_instance;

  /* from the template */
  GtkWidget *toasts;
  GtkWidget *disk_bar, *disk_notice, *disk_label, *disk_reload, *disk_save, *disk_dismiss;
  GtkWidget *minimap;
  GtkWidget *split, *upper, *middle, *stage, *canvas_overlay;
  StudioPanes *panes;
  GtkWidget *caption_card, *caption_label, *note_scroller, *notes, *key_card, *key_label, *slide_label, *lr_card,
      *lr_card_entry;
  GtkWidget *status_line, *faults_button, *totals_label, *zoom_button;

  StudioDocument *document;
  StudioRun *run;
  StudioCanvas *canvas;
  StudioPalette *palette;
  StudioOutline *outline;
  StudioInspector *inspector;
  StudioRunBanners *run_bars;
  StudioRunPanel *run_panel;
  StudioPins *pins;
  StudioNodeTimes *times;
  StudioPipelineStages *stages;
  StudioHoverValues *hover;
  StudioLesson *lesson;
  StudioLessonPane *lesson_pane;
  const char *lesson_tab; /* the title of its tab; NULL: it is not there */
  StudioSlides *slides;
  StudioSlidesPane *slides_pane;
  gboolean slides_tab; /* it is there */
  StudioPresentLayer *present_layer;
  GtkWidget *start_page, *faults_list;
  GtkWidget *history_pane; /* NULL while its page is not there */
  GtkWidget *compare_pane; /* NULL while nothing is compared */
  StudioTask *task;
  GtkWidget *task_pane, *task_on_stage; /* NULL while they are not there */
  GSimpleActionGroup *actions;
  char *title, *subtitle;

  gboolean start_empty;    /* "Empty graph": the start page is put away though there is nothing yet */
  gboolean panel_shown;    /* a run was started once */
  gboolean panel_folded;   /* by the user */
  gboolean panel_unplaced; /* it was shown before the page had a height to give it some of */
  gboolean presenting;
  int caption_room;          /* the height that captions have needed at most */
  gboolean zoom_shown;       /* soon: an idle is on its way */
  int fit_frames;            /* until the canvas has its size and is fitted; 0: not wanted */
  gboolean holder_dismissed; /* that another Studio has the file open is known */
  GtkWidget *timeline;       /* weak: the window with the lanes of a step */
  GtkWidget *inventory;      /* weak: that of parameters and memory */
  GtkWindow *question;       /* weak: the dialog that waits for an answer */
  GtkFileChooserNative *chooser;
  GtkWidget *lr_return;  /* what had the focus before the learning rate was asked for */
  guint elsewhere_timer; /* while another page trains this graph */
};

void studio_page_changed (StudioPage *self); /* the signal */
GtkWindow *studio_page_get_window (StudioPage *self);

/* ---- commands (-commands.c, -actions.c) ---- */
/* A command, and how lists of actions, menus and the window of shortcuts show it. A command without a title is not
 * offered by itself: it wants a parameter, or is for tests. */
typedef struct
{
  const char *name;
  const char *parameter; /* its type, or NULL */
  void (*run) (StudioPage *self, GVariant *parameter);
  const char *group, *title;
  const char *keys[STUDIO_COMMAND_KEYS];
  const char *words; /* what else somebody may call it */
} StudioPageCommand;
const StudioPageCommand *studio_page_get_commands (guint *n);
const StudioPageCommand *studio_page_find_command (const char *name); /* NULL: there is none */
void studio_page_install_actions (StudioPage *self);
void studio_page_update_actions (StudioPage *self);
void studio_page_dispose_actions (StudioPage *self);
/* Of this name, to be enabled or given a state. */
GSimpleAction *studio_page_get_action (StudioPage *self, const char *name);

/* ---- lessons (-lesson.c) ---- */
void studio_page_setup_lesson (StudioPage *self);
void studio_page_dispose_lesson (StudioPage *self);
/* Shows the fields of the graph's lesson, which is begun where there is none. */
void studio_page_write_lesson (StudioPage *self);
/* Another graph was opened. */
void studio_page_open_lesson (StudioPage *self);

/* ---- questions (-guard.c) ---- */
/* A command that waits until no work would be lost by it. */
struct StudioAfter
{
  StudioPage *page;
  StudioPageThen then, otherwise; /* may be NULL */
  gpointer data;
};
StudioAfter *studio_after_new (StudioPage *page, StudioPageThen then, StudioPageThen otherwise, gpointer data);
void studio_after_do (StudioAfter *after); /* then, and frees it */
/* otherwise, and frees it. NULL-safe. */
void studio_after_cancel (gpointer after);
/* With the response "cancel", to which others are added. */
AdwMessageDialog *studio_page_new_question (StudioPage *self, const char *heading, const char *body);

/* ---- documentation of operators (-operator.c) ---- */
void studio_page_show_documentation (StudioPage *self);

/* ---- lanes of a step (-run.c) ---- */
void studio_page_show_timeline (StudioPage *self);
void studio_page_show_parameters (StudioPage *self);
void studio_page_show_memory (StudioPage *self);
/* Below what is there, in one step. */
void studio_page_insert_example_of (StudioPage *self, const char *op);

/* ---- files (-save.c, -open.c) ---- */
/* Each takes after, which may be NULL, and follows only a save. */
void studio_page_save_before (StudioPage *self, StudioAfter *after);
void studio_page_save_over (StudioPage *self, StudioAfter *after);      /* the same file, whatever is in it */
void studio_page_save_elsewhere (StudioPage *self, StudioAfter *after); /* asks where */
void studio_page_save (StudioPage *self);
void studio_page_save_as (StudioPage *self);
void studio_page_export_map (StudioPage *self);
void studio_page_export_chart (StudioPage *self, const char *what);

/* ---- what others do to the file (-disk.c) ---- */
void studio_page_setup_disk (StudioPage *self);
void studio_page_reload (StudioPage *self);
void studio_page_dismiss_disk (StudioPage *self);
/* Takes after, which may be NULL. */
void studio_page_ask_to_overwrite (StudioPage *self, StudioAfter *after);

/* ---- training ---- */
void studio_page_train (StudioPage *self); /* train, pause or go on, as the button says */
void studio_page_step (StudioPage *self);
void studio_page_restart (StudioPage *self);
/* From the newest checkpoint, where and for as long as the document says. */
void studio_page_continue (StudioPage *self);
void studio_page_continue_slower (StudioPage *self); /* at a tenth of the learning rate */
void studio_page_show_run (StudioPage *self);
/* "watch": short runs are stretched; "full": as fast as they can. */
void studio_page_set_speed (StudioPage *self, const char *speed);
const char *studio_page_get_speed (void);
void studio_page_setup_run (StudioPage *self);
void studio_page_set_device (StudioPage *self, const char *device);

/* ---- title and status line ---- */
void studio_page_setup_status (StudioPage *self);
void studio_page_update_title (StudioPage *self);
void studio_page_setup_faults (StudioPage *self);
void studio_page_show_faults (StudioPage *self);
/* Asks whether data outside the graph's folder may be read, if some wait for that. */
void studio_page_ask_to_read (StudioPage *self);

/* ---- panes (-panes.c) ---- */
void studio_page_setup_panes (StudioPage *self);
/* Leads the keyboard to the next visible pane (by 1) or to the one before (by -1). */
void studio_page_move_pane (StudioPage *self, int by);
/* The minimap and what else lies over the canvas, with their actions. */
void studio_page_setup_view (StudioPage *self);
void studio_page_update_panes (StudioPage *self); /* for this document, and for who looks at it */

/* ---- history (-history.c) ---- */
/* Shows the page of the history, or takes it away where it is what is seen. */
void studio_page_toggle_history (StudioPage *self);
gboolean studio_page_sees_page (StudioPage *self, const char *name);

/* ---- comparing (-compare.c) ---- */
void studio_page_setup_compare (StudioPage *self);
void studio_page_compare (StudioPage *self); /* asks with what */
void studio_page_compare_saved (StudioPage *self);
void studio_page_compare_run (StudioPage *self);
void studio_page_compare_entry (StudioPage *self, guint position); /* of the history */
void studio_page_end_comparison (StudioPage *self);
gboolean studio_page_is_comparing (StudioPage *self);

/* ---- the picture of the task (-task.c) ---- */
void studio_page_setup_task (StudioPage *self);
/* Shows the page of the picture, or takes it away where it is what is seen. */
void studio_page_toggle_task (StudioPage *self);
/* Another graph was opened: the page comes by itself where a lesson is about what it shows. */
void studio_page_open_task (StudioPage *self);
/* On the projector: beside the graph, where no pinned map is. */
void studio_page_present_task (StudioPage *self, gboolean on);
void studio_page_export_task (StudioPage *self);

/* ---- presentation ---- */
void studio_page_setup_presentation (StudioPage *self);
void studio_page_show_caption (StudioPage *self);
void studio_page_show_keys (StudioPage *self);
/* Shows the keys, unless the text is large and the screen low: then the map needs the room. */
void studio_page_show_key_card (StudioPage *self);

/* ---- the learning rate (-rate.c) ---- */
void studio_page_setup_learning_rate (StudioPage *self);
void studio_page_ask_learning_rate (StudioPage *self);
void studio_page_close_learning_rate (StudioPage *self);

/* ---- views of a lecture (-slides.c) ---- */
void studio_page_setup_slides (StudioPage *self);
void studio_page_dispose_slides (StudioPage *self);
/* The presentation has begun or ended. */
void studio_page_present_slides (StudioPage *self);
void studio_page_fit_notes (StudioPage *self); /* gives them the height that they need in this width */
/* The next view (by 1) or the one before (by -1). */
void studio_page_walk_slides (StudioPage *self, int by);
void studio_page_add_slide (StudioPage *self);
void studio_page_show_slides (StudioPage *self); /* their list */
/* Keys of views, spotlight and pen; FALSE: it is none of them. */
gboolean studio_page_slide_key (StudioPage *self, guint key);
/* Puts pen or eraser away; FALSE: there was none. */
gboolean studio_page_put_pen_away (StudioPage *self);
void studio_page_toggle_spotlight (StudioPage *self);
void studio_page_toggle_pen (StudioPage *self);
void studio_page_toggle_eraser (StudioPage *self);
void studio_page_clear_drawing (StudioPage *self);

/* ---- layout (-layout.c) ---- */
void studio_page_update_layout (StudioPage *self);
/* Fits the graph into the canvas once the layout has settled. */
void studio_page_fit_soon (StudioPage *self);
/* The path of the one selected node; NULL otherwise. */
char *studio_page_dup_selected_path (StudioPage *self);

G_END_DECLS
