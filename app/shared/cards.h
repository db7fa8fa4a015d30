/* Accelerators that a machine need not have: for `gradloom simulate` and `gradloom plan --card`. */
#pragma once

#include "engine/loom-run.h"

typedef struct
{
  const char *name, *title;
  double f32, tf32, f16, bf16; /* operations per second of products, peaks with f32 sums; 0: not supported */
  double memory_rate;          /* bytes per second, the peak */
  double memory;               /* bytes */
  const char *source;
} Card;

/* NULL if the name is unknown; *names is then a list for a message (transfer full). */
const Card *card_find (const char *name, char **names);
/* The same in any table of n entries, whose first member is the name. */
gconstpointer card_find_entry (gconstpointer table, guint n, gsize size, const char *name, char **names);
/* The peak of products in this precision, in operations per second. 0: the card does not support it. */
double card_peak (const Card *card, LoomDType precision);
/* Prints the table with its sources. */
void card_print_all (void);
