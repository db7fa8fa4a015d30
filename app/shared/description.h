/* The commands of one program as JSON, from which another program prints its help, manual and completions: one object
 * per line, {"event": "command", "name", "arguments", "summary", "details", "options": [{"name", "short", "kind",
 * "help", "value"}]}. */
#pragma once

#include "app/shared/command.h"

/* Prints the commands that are listed on standard output. */
void description_print (const Command *const *commands, guint n);
/* Parses such a text into Command structs with their options; run is NULL. They are interned and never freed. NULL with
 * DATA if the text is anything else. (transfer container) */
GPtrArray *description_parse (const char *text, GError **error);
