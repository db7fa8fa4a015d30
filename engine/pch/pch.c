/* A target needs a file: this one's headers are precompiled for all boxes. */
typedef int Nothing;
