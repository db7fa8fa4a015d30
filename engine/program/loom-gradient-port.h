/* The names under which gradients are recorded as ports of a program. */
#pragma once

/* loom_differentiate() records the gradient of each port, and of each slot, under its name after this prefix, with
 * loom_program_set_port(). */
#define LOOM_PORT_GRADIENT "grad:"
