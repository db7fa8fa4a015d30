/* The files of the tree from which fuzz tests begin. */
#pragma once

#include <glib.h>

/* Appends the contents (GBytes) of the files of a folder of the tree, in the order of their names: those that end in
 * with, except those that end in without. NULL: no such condition. The program ends if there is no such folder. */
void corpus_add (GPtrArray *corpus, const char *folder, const char *with, const char *without);
