package target

// OpenCL is the kind of target for devices with an OpenCL driver.
const OpenCL = "opencl"

// openclTargets has one version of the language, the one that every driver takes,
// with the least that a device of the full profile has (OpenCL 1.2 specification,
// table 4.3) but for the size of a block, which is the device's. A warp is what
// threads of a block are counted by; threads of one cannot speak to each other.
func openclTargets() []Target {
	return []Target{{
		Kind: OpenCL, Arch: "1.2", Version: 12,
		WarpSize: 32, MaxThreads: 1024, MaxShared: 32 << 10, FixShared: 32 << 10, MaxArgs: 1 << 10, MaxLocal: maxLocal,
	}}
}
