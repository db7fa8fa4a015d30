/* Ports of a snapshot that are no ports of the graph; loom_trainer_snapshot() says what each of them returns. */
#pragma once

#define LOOM_SNAPSHOT_TIMES  "time:"
#define LOOM_SNAPSHOT_TRACE  "trace:"
#define LOOM_SNAPSHOT_NODES  "nodes:"
#define LOOM_SNAPSHOT_LOSSES "losses:"
#define LOOM_SNAPSHOT_RANKS  "ranks:"
