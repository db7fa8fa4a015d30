/* A graph with its net and recipe, after all faults were printed: for `gradloom check` and its comparison of gradients.
 */
#pragma once

#include "app/shared/command.h"

typedef struct
{
  LoomFaults *faults; /* the printed ones */
  LoomGraph *graph;
  LoomNet *net;        /* symbolic */
  LoomTrainSpec *spec; /* NULL: the graph has no <train> */
} CheckedGraph;

void checked_graph_clear (CheckedGraph *checked);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CheckedGraph, checked_graph_clear)

/* Reads a graph from a file, a run's folder, or standard input ("-"), and prints its faults and warnings, including
 * those of data, lessons and slides. The caller zeroes checked. FALSE if the graph cannot be read or has a fault; the
 * exit status is then 1. */
gboolean checked_graph_read (const Command *command, const char *path, gboolean json, CheckedGraph *checked);
/* Makes net and recipe of a graph, and appends their faults, those of data included. */
void checked_graph_infer (CheckedGraph *checked);
/* Prints faults and warnings: sentences on standard error, or {"event":"fault"} and {"event":"warning"} objects on
 * standard output. path is printed if the faults name no file. */
void checked_graph_print_faults (const LoomFaults *faults, const char *path, gboolean json);
