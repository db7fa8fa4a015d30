/* Shared by the files of hand-ins. */
#pragma once

#include "engine/runs/loom-hand-in.h"

/* An empty list of LoomHandInAnswer. */
GPtrArray *hand_in_answers_new (void);
