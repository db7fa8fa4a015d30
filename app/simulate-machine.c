/* Cards and links that `gradloom simulate` knows: peaks from their makers' data sheets, one set for everything. */
#include "app/simulate.h"

#include <math.h>
#include <stdio.h>

static const SimulateCard cards[] = {
  { "p100", "Tesla P100 SXM2", 10.6e12, 0, 21.2e12, 732e9, 16e9, "NVIDIA Tesla P100 whitepaper, WP-08019, 2016" },
  { "v100", "Tesla V100 SXM2", 15.7e12, 0, 125e12, 900e9, 32e9, "NVIDIA Tesla V100 whitepaper, WP-08608, 2017" },
  { "a100", "A100 SXM4 80GB", 19.5e12, 156e12, 312e12, 2039e9, 80e9, "NVIDIA A100 80GB data sheet, 2021" },
  { "h100", "H100 SXM5", 67e12, 494e12, 989e12, 3350e9, 80e9, "NVIDIA H100 data sheet, 2022, without sparsity" },
};

/* Of a line rate transfers reach a share, LINE; latencies are of a message between two processes. */
#define LINE 0.9
#define GBIT (1e9 / 8 * LINE)

static const SimulateLink links[] = {
  { "nvlink1", "NVLink of P100", 10e-6, 80e9 * LINE, "4 links of 20 GB/s each way, WP-08019" },
  { "nvlink2", "NVLink of V100", 10e-6, 150e9 * LINE, "6 links of 25 GB/s each way, WP-08608" },
  { "nvlink3", "NVLink of A100", 10e-6, 300e9 * LINE, "12 links of 25 GB/s each way, A100 data sheet" },
  { "nvlink4", "NVLink of H100", 10e-6, 450e9 * LINE, "18 links of 25 GB/s each way, H100 data sheet" },
  { "pcie3", "PCI Express 3 ×16", 10e-6, 15.75e9 * LINE, "8 GT/s, 128b/130b: PCI Express Base 3.0" },
  { "pcie4", "PCI Express 4 ×16", 10e-6, 31.5e9 * LINE, "16 GT/s, 128b/130b: PCI Express Base 4.0" },
  { "25g", "25 Gbit/s", 15e-6, 25 * GBIT, "IEEE 802.3by" },
  { "40g", "40 Gbit/s", 15e-6, 40 * GBIT, "IEEE 802.3ba" },
  { "50g", "50 Gbit/s", 15e-6, 50 * GBIT, "IEEE 802.3cd" },
  { "100g", "100 Gbit/s", 15e-6, 100 * GBIT, "IEEE 802.3bm" },
  { "200g", "200 Gbit/s", 15e-6, 200 * GBIT, "IEEE 802.3bs" },
  { "400g", "400 Gbit/s", 15e-6, 400 * GBIT, "IEEE 802.3bs" },
  { "8x200g", "8 × 200 Gbit/s", 15e-6, 1600 * GBIT, "one HDR adapter a GPU, as in a DGX A100" },
};

/* The entry of a name, which is each one's first member; NULL, and then *names are all of them (transfer full). */
static gconstpointer
find (gconstpointer table, guint n, gsize size, const char *name, char **names)
{
  GString *list = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    {
      const char *const *entry = (gconstpointer)((const char *)table + i * size);

      if (g_str_equal (*entry, name))
        {
          g_string_free (list, TRUE);
          return entry;
        }
      g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", *entry);
    }
  *names = g_string_free (list, FALSE);
  return NULL;
}

const SimulateCard *
simulate_find_card (const char *name, char **names)
{
  return find (cards, G_N_ELEMENTS (cards), sizeof cards[0], name, names);
}

const SimulateLink *
simulate_find_link (const char *name, char **names)
{
  return find (links, G_N_ELEMENTS (links), sizeof links[0], name, names);
}

/* The roofline (Williams et al., 2009): what takes longer, computing or reading and writing. */
double
simulate_card_seconds (const SimulateCard *card, gboolean is_product, LoomDType precision, gboolean tf32, double flops,
                       double bytes)
{
  double peak = card->f32;

  if (is_product && (precision == LOOM_BF16 || precision == LOOM_F16))
    peak = card->f16;
  else if (is_product && tf32 && card->tf32 > 0)
    peak = card->tf32;
  return fmax (fmax (flops / (peak * SIMULATE_PRODUCTS), bytes / (card->memory_rate * SIMULATE_TRAFFIC)),
               SIMULATE_LAUNCH);
}

void
simulate_print_constants (void)
{
  printf (
      "Of a card's peaks products reach %.2f (83 of 125 Tflop/s by cuBLAS on a V100: Markidis et al., 2018), reading "
      "and writing\n%.2f (750 of 900 GB/s on a V100: Jia et al., 2018); a kernel takes %.0f µs or more, links carry "
      "%.2f of their line rate and a\nmessage takes 10 µs within a machine and 15 µs between two (assumed).\n\n",
      SIMULATE_PRODUCTS, SIMULATE_TRAFFIC, SIMULATE_LAUNCH * 1e6, LINE);
  printf ("%-7s %8s %8s %8s %8s %7s  %s\n", "card", "f32", "tf32", "f16", "GB/s", "GB", "peaks in Tflop/s from");
  for (guint i = 0; i < G_N_ELEMENTS (cards); i++)
    printf ("%-7s %8.1f %8.1f %8.1f %8.0f %7.0f  %s\n", cards[i].name, cards[i].f32 * 1e-12, cards[i].tf32 * 1e-12,
            cards[i].f16 * 1e-12, cards[i].memory_rate * 1e-9, cards[i].memory * 1e-9, cards[i].source);
  printf ("\n%-8s %8s %6s  %s\n", "link", "GB/s", "µs", "one way, of each GPU (within) or machine (between), from");
  for (guint i = 0; i < G_N_ELEMENTS (links); i++)
    printf ("%-8s %8.1f %6.0f  %s: %s\n", links[i].name, links[i].rate / LINE * 1e-9, links[i].latency * 1e6,
            links[i].title, links[i].source);
}
