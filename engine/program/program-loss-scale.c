/* Dynamic loss scaling for f16, like torch.amp.GradScaler. The scale and the number of good steps are state of the
 * program, so a resumed run keeps them. */
#include "engine/program/loom-prim.h"

/* The constants of torch.amp.GradScaler. */
#define FIRST_SCALE 65536.0
#define GROWTH      2.0
#define BACKOFF     0.5
#define INTERVAL    2000.0

LoomValue
loom_loss_scale (LoomProgram *p)
{
  return loom_program_scalar (p, "loss_scale", FIRST_SCALE);
}

LoomValue
loom_loss_unscale (LoomProgram *p, LoomValue grad)
{
  return loom_binary (p, LOOM_SCALAR_MUL, grad, loom_unary (p, LOOM_SCALAR_RECIP, loom_loss_scale (p)));
}

static LoomValue
shrunken (LoomProgram *p)
{
  return loom_binary (p, LOOM_SCALAR_MUL, loom_loss_scale (p), loom_const (p, loom_program_get_float (p), BACKOFF));
}

LoomValue
loom_loss_scale_can_shrink (LoomProgram *p)
{
  LoomDType dtype = loom_program_get_float (p);

  return loom_cast (p, loom_binary (p, LOOM_SCALAR_GE, shrunken (p), loom_const (p, dtype, 1)), dtype);
}

void
loom_loss_scale_update (LoomProgram *p, LoomValue finite, LoomValue sound)
{
  LoomDType dtype = loom_program_get_float (p);
  LoomValue scale = loom_loss_scale (p), good = loom_program_scalar (p, "good_steps", 0);
  LoomValue more = loom_binary (p, LOOM_SCALAR_ADD, good, loom_const (p, dtype, 1));
  LoomValue due = loom_binary (p, LOOM_SCALAR_GE, more, loom_const (p, dtype, INTERVAL));
  LoomValue grown = loom_binary (p, LOOM_SCALAR_MUL, scale, loom_const (p, dtype, GROWTH));
  LoomValue none;

  none = loom_const (p, dtype, 0);
  grown = loom_ternary (p, LOOM_SCALAR_SELECT, due, grown, scale);
  more = loom_ternary (p, LOOM_SCALAR_SELECT, due, none, more);
  scale = loom_ternary (p, LOOM_SCALAR_SELECT, sound, loom_ternary (p, LOOM_SCALAR_SELECT, finite, grown, shrunken (p)),
                        scale);
  good = loom_ternary (p, LOOM_SCALAR_SELECT, sound, loom_ternary (p, LOOM_SCALAR_SELECT, finite, more, none), good);
  loom_program_commit (p, loom_program_find_slot (p, "loss_scale"), scale);
  loom_program_commit (p, loom_program_find_slot (p, "good_steps"), good);
}
