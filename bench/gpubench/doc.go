// Command gpubench measures Kiln on a GPU, each figure beside the bare driver's
// in the same process:
//
//	gpubench -suite saxpy    bandwidth of a·x+y over 1 GiB arrays, beside a device-to-device copy
//	gpubench -suite launch   time and allocations of a launch, beside a bare cuLaunchKernel, and of a graph
//	gpubench -suite cold     source to loaded function in fresh processes, without and with a cache
//	gpubench -suite all      all of them
//	gpubench -table files    print rows collected with -json, ours and others', as one table
//	gpubench -ratio kiln/torch files    what two systems reached and the quotients
//
// Method: work is repeated before it is timed, until clocks are up. A figure is
// the median of many samples, printed with the 10th and 90th percentile.
// Alternatives take turns within one loop, so that a drift of the clock meets
// them alike. Device time comes from events, host time from the monotonic
// clock. Arrays are several times the last-level cache and hold normally
// distributed numbers. Results are checked before they are timed.
//
// With -json a row is one line of JSON; bench/peers prints the same rows for
// other systems, and bench/gpu.sh runs everything in one go.
package main
