/* Studio's side of runs on other machines: `gradloom remote begin` and `gradloom remote connect`, which Studio starts
 * here, so that it knows neither ssh nor the messages between machines. */
#pragma once

#include "app/remote-stream.h"

/* The exit status of `begin` after SIGTERM: the run has been stopped as soon as it had begun. */
#define REMOTE_WINDOW_STOPPED 143

/* begin HOST RUN FOLDER OPTIONS: begins a run of the graph on standard input, whose relative paths are of FOLDER, with
 * RUN as its mirror and OPTIONS, a printed a{sv}, of the worker's Start; with the option "resume" it resumes that run,
 * and with "branch", a mirror, it begins a branch of another one. connect RUN: gets what is missing of the
 * mirror, carries the worker's messages on standard input and output, and gets what is missing after that.
 * follow RUN: keeps the mirror up to date as the run trains, for a list of runs. Returns the exit status; -1: these are no such words. */
int remote_window_serve (const Command *command, int argc, char **argv, GInputStream *input, GOutputStream *output);
