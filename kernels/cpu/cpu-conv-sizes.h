/* The sizes of a convolution of x [N,C,H,W] with w [K,C,R,S] to y [N,K,P,Q], as members of a kernel. */
#pragma once

#define CPU_CONV_SIZES                                                                                                 \
  int64_t N, C, H, W, K, P, Q, R, S;                                                                                   \
  int64_t top, left /* padding */

/* Sets them from the descriptions and the LoomConv2dAttrs; self is a pointer to any struct that has them. */
#define CPU_CONV_TAKE_SIZES(self, attrs, x, w, y)                                                                      \
  do                                                                                                                   \
    {                                                                                                                  \
      (self)->N = (x)->dim[0];                                                                                         \
      (self)->C = (x)->dim[1];                                                                                         \
      (self)->H = (x)->dim[2];                                                                                         \
      (self)->W = (x)->dim[3];                                                                                         \
      (self)->K = (y)->dim[1];                                                                                         \
      (self)->P = (y)->dim[2];                                                                                         \
      (self)->Q = (y)->dim[3];                                                                                         \
      (self)->R = (w)->dim[2];                                                                                         \
      (self)->S = (w)->dim[3];                                                                                         \
      (self)->top = (attrs)->pad[0];                                                                                   \
      (self)->left = (attrs)->pad[2];                                                                                  \
    }                                                                                                                  \
  while (0)
