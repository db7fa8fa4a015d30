/* Computed instead of tabulated: a path through OKLab (Björn Ottosson, "A perceptual color space for image processing",
 * 2020) whose lightness is linear in t and whose hue goes from violet through blue-green to yellow. */
#include "ui/charts/studio-colormap.h"

#include <math.h>
#include <stdlib.h>

#define STEPS   256
#define NAN_RGB 0xffc01c28u

static double
gamma_encode (double v)
{
  v = CLAMP (v, 0, 1);
  return v <= 0.0031308 ? 12.92 * v : 1.055 * pow (v, 1 / 2.4) - 0.055;
}

static guint32
oklch_to_rgb (double lightness, double chroma, double hue)
{
  double a = chroma * cos (hue), b = chroma * sin (hue);
  double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
  double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
  double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
  l = l * l * l;
  m = m * m * m;
  s = s * s * s;
  double red = gamma_encode (4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
  double green = gamma_encode (-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
  double blue = gamma_encode (-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
  return 0xff000000u | (guint32)lround (red * 255) << 16 | (guint32)lround (green * 255) << 8
         | (guint32)lround (blue * 255);
}

/* Lightness falls linearly from white at 0 to both ends, blue and orange-brown: hues that stay apart without red or
 * green vision, and equal in grey, where the sign is read from the legend. */
guint32
studio_colormap_signed (double t)
{
  static guint32 table[2 * STEPS + 1];
  static gsize ready = 0;
  if (g_once_init_enter (&ready))
    {
      for (int i = -STEPS; i <= STEPS; i++)
        {
          const double u = abs (i) / (double)STEPS, hue = (i < 0 ? 255 : 50) / 180. * G_PI;
          table[i + STEPS] = oklch_to_rgb (1 - 0.58 * u, 0.15 * sin (u * G_PI * 0.62), hue);
        }
      g_once_init_leave (&ready, 1);
    }
  if (isnan (t))
    return NAN_RGB;
  return table[STEPS + (int)lround (CLAMP (t, -1, 1) * STEPS)];
}

guint32
studio_colormap (double t)
{
  static guint32 table[STEPS];
  static gsize ready = 0;
  if (g_once_init_enter (&ready))
    {
      for (int i = 0; i < STEPS; i++)
        {
          double u = i / (double)(STEPS - 1);
          double hue = (305 - 200 * u) / 180 * G_PI;
          table[i] = oklch_to_rgb (0.24 + 0.68 * u, 0.09 + 0.07 * sin (u * G_PI), hue);
        }
      g_once_init_leave (&ready, 1);
    }
  if (isnan (t))
    return NAN_RGB;
  return table[(int)lround (CLAMP (t, 0, 1) * (STEPS - 1))];
}
