/* Messages between this machine and a host: serialised GVariants of a known type, with their length before them. */
#pragma once

#include <gio/gio.h>

#include "app/shared/command.h"

/* The line that begins what the host says; before it a login script may print. Followed by the version. */
#define REMOTE_MAGIC       "GRADLOOM-REMOTE "
#define REMOTE_MAX_NOISE   (64 * 1024)
#define REMOTE_MAX_MESSAGE (80 * 1024 * 1024) /* a graph has at most 64 MB */
#define REMOTE_CHUNK       (1024 * 1024)

/* The state of a run that goes on. */
#define REMOTE_TRAINING "training"

/* What is to be trained: id of the run, graph, its data files as (path below the graph's folder, SHA-256, bytes), and
 * options of the worker's Start. */
#define REMOTE_RUN "(ssa(sst)a{sv})"
/* The files whose content the host does not have, by their numbers, or a sentence why it refuses them. */
#define REMOTE_WANTED "(aus)"
/* The run's id on the host; else the name of an error's code, and its sentence. */
#define REMOTE_STARTED "(sss)"
/* A file of the run, or what is new of it, in pieces: its name ("": the last message), the piece; for the last one the
 * state (remote-mirror.h). */
#define REMOTE_PIECE "(say)"
/* The name of a piece that says that the events which follow are all of them, and those of the mirror others. */
#define REMOTE_RESTART "restart"

gboolean remote_write (GOutputStream *stream, GVariant *message, GError **error);
/* NULL with an error: IO if the connection is lost, DATA if the message is none of this type. (transfer full) */
GVariant *remote_read (GInputStream *stream, const char *type, GError **error);

/* SHA-256 of the last 64 KiB before this byte of a file, by which two ends find out whether they have the same; "-" at
 * its begin, NULL if the file is shorter or cannot be read. (transfer full) */
char *remote_dup_tail_sum (int fd, gint64 end);

/* Keeps standard input and output as streams, so that no print of a library is part of a message. */
gboolean remote_take_streams (GInputStream **input, GOutputStream **output);
/* Copies bytes from one descriptor to another, and back, until an end is closed. */
void remote_copy_both_ways (int a_in, int a_out, int b_in, int b_out);
