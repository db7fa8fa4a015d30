/* The manual page, the references and the shells' completions. */
#pragma once

#include "app/shared/command.h"

/* Prints "man", "markdown", "format", "json", "bash", "zsh" or "fish" on standard output; FALSE for another word. */
gboolean manual_print (const char *what, const Command *const *commands, guint n);
/* The parts in files of their own; the commands are those of `gradloom --help`. */
void manual_print_markdown (const Command *const *commands, guint n);
void manual_print_format (const Command *const *commands, guint n);
void manual_print_json (const Command *const *commands, guint n);
/* The attributes of elements, optimisers, schedules and metrics, as sections of Markdown. */
void manual_print_attributes (void);
/* Escapes text for a cell of a Markdown table. */
void manual_print_cell (const char *text);
