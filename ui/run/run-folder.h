/* The folders of runs under $XDG_STATE_HOME/gradloom/runs: makes and finds them, finds their checkpoints, and reports
 * whether a process trains in one. A note in each folder lets the next Studio find the run.
 *
 * engine/infer/loom-run-unfinished.h describes the note. It is removed when the run is done or replaced. With NULL as
 * folder functions do nothing, unless they say that it is not NULL. */
#pragma once

#include "engine/loom.h"

/* The folder of all runs. (transfer full) */
char *run_folder_of_all (void);
/* Returns "…/NAME-20260131-154210", which does not exist yet. */
char *run_folder_new (const char *name);
/* That with the NAME of another run's folder. */
char *run_folder_new_like (const char *folder);
/* Writes the note by which the next Studio finds this run; folder is not NULL. */
void run_folder_remember (const char *folder, const char *graph_hash);
/* wanted: the user ended the run, so the next Studio offers to resume it without reporting a failure. */
void run_folder_note_end (const char *folder, gboolean wanted);
void run_folder_forget_note (const char *folder);
/* Moves the note to another folder; neither is NULL. */
void run_folder_move_note (const char *from, const char *to);

typedef struct
{
  char *folder; /* the newest that was not finished in a window, and has a checkpoint or was on a host; NULL: none */
  LoomRunUnfinished note;
  char *live; /* the folder of a run that trains now, here or on a host; NULL: none */
} RunFolderFound;

/* Finds the runs of this graph. */
void run_folder_find (const char *graph_hash, RunFolderFound *found);
void run_folder_found_clear (RunFolderFound *found);
/* TRUE: a process trains in this folder now, or a window shows the run of which it is the mirror. */
gboolean run_folder_is_live (const char *folder);
/* TRUE: the run goes on here without a window, or on a host without a window of this machine. */
gboolean run_folder_is_attachable (const char *folder);
/* The folders of all these runs, with local ones first. (transfer full) */
char **run_folder_list_attachable (void);
/* The name of a run for a list, "net-0001", or "net-0001 · on box". (transfer full) */
char *run_folder_dup_title (const char *folder);
/* The highest step under checkpoints/, and the highest of at most `most`; -1: none. */
gint64 run_folder_newest_checkpoint (const char *folder);
gint64 run_folder_find_checkpoint (const char *folder, gint64 most);
/* Reads a file of the run up to max bytes; NULL if it is missing or a symbolic link. */
char *run_folder_read (const char *folder, const char *name, gsize max, gsize *length);
/* The learning rate before its schedule at the checkpoint of this step, which may differ from the graph's. NaN:
 * unknown. */
double run_folder_read_rate (const char *folder, gint64 step);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (RunFolderFound, run_folder_found_clear)
