/* Comparisons of elements of an array, for g_ptr_array_sort(), g_array_sort() and qsort(). */
#pragma once

#include <glib.h>

/* Texts by their bytes. */
int loom_compare_texts (gconstpointer a, gconstpointer b);
/* guint, in ascending order. */
int loom_compare_uints (gconstpointer a, gconstpointer b);
