/* The socket of a run that goes on without a window, by which a window or a command attaches to it.
 *
 * The socket's file is in gradloom/live of the user's state directory, which only the user may enter, and its name is
 * computed from host, device and inode of the run's folder. So a folder that was received from somebody leads nowhere,
 * whatever is in it, and a copy of a folder is no live run. It is not in the runtime directory, which is removed when
 * the user logs out. Both ends accept only processes of the same user. */
#pragma once

#include <glib.h>

/* The identity of a run's folder, which its copies do not have. */
typedef struct
{
  guint64 device, inode;
} LoomRunIdentity;

/* FALSE: there is no such folder. */
gboolean loom_run_identify (const char *folder, LoomRunIdentity *identity);

/* TRUE if a worker's answer to Describe ("device" t, "inode" t) is about the run in this folder. A process that trains
 * another folder was not found by this one's socket, but by a forged one. */
gboolean loom_run_is_described (const char *folder, GVariant *description);

typedef struct _LoomRunSocket LoomRunSocket;

/* Listens for clients of the run in this folder, and replaces what a killed process has left. Errors: IO. */
LoomRunSocket *loom_run_socket_listen (const char *folder, GError **error);
/* The listening descriptor, which does not block. */
int loom_run_socket_fd (LoomRunSocket *self);
/* Accepts a client of the same user; others are turned away. Returns -1 if there is none. */
int loom_run_socket_accept (LoomRunSocket *self);
/* Stops listening and removes the file. NULL: none. */
void loom_run_socket_free (LoomRunSocket *self);

/* TRUE if a socket has been left for the run in this folder. Its process may have been killed since. */
gboolean loom_run_socket_exists (const char *folder);
/* The folders of the runs for which sockets have been left, NULL-terminated, in no order. (transfer full) */
char **loom_run_socket_list (void);
/* Connects to the process that trains in this folder; *pid receives its number. Returns a descriptor, or -1 with an
 * error: DATA if no process listens, IO if the socket is not the user's own. */
int loom_run_socket_connect (const char *folder, int *pid, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomRunSocket, loom_run_socket_free)
