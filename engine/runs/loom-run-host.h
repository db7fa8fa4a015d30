/* The host on which a run trains, whose folder here is a mirror.
 *
 * A host is the user's word: user@host, or an alias of ~/.ssh/config. Which host has the run of a folder is stored in
 * the state folder by the identity of the run's folder, never in the folder, so a folder that was received from
 * somebody makes no connection. A record is four lines: host, id, state and, for lists, the path of the folder. */
#pragma once

#include <glib.h>

/* The file of the mirror with the run's id on its host; of the host it says nothing. */
#define LOOM_RUN_HOST_ID "remote-id"

typedef enum
{
  LOOM_RUN_HOST_NEW,   /* the host has not confirmed yet that the run has begun */
  LOOM_RUN_HOST_BEGUN, /* the run goes on there, as far as it is known here */
  LOOM_RUN_HOST_ENDED
} LoomRunHostState;

typedef struct
{
  char *name, *id;
  LoomRunHostState state;
} LoomRunHost;

/* FALSE: no name of a host, for example an option of ssh. */
gboolean loom_run_host_is_name (const char *name);
/* Small letters, digits and "-", so that it is no path and no option. */
gboolean loom_run_host_is_id (const char *id);
/* "lenet-20261130-101500-5f3a0b1c". (transfer full) */
char *loom_run_host_new_id (const char *name);

void loom_run_host_clear (LoomRunHost *host);
/* FALSE: it is not the run of a host. */
gboolean loom_run_host_read (const char *folder, LoomRunHost *host);
/* Errors: IO. */
gboolean loom_run_host_write (const char *folder, const LoomRunHost *host, GError **error);
/* Does nothing for a folder that is not the run of a host. */
void loom_run_host_set_state (const char *folder, LoomRunHostState state);
void loom_run_host_forget (const char *folder);
/* The hosts of these records, the one used last first. (transfer full) */
char **loom_run_host_list (void);
/* The mirrors of runs that go on on hosts, as far as it is known here, the newest first. (transfer full) */
char **loom_run_host_list_mirrors (void);

/* Locks the mirror for a window that shows the run. Returns a descriptor that holds the lock while it is open; -1: a
 * window of this machine shows it. */
int loom_run_host_lock (const char *folder);
gboolean loom_run_host_is_locked (const char *folder);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomRunHost, loom_run_host_clear)
