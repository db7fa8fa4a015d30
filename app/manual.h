/* The manual page and the shells' completions. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

/* Prints "man", "markdown", "bash", "zsh" or "fish" on standard output; FALSE for another word. */
gboolean manual_print (const char *what, const Command *const *commands, guint n);
void manual_print_markdown (const Command *const *commands, guint n);

G_END_DECLS
