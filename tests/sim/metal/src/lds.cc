// Linked to every kernel: where its threadgroup memory begins and ends. A kernel
// has no other data that can be written.
extern "C" {
extern char __bss_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));
extern char *const kiln_msl_lds[] = {__bss_start, _end};
}
