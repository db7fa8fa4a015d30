/* A host that is reached by ssh, and the runs that this machine has begun there.
 *
 * A host is the user's word: user@host, or an alias of ~/.ssh/config. Which host has the run of a local folder is
 * stored in the state folder by the identity of that folder, never in the folder, so a folder that was received from
 * somebody makes no connection. ssh is never allowed to ask for a password. */
#pragma once

#include "app/remote-stream.h"

G_BEGIN_DECLS

/* The file of a local run's folder with the run's id on its host; of the host it says nothing. */
#define REMOTE_RUN_ID "remote-id"

typedef struct
{
  char *name;
  GSubprocess *process;
  GInputStream *input;
  GOutputStream *output;
} RemoteHost;

/* Runs `gradloom remote WORDS` there, and waits until it is ready. Errors: IO, with what to do. */
gboolean remote_host_open (RemoteHost *host, const char *name, const char *const *words, GError **error);
void remote_host_close (RemoteHost *host);

/* The host and id of the run whose local folder this is. FALSE: it is no run of a host. */
gboolean remote_run_find (const char *folder, char **host, char **id);
gboolean remote_run_store (const char *folder, const char *host, const char *id, GError **error);
/* Small letters, digits and "-", so that it is no path and no option. */
gboolean remote_id_is_valid (const char *id);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (RemoteHost, remote_host_close)

G_END_DECLS
