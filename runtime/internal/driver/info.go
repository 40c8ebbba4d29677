package driver

// Info is what a device is.
type Info struct {
	Name             string   // "cuda:0", "cpu"
	Kind             string   // "cuda", "cpu"
	Vendor           string   // "NVIDIA"
	Model            string   // what the vendor calls it: "NVIDIA H200"
	Arch             string   // "sm_90", "amd64"
	Driver           string   // driver version: "CUDA 12.8, driver 570.86.15"
	Formats          []string // code it loads, preferred first: "cubin", "ptx", "kir"
	WarpSize         int
	MaxThreads       int    // threads in a block
	MaxBlock         [3]int // threads in a block, in each dimension
	MaxGrid          [3]int // blocks in a grid, in each dimension
	SharedPerBlock   int    // bytes of shared memory a block can have, static and dynamic together
	Units            int    // multiprocessors, or cores; an estimate where the vendor does not say
	ThreadsPerUnit   int    // threads that can be resident on one unit; an estimate where the vendor does not say
	RegistersPerUnit int    // 32-bit registers of one unit; 0 where that means nothing
	ClockKHz         int    // 0 when unknown
	MemClockKHz      int    // 0 when unknown
	MemBusBits       int    // 0 when unknown
	L2               int    // bytes of last-level cache; 0 when unknown
	MemTotal         int64  // bytes
	ComputeMajor     int    // CUDA compute capability; 0 elsewhere
	ComputeMinor     int
	PCI              string // "0000:1b:00.0", "" when there is none
	MemoryPool       bool   // memory comes from a stream-ordered pool of the vendor
	Cooperative      bool   // blocks that have begun all go on, so that they may wait for each other
	GridBarriers     bool   // kernels with barriers of the grid can be launched
	PackedMMA        bool   // the processor has instructions for dsl.PackedMMA
}

// Report is what a backend found when it looked for devices.
type Report struct {
	Kind    string   // "cuda"
	Looked  []string // library names tried, in order
	Library string   // the one that was found, "" if none
	Driver  string   // driver version
	Devices []Info
	Err     error // why there are no devices; nil if there are some
}

// Image is device code in one of the formats a device loads.
type Image struct {
	Format       string // "ptx", "cubin", "kir"
	Name         string // for messages: the kernel's name
	Code         []byte
	MaxRegisters int  // upper bound on registers a thread, 0 for none
	Shared       int  // bytes of dynamic shared memory that the kernels need in every launch
	LineInfo     bool // keep source positions for profilers

	// Dynamic says that the kernels have an array of shared memory whose length a launch decides.
	Dynamic bool

	// Overlaps says that the kernels begin by waiting for the one before them in the stream. The
	// device may start such a one before the other has ended.
	Overlaps bool

	// Place says where in the source a position is that code of format "x86" has numbers of,
	// from 1: "" if it does not know. It is called when a kernel has failed, by any
	// goroutine. It may be nil.
	Place func(pos int) (file string, line, col int)
}

// FunctionInfo is what the driver knows about a loaded kernel.
type FunctionInfo struct {
	Name       string
	MaxThreads int // threads a block may have with this kernel's registers
	Registers  int // a thread
	Shared     int // shared memory of a block that every launch has; of a driver, only what the code declares
	Local      int // local memory of a thread: spills and arrays
}
