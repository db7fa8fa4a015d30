/* Ends the process with an error if another process truncates a mapped file that is being read. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* From here on such a read writes a sentence with the program's and the file's name to the standard error, and
 * the process exits with this status; without it the kernel ends the process without a word (SIGBUS). Files that the
 * process was writing stay as they are. Any other bus error keeps its meaning. */
void truncated_exit_with (const char *program, int status);

G_END_DECLS
