/* Keeps the mirrors of runs on hosts up to date while a list shows them: a process each, `gradloom remote follow`, for
 * as long as the run trains and is wanted. */
#pragma once

#include <gio/gio.h>

typedef struct _RunFollowers RunFollowers;

RunFollowers *run_followers_new (void);
/* Ends the processes. */
void run_followers_free (RunFollowers *self);
/* The folders of the mirrors that are wanted, NULL-terminated; others are followed no longer. A mirror whose process
 * has ended, as without a connection, is followed again after some seconds. */
void run_followers_set (RunFollowers *self, const char *const *folders);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (RunFollowers, run_followers_free)
