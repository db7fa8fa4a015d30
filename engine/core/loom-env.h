/* The environment variables that Gradloom reads, in one table: the manual page prints it, and a test compares
 * docs/environment.md and the sources with it. */
#pragma once

#include <glib.h>

typedef struct
{
  const char *name, *doc; /* doc: sentences for the manual page */
  gboolean for_tests;     /* not for users; the manual page omits it */
} LoomEnv;

/* Ends with name NULL. */
const LoomEnv *loom_env_table (void);
/* The value of a variable in the table; NULL if it is not set, or empty. */
const char *loom_env (const char *name);
