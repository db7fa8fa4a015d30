/* Ends the process with an error if another process truncates a mapped file that is being read. */
#pragma once

#include <glib.h>

/* After this call such a read prints an error with the program's and the file's name, and the process exits with this
 * status; otherwise the kernel would end the process without a message (SIGBUS). Files that the process was writing
 * stay as they are. Other bus errors are handled as before. */
void truncated_exit_with (const char *program, int status);
