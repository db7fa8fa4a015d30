/* The labels of samples as numbers of classes. */
#pragma once

#include <glib.h>

/* Fills numbers with the class of each label, a text; there is at least one. Returns the names of the classes,
 * NULL-terminated, or NULL if the labels are numbers from 0 on that keep their values (loom_dataset_most_classes()).
 * (transfer full) */
char **loom_labels_number (const GPtrArray *labels, gint64 *numbers, gint64 *n_classes);
