/* Linked into every test program that plans: with GRADLOOM_CHECK=1, which the build sets for tests, each plan that a
 * test makes is checked by engine/check, and a wrong one ends the test. */
#include "engine/check/loom-check.h"

static void __attribute__ ((constructor))
check_every_plan (void)
{
  loom_check_install_if_set ();
}
