// Package sim opens simulated GPUs for tests, through the same drivers that open
// real ones.
//
// The model: a vendor's libraries have a stand-in, a package of its own next to
// this one, which is built once for a test binary. A device is opened as always;
// it compiles and runs kernels on this machine and refuses what a real one need
// not refuse. A test package calls [Main] from TestMain; it removes what was built.
//
// Example:
//
//	dev := sim.OpenROCm(t, "gfx1100")
//	err := kernel.Launch(dev.DefaultStream(), grid, args...)
package sim
