/* The bounds of a number in a row of a table: of an attribute, an option or a hyper-parameter. */
#pragma once

/* From LOW to HIGH, both included. */
#define LOOM_RANGE(LOW, HIGH) .minimum = LOW, .maximum = HIGH
