/* Limits and helpers shared by loom-csv-guess.c, which guesses the columns of a table, and csv-guess-options.c, which
 * makes the options of a data set from the guess. */
#pragma once

#include <glib.h>

/* A column with more distinct numbers than this has no classes. */
#define MOST_NUMBERED 20
/* A column with more distinct words than this is no feature. */
#define MOST_WORDS 20

/* Describes a text that looks like a number in another notation, as the end of a sentence; NULL if it does not. */
const char *loom_csv_why_no_number (const char *text);
