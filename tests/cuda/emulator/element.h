/* 16-bit floats as the libraries' fakes read and write them. */
#ifndef EMULATOR_ELEMENT_H
#define EMULATOR_ELEMENT_H

#include "kernels/convert.h"

namespace emulated
{
struct Half
{
  uint16_t bits;
  operator float () const { return loom_f16_to_float (bits); }
  Half &
  operator= (float x)
  {
    bits = loom_f16_from_float (x);
    return *this;
  }
};

struct Brain
{
  uint16_t bits;
  operator float () const { return loom_bf16_to_float (bits); }
  Brain &
  operator= (float x)
  {
    bits = loom_bf16_from_float (x);
    return *this;
  }
};
}

#endif
