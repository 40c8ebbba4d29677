package driver

import "time"

// Addr is an address in device memory, or of page-locked host memory. For the
// CPU it is an ordinary address.
type Addr uint64

// Backend finds and opens the devices of one kind, such as "cuda" or "cpu".
type Backend interface {
	Kind() string
	// Probe says what was looked for and what was found. It never fails:
	// failures are part of the report.
	Probe() Report
	Open(ordinal int) (Device, error)
}

// Device is one open device.
type Device interface {
	Info() Info
	MemInfo() (free, total int64, err error)
	// Default is the stream that is ordered against all others.
	Default() Stream
	NewStream() (Stream, error)
	NewEvent() (Event, error)
	// AllocHost returns host memory that asynchronous copies may use.
	AllocHost(size int) ([]byte, error)
	FreeHost(mem []byte) error
	// Trim waits for pending frees and returns cached memory to the system;
	// it is called before an allocation that failed is tried again.
	Trim() error
	Load(Image) (Module, error)
	// Finalize compiles an image to the form that loads fastest and returns
	// the vendor's log. An image that is final already is returned as it is.
	Finalize(Image) (final Image, log string, err error)
	// FinalKey names everything that a finalised image depends on, or is ""
	// where Finalize changes nothing.
	FinalKey() string
	// Sync waits for all streams.
	Sync() error
	Close() error
}

// Reporter is a Device that knows which kernel failed. Its kernels may all fail, and what
// comes behind one that did runs as if nothing had happened.
type Reporter interface {
	// OnFailure has fn called when a kernel has failed, before anybody who waits for the
	// kernel goes on. Sync of the kernel's stream reports the error that fn returns. The
	// function calls no method of the driver.
	OnFailure(fn func(Failure) error)
	// Wait waits for all streams and leaves what failed to Sync.
	Wait()
}

// Immediate is a Stream of a Reporter that can run a kernel on the goroutine that launches it.
type Immediate interface {
	// LaunchNow runs the kernel if it is expected to be short and all work of the device
	// before it is done, and reports whether it did. The error is that of the kernel and goes
	// to Fail, once what belongs to the launch is known.
	LaunchNow(f Function, l *Launch) (ran bool, err error)
	// Fail treats the failure of a kernel that LaunchNow ran like those that the driver sees
	// itself: OnFailure's function is called, and Sync reports it.
	Fail(Failure)
}

// Limiter is a Device that ends kernels itself which take too long.
type Limiter interface {
	// Limit bounds the time of each kernel from now on; 0 takes the bound away. A kernel that
	// takes longer fails with [ErrTimeout]. If it could not be ended the error is Sticky, and
	// the driver runs nothing any more and touches no memory.
	Limit(time.Duration)
	// Running is the kernel that runs, with an error that says so.
	Running() (Failure, bool)
}

// Failure is a kernel that failed.
type Failure struct {
	Seq uint64 // of the launch, Unknown of something else
	Op  int
	Err error
}

// Unknown is the number of no launch.
const Unknown = ^uint64(0)

// Stream is a queue of work on a device.
type Stream interface {
	Alloc(size int64) (Addr, error)
	Free(a Addr, size int64) error
	// Upload copies src to the device; src may be reused when it returns.
	Upload(dst Addr, src []byte) error
	// Download fills dst before it returns.
	Download(dst []byte, src Addr) error
	// Copy copies within the device, or from or to memory of AllocHost.
	Copy(dst, src Addr, size int64) error
	Copy2D(dst Addr, dstPitch int64, src Addr, srcPitch int64, width, height int64) error
	Fill(dst Addr, value byte, size int64) error
	// Launch submits a kernel; l may be reused when it returns.
	Launch(f Function, l *Launch) error
	Record(Event) error
	// Wait makes later work of this stream wait for the event.
	Wait(Event) error
	Sync() error
	Close() error
}

// Uploader is a Stream that reads what it copies to the device into memory that the device reads.
type Uploader interface {
	// UploadFrom copies size bytes. It calls read from several goroutines, each with the memory for
	// some of the bytes and where they begin, and returns when all are read, or the error of one.
	UploadFrom(dst Addr, size int64, read func(p []byte, at int64) error) error
}

// Adopter is a Device whose kernels can use memory of the host as that of the device.
type Adopter interface {
	// Adopt returns the address of memory that the caller holds until Drop. A result is
	// memory that the device is to fill.
	Adopt(mem []byte, result bool) Addr
	// Drop holds the memory until the work submitted so far is done.
	Drop(mem []byte)
}

// Event marks a point in a stream.
type Event interface {
	Done() (bool, error)
	Sync() error
	Since(start Event) (time.Duration, error)
	Close() error
}

// Module is loaded device code.
type Module interface {
	Function(name string) (Function, error)
	// Close unloads the code; the caller has waited for its kernels.
	Close() error
}

// Function is one kernel of a module.
type Function interface {
	// Info is what launches are checked against: a process that uses hundreds of kernels
	// waits for each answer of its driver.
	Info() FunctionInfo
}

// Detailed is a Function whose Info lacks what nothing but [FunctionInfo] itself is for:
// registers and local memory.
type Detailed interface {
	Details() (FunctionInfo, error)
}

// Scratch has room for what any driver reads of a launch.
type Scratch [40]uintptr

// Launch is one kernel launch. Callers fill the other fields; Scratch
// belongs to the driver during the call, so that a pooled Launch makes the
// call free of allocations.
type Launch struct {
	Grid, Block [3]int
	Shared      int       // dynamic shared memory, that of the image included
	Overlaps    bool      // the image's
	Cooperative bool      // all blocks have to be resident
	Args        []byte    // packed argument block, behind
	ArgsFrom    int       // bytes that the driver has put in front
	Params      []int     // where in Args each parameter is, known of kernels whose blocks have to be resident
	Pointers    []uintptr // room for the addresses of parameters, the driver's like Scratch
	Seq         uint64    // number of the launch, or of that of the graph
	Op          int       // number of the operation in the graph, from 1; else 0
	Scratch     Scratch
}
