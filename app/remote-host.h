/* A host that is reached by ssh, which is never allowed to ask for a password. */
#pragma once

#include "app/remote-stream.h"

typedef struct _RemoteErrors RemoteErrors;

typedef struct
{
  char *name;
  GSubprocess *process;
  GInputStream *input;
  GOutputStream *output;
  RemoteErrors *errors; /* what ssh and the shell there print */
} RemoteHost;

/* Runs `gradloom remote WORDS` there, and waits until it is ready. Errors: IO, with what to do. */
gboolean remote_host_open (RemoteHost *host, const char *name, const char *const *words, GError **error);
void remote_host_close (RemoteHost *host);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (RemoteHost, remote_host_close)
