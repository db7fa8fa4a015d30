#include "engine/data/loom-vocabulary.h"

#include "engine/data/loom-dataset.h"

const char *const loom_token_names[LOOM_N_TOKENS] = { LOOM_PADDING_NAME, "<start>", "<end>", "<unknown>" };
