/* Who may include whom: the table of rules in test-arch.c. */
#pragma once

#include <glib.h>

typedef struct
{
  const char *box;         /* folder; the longest match owns a file */
  const char *may[28];     /* project includes besides its own folder: prefixes, or "FOLDER/" and an asterisk for the
                            * headers that are in it, not below */
  const char *system[10];  /* prefixes of system includes that are refused */
  const char *symbols[12]; /* prefixes of undefined symbols that are refused */
} ArchRule;

/* The rule of the box that owns a file, by its path from the root; NULL: none. */
const ArchRule *arch_rule_of (const char *relative);
/* TRUE if a rule lets its box include this path. */
gboolean arch_may_include (const ArchRule *rule, const char *target);
