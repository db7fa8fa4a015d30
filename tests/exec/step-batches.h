/* Batches of an example graph: samples of its data set, or numbers of our own. */
#pragma once

#include "engine/data/loom-loader.h"
#include "engine/net/loom-net.h"
#include "engine/program/loom-program.h"

#define BATCH 4

typedef struct
{
  LoomDataset *dataset; /* NULL: numbers of our own; owned by the file */
  LoomLoader *loader;
  gint64 epoch;
  guint32 drawn; /* batches */
} Source;

void source_clear (Source *source);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Source, source_clear)

/* name: of the graph, for messages. */
void source_open (Source *source, const LoomGraph *graph, const char *name);
/* A tensor for each input of the program, in f32 or integers. */
GPtrArray *draw_batch (Source *source, const LoomProgram *p);
/* Frees the data set that is kept for the next source. */
void source_forget_datasets (void);
