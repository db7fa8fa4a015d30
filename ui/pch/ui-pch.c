/* A target needs a file: this one's header is precompiled for all boxes. */
typedef int Nothing;
