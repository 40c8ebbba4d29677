package vendorapi

import (
	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Vendor is a library as its driver package knows it. Start is called before the rest.
type Vendor interface {
	// Traits are the names and numbers of the library.
	Traits() *Traits
	// Looked lists the names of the library to try where none is given.
	Looked() []string
	// Entries say where the functions are found: f, and those that the vendor calls itself.
	Entries(f *Functions) []Entry
	// Start sees the library, which is initialised, and writes to l.Driver what it is.
	Start(l *Library) error
	// Describe fills in what of a device the shared attributes do not say, and returns the full
	// name of its architecture.
	Describe(dev uintptr, info *driver.Info) (target string, err error)
	// Current returns the argument of Functions.SetCurrent for a device; Release gives it up.
	Current(d *Device) (uintptr, error)
	Release(d *Device) error

	// Load returns the handle of a module.
	Load(d *Device, img driver.Image) (uintptr, error)
	// Finalize and FinalKey are those of driver.Device.
	Finalize(d *Device, img driver.Image) (driver.Image, string, error)
	FinalKey(d *Device) string
	// Special returns the call of a launch that is cooperative or overlaps the one before, whose
	// parts lie in l, or nil if it is launched as any other. It must not allocate.
	Special(s *Stream, f *Function, l *driver.Launch) (*dl.Pair, error)
	// Copy2D is that of driver.Stream.
	Copy2D(s *Stream, dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch, width, height int64) error
	// Node says how an operation is added to a graph: a launch of f, or a fill or a copy.
	Node(d *Device, op *driver.Op, f *Function) (Node, error)
}

// Traits are the names and numbers by which one library differs from the other.
type Traits struct {
	Kind     string // of devices: "cuda"
	Vendor   string // "NVIDIA"
	Platform string // in messages: "CUDA", "ROCm"
	API      string // "CUDA", "HIP"
	Program  string // what the library is: "driver", "runtime"

	Attributes Attributes

	// TextReturned says that the functions which name a result return the text; else they take
	// the address to put it at.
	TextReturned bool
	// Contexts says that a device has a context, whose end destroys what was made in it.
	Contexts bool
	// Directed says that functions that copy take the direction, before the stream.
	Directed bool
	// LaunchEnd ends the list that passes a block of arguments, of which the library copies
	// WholeWords only, if that is set.
	LaunchEnd  uintptr
	WholeWords bool
	// PlainShared is how much shared memory a kernel gets without asking; 0 for all there is.
	PlainShared int
	// Grids32 says that the threads of a grid are counted in 32 bits, in each dimension.
	Grids32 bool
	// NoNode is the result for a node that old versions do not take; 0 for none.
	NoNode Result
	// GraphsInUse says that graphs which run must not be destroyed.
	GraphsInUse bool
}

// Attributes are the numbers of the attributes of a device that both libraries have.
type Attributes struct {
	MaxThreadsPerBlock, MaxBlockX, MaxGridX, SharedPerBlock, WarpSize uintptr // Y and Z follow X
	Multiprocessors, ThreadsPerUnit, RegistersPerUnit                 uintptr
	ClockRate, MemoryClockRate, MemoryBusWidth, L2CacheSize           uintptr
	PCIDomain, PCIBus, PCIDevice, MemoryPools, CooperativeLaunch      uintptr
}

// Numbers that both libraries have in common.
const (
	funcMaxThreads  = 0 // attributes of a function
	funcSharedBytes = 1
	funcLocalBytes  = 3
	funcRegisters   = 4
	funcMaxDynamic  = 8

	poolReleaseThreshold = 4 // attributes of a memory pool
	poolReserved         = 5
	poolUsed             = 7

	launchBufferPointer = 1 // keys of the list that passes a block of arguments
	launchBufferSize    = 2

	hostAllocPortable  = 1
	eventDisableTiming = 2
	streamBlocking     = 0 // ordered against the null stream

	// Directions of a copy, where one is asked for.
	copyHostToDevice = 1
	copyDeviceToHost = 2
	// CopyByAddress leaves it to the library to find out from the addresses where they are.
	CopyByAddress = 4
)
