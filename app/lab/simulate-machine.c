/* The links of `gradloom simulate`, and the times of kernels: peak rates from data sheets, the same for all
 * predictions. */
#include "app/lab/simulate.h"

#include <math.h>
#include <stdio.h>

/* The fraction of a link's rate that transfers reach, and the latency of a message, within a machine and between
 * machines: those of Calculon for A100 (Isaev et al., 2023; its file systems/a100_80g.json). */
#define WITHIN        0.65
#define BETWEEN       0.9
#define WITHIN_DELAY  10e-6
#define BETWEEN_DELAY 20e-6
#define LINK(GBYTES)  WITHIN_DELAY, (GBYTES)*1e9 * WITHIN
#define ETHER(GBIT)   BETWEEN_DELAY, (GBIT)*1e9 / 8 * BETWEEN

static const SimulateLink links[] = {
  { "nvlink1", "NVLink of P100", LINK (80), "4 links of 20 GB/s each way, WP-08019" },
  { "nvlink2", "NVLink of V100", LINK (150), "6 links of 25 GB/s each way, WP-08608" },
  { "nvlink3", "NVLink of A100", LINK (300), "12 links of 25 GB/s each way, A100 data sheet" },
  { "nvlink4", "NVLink of H100", LINK (450), "18 links of 25 GB/s each way, H100 data sheet" },
  { "pcie3", "PCI Express 3 ×16", LINK (15.75), "8 GT/s, 128b/130b: PCI Express Base 3.0" },
  { "pcie4", "PCI Express 4 ×16", LINK (31.5), "16 GT/s, 128b/130b: PCI Express Base 4.0" },
  { "25g", "25 Gbit/s", ETHER (25), "IEEE 802.3by" },
  { "40g", "40 Gbit/s", ETHER (40), "IEEE 802.3ba" },
  { "50g", "50 Gbit/s", ETHER (50), "IEEE 802.3cd" },
  { "100g", "100 Gbit/s", ETHER (100), "IEEE 802.3bm" },
  { "200g", "200 Gbit/s", ETHER (200), "IEEE 802.3bs" },
  { "400g", "400 Gbit/s", ETHER (400), "IEEE 802.3bs" },
  { "8x200g", "8 × 200 Gbit/s", ETHER (1600), "one HDR adapter a GPU, as in a DGX A100" },
};

const SimulateLink *
simulate_find_link (const char *name, char **names)
{
  return card_find_entry (links, G_N_ELEMENTS (links), sizeof links[0], name, names);
}

/* The roofline model (Williams et al., 2009): the larger of the time to compute and the time to read and write. */
double
simulate_card_seconds (const Card *card, gboolean is_product, LoomDType precision, gboolean tf32, double flops,
                       double bytes)
{
  /* What is no product is limited by memory. */
  double peak = is_product || card->f32 == 0 ? card_peak (card, precision) : card->f32;

  if (is_product && precision == LOOM_F32 && tf32 && card->tf32 > 0)
    peak = card->tf32;
  return fmax (fmax (flops / (peak * SIMULATE_PRODUCTS), bytes / (card->memory_rate * SIMULATE_TRAFFIC)),
               SIMULATE_LAUNCH);
}

void
simulate_print_constants (void)
{
  printf ("Products reach %.2f of a GPU's peak (83 of 125 Tflop/s by cuBLAS on a V100: Markidis et al., 2018),\n"
          "memory %.2f of its bandwidth (750 of 900 GB/s on a V100: Jia et al., 2018); a kernel takes at least\n"
          "%.0f µs (assumed). Links reach %.2f of their rate within a machine and %.2f between machines; a message\n"
          "takes %.0f µs and %.0f µs (Isaev et al., 2023).\n\n",
          SIMULATE_PRODUCTS, SIMULATE_TRAFFIC, SIMULATE_LAUNCH * 1e6, WITHIN, BETWEEN, WITHIN_DELAY * 1e6,
          BETWEEN_DELAY * 1e6);
  card_print_all ();
  printf ("\n%-8s %8s %6s  %s\n", "link", "GB/s", "µs", "one way, of each GPU (within) or machine (between), from");
  for (guint i = 0; i < G_N_ELEMENTS (links); i++)
    printf ("%-8s %8.1f %6.0f  %s: %s\n", links[i].name,
            links[i].rate / (links[i].latency > WITHIN_DELAY ? BETWEEN : WITHIN) * 1e-9, links[i].latency * 1e6,
            links[i].title, links[i].source);
}
