/* The header of this box for its callers: lists and compares the runs of a folder. */
#pragma once

#include "engine/runs/loom-hand-in.h"
#include "engine/runs/loom-proposal.h"
#include "engine/runs/loom-run-host.h"
#include "engine/runs/loom-run-queue.h"
#include "engine/runs/loom-run-summary.h"
#include "engine/runs/loom-run-table.h"
